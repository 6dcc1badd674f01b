//! The sandbox on a machine with other users, and in a directory with any content.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use kibus::sandbox::Sandbox;
use tempfile::TempDir;

/// The home of a sandbox with the record of a process that stands for the server.
struct Home {
    directory: TempDir,
    server: Child,
}

impl Home {
    fn new() -> Self {
        let mark = "0123456789abcdef";
        let server = Command::new("/bin/sh")
            .args(["-c", "read wait; :", &format!("kibus-sandbox={mark}")])
            .stdin(Stdio::piped())
            .process_group(0)
            .spawn()
            .unwrap();
        let record = serde_json::json!({
            "pid": server.id(), "port": 1, "started": 0, "mark": mark, "secret": "0123456789abcdef0123456789abcdef",
        });
        let directory = TempDir::new().unwrap();
        let home = Self { directory, server };
        fs::write(home.record(), record.to_string()).unwrap();
        home.open_record(0o600);
        home
    }

    fn record(&self) -> std::path::PathBuf {
        self.directory.path().join("server.json")
    }

    fn open_record(&self, mode: u32) {
        fs::set_permissions(self.record(), Permissions::from_mode(mode)).unwrap();
    }

    /// Runs kibus in this directory, where it finds its programs too.
    fn kibus(&self, directory: &Path, line: &str) -> Output {
        Command::new(env!("CARGO_BIN_EXE_kibus"))
            .args(line.split(' '))
            .env_clear()
            .env("KIBUS_SANDBOX_HOME", self.directory.path())
            .env("PATH", ".")
            .current_dir(directory)
            .stdin(Stdio::null())
            .output()
            .unwrap()
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

#[test]
fn no_command_uses_a_record_that_others_could_have_written() {
    let (home, directory) = (Home::new(), TempDir::new().unwrap());
    let run = |line: &str| {
        let output = home.kibus(directory.path(), line);
        let [out, err] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
        (output.status.code(), out, err)
    };
    // The record alone is accepted: its server only does not respond.
    let (code, out, err) = run("sandbox status");
    assert!(code == Some(0) && out.contains("does not respond"), "{out}{err}");
    home.open_record(0o606);
    for line in ["sandbox env", "sandbox status", "sandbox up", "sandbox down", "status --sandbox"] {
        let (code, out, err) = run(line);
        assert_eq!((code, out.as_str()), (Some(1), ""), "{line}: {err}");
        let reason = format!("error: other users have access to `{}`", home.record().display());
        assert!(err.starts_with(&reason), "{line}: {err}");
    }
}

/// A cloned repository may hold any program, and `PATH` the current directory.
#[test]
fn stopping_the_server_runs_no_program_of_the_current_directory() {
    let (mut home, directory) = (Home::new(), TempDir::new().unwrap());
    for program in ["sh", "kill", "ps"] {
        let path = directory.path().join(program);
        fs::write(&path, "#!/bin/sh\n: > ran\n").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
    }
    let output = home.kibus(directory.path(), "sandbox down");
    let ran = directory.path().join("ran").exists();
    assert!(output.status.success() && !ran, "ran: {ran}, {output:?}");
    assert!(!home.server.wait().unwrap().success(), "ended by the signal");
}

/// A sandbox of its own, with the emulator that the user's has installed.
struct Private(TempDir);

impl Private {
    fn new() -> Self {
        let directory = TempDir::new().unwrap();
        let log = Sandbox::open().unwrap().log_path();
        let home = log.ancestors().nth(2).unwrap();
        for entry in fs::read_dir(home).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with("emulator-") {
                symlink(entry.path(), directory.path().join(entry.file_name())).unwrap();
            }
        }
        Self(directory)
    }

    fn kibus(&self, line: &str) -> (String, String) {
        let output = Command::new(env!("CARGO_BIN_EXE_kibus"))
            .args(line.split(' '))
            .env("KIBUS_SANDBOX_HOME", self.0.path())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let [out, err] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
        assert!(output.status.success(), "{line}\n{out}{err}");
        (out, err)
    }
}

impl Drop for Private {
    fn drop(&mut self) {
        self.kibus("sandbox down");
    }
}

/// The command that a text prints after this line.
fn after<'a>(text: &'a str, line: &str) -> &'a str {
    let mut lines = text.lines().skip_while(|other| !other.ends_with(line)).skip(1);
    lines.next().and_then(|command| command.trim().strip_prefix("kibus ")).unwrap()
}

/// What a new user would type: each step is the one that the step before prints.
#[test]
fn the_printed_steps_work_in_the_sandbox() {
    let sandbox = Private::new();
    let (up, _) = sandbox.kibus("sandbox up");
    sandbox.kibus("bootstrap-hub --check --sandbox");
    let (hub, _) = sandbox.kibus(&format!("{} --yes", after(&up, "Next:")));
    let add = after(&hub, "Next:");
    assert_eq!(add, "add-cluster NAME --no-controller-role --no-eks-check --sandbox");
    let (added, _) = sandbox.kibus(&format!("{} --yes", add.replace("NAME", "base")));
    assert!(added.contains("Created 2 in"), "{added}");
    let (verified, _) = sandbox.kibus("verify --sandbox");
    assert_eq!(verified, "No findings. Hub kibus and 1 cluster are up to date.\n");
    let (script, said) = sandbox.kibus("sandbox env");
    assert!(script.contains("export AWS_ENDPOINT_URL=http://127.0.0.1:"), "{script}");
    assert!(said.contains("In version 1, `aws sqs` also needs --endpoint-url"), "{said}");
}
