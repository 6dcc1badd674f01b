//! Creates a customer managed KMS key on an emulator, without the KMS SDK.

use serde_json::{Value, json};

use super::account::Account;

/// Creates a key with this policy, or with the default policy, and returns its ARN.
pub(crate) async fn make(account: &Account, policy: Option<&Value>) -> String {
    let input = match policy {
        Some(policy) => json!({"Policy": policy.to_string()}),
        None => json!({}),
    };
    let made = account.json("kms", "CreateKey", &input.to_string()).await;
    let key = made["KeyMetadata"]["Arn"].as_str();
    key.unwrap_or_else(|| panic!("no key was made: {made}")).to_owned()
}
