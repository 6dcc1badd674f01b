//! How a hub and its clusters fare, as text.

use super::escape::escape;
use super::{Look, kind, name};
use crate::model::state::Depth;
use crate::ui::json::{ClusterReport, RouterReport, StatusReport};
use crate::ui::paint::Paint;
use crate::ui::{Align, Heading, Table};

/// The hub, its queues, and a line for each cluster. Numbers of messages are SQS's, which counts approximately.
#[must_use]
pub fn status(heading: &Heading, status: &StatusReport, clusters: &[ClusterReport], look: Look) -> String {
    let paint = look.paint;
    let mut lines = vec![super::heading(heading, look), String::new()];
    let mut facts = Table::new([Align::Left, Align::Left]);
    facts.row(["router".to_owned(), router(status.router.as_ref(), paint)]);
    facts.row(["mapping".to_owned(), mapping(status, paint)]);
    facts.row(["rules".to_owned(), rules(status, paint)]);
    if !status.missing.is_empty() {
        let ids = status.missing.iter();
        let ids: Vec<String> = ids.map(|id| format!("{} {}", kind(id), escape(&name(id)))).collect();
        facts.row(["missing".to_owned(), paint.red(&ids.join(", "))]);
    }
    lines.push(facts.render(2));
    let of_cluster = |queue: &_| clusters.iter().any(|cluster| cluster.queue_name == *queue);
    let mut queues = Table::new([Align::Left, Align::Right, Align::Right]);
    queues.row(["queue", "waiting", "in flight"].map(|title| paint.dim(title)));
    let hub = status.queues.iter().filter(|(queue, _)| !of_cluster(queue));
    for (place, (queue, depth)) in hub.enumerate() {
        let dead = place > 0 && queue.as_str().ends_with("-hub-dlq");
        let after = if dead { "dead letters" } else { "" };
        queues.row([
            queue.to_string(),
            waiting(*depth, dead, paint),
            depth.in_flight.to_string(),
            paint.dim(after),
        ]);
    }
    lines.extend([String::new(), queues.render(2), String::new()]);
    lines.push(cluster_table(status, clusters, paint));
    lines.join("\n")
}

fn cluster_table(status: &StatusReport, clusters: &[ClusterReport], paint: Paint) -> String {
    if clusters.is_empty() {
        return "  no clusters are registered".to_owned();
    }
    let mut table = Table::new([Align::Left, Align::Left, Align::Right, Align::Right, Align::Left]);
    table.row(["cluster", "queue", "waiting", "in flight", "controller role"].map(|title| paint.dim(title)));
    for cluster in clusters {
        let depth = status.queues.iter().find(|(queue, _)| *queue == cluster.queue_name);
        let number = |number: Option<String>| number.unwrap_or_else(|| "?".to_owned());
        let role = cluster
            .controller_role
            .as_ref()
            .map(|role| escape(role.as_str()).into_owned());
        table.row([
            cluster.name.to_string(),
            cluster.queue_name.to_string(),
            number(depth.map(|(_, depth)| waiting(*depth, false, paint))),
            number(depth.map(|(_, depth)| depth.in_flight.to_string())),
            role.unwrap_or_else(|| paint.dim("not ours to manage")),
        ]);
    }
    table.render(2)
}

/// A number of waiting messages, which the eye should find where it is not nothing.
fn waiting(depth: Depth, dead: bool, paint: Paint) -> String {
    match depth.waiting {
        0 => "0".to_owned(),
        count if dead => paint.red(&count.to_string()),
        count => paint.yellow(&count.to_string()),
    }
}

fn router(router: Option<&RouterReport>, paint: Paint) -> String {
    let Some(router) = router else {
        return paint.red("none is live");
    };
    let version = match router.version.as_str() {
        "" => paint.yellow("not one of kibus's"),
        version => escape(version).into_owned(),
    };
    let published = router
        .published
        .map_or_else(String::new, |number| format!(", version {number} live"));
    let state = match router.state.as_deref() {
        None | Some("" | "Active") => String::new(),
        Some(state) => format!(", {}", paint.yellow(&escape(state))),
    };
    format!("{version}{published}, {}{state}", router.architecture)
}

fn mapping(status: &StatusReport, paint: Paint) -> String {
    let Some(mapping) = &status.mapping else {
        return paint.red("none: nothing reads the hub queue");
    };
    let state = mapping.state.to_lowercase();
    let state = if mapping.state == "Enabled" {
        state
    } else {
        paint.yellow(&escape(&state))
    };
    match (mapping.problem(), mapping.last_result.as_deref()) {
        (Some(problem), _) => format!("{state}, last result {}", paint.red(&escape(problem))),
        (None, Some(result)) if !result.is_empty() => format!("{state}, last result {}", escape(result)),
        _ => state,
    }
}

fn rules(status: &StatusReport, paint: Paint) -> String {
    let disabled: Vec<String> = status
        .rules
        .iter()
        .filter(|(_, enabled)| !enabled)
        .map(|(name, _)| name.to_string())
        .collect();
    let enabled = status.rules.len() - disabled.len();
    if disabled.is_empty() {
        return format!("{enabled} enabled");
    }
    format!(
        "{enabled} enabled, {}",
        paint.red(&format!("disabled: {}", disabled.join(", ")))
    )
}
