//! Colour, which only underlines what the text already says.

use console::Style;

/// Paints text, or leaves it as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Paint {
    on: bool,
}

impl Paint {
    /// With colour, or without.
    #[must_use]
    pub fn new(on: bool) -> Self {
        Self { on }
    }

    /// What is added, or went well.
    #[must_use]
    pub fn green(self, text: &str) -> String {
        self.with(Style::new().green(), text)
    }

    /// What changes, or deserves a look.
    #[must_use]
    pub fn yellow(self, text: &str) -> String {
        self.with(Style::new().yellow(), text)
    }

    /// What goes, or went wrong.
    #[must_use]
    pub fn red(self, text: &str) -> String {
        self.with(Style::new().red(), text)
    }

    /// What the eye should find first.
    #[must_use]
    pub fn bold(self, text: &str) -> String {
        self.with(Style::new().bold(), text)
    }

    /// What stays as it is, or only helps to read.
    #[must_use]
    pub fn dim(self, text: &str) -> String {
        self.with(Style::new().dim(), text)
    }

    fn with(self, style: Style, text: &str) -> String {
        if text.is_empty() {
            return String::new();
        }
        style.force_styling(self.on).apply_to(text).to_string()
    }
}
