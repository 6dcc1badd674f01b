//! Turns values and events into text, JSON, prompts and progress. It does not know AWS.
//!
//! Data goes to stdout, messages go to stderr: with `--output text`, a plan is data; with `--output json`, the document
//! is data, and the plan goes to stderr.

pub mod json;
mod progress;
mod prompt;
mod terminal;
pub mod text;

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use console::Term;
use indicatif::{MultiProgress, ProgressDrawTarget};

pub use json::{Body, HubReport, Report};
pub use progress::{PlanProgress, Spinner};
pub use terminal::{Color, Output, Paint, Talk, not_written};
pub use text::Table;

use crate::error::{Error, Hint};
use crate::model::Scope;
use crate::reconcile::Intent;
use terminal::{ColorVariables, Stream, write_line};
use text::Style;

/// The terminal or the pipeline that runs kibus. Methods that write to stdout fail if the write fails, for example on a
/// full disk. A closed pipe is not a failure: the command does its work, and its exit code shows the outcome.
#[derive(Clone, Debug)]
pub struct Ui {
    pub(crate) output: Output,
    pub(crate) quiet: bool,
    /// Whether a document is on one line.
    is_stream: bool,
    /// Why no one can answer a question, if that is the case.
    pub(crate) why_no_question: Option<&'static str>,
    pub(crate) verbose: u8,
    stdout: Stream,
    stderr: Stream,
    /// Whether stderr is a terminal that can move its cursor.
    moves: bool,
    bars: MultiProgress,
    /// Whether stdout no longer has a reader.
    is_closed: Arc<AtomicBool>,
    /// The warnings of a command with JSON output.
    warned: Arc<Mutex<Vec<Hint>>>,
}

