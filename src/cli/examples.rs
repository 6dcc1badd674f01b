//! Examples of every command, and the exit codes. Both `--help` and the manual pages show them.

use clap::Command;

/// What a command line does, and the command line.
pub(super) type Example = (&'static str, &'static str);

/// The exit codes of kibus.
pub(super) const EXIT_CODES: [(&str, &str); 7] = [
    ("0", "Done, or nothing to do"),
    ("1", "Failed; for verify also: something could not be read"),
    ("2", "verify: findings; --dry-run --detailed-exitcode: changes"),
    ("3", "Not confirmed; nothing was changed"),
    ("4", "Refused: not managed by kibus, or a check failed"),
    ("64", "Wrong usage or input"),
    ("130, 143", "Interrupted by Ctrl-C, or terminated by SIGTERM"),
];

/// The examples of a command; none for a subcommand of another command.
pub(super) fn examples(command: &str) -> &'static [Example] {
    match command {
        "kibus" => &[
            ("Create the hub of this account and Region", "kibus bootstrap-hub"),
            ("Register two clusters", "kibus add-cluster base tenant-1"),
            ("Check the hub and all clusters", "kibus verify"),
        ],
        "bootstrap-hub" => &[
            (
                "Show the plan for a hub and change nothing",
                "kibus bootstrap-hub --dry-run",
            ),
            ("Create or update the hub", "kibus bootstrap-hub"),
            (
                "Encrypt the queues with a KMS key",
                "kibus bootstrap-hub --kms-key arn:aws:kms:us-west-2:111122223333:key/1234abcd",
            ),
            (
                "In a pipeline, fail with exit code 2 if the hub is not up to date",
                "kibus bootstrap-hub --dry-run --detailed-exitcode",
            ),
        ],
        "add-cluster" => &[
            ("Register two clusters", "kibus add-cluster base tenant-1"),
            (
                "Register a cluster whose controller role has an unusual name",
                "kibus add-cluster base --controller-role base-karpenter",
            ),
            (
                "Do not change IAM; print the statement that the controller role needs",
                "kibus add-cluster base --no-controller-role",
            ),
            (
                "Print the Helm values for this version of Karpenter",
                "kibus add-cluster base --karpenter-version 1.8.1",
            ),
        ],
        "remove-cluster" => &[
            ("Show what would be deleted", "kibus remove-cluster tenant-1 --dry-run"),
            (
                "Remove two clusters without confirmation",
                "kibus remove-cluster tenant-1 tenant-2 --yes",
            ),
        ],
        "verify" => &[
            ("Check the hub and all clusters", "kibus verify"),
            ("Check the hub and one cluster", "kibus verify base"),
            ("Send a probe through the bus", "kibus verify --probe"),
            ("Write the findings as JSON", "kibus verify --output json"),
        ],
        "status" => &[
            ("Show the hub, its queues and its clusters", "kibus status"),
            ("Show the hub of another Region", "kibus status --region eu-west-1"),
            ("Write the status as JSON", "kibus status --output json"),
        ],
        "dead-letters" => &[
            ("Show the events that reached no cluster", "kibus dead-letters"),
            ("Route them again through the router", "kibus dead-letters --redrive"),
            ("Delete what is shown", "kibus dead-letters --purge"),
        ],
        "teardown" => &[
            ("Show what would be deleted", "kibus teardown --dry-run"),
            ("Delete the bus `blue` with its clusters", "kibus teardown --bus blue"),
        ],
        "rollback" => &[
            ("Show the previous version of the router", "kibus rollback --dry-run"),
            ("Roll back to the previous version", "kibus rollback"),
            ("Roll back to version 3 of the function", "kibus rollback 3"),
        ],
        "list" => &[
            ("List the buses and clusters in this account and Region", "kibus list"),
            ("Write the list as JSON", "kibus list --output json"),
        ],
        "policy" => &[
            ("Print the IAM policy of an operator", "kibus policy operator"),
            (
                "Print the IAM policy of a pipeline that only verifies",
                "kibus policy operator --read-only",
            ),
            ("Print the IAM policy of a controller", "kibus policy controller base"),
            (
                "Save the policy of the router",
                "kibus policy router > router-policy.json",
            ),
        ],
        "explain" => &[
            ("Explain a finding", "kibus explain K206"),
            ("Read the explanation page by page", "kibus explain K512 | less"),
        ],
        "sandbox" => &[
            ("Run the demo", "kibus sandbox demo"),
            (
                "Start the sandbox and create a hub in it",
                "kibus sandbox up && kibus bootstrap-hub --sandbox",
            ),
            ("Point AWS tools at the sandbox", "eval \"$(kibus sandbox env)\""),
            ("Stop the sandbox and delete everything in it", "kibus sandbox down"),
        ],
        "completions" => &[
            (
                "Complete commands in this bash session",
                "source <(kibus completions bash)",
            ),
            (
                "Install completion for fish",
                "kibus completions fish > ~/.config/fish/completions/kibus.fish",
            ),
        ],
        "man" => &[
            ("Read the manual page of a command", "kibus man add-cluster | man -l -"),
            ("Write all manual pages to a directory", "kibus man --directory ./man1"),
        ],
        "version" => &[
            ("Print version, commit and target", "kibus version"),
            ("Print them as JSON", "kibus version --output json"),
        ],
        _ => &[],
    }
}

/// Adds examples and exit codes to the `--help` of every command.
pub(super) fn add_to_help(kibus: Command) -> Command {
    fn add(command: Command) -> Command {
        let after = after_help(examples(command.get_name()));
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
