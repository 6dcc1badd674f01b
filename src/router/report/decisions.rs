//! The log lines about losses and retries, and the decisions that the answer to a redrive has.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::{Value, json};

use crate::model::name::ClusterName;
use crate::model::signal::Signal;
use crate::router::batch::{Item, Message, Origin};
use crate::router::decision::Decision;
use crate::router::instance::InstanceId;

/// How many instances a line names at most.
const NAMED: usize = 10;
/// How many lines one invocation writes at most.
const LINES: usize = 200;

/// One line for the items of one message with the same cluster and reason.
pub(super) fn lines(request: &str, messages: &[Message], items: &[Item]) -> Vec<Value> {
    let mut groups: BTreeMap<(usize, &str, Option<&str>, &str), Vec<&Item>> = BTreeMap::new();
    let is_logged = |item: &&Item| match item.decision {
        Decision::Dropped(why) => why.loses(),
        Decision::Retried(_) => true,
        Decision::Delivered => false,
    };
    for item in items.iter().filter(is_logged) {
        let (what, why) = item.decision.words();
        let cluster = item.cluster.as_ref().map_or("", |cluster| cluster.as_str());
        groups.entry((item.message, what, why, cluster)).or_default().push(item);
    }
    let lines = groups.into_iter().take(LINES);
    lines
        .map(|((message, what, why, cluster), items)| {
            let instances: Vec<&str> = items
                .iter()
                .filter_map(|item| item.instance.as_ref())
                .map(InstanceId::as_str)
                .take(NAMED)
                .collect();
            json!({
                "level": "warn",
                "message": what,
                "reason": why,
                "signal": items.first().and_then(|item| item.signal).map(Signal::slug),
                "cluster": cluster,
                "instances": instances,
                "items": items.len(),
                "receives": messages[message].receives,
                "message_id": messages[message].id,
                "request": request,
            })
        })
        .collect()
}

/// What became of each message that came from no queue, by its id: the different decisions about its items. Only an
/// operator passes such messages; Lambda passes those of the hub queue, and reads nothing of this.
pub(in crate::router) fn answered<'a>(
    messages: &'a [Message],
    items: &'a [Item],
) -> BTreeMap<&'a str, BTreeSet<Decided<'a>>> {
    let mut all: BTreeMap<&str, BTreeSet<Decided<'_>>> = BTreeMap::new();
    for item in items {
        let message = &messages[item.message];
        if message.origin == Origin::Invocation {
            let (decision, reason) = item.decision.words();
            let cluster = item.cluster.as_ref().map(ClusterName::as_str);
            let decided = Decided {
                decision,
                reason,
                cluster,
            };
            all.entry(&message.id).or_default().insert(decided);
        }
    }
    all
}

/// The decision about items of a message, as the answer to a redrive has it.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(in crate::router) struct Decided<'a> {
    decision: &'static str,
    reason: Option<&'static str>,
    cluster: Option<&'a str>,
}

/// One line for the instances whose tags name another cluster than AWS's own tag. Their events go where AWS says.
pub(super) fn contradictions(request: &str, instances: &BTreeSet<InstanceId>) -> Option<Value> {
    let named: Vec<&str> = instances.iter().map(InstanceId::as_str).take(NAMED).collect();
    (!named.is_empty()).then(|| {
        json!({
            "level": "warn",
            "message": "contradicting tags",
            "instances": named,
            "items": instances.len(),
            "request": request,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::{item, report};
    use super::*;
    use crate::router::decision::{DropReason, RetryReason};

    #[test]
    fn a_line_names_the_loss_and_the_cluster() {
        let unregistered = Decision::Dropped(DropReason::Unregistered);
        let lines = report(
            vec![
                item(0, "a", Decision::Delivered),
                item(0, "b", unregistered),
                item(0, "b", unregistered),
                item(1, "", Decision::Dropped(DropReason::NoKarpenterMarker)),
                item(2, "a", Decision::Retried(RetryReason::SendThrottled)),
            ],
            &[],
        )
        .decisions;
        let line = |what, reason, cluster, message, items: usize| {
            json!({
                "level": "warn", "message": what, "reason": reason, "signal": "scheduled-change", "cluster": cluster,
                "instances": vec![format!("i-{message}"); items], "items": items, "receives": 2,
                "message_id": format!("m{message}"), "request": "request",
            })
        };
        assert_eq!(
            lines,
            [
                line("dropped", "unregistered", "b", 0, 2),
                line("retried", "send throttled", "a", 2, 1),
            ]
        );
    }

    #[test]
    fn only_a_redrive_is_answered_with_decisions() {
        let unregistered = Decision::Dropped(DropReason::Unregistered);
        let items = [("a", Decision::Delivered), ("b", unregistered), ("b", unregistered)];
        let items = items.map(|(cluster, decision)| item(0, cluster, decision));
        let decisions = json!({"m": [
            {"decision": "delivered", "reason": null, "cluster": "a"},
            {"decision": "dropped", "reason": "unregistered", "cluster": "b"},
        ]});
        let receipt = String::new();
        for (origin, expected) in [
            (Origin::Invocation, decisions),
            (Origin::HubQueue { receipt }, json!({})),
        ] {
            let message = Message {
                id: "m".to_owned(),
                origin,
                body: String::new(),
                receives: Some(2),
                arrived: 0,
            };
            assert_eq!(json!(answered(&[message], &items)), expected);
        }
    }

    #[test]
    fn contradicting_tags_are_one_short_line() {
        assert_eq!(contradictions("r", &BTreeSet::new()), None);
        let instances: BTreeSet<_> = (0..20)
            .filter_map(|n| InstanceId::parse(&format!("i-{n:02}")))
            .collect();
        let line = contradictions("r", &instances).unwrap();
        assert_eq!(
            (&line["items"], line["instances"].as_array().unwrap().len()),
            (&json!(20), NAMED)
        );
    }
}
