//! The results as the tables of the documentation, compared with the router's targets.

use crate::function::Program;
use crate::measure::{LATENCY, Load, Measured, Warm, loads, median, storms};
use crate::targets::{
    self,
    Bound::{AtLeast, AtMost},
};

/// Prints the tables. Returns whether every target is met.
pub fn print(programs: &[Program; 2], measured: &[Measured; 2], runs: usize) -> bool {
    println!("Medians of {runs} runs; in brackets the smallest and the largest.\n");
    println!("| from exec to the first answer | {} | {} | ratio |", programs[0].name, programs[1].name);
    println!("| --- | --- | --- | --- |");
    for ((tls, small), ours) in &measured[0].cold {
        let Some(theirs) = cold(&measured[1], *tls, *small) else {
            continue;
        };
        println!(
            "| {}{} | {} ms | {} ms | {:.1} |",
            if *tls { "TLS" } else { "HTTP" },
            if *small { ", 0.15 CPU" } else { "" },
            spread(ours, 1),
            spread(theirs, 0),
            median(theirs.clone()) / median(ours.clone()),
        );
    }
    println!(
        "\n| warm | {0}: events/s | an invocation | {1}: events/s | an invocation | ratio of events/s |",
        programs[0].name, programs[1].name
    );
    println!("| --- | --- | --- | --- | --- | --- |");
    for load in loads() {
        let (Some(ours), Some(theirs)) = (warm(&measured[0], load), warm(&measured[1], load)) else {
            continue;
        };
        println!(
            "| {} | {} | {} ms | {} | {} ms | {:.0} |",
            called(load),
            spread(&of(ours, |warm| warm.rate), 0),
            spread(&of(ours, |warm| warm.invocation), 1),
            spread(&of(theirs, |warm| warm.rate), 0),
            spread(&of(theirs, |warm| warm.invocation), 1),
            middle(ours, |warm| warm.rate) / middle(theirs, |warm| warm.rate),
        );
    }
    println!(
        "\n| storm: batches of 10, and 190 more | events/s | an invocation | calls per event | peak resident memory |"
    );
    println!("| --- | --- | --- | --- | --- |");
    for load in storms() {
        let Some(runs) = warm(&measured[0], load) else {
            continue;
        };
        println!(
            "| {} | {} | {} ms | {:.2} | {:.1} MiB |",
            conditions(load),
            spread(&of(runs, |warm| warm.rate), 0),
            spread(&of(runs, |warm| warm.invocation), 1),
            middle(runs, |warm| warm.calls),
            middle(runs, |warm| mib(warm.resident.1)),
        );
    }
    println!("\n| after batches of 100 | {} | {} |", programs[0].name, programs[1].name);
    println!("| --- | --- | --- |");
    let full = Load { batch: 100, waiting: 0, latency: std::time::Duration::ZERO, tls: false, small: false };
    let over_tls = Load { tls: true, ..full };
    let both = |load, f: fn(&Warm) -> f64, digits: usize, unit: &str| {
        let of = |measured| {
            warm(measured, load).map_or_else(String::new, |runs| format!("{:.digits$}{unit}", middle(runs, f)))
        };
        format!("{} | {}", of(&measured[0]), of(&measured[1]))
    };
    println!("| calls per event | {} |", both(full, |warm| warm.calls, 2, ""));
    for (name, load) in [("HTTP", full), ("TLS", over_tls)] {
        println!("| resident memory, {name} | {} |", both(load, |warm| mib(warm.resident.0), 1, " MiB"));
        println!("| peak resident memory, {name} | {} |", both(load, |warm| mib(warm.resident.1), 1, " MiB"));
    }
    are_met(measured, full, over_tls)
}

fn are_met(measured: &[Measured; 2], full: Load, over_tls: Load) -> bool {
    let slow = Load { latency: LATENCY, ..full };
    let of = |program: usize, load, f: fn(&Warm) -> f64| {
        warm(&measured[program], load).map_or(f64::NAN, |runs| middle(runs, f))
    };
    let start = |program: usize| cold(&measured[program], true, false).map_or(f64::NAN, |runs| median(runs.clone()));
    let round_trips = 2.0 * LATENCY.as_secs_f64() * 1000.0;
    let memory = of(0, over_tls, |w| mib(w.resident.1)).max(of(0, full, |w| mib(w.resident.1)));
    let ratio = of(0, full, |w| w.rate) / of(1, full, |w| w.rate);
    let over = of(0, slow, |w| w.invocation) - round_trips;
    targets::print([
        ("cold start over TLS, times as fast", AtLeast(6.0), Some(start(1) / start(0))),
        ("batches of 100, times as many events/s", AtLeast(50.0), Some(ratio)),
        ("an invocation of 100 with 40 ms latency, ms over two round trips", AtMost(25.0), Some(over)),
        ("resident memory, MiB", AtMost(12.0), Some(memory)),
        ("calls per event", AtMost(0.12), Some(of(0, full, |w| w.calls))),
    ])
}

fn called(load: Load) -> String {
    format!("batches of {}, {}", load.batch, conditions(load))
}

fn conditions(load: Load) -> String {
    format!(
        "{} ms latency{}{}",
        load.latency.as_millis(),
        if load.tls { ", TLS" } else { "" },
        if load.small { ", 0.15 CPU" } else { "" },
    )
}

fn cold(measured: &Measured, tls: bool, small: bool) -> Option<&Vec<f64>> {
    measured.cold.iter().find_map(|(key, runs)| (*key == (tls, small)).then_some(runs))
}

fn warm(measured: &Measured, load: Load) -> Option<&[Warm]> {
    measured.warm.iter().find_map(|(key, runs)| (*key == load).then_some(runs.as_slice()))
}

fn of(runs: &[Warm], f: fn(&Warm) -> f64) -> Vec<f64> {
    runs.iter().map(f).collect()
}

fn middle(runs: &[Warm], f: fn(&Warm) -> f64) -> f64 {
    median(of(runs, f))
}

fn spread(values: &[f64], digits: usize) -> String {
    let smallest = values.iter().copied().fold(f64::INFINITY, f64::min);
    let largest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    format!("{:.digits$} ({smallest:.digits$}-{largest:.digits$})", median(values.to_vec()))
}

#[expect(clippy::cast_precision_loss, reason = "memory is small")]
fn mib(kib: u64) -> f64 {
    kib as f64 / 1024.0
}
