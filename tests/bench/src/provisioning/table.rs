//! The results as the tables of the documentation, compared with the targets.

use std::time::Duration;

use super::{CASES, CASES_WITH_RATES, Case, Measured, Ran, Throttled};
use crate::measure::median;
use crate::targets::{self, Bound::AtMost};

/// Prints the tables. Returns whether every target is met.
pub fn print(measured: &[Measured], sizes: &[usize], runs: usize) -> bool {
    println!("Medians of {runs} runs.\n");
    println!("| clusters | | kibus | calls | in sequence | memory | floor | ratio | boto3 | of boto3 |");
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    for &size in sizes {
        for case in CASES {
            let row = Row::new(measured, size, case);
            let (script, share) = match row.script {
                Some(script) => (seconds(script), format!("{:.1} %", 100.0 * row.kibus / script)),
                None => Default::default(),
            };
            println!(
                "| {size} | {} | {} | {} | {} | {:.1} MiB | {} | {:.2} | {script} | {share} |",
                name(case),
                seconds(row.kibus),
                row.calls,
                row.round_trips,
                row.memory,
                seconds(row.floor),
                row.kibus / row.floor,
            );
        }
    }
    let mut repeated: Vec<&str> = measured.iter().flat_map(|m| &m.repeated).map(String::as_str).collect();
    repeated.sort_unstable();
    repeated.dedup();
    if !repeated.is_empty() {
        println!("\nMade more than once with the same parameters: {}", repeated.join(", "));
    }
    are_met(measured, sizes, repeated.len())
}

fn are_met(measured: &[Measured], sizes: &[usize], repeated: usize) -> bool {
    let row = |size, case| sizes.contains(&size).then(|| Row::new(measured, size, case));
    let over_floor = |case| row(50, case).map(|row| row.kibus / row.floor);
    let of_script = row(50, Case::Add).and_then(|row| Some(100.0 * row.kibus / row.script?));
    let growth = |case| Some(row(1000, case)?.kibus / row(50, case)?.kibus);
    let memory = CASES.iter().filter_map(|case| Some(row(1000, *case)?.memory));
    #[expect(clippy::cast_precision_loss, reason = "counts are small")]
    let count = |count: usize| count as f64;
    let in_sequence = row(1, Case::Add).map(|row| count(row.round_trips));
    targets::print([
        ("add 50, times the floor", AtMost(1.3), over_floor(Case::Add)),
        ("add 50, % of boto3's time", AtMost(10.0), of_script),
        ("no change at 50, times the floor", AtMost(1.3), over_floor(Case::NoChange)),
        ("verify at 50, times the floor", AtMost(1.3), over_floor(Case::Verify)),
        ("add 1, whose role is searched, calls in sequence", AtMost(6.0), in_sequence),
        ("add 1,000, times add 50", AtMost(22.0), growth(Case::Add)),
        ("1,000 clusters, MiB", AtMost(60.0), memory.reduce(f64::max)),
        ("calls made more than once", AtMost(0.0), Some(count(repeated))),
    ])
}

/// The medians of a case. Times are in seconds, memory is in MiB.
struct Row {
    kibus: f64,
    floor: f64,
    script: Option<f64>,
    calls: usize,
    round_trips: usize,
    memory: f64,
}

impl Row {
    fn new(measured: &[Measured], clusters: usize, case: Case) -> Self {
        let of: Vec<&Measured> = measured.iter().filter(|m| m.clusters == clusters && m.case == case).collect();
        let middle = |f: &dyn Fn(&Measured) -> f64| median(of.iter().map(|m| f(m)).collect());
        let scripts: Vec<Ran> = of.iter().filter_map(|m| m.script).collect();
        let script = scripts.iter().map(|ran| ran.took.as_secs_f64()).collect();
        Self {
            kibus: middle(&|m| m.kibus.took.as_secs_f64()),
            floor: middle(&|m| m.floor.as_secs_f64()),
            script: (!scripts.is_empty()).then(|| median(script)),
            calls: of.iter().map(|m| m.calls).max().unwrap_or_default(),
            round_trips: of.iter().map(|m| m.round_trips).max().unwrap_or_default(),
            memory: middle(&|m| megabytes(m.kibus)),
        }
    }
}

/// Prints the table of calls that are throttled. Returns whether every target is met.
pub fn print_with_rates(measured: &[Throttled]) -> bool {
    println!("| clusters | | kibus | wanted, at most | calls | throttled | memory | |");
    println!("| --- | --- | --- | --- | --- | --- | --- | --- |");
    let mut all = true;
    for row in measured {
        let took = row.kibus.took.as_secs_f64();
        #[expect(clippy::cast_precision_loss, reason = "counts are small")]
        let share = 100.0 * row.throttled as f64 / row.calls as f64;
        let bound = bound(row.clusters, row.case);
        let met = bound.is_none_or(|bound| took <= bound) && share <= 10.0;
        all &= met;
        println!(
            "| {} | {} | {} | {} | {} | {} ({share:.1} %) | {:.1} MiB | {} |",
            row.clusters,
            name(row.case),
            seconds(took),
            bound.map_or(String::new(), |bound| format!("{bound} s")),
            row.calls,
            row.throttled,
            megabytes(row.kibus),
            if met { "met" } else { "missed" },
        );
    }
    all
}

/// The longest time at these rates, in seconds: the necessary calls, at their rates, plus a margin.
fn bound(clusters: usize, case: Case) -> Option<f64> {
    let place = CASES_WITH_RATES.iter().position(|other| *other == case)?;
    match clusters {
        200 => [75.0, 15.0, 10.0, 30.0].get(place).copied(),
        1000 => [135.0, 50.0, 50.0, 95.0].get(place).copied(),
        _ => None,
    }
}

fn name(case: Case) -> &'static str {
    match case {
        Case::Add => "add",
        Case::NoChange => "no change",
        Case::Verify => "verify",
        Case::Remove => "remove",
    }
}

#[expect(clippy::cast_precision_loss, reason = "memory is small")]
fn megabytes(ran: Ran) -> f64 {
    ran.memory as f64 / 1024.0
}

fn seconds(seconds: f64) -> String {
    let time = Duration::from_secs_f64(seconds);
    if time < Duration::from_secs(10) { format!("{} ms", time.as_millis()) } else { format!("{seconds:.1} s") }
}
