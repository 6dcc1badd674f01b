//! Progress while a plan runs: live lines on a terminal, plain lines elsewhere.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressState, ProgressStyle};

use super::Ui;
use super::text::{escape, name};
use crate::apply::{ChangeEvent, Listener};
use crate::plan::{Change, Plan};

/// How often a live line is redrawn.
const TICK: Duration = Duration::from_millis(100);
/// The number of applied changes.
const TOTAL: &str = "  {bar:24} {pos} of {len}{prefix}";
/// A running change.
const RUNNING: &str = "  {spinner} {msg}{since}";
/// Any other running operation.
const SPINNER: &str = "{spinner} {msg}{prefix}{since}";

/// A running operation; dropping it removes its line.
#[derive(Debug)]
pub struct Spinner(ProgressBar);

impl Spinner {
    pub(super) fn new(ui: &Ui, text: &str) -> Self {
        let bar = ui.bars.add(ProgressBar::new_spinner());
        bar.set_style(style(SPINNER));
        bar.set_message(escape(text).into_owned());
        bar.enable_steady_tick(TICK);
        Self(bar)
    }

    /// Shows why the operation is slow.
    pub fn slowed(&self, reason: &str) {
        self.0.set_prefix(after(reason));
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// Shows on stderr the progress of each change of a plan. The lines of finished changes stay on the screen.
#[derive(Debug)]
pub struct PlanProgress {
    ui: Ui,
    /// On a terminal, the live lines.
    live: Option<RunningBars>,
}

/// The live lines: one for each running change, and the count of applied changes.
#[derive(Debug)]
struct RunningBars {
    running: Mutex<BTreeMap<usize, ProgressBar>>,
    total: ProgressBar,
}

impl PlanProgress {
    /// Shows the live lines, if stderr is a terminal.
    pub fn new(ui: &Ui, plan: &Plan) -> Self {
        let live = ui.moves.then(|| {
            let total = ui.bars.add(ProgressBar::new(plan.changes.len() as u64));
            total.set_style(style(TOTAL));
            total.tick();
            RunningBars { running: Mutex::default(), total }
        });
        Self { ui: ui.clone(), live }
    }

    /// Shows why the changes are slow.
    pub fn slowed(&self, reason: &str) {
        if let Some(live) = &self.live {
            live.total.set_prefix(after(reason));
        }
    }

    /// The permanent line of an event, if it has one.
    fn line(&self, change: &Change, event: &ChangeEvent) -> Option<String> {
        let on_terminal = self.live.is_some();
        let paint = self.ui.stderr.paint;
        Some(match event {
            ChangeEvent::Started => return None,
            // Quiet output shows only failures.
            ChangeEvent::Waiting(_) | ChangeEvent::Done(_) if self.ui.quiet => return None,
            // On a terminal, the live line shows it.
            ChangeEvent::Waiting(_) if on_terminal => return None,
            ChangeEvent::Waiting(reason) => format!("waiting: {}: {}", described(change), escape(reason)),
            ChangeEvent::Done(took) if on_terminal => {
                let (time, mark) = (paint.dim(&format!("{:>7}", duration(*took))), paint.green("✓"));
                format!("{time}  {mark} {}", done(change))
            }
            ChangeEvent::Done(took) => format!("{} {}", done(change), duration(*took)),
            ChangeEvent::Failed(fault) => {
                let mark = if on_terminal { format!("{:9}{} ", "", paint.red("✗")) } else { String::new() };
                let (action, what) = (change.action.words()[0], described(change));
                format!("{mark}failed to {action} {what}: {}", escape(&fault.to_string()))
            }
        })
    }
}

impl Listener for PlanProgress {
    fn event(&self, place: usize, change: &Change, event: ChangeEvent) {
        if let Some(line) = self.line(change, &event) {
            self.ui.say(&line);
        }
        if let Some(live) = &self.live {
            live.event(&self.ui, place, change, &event);
        }
    }
}

impl Drop for PlanProgress {
    fn drop(&mut self) {
        if let Some(live) = &self.live {
            for bar in live.running().values() {
                bar.finish_and_clear();
            }
            live.total.finish_and_clear();
        }
    }
}

impl RunningBars {
    fn event(&self, ui: &Ui, place: usize, change: &Change, event: &ChangeEvent) {
        let doing = || format!("{} {}", change.action.words()[1], described(change));
        let mut running = self.running();
        match event {
            ChangeEvent::Started => {
                let bar = ui.bars.insert_before(&self.total, ProgressBar::new_spinner());
                bar.set_style(style(RUNNING));
                bar.set_message(doing());
                bar.enable_steady_tick(TICK);
                running.insert(place, bar);
            }
            ChangeEvent::Waiting(reason) => {
                if let Some(bar) = running.get(&place) {
                    bar.set_message(format!("{}  waiting: {}", doing(), escape(reason)));
                }
            }
            ChangeEvent::Done(_) | ChangeEvent::Failed(_) => {
                if let Some(bar) = running.remove(&place) {
                    bar.finish_and_clear();
                }
                if matches!(event, ChangeEvent::Done(_)) {
                    self.total.inc(1);
                }
            }
        }
    }

    fn running(&self) -> MutexGuard<'_, BTreeMap<usize, ProgressBar>> {
        // Every state of the map is valid, so a poisoned lock does no harm.
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The style of a template. A test checks that every template is valid.
fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template)
        .unwrap_or_else(|_| ProgressStyle::default_spinner())
        .with_key("since", |state: &ProgressState, w: &mut dyn std::fmt::Write| {
            let seconds = state.elapsed().as_secs();
            // Short operations show no time.
            if seconds >= 2 {
                // Writing to a String cannot fail.
                let _ = write!(w, " ({seconds}s)");
            }
        })
        .progress_chars("━━─")
}

/// A reason, as text that follows an operation.
fn after(reason: &str) -> String {
    format!("  {}", escape(reason))
}

fn described(change: &Change) -> String {
    format!("{} {}", change.id.label(), escape(&name(&change.id)))
}

fn done(change: &Change) -> String {
    format!("{} {}", change.action.words()[2], described(change))
}

/// A short duration, with tenths of a second under a minute.
fn duration(took: Duration) -> String {
    if took.as_secs() < 60 { format!("{:.1}s", took.as_secs_f64()) } else { format!("{}s", took.as_secs()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Desired, HubOptions};
    use crate::ui::text::tests::{between, hub_resources};
    use crate::ui::{Color, Output, Talk};

    #[test]
    fn the_line_of_a_wait_controls_no_terminal() {
        let plan = between(&Desired::default(), &hub_resources(HubOptions::default()));
        let ui = Ui { moves: false, ..Ui::new(Output::Text, Color::Never, 0, Talk::default()) };
        let event = ChangeEvent::Waiting("not\u{1b}yet".to_owned());
        let line = PlanProgress::new(&ui, &plan).line(&plan.changes[0], &event);
        assert_eq!(line.as_deref(), Some("waiting: parameter /kibus/kibus: not\\u{1b}yet"));
    }

    #[test]
    fn every_template_is_valid() {
        for template in [TOTAL, RUNNING, SPINNER] {
            assert!(ProgressStyle::with_template(template).is_ok(), "{template}");
        }
    }

    #[test]
    fn durations_are_short() {
        for (millis, shown) in [(0, "0.0s"), (234, "0.2s"), (59_900, "59.9s"), (72_400, "72s")] {
            assert_eq!(duration(Duration::from_millis(millis)), shown);
        }
    }
}
