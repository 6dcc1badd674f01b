//! A terminal that moving lines never fill to the edge.

use std::io;

use console::Term;
use indicatif::TermLike;

/// What a terminal writes when someone presses Ctrl-C: `^C`. Moving lines end with the cursor at their right edge;
/// without room for this, it would break the last one, and all of them would be one line off from then on.
const ECHO: u16 = 2;

/// Stderr, a little narrower than it is.
#[derive(Debug)]
pub(super) struct Margin(Term);

impl Margin {
    /// Stderr.
    pub(super) fn stderr() -> Self {
        Self(Term::stderr())
    }
}

impl TermLike for Margin {
    fn width(&self) -> u16 {
        self.0.size().1.saturating_sub(ECHO + 1).max(1)
    }

    fn height(&self) -> u16 {
        self.0.size().0
    }

    fn move_cursor_up(&self, n: usize) -> io::Result<()> {
        self.0.move_cursor_up(n)
    }

    fn move_cursor_down(&self, n: usize) -> io::Result<()> {
        self.0.move_cursor_down(n)
    }

    fn move_cursor_right(&self, n: usize) -> io::Result<()> {
        self.0.move_cursor_right(n)
    }

    fn move_cursor_left(&self, n: usize) -> io::Result<()> {
        self.0.move_cursor_left(n)
    }

    fn write_line(&self, s: &str) -> io::Result<()> {
        self.0.write_line(s)
    }

    fn write_str(&self, s: &str) -> io::Result<()> {
        self.0.write_str(s)
    }

    fn clear_line(&self) -> io::Result<()> {
        self.0.clear_line()
    }

    fn flush(&self) -> io::Result<()> {
        self.0.flush()
    }
}
