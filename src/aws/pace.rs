//! Calls at the pace that AWS allows. A throttled call was not executed: it waits, and is sent again while other calls
//! of its service succeed. The SDK does not retry throttled calls, so these waits count toward neither its attempts nor
//! its time limit.

mod line;

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use tokio::sync::watch;

use super::locked;
use crate::cloud::{Fault, FaultKind, Waiting};
use crate::model::{Slowdown, calls, duration_text, slowed_by};
use line::{Line, Ticket, Turn};

/// The calls of one caller in one account and Region.
#[derive(Debug)]
pub(super) struct Pace {
    start: Instant,
    lines: Mutex<BTreeMap<Group, Line>>,
    silence: Mutex<Silence>,
    slowdown: watch::Sender<Slowdown>,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            start: Instant::now(),
            lines: Mutex::default(),
            silence: Mutex::default(),
            slowdown: watch::Sender::default(),
        }
    }
}

impl Pace {
    /// The calls that AWS has throttled so far, kept up to date.
    pub(super) fn slowdown(&self) -> watch::Receiver<Slowdown> {
        self.slowdown.subscribe()
    }

    /// Whether AWS has throttled a call that shares a rate limit with this one.
    pub(super) fn is_slowed(&self, action: &str) -> bool {
        let lines = locked(&self.lines);
        lines.get(&Group::of(action)).is_some_and(Line::is_slowed)
    }

    /// Makes a call, by its name in IAM, and repeats it while it is throttled, until its service has throttled every
    /// call for ten minutes. After a request to stop, it does not wait.
    pub(super) async fn call<T, F>(
        &self,
        action: &str,
        waiting: Waiting<'_>,
        attempt: impl Fn() -> F,
    ) -> Result<T, Fault>
    where
        F: Future<Output = Result<T, Fault>>,
    {
        let group = Group::of(action);
        loop {
            self.turn(&group, action, waiting).await?;
            let sent = self.start.elapsed();
            let answer = attempt().await;
            match answer {
                Err(fault) if fault.kind == FaultKind::Throttled => self.throttled(&group, sent, fault)?,
                // This says nothing about the rate.
                Err(fault) if fault.kind == FaultKind::Unreachable => return Err(fault),
                answer => {
                    self.answered(&group, sent);
                    return answer;
                }
            }
        }
    }

    async fn turn(&self, group: &Group, action: &str, waiting: Waiting<'_>) -> Result<(), Fault> {
        let place = Place::take(self, group, calls::is_read(action));
        while let Turn::After(wait) = place.turn() {
            tokio::select! {
                biased;
                () = waiting.stopped() => return Err(Fault::new(FaultKind::Stopped, action, slowed_by([&group.service]))),
                () = tokio::time::sleep(wait) => {}
            }
        }
        Ok(())
    }

    fn answered(&self, group: &Group, sent: Duration) {
        locked(&self.silence).answered(group.service);
        self.line(group, |line| line.succeeded(sent, self.start.elapsed()));
    }

    fn throttled(&self, group: &Group, sent: Duration, fault: Fault) -> Result<(), Fault> {
        let now = self.start.elapsed();
        self.line(group, |line| line.throttled(sent, now));
        self.slowdown.send_modify(|slowdown| slowdown.count(group.service));
        let ended = locked(&self.silence).throttled(group.service, now);
        ended.map_err(|message| Fault { message, ..fault })
    }

    fn line<T>(&self, group: &Group, then: impl FnOnce(&mut Line) -> T) -> T {
        then(locked(&self.lines).entry(group.clone()).or_default())
    }
}

/// The place of a call in its line. Dropping it leaves the line.
struct Place<'a> {
    pace: &'a Pace,
    group: &'a Group,
    ticket: Ticket,
}

impl<'a> Place<'a> {
    fn take(pace: &'a Pace, group: &'a Group, is_read: bool) -> Self {
        let ticket = pace.line(group, |line| line.enter(is_read));
        Self { pace, group, ticket }
    }

    fn turn(&self) -> Turn {
        let now = self.pace.start.elapsed();
        self.pace.line(self.group, |line| line.turn(self.ticket, now))
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.pace.line(self.group, |line| line.leave(self.ticket));
    }
}

/// The calls that share a rate. The service name is as shown to the user.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Group {
    service: &'static str,
    /// The action, if the service counts each action separately, or what the actions have in common.
    actions: String,
}

/// The name for a group of actions that share a rate limit.
const TOGETHER: &str = "*";

impl Group {
    /// The group of an action, as IAM names it. IAM counts all of its actions together; Lambda its control plane
    /// actions, except `GetFunction` (Lambda developer guide, "Lambda quotas"); SQS its tag actions (SQS developer
    /// guide, "Amazon SQS cost allocation tags"). The other services count each action separately.
    fn of(action: &str) -> Self {
        let (service, name) = action.split_once(':').unwrap_or((action, ""));
        let (service, actions) = match service {
            "iam" => ("IAM", TOGETHER),
            "lambda" if matches!(name, "GetFunction" | "InvokeFunction") => ("Lambda", name),
            "lambda" => ("Lambda", TOGETHER),
            "sqs" if matches!(name, "ListQueueTags" | "TagQueue" | "UntagQueue") => ("SQS", TOGETHER),
            "sqs" => ("SQS", name),
            "events" => ("EventBridge", name),
            "logs" => ("CloudWatch Logs", name),
            "tag" => ("the tagging API", name),
            "kms" => ("KMS", name),
            "ec2" => ("EC2", name),
            "eks" => ("EKS", name),
            "fis" => ("FIS", name),
            "cloudwatch" => ("CloudWatch", name),
            "ssm" => ("Parameter Store", name),
            "sns" => ("SNS", name),
            "sts" => ("STS", name),
            _ => ("AWS", action),
        };
        Self { service, actions: actions.to_owned() }
    }
}

