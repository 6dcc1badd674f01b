//! The lines about what was lost, or put off.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::model::signal::Signal;
use crate::router::{InstanceId, Item, Message, Verdict};

/// How many instances a line names.
const NAMED: usize = 10;
/// How many lines one invocation writes.
const LINES: usize = 200;

/// One line for all that one message's entities of one cluster have in common.
pub(super) fn lines(request: &str, messages: &[Message], items: &[Item]) -> Vec<Value> {
    let mut groups: BTreeMap<(usize, &str, &str, &str), Vec<&Item>> = BTreeMap::new();
    for item in items {
        let (what, why) = match item.verdict {
            Verdict::Dropped(drop) if drop.loses() => ("dropped", drop.as_str()),
            Verdict::GivenBack(why) => ("given back", why.as_str()),
            Verdict::Delivered | Verdict::Dropped(_) => continue,
        };
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

#[cfg(test)]
mod tests {
    use super::super::tests::{item, report};
    use super::*;
    use crate::router::{Drop, GiveBack};

    #[test]
    fn a_line_says_what_was_lost_and_by_whom() {
        let unregistered = Verdict::Dropped(Drop::Unregistered);
        let lines = report(
            vec![
                item(0, "a", Verdict::Delivered),
                item(0, "b", unregistered),
                item(0, "b", unregistered),
                item(1, "", Verdict::Dropped(Drop::NoKarpenterMarker)),
                item(2, "a", Verdict::GivenBack(GiveBack::SendThrottled)),
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
                line("given back", "send throttled", "a", 2, 1),
            ]
        );
    }
}
