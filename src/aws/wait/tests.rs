//! The limits of waits, and what ends one.

use std::sync::Mutex;

use tokio::sync::watch;

use super::*;
use crate::aws::error::refusal;

const EVERY: [WaitReason; 24] = [
    WaitReason::QueueDeletedRecently,
    WaitReason::QueueUnknown,
    WaitReason::RoleNotAssumable,
    WaitReason::RoleWithoutGrant,
    WaitReason::VersionWithoutRole,
    WaitReason::VersionWithoutKey,
    WaitReason::RolePermissions,
    WaitReason::RoleUnknown,
    WaitReason::BoundaryUnknown,
    WaitReason::TagsUnknown,
    WaitReason::PrincipalUnknown,
    WaitReason::PoliciesLeaving,
    WaitReason::RuleUnknown,
    WaitReason::TargetsLeaving,
    WaitReason::FunctionUnknown,
    WaitReason::FunctionBusy,
    WaitReason::SourceUnknown,
    WaitReason::DeadLetterQueueUnknown,
    WaitReason::MappingUnknown,
    WaitReason::MappingBusy,
    WaitReason::MappingInUse,
    WaitReason::MappingLeaving,
    WaitReason::FunctionLeaving,
    WaitReason::ConcurrentChange,
];

/// What a run came to.
struct Ran {
    result: Result<(), Fault>,
    reported: Vec<String>,
    slept: Duration,
    attempts: usize,
}

/// Runs against these answers, repeating the last.
async fn run(unknown: Option<WaitReason>, answers: Vec<Result<Result<(), WaitReason>, Fault>>) -> Ran {
    let reported = Mutex::new(Vec::new());
    let attempts = Mutex::new(0);
    let answers = Mutex::new(answers.into_iter().rev().collect::<Vec<_>>());
    let (_ask, asked) = watch::channel(false);
    let began = Instant::now();
    let result = retried(
        "x:Y",
        unknown.as_slice(),
        Waiting::new(&|reason| reported.lock().unwrap().push(reason.to_owned()), &asked),
        || async {
            *attempts.lock().unwrap() += 1;
            let mut answers = answers.lock().unwrap();
            match answers.as_slice() {
                [Ok(Err(reason))] => Ok(Err(*reason)),
                [Err(fault)] => Err(fault.clone()),
                _ => answers.pop().unwrap(),
            }
        },
    )
    .await;
    Ran {
        result,
        reported: reported.into_inner().unwrap(),
        slept: began.elapsed(),
        attempts: attempts.into_inner().unwrap(),
    }
}

fn deleted_recently() -> Fault {
    refusal("sqs:CreateQueue", Some("AWS.SimpleQueueService.QueueDeletedRecently"), "wait 60 seconds")
}

fn not_assumable() -> Fault {
    refusal(
        "lambda:CreateFunction",
        Some("InvalidParameterValueException"),
        "The role defined for the function cannot be assumed by Lambda.",
    )
}

fn absent() -> Fault {
    refusal("iam:PutRolePolicy", Some("NoSuchEntity"), "The role cannot be found.")
}

fn denied() -> Fault {
    let message = "User: arn:aws:iam::111122223333:user/operator is not authorized to perform: iam:PutRolePolicy on \
                   resource: role x because no identity-based policy allows the iam:PutRolePolicy action";
    refusal("iam:PutRolePolicy", Some("AccessDenied"), message)
}

#[tokio::test(start_paused = true)]
async fn a_finished_attempt_waits_for_nothing() {
    let ran = run(None, vec![Ok(Ok(()))]).await;
    assert_eq!((ran.result, ran.reported, ran.slept), (Ok(()), vec![], Duration::ZERO));
}

#[tokio::test(start_paused = true)]
async fn each_reason_is_reported_once() {
    let ran = run(
        None,
        vec![Err(deleted_recently()), Err(deleted_recently()), Ok(Err(WaitReason::FunctionBusy)), Ok(Ok(()))],
    )
    .await;
    assert_eq!(ran.result, Ok(()));
    assert_eq!(ran.reported, [WaitReason::QueueDeletedRecently.text(), WaitReason::FunctionBusy.text()]);
}

#[tokio::test(start_paused = true)]
async fn a_wait_of_minutes_is_reported_again_each_minute() {
    let ran = run(None, vec![Ok(Err(WaitReason::MappingInUse))]).await;
    let text = WaitReason::MappingInUse.text();
    let after = |minutes| format!("{text}, after {minutes}m; this can take up to 5m, and Ctrl-C is safe");
    assert_eq!(ran.reported[0], text);
    assert_eq!(ran.reported[1..], [1, 2, 3, 4].map(after));
}

