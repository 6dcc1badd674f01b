//! What happens while a plan runs: lines that move on a terminal, plain lines everywhere else.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use console::truncate_str;
use indicatif::{MultiProgress, ProgressBar, ProgressState, ProgressStyle};

use super::paint::Paint;
use super::say;
use super::text::{escape, kind, name};
use crate::apply::{Event, Listener};
use crate::plan::{Action, Change, Plan};

/// How often a moving line moves.
pub(super) const TICK: Duration = Duration::from_millis(100);
/// The room that a finished line needs for its mark and its time.
const BESIDE: usize = 14;
/// How many changes are made.
const TOTAL: &str = "  {bar:24} {pos} of {len}";
/// A change that is being made.
const RUNNING: &str = "  {spinner} {msg}{since}";
/// Anything else that is under way.
pub(super) const SPINNER: &str = "{spinner} {msg}{since}";

/// Tells a person on stderr what happens to each change of a plan.
#[derive(Debug)]
pub struct Progress {
    bars: MultiProgress,
    paint: Paint,
    /// The longest "created queue kibus-hub" for which there is room, so that the times after it align.
    width: usize,
    /// On a terminal, the lines that move: one a running change, and the count of those that are done.
    moving: Option<Moving>,
}

#[derive(Debug)]
struct Moving {
    running: Mutex<BTreeMap<usize, ProgressBar>>,
    total: ProgressBar,
}

impl Progress {
    pub(super) fn new(bars: MultiProgress, paint: Paint, terminal: bool, columns: Option<usize>, plan: &Plan) -> Self {
        let width = plan.changes.iter().map(|change| done(change).chars().count());
        let moving = terminal.then(|| {
            let total = bars.add(ProgressBar::new(plan.changes.len() as u64));
            total.set_style(style(TOTAL));
            total.tick();
            Moving {
                running: Mutex::default(),
                total,
            }
        });
        Self {
            bars,
            paint,
            width: width
                .max()
                .unwrap_or(0)
                .min(columns.unwrap_or(80).saturating_sub(BESIDE)),
            moving,
        }
    }

    /// Takes the moving lines away; what was finished stays on the screen.
    pub fn finish(&self) {
        if let Some(moving) = &self.moving {
            for bar in moving.running().values() {
                bar.finish_and_clear();
            }
            moving.total.finish_and_clear();
        }
    }

    /// The line that is left of a change, if the event leaves one.
    fn line(&self, change: &Change, event: &Event) -> Option<String> {
        let on_terminal = self.moving.is_some();
        match event {
            Event::Started => None,
            // On a terminal the moving line has it.
            Event::Waiting(_) if on_terminal => None,
            Event::Waiting(reason) => Some(format!("waiting: {}: {}", called(change), escape(reason))),
            Event::Done(took) if on_terminal => Some(format!(
                "  {} {:width$}  {}",
                self.paint.green("✓"),
                truncate_str(&done(change), self.width, "…"),
                self.paint.dim(&tenths(*took)),
                width = self.width
            )),
            Event::Done(took) => Some(format!("{} {}", done(change), tenths(*took))),
            Event::Failed(fault) => {
                let mark = if on_terminal {
                    format!("  {} ", self.paint.red("✗"))
                } else {
                    String::new()
                };
                let fault = fault.to_string();
                Some(format!(
                    "{mark}failed to {} {}: {}",
                    change.action.as_str(),
                    called(change),
                    escape(&fault)
                ))
            }
        }
    }
}

