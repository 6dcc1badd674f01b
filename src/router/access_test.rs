//! The part of the self-test that calls AWS with the role of the function: it reads the tags of an instance that does
//! not exist, and sends a message to the probe queue. What is refused here would be refused for every event.

use aws_sdk_sqs::types::SendMessageBatchRequestEntry;
use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use aws_smithy_runtime_api::client::result::SdkError;
use aws_smithy_types::DateTime;
use aws_smithy_types::date_time::Format;
use aws_smithy_types::error::display::DisplayErrorContext;
use aws_smithy_types::error::metadata::ProvideErrorMetadata;

use super::clock::{Backoff, Clock};
use crate::aws_code;
use crate::ec2::describe_tags::describe_tags;
use crate::ec2::{self, Ec2Error};
use crate::model::name::QueueName;
use crate::model::scope::Scope;
use crate::model::self_test::message;
use crate::model::tags::{CLUSTER, Tags};

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
    let time = DateTime::from_secs(clock.unix_millis() / 1000).fmt(Format::DateTime);
    let body = message(scope, &time.unwrap_or_default()).to_string();
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
        format!("{call} failed, because the queue's KMS key {state}{advice}")
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
            " and whether SQS in {} supports tags as conditions, because the queue has the tags",
            scope.region
        )
    } else {
        " and the tags kibus:bus and kibus:cluster of the queue, which lacks one of them".to_owned()
    }
}

/// EC2 and SQS themselves.
pub(super) struct AwsCalls<'a> {
    pub(super) ec2: &'a ec2::Client,
    pub(super) sqs: &'a aws_sdk_sqs::Client,
    pub(super) scope: &'a Scope,
    /// A custom endpoint of SQS.
    pub(super) endpoint: Option<String>,
}

impl AwsCalls<'_> {
    fn url(&self, queue: &QueueName) -> String {
        self.scope.queue_url(self.endpoint.as_deref(), queue)
    }
}

impl TestedCalls for AwsCalls<'_> {
    async fn instance_tags(&self, id: &str) -> Result<(), CallError> {
        let tags = describe_tags(self.ec2, &[id], || {}).await;
        tags.map(drop).map_err(|error| CallError {
            is_transient: error.is_transient(),
            code: error.code().unwrap_or("NoAnswer").to_owned(),
            message: match error {
                Ec2Error::Refused { message, .. } => message,
                Ec2Error::Unreachable(_) | Ec2Error::Unreadable(_) => error.to_string(),
            },
        })
    }

    async fn send(&self, queue: &QueueName, body: &str) -> Result<(), CallError> {
        let entry = SendMessageBatchRequestEntry::builder().id("0").message_body(body);
        let entry = entry.build().map_err(|e| CallError {
            code: "InvalidRequest".to_owned(),
            message: e.to_string(),
            is_transient: false,
        })?;
        let call = self.sqs.send_message_batch().queue_url(self.url(queue)).entries(entry);
        let answer = call.send().await.map_err(|e| error(&e))?;
        match answer.failed().first() {
            Some(failed) => Err(refusal(
                failed.code(),
                failed.message().unwrap_or_default(),
                !failed.sender_fault(),
            )),
            None => Ok(()),
        }
    }

    async fn queue_tags(&self, queue: &QueueName) -> Result<Tags, CallError> {
        let call = self.sqs.list_queue_tags().queue_url(self.url(queue));
        let answer = call.send().await.map_err(|e| error(&e))?;
        Ok(Tags(
            answer
                .tags()
                .into_iter()
                .flatten()
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect(),
        ))
    }
}

fn error<E: ProvideErrorMetadata + std::error::Error + 'static>(e: &SdkError<E, HttpResponse>) -> CallError {
    match e {
        SdkError::ServiceError(answer) => refusal(
            answer.err().code().unwrap_or("NoCode"),
            answer.err().message().unwrap_or_default(),
            answer.raw().status().is_server_error(),
        ),
        _ => CallError {
            code: "NoAnswer".to_owned(),
            message: DisplayErrorContext(e).to_string(),
            is_transient: true,
        },
    }
}

