//! Color. It repeats what the text already says.

use console::Style;

/// Colors text, or returns it unchanged.
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
        self.with(Style::new().green(), text)
    }

    /// For changes and warnings.
    pub(crate) fn yellow(self, text: &str) -> String {
        self.with(Style::new().yellow(), text)
    }

    /// For deletions and failures.
    pub(super) fn red(self, text: &str) -> String {
        self.with(Style::new().red(), text)
    }

    /// For titles and totals.
    pub(super) fn bold(self, text: &str) -> String {
        self.with(Style::new().bold(), text)
    }

    /// For unchanged and secondary text.
    pub(crate) fn dim(self, text: &str) -> String {
        self.with(Style::new().dim(), text)
    }

    /// Whether it colors.
    pub(super) fn is_on(self) -> bool {
        self.on
    }

    fn with(self, style: Style, text: &str) -> String {
        if text.is_empty() {
            return String::new();
        }
        style.force_styling(self.on).apply_to(text).to_string()
    }
}
