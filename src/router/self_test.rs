//! The router's self-test. It calls AWS with the role of the function: it reads the tags of an instance that does not exist,
//! and sends a message to the probe queue. If one of these calls is refused, it would be refused for every event.

use super::clock::{Backoff, Clock, Deadline};
use super::decision::RetryReason;
use super::owner::NO_INSTANCE;
use super::report::CallCounts;
use super::services::{CallError, CallFailure, Services};
use crate::model::{
    InstanceId, QueueName, RouterHandler, Scope, SelfTestProblem, SelfTestReport, Tags,
    policy::KEPT_DATA_KEY,
    router_build::{MARK, version_in},
    router_function::self_test_message,
    tags::CLUSTER,
    time_text,
};
use crate::wire::aws_code;

/// How many characters of an AWS message are reported. EC2 appends an encoded text of a thousand characters.
const SHOWN: usize = 300;

/// Runs the self-test, which ends before the deadline.
pub(super) async fn run<S: Services>(
    scope: &Scope,
    handler: &RouterHandler,
    services: &S,
    deadline: Deadline,
) -> SelfTestReport {
    SelfTestReport {
        version: version_in(MARK.as_bytes()).unwrap_or_default().to_owned(),
        handler: handler.to_string(),
        problems: problems(services, scope, &deadline).await,
    }
}

/// Makes the calls, with the same retries as the router's calls.
async fn problems<S: Services, C: Clock>(services: &S, scope: &Scope, clock: &C) -> Vec<SelfTestProblem> {
    let queue = scope.probe_queue();
    let body = self_test_message(scope, &time_text(clock.unix_millis())).to_string();
    let (instances, calls): (Vec<InstanceId>, _) = (NO_INSTANCE.parse().into_iter().collect(), CallCounts::default());
    let bodies = [body.as_str()];
    let (tags, sent) = tokio::join!(
        until_answered(clock, || services.instance_tags(&instances, &calls)),
        until_answered(clock, || async {
            let sent = services.send(&queue, &bodies).await?;
            sent.into_iter().collect::<Result<(), _>>()
        }),
    );
    let mut problems = Vec::new();
    problems.extend(tags.err().map(|error| problem(tags_text(&error), error)));
    if let Err(error) = sent {
        let tags = if aws_code::is_denied(&error.code) {
            clock.within(Box::pin(services.queue_tags(&queue))).await
        } else {
            None
        };
        let tags = tags.and_then(Result::ok);
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
                    failure: CallFailure::Again(RetryReason::OutOfTime),
                    code: "RequestTimeout".to_owned(),
                    message: "timed out: no answer within the time of the self-test".to_owned(),
                });
            }
            Some(Err(error)) if matches!(error.failure, CallFailure::Again(_)) && backoff.again(clock).await => {}
            Some(answer) => return answer,
        }
    }
}

fn problem(text: String, error: CallError) -> SelfTestProblem {
    let said: String = error.message.chars().take(SHOWN).collect();
    SelfTestProblem { text: format!("{text}: {} ({said})", error.code), code: error.code }
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
        let advice = if aws_code::is_denied(code) {
            "; check statement KibusUseKey of the router's policy, and the key's policy"
        } else {
            ""
        };
        format!("{call} failed, because the queue's KMS key {state}{advice}; {KEPT_DATA_KEY}")
    } else if aws_code::is_absent(code) {
        format!("{call} failed, because the queue does not exist")
    } else if aws_code::is_denied(code) {
        // In other Regions, the statement has no condition on tags.
        let tags = tags.filter(|_| scope.region.has_queue_tag_conditions());
        let tags = tags.map_or_else(String::new, |tags| tag_text(scope, tags));
        format!("{call} is denied; check statement KibusSendToClusters of the router's policy{tags}")
    } else {
        format!("{call} failed")
    }
}

/// What the tags of the probe queue mean for the statement's condition.
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
