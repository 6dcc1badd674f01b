//! Finds a Python that can run the emulator.

use std::path::Path;

use super::error::SandboxError;
use super::isolated::isolated;

/// The major and minor version of the oldest Python that the emulator runs on.
const OLDEST: (u32, u32) = (3, 10);

/// The program names to try, in this order. A plain `python3` may be older than a numbered one.
const PROGRAMS: [&str; 6] = [
    "python3",
    "python3.14",
    "python3.13",
    "python3.12",
    "python3.11",
    "python3.10",
];

/// Prints the version, then checks for the modules of virtual environments: Debian packages `ensurepip` separately.
const CHECK: &str =
    "import sys; print('%d.%d' % sys.version_info[:2], flush=True); import venv, ensurepip; print('venv')";

/// Whether a program can run the emulator.
#[derive(Debug, PartialEq, Eq)]
enum Suitability {
    /// It can.
    Good,
    /// It is older than [`OLDEST`].
    Old(String),
    /// It cannot create virtual environments.
    NoVenv(String),
    /// It is missing, broken, or not Python.
    NotPython,
}

/// Returns the first program in `PATH` that can run the emulator. The programs run in `directory`.
///
/// # Errors
/// [`SandboxError::NoVenv`], [`SandboxError::OldPython`] or [`SandboxError::NoPython`], the first of them that applies.
pub(super) async fn find(directory: &Path) -> Result<&'static str, SandboxError> {
    find_among(&PROGRAMS, directory).await
}

async fn find_among<'a>(programs: &[&'a str], directory: &Path) -> Result<&'a str, SandboxError> {
    let mut old = None;
    let mut no_venv = None;
    for &program in programs {
        match check(program, directory).await {
            Suitability::Good => return Ok(program),
            Suitability::Old(version) => old = old.or(Some((program.to_owned(), version))),
            Suitability::NoVenv(version) => no_venv = no_venv.or(Some((program.to_owned(), version))),
            Suitability::NotPython => {}
        }
    }
    Err(match (no_venv, old) {
        (Some((program, version)), _) => SandboxError::NoVenv { program, version },
        (None, Some((program, version))) => SandboxError::OldPython { program, version },
        (None, None) => SandboxError::NoPython,
    })
}

async fn check(program: &str, directory: &Path) -> Suitability {
    let mut command = isolated(Path::new(program), directory);
    match command.args(["-c", CHECK]).output().await {
        Ok(output) => parse_check(&String::from_utf8_lossy(&output.stdout)),
        Err(_) => Suitability::NotPython,
    }
}

fn parse_check(output: &str) -> Suitability {
    let mut lines = output.lines().map(str::trim);
    let text = lines.next().unwrap_or_default();
    match parse_version(text) {
        None => Suitability::NotPython,
        Some(version) if version < OLDEST => Suitability::Old(text.to_owned()),
        Some(_) if lines.next() == Some("venv") => Suitability::Good,
        Some(_) => Suitability::NoVenv(text.to_owned()),
    }
}

fn parse_version(text: &str) -> Option<(u32, u32)> {
    let (major, minor) = text.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_output_of_the_check_is_parsed() {
        let table = [
            ("3.10\nvenv\n", Suitability::Good),
            ("3.14\nvenv\n", Suitability::Good),
            ("3.11\r\nvenv\r\n", Suitability::Good),
            ("4.0\nvenv\n", Suitability::Good),
            ("3.9\nvenv\n", Suitability::Old("3.9".to_owned())),
            ("3.9\n", Suitability::Old("3.9".to_owned())),
            ("2.7\nvenv\n", Suitability::Old("2.7".to_owned())),
            ("3.12\n", Suitability::NoVenv("3.12".to_owned())),
            ("3\nvenv\n", Suitability::NotPython),
            ("3.x\nvenv\n", Suitability::NotPython),
            ("pyenv: python3.12: command not found", Suitability::NotPython),
            ("", Suitability::NotPython),
        ];
        for (output, answer) in table {
            assert_eq!(parse_check(output), answer, "{output:?}");
        }
    }

    /// A cloned repository may hold a `python3`, and a version manager may follow a file of the current directory.
    #[tokio::test]
    async fn a_python_is_tried_in_our_directory_and_without_credentials() {
        use std::os::unix::fs::PermissionsExt;

        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("python");
        // Cargo sets this variable for tests. It stands for any that is not passed on.
        let script = "#!/bin/sh\n[ -z \"$CARGO_MANIFEST_DIR\" ] && printf '3.12\\nvenv\\n'\n";
        std::fs::write(&path, script).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
        assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
        assert_eq!(check("./python", dir.path()).await, Suitability::Good);
        let elsewhere = tempfile::tempdir().unwrap();
        assert_eq!(check("./python", elsewhere.path()).await, Suitability::NotPython);
    }

    #[tokio::test]
    async fn the_first_suitable_python_is_used_or_the_best_reason_reported() {
        use std::os::unix::fs::PermissionsExt;

        let dir = tempfile::tempdir().unwrap();
        let script = |name: &str, output: &str| {
            let path = dir.path().join(name);
            std::fs::write(&path, format!("#!/bin/sh\nprintf '{output}'\n")).unwrap();
            std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
            path.to_str().unwrap().to_owned()
        };
        let good = script("good", "3.12\\nvenv\\n");
        let other = script("other", "3.14\\nvenv\\n");
        let old = script("old", "3.9\\nvenv\\n");
        let bare = script("bare", "3.11\\n");
        let absent = dir.path().join("absent").to_str().unwrap().to_owned();
        let table: [(&[&str], Result<&str, SandboxError>); 6] = [
            (&[&good, &other], Ok(&good)),
            (&[&absent, &old, &bare, &other], Ok(&other)),
            (
                &[&absent, &old, &bare],
                Err(SandboxError::NoVenv {
                    program: bare.clone(),
                    version: "3.11".to_owned(),
                }),
            ),
            (
                &[&old, &absent],
                Err(SandboxError::OldPython {
                    program: old.clone(),
                    version: "3.9".to_owned(),
                }),
            ),
            (&[&absent], Err(SandboxError::NoPython)),
            (&[], Err(SandboxError::NoPython)),
        ];
        for (programs, expected) in table {
            let found = find_among(programs, dir.path()).await.map_err(|p| p.to_string());
            assert_eq!(found, expected.map_err(|p| p.to_string()), "{programs:?}");
        }
    }
}
