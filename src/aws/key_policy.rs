//! Policies of KMS keys.

use serde::Deserialize;
use serde_json::json;

use super::error::{if_present, rejected};
use super::{AwsCloud, document};
use crate::cloud::Fault;
use crate::model::document::Document;
use crate::model::name::KmsKey;
use crate::model::resource::calls::kms;

#[derive(Debug, Deserialize)]
struct KeyPolicy {
    #[serde(rename = "Policy")]
    policy: Option<String>,
}

/// The policy of a key; `None` if there is no such key.
pub(super) async fn key_policy(cloud: &AwsCloud, key: &KmsKey) -> Result<Option<Document>, Fault> {
    let action = kms::GET_KEY_POLICY;
    // `default` is the only policy that a key has (KMS API reference, `GetKeyPolicy`).
    let input = json!({ "KeyId": key.as_str(), "PolicyName": "default" });
    let answer = cloud.call(action, || cloud.kms.call("GetKeyPolicy", input.clone()));
    match if_present(answer.await)? {
        None => Ok(None),
        Some(KeyPolicy { policy: Some(policy) }) => Ok(Some(document::read(&policy))),
        Some(KeyPolicy { policy: None }) => Err(rejected(action, "the answer holds no policy")),
    }
}
