//! The tags of instances, from EC2.

use std::collections::HashMap;

use super::call_counts::CallCounts;
use super::decision::RetryReason;
use super::instance::InstanceId;
use super::services::{CallFailure, InstanceTags};
use crate::model::tags::Tags;
use crate::wire::ec2::{Client, Ec2Error, describe_tags};

impl InstanceTags for Client {
    async fn tags_of(&self, ids: &[InstanceId], calls: &CallCounts) -> Result<HashMap<InstanceId, Tags>, CallFailure> {
        let ids: Vec<&str> = ids.iter().map(InstanceId::as_str).collect();
        let tags = describe_tags(self, &ids, || calls.count_describe_tags())
            .await
            .map_err(|e| failure(&e))?;
        Ok(tags
            .into_iter()
            .filter_map(|(id, tags)| Some((InstanceId::parse(&id)?, tags)))
            .collect())
    }
}

fn failure(e: &Ec2Error) -> CallFailure {
    if e.is_throttled() {
        CallFailure::Again(RetryReason::TagsThrottled)
    } else if e.is_transient() {
        CallFailure::Again(RetryReason::TagsUnavailable)
    } else if e.is_denied() {
        CallFailure::Denied
    } else {
        CallFailure::Refused
    }
}
