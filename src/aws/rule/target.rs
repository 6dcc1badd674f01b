//! The targets of a rule. Kibus has one, with an id of its own.

use aws_sdk_eventbridge::types::{DeadLetterConfig, RetryPolicy, Target as AwsTarget};

use crate::aws::error::{refusal, rejected};
use crate::aws::wait::{Waiting, seen};
use crate::aws::{AwsCloud, pages, signed};
use crate::cloud::Fault;
use crate::model::name::RuleName;
use crate::model::resource::calls::events;
use crate::model::resource::{Rule, Target};

/// How long EventBridge retries, in seconds, and how often, unless a target sets it (EventBridge User Guide,
/// "How EventBridge retries delivering events").
const DEFAULT_RETRY: (u32, u32) = (86_400, 185);

/// All targets of a rule. The answer may lack a target that was put seconds ago; a plan then puts it again, which changes
/// nothing.
pub(in crate::aws) async fn all(cloud: &AwsCloud, name: &RuleName) -> Result<Vec<AwsTarget>, Fault> {
    let call = cloud.events.list_targets_by_rule().rule(name);
    let page = |token| {
        let call = call.clone().set_next_token(token);
        async { call.send().await.map(|page| (page.targets, page.next_token)) }
    };
    pages::all(cloud, events::LIST_TARGETS_BY_RULE, page).await
}

/// Creates or replaces kibus's target.
pub(super) async fn put(cloud: &AwsCloud, rule: &RuleName, target: &Target, waiting: Waiting<'_>) -> Result<(), Fault> {
    let action = events::PUT_TARGETS;
    // PutTargets replaces the whole target, so leaving out what kibus never sets removes it.
    let Target {
        arn,
        retry_age,
        retries,
        dead_letters,
        rewrite: _,
        role: _,
        message_group: _,
    } = target;
    let retry = RetryPolicy::builder()
        .maximum_event_age_in_seconds(signed(*retry_age))
        .maximum_retry_attempts(signed(*retries));
    let dead_letters = dead_letters
        .as_ref()
        .map(|arn| DeadLetterConfig::builder().arn(arn).build());
    let target = AwsTarget::builder()
        .id(Rule::TARGET_ID)
        .arn(arn)
        .retry_policy(retry.build())
        .set_dead_letter_config(dead_letters)
        .build()
        .map_err(|e| rejected(action, e.to_string()))?;
    let call = &cloud.events.put_targets().rule(rule).targets(target);
    seen(action, super::NEW, waiting, || async move {
        let answer = cloud.call(action, || call.clone().send()).await?;
        let failed = answer.failed_entries().first();
        let failed = failed.map(|failed| (failed.error_code(), failed.error_message()));
        entry(action, failed, answer.failed_entry_count)
    })
    .await
}

/// Removes kibus's target.
pub(super) async fn remove(cloud: &AwsCloud, name: &RuleName, waiting: Waiting<'_>) -> Result<(), Fault> {
    let action = events::REMOVE_TARGETS;
    let call = &cloud.events.remove_targets().rule(name).ids(Rule::TARGET_ID);
    seen(action, &[], waiting, || async move {
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

/// Reads kibus's target.
pub(super) fn read(target: &AwsTarget) -> Target {
    let retry = target.retry_policy();
    let number = |value: Option<i32>, default| value.and_then(|value| u32::try_from(value).ok()).unwrap_or(default);
    let transformer = target.input_transformer().map(|t| t.input_template());
    let rewrite = [
        ("Input", target.input()),
        ("InputPath", target.input_path()),
        ("InputTransformer", transformer),
    ]
    .into_iter()
    .find_map(|(kind, text)| Some(format!("{kind} {}", text?)));
    let dead_letters = target.dead_letter_config().and_then(DeadLetterConfig::arn);
    let parameters = target.sqs_parameters();
    Target {
        arn: target.arn.clone(),
        retry_age: number(retry.and_then(|r| r.maximum_event_age_in_seconds), DEFAULT_RETRY.0),
        retries: number(retry.and_then(|r| r.maximum_retry_attempts), DEFAULT_RETRY.1),
        dead_letters: dead_letters.map(str::to_owned),
        rewrite,
        role: target.role_arn.clone(),
        message_group: parameters.and_then(|p| p.message_group_id.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aws::wait::{WaitReason, settling};
    use crate::cloud::FaultKind;

    /// E5.
    #[test]
    fn an_entry_can_fail_in_a_call_that_succeeds() {
        let failed = |code| Some((Some(code), Some("why")));
        for (failed, count, expected) in [
            (None, 0, None),
            (
                failed("ConcurrentModificationException"),
                1,
                Some(Some(WaitReason::ConcurrentChange)),
            ),
            (failed("ManagedRuleException"), 1, Some(None)),
            (None, 1, Some(None)),
        ] {
            let answer = entry("events:RemoveTargets", failed, count);
            assert_eq!(answer.err().map(|fault| settling(&fault)), expected);
        }
        assert_eq!(
            entry("x:Y", failed("ResourceNotFoundException"), 1).unwrap_err().kind,
            FaultKind::Gone
        );
    }
}
