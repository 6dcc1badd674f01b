//! The rules of the default event bus, whoever created them.

use aws_sdk_eventbridge::types::{Rule, RuleState, Target};

use super::error::if_present;
use super::rule::target;
use super::{AwsCloud, document, pages};
use crate::cloud::Fault;
use crate::model::event_rule::{EventRule, RuleTarget};
use crate::model::name::RuleName;
use crate::model::resource::calls::events;

/// All rules of the default event bus.
pub(super) async fn all(cloud: &AwsCloud) -> Result<Vec<EventRule>, Fault> {
    let call = cloud.events.list_rules().limit(100);
    let page = |token| {
        let call = call.clone().set_next_token(token);
        async { call.send().await.map(|page| (page.rules, page.next_token)) }
    };
    let rules = pages::all(cloud, events::LIST_RULES, page).await?;
    Ok(rules.into_iter().filter_map(rule).collect())
}

fn rule(rule: Rule) -> Option<EventRule> {
    Some(EventRule {
        name: rule.name?.parse().ok()?,
        pattern: rule.event_pattern.as_deref().map(document::read),
        enabled: rule.state != Some(RuleState::Disabled),
        managed_by: rule.managed_by,
    })
}

/// The targets of a rule; `None` if there is no such rule.
pub(super) async fn targets(cloud: &AwsCloud, rule: &RuleName) -> Result<Option<Vec<RuleTarget>>, Fault> {
    let targets = if_present(target::all(cloud, rule).await)?;
    let target = |target: Target| RuleTarget {
        id: target.id,
        arn: target.arn,
    };
    Ok(targets.map(|targets| targets.into_iter().map(target).collect()))
}
