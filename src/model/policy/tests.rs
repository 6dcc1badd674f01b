//! What each policy allows, and to whom.

use serde_json::json;

use super::*;
use crate::model::{OrNone, scope::tests::scope};

fn key() -> KmsKey {
    "arn:aws:kms:us-west-2:111122223333:key/1".parse().unwrap()
}

fn with_key(key: Option<KmsKey>) -> HubOptions {
    HubOptions { kms_key: Some(OrNone(key)), ..HubOptions::default() }
}

#[test]
fn every_policy_of_kibus_is_recognized() {
    let (scope, queue) = (scope(), scope().hub_queue());
    for (name, policy, ours) in [
        ("controller", controller_policy(&scope, &queue, None), true),
        ("controller with a key", controller_policy(&scope, &queue, Some(&key())), true),
        ("router", router_policy(&scope, &HubOptions::default()), true),
        ("router with a key", router_policy(&scope, &with_key(Some(key()))), true),
        ("no statement", Document::new(json!({"Statement": []})), false),
        ("no Sid", Document::new(json!({"Statement": [{"Effect": "Allow"}]})), false),
        ("another's beside ours", Document::new(json!({"Statement": [{"Sid": "KibusX"}, {"Sid": "Theirs"}]})), false),
        ("one of another's, not in a list", Document::new(json!({"Statement": {"Sid": "Theirs"}})), false),
    ] {
        assert_eq!(all_ours(&policy), ours, "{name}");
    }
}

#[test]
fn an_old_key_has_a_statement_of_its_own() {
    let key_of = |id: u32| -> KmsKey { format!("arn:aws:kms:us-west-2:111122223333:key/{id}").parse().unwrap() };
    let old = BTreeSet::from([key_of(2), key_of(3)]);
    for current in [None, Some(key())] {
        let policy = router_policy(&scope(), &with_key(current.clone()));
        let none = with_old_keys(policy.clone(), KeyUse::Route, &scope(), &BTreeSet::new());
        assert_eq!(none, policy);
        let mut both = with_old_keys(policy, KeyUse::Route, &scope(), &old);
        assert!(all_ours(&both));
        assert_eq!(allowed_keys(&both), current.into_iter().chain(old.clone()).collect());
        // Values other than key ARNs are not kept, and a key that other statements allow is not a kibus key.
        let statements = both.value_mut()["Statement"].as_array_mut().unwrap();
        let last = statements.len() - 1;
        statements[last]["Resource"] = json!(["*", key_of(2).as_str(), "alias/x"]);
        statements.push(json!({"Sid": "Theirs", "Action": "kms:*", "Resource": key_of(9).as_str()}));
        assert_eq!(&allowed_keys(&both) - &BTreeSet::from([key()]), BTreeSet::from([key_of(2)]));
    }
}

#[test]
fn white_space_takes_no_space() {
    for (text, taken) in [("", 0), ("{ \"a\":\n\t\"b\" }", 9), ("{\"ü\":1}", 7)] {
        assert_eq!(policy_space(text), taken, "{text:?}");
    }
}
