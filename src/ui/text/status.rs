//! The status of a hub and its clusters, as text.

use super::layout::{Style, Table, escape, hanging, name};
use crate::model::{Depth, Kind, Scope, by_count};
use crate::reconcile::ClusterSummary;
use crate::reconcile::status::{QueueReport, RouterReport, StatusReport};
use crate::ui::Paint;

/// The indentation of tables.
const INDENT: usize = 2;
/// The column of the values about the hub.
const FACTS: usize = 14;
/// The controller role of a cluster that was added with `--no-controller-role`.
const NO_ROLE: &str = "not managed by kibus";

/// The hub, its queues, and a line for each cluster. Message counts are approximate.
pub fn status(scope: &Scope, status: &StatusReport, clusters: &[ClusterSummary], style: Style) -> String {
    let paint = style.paint;
    let mut lines = vec![super::heading(scope, style), String::new()];
    let mut fact = |title: &str, text: &str| lines.extend(hanging(&format!("  {title}"), FACTS, text, style));
    let is_unknown = |kind| status.unreadable.iter().any(|id| id.of_kind() == kind);
    let of_kind = |kind, text| if is_unknown(kind) { paint.yellow("unknown") } else { text };
    fact("router", &of_kind(Kind::Alias, router(status.router.as_ref(), paint)));
    status.standing.iter().for_each(|standing| fact("", &paint.yellow(&escape(standing))));
    fact("mapping", &of_kind(Kind::EventSourceMapping, mapping(status, paint)));
    fact("rules", &rules(status, paint));
    status.heartbeat.iter().for_each(|last| fact("heartbeat", &escape(last)));
    if !status.missing.is_empty() {
        let ids = status.missing.iter().map(|id| format!("{} {}", id.label(), escape(&name(id))));
        fact("missing", &paint.red(&ids.collect::<Vec<_>>().join(", ")));
    }
    let of_cluster = |queue: &_| clusters.iter().any(|cluster| cluster.queue == *queue);
    let mut queues = Table::with_numbers([1, 2]);
    queues.row(["queue", "waiting", "in flight"].map(|title| paint.dim(title)));
    let hub = status.queues.iter().filter(|queue| !of_cluster(&queue.name));
    for QueueReport { name, depth } in hub {
        let dead = status.dead_letter_queue.as_ref() == Some(name);
        let after = if dead { "dead letters" } else { "" };
        queues.row([name.to_string(), waiting(*depth, dead, paint), depth.in_flight.to_string(), paint.dim(after)]);
    }
    lines.extend([String::new(), queues.render(INDENT, style.width), String::new()]);
    lines.push(cluster_table(status, clusters, style));
    lines.join("\n")
}

/// The buses of an account and Region, each with its clusters; `none` names what was not found, and where;
/// `create` is the command that creates one.
pub fn buses(buses: &[(Scope, Vec<ClusterSummary>)], none: &str, create: &str, style: Style) -> String {
    if buses.is_empty() {
        return format!("No {none}. To create one:\n    {create}");
    }
    let mut lines = Vec::new();
    for (scope, clusters) in buses {
        lines.push(super::plan::heading_of("bus", scope, "", style));
        let mut table = Table::default();
        table.row(["cluster", "queue", "controller role"].map(|title| style.paint.dim(title)));
        for cluster in clusters {
            table.row([cluster.name.to_string(), cluster.queue.to_string(), reader(cluster, style.paint)]);
        }
        lines.push(match clusters.as_slice() {
            [] => format!("{}no clusters", " ".repeat(INDENT)),
            _ => table.render(INDENT, style.width),
        });
    }
    lines.join("\n")
}

/// The clusters, a line each; without queue names if the terminal is too narrow.
fn cluster_table(status: &StatusReport, clusters: &[ClusterSummary], style: Style) -> String {
    if clusters.is_empty() {
        return "  no clusters".to_owned();
    }
    let whole = rows(status, clusters, true, style.paint);
    if style.width.is_none_or(|width| whole.width(INDENT) <= width) {
        return whole.render(INDENT, None);
    }
    let table = rows(status, clusters, false, style.paint).render(INDENT, style.width);
    let rest = style.paint.dim("a wider terminal shows the names of the queues, too");
    format!("{table}\n\n{}{rest}", " ".repeat(INDENT))
}

