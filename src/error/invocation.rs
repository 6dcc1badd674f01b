//! Commands for a person to copy.

/// A command for a person to copy.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Invocation {
    /// A kibus subcommand with its arguments. The command layer adds the global options that reach the same bus.
    Kibus(String),
    /// The same on another bus, or on none: about all of them.
    KibusOnBus { arguments: String, bus: Option<String> },
    /// Calls of the AWS CLI, which reach the account that kibus reaches.
    Aws(Vec<String>),
    /// A complete command line.
    Shell(String),
}

impl Invocation {
    /// A kibus subcommand with its arguments, without global options: `add-cluster base`.
    pub fn kibus(arguments: impl Into<String>) -> Self {
        Self::Kibus(arguments.into())
    }

    /// A call of the AWS CLI: `sqs tag-queue --queue-url URL`.
    pub fn aws(call: impl Into<String>) -> Self {
        Self::Aws(vec![call.into()])
    }

    /// The command line, with the global options that a kibus command needs to reach the same bus; `options` is empty
    /// or begins with a space.
    pub fn line(&self, options: &str) -> String {
        match self {
            Self::Kibus(arguments) => format!("kibus {arguments}{options}"),
            Self::KibusOnBus { arguments, bus } => {
                // The bus is the first of the options.
                let others = match options.strip_prefix(" --bus ") {
                    Some(rest) => rest.find(' ').map_or("", |end| &rest[end..]),
                    None => options,
                };
                let bus = bus.as_ref().map_or_else(String::new, |bus| format!(" --bus {bus}"));
                format!("kibus {arguments}{bus}{others}")
            }
            Self::Aws(calls) => {
                let lines: Vec<String> = calls.iter().map(|call| aws_line(call, options)).collect();
                lines.join("\n")
            }
            Self::Shell(line) => line.clone(),
        }
    }
}

/// A call of the AWS CLI with the profile and the endpoint among these options of kibus, which are the last of them. The
/// variables of the sandbox are set for the call alone, so that it reaches nothing else if the sandbox is not running.
fn aws_line(call: &str, options: &str) -> String {
    if options.ends_with(" --sandbox") {
        return format!(
            r#"(env=$(kibus sandbox env) && eval "$env" && aws {call} --endpoint-url "$AWS_ENDPOINT_URL")"#
        );
    }
    let shared = [" --profile ", " --endpoint-url "].iter();
    let shared = shared.filter_map(|option| options.find(option)).min();
    format!("aws {call}{}", shared.map_or("", |at| &options[at..]))
}

impl<T: Into<String>> From<T> for Invocation {
    fn from(line: T) -> Self {
        Self::Shell(line.into())
    }
}

/// A word, quoted for a shell if needed.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=/.:,@+%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
pub(crate) mod tests {
    use std::path::Path;
    use std::process::Command;

    use proptest::prelude::*;

    use super::*;

    /// The words of a command line, split by a shell. Every command in it only prints its words.
    pub(crate) fn shell_words(line: &str) -> Vec<String> {
        let script = format!(
            "for program in kibus aws; do eval \"$program() {{ printf '%s\\0' $program \\\"\\$@\\\"; }}\"; done\n{line}"
        );
        let output = Command::new("sh").args(["-c", &script]).env_clear().output().unwrap();
        assert!(
            output.status.success() && output.stderr.is_empty(),
            "{line}: {output:?}"
        );
        let words = String::from_utf8(output.stdout).unwrap();
        words.split_terminator('\0').map(str::to_owned).collect()
    }

    #[test]
    fn a_command_on_another_bus_names_only_that_bus() {
        let command = Invocation::KibusOnBus {
            arguments: "remove-cluster base".to_owned(),
            bus: Some("two".to_owned()),
        };
        for (options, line) in [
            ("", "kibus remove-cluster base --bus two"),
            (
                " --region eu-west-1",
                "kibus remove-cluster base --bus two --region eu-west-1",
            ),
            (" --bus one", "kibus remove-cluster base --bus two"),
            (
                " --bus one --profile p",
                "kibus remove-cluster base --bus two --profile p",
            ),
        ] {
            assert_eq!(command.line(options), line);
            let of_all = Invocation::KibusOnBus {
                arguments: "list".to_owned(),
                bus: None,
            };
            let others = line.strip_prefix("kibus remove-cluster base --bus two").unwrap();
            assert_eq!(of_all.line(options), format!("kibus list{others}"));
        }
    }

