//! Events as text: a summary for each cluster, and a row for each event.

use std::borrow::Cow;

use super::layout::{Style, Table, escape, sentences};
use crate::events::{ClusterEvents, EventLine, EventReport, Wanted};
use crate::model::{
    Scope, by_count, counted, duration_text,
    router_line::{DELIVERED, DROPPED, RETRIED},
    short_name, time_text,
};
use crate::ui::Paint;

const INDENT: usize = 2;

/// The clusters with their events in `period`; for instances, everything in the log about them in one list.
pub fn events(scope: &Scope, report: &EventReport, period: &str, wanted: &Wanted, style: Style) -> String {
    let mut parts = vec![super::heading(scope, style)];
    if wanted.is_story() {
        parts.extend([String::new(), event_rows(&report.lines, wanted, true, style)]);
        return parts.join("\n");
    }
    let mut clusters: Vec<&ClusterEvents> = report.clusters.iter().collect();
    clusters.sort_by(|a, b| (a.name.is_empty().cmp(&b.name.is_empty())).then_with(|| by_count(&a.name, &b.name)));
    for cluster in clusters {
        let events = cluster.lines.iter().rev().map(|at| &report.lines[*at]);
        parts.extend([
            String::new(),
            sentences(&summary(cluster, period), style),
            event_rows(events, wanted, false, style),
        ]);
    }
    parts.join("\n")
}

fn summary(cluster: &ClusterEvents, period: &str) -> String {
    let name = match cluster.name.as_str() {
        "" => "unknown cluster",
        name => name,
    };
    let spot = counted(cluster.spot_interruptions, "Spot interruption");
    let others = counted(cluster.events - cluster.spot_interruptions, "other event");
    let slowest = cluster.slowest_delivery;
    let slowest = slowest.map_or(String::new(), |millis| format!(" · slowest delivery {}", took(millis)));
    let (name, dropped) = (escape(name), cluster.dropped);
    format!("{name} · {spot}, {others} {period} · {dropped} dropped{slowest}")
}

/// One row per line. On a narrow terminal, the instance type and the node pool are left out.
pub fn event_rows<'a>(
    lines: impl IntoIterator<Item = &'a EventLine>,
    wanted: &Wanted,
    names_cluster: bool,
    style: Style,
) -> String {
    let rows = lines.into_iter().map(|event| row(event, wanted, names_cluster, style.paint));
    let rows: Vec<Vec<String>> = rows.collect();
    // A row ends with the type, the node pool and the outcome of the event.
    let table = |left_out: usize| {
        let mut table = Table::default();
        for row in &rows {
            let (begin, end) = row.split_at(row.len() - 3);
            table.row(begin.iter().chain(&end[left_out..]));
        }
        table
    };
    let fits = |table: &Table| style.width.is_none_or(|width| table.width(INDENT) <= width);
    let table = [0, 1].into_iter().map(table).find(fits).unwrap_or_else(|| table(2));
    table.render(INDENT, style.width)
}

fn row(event: &EventLine, wanted: &Wanted, names_cluster: bool, paint: Paint) -> Vec<String> {
    let line = event.line();
    let is_named = |id: &&Cow<'_, str>| wanted.names.iter().any(|name| name.as_str() == id.as_ref());
    let instance = line.instances.iter().find(is_named).or(line.instances.first());
    let mut instance = instance.map_or(String::new(), |id| id.to_string());
    if line.items > 1 {
        instance = format!("{instance} +{}", line.items - 1);
    }
    let time = line.time.unwrap_or_else(|| time_text(event.logged).into());
    // Without the year.
    let time = time.get(5..19).map_or(time.to_string(), |time| time.replace('T', " ") + " UTC");
    let signal = line.signal.as_deref().map_or("-", short_name);
    let mut cells = vec![time, format!("{signal:<9}"), format!("{instance:<19}")];
    cells.extend(names_cluster.then(|| line.cluster.into_owned()));
    cells.extend([line.instance_type.unwrap_or_default().into_owned(), line.nodepool.into_owned()]);
    let mut cells: Vec<String> = cells.iter().map(|cell| escape(cell).into_owned()).collect();
    let mut outcome = match (line.message.as_ref(), line.delay, &line.reason) {
        (DELIVERED, Some(delay @ 0..), _) => format!("delivered in {}", took(delay)),
        (message, _, Some(reason)) => format!("{message}: {reason}"),
        (message, _, None) => message.to_owned(),
    };
    if let Some(attempt @ 2..) = line.receives {
        outcome.push_str(&format!(", attempt {attempt}"));
    }
    outcome.extend(line.state.iter().flat_map(|state| [", ", state]));
    cells.push(match line.message.as_ref() {
        DROPPED => paint.red(&escape(&outcome)),
        RETRIED => paint.yellow(&escape(&outcome)),
        _ => escape(&outcome).into_owned(),
    });
    cells
}

/// A time in milliseconds.
pub(super) fn took(millis: i64) -> String {
    match millis {
        ..1_000 => format!("{millis} ms"),
        1_000..100_000 => format!("{}.{} s", millis / 1_000, millis % 1_000 / 100),
        _ => duration_text(millis.unsigned_abs() / 60_000 * 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::scope::tests::scope;
    use crate::ui::text::tests::assert_snapshot;

    fn line(members: &str) -> EventLine {
        let common = r#""signal":"spot-interruption","cluster":"tenant-1","items":1,"time":"2026-11-24T03:12:41Z""#;
        let ids = r#""instances":["i-0a458f323d52c9380"],"nodepool":"blue","type":"m5.24xlarge""#;
        EventLine { text: format!("{{{common},{ids},{members}}}"), ..EventLine::default() }
    }

    #[test]
    fn rows_fit_80_columns() {
        let lines = vec![
            line(r#""message":"delivered","delay":84,"receives":1"#),
            line(r#""message":"dropped","reason":"no tags seen","receives":2"#),
            line(r#""message":"retried","reason":"a\u001b[2Jlonger reason than any","receives":2"#),
        ];
        let cluster = ClusterEvents {
            name: "tenant-1".to_owned(),
            events: 14,
            spot_interruptions: 11,
            dropped: 1,
            slowest_delivery: Some(212),
            lines: vec![2, 1, 0],
        };
        let report = EventReport { clusters: vec![cluster], lines, ..EventReport::default() };
        let shown = |width| {
            let style = Style { width: Some(width), ..Style::default() };
            events(&scope(), &report, "in 7d", &Wanted::default(), style)
        };
        for width in [80, 100, 120] {
            let text = shown(width);
            let longest = text.lines().skip(2).map(|line| line.chars().count()).max();
            assert!(longest <= Some(width), "{width}:\n{text}");
            assert!(text.contains("i-0a458f323d52c9380"), "{width}:\n{text}");
        }
        assert_snapshot("events-narrow.txt", &shown(80));
    }

    #[test]
    fn times_are_short() {
        let of = [0, 999, 1_000, 12_345, 99_999, 100_000, 7_200_000].map(took);
        assert_eq!(of, ["0 ms", "999 ms", "1.0 s", "12.3 s", "99.9 s", "1m", "2h"]);
    }
}
