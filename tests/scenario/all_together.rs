//! Scenarios on a server that behaves as AWS does, with every behavior on (`tests/harness/src/aws_like`).
//!
//! Before each step, all late effects arrive: a user who types the next command is slower than AWS. Within a command,
//! they do not. `% lose` and `% ... during` apply to the first call that AWS accepts. The comparison with the file
//! ignores these differences, and no others:
//!
//! - lines that begin with `! waiting: ` or `! slowed down by `
//! - a line that equals the previous line: in `% writes`, a call that AWS refused and that was repeated
//! - the last result of a mapping, which AWS does not return
//! - empty lines

use std::sync::Mutex;

use super::shown::Shown;
use super::{Scenario, all, directory};
use crate::aws_like::Server;

/// Scenarios that are not played, each with the reason, besides those that switch behaviors themselves.
const LEFT_OUT: &[(&str, &str)] = &[
    ("policy", "the KMS key of its hub does not exist, so no router passes its self-test"),
    ("status", "it shows counts of messages that were just sent"),
    ("throttled", "it shows counts of throttled calls, and more calls are throttled"),
];

/// Plays a scenario; returns the differences from its file.
pub(crate) fn differences(name: &str) -> Option<String> {
    let wanted = text(name);
    let server = Server::shared();
    let got = server.runtime.block_on(async {
        let mut scenario = Scenario::new(name, server, 1).await;
        scenario.is_patient = true;
        scenario.shown.is_whole = true;
        scenario.proxy.like.switch("all");
        scenario.played(&wanted).await
    });
    let whole = Shown::nothing_of(name).whole(&wanted);
    let (wanted, got) = (lasting(&whole), lasting(&got));
    let diff = similar::TextDiff::from_lines(&wanted, &got);
    (wanted != got).then(|| diff.unified_diff().header(name, "what came").to_string())
}

/// Plays all scenarios, several at a time, and reports each; returns the failures.
pub(crate) fn every_difference(report: impl Fn(&str, bool) + Sync) -> Vec<String> {
    const AT_A_TIME: usize = 4;
    let left_out = |name: &str| LEFT_OUT.iter().any(|(left_out, _)| *left_out == name);
    let names = all().filter(|name| !left_out(name) && !text(name).contains("\n% aws-like "));
    let names = Mutex::new(names);
    let failed = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..AT_A_TIME {
            scope.spawn(|| {
                loop {
                    let Some(name) = names.lock().unwrap().next() else {
                        return;
                    };
                    // A failed step panics.
                    let played = std::thread::spawn(|| differences(name)).join();
                    let difference = played.unwrap_or_else(|_| Some(format!("{name} panicked")));
                    report(name, difference.is_none());
                    failed.lock().unwrap().extend(difference);
                }
            });
        }
    });
    failed.into_inner().unwrap()
}

fn text(name: &str) -> String {
    std::fs::read_to_string(directory().join(format!("{name}.txt"))).unwrap()
}

/// The lines that the comparison does not ignore.
fn lasting(text: &str) -> String {
    let mut lines: Vec<String> = text
        .lines()
        .filter(|line| {
            !line.is_empty() && !["! waiting: ", "! slowed down by "].iter().any(|talk| line.starts_with(talk))
        })
        .map(|line| line.split_once(", last result").map_or(line, |(before, _)| before).to_owned())
        .collect();
    lines.dedup();
    lines.into_iter().map(|line| format!("{line}\n")).collect()
}
