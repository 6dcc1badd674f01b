//! What each answer means, and how long a denial is retried.

use std::sync::Mutex;

use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::Instant;

use super::*;
use crate::aws::error::refusal;
use crate::model::hub::tests::function_settings;
use crate::model::table::{cell, rows};

/// The verdict about a router with problems of these codes.
fn verdict(codes: &[&str]) -> SelfTestResult {
    let expected = function_settings("1.0.0");
    let problem = |code: &&str| json!({ "text": format!("refused: {code}"), "code": code });
    let problems: Vec<Value> = codes.iter().map(problem).collect();
    let report = json!({ "version": "1.0.0", "handler": expected.handler, "problems": problems });
    SelfTestResult::of(Invoked::Answered(report.to_string().into_bytes()), &expected)
}

/// S14, S15, L18: kibus waits only for what AWS may allow soon.
#[test]
fn only_a_denial_by_aws_is_waited_for() {
    assert_eq!(verdict(&[]), SelfTestResult::Passed);
    for (cases, is_denied) in [
        ("AccessDenied, UnauthorizedOperation, AuthFailure, KMS.AccessDeniedException, NonExistentQueue", true),
        ("KMS.DisabledException, KMS.NotFoundException, RequestTimeout, , AccessDenied ", false),
    ] {
        for codes in cases.split(", ").map(|codes| codes.split(' ').collect::<Vec<_>>()) {
            let why: Vec<String> = codes.iter().map(|code| format!("refused: {code}").trim_end().to_owned()).collect();
            let (why, denied) = (why.join("; "), codes.iter().map(|code| (*code).to_owned()).collect());
            let expected = if is_denied { SelfTestResult::Denied(denied, why) } else { SelfTestResult::Failed(why) };
            assert_eq!(verdict(&codes), expected, "{codes:?}");
        }
    }
}

/// The verdict, the reports, and the time slept, if the tests end like this. The last result repeats.
async fn run(verdicts: &[SelfTestResult]) -> (SelfTestResult, Vec<String>, Duration) {
    let (reported, began) = (Mutex::new(Vec::new()), Instant::now());
    let tests = Mutex::new(verdicts.iter());
    let report = |reason: &str| reported.lock().unwrap().push(reason.to_owned());
    let (_ask, asked) = watch::channel(false);
    let verdict = allowed(Waiting::new(&report, &asked), || {
        let verdict = tests.lock().unwrap().next().unwrap_or(&verdicts[verdicts.len() - 1]);
        std::future::ready(Ok(verdict.clone()))
    })
    .await;
    (verdict.unwrap(), reported.into_inner().unwrap(), began.elapsed())
}

/// M5, L17, L19: the answers of Lambda to an invocation that it cannot make, besides those of scenario `self_test`.
#[test]
fn an_invocation_that_lambda_cannot_make_says_why() {
    let no_key = "Lambda was unable to decrypt the environment variables because the KMS key is disabled.";
    for (code, message, expected) in [
        ("KMSDisabledException", no_key, Some(LiveTest::KeyDenied(no_key.to_owned()))),
        ("TooManyRequestsException", "Rate Exceeded.", Some(LiveTest::Throttled("Rate Exceeded.".to_owned()))),
        ("ResourceNotFoundException", "Function not found", None),
        ("ResourceConflictException", "currently in the following state: Pending", None),
    ] {
        assert_eq!(unable(refusal(INVOKE, Some(code), message)), Ok(expected), "{code} {message}");
    }
}

/// S15, P12, L18: a denial right after a write means "not yet" for two minutes.
#[tokio::test(start_paused = true)]
async fn a_denial_is_waited_for_and_reported_once() {
    let denied = || SelfTestResult::Denied(vec!["AccessDenied".to_owned()], "no send".to_owned());
    let reported = ["AWS does not yet allow the router's calls: no send".to_owned()];
    let (verdict, said, slept) = run(&[denied(), denied(), SelfTestResult::Passed]).await;
    assert_eq!((verdict, said.as_slice(), slept), (SelfTestResult::Passed, &reported[..], PAUSE * 2));
    let (verdict, said, slept) = run(&[denied()]).await;
    assert_eq!((verdict, said.as_slice(), slept), (denied(), &reported[..], NOT_YET));
    let failed = SelfTestResult::Failed("x".to_owned());
    let (verdict, said, slept) = run(&[denied(), failed.clone()]).await;
    assert_eq!((verdict, said.len(), slept), (failed, 1, PAUSE));
    for verdict in [SelfTestResult::Failed("x".to_owned()), SelfTestResult::Passed] {
        assert_eq!(run(std::slice::from_ref(&verdict)).await, (verdict, vec![], Duration::ZERO));
    }
}

/// L17: neither retries nor a slower pace helps.
#[test]
fn a_throttled_invocation_names_the_concurrency_that_is_used_up() {
    let table = "
        ReservedFunctionConcurrentInvocationLimitExceeded | the concurrency reserved for the function is used up: Rate Exceeded. | ConcurrencyUsedUp
        ConcurrentInvocationLimitExceeded                 | the concurrency of the account is used up: Rate Exceeded.            | ConcurrencyUsedUp
        CallerRateLimitExceeded                           | Rate Exceeded.                                                       | Throttled
        -                                                 | Rate Exceeded.                                                       | Throttled";
    for [reason, message, kind] in rows(table) {
        let reason = cell(reason).map(ThrottleReason::from);
        let fault = used_up(refusal(INVOKE, Some("TooManyRequestsException"), "Rate Exceeded."), reason.as_ref());
        assert_eq!((fault.message.as_str(), format!("{:?}", fault.kind).as_str()), (message, kind));
    }
}

#[test]
fn a_failed_function_has_its_own_message() {
    for (payload, expected) in [
        (r#"{"errorType": "Runtime.ExitError", "errorMessage": "exit status 1"}"#, "exit status 1"),
        (r#"{"errorType": "x"}"#, r#"{"errorType": "x"}"#),
        ("gone", "gone"),
        ("", ""),
    ] {
        assert_eq!(message(payload.as_bytes()), expected);
    }
}
