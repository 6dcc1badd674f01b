//! The streams for text: whether each is a terminal, whether it has color, and what the user wants to read on it.

use std::env;
use std::io::{self, Write};

use console::Term;

use super::text::Style;
use crate::error::Error;

/// What to write to stdout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Output {
    /// Human-readable text.
    #[default]
    Text,
    /// One JSON document, described by docs/plan.schema.json.
    Json,
}

/// When to color text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Color {
    /// On a terminal, unless NO_COLOR is set; everywhere if CLICOLOR_FORCE is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// How much kibus writes besides results and errors, and whether it prompts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Talk {
    /// No progress, warnings or next steps.
    pub quiet: bool,
    /// No questions.
    pub no_input: bool,
    /// Several documents, one per line.
    pub is_stream: bool,
}

/// Stdout or stderr.
#[derive(Clone, Debug)]
pub(super) struct Stream {
    pub(super) term: Term,
    pub(super) paint: Paint,
}

impl Stream {
    pub(super) fn new(term: Term, flag: Color, variables: ColorVariables) -> Self {
        let paint = Paint::new(variables.colors(flag, term.is_term()));
        Self { term, paint }
    }

    pub(super) fn style(&self, verbose: u8) -> Style {
        Style { paint: self.paint, width: self.term.size_checked().map(|(_, columns)| columns.into()), verbose }
    }
}

/// The environment variables that affect color and progress lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ColorVariables {
    /// `NO_COLOR` is set (no-color.org), or `CLICOLOR` is `0`.
    pub(super) no_color: bool,
    /// `CLICOLOR_FORCE` is set and not `0` (bixense.com/clicolors).
    pub(super) force_color: bool,
    /// `TERM` is `dumb`: the terminal cannot move its cursor.
    pub(super) dumb: bool,
}

impl ColorVariables {
    pub(super) fn detect() -> Self {
        Self::of(|name| env::var_os(name).map(|value| value.to_string_lossy().into_owned()))
    }

    fn of(variable: impl Fn(&str) -> Option<String>) -> Self {
        let set = |name| variable(name).is_some_and(|value| !value.is_empty());
        let is = |name, other| variable(name).is_some_and(|value| value == other);
        Self {
            no_color: set("NO_COLOR") || is("CLICOLOR", "0"),
            force_color: set("CLICOLOR_FORCE") && !is("CLICOLOR_FORCE", "0"),
            dumb: is("TERM", "dumb"),
        }
    }

    /// Whether output to a stream is colored. The flag takes precedence, then `NO_COLOR`, `CLICOLOR_FORCE`, and whether
    /// the stream is a terminal.
    pub(super) fn colors(self, flag: Color, terminal: bool) -> bool {
        match flag {
            Color::Always => true,
            Color::Never => false,
            Color::Auto if self.no_color => false,
            Color::Auto => self.force_color || (terminal && !self.dumb),
        }
    }
}

/// Colors text, or returns it unchanged. Color only repeats what the text already says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Paint {
    on: bool,
}

impl Paint {
    pub(super) fn new(on: bool) -> Self {
        Self { on }
    }

    /// For additions and success.
    pub(super) fn green(self, text: &str) -> String {
        self.with(console::Style::new().green(), text)
    }

    /// For changes and warnings.
    pub(crate) fn yellow(self, text: &str) -> String {
        self.with(console::Style::new().yellow(), text)
    }

    /// For deletions and failures.
    pub(super) fn red(self, text: &str) -> String {
        self.with(console::Style::new().red(), text)
    }

    /// For titles and totals.
    pub(super) fn bold(self, text: &str) -> String {
        self.with(console::Style::new().bold(), text)
    }

    /// For unchanged and secondary text.
    pub(crate) fn dim(self, text: &str) -> String {
        self.with(console::Style::new().dim(), text)
    }

    pub(super) fn is_on(self) -> bool {
        self.on
    }

    fn with(self, style: console::Style, text: &str) -> String {
        if text.is_empty() {
            return String::new();
        }
        style.force_styling(self.on).apply_to(text).to_string()
    }
}

/// Writes text and a newline. Returns whether there is a reader. Closed output is not a failure.
pub(super) fn write_line(to: &mut impl Write, text: &str) -> Result<bool, Error> {
    match writeln!(to, "{text}").and_then(|()| to.flush()) {
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        written => written.map(|()| true).map_err(|e| not_written(&e)),
    }
}

/// The error of a failed write to stdout, like one to a full disk.
pub fn not_written(e: &io::Error) -> Error {
    Error::failed("cannot write to standard output")
        .note(e.to_string())
        .note("the output is incomplete; changes that were made stay in effect")
}

#[cfg(test)]
mod tests;
