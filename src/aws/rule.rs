//! EventBridge rules of the default bus, each with kibus's one target.

use aws_sdk_eventbridge::types::{
    DeadLetterConfig, InputTransformer, RetryPolicy, Rule as AwsRule, RuleState, Tag, Target as AwsTarget,
};
use aws_smithy_types::error::operation::BuildError;
use serde_json::{Value, json};

use super::error::{if_present, refusal, rejected};
use super::wait::{WaitReason, settling};
use super::write::{Changes, Update, Writing};
use super::{AwsCloud, document, signed, still_absent};
use crate::cloud::Fault;
use crate::error::listed;
use crate::model::{
    Document, EventRule, ListedTarget, ResourceId, Rule, RuleField, RuleName, Tags, calls::events, resource,
};

/// A rule that this run has created may not be found yet.
const NEW: &[WaitReason] = &[WaitReason::RuleUnknown];

pub(super) async fn read(cloud: &AwsCloud, name: &RuleName) -> Result<Option<Rule>, Fault> {
    let rule = async {
        let call = cloud.events.describe_rule().name(name);
        if_present(cloud.call(events::DESCRIBE_RULE, || call.clone().send()).await)
    };
    let targets = async { if_present(targets(cloud, name).await) };
    let (Some(rule), Some(targets), Some(tags)) = tokio::try_join!(rule, targets, tags(cloud, name))? else {
        return Ok(None);
    };
    let (ours, others): (Vec<_>, Vec<_>) = targets.into_iter().partition(|target| target.id == Rule::TARGET_ID);
    Ok(Some(Rule {
        name: name.clone(),
        description: rule.description.unwrap_or_default(),
        // A scheduled rule has no pattern.
        pattern: rule.event_pattern.as_deref().map_or(Document::new(Value::Null), document::read),
        schedule: rule.schedule_expression,
        enabled: rule.state != Some(RuleState::Disabled),
        target: ours.first().map(described),
        foreign_targets: others.into_iter().map(|other| other.id).collect(),
        tags,
    }))
}

pub(super) async fn tags(cloud: &AwsCloud, name: &RuleName) -> Result<Option<Tags>, Fault> {
    let arn = cloud.scope.rule_arn(name);
    let call = cloud.events.list_tags_for_resource().resource_arn(arn);
    let answer = if_present(cloud.call(events::LIST_TAGS_FOR_RESOURCE, || call.clone().send()).await)?;
    Ok(answer.map(|answer| {
        let tags = answer.tags.unwrap_or_default().into_iter();
        tags.map(|tag| (tag.key, tag.value)).collect()
    }))
}

pub(super) async fn create(cloud: &Writing<'_>, rule: &Rule) -> Result<(), Fault> {
    still_absent(cloud, events::PUT_RULE, &ResourceId::Rule(rule.name.clone())).await?;
    put_rule(cloud, rule, Some(sdk_tags(&rule.tags)?)).await?;
    match &rule.target {
        Some(target) => put_target(cloud, &rule.name, target).await,
        None => Ok(()),
    }
}