fn rows(status: &StatusReport, clusters: &[ClusterSummary], queues: bool, paint: Paint) -> Table {
    let mut table = Table::with_numbers(if queues { [2, 3] } else { [1, 2] });
    let mut row = |cluster: String, queue: String, rest: [String; 3]| {
        table.row(std::iter::once(cluster).chain(queues.then_some(queue)).chain(rest));
    };
    let titles = ["waiting", "in flight", "controller role"];
    row(paint.dim("cluster"), paint.dim("queue"), titles.map(|title| paint.dim(title)));
    let mut sorted: Vec<&ClusterSummary> = clusters.iter().collect();
    sorted.sort_by(|a, b| by_count(a.name.as_str(), b.name.as_str()));
    for cluster in sorted {
        let depth = status.queues.iter().find(|queue| queue.name == cluster.queue);
        let number = |number: Option<String>| number.unwrap_or_else(|| "?".to_owned());
        let rest = [
            number(depth.map(|queue| waiting(queue.depth, false, paint))),
            number(depth.map(|queue| queue.depth.in_flight.to_string())),
            reader(cluster, paint),
        ];
        row(cluster.name.to_string(), cluster.queue.to_string(), rest);
    }
    table
}

/// The controller role of a cluster; or what keeps events from it.
fn reader(cluster: &ClusterSummary, paint: Paint) -> String {
    match (&cluster.damage, &cluster.controller_role) {
        (Some(damage), _) => paint.red(&format!("critical: {damage}")),
        (None, _) if cluster.external => paint.dim("external"),
        (None, Some(role)) => role.to_string(),
        (None, None) => paint.dim(NO_ROLE),
    }
}

/// The number of waiting messages, highlighted if it is not 0.
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
        "" => paint.yellow("not managed by kibus"),
        version => escape(version).into_owned(),
    };
    let published = router.published.map_or_else(String::new, |number| format!(", version {number} live"));
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
    match mapping.state.as_str() {
        "Enabled" => state,
        "Disabled" => paint.red(&state),
        _ => paint.yellow(&escape(&state)),
    }
}

fn rules(status: &StatusReport, paint: Paint) -> String {
    let (enabled, disabled): (Vec<_>, Vec<_>) = status.rules.iter().partition(|rule| rule.enabled);
    let unknown = status.unreadable.iter().filter(|id| id.of_kind() == Kind::Rule).count();
    let unknown = if unknown > 0 { paint.yellow(&format!(", {unknown} unknown")) } else { String::new() };
    let enabled = format!("{} enabled{unknown}", enabled.len());
    if disabled.is_empty() {
        return enabled;
    }
    let names: Vec<&str> = disabled.iter().map(|rule| rule.name.as_str()).collect();
    format!("{enabled}, {}", paint.red(&format!("disabled: {}", names.join(", "))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::scope::tests::scope;
    use crate::ui::text::tests::{assert_snapshot, cluster_summary};

    fn shown(width: Option<usize>, standing: Option<&str>) -> String {
        let report = StatusReport { standing: standing.map(str::to_owned), ..StatusReport::default() };
        let first = cluster_summary("t-10", Some("KarpenterServiceAccount-t-10"));
        let clusters = [first, cluster_summary("t-9", None)];
        let style = Style { width, ..Style::default() };
        status(&scope(), &report, &clusters, style)
    }

    #[test]
    fn a_narrow_terminal_is_spared_the_queues_and_what_is_said_of_the_router_is_folded_below_it() {
        assert_snapshot("status-narrow.txt", &shown(Some(78), None));
        assert!(shown(Some(79), None).contains("karpenter-t-9"));
        let standing = "on purpose: someone went back to it from version 3; so be it";
        assert_snapshot("status-folded.txt", &shown(Some(60), Some(standing)));
    }
}
