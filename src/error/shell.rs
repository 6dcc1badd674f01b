//! Words of a shell.

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

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(50))]

        #[test]
        fn a_shell_reads_quoted_words_as_they_were(words in prop::collection::vec(any::<String>(), 1..20)) {
            let words: Vec<String> = words.iter().map(|word| word.replace('\0', "$(kibus)`kibus`\"'\\;&|~*")).collect();
            let line: Vec<String> = words.iter().map(|word| quoted(word)).collect();
            prop_assert_eq!(&shell_words(&format!("kibus {}", line.join(" ")))[1..], &words[..]);
        }
    }

    /// A command that reaches a bus is made by its scope, with the global options; no other text spells one.
    #[test]
    fn only_a_scope_makes_a_command_about_a_bus() {
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
