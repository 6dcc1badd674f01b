//! The streams for text: which is a terminal, and whether it has color.

use std::env;

use console::Term;

use super::Color;
use super::paint::Paint;
use super::text::Style;

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

    /// The style of text on it.
    pub(super) fn style(&self, verbose: u8) -> Style {
        Style {
            paint: self.paint,
            width: self.term.size_checked().map(|(_, columns)| columns.into()),
            verbose,
        }
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

    /// Whether output to a stream is colored. The flag comes first, then `NO_COLOR`, `CLICOLOR_FORCE`, and whether the
    /// stream is a terminal.
    pub(super) fn colors(self, flag: Color, terminal: bool) -> bool {
        match flag {
            Color::Always => true,
            Color::Never => false,
            Color::Auto if self.no_color => false,
            Color::Auto => self.force_color || (terminal && !self.dumb),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flag_then_variables_then_terminal_decide_on_color() {
        for (flag, environment, terminal, colors) in [
            (Color::Auto, "", true, true),
            (Color::Auto, "", false, false),
            (Color::Auto, "NO_COLOR=1", true, false),
            (Color::Auto, "NO_COLOR=", true, true),
            (Color::Auto, "CLICOLOR=0", true, false),
            (Color::Auto, "CLICOLOR_FORCE=1", false, true),
            (Color::Auto, "CLICOLOR_FORCE=0", false, false),
            (Color::Auto, "NO_COLOR=1 CLICOLOR_FORCE=1", false, false),
            (Color::Auto, "TERM=dumb", true, false),
            (Color::Always, "NO_COLOR=1", false, true),
            (Color::Never, "CLICOLOR_FORCE=1", true, false),
        ] {
            let variable = |name: &str| {
                environment
                    .split(' ')
                    .filter_map(|pair| pair.split_once('='))
                    .find(|(key, _)| *key == name)
                    .map(|(_, value)| value.to_owned())
            };
            let got = ColorVariables::of(variable).colors(flag, terminal);
            assert_eq!(got, colors, "{flag:?} with `{environment}`, terminal: {terminal}");
        }
    }
}
