//! Commands for a person to copy.

/// A command for a person to copy.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Invocation {
    /// A kibus subcommand with its arguments. The command layer adds the global options that reach the same bus.
    Kibus(String),
    /// The same on another bus.
    KibusOnBus { arguments: String, bus: String },
    /// A complete command line.
    Shell(String),
}

impl Invocation {
    /// A kibus subcommand with its arguments, without global options: `add-cluster base`.
    pub fn kibus(arguments: impl Into<String>) -> Self {
        Self::Kibus(arguments.into())
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
                format!("kibus {arguments} --bus {bus}{others}")
            }
            Self::Shell(line) => line.clone(),
        }
    }
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
            bus: "two".to_owned(),
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
