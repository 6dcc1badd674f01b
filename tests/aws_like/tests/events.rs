//! Behaviors of EventBridge.

use aws_sdk_eventbridge::types::Target;
use aws_smithy_types::error::metadata::ProvideErrorMetadata;

use super::{said, with};
use crate::aws_like::Behavior;

#[test]
fn e6_a_rule_is_not_deleted_with_targets_nor_right_after() {
    with("200000000006", "E6", async |aws| {
        let pattern = r#"{"source":["a"]}"#;
        aws.events
            .put_rule()
            .name("u")
            .event_pattern(pattern)
            .send()
            .await
            .unwrap();
        let target = Target::builder()
            .id("1")
            .arn("arn:aws:sqs:us-west-2:200000000006:q")
            .build();
        let put = aws.events.put_targets().rule("u").targets(target.unwrap());
        put.send().await.unwrap();
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
        let pattern = r#"{"source":["a"]}"#;
        aws.events
            .put_rule()
            .name("u")
            .event_pattern(pattern)
            .send()
            .await
            .unwrap();
        let target = Target::builder()
            .id("1")
            .arn("arn:aws:sqs:us-west-2:200000000012:q")
            .build();
        let put = aws.events.put_targets().rule("u").targets(target.unwrap());
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
        assert_eq!(
            aws.proxy.like.take_struck(),
            [Behavior::E1, Behavior::E4, Behavior::E12]
        );
    });
}