impl Ui {
    /// Checks the three streams and the environment (`NO_COLOR`, `CLICOLOR`, `CLICOLOR_FORCE`, `TERM`).
    pub fn new(output: Output, color: Color, verbose: u8, talk: Talk) -> Self {
        let variables = ColorVariables::detect();
        let [stdout, stderr] = [Term::stdout(), Term::stderr()].map(|term| Stream::new(term, color, variables));
        let moves = stderr.term.is_term() && !variables.dumb;
        let target = if moves && !talk.quiet { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        Self {
            output,
            quiet: talk.quiet,
            is_stream: talk.is_stream,
            why_no_question: if talk.no_input {
                Some("`--no-input` prevents confirmation")
            } else if !(io::stdin().is_terminal() && stderr.term.is_term()) {
                Some("no terminal for confirmation")
            } else {
                None
            },
            verbose,
            stdout,
            stderr,
            moves,
            bars: MultiProgress::with_draw_target(target),
            is_closed: Arc::default(),
            warned: Arc::default(),
        }
    }

    /// Rejects JSON output for a command that writes text in its own format.
    pub fn only_text(&self) -> Result<(), Error> {
        match self.output {
            Output::Text => Ok(()),
            Output::Json => Err(Error::usage("this command has no JSON output")
                .hint("pass `--output text`, which overrides `KIBUS_OUTPUT`")),
        }
    }

    /// The style of text for [`Ui::result`].
    pub fn result_style(&self) -> Style {
        match self.output {
            Output::Text => self.stdout.style(self.verbose),
            Output::Json => self.stderr_style(),
        }
    }

    fn stderr_style(&self) -> Style {
        self.stderr.style(self.verbose)
    }

    /// Writes text and a newline to stdout.
    pub fn out(&self, text: &str) -> Result<(), Error> {
        let text = text::at_the_edge(text, self.stdout.paint.is_on());
        let is_read = self.bars.suspend(|| write_line(&mut io::stdout().lock(), &text))?;
        self.is_closed.fetch_or(!is_read, Ordering::Relaxed);
        Ok(())
    }

    /// Whether stdout no longer has a reader.
    pub fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Relaxed)
    }

    /// Writes a result in words to stdout; with JSON output, the document contains the result.
    pub fn result(&self, text: &str) -> Result<(), Error> {
        match self.output {
            Output::Text => self.out(text),
            Output::Json => Ok(()),
        }
    }

    /// Like [`Ui::result`], but folds the sentence at the width of the terminal.
    pub fn sentence(&self, text: &str) -> Result<(), Error> {
        self.result(&text::sentences(&text::escape(text), self.result_style()))
    }

    /// Writes the steps that are left to the user, unless output is quiet.
    pub fn next_steps(&self, steps: &[Hint]) -> Result<(), Error> {
        if steps.is_empty() || self.quiet {
            return Ok(());
        }
        let style = self.result_style();
        let steps: Vec<String> = steps.iter().map(text::hint).collect();
        self.result(&text::sentences(&steps.join("\n"), style))
    }

    /// Writes a line to stderr, above the progress lines. Errors of stderr are ignored.
    pub fn say(&self, text: &str) {
        let text = text::at_the_edge(text, self.stderr.paint.is_on());
        self.bars.suspend(|| {
            let _ = writeln!(io::stderr().lock(), "{text}");
        });
    }

    /// Writes a warning with its command to stderr. A JSON document contains its warnings.
    pub fn warn(&self, warning: &Hint) {
        if self.output == Output::Json {
            let mut warned = self.warned.lock().unwrap_or_else(PoisonError::into_inner);
            warned.push(warning.clone());
        } else if !self.quiet {
            self.say(&text::warning(warning, self.stderr_style()));
        }
    }

    /// The warnings that were not written, for the document.
    pub fn warnings(&self) -> Vec<Hint> {
        std::mem::take(&mut self.warned.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Writes a warning without a command to stderr.
    pub fn warn_text(&self, text: &str) {
        self.warn(&Hint::text(text));
    }

    /// Writes a note to stderr, folded at the width of the terminal, with one line per item, unless output is quiet.
    pub fn note(&self, text: &str, items: &[String]) {
        if !self.quiet {
            let items = items.iter().map(|item| format!("\n    {}", text::escape(item)));
            let text = format!("{}{}", text::escape(text), items.collect::<String>());
            self.say(&text::sentences(&text, self.stderr_style()));
        }
    }

    /// Writes warnings of an intent to stderr. The report of the intent also has them.
    pub fn warn_of(&self, warnings: &[Hint]) {
        if self.output == Output::Text {
            warnings.iter().for_each(|warning| self.warn(warning));
        }
    }

    /// Shows what a plan would change: on stdout or, with JSON output, on stderr if the user is asked for confirmation.
    pub fn show_plan(&self, scope: &Scope, intent: &Intent, asks: bool, dry_run: bool) -> Result<(), Error> {
        let asks = asks && self.why_no_question.is_none();
        let text = text::plan(scope, &intent.plan, &intent.clusters, asks || dry_run, self.result_style());
        match self.output {
            Output::Text => self.out(&text)?,
            Output::Json if asks => self.say(&text),
            Output::Json => {}
        }
        if asks && self.is_closed() {
            return Err(Error::failed("standard output is closed, so no one can read the plan; nothing was changed"));
        }
        Ok(())
    }

    /// Writes the report of a command as JSON, with JSON output. Every error is also shown, with [`Ui::show_error`].
    pub fn report(&self, report: &Report) -> Result<(), Error> {
        match self.output {
            Output::Text => Ok(()),
            // A document about a thousand clusters takes megabytes, so it is created only if it is written.
            Output::Json => self.out(&text::json_text(&report.to_json(), self.is_stream)),
        }
    }

    /// Shows an error on stderr.
    pub fn show_error(&self, error: &Error) {
        self.say(&text::error(error, self.stderr_style()));
    }

    /// Asks a question, while no operation is shown. Only `word` means yes or, if it is empty, `y` and `yes`.
    pub async fn confirm(&self, question: &str, word: &str) -> Result<bool, Error> {
        prompt::confirm(question, word).await
    }

    /// Writes the progress of a long operation to stderr. On a terminal, its live line shows it.
    pub fn slowed(&self, reason: &str) {
        if !self.moves {
            self.note(reason, &[]);
        }
    }

    /// Shows on a terminal that an operation is running, until the returned value is dropped.
    pub fn spinner(&self, text: &str) -> Spinner {
        Spinner::new(self, text)
    }
}
