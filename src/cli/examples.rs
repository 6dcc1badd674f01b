//! Examples of every command, and the exit codes. Both `--help` and the manual pages show them.

use clap::Command;

/// What a command line does, and the command line.
pub(super) type Example = (&'static str, &'static str);

/// The exit codes of kibus, as the README has them.
pub(super) const EXIT_CODES: [(&str, &str); 7] = [
    ("0", "Done, nothing to do, or only warnings"),
    ("1", "Failed, or something could not be read (verify, --check)"),
    (
        "2",
        "Changes (--detailed-exitcode), findings (verify), or something missing (--check)",
    ),
    ("3", "Not confirmed; nothing was changed"),
    ("4", "Refused: not managed by kibus, or a check forbids the plan"),
    ("64", "Wrong usage or input"),
    ("130, 143", "Interrupted by Ctrl-C, or terminated by SIGTERM"),
];

/// For each command a line `[command]`, then for each example a line `# what it does` and the command line.
const EXAMPLES: &str = include_str!("examples.txt");

/// The examples of a command; none for a subcommand of another command.
pub(super) fn examples(command: &str) -> Vec<Example> {
    let heading = format!("[{command}]");
    let section = EXAMPLES.lines().skip_while(|line| *line != heading).skip(1);
    let mut lines = section.take_while(|line| !line.is_empty());
    let mut examples = Vec::new();
    while let (Some(about), Some(line)) = (lines.next(), lines.next()) {
        examples.push((about.trim_start_matches("# "), line));
    }
    examples
}

/// Adds examples and exit codes to the `--help` of every command.
pub(super) fn add_to_help(kibus: Command) -> Command {
    fn add(command: Command) -> Command {
        let after = after_help(&examples(command.get_name()));
        command.after_help(SHORT).after_long_help(after)
    }
    add(kibus).mut_subcommands(|command| add(command).mut_subcommands(add))
}

/// The end of `-h`.
const SHORT: &str = "Use --help for the global options, variables, examples and exit codes.";

fn after_help(examples: &[Example]) -> String {
    let mut text = String::new();
    if !examples.is_empty() {
        text.push_str("Examples:\n");
        for (about, command) in examples {
            text.push_str(&format!("  # {about}\n  {command}\n\n"));
        }
    }
    text.push_str("Exit codes:");
    for (code, meaning) in EXIT_CODES {
        text.push_str(&format!("\n  {code:<9} {meaning}"));
    }
    text
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::cli::Cli;
    use crate::error::ErrorKind;

    #[test]
    fn every_command_has_examples_that_parse() {
        for command in Cli::command()
            .get_subcommands()
            .filter(|command| !command.is_hide_set())
        {
            let examples = examples(command.get_name());
            assert!((2..=4).contains(&examples.len()), "{}", command.get_name());
            for (_, command) in examples {
                for kibus in command.split("kibus ").skip(1) {
                    let words = kibus.split_whitespace().take_while(|word| !"|>&&".contains(word));
                    let words = words.map(|word| word.trim_matches(['"', ')', '$', '(']));
                    let parsed = Cli::command().try_get_matches_from(std::iter::once("kibus").chain(words));
                    assert!(parsed.is_ok(), "`{command}`: {}", parsed.unwrap_err());
                }
            }
        }
    }

    #[test]
    fn the_readme_has_the_exit_codes_of_the_help() {
        let readme = include_str!("../../README.md").replace('`', "").to_lowercase();
        for (code, meaning) in EXIT_CODES {
            let row = format!("| {code} | {} |", meaning.to_lowercase());
            assert!(readme.contains(&row), "{row}");
        }
    }

    #[test]
    fn every_exit_code_is_listed() {
        use ErrorKind::{Differences, Failed, Interrupted, NotConfirmed, Refused, Terminated, Usage};
        let listed: Vec<u8> = EXIT_CODES
            .iter()
            .flat_map(|(codes, _)| codes.split(", "))
            .map(|code| code.parse().unwrap())
            .collect();
        let kinds = [
            Failed,
            Differences,
            NotConfirmed,
            Refused,
            Usage,
            Interrupted,
            Terminated,
        ];
        let expected: Vec<u8> = std::iter::once(0).chain(kinds.map(ErrorKind::exit_code)).collect();
        assert_eq!(listed, expected);
    }
}