    #[test]
    fn a_call_of_the_aws_cli_reaches_the_account_of_kibus() {
        let command = Invocation::Aws(vec!["sts a".to_owned(), "sts b".to_owned()]);
        for (options, line) in [
            ("", "aws sts a\naws sts b"),
            (" --bus two --region eu-west-1", "aws sts a\naws sts b"),
            (
                " --bus two --profile 'a b'",
                "aws sts a --profile 'a b'\naws sts b --profile 'a b'",
            ),
            (
                " --region eu-west-1 --profile p --endpoint-url http://[::1]:1",
                "aws sts a --profile p --endpoint-url http://[::1]:1\naws sts b --profile p --endpoint-url http://[::1]:1",
            ),
        ] {
            assert_eq!(command.line(options), line);
        }
    }

    /// In a shell whose `kibus` prints the variables of the sandbox, or fails because the sandbox is not running.
    #[test]
    fn a_call_for_the_sandbox_reaches_nothing_else() {
        let line = Invocation::aws("sts a").line(" --region eu-west-1 --sandbox");
        for (kibus, reached) in [
            (
                "echo export AWS_ENDPOINT_URL=http://here",
                "sts a --endpoint-url http://here",
            ),
            ("return 1", ""),
        ] {
            let script = format!("aws() {{ echo \"$@\"; }}\nkibus() {{ {kibus}; }}\n{line}");
            let output = Command::new("sh").args(["-c", &script]).env_clear().output().unwrap();
            assert_eq!(
                String::from_utf8(output.stdout).unwrap().trim_end(),
                reached,
                "{script}"
            );
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(50))]

        #[test]
        fn a_shell_reads_quoted_words_as_they_were(words in prop::collection::vec(any::<String>(), 1..20)) {
            let words: Vec<String> = words.iter().map(|word| word.replace('\0', "$(kibus)`kibus`\"'\\;&|~*")).collect();
            let line: Vec<String> = words.iter().map(|word| quoted(word)).collect();
            prop_assert_eq!(&shell_words(&format!("kibus {}", line.join(" ")))[1..], &words[..]);
        }
    }

    /// A command that reaches a bus is an [`Invocation`], which [`Invocation::line`] completes; no other text spells one.
    #[test]
    fn only_an_invocation_prints_a_command_about_a_bus() {
        let commands =
            "add-cluster bootstrap-hub dead-letters list policy remove-cluster rollback status teardown verify";
        let mut directories = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
        let mut found = Vec::new();
        while let Some(directory) = directories.pop() {
            for path in std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()) {
                let name = path.file_name().unwrap().to_str().unwrap();
                match path.extension() {
                    None if name != "tests" => directories.push(path),
                    Some(kind) if kind == "rs" && !["tests.rs", "hostile.rs"].contains(&name) => {
                        let text = std::fs::read_to_string(&path).unwrap();
                        let code = text
                            .split("#[cfg(test)]\nmod ")
                            .next()
                            .unwrap()
                            .split("#[cfg(test)]\npub(crate) mod");
                        let lines = code.take(1).flat_map(str::lines).map(str::trim);
                        let lines = lines.filter(|line| !line.starts_with("//"));
                        let spells = |line: &&str| {
                            let mut commands = commands.split(' ');
                            commands.any(|command| line.contains(&format!("kibus {command}")))
                        };
                        found.extend(lines.filter(spells).map(str::to_owned));
                    }
                    _ => {}
                }
            }
        }
        // It needs no bus.
        let sentence = "no finding has this code; codes are like K203, and `kibus verify` prints them";
        found.retain(|line| !line.contains(sentence));
        assert_eq!(found, Vec::<String>::new());
    }
}
