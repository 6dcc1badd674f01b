//! The limits of waits, and what ends one.

use std::sync::Mutex;

use tokio::sync::watch;

use super::WaitReason::*;
use super::*;
use crate::aws::error::refusal;

struct Ran {
    result: Result<(), Fault>,
    reported: Vec<String>,
    slept: Duration,
    attempts: usize,
}

/// Runs against these answers, repeating the last.
async fn run(unseen: Option<WaitReason>, answers: Vec<Result<Result<(), WaitReason>, Fault>>) -> Ran {
    let (reported, attempts) = (Mutex::new(Vec::new()), Mutex::new(0));
    let (_ask, asked) = watch::channel(false);
    let report = |reason: &str| reported.lock().unwrap().push(reason.to_owned());
    let began = Instant::now();
    let result = retried("x:Y", unseen.as_slice(), Waiting::new(&report, &asked), || {
        let mut attempts = attempts.lock().unwrap();
        *attempts += 1;
        std::future::ready(answers[answers.len().min(*attempts) - 1].clone())
    })
    .await;
    let (slept, attempts) = (began.elapsed(), attempts.into_inner().unwrap());
    Ran { result, reported: reported.into_inner().unwrap(), slept, attempts }
}

fn not_assumable() -> Fault {
    let message = "The role defined for the function cannot be assumed by Lambda.";
    refusal("lambda:CreateFunction", Some("InvalidParameterValueException"), message)
}

/// I3, E4, L4: "not found" means "not yet" only for what is new. I9, S15: a denial means "not yet" only if a condition
/// depends on something new. If the resource stays absent or denied, the fault names the action.
#[tokio::test(start_paused = true)]
async fn only_what_may_pass_is_waited_for() {
    let invalid = refusal("sqs:CreateQueue", Some("InvalidAttributeValue"), "no");
    let recently = refusal("sqs:CreateQueue", Some("AWS.SimpleQueueService.QueueDeletedRecently"), "wait 60 seconds");
    let absent = refusal("iam:PutRolePolicy", Some("NoSuchEntity"), "The role cannot be found.");
    let message =
        "User: arn:aws:iam::1:user/operator is not authorized to perform: iam:PutRolePolicy on resource: role x";
    let denied = refusal("iam:PutRolePolicy", Some("AccessDenied"), message);
    let never = |fault: &Fault| vec![Err(fault.clone())];
    let soon = |fault: &Fault| vec![Err(fault.clone()), Err(fault.clone()), Ok(Ok(()))];
    for (unseen, answers, result, reasons) in [
        (None, vec![Ok(Ok(()))], Ok(()), vec![]),
        (
            None,
            vec![Err(recently.clone()), Err(recently), Ok(Err(FunctionBusy)), Ok(Ok(()))],
            Ok(()),
            vec![QueueDeletedRecently, FunctionBusy],
        ),
        (None, never(&invalid), Err(&invalid), vec![]),
        (None, never(&absent), Err(&absent), vec![]),
        (Some(RoleUnknown), soon(&absent), Ok(()), vec![RoleUnknown]),
        (Some(RoleUnknown), never(&absent), Err(&absent), vec![RoleUnknown]),
        (None, never(&denied), Err(&denied), vec![]),
        (Some(RoleUnknown), never(&denied), Err(&denied), vec![]),
        (Some(BoundaryUnknown), soon(&denied), Ok(()), vec![BoundaryUnknown]),
        (Some(BoundaryUnknown), never(&denied), Err(&denied), vec![BoundaryUnknown]),
        (Some(BoundaryUnknown), never(&absent), Err(&absent), vec![]),
        (Some(TagsUnknown), soon(&denied), Ok(()), vec![TagsUnknown]),
        (Some(TagsUnknown), never(&denied), Err(&denied), vec![TagsUnknown]),
        (Some(TagsUnknown), never(&absent), Err(&absent), vec![]),
    ] {
        let case = format!("{unseen:?} {answers:?}");
        let mut ran = run(unseen, answers).await;
        ran.reported.retain(|reason| !reason.contains(", after "));
        assert_eq!(ran.result.as_ref(), result.as_ref().map_err(|fault| *fault), "{case}");
        assert_eq!(ran.reported, reasons.iter().map(|reason| reason.text()).collect::<Vec<_>>(), "{case}");
        match (reasons.first(), result) {
            (None, _) => assert_eq!(ran.slept, Duration::ZERO, "{case}"),
            (Some(reason), Err(_)) => assert!(ran.slept >= reason.bound(), "{case}: {:?}", ran.slept),
            _ => {}
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_wait_of_minutes_is_reported_again_each_minute() {
    let ran = run(None, vec![Ok(Err(MappingInUse))]).await;
    let text = MappingInUse.text();
    let after = |minutes| format!("{text}, after {minutes}m; this can take up to 5m, and Ctrl-C is safe");
    assert_eq!(ran.reported[0], text);
    assert_eq!(ran.reported[1..], [1, 2, 3, 4].map(after));
}

#[tokio::test(start_paused = true)]
async fn every_wait_ends_at_its_limit() {
    for reason in WaitReason::ALL {
        let Ran { result, slept, .. } = run(None, vec![Ok(Err(*reason))]).await;
        let fault = result.unwrap_err();
        assert_eq!((fault.kind, fault.advice), (FaultKind::Unsettled, reason.advice()), "{reason:?}");
        assert!(fault.message.starts_with(reason.text()), "{}", fault.message);
        let bound = reason.bound();
        assert!(bound <= slept && slept < bound + LATE_PAUSE, "{reason:?} took {slept:?}");
    }
}

/// L1: minutes, and not an upload of the archive each second.
#[tokio::test(start_paused = true)]
async fn a_new_role_has_fifteen_minutes() {
    let mut answers = vec![Err(not_assumable()); 100];
    answers.push(Ok(Ok(())));
    let ran = run(None, answers).await;
    assert_eq!(ran.result, Ok(()));
    assert!(ran.slept > Duration::from_secs(10 * 60), "{:?}", ran.slept);
    let ran = run(None, vec![Err(not_assumable())]).await;
    assert!(ran.attempts < 120, "{} attempts", ran.attempts);
    let fault = ran.result.unwrap_err();
    assert_eq!(
        fault.to_string(),
        "lambda:CreateFunction: Lambda cannot assume the new role yet, after 15m: The role defined for the function cannot \
         be assumed by Lambda."
    );
    assert_eq!((fault.kind, fault.advice), (FaultKind::Unsettled, Some(TRUST)));
}

#[test]
fn iam_has_two_minutes() {
    for reason in [RoleUnknown, BoundaryUnknown, TagsUnknown, PrincipalUnknown, PoliciesLeaving, ConcurrentChange] {
        assert_eq!(reason.bound(), Duration::from_secs(120), "{reason:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_to_stop_ends_a_wait() {
    let (ask, asked) = watch::channel(false);
    let attempts = Mutex::new(0);
    let wait = retried("lambda:CreateFunction", &[], Waiting::new(&|_| {}, &asked), || async {
        *attempts.lock().unwrap() += 1;
        Err::<Result<(), WaitReason>, _>(not_assumable())
    });
    let (result, _) = tokio::join!(wait, async { ask.send_replace(true) });
    let fault = result.unwrap_err();
    assert_eq!((fault.kind, fault.message.as_str()), (FaultKind::Stopped, RoleNotAssumable.text()));
    assert_eq!(*attempts.lock().unwrap(), 1, "no call follows the request");
}