impl Listener for Progress {
    fn event(&self, place: usize, change: &Change, event: Event) {
        if let Some(line) = self.line(change, &event) {
            say(&self.bars, &line);
        }
        if let Some(moving) = &self.moving {
            moving.event(&self.bars, place, change, &event);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.finish();
    }
}

impl Moving {
    fn event(&self, bars: &MultiProgress, place: usize, change: &Change, event: &Event) {
        let mut running = self.running();
        match event {
            Event::Started => {
                let bar = bars.insert_before(&self.total, ProgressBar::new_spinner());
                bar.set_style(style(RUNNING));
                bar.set_message(format!("{} {}", doing(change.action), called(change)));
                bar.enable_steady_tick(TICK);
                running.insert(place, bar);
            }
            Event::Waiting(reason) => {
                if let Some(bar) = running.get(&place) {
                    let what = format!("{} {}", doing(change.action), called(change));
                    bar.set_message(format!("{what}  waiting: {}", escape(reason)));
                }
            }
            Event::Done(_) | Event::Failed(_) => {
                if let Some(bar) = running.remove(&place) {
                    bar.finish_and_clear();
                }
                if matches!(event, Event::Done(_)) {
                    self.total.inc(1);
                }
            }
        }
    }

    fn running(&self) -> MutexGuard<'_, BTreeMap<usize, ProgressBar>> {
        // Every state of the map is a good one, so a panic elsewhere does not matter here.
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A style of ours. What is wrong with a template is wrong at every run, so the tests see it.
pub(super) fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template)
        .unwrap_or_else(|_| ProgressStyle::default_spinner())
        .with_key("since", |state: &ProgressState, w: &mut dyn std::fmt::Write| {
            let seconds = state.elapsed().as_secs();
            // What takes no time worth speaking of needs no clock.
            if seconds >= 2 {
                // A place that cannot be written to is a line without a clock.
                let _ = write!(w, " ({seconds} s)");
            }
        })
        .progress_chars("━━─")
}

fn called(change: &Change) -> String {
    format!("{} {}", kind(&change.id), escape(&name(&change.id)))
}

fn done(change: &Change) -> String {
    let done = match change.action {
        Action::Create => "created",
        Action::Update => "updated",
        Action::Replace => "replaced",
        Action::Delete => "deleted",
    };
    format!("{done} {}", called(change))
}

fn doing(action: Action) -> &'static str {
    match action {
        Action::Create => "creating",
        Action::Update => "updating",
        Action::Replace => "replacing",
        Action::Delete => "deleting",
    }
}

/// A short time: tenths of a second under a minute.
fn tenths(took: Duration) -> String {
    if took.as_secs() < 60 {
        format!("{:.1} s", took.as_secs_f64())
    } else {
        format!("{} s", took.as_secs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::inventory::Desired;
    use crate::model::options::HubOptions;
    use crate::ui::text::tests::{between, hub_world};

    fn first(plan: &Plan) -> &Change {
        &plan.changes[0]
    }

    #[test]
    fn without_a_terminal_every_event_that_matters_is_one_plain_line() {
        let hub = hub_world(HubOptions::default());
        let create = between(&Desired::default(), &hub);
        let delete = between(&hub, &Desired::default());
        let done = || Event::Done(Duration::from_millis(234));
        for (plan, event, line) in [
            (&create, Event::Started, None),
            (&create, done(), Some("created queue kibus-hub-dlq 0.2 s")),
            (&delete, done(), Some("deleted queue kibus-probe 0.2 s")),
            (
                &create,
                Event::Waiting("not\u{1b}yet".to_owned()),
                Some("waiting: queue kibus-hub-dlq: not\\u{1b}yet"),
            ),
        ] {
            let progress = Progress::new(MultiProgress::new(), Paint::default(), false, None, plan);
            assert_eq!(progress.line(first(plan), &event).as_deref(), line, "{event:?}");
        }
    }

    #[test]
    fn every_template_is_one() {
        for template in [TOTAL, RUNNING, SPINNER] {
            assert!(ProgressStyle::with_template(template).is_ok(), "{template}");
        }
    }

    #[test]
    fn times_are_short() {
        for (millis, shown) in [(0, "0.0 s"), (234, "0.2 s"), (59_900, "59.9 s"), (72_400, "72 s")] {
            assert_eq!(tenths(Duration::from_millis(millis)), shown);
        }
    }
}
