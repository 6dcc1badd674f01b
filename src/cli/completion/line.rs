//! The command line to complete.

use std::ffi::OsString;

/// What stands in for the word to complete where the whole line is parsed: a valid name of a cluster and of a bus.
const UNFINISHED: &str = "x";

/// The words of a command line, and which of them is to be completed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    /// The words, the name of the program first.
    words: Vec<String>,
    /// The index of the word to complete.
    pub(super) index: usize,
    /// How many bytes of that word bash has as words of their own.
    pub(super) divided: usize,
}

impl Line {
    /// A line whose last word is to be completed, or the word with this index. A shell may leave out an empty last word.
    pub(super) fn new(mut words: Vec<String>, index: Option<usize>) -> Self {
        let index = index.unwrap_or(words.len().saturating_sub(1));
        if words.len() <= index {
            words.push(String::new());
        }
        Self {
            index: index.min(words.len() - 1),
            words,
            divided: 0,
        }
    }

    /// A line of bash, which divides words at `=` and `:`; they are joined again.
    pub(super) fn of_bash(parts: &[String], index: Option<usize>) -> Self {
        let is_break = |part: &str| !part.is_empty() && part.chars().all(|c| "=:".contains(c));
        let mut line = Self::new(Vec::new(), None);
        line.words.clear();
        let mut before = "";
        for (at, part) in parts.iter().enumerate() {
            let joined = match line.words.last_mut() {
                Some(word) if is_break(part) || is_break(before) => {
                    let divided = word.len();
                    word.push_str(part);
                    divided
                }
                _ => {
                    line.words.push(part.clone());
                    0
                }
            };
            if index.is_none_or(|index| at <= index) {
                line.index = line.words.len() - 1;
                line.divided = joined;
            }
            before = part;
        }
        Self {
            divided: line.divided,
            ..Self::new(line.words, Some(line.index))
        }
    }

    /// The words, for clap.
    pub(super) fn os_words(&self) -> Vec<OsString> {
        self.words.iter().map(OsString::from).collect()
    }

    /// The word to complete.
    pub(super) fn current(&self) -> &str {
        &self.words[self.index]
    }

    /// Whether this is one of the other words. The program may have the name of a bus.
    pub(super) fn contains(&self, value: &str) -> bool {
        let mut words = self.words.iter().enumerate().skip(1);
        words.any(|(at, word)| at != self.index && word == value)
    }

    /// The words, with a valid value in place of the one to complete.
    pub(super) fn finished(&self) -> Vec<String> {
        let mut words = self.words.clone();
        words[self.index] = match self.current().split_once('=') {
            Some((option, _)) => format!("{option}={UNFINISHED}"),
            None => UNFINISHED.to_owned(),
        };
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bash_divides_words() {
        for (parts, index, words, completed, divided) in [
            ("kibus|status|te", 2, "kibus|status|te", 2, 0),
            ("kibus|status||--bus|a", 2, "kibus|status||--bus|a", 2, 0),
            ("kibus|--region|=|us-w", 3, "kibus|--region=us-w", 1, 9),
            (
                "kibus|--region|=|us-west-2|list|",
                5,
                "kibus|--region=us-west-2|list|",
                3,
                0,
            ),
            // Bash gives an empty word after `=`.
            ("kibus|--region|", 2, "kibus|--region|", 2, 0),
            (
                "kibus|--endpoint-url|http|:|//127.0.0.1|:|4566|status|t",
                8,
                "kibus|--endpoint-url|http://127.0.0.1:4566|status|t",
                4,
                0,
            ),
            (
                "kibus|status|t|--endpoint-url|=|http|:|//a",
                2,
                "kibus|status|t|--endpoint-url=http://a",
                2,
                0,
            ),
        ] {
            let parts_of = |text: &str| text.split('|').map(str::to_owned).collect::<Vec<_>>();
            let line = Line::of_bash(&parts_of(parts), Some(index));
            assert_eq!(
                (line.words.join("|").as_str(), line.index, line.divided),
                (words, completed, divided)
            );
        }
    }

    #[test]
    fn a_shell_may_leave_out_an_empty_word() {
        let words = || vec!["kibus".to_owned(), "status".to_owned()];
        for (index, current) in [(None, "status"), (Some(1), "status"), (Some(2), ""), (Some(9), "")] {
            assert_eq!(Line::new(words(), index).current(), current, "{index:?}");
        }
        assert_eq!(Line::new(Vec::new(), None).current(), "");
    }

    #[test]
    fn a_finished_line_can_be_parsed() {
        for (line, finished) in [
            (
                "kibus status te --region us-west-2",
                "kibus status x --region us-west-2",
            ),
            (
                "kibus status --bus=te --region us-west-2",
                "kibus status --bus=x --region us-west-2",
            ),
        ] {
            let line = Line::new(line.split(' ').map(str::to_owned).collect(), Some(2));
            assert_eq!(line.finished().join(" "), finished);
        }
    }
}