/// A refusal of AWS with this code and message.
pub(super) fn refusal(code: &str, message: &str, is_server_fault: bool) -> CallError {
    let code = aws_code::bare(code);
    let passes = [
        aws_code::is_throttled,
        aws_code::is_limit,
        aws_code::is_expired,
        aws_code::is_server_error,
    ];
    CallError {
        code: code.to_owned(),
        message: message.to_owned(),
        is_transient: is_server_fault || passes.iter().any(|is| is(code)),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::time::{Duration, SystemTime};

    use super::*;
    use crate::model::policy;
    use crate::model::scope::tests::{scope, scope_in};
    use crate::model::self_test::is_message;
    use crate::router::clock::Deadline;

    /// Services that answer every call alike.
    struct Alike {
        instance_tags: Result<(), CallError>,
        send: Option<Result<(), CallError>>,
        queue_tags: Result<Tags, CallError>,
        calls: Mutex<Vec<String>>,
    }

    impl Alike {
        fn called(&self, call: String) {
            self.calls.lock().unwrap().push(call);
        }
    }

    impl TestedCalls for Alike {
        async fn instance_tags(&self, id: &str) -> Result<(), CallError> {
            self.called(format!("tags of {id}"));
            self.instance_tags.clone()
        }

        async fn send(&self, queue: &QueueName, body: &str) -> Result<(), CallError> {
            self.called(format!("{queue} {body}"));
            match &self.send {
                Some(answer) => answer.clone(),
                None => std::future::pending().await,
            }
        }

        async fn queue_tags(&self, _: &QueueName) -> Result<Tags, CallError> {
            self.queue_tags.clone()
        }
    }

    fn refused(code: &str) -> CallError {
        refusal(code, "said", false)
    }

    fn healthy() -> Alike {
        Alike {
            instance_tags: Ok(()),
            send: Some(Ok(())),
            queue_tags: Ok(Tags::of(&scope().bus).with(CLUSTER, "-")),
            calls: Mutex::default(),
        }
    }

    /// The problems, with 100 ms for the calls.
    async fn problems(calls: &Alike) -> Vec<AccessProblem> {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
        let ends = (now + Duration::from_millis(1600)).as_millis();
        run(calls, &scope(), &Deadline::at(ends.try_into().unwrap())).await
    }

    #[tokio::test]
    async fn the_test_calls_ec2_and_sends_a_message_with_a_time() {
        let calls = healthy();
        assert_eq!(problems(&calls).await, []);
        let mut made = calls.calls.into_inner().unwrap();
        made.sort();
        let (queue, body) = made[0].split_once(' ').unwrap();
        assert_eq!(
            (queue, made[1].as_str()),
            ("kibus-probe", "tags of i-00000000000000000")
        );
        let body: serde_json::Value = serde_json::from_str(body).unwrap();
        assert!(is_message(&body), "{body}");
        let time = body["time"].as_str().unwrap();
        assert!(
            DateTime::from_str(time, Format::DateTime).unwrap().secs() > 1_700_000_000,
            "{time}"
        );
    }

    /// S14, S15, S18, L18: what is at fault has a name.
    #[tokio::test]
    async fn a_refused_send_names_the_statement_the_tags_or_the_key() {
        let tagged = Ok(Tags::of(&scope().bus).with(CLUSTER, "-"));
        for (code, queue_tags, expected) in [
            (
                "AccessDenied",
                tagged.clone(),
                "is denied; check statement KibusSendToClusters of the router's policy and whether SQS in us-west-2 supports \
                 tags as conditions, because the queue has the tags: AccessDenied (said)",
            ),
            (
                "AccessDenied",
                Ok(Tags::default()),
                "is denied; check statement KibusSendToClusters of the router's policy and the tags kibus:bus and \
                 kibus:cluster of the queue, which lacks one of them: AccessDenied (said)",
            ),
            (
                "AccessDeniedException",
                Err(refused("AccessDenied")),
                "is denied; check statement KibusSendToClusters of the router's policy: AccessDeniedException (said)",
            ),
            (
                "AWS.SimpleQueueService.NonExistentQueue",
                tagged.clone(),
                "failed, because the queue does not exist: NonExistentQueue (said)",
            ),
            (
                "KMS.DisabledException",
                tagged.clone(),
                "failed, because the queue's KMS key is disabled: KMS.DisabledException (said)",
            ),
            (
                "KMS.NotFoundException",
                tagged.clone(),
                "failed, because the queue's KMS key does not exist: KMS.NotFoundException (said)",
            ),
            (
                "KMS.AccessDeniedException",
                tagged.clone(),
                "failed, because the queue's KMS key denies kms:GenerateDataKey or kms:Decrypt; check statement KibusUseKey \
                 of the router's policy, and the key's policy: KMS.AccessDeniedException (said)",
            ),
            (
                "InvalidMessageContents",
                tagged,
                "failed: InvalidMessageContents (said)",
            ),
        ] {
            let calls = Alike {
                send: Some(Err(refused(code))),
                queue_tags,
                ..healthy()
            };
            let found = problems(&calls).await;
            let expected = AccessProblem {
                text: format!("sqs:SendMessage to queue `kibus-probe` {expected}"),
                code: aws_code::bare(code).to_owned(),
            };
            assert_eq!(found, [expected]);
        }
    }

    /// S14: where SQS does not know tags as conditions, the statement has none.
    #[tokio::test]
    async fn a_denied_send_is_not_about_tags_where_the_statement_has_none() {
        let error = refused("AccessDenied");
        let text = |region| {
            send_text(
                &scope_in("aws", region),
                &scope().probe_queue(),
                &error,
                Some(&Tags::default()),
            )
        };
        assert!(text("us-west-2").contains("kibus:cluster"), "{}", text("us-west-2"));
        assert!(
            text("ap-south-2").ends_with("of the router's policy"),
            "{}",
            text("ap-south-2")
        );
    }

    #[tokio::test]
    async fn a_refused_read_of_tags_names_the_statement() {
        let calls = Alike {
            instance_tags: Err(refused("UnauthorizedOperation")),
            ..healthy()
        };
        let found = problems(&calls).await;
        let text = "ec2:DescribeTags is denied; check statement KibusReadInstanceTags of the router's policy: \
                    UnauthorizedOperation (said)";
        assert_eq!(found[0].text, text);
    }

    #[test]
    fn the_statements_that_are_named_exist() {
        let key = "arn:aws:kms:us-west-2:111122223333:key/1".parse().unwrap();
        let policy = policy::router(&scope(), &"karpenter-".parse().unwrap(), Some(&key)).compact();
        for statement in ["KibusReadInstanceTags", "KibusSendToClusters", "KibusUseKey"] {
            assert!(policy.contains(&format!("\"{statement}\"")), "{statement}");
            assert!(include_str!("access_test.rs").contains(&format!("{statement} of the router's policy")));
        }
    }

    #[tokio::test]
    async fn a_call_without_an_answer_times_out_with_its_own_words() {
        let found = problems(&Alike {
            send: None,
            ..healthy()
        })
        .await;
        let text = "sqs:SendMessage to queue `kibus-probe` failed: RequestTimeout \
                    (timed out: no answer within the time of the self-test)";
        assert_eq!(
            found.iter().map(|problem| problem.text.as_str()).collect::<Vec<_>>(),
            [text]
        );
    }

    #[tokio::test]
    async fn a_throttled_call_is_retried_until_the_time_is_up() {
        let calls = Alike {
            instance_tags: Err(refused("RequestLimitExceeded")),
            ..healthy()
        };
        let found = problems(&calls).await;
        assert_eq!(found[0].code, "RequestLimitExceeded");
        assert!(calls.calls.lock().unwrap().len() > 2, "{:?}", calls.calls);
    }
}