pub(super) async fn update(cloud: &Writing<'_>, update: Update<'_, Rule>) -> Result<(), Fault> {
    let rule = update.to;
    let Changes { fields, tags } = Changes::among(events::PUT_RULE, update.fields)?;
    let (mut settings, mut target) = (false, false);
    for field in fields {
        match field {
            RuleField::Description | RuleField::Pattern | RuleField::Schedule | RuleField::Enabled => settings = true,
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
        // For an existing rule, AWS ignores tags here, and other servers replace all of them.
        put_rule(cloud, rule, None).await?;
    }
    if target {
        match &rule.target {
            Some(target) => put_target(cloud, &rule.name, target).await?,
            None => remove_target(cloud, &rule.name).await?,
        }
    }
    let arn = cloud.scope.rule_arn(&rule.name);
    let untag = cloud.events.untag_resource().resource_arn(&arn).set_tag_keys(Some(tags.remove.clone()));
    let tag = cloud.events.tag_resource().resource_arn(&arn).set_tags(Some(sdk_tags(&tags.set)?));
    tags.write(
        cloud.seen(events::UNTAG_RESOURCE, NEW, || untag.clone().send()),
        cloud.seen(events::TAG_RESOURCE, NEW, || tag.clone().send()),
    )
    .await
}

/// Removes kibus's target and then the rule. EventBridge may still see the target for minutes. If the rule has a target
/// that kibus does not manage, it stays.
pub(super) async fn delete(cloud: &Writing<'_>, name: &RuleName) -> Result<(), Fault> {
    if if_present(remove_target(cloud, name).await)?.is_none() {
        return Ok(());
    }
    let action = events::DELETE_RULE;
    cloud
        .settled(action, WaitReason::TargetsLeaving, || async move {
            let call = cloud.events.delete_rule().name(name);
            let answer = if_present(cloud.call(action, || call.clone().send()).await);
            if let Err(fault) = &answer
                && settling(fault) == Some(WaitReason::TargetsLeaving)
            {
                let targets = if_present(targets(cloud, name).await)?.unwrap_or_default();
                let ids: Vec<_> = targets.iter().map(AwsTarget::id).collect();
                foreign(name, action, &ids).map_or(Ok(()), Err)?;
            }
            answer.map(Some)
        })
        .await
        .map(drop)
}

/// The fault of a rule that has targets with other ids than kibus's.
fn foreign(name: &RuleName, action: &str, ids: &[&str]) -> Option<Fault> {
    let others: Vec<_> = ids.iter().filter(|id| **id != Rule::TARGET_ID).collect();
    let message = || format!("rule `{name}` has targets that kibus does not manage: {}", listed(&others));
    (!others.is_empty()).then(|| rejected(action, message()))
}

async fn put_rule(cloud: &Writing<'_>, rule: &Rule, tags: Option<Vec<Tag>>) -> Result<(), Fault> {
    let Rule {
        name,
        description,
        pattern,
        schedule,
        enabled,
        target: _,          // has a call of its own
        foreign_targets: _, // not managed by kibus
        tags: _,            // sent only for a new rule
    } = rule;
    let state = if *enabled { RuleState::Enabled } else { RuleState::Disabled };
    // PutRule resets everything that it omits.
    let call = cloud
        .events
        .put_rule()
        .name(name)
        .description(description)
        .event_pattern(pattern.compact())
        .set_schedule_expression(schedule.clone())
        .state(state)
        .set_tags(tags);
    let send = || call.clone().send();
    cloud.write(events::PUT_RULE, send).await
}

fn sdk_tags(tags: &Tags) -> Result<Vec<Tag>, Fault> {
    let tag = |(key, value): (&String, &String)| Tag::builder().key(key).value(value).build();
    let tags = tags.0.iter().map(tag).collect::<Result<_, _>>();
    tags.map_err(|e| rejected(events::TAG_RESOURCE, e.to_string()))
}

/// How long EventBridge retries, in seconds, and how often, by default (EventBridge User Guide, "How EventBridge
/// retries delivering events").
const DEFAULT_RETRY: (u32, u32) = (86_400, 185);

/// All targets of a rule. The answer may lack a target that was added seconds ago; a plan then adds it again, which changes nothing.
async fn targets(cloud: &AwsCloud, name: &RuleName) -> Result<Vec<AwsTarget>, Fault> {
    let call = cloud.events.list_targets_by_rule().rule(name);
    let page = |token| call.clone().set_next_token(token).send();
    let targets = cloud.pages(events::LIST_TARGETS_BY_RULE, page, |page| (page.targets, page.next_token));
    targets.await
}

async fn put_target(cloud: &Writing<'_>, rule: &RuleName, target: &resource::RuleTarget) -> Result<(), Fault> {
    let action = events::PUT_TARGETS;
    let unbuilt = |e: BuildError| rejected(action, e.to_string());
    // PutTargets replaces the whole target, so omitted settings are removed.
    let resource::RuleTarget { arn, retry_age, retries, dead_letters, rewrite, role: _, message_group: _ } = target;
    let retry = RetryPolicy::builder()
        .maximum_event_age_in_seconds(signed(*retry_age))
        .maximum_retry_attempts(signed(*retries));
    let dead_letters = dead_letters.as_ref().map(|arn| DeadLetterConfig::builder().arn(arn).build());
    let target = AwsTarget::builder()
        .id(Rule::TARGET_ID)
        .arn(arn)
        .retry_policy(retry.build())
        .set_dead_letter_config(dead_letters)
        .set_input_transformer(rewrite.as_ref().and_then(transformer).transpose().map_err(unbuilt)?)
        .build()
        .map_err(unbuilt)?;
    let call = &cloud.events.put_targets().rule(rule).targets(target);
    cloud
        .until_seen(action, NEW, || async move {
            let answer = cloud.call(action, || call.clone().send()).await?;
            let failed = answer.failed_entries().first();
            let failed = failed.map(|failed| (failed.error_code(), failed.error_message()));
            entry(action, failed, answer.failed_entry_count)
        })
        .await
}

/// The members of an input transformer, as EventBridge names them.
const PATHS: &str = "InputPathsMap";
const TEMPLATE: &str = "InputTemplate";

/// The template that rewrites a target's events; `None` for one that kibus never sets. A template may have its placeholders in quotes
/// (EventBridge API reference, `InputTransformer`).
fn transformer(rewrite: &Document) -> Option<Result<InputTransformer, BuildError>> {
    let paths = rewrite.value()[PATHS].as_object()?;
    let paths = paths.iter().filter_map(|(name, path)| Some((name.clone(), path.as_str()?.to_owned())));
    let transformer = InputTransformer::builder().set_input_paths_map(Some(paths.collect()));
    Some(transformer.input_template(rewrite.value()[TEMPLATE].to_string()).build())
}

async fn remove_target(cloud: &Writing<'_>, name: &RuleName) -> Result<(), Fault> {
    let action = events::REMOVE_TARGETS;
    let call = &cloud.events.remove_targets().rule(name).ids(Rule::TARGET_ID);
    cloud
        .until_seen(action, &[], || async move {
            let answer = cloud.call(action, || call.clone().send()).await?;
            let failed = answer.failed_entries().first();
            let failed = failed.map(|failed| (failed.error_code(), failed.error_message()));
            entry(action, failed, answer.failed_entry_count)
        })
        .await
}

/// The result of a call with one entry. The call succeeds even if the entry failed, with this code and message.
fn entry(action: &str, failed: Option<(Option<&str>, Option<&str>)>, count: i32) -> Result<(), Fault> {
    let reason = "EventBridge did not accept the target and gave no reason";
    match failed {
        Some((code, message)) => Err(refusal(action, code, message.unwrap_or(reason))),
        None if count > 0 => Err(rejected(action, reason)),
        None => Ok(()),
    }
}

fn described(target: &AwsTarget) -> resource::RuleTarget {
    let retry = target.retry_policy();
    let number = |value: Option<i32>, default| value.and_then(|value| u32::try_from(value).ok()).unwrap_or(default);
    let transformer = target.input_transformer().map(|transformer| {
        let paths = transformer.input_paths_map().into_iter().flatten();
        let paths: Value = paths.map(|(name, path)| (name.clone(), json!(path))).collect();
        json!({ PATHS: paths, TEMPLATE: document::read(transformer.input_template()).value() })
    });
    let rewrite = transformer
        .or_else(|| Some(json!({ "Input": target.input()? })))
        .or_else(|| Some(json!({ "InputPath": target.input_path()? })));
    let dead_letters = target.dead_letter_config().and_then(DeadLetterConfig::arn);
    let parameters = target.sqs_parameters();
    resource::RuleTarget {
        arn: target.arn.clone(),
        retry_age: number(retry.and_then(|r| r.maximum_event_age_in_seconds), DEFAULT_RETRY.0),
        retries: number(retry.and_then(|r| r.maximum_retry_attempts), DEFAULT_RETRY.1),
        dead_letters: dead_letters.map(str::to_owned),
        rewrite: rewrite.map(Document::new),
        role: target.role_arn.clone(),
        message_group: parameters.and_then(|p| p.message_group_id.clone()),
    }
}

pub(super) async fn all_rules(cloud: &AwsCloud) -> Result<Vec<EventRule>, Fault> {
    let call = cloud.events.list_rules().limit(100);
    let page = |token| call.clone().set_next_token(token).send();
    let rules = cloud.pages(events::LIST_RULES, page, |page| (page.rules, page.next_token));
    Ok(rules.await?.into_iter().filter_map(of_anyone).collect())
}

fn of_anyone(rule: AwsRule) -> Option<EventRule> {
    Some(EventRule {
        name: rule.name?.parse().ok()?,
        pattern: rule.event_pattern.as_deref().map(document::read),
        enabled: rule.state != Some(RuleState::Disabled),
        managed_by: rule.managed_by,
    })
}

pub(super) async fn all_targets(cloud: &AwsCloud, rule: &RuleName) -> Result<Option<Vec<ListedTarget>>, Fault> {
    let targets = if_present(targets(cloud, rule).await)?;
    let target = |target: AwsTarget| ListedTarget { id: target.id, arn: target.arn };
    Ok(targets.map(|targets| targets.into_iter().map(target).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cloud::FaultKind;

    /// E6: the rest of kibus's own target is removed; any other target is named.
    #[test]
    fn only_a_foreign_target_keeps_a_rule() {
        let name = "kibus-probe".parse().unwrap();
        let message = |ids: &[&str]| foreign(&name, "events:DeleteRule", ids).map(|fault| fault.message);
        assert_eq!([message(&[]), message(&[Rule::TARGET_ID])], [None, None]);
        let named = "rule `kibus-probe` has targets that kibus does not manage: `archive`, `audit`";
        assert_eq!(message(&[Rule::TARGET_ID, "archive", "audit"]).as_deref(), Some(named));
    }

    /// E5.
    #[test]
    fn an_entry_can_fail_in_a_call_that_succeeds() {
        let failed = |code| Some((Some(code), Some("why")));
        for (failed, count, expected) in [
            (None, 0, None),
            (failed("ConcurrentModificationException"), 1, Some(Some(WaitReason::ConcurrentChange))),
            (failed("ManagedRuleException"), 1, Some(None)),
            (None, 1, Some(None)),
        ] {
            let answer = entry("events:RemoveTargets", failed, count);
            assert_eq!(answer.err().map(|fault| settling(&fault)), expected);
        }
        assert_eq!(entry("x:Y", failed("ResourceNotFoundException"), 1).unwrap_err().kind, FaultKind::Gone);
    }
}
