//! Topics that cannot work are refused, and what is not known of them is said.

use serde_json::{Value, json};

use super::*;
use crate::model::answer::{Fault, FaultKind, TopicAttributes};
use crate::model::name::{KmsKey, Topic};

const KEY: &str = "arn:aws:kms:us-west-2:111122223333:key/1";

fn topic(statements: &Value, key: Option<&str>) -> Fact<TopicAttributes> {
    Fact::Present(TopicAttributes {
        policy: Some(Document::new(json!({ "Statement": statements }))),
        key: key.map(str::to_owned),
    })
}

fn lets(service: &str) -> Value {
    json!([{"Effect": "Allow", "Principal": {"Service": service}, "Action": "*"}])
}

fn fault(kind: FaultKind) -> Fact<TopicAttributes> {
    Fact::Unreadable(Fault {
        kind,
        action: "sns:GetTopicAttributes".to_owned(),
        code: None,
        message: "no".to_owned(),
    })
}

#[test]
fn a_topic_is_refused_or_warned_about_by_what_sns_says_of_it() {
    let denied = FaultKind::Denied {
        principal: None,
        resource: None,
    };
    let cloudwatch = lets("cloudwatch.amazonaws.com");
    for (name, answer, notify, alarms) in [
        ("one without a key", topic(&cloudwatch, None), "", ""),
        (
            "a missing one",
            Fact::Absent,
            "refused: topic `t` does not exist",
            "refused: topic `t` does not exist",
        ),
        (
            "a denied one",
            fault(denied),
            "unknown whether topic `t`",
            "unknown whether topic `t`",
        ),
        (
            "one that is out of reach",
            fault(FaultKind::Unreachable),
            "unknown whether topic `t`",
            "unknown whether topic `t`",
        ),
        (
            "the key of AWS",
            topic(&cloudwatch, Some("alias/aws/sns")),
            "",
            "refused: topic `t` is encrypted with `alias/aws/sns`",
        ),
        (
            "a customer key that lets alarms in",
            topic(&cloudwatch, Some("1")),
            "refused: topic `t` is encrypted with key `1`",
            "",
        ),
        (
            "another one",
            topic(&cloudwatch, Some(&KEY.replace("/1", "/2"))),
            "refused: topic `t` is encrypted with key",
            "refused: topic `t` cannot be notified by alarms: the policy of its key",
        ),
        (
            "an alias",
            topic(&cloudwatch, Some("alias/x")),
            "refused: topic `t` is encrypted with key `alias/x`",
            "unknown whether key `alias/x`",
        ),
        (
            "a policy of others",
            topic(&lets("events.amazonaws.com"), None),
            "",
            "refused: topic `t` cannot be notified by alarms: its policy",
        ),
    ] {
        for (option, expected) in [("notify", notify), ("alarms", alarms)] {
            let options: HubOptions = [(option.to_owned(), json!("t"))].into_iter().collect();
            let mut survey = survey_of(options, &[]);
            let topic: Topic = "t".parse().unwrap();
            survey.known.topics.insert(topic, answer.clone());
            for (key, policy) in [("/1", &cloudwatch), ("/2", &lets("x"))] {
                let key: KmsKey = KEY.replace("/1", key).parse().unwrap();
                let policy = Document::new(json!({ "Statement": policy }));
                survey.known.key_policies.insert(key, Fact::Present(policy));
            }
            let intent = reconcile(&survey, &bootstrap(HubOptions::default())).unwrap();
            let refusals = intent
                .refusals
                .iter()
                .map(|refusal| format!("refused: {}", refusal.sentence));
            let said: Vec<String> = refusals
                .chain(intent.warnings.into_iter().map(|hint| hint.text))
                .collect();
            let count = usize::from(!expected.is_empty());
            assert_eq!(said.len(), count, "{name} of --{option}: {said:?}");
            assert!(
                said.iter().all(|said| said.starts_with(expected)),
                "{name} of --{option}: {said:?}"
            );
        }
    }
}