/// Since when each service has throttled every call, measured from any start.
#[derive(Debug, Default)]
struct Silence(BTreeMap<&'static str, Duration>);

impl Silence {
    fn answered(&mut self, service: &'static str) {
        self.0.remove(service);
    }

    /// Records a throttled call. If the service has throttled every call for too long, fails with the message to report.
    fn throttled(&mut self, service: &'static str, now: Duration) -> Result<(), String> {
        let since = *self.0.entry(service).or_insert(now);
        // STS is called first, and once.
        let longest = Duration::from_secs(if service == "STS" { 30 } else { 600 });
        if now - since < longest {
            return Ok(());
        }
        Err(format!("{service} has throttled every call for {}", duration_text(longest.as_secs())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aws::error::refusal;

    fn throttle(action: &str) -> Fault {
        refusal(action, Some("Throttling"), "Rate exceeded")
    }

    #[test]
    fn a_service_that_throttles_for_ever_ends_a_call_with_what_helps() {
        let mut pace = Pace::default();
        let mut throttled = || {
            let throttle = throttle("iam:GetRole");
            let answer = pace.throttled(&Group::of("iam:GetRole"), pace.start.elapsed(), throttle);
            // As if ten minutes had passed.
            pace.start -= Duration::from_secs(600);
            answer
        };
        assert_eq!(throttled(), Ok(()));
        let fault = throttled().unwrap_err();
        assert_eq!(fault.kind, FaultKind::Throttled);
        assert_eq!(fault.to_string(), "iam:GetRole: IAM has throttled every call for 10m");
    }

    #[tokio::test]
    async fn a_call_waits_until_it_is_accepted_and_others_of_its_service_count_apart() {
        let pace = Pace::default();
        let left = Mutex::new(2);
        let attempt = async || match &mut *locked(&left) {
            0 => Ok(()),
            left => {
                *left -= 1;
                Err(throttle("sqs:CreateQueue"))
            }
        };
        assert_eq!(pace.call("sqs:CreateQueue", Waiting::unattended(), attempt).await, Ok(()));
        assert_eq!(pace.slowdown().borrow().throttled, BTreeMap::from([("SQS", 2)]));
        assert!(pace.is_slowed("sqs:CreateQueue"));
        assert!(!pace.is_slowed("sqs:DeleteQueue"));
    }

    #[tokio::test]
    async fn a_request_to_stop_ends_the_wait_of_a_call() {
        let pace = Pace::default();
        let (ask, asked) = watch::channel(false);
        let attempt = async || {
            // No one has to receive it.
            let _ = ask.send(true);
            Err::<(), _>(throttle("iam:PutRolePolicy"))
        };
        let called = pace.call("iam:PutRolePolicy", Waiting::new(&|_| {}, &asked), attempt).await;
        let fault = called.unwrap_err();
        assert_eq!((fault.kind, fault.message.as_str()), (FaultKind::Stopped, "slowed down by IAM's rate limit"));
    }

    #[test]
    fn actions_that_aws_counts_together_share_a_group() {
        for (one, other, together) in [
            ("iam:GetRole", "iam:PutRolePolicy", true),
            ("lambda:GetAlias", "lambda:UpdateAlias", true),
            ("lambda:GetAlias", "lambda:GetFunction", false),
            ("sqs:TagQueue", "sqs:ListQueueTags", true),
            ("sqs:CreateQueue", "sqs:ListQueueTags", false),
            ("sqs:CreateQueue", "sqs:DeleteQueue", false),
            ("events:PutRule", "logs:PutRule", false),
        ] {
            assert_eq!(Group::of(one) == Group::of(other), together, "{one} {other}");
        }
    }

    #[test]
    fn ten_minutes_without_an_answer_of_its_service_end_a_call_and_30_seconds_for_sts() {
        let mut silence = Silence::default();
        let mut ended = |service, second| silence.throttled(service, Duration::from_secs(second)).err();
        for (service, second) in [("IAM", 5), ("IAM", 604), ("SQS", 605)] {
            assert_eq!(ended(service, second), None, "{service} {second}");
        }
        assert_eq!(ended("IAM", 605).as_deref(), Some("IAM has throttled every call for 10m"));
        silence.answered("IAM");
        let mut ended = |service, second| silence.throttled(service, Duration::from_secs(second)).err();
        assert_eq!([ended("IAM", 606), ended("STS", 606)], [None, None]);
        assert_eq!(ended("STS", 636).as_deref(), Some("STS has throttled every call for 30s"));
    }
}
