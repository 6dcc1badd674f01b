//! The status of a hub and its clusters, as text: one screen, whatever the number of clusters.

use std::collections::BTreeSet;

use super::events::took;
use super::layout::{Style, Table, escape, hanging, indented, name};
use super::message::grouped;
use super::plan::heading_of;
use crate::error::Hint;
use crate::message::{Fix, Message, Subject};
use crate::model::{
    ClusterName, FindingCode, LoggedEvent, Scope, Severity, by_count, counted, first_of, short_name, time_text,
};
use crate::reconcile::status::{ClusterTraffic, FiringAlarm, StatusReport, minutes};
use crate::reconcile::{ClusterSummary, Intent};
use crate::ui::Paint;

/// The indentation of tables.
const INDENT: usize = 2;
/// The column for the text about the hub.
const FACTS: usize = 11;
/// The controller role of a cluster that was added with `--no-controller-role`.
const NO_ROLE: &str = "not managed by kibus";
/// Up to this many clusters, each has a line; above that, only those that need attention.
const ROWS: usize = 8;
/// The maximum number of commands and alarms shown.
const NAMED: usize = 5;

/// The traffic, findings and alarms of the hub, one line per cluster, and the first commands.
pub fn status(scope: &Scope, status: &StatusReport, intent: &Intent, fixes: &[Hint], style: Style) -> String {
    let paint = style.paint;
    let version = status.router.as_ref().map_or("", |router| router.version.as_str());
    let router = if version.is_empty() { String::new() } else { format!(" · router {}", escape(version)) };
    let mut lines = vec![heading_of("hub", scope, &router, style), String::new()];
    let mut fact = |title: &str, text: &str| lines.extend(hanging(&format!("  {title}"), FACTS, text, style));
    fact("hub", &flow(status, paint));
    status.standing.iter().for_each(|standing| fact("router", &paint.yellow(&escape(standing))));
    for (title, text) in hub_findings(intent, paint) {
        fact(&title, &text);
    }
    fact("alarms", &alarms(scope, status, paint));
    lines.extend([String::new(), clusters(status, intent, style)]);
    lines.extend(events(status, style));
    if !status.unknown.is_empty() {
        lines.push(String::new());
        lines.extend(status.unknown.iter().flat_map(|why| hanging("  ?", 5, &escape(why), style)));
    }
    let (commands, more) = first(scope, status, intent, fixes);
    if !commands.is_empty() {
        let more = if more > 0 { format!(" ({more} more: {})", scope.kibus("verify")) } else { String::new() };
        lines.extend([String::new(), format!("First{more}:"), indented(&commands.join("\n"))]);
    }
    lines.join("\n")
}

fn flow(status: &StatusReport, paint: Paint) -> String {
    let count = |count: Option<u64>, text: &str, color: fn(Paint, &str) -> String| match count {
        None => format!("? {text}"),
        Some(0) => format!("0 {text}"),
        Some(count) => color(paint, &format!("{count} {text}")),
    };
    let dead_letters = if status.dead_letters == Some(1) { "dead letter" } else { "dead letters" };
    let counts = [
        count(status.waiting, "waiting", |paint, text| paint.yellow(text)),
        count(status.dead_letters, dead_letters, |paint, text| paint.red(text)),
    ];
    let slowest = status.slowest_delivery.map(|millis| format!("slowest {}", took(millis)));
    let rest = status.heartbeat.clone().into_iter().chain(slowest);
    counts.into_iter().chain(rest).collect::<Vec<_>>().join(" · ")
}

/// Findings about clusters that are not shown, or about no cluster: one line per code, with its kind. Failed reads are listed once, below.
fn hub_findings(intent: &Intent, paint: Paint) -> Vec<(String, String)> {
    let rows: BTreeSet<&ClusterName> = intent.clusters.iter().map(|cluster| &cluster.name).collect();
    let is_shown = |finding: &&Message| {
        finding.cluster.as_ref().is_none_or(|cluster| !rows.contains(cluster)) && !is_unread(finding)
    };
    let line = |same: Vec<&Message>| {
        let (title, subject) = match &same[0].about {
            Subject::Resource(id) => (id.label(), name(id)),
            Subject::Cluster(cluster) => ("cluster", cluster.to_string()),
            Subject::Other(what) => ("", what.clone()),
        };
        let others = if same.len() > 1 { format!(", and {} more", same.len() - 1) } else { String::new() };
        let text = escape(&format!("{subject}: {}{others}", same[0].sentence)).into_owned();
        (title.to_owned(), format!("{text}  {}", code(same[0], paint)))
    };
    let all = intent.findings.iter().filter(is_shown);
    grouped(all, |one, other| one.code == other.code).into_iter().map(line).collect()
}

