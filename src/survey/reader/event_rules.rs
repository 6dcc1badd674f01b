//! Reads the rules of the default event bus, and what is about them.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::future::join_all;

use super::{Reader, when};
use crate::cloud::{Fault, Read};
use crate::model::fact::Fact;
use crate::model::name::{QueueName, RuleName};
use crate::model::queue_activity::QueueActivity;
use crate::survey::{EventRules, Query};

impl<R: Read> Reader<'_, R> {
    /// What is known of the rules after this query.
    pub(super) async fn event_rules(&self, mut known: EventRules, query: &Query) -> EventRules {
        let (all, targets, tags, activity) = tokio::join!(
            when(query.event_rules, || self.call(|| self.cloud.event_rules())),
            self.of_each_rule(&query.rule_targets, async |rule| self.cloud.rule_targets(rule).await),
            self.of_each_rule(&query.rule_tags, async |rule| self.cloud.rule_tags(rule).await),
            self.queue_activity(&query.queue_activity),
        );
        if let Some(all) = all {
            known.all = Fact::of(all);
        }
        known.targets.extend(targets);
        known.tags.extend(tags);
        known.activity.extend(activity);
        known
    }

    /// Reads the same of each rule. If the first read is denied, so are the others: a caller who may not read rules may not
    /// read any, and each denied call would be a line in the trail of the account.
    async fn of_each_rule<T>(
        &self,
        rules: &BTreeSet<RuleName>,
        read: impl AsyncFn(&RuleName) -> Result<Option<T>, Fault>,
    ) -> BTreeMap<RuleName, Fact<T>> {
        let mut left = rules.iter();
        let Some(first) = left.next() else {
            return BTreeMap::new();
        };
        let answer = Fact::of_option(self.call(|| read(first)).await);
        let denied = answer.fault().filter(|fault| fault.is_denied()).cloned();
        let others = left.map(|rule| async {
            let answer = match &denied {
                Some(fault) => Err(fault.clone()),
                None => self.call(|| read(rule)).await,
            };
            (rule.clone(), Fact::of_option(answer))
        });
        let others = join_all(others).await;
        others.into_iter().chain([(first.clone(), answer)]).collect()
    }

    async fn queue_activity(&self, queues: &BTreeSet<QueueName>) -> BTreeMap<QueueName, Fact<QueueActivity>> {
        if queues.is_empty() {
            return BTreeMap::new();
        }
        let answer = self.call(|| self.cloud.queue_activity(queues)).await;
        let of = |queue: &QueueName| match &answer {
            Ok(found) => Fact::of_option(Ok(found.get(queue).copied())),
            Err(fault) => Fact::Unreadable(fault.clone()),
        };
        queues.iter().map(|queue| (queue.clone(), of(queue))).collect()
    }
}
