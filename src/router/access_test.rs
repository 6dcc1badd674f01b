//! The part of the self-test that calls AWS with the role of the function: it reads the tags of an instance that does
//! not exist, and sends a message to the probe queue. What is refused here would be refused for every event.

mod calls;

pub(super) use calls::AwsCalls;
#[cfg(test)]
pub(super) use calls::refusal;

use super::clock::{Backoff, Clock};
use crate::model::name::QueueName;
use crate::model::policy::KEPT_DATA_KEY;
use crate::model::scope::Scope;
use crate::model::self_test::message;
use crate::model::tags::{CLUSTER, Tags};
use crate::model::time::time_text;
use crate::wire::aws_code;

/// An id that no instance has. EC2 has no tags for it, and no error.
const NO_INSTANCE: &str = "i-00000000000000000";

/// The code of a call that was not answered in time.
const TIMED_OUT: &str = "RequestTimeout";

/// How many characters of a message of AWS are reported. EC2 appends an encoded text of a thousand.
const SHOWN: usize = 300;

/// A check that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AccessProblem {
    /// What failed, and what to check.
    pub(super) text: String,
    /// The code with which AWS refused the call; never empty.
    pub(super) code: String,
}

/// Why a call failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CallError {
    code: String,
    message: String,
    is_transient: bool,
}

/// The calls of the test.
pub(super) trait TestedCalls: Sync {
    /// Reads the tags of an instance.
    fn instance_tags(&self, id: &str) -> impl Future<Output = Result<(), CallError>> + Send;

    /// Sends one message, with the call that the router makes for events.
    fn send(&self, queue: &QueueName, body: &str) -> impl Future<Output = Result<(), CallError>> + Send;

    /// Reads the tags of a queue.
    fn queue_tags(&self, queue: &QueueName) -> impl Future<Output = Result<Tags, CallError>> + Send;
}

/// Makes the calls. They are retried while time is left, as those of the router are.
pub(super) async fn run<S: TestedCalls, C: Clock>(calls: &S, scope: &Scope, clock: &C) -> Vec<AccessProblem> {
    let queue = scope.probe_queue();
    let body = message(scope, &time_text(clock.unix_millis())).to_string();
    let (tags, sent) = tokio::join!(
        until_answered(clock, || calls.instance_tags(NO_INSTANCE)),
        until_answered(clock, || calls.send(&queue, &body)),
    );
    let mut problems = Vec::new();
    problems.extend(tags.err().map(|error| problem(tags_text(&error), error)));
    if let Err(error) = sent {
        let tags = match aws_code::is_denied(&error.code) {
            true => clock
                .within(Box::pin(calls.queue_tags(&queue)))
                .await
                .and_then(Result::ok),
            false => None,
        };
        problems.push(problem(send_text(scope, &queue, &error, tags.as_ref()), error));
    }
    problems
}

async fn until_answered<T: Send, C: Clock, F: Future<Output = Result<T, CallError>> + Send>(
    clock: &C,
    call: impl Fn() -> F,
) -> Result<T, CallError> {
    let mut backoff = Backoff::default();
    loop {
        match clock.within(Box::pin(call())).await {
            None => {
                return Err(CallError {
                    code: TIMED_OUT.to_owned(),
                    message: "timed out: no answer within the time of the self-test".to_owned(),
                    is_transient: true,
                });
            }
            Some(Err(error)) if error.is_transient && backoff.again(clock).await => {}
            Some(answer) => return answer,
        }
    }
}

fn problem(text: String, error: CallError) -> AccessProblem {
    let said: String = error.message.chars().take(SHOWN).collect();
    AccessProblem {
        text: format!("{text}: {} ({said})", error.code),
        code: error.code,
    }
}

fn tags_text(error: &CallError) -> String {
    if aws_code::is_denied(&error.code) {
        "ec2:DescribeTags is denied; check statement KibusReadInstanceTags of the router's policy".to_owned()
    } else {
        "ec2:DescribeTags failed".to_owned()
    }
}

fn send_text(scope: &Scope, queue: &QueueName, error: &CallError, tags: Option<&Tags>) -> String {
    let code = error.code.as_str();
    let call = format!("sqs:SendMessage to queue `{queue}`");
    if let Some(state) = aws_code::key_problem(code) {
        let advice = match aws_code::is_denied(code) {
            true => "; check statement KibusUseKey of the router's policy, and the key's policy",
            false => "",
        };
        format!("{call} failed, because the queue's KMS key {state}{advice}; {KEPT_DATA_KEY}")
    } else if aws_code::is_absent(code) {
        format!("{call} failed, because the queue does not exist")
    } else if aws_code::is_denied(code) {
        // Elsewhere the statement has no condition on tags.
        let tags = tags.filter(|_| scope.region.has_queue_tag_conditions());
        let tags = tags.map_or_else(String::new, |tags| tag_text(scope, tags));
        format!("{call} is denied; check statement KibusSendToClusters of the router's policy{tags}")
    } else {
        format!("{call} failed")
    }
}

/// What the tags of the probe queue say about the condition of the statement.
fn tag_text(scope: &Scope, tags: &Tags) -> String {
    if tags.belong_to(&scope.bus) && tags.get(CLUSTER).is_some() {
        format!(
            " and whether SQS in {} supports tags as conditions, because the queue has the tags; if it does not, set the hub \
             option --tag-conditions=false",
            scope.region
        )
    } else {
        " and the tags kibus:bus and kibus:cluster of the queue, which lacks one of them".to_owned()
    }
}

#[cfg(test)]
mod tests;