fn is_unread(finding: &Message) -> bool {
    matches!(finding.code, Some(FindingCode::Denied | FindingCode::Unreadable))
}

fn code(finding: &Message, paint: Paint) -> String {
    let text = format!("{} {}", finding.code.map_or("", FindingCode::as_str), finding.severity.as_str());
    if finding.severity == Severity::Warning { paint.yellow(&text) } else { paint.red(&text) }
}

fn alarms(scope: &Scope, status: &StatusReport, paint: Paint) -> String {
    let alarms = &status.alarms;
    let all = match alarms.unknown {
        0 => alarms.count.to_string(),
        unknown => format!("{}, {unknown} unknown", alarms.count + unknown),
    };
    let fires = |alarm: &FiringAlarm| {
        let since = alarm.since.as_ref().map_or_else(String::new, |since| format!(" since {}", clock(since)));
        paint.red(&escape(&format!("{}{since}", alarm.name)))
    };
    match (alarms.count + alarms.unknown, alarms.firing.as_slice()) {
        (0, _) => format!("none; to create them: {}", scope.kibus("bootstrap-hub --alarms=TOPIC_ARN")),
        (_, []) if alarms.count == 0 => "?".to_owned(),
        (_, []) => format!("none of {all} in ALARM"),
        (_, firing) => format!("{} ({} of {all})", first_of(firing.iter().map(fires), NAMED), firing.len()),
    }
}

/// The hour of a time in UTC.
fn clock(time: &str) -> String {
    time.get(11..16).map_or_else(|| time.to_owned(), |hour| format!("{hour} UTC"))
}

/// One line per cluster or, if there are many, per cluster that needs attention.
fn clusters(status: &StatusReport, intent: &Intent, style: Style) -> String {
    if status.traffic.is_empty() {
        return format!("  {} clusters", if status.has_all_clusters { "no" } else { "?" });
    }
    let mut all: Vec<Row<'_>> = status.traffic.iter().map(|traffic| Row::new(traffic, intent)).collect();
    all.sort_by(|a, b| by_count(a.traffic.cluster.as_str(), b.traffic.cluster.as_str()));
    let total = all.len();
    let quiet = |row: &&Row<'_>| total > ROWS && style.verbose == 0 && !row.needs_a_look();
    let read = match all.iter().filter(quiet).filter(|row| row.traffic.read.is_none()).count() {
        0 => "read, ".to_owned(),
        unknown => format!("read ? for {unknown}, "),
    };
    all.retain(|row| !quiet(&row));
    let mut lines = Vec::new();
    if !all.is_empty() {
        let fits = |table: &Table| style.width.is_none_or(|width| table.width(INDENT) <= width);
        let tables = COLUMNS.map(|columns| table(&all, columns, style.paint));
        let table = tables.iter().find(|table| fits(table)).or(tables.last());
        lines.extend(table.map(|table| table.render(INDENT, style.width)));
    }
    let others = total - all.len();
    if others > 0 {
        let what = if others == total { counted(others, "cluster") } else { format!("{others} more") };
        lines.push(format!("  {what}: {read}nothing waits, no finding (-v shows each)"));
    }
    lines.join("\n")
}

/// A cluster with its findings, the most urgent first.
struct Row<'a> {
    traffic: &'a ClusterTraffic,
    damage: Option<&'a str>,
    findings: Vec<&'a Message>,
}

