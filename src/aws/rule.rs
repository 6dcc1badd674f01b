//! EventBridge rules of the default bus, each with kibus's one target.

pub(super) mod target;

use aws_sdk_eventbridge::types::{RuleState, Tag, Target as AwsTarget};
use serde_json::Value;

use super::changes::{Changes, Update};
use super::error::{if_present, rejected};
use super::wait::{Tried, WaitReason, Waiting, settled, settling};
use super::{AwsCloud, document, still_absent};
use crate::cloud::Fault;
use crate::error::listed;
use crate::model::document::Document;
use crate::model::name::RuleName;
use crate::model::resource::calls::events;
use crate::model::resource::{ResourceId, Rule, RuleField};
use crate::model::tags::Tags;

/// A rule that this run has created may not be found yet.
const NEW: &[WaitReason] = &[WaitReason::RuleUnknown];

pub(super) async fn read(cloud: &AwsCloud, name: &RuleName) -> Result<Option<Rule>, Fault> {
    let rule = async {
        let call = cloud.events.describe_rule().name(name);
        if_present(cloud.call(events::DESCRIBE_RULE, || call.clone().send()).await)
    };
    let targets = async { if_present(target::all(cloud, name).await) };
    let (Some(rule), Some(targets), Some(tags)) = tokio::try_join!(rule, targets, tags(cloud, name))? else {
        return Ok(None);
    };
    let (ours, others): (Vec<_>, Vec<_>) = targets.into_iter().partition(|target| target.id == Rule::TARGET_ID);
    Ok(Some(Rule {
        name: name.clone(),
        description: rule.description.unwrap_or_default(),
        // A rule by schedule has no pattern.
        pattern: rule
            .event_pattern
            .as_deref()
            .map_or(Document::new(Value::Null), document::read),
        enabled: rule.state != Some(RuleState::Disabled),
        target: ours.first().map(target::read),
        foreign_targets: others.into_iter().map(|other| other.id).collect(),
        tags,
    }))
}

/// The tags of a rule; `None` if there is no such rule.
pub(super) async fn tags(cloud: &AwsCloud, name: &RuleName) -> Result<Option<Tags>, Fault> {
    let arn = cloud.scope.rule_arn(name);
    let call = cloud.events.list_tags_for_resource().resource_arn(arn);
    let answer = if_present(cloud.call(events::LIST_TAGS_FOR_RESOURCE, || call.clone().send()).await)?;
    Ok(answer.map(|answer| {
        let tags = answer.tags.unwrap_or_default().into_iter();
        tags.map(|tag| (tag.key, tag.value)).collect()
    }))
}

pub(super) async fn create(cloud: &AwsCloud, rule: &Rule, waiting: Waiting<'_>) -> Result<(), Fault> {
    still_absent(cloud, events::PUT_RULE, &ResourceId::Rule(rule.name.clone())).await?;
    put_rule(cloud, rule, Some(sdk_tags(&rule.tags)?), waiting).await?;
    match &rule.target {
        Some(target) => target::put(cloud, &rule.name, target, waiting).await,
        None => Ok(()),
    }
}

pub(super) async fn update(
    cloud: &AwsCloud,
    Update { to: rule, fields, .. }: Update<'_, Rule>,
    waiting: Waiting<'_>,
) -> Result<(), Fault> {
    let Changes { fields, tags } = Changes::among(events::PUT_RULE, fields)?;
    let (mut settings, mut target) = (false, false);
    for field in fields {
        match field {
            RuleField::Description | RuleField::Pattern | RuleField::Enabled => settings = true,
            RuleField::TargetArn
            | RuleField::TargetRetryAge
            | RuleField::TargetRetries
            | RuleField::TargetDeadLetters
            | RuleField::TargetRewrite
            | RuleField::TargetRole
            | RuleField::TargetMessageGroup => target = true,
        }
    }
    if settings {
        // For an existing rule AWS ignores tags here, and other servers replace all of them.
        put_rule(cloud, rule, None, waiting).await?;
    }
    if target {
        match &rule.target {
            Some(target) => target::put(cloud, &rule.name, target, waiting).await?,
            None => target::remove(cloud, &rule.name, waiting).await?,
        }
    }
    let arn = cloud.scope.rule_arn(&rule.name);
    if !tags.remove.is_empty() {
        let call = cloud.events.untag_resource().resource_arn(&arn);
        let call = call.set_tag_keys(Some(tags.remove));
        cloud
            .seen(events::UNTAG_RESOURCE, NEW, waiting, || call.clone().send())
            .await?;
    }
    if !tags.set.0.is_empty() {
        let call = cloud.events.tag_resource().resource_arn(&arn);
        let call = call.set_tags(Some(sdk_tags(&tags.set)?));
        cloud
            .seen(events::TAG_RESOURCE, NEW, waiting, || call.clone().send())
            .await?;
    }
    Ok(())
}

