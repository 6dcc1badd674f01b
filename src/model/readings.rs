//! A property: whatever AWS returns, reading it does not panic.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::document::Document;
use super::options::UserTag;
use super::policy::{self, InlinePolicy, policy_space};
use super::record::ClusterRecord;
use super::router_function::{LiveTest, RouterHandler, SelfTestReport};
use super::scope::tests::scope;
use super::settings::Settings;
use super::tags::{BUS, CLUSTER, DELETING, Tags};
use crate::model::calls::sqs;

/// Texts that are almost, or unusually, a number, a path, an id or a time.
const ODD: &str = "-1 · 1e999 · 99999999999999999999 · NaN · ../../etc · %zz%C3%28%00% · i-1 · 2026-11-21T19:58:01Z · \
    arn:aws:ec2:us-west-2:111122223333:instance/i-1 · +999999-12-31T23:59:59Z · Sat, 05 Dec 2026 05:00:00 GMT";

/// Text of any characters, where those that control a terminal or a parser are more frequent.
pub(crate) fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "[\\x00-\\x1f\\x7f-\\x9f\u{61c}\u{2028}-\u{202e}\u{2066}-\u{2069}\u{e0020}-\u{e007f}a%\"\\\\/:*{}.]{0,24}",
        prop::sample::select(ODD.split(" · ").collect::<Vec<_>>()).prop_map(str::to_owned),
    ]
}

/// Any JSON value, with members that kibus reads.
pub(crate) fn any_json() -> impl Strategy<Value = Value> {
    let members = "Statement Sid Effect Principal Service AWS Action NotAction Resource Condition StringEquals aws:SourceArn \
                   detail time affectedEntities entityValue";
    let members: Vec<String> = members.split(' ').map(str::to_owned).collect();
    let key = prop_oneof![3 => prop::sample::select(members), 1 => any_text()];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        Just(json!(0.5)),
        Just(json!("Allow")),
        Just(json!("kms:*")),
        Just(json!(sqs::RECEIVE_MESSAGE)),
        any_text().prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 48, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map(key.clone(), inner, 0..5).prop_map(|members| members.into_iter().collect()),
        ]
    })
}

pub(crate) fn any_policy() -> impl Strategy<Value = Value> {
    prop_oneof![any_json(), any_json().prop_map(|statement| json!({ "Statement": statement }))]
}

/// JSON, almost JSON, and JSON that is nested deeply.
pub(crate) fn any_json_text() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => any_json().prop_map(|value| value.to_string()),
        2 => (any_json(), any::<prop::sample::Index>()).prop_map(|(value, at)| {
            let text = value.to_string();
            text.chars().take(at.index(text.len() + 1)).collect()
        }),
        1 => any_text(),
        1 => (1..50_000_usize).prop_map(|depth| format!("{}1{}", "[".repeat(depth), "]".repeat(depth))),
        1 => (1..50_000_usize).prop_map(|depth| format!("{}1{}", r#"{"detail":"#.repeat(depth), "}".repeat(depth))),
    ]
}

fn any_tags() -> impl Strategy<Value = Tags> {
    const KEYS: [&str; 4] = [BUS, CLUSTER, DELETING, "team"];
    let tag = (prop::sample::select(&KEYS[..]), any_text());
    prop::collection::vec(tag, 0..6)
        .prop_map(|tags| tags.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

proptest! {
    #[test]
    fn any_text_is_settings_and_a_record_or_an_error(text in any_json_text(), value in any_json(), since in any_text()) {
        let record = json!({"format": 1, "cluster": "base", "queue": "q", "made-by": since, "since": since, "tags": value});
        for text in [text, json!({"format": 1, "options": value, "since": since}).to_string(), record.to_string()] {
            let read = [Settings::from_document(&text).map(drop), ClusterRecord::from_document(&text, &"base".parse().unwrap()).map(drop)];
            for bad in read.into_iter().filter_map(Result::err) {
                prop_assert!(!bad.to_string().contains(char::is_control), "{bad:?}");
            }
        }
    }

    #[test]
    fn any_tag_is_one_of_a_user_or_refused(tags in any_tags()) {
        for (key, value) in tags.0 {
            let _ = (format!("{key}={value}").parse::<UserTag>(), value.parse::<RouterHandler>());
        }
    }

    #[test]
    fn any_policy_can_be_read_and_compared(value in any_policy(), other in any_policy()) {
        let (policy, other) = (Document::new(value), Document::new(other));
        prop_assert_eq!(policy == other, other == policy);
        prop_assert!(Document::parse(&policy.pretty()).unwrap() == policy);
        let _ = (
            policy::all_ours(&policy),
            policy::lacks(Some(&policy), &other),
            policy::statements_of_others(&policy, &other).len(),
            policy::has_lock(&scope(), &"q".parse().unwrap(), &policy),
            policy::with_old_keys(policy.clone(), policy::KeyUse::Route, &scope(), &policy::allowed_keys(&other)),
        );
    }

    #[test]
    fn any_text_is_a_document_or_a_text(text in any_json_text()) {
        let document = InlinePolicy { name: text.clone(), text: text.clone() }.document_or_text();
        let expected = serde_json::from_str(&text).unwrap_or(Value::String(text));
        prop_assert_eq!(document.value(), &expected);
        prop_assert!(policy_space(&document.compact()) > 0);
    }

    #[test]
    fn any_answer_of_the_function_is_a_result(answer in prop_oneof![
        any_json_text().prop_map(String::into_bytes),
        any::<Vec<u8>>(),
        any_json().prop_map(|value| json!({"version": value, "handler": "", "problems": value}).to_string().into_bytes()),
        any_text().prop_map(|text| json!({"version": text, "handler": text, "problems": [{"text": text, "code": text}]}).to_string().into_bytes()),
    ]) {
        let _ = (LiveTest::of_payload(&answer), SelfTestReport::read(&answer));
    }
}