#[tokio::test(start_paused = true)]
async fn every_wait_ends_at_its_limit() {
    for reason in EVERY {
        let Ran { result, slept, .. } = run(None, vec![Ok(Err(reason))]).await;
        let fault = result.unwrap_err();
        let advice = reason.advice();
        assert_eq!((fault.kind, fault.advice), (FaultKind::Unsettled, advice), "{reason:?}");
        assert!(fault.message.starts_with(reason.text()), "{}", fault.message);
        let bound = reason.bound();
        assert!(bound <= slept && slept < bound + LATE_PAUSE, "{reason:?} took {slept:?}");
    }
}

/// L1: minutes, and not an upload of the archive each second.
#[tokio::test(start_paused = true)]
async fn a_new_role_has_fifteen_minutes() {
    let mut answers: Vec<_> = (0..100).map(|_| Err(not_assumable())).collect();
    answers.push(Ok(Ok(())));
    let ran = run(None, answers).await;
    assert_eq!(ran.result, Ok(()));
    assert!(ran.slept > Duration::from_secs(10 * 60), "{:?}", ran.slept);
    let ran = run(None, vec![Err(not_assumable())]).await;
    assert!(ran.attempts < 120, "{} attempts", ran.attempts);
}

#[test]
fn iam_has_two_minutes() {
    for reason in [
        WaitReason::RoleUnknown,
        WaitReason::BoundaryUnknown,
        WaitReason::TagsUnknown,
        WaitReason::PrincipalUnknown,
        WaitReason::PoliciesLeaving,
        WaitReason::ConcurrentChange,
    ] {
        assert_eq!(reason.bound(), Duration::from_secs(120), "{reason:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_role_that_is_never_assumable_is_one_clear_error() {
    let fault = run(None, vec![Err(not_assumable())]).await.result.unwrap_err();
    assert_eq!(
        fault.to_string(),
        "lambda:CreateFunction: Lambda cannot assume the new role yet, after 15m: The role defined for the function cannot \
         be assumed by Lambda."
    );
    let advice = WaitReason::RoleNotAssumable.advice();
    assert!(advice.is_some());
    assert_eq!((fault.kind, fault.advice), (FaultKind::Unsettled, advice));
}

#[tokio::test(start_paused = true)]
async fn a_refusal_that_waiting_does_not_solve_is_returned_immediately() {
    let refused = refusal("sqs:CreateQueue", Some("InvalidAttributeValue"), "no");
    let ran = run(None, vec![Err(refused.clone())]).await;
    assert_eq!((ran.result, ran.reported, ran.slept), (Err(refused), vec![], Duration::ZERO));
}

/// I3, E4, L4.
#[tokio::test(start_paused = true)]
async fn not_found_means_not_yet_only_for_what_is_new() {
    let ran = run(None, vec![Err(absent())]).await;
    assert_eq!((ran.result, ran.slept), (Err(absent()), Duration::ZERO));

    let unknown = Some(WaitReason::RoleUnknown);
    let ran = run(unknown, vec![Err(absent()), Err(absent()), Ok(Ok(()))]).await;
    assert_eq!((ran.result, ran.reported), (Ok(()), vec![WaitReason::RoleUnknown.text().to_owned()]));

    let ran = run(unknown, vec![Err(absent())]).await;
    assert_eq!(ran.result, Err(absent()), "what stays absent is absent");
    assert!(ran.slept >= WaitReason::RoleUnknown.bound());
}

/// I9, S15: any other denial is final at once.
#[tokio::test(start_paused = true)]
async fn denied_means_not_yet_only_where_a_condition_is_about_what_is_new() {
    for unknown in [None, Some(WaitReason::RoleUnknown)] {
        let ran = run(unknown, vec![Err(denied())]).await;
        assert_eq!((ran.result, ran.slept), (Err(denied()), Duration::ZERO), "{unknown:?}");
    }
    for unseen in [WaitReason::BoundaryUnknown, WaitReason::TagsUnknown] {
        let ran = run(Some(unseen), vec![Err(denied()), Err(denied()), Ok(Ok(()))]).await;
        assert_eq!((ran.result, ran.reported), (Ok(()), vec![unseen.text().to_owned()]));
        let ran = run(Some(unseen), vec![Err(absent())]).await;
        assert_eq!((ran.result, ran.slept), (Err(absent()), Duration::ZERO));
        let ran = run(Some(unseen), vec![Err(denied())]).await;
        assert_eq!(ran.result, Err(denied()), "what stays denied names its action");
        assert!(ran.slept >= Duration::from_secs(120), "{:?}", ran.slept);
    }
}

/// A wait of minutes must not make Ctrl-C seem dead.
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
    assert_eq!(fault.kind, FaultKind::Stopped);
    assert_eq!(fault.message, WaitReason::RoleNotAssumable.text());
    assert_eq!(*attempts.lock().unwrap(), 1, "nothing is called after the request");
}