/// Removes kibus's target and then the rule. EventBridge may still see the target for minutes. A target that kibus does
/// not manage keeps the rule.
pub(super) async fn delete(cloud: &AwsCloud, name: &RuleName, waiting: Waiting<'_>) -> Result<(), Fault> {
    if if_present(target::remove(cloud, name, waiting).await)?.is_none() {
        return Ok(());
    }
    let action = events::DELETE_RULE;
    settled(action, waiting, || async move {
        let call = cloud.events.delete_rule().name(name);
        let answer = if_present(cloud.call(action, || call.clone().send()).await);
        if let Err(fault) = &answer
            && settling(fault) == Some(WaitReason::TargetsLeaving)
        {
            only_ours(cloud, name, action).await?;
        }
        answer.map(|_| Tried::Done(()))
    })
    .await
}

/// Fails if a rule has targets that kibus does not manage.
async fn only_ours(cloud: &AwsCloud, name: &RuleName, action: &str) -> Result<(), Fault> {
    let targets = if_present(target::all(cloud, name).await)?.unwrap_or_default();
    let ids: Vec<_> = targets.iter().map(AwsTarget::id).collect();
    foreign(name, action, &ids).map_or(Ok(()), Err)
}

/// The fault of a rule that has targets with other ids than kibus's.
fn foreign(name: &RuleName, action: &str, ids: &[&str]) -> Option<Fault> {
    let others: Vec<_> = ids.iter().filter(|id| **id != Rule::TARGET_ID).collect();
    (!others.is_empty()).then(|| {
        let others = listed(others);
        rejected(
            action,
            format!("rule `{name}` has targets that kibus does not manage: {others}"),
        )
    })
}

async fn put_rule(cloud: &AwsCloud, rule: &Rule, tags: Option<Vec<Tag>>, waiting: Waiting<'_>) -> Result<(), Fault> {
    let Rule {
        name,
        description,
        pattern,
        enabled,
        target: _,          // has a call of its own
        foreign_targets: _, // not managed by kibus
        tags: _,            // sent only for a new rule
    } = rule;
    let state = if *enabled {
        RuleState::Enabled
    } else {
        RuleState::Disabled
    };
    // PutRule resets what it leaves out.
    let call = cloud
        .events
        .put_rule()
        .name(name)
        .description(description)
        .event_pattern(pattern.compact())
        .state(state)
        .set_tags(tags);
    let answer = cloud.accepted(events::PUT_RULE, waiting, || call.clone().send());
    answer.await.map(drop)
}

fn sdk_tags(tags: &Tags) -> Result<Vec<Tag>, Fault> {
    let tag = |(key, value): (&String, &String)| Tag::builder().key(key).value(value).build();
    let tags = tags.0.iter().map(tag).collect::<Result<_, _>>();
    tags.map_err(|e| rejected(events::TAG_RESOURCE, e.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// E6: what is left of kibus's own target goes; any other is named.
    #[test]
    fn only_a_foreign_target_keeps_a_rule() {
        let name = "kibus-probe".parse().unwrap();
        let message = |ids: &[&str]| foreign(&name, "events:DeleteRule", ids).map(|fault| fault.message);
        assert_eq!(message(&[]), None);
        assert_eq!(message(&[Rule::TARGET_ID]), None);
        assert_eq!(
            message(&[Rule::TARGET_ID, "archive", "audit"]).as_deref(),
            Some("rule `kibus-probe` has targets that kibus does not manage: `archive`, `audit`")
        );
    }
}
