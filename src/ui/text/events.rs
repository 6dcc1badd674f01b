//! What became of events, as text: a summary for each cluster, and a row for each event.

use super::layout::{Style, Table, by_count, escape, sentences};
use crate::events::{ClusterEvents, EventLine, EventReport, Wanted};
use crate::model::notation::{counted, duration_text, time_text};
use crate::model::router_line::{DELIVERED, DROPPED, RETRIED};
use crate::model::signal::short_name;
use crate::ui::{Heading, Paint};

const INDENT: usize = 2;

/// The clusters with their events, which happened in `period`; for instances, all that the log says of them in one list.
pub fn events(heading: &Heading, report: &EventReport, period: &str, wanted: &Wanted, style: Style) -> String {
    let mut parts = vec![super::heading(heading, style)];
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
    let ClusterEvents {
        name,
        events,
        spot_interruptions: spot,
        dropped,
        slowest_delivery: slowest,
        ..
    } = cluster;
    let name = if name.is_empty() { "no known cluster" } else { name };
    let slowest = slowest.map_or(String::new(), |millis| format!(" · slowest delivery {}", took(millis)));
    let (name, others) = (escape(name), counted(events - spot, "other event"));
    format!(
        "{name} · {}, {others} {period} · {dropped} dropped{slowest}",
        counted(spot, "Spot interruption")
    )
}

/// A row for each line. On a narrow terminal, the type of the instance and its node pool are left out.
pub fn event_rows<'a>(
    lines: impl IntoIterator<Item = &'a EventLine>,
    wanted: &Wanted,
    names_cluster: bool,
    style: Style,
) -> String {
    let rows: Vec<_> = lines
        .into_iter()
        .map(|event| row(event, wanted, names_cluster, style.paint))
        .collect();
    let table = |left_out: usize| {
        let mut table = Table::default();
        for (begin, tags, outcome) in &rows {
            table.row(begin.iter().chain(&tags[left_out..]).chain([outcome]));
        }
        table
    };
    let fits = |table: &Table| style.width.is_none_or(|width| table.width(INDENT) <= width);
    let table = [0, 1].into_iter().map(table).find(fits).unwrap_or_else(|| table(2));
    table.render(INDENT, style.width)
}

/// When, what and who; the type and the node pool; what became of it, and how long it took.
fn row(event: &EventLine, wanted: &Wanted, names_cluster: bool, paint: Paint) -> (Vec<String>, [String; 2], String) {
    let line = event.line();
    let shown = |text: &str| escape(text).into_owned();
    let is_named = |id: &str| wanted.names.iter().any(|name| name.as_str() == id);
    let instance = line.instances.iter().find(|id| is_named(id)).or(line.instances.first());
    let instance = instance.map_or("", |id| id);
    let instance = match line.items {
        ..=1 => shown(instance),
        items => format!("{} +{}", escape(instance), items - 1),
    };
    let time = line
        .time
        .map_or_else(|| time_text(event.logged), |time| time.into_owned());
    // Without its year and zone.
    let time = time.get(5..19).unwrap_or(&time).replace('T', " ");
    let signal = line.signal.as_deref().map_or("-", short_name);
    let mut begin = vec![
        shown(&time),
        format!("{:<9}", escape(signal)),
        format!("{instance:<19}"),
    ];
    begin.extend(names_cluster.then(|| shown(&line.cluster)));
    let mut outcome = match (line.message.as_ref(), line.delay, &line.reason) {
        (DELIVERED, Some(delay @ 0..), _) => format!("delivered in {}", took(delay)),
        (message, _, Some(reason)) => format!("{message}: {reason}"),
        (message, _, None) => message.to_owned(),
    };
    if let Some(attempt @ 2..) = line.receives {
        outcome.push_str(&format!(", attempt {attempt}"));
    }
    if let Some(state) = &line.state {
        outcome.push_str(&format!(", {state}"));
    }
    let outcome = match line.message.as_ref() {
        DROPPED => paint.red(&escape(&outcome)),
        RETRIED => paint.yellow(&escape(&outcome)),
        _ => shown(&outcome),
    };
    (
        begin,
        [
            line.instance_type.as_deref().map_or(String::new(), shown),
            shown(&line.nodepool),
        ],
        outcome,
    )
}

/// A time in milliseconds.
fn took(millis: i64) -> String {
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

    fn line(members: &str) -> EventLine {
        let common = r#""signal":"spot-interruption","cluster":"tenant-1","items":1,"time":"2026-11-24T03:12:41Z""#;
        let ids = r#""instances":["i-0a458f323d52c9380"],"nodepool":"blue","type":"m5.24xlarge""#;
        EventLine {
            text: format!("{{{common},{ids},{members}}}"),
            ..EventLine::default()
        }
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
        let report = EventReport {
            clusters: vec![cluster],
            lines,
            ..EventReport::default()
        };
        let shown = |width| {
            let style = Style {
                width: Some(width),
                ..Style::default()
            };
            events(&Heading::from(&scope()), &report, "in 7d", &Wanted::default(), style)
        };
        for width in [80, 100, 120] {
            let text = shown(width);
            let longest = text.lines().skip(2).map(|line| line.chars().count()).max();
            assert!(longest <= Some(width), "{width}:\n{text}");
            assert!(text.contains("i-0a458f323d52c9380"), "{width}:\n{text}");
        }
        let narrow = shown(80);
        let row = "  11-24 03:12:41   spot        i-0a458f323d52c9380   delivered in 84 ms\n";
        assert!(narrow.contains(row), "{narrow}");
        let summary = "tenant-1 · 11 Spot interruptions, 3 other events in 7d · 1 dropped · slowest\ndelivery 212 ms\n";
        assert!(narrow.contains(summary), "{narrow}");
    }

    #[test]
    fn times_are_short() {
        let of = [0, 999, 1_000, 12_345, 99_999, 100_000, 7_200_000].map(took);
        assert_eq!(of, ["0 ms", "999 ms", "1.0 s", "12.3 s", "99.9 s", "1m", "2h"]);
    }
}