impl<'a> Row<'a> {
    fn new(traffic: &'a ClusterTraffic, intent: &'a Intent) -> Self {
        let of = |finding: &&Message| finding.cluster.as_ref() == Some(&traffic.cluster) && !is_unread(finding);
        let summary = intent.clusters.iter().find(|cluster| cluster.name == traffic.cluster);
        Self {
            traffic,
            damage: summary.and_then(|summary| summary.damage.as_deref()),
            findings: intent.findings.iter().filter(of).collect(),
        }
    }

    fn needs_a_look(&self) -> bool {
        let ClusterTraffic { waiting, read, .. } = self.traffic;
        !self.findings.is_empty() || *waiting != Some(0) || *read == Some(false)
    }

    fn read(&self, paint: Paint) -> String {
        match (self.damage, self.traffic.read, self.traffic.unread_for) {
            (Some(damage), ..) => paint.red(damage),
            (_, None, _) => "?".to_owned(),
            (_, Some(true), _) => "yes".to_owned(),
            (_, Some(false), Some(time)) => paint.red(&format!("no, {}", minutes(time))),
            (_, Some(false), None) => paint.red("no, over a day"),
        }
    }

    /// The most urgent finding, else the last event.
    fn last(&self, paint: Paint) -> String {
        match (self.findings.as_slice(), self.traffic.last_events.first()) {
            ([one], _) => code(one, paint),
            ([one, others @ ..], _) => format!("{} +{}", code(one, paint), others.len()),
            ([], Some(LoggedEvent { logged, signal, outcome, .. })) => {
                let dropped = if *outcome == "dropped" { " dropped" } else { "" };
                format!("{}{dropped} {}", short_name(signal), clock(&time_text(*logged)))
            }
            ([], None) if self.traffic.events_unknown => "?".to_owned(),
            ([], None) => "none in a day".to_owned(),
        }
    }
}

/// The columns of all clusters, for decreasing terminal widths.
const COLUMNS: [&[usize]; 3] = [&[0, 1, 2, 3, 4, 5], &[0, 2, 3, 4, 5], &[0, 3, 5]];

