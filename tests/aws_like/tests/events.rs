//! Behaviors of EventBridge.

use aws_sdk_eventbridge::operation::put_targets::builders::PutTargetsFluentBuilder;
use aws_sdk_eventbridge::types::Target;
use aws_smithy_types::error::metadata::ProvideErrorMetadata;

use super::{Clients, said, with};
use crate::aws_like::Behavior;

async fn put_rule(aws: &Clients) {
    let call = aws.events.put_rule().name("u");
    call.event_pattern(r#"{"source":["a"]}"#).send().await.unwrap();
}

/// The call that sets a target of the rule.
fn put_target(aws: &Clients) -> PutTargetsFluentBuilder {
    let queue = format!("arn:aws:sqs:us-west-2:{}:q", aws.account);
    let target = Target::builder().id("1").arn(queue).build();
    aws.events.put_targets().rule("u").targets(target.unwrap())
}

#[test]
fn e6_a_rule_is_not_deleted_with_targets_nor_right_after() {
    with("200000000006", "E6", async |aws| {
        put_rule(aws).await;
        put_target(aws).send().await.unwrap();
        let delete = async || {
            let answer = aws.events.delete_rule().name("u").send().await;
            match answer {
                Ok(_) => "ok".to_owned(),
                Err(e) => format!("{} {}", e.code().unwrap(), e.message().unwrap()),
            }
        };
        let refused = "ValidationException Rule can't be deleted since it has targets.";
        assert_eq!(delete().await, refused);
        aws.events.remove_targets().rule("u").ids("1").send().await.unwrap();
        assert_eq!(delete().await, refused);
        aws.proxy.like.settle().await;
        assert_eq!(delete().await, "ok");
    });
}

#[test]
fn e1_e4_and_e12_a_new_rule_is_late() {
    with("200000000012", "E1 E4 E12", async |aws| {
        put_rule(aws).await;
        let put = put_target(aws);
        assert_eq!(said(put.clone().send().await), "ResourceNotFoundException");
        aws.proxy.like.settle().await;
        assert_eq!(said(put.send().await), "ok");
        let list = async || {
            let answer = aws.events.list_targets_by_rule().rule("u").send().await.unwrap();
            answer.targets.unwrap_or_default().len()
        };
        assert_eq!(list().await, 0, "E12");
        tokio::time::sleep(Behavior::E12.time()).await;
        assert_eq!(list().await, 1);
        assert_eq!(aws.proxy.like.take_struck(), [Behavior::E1, Behavior::E4, Behavior::E12]);
    });
}
