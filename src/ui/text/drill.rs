//! A drill as text: the instance, and one line per step.

use super::heading;
use super::layout::{Style, escape, sentences};
use crate::drill::choice::DrillInstance;
use crate::drill::steps::{StepReport, StepResult};
use crate::drill::{Drill, Left};
use crate::model::{Resource, Scope, counted, duration_text, parse_time};
use crate::ui::Paint;

/// The instance on one line, with its age at this time in milliseconds of the Unix epoch.
fn drill_instance(instance: &DrillInstance, now: i64) -> String {
    let host = instance.host.split('.').next().unwrap_or_default();
    let nodes = counted(instance.nodes, "node");
    let age = parse_time(&instance.launched).map(|launched| now.saturating_sub(launched).max(0) / 1000);
    let mut parts = vec![
        format!("Spot instance {}", instance.id),
        host.to_owned(),
        format!("{}, {}", instance.instance_type, instance.zone),
        format!("pool {}, 1 of {nodes}", instance.node_pool),
    ];
    parts.extend(age.map(|seconds| format!("{} old", longest_unit(seconds.unsigned_abs()))));
    parts.retain(|part| !part.is_empty());
    escape(&parts.join(" · ")).into_owned()
}

/// What a drill interrupts and creates.
pub fn drill_plan(drill: &Drill, instance: &DrillInstance, now: i64, style: Style) -> String {
    let role = Resource::Role(drill.role());
    let role = format!("{}  {}", drill.scope.drill_role(), role.particulars().summary());
    let template = format!("interrupts the instance {}m after its start", drill.minutes);
    let makes = [("role", role.as_str()), ("experiment template", &template)];
    let instance = sentences(&drill_instance(instance, now), style);
    [heading(&drill.scope, style), instance, rows(&style.paint.green("+"), &makes)].join("\n")
}

/// The leftovers of drills to stop and delete.
pub fn drill_left(scope: &Scope, left: &Left, style: Style) -> String {
    [heading(scope, style), rows(&style.paint.red("-"), &left.parts())].join("\n")
}

fn rows(sign: &str, rows: &[(&str, &str)]) -> String {
    let row = |(kind, about): &(&str, &str)| format!("  {sign} {kind:<19}  {}", escape(about));
    rows.iter().map(row).collect::<Vec<_>>().join("\n")
}

/// The line of a step.
pub fn drill_step(report: &StepReport, paint: Paint) -> String {
    let StepReport { result, seconds, message, .. } = report;
    let time = match (seconds / 60, seconds % 60) {
        (0, seconds) => format!("{seconds}s"),
        (minutes, 0) => format!("{minutes}m"),
        (minutes, seconds) => format!("{minutes}m{seconds}s"),
    };
    let mark = match result {
        StepResult::Done => paint.green("✓"),
        StepResult::Failed => paint.red("✗"),
        StepResult::NotKnown => paint.yellow("?"),
        StepResult::Noted => "-".to_owned(),
    };
    format!("{time:>6}  {mark} {}", escape(message))
}

/// Seconds in whole days, hours or minutes.
fn longest_unit(seconds: u64) -> String {
    let unit = [86_400, 3_600, 60].into_iter().find(|unit| seconds >= *unit).unwrap_or(1);
    duration_text(seconds / unit * unit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drill::steps::Step;

    #[test]
    fn an_instance_and_a_step_are_a_line_each() {
        let instance = DrillInstance {
            id: "i-0a458f323d52c9380".parse().unwrap(),
            host: "ip-192-168-64-130.us-west-2.compute.internal".to_owned(),
            instance_type: "m5.2xlarge".to_owned(),
            zone: "us-west-2a".to_owned(),
            node_pool: "blue\u{1b}".to_owned(),
            nodes: 6,
            launched: "2026-11-24T03:00:00.000Z".to_owned(),
        };
        let now = parse_time("2026-11-24T06:59:00Z").unwrap();
        let expected = "Spot instance i-0a458f323d52c9380 · ip-192-168-64-130 · m5.2xlarge, us-west-2a · pool blue\\u{1b}, 1 of 6 nodes · 3h old";
        assert_eq!(drill_instance(&instance, now), expected);
        for (seconds, result, expected) in [
            (0, StepResult::Done, "    0s  ✓ x"),
            (124, StepResult::Failed, "  2m4s  ✗ x"),
            (900, StepResult::NotKnown, "   15m  ? x"),
            (59, StepResult::Noted, "   59s  - x"),
        ] {
            let report = StepReport { step: Step::Warning, result, seconds, message: "x".to_owned() };
            assert_eq!(drill_step(&report, Paint::default()), expected);
        }
        let ages = [0, 59, 3_599, 90_000].map(longest_unit);
        assert_eq!(ages, ["0s", "59s", "59m", "1d"]);
    }
}
