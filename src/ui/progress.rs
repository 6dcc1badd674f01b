//! What happens while a plan runs: lines that move on a terminal, plain lines everywhere else.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressState, ProgressStyle};

use super::paint::Paint;
use super::say;
use super::text::{escape, kind, name};
use crate::apply::{Event, Listener};
use crate::plan::{Action, Change, Plan};

/// How often a moving line moves.
pub(super) const TICK: Duration = Duration::from_millis(100);

/// Tells a person on stderr what happens to each change of a plan.
#[derive(Debug)]
pub struct Progress {
    bars: MultiProgress,
    paint: Paint,
    /// The longest "created queue kibus-hub", so that the times after it align.
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
    pub(super) fn new(bars: MultiProgress, paint: Paint, terminal: bool, plan: &Plan) -> Self {
        let width = plan.changes.iter().map(|change| done(change).chars().count());
        let moving = terminal.then(|| {
            let total = bars.add(ProgressBar::new(plan.changes.len() as u64));
            total.set_style(style("  {bar:24} {pos} of {len}"));
            total.tick();
            Moving {
                running: Mutex::default(),
                total,
            }
        });
        Self {
            bars,
            paint,
            width: width.max().unwrap_or(0).min(80),
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
                done(change),
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
                bar.set_style(style("  {spinner} {msg}{since}"));
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