fn table(rows: &[Row<'_>], columns: &[usize], paint: Paint) -> Table {
    let numbers: Vec<usize> = (0..columns.len()).filter(|at| [2, 4].contains(&columns[*at])).collect();
    let mut table = Table::with_numbers(numbers);
    let mut row = |cells: [String; 6]| table.row(columns.iter().map(|column| cells[*column].clone()));
    row(["cluster", "queue", "waiting", "read", "24 h", "last event"].map(|title| paint.dim(title)));
    for one in rows {
        let ClusterTraffic { cluster, queue, waiting, sent, .. } = one.traffic;
        let number = |number: &Option<u64>| match number {
            None if one.damage == Some("queue missing") => "-".to_owned(),
            None => "?".to_owned(),
            Some(number) => number.to_string(),
        };
        let waiting = match waiting {
            Some(1..) => paint.yellow(&number(waiting)),
            _ => number(waiting),
        };
        row([cluster.to_string(), queue.to_string(), waiting, one.read(paint), number(sent), one.last(paint)]);
    }
    table
}

/// The last events of the named clusters.
fn events(status: &StatusReport, style: Style) -> Vec<String> {
    let mut lines = Vec::new();
    for traffic in status.traffic.iter().filter(|traffic| traffic.last_events.len() > 1) {
        lines.extend([String::new(), format!("  Last events of {}:", traffic.cluster)]);
        let mut table = Table::default();
        for LoggedEvent { logged, signal, outcome, instances, delay } in &traffic.last_events {
            let after = delay.map_or_else(String::new, |delay| format!(" in {}", took(delay)));
            let instances = escape(&first_of(instances, 1)).into_owned();
            table.row([time_text(*logged), short_name(signal).to_owned(), instances, format!("{outcome}{after}")]);
        }
        lines.push(table.render(INDENT, style.width));
    }
    lines
}

/// The commands to start with, and how many findings they leave: fixes, further reads, and explanations of alarms.
fn first(scope: &Scope, status: &StatusReport, intent: &Intent, fixes: &[Hint]) -> (Vec<String>, usize) {
    let repairs = fixes.first().into_iter().filter_map(|fix| fix.command.as_deref()).flat_map(str::lines);
    let mut commands: Vec<String> = repairs.map(str::to_owned).collect();
    let advised =
        intent.findings.iter().filter(|finding| !is_unread(finding)).filter_map(|finding| match &finding.fix {
            Fix::Advice(steps) => steps.iter().find_map(|step| step.command.clone()),
            _ => None,
        });
    let alarms = status.alarms.firing.iter().map(|alarm| scope.kibus(format!("explain {}", alarm.name)));
    for command in advised.filter(|command| command.starts_with("kibus ")).chain(alarms) {
        if !commands.contains(&command) {
            commands.push(command);
        }
    }
    let more = commands.len().saturating_sub(NAMED);
    commands.truncate(NAMED);
    (commands, more)
}

/// The buses in an account and Region, each with its clusters; `none` names what was not found, and where; `create` is
/// the command that creates one.
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

/// The controller role of a cluster, or what keeps events from it.
fn reader(cluster: &ClusterSummary, paint: Paint) -> String {
    match (&cluster.damage, &cluster.controller_role) {
        (Some(damage), _) => paint.red(&format!("critical: {damage}")),
        (None, _) if cluster.external => paint.dim("external"),
        (None, Some(role)) => role.to_string(),
        (None, None) => paint.dim(NO_ROLE),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::scope::tests::scope;
    use crate::reconcile::status::AlarmReport;
    use crate::ui::text::tests::{assert_snapshot, cluster_summary};

    /// This many clusters; nothing has read the queue of the second for three hours.
    fn shown(clusters: usize, style: Style) -> String {
        let names: Vec<String> = (1..=clusters).map(|number| format!("tenant-{number}")).collect();
        let traffic = names.iter().enumerate().map(|(at, name)| ClusterTraffic {
            cluster: name.parse().unwrap(),
            queue: format!("karpenter-{name}").parse().unwrap(),
            waiting: Some(0),
            in_flight: Some(0),
            read: Some(at != 1),
            last_read: None,
            sent: Some(31),
            last_events: vec![LoggedEvent {
                logged: 1_795_747_211_000,
                signal: "spot-interruption",
                outcome: "delivered",
                instances: vec!["i-0a458f323d52c9380".to_owned()],
                delay: Some(84),
            }],
            events_unknown: false,
            unread_for: (at == 1).then_some(3 * 3_600),
        });
        let firing = ["kibus-dead-letters", "kibus-heartbeat"];
        let since = Some("2026-11-27T02:41:00Z".to_owned());
        let report = StatusReport {
            standing: Some("on purpose: someone went back to it from version 3; so be it".to_owned()),
            waiting: Some(12),
            heartbeat: Some("heartbeat 2 min ago".to_owned()),
            slowest_delivery: Some(210),
            alarms: AlarmReport {
                count: 26,
                unknown: 1,
                firing: firing.map(|name| FiringAlarm { since: since.clone(), name: name.to_owned() }).into(),
            },
            traffic: traffic.collect(),
            unknown: vec!["AWS denied sqs:GetQueueAttributes (queue `kibus-hub-dlq`)".to_owned()],
            ..StatusReport::default()
        };
        let clusters = names.iter().map(|name| cluster_summary(name, None)).collect();
        status(&scope(), &report, &Intent { clusters, ..Intent::default() }, &[], style)
    }

    #[test]
    fn a_narrow_terminal_is_spared_the_queues() {
        assert_snapshot("status-narrow.txt", &shown(2, Style { width: Some(60), ..Style::default() }));
    }

    #[test]
    fn a_thousand_clusters_are_one_screen_and_all_with_v() {
        let style = Style { width: Some(80), ..Style::default() };
        let text = shown(1_000, style);
        assert_snapshot("status-many.txt", &text);
        assert!(text.lines().count() <= 24 && text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(shown(1_000, Style { verbose: 1, ..style }).contains("tenant-777 "));
    }

    #[test]
    fn forty_columns_are_enough() {
        let text = shown(3, Style { width: Some(40), ..Style::default() });
        assert!(text.lines().filter(|line| !line.contains("kibus ")).all(|line| line.chars().count() <= 40), "{text}");
    }
}
