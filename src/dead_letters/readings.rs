//! A property: whatever the dead-letter queue contains or the router answers, reading it does not panic.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::treat::batch_event;
use super::{DeadLetter, RetryLine};
use crate::model::{
    RouterAnswer, Signal,
    readings::{any_json, any_json_text, any_text},
    sample_event,
    scope::tests::scope,
};

/// A dead letter with any text.
pub(crate) fn any_letter() -> impl Strategy<Value = DeadLetter> {
    let event =
        (any_json(), prop::sample::select(Signal::ALL.to_vec()), any_text()).prop_map(|(detail, signal, time)| {
            let mut event = sample_event(&scope(), signal, &["i-1"]);
            event["detail"] = detail;
            event["time"] = time.into();
            event.to_string()
        });
    let body = prop_oneof![any_json_text(), event];
    let attributes = prop::collection::vec(any_text(), 6);
    (any_text(), any::<i64>(), any::<u32>(), any::<Option<bool>>(), attributes, body).prop_map(
        |(id, sent, receives, moved, attributes, body)| {
            const EXHAUSTED: &str = "EXHAUSTED_RETRY_CONDITION";
            let names = ["ERROR_CODE", "ERROR_MESSAGE", "RULE_ARN", "TARGET_ARN", "RETRY_ATTEMPTS", EXHAUSTED];
            let attribute = |name: &str| {
                let place = names.iter().position(|known| *known == name)?;
                moved.is_none().then(|| attributes[place].as_str())
            };
            let letter = DeadLetter { id, sent, receives, body, ..DeadLetter::default() };
            letter.with_cause(attribute, moved == Some(true))
        },
    )
}

proptest! {
    #[test]
    fn any_dead_letter_can_be_read_and_passed_on(letter in any_letter(), now in any::<i64>(), line in any_json_text()) {
        let letter = letter.with_event(now);
        let _ = (json!(letter), RetryLine::parse(&line));
        let passed: Value = serde_json::from_str(&batch_event([&letter]).to_string()).unwrap();
        prop_assert_eq!(passed["Records"][0]["body"].as_str(), Some(letter.body.as_str()));
    }

    #[test]
    fn any_answer_to_a_batch_clears_messages_or_fails_them(answer in prop_oneof![
        any_json_text().prop_map(String::into_bytes),
        any::<Vec<u8>>(),
        any_json().prop_map(|value| json!({ "batchItemFailures": value }).to_string().into_bytes()),
        any_json().prop_map(|value| json!({"batchItemFailures": [{ "itemIdentifier": value }]}).to_string().into_bytes()),
    ]) {
        let failed = RouterAnswer::read(&answer, &["a", "b"]).returned;
        let cleared = serde_json::from_slice::<Value>(&answer).is_ok_and(|answer| answer["batchItemFailures"] == json!([]));
        prop_assert_eq!(failed.is_empty(), cleared);
    }
}
