//! The sandbox as a user runs it: until Ctrl-C, on a machine with other users.

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::{Child, Command, ExitStatus, Output, Stdio};

use tempfile::TempDir;

use crate::support::emulator::sandbox;

/// A sandbox home, with the emulator that all tests share.
struct Home(TempDir);

/// A running `kibus sandbox up`.
struct Up {
    process: Child,
    /// Its output.
    line: String,
}

impl Home {
    async fn new() -> Self {
        let directory = TempDir::new().unwrap();
        let python = sandbox().install(&|_| {}).await.unwrap();
        let emulator = python.ancestors().nth(2).unwrap();
        symlink(emulator, directory.path().join(emulator.file_name().unwrap())).unwrap();
        Self(directory)
    }

    fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kibus"));
        command.args(line.split(' ')).env("KIBUS_SANDBOX_HOME", self.0.path()).stdin(Stdio::null());
        command
    }

    /// Runs a command. Returns its exit code and its output.
    fn run(&self, line: &str) -> (Option<i32>, String, String) {
        let Output { status, stdout, stderr } = self.command(line).output().unwrap();
        let [out, err] = [stdout, stderr].map(|text| String::from_utf8(text).unwrap());
        (status.code(), out, err)
    }

    /// The stdout of a command that succeeds.
    fn kibus(&self, line: &str) -> String {
        let (code, out, err) = self.run(line);
        assert_eq!(code, Some(0), "{line}\n{out}{err}");
        out
    }

    fn up(&self) -> Up {
        let mut process = self.command("sandbox up").stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        Up { process, line }
    }

    fn record(&self) -> std::path::PathBuf {
        self.0.path().join("server.json")
    }
}

impl Up {
    /// Ends it with a signal. Returns what else it wrote, and how it ended.
    fn end(mut self, signal: &str) -> (String, ExitStatus) {
        let kill = Command::new("kill").args(["-s", signal, &self.process.id().to_string()]).status();
        assert!(kill.unwrap().success());
        let mut rest = String::new();
        self.process.stdout.as_mut().unwrap().read_to_string(&mut rest).unwrap();
        (rest, self.process.wait().unwrap())
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The command that a text prints after this line.
fn after<'a>(text: &'a str, line: &str) -> &'a str {
    let mut lines = text.lines().skip_while(|other| !other.ends_with(line)).skip(1);
    lines.next().and_then(|command| command.trim().strip_prefix("kibus ")).unwrap()
}

/// What a new user would type, and what a script would do.
#[tokio::test]
async fn the_printed_steps_work_until_the_sandbox_is_stopped() {
    let home = Home::new().await;
    let up = home.up();
    let record = fs::metadata(home.record()).unwrap();
    assert_eq!(record.permissions().mode() & 0o777, 0o600);
    let (code, _, refused) = home.run("sandbox up");
    assert_eq!(code, Some(1));
    assert!(refused.starts_with("error: the sandbox is already running at http://127.0.0.1:"), "{refused}");

    let hub = home.kibus("bootstrap-hub --reader-alarms --sandbox --yes");
    let add = after(&hub, "Next:");
    assert_eq!(add, "add-cluster NAME --sandbox");
    let added = home.kibus(&format!("{} --yes", add.replace("NAME", "base")));
    assert!(added.contains("Created 4 in"), "{added}");
    assert_eq!(home.kibus("verify --sandbox"), "No findings. Hub kibus and 1 cluster are up to date.\n");
    let script = home.kibus("sandbox env");
    assert!(script.contains("export AWS_ENDPOINT_URL=http://127.0.0.1:"), "{script}");

    let sent = home.kibus("sandbox send spot base");
    let id = sent.split(' ').find(|word| word.starts_with("i-")).unwrap().trim_end_matches(',');
    assert_eq!(
        sent,
        format!("Sent EC2 Spot Instance Interruption Warning about {id}, a new Spot instance of cluster base.\n")
    );
    let again = home.kibus(&format!("sandbox send state {id}"));
    assert_eq!(again, format!("Sent EC2 Instance State-change Notification about {id}.\n"));
    let (code, _, unknown) = home.run("sandbox send spot i-0123456789abcdef0");
    let expected = "error: instance `i-0123456789abcdef0` does not exist in us-west-2 of the sandbox";
    assert!(code == Some(1) && unknown.starts_with(expected), "{unknown}");
    let (code, _, unknown) = home.run("sandbox send spots base");
    assert!(code == Some(64) && unknown.contains("invalid value 'spots' for '<SIGNAL>'"), "{unknown}");

    assert!(up.line.starts_with("The sandbox is running at http://127.0.0.1:"), "{}", up.line);
    let (rest, status) = up.end("INT");
    assert_eq!((rest.as_str(), status.code()), ("", Some(130)));
    assert!(!home.record().exists());
    for line in ["sandbox env", "status --sandbox", "sandbox send spot base"] {
        let (code, out, err) = home.run(line);
        assert_eq!((code, out.as_str()), (Some(1), ""), "{line}: {err}");
        assert!(err.starts_with("error: the sandbox is not running\n"), "{line}: {err}");
    }
}

#[test]
fn an_old_python_is_named_before_anything_is_installed() {
    let home = Home(TempDir::new().unwrap());
    let python = home.0.path().join("python3");
    fs::write(&python, "#!/bin/sh\necho 3.8 >&2\nexit 1\n").unwrap();
    fs::set_permissions(&python, Permissions::from_mode(0o755)).unwrap();
    let output = home.command("sandbox up").env("PATH", home.0.path()).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    let expected = "error: the sandbox needs Python 3.10 or newer; the first `python3` in PATH is 3.8\n";
    assert!(output.status.code() == Some(1) && said.starts_with(expected), "{said}");
    let install =
        if cfg!(target_os = "macos") { "brew install python3" } else { "apt-get install python3 python3-venv" };
    assert!(said.contains(install), "{said}");
}

#[tokio::test]
async fn a_script_waits_for_the_sandbox_and_ends_it() {
    let home = Home::new().await;
    let script = "set -e; kibus=$1; \"$kibus\" sandbox up >/dev/null & server=$!
        until env=$(\"$kibus\" sandbox env 2>/dev/null); do kill -0 $server; sleep 0.2; done
        eval \"$env\"; \"$kibus\" list; kill $server; wait $server";
    let mut sh = Command::new("sh");
    sh.args(["-c", script, "sh", env!("CARGO_BIN_EXE_kibus")]).env("KIBUS_SANDBOX_HOME", home.0.path());
    let output = sh.output().unwrap();
    assert_eq!(output.status.code(), Some(143), "{output:?}");
    assert!(!home.record().exists());
}

#[tokio::test]
async fn a_killed_sandbox_is_recognized_and_replaced_unless_others_can_write_its_record() {
    let home = Home::new().await;
    home.up().end("KILL");
    assert!(home.record().exists());
    let (code, _, err) = home.run("list --sandbox");
    assert!(
        code == Some(1) && err.starts_with("error: the sandbox is not running: its last server was killed"),
        "{err}"
    );
    // Another user could have written it.
    fs::set_permissions(home.record(), Permissions::from_mode(0o606)).unwrap();
    for line in ["sandbox env", "sandbox send spot base", "status --sandbox", "sandbox up"] {
        let (code, out, err) = home.run(line);
        assert_eq!((code, out.as_str()), (Some(1), ""), "{line}: {err}");
        assert!(err.starts_with("error: other users have access to `"), "{line}: {err}");
    }
    fs::set_permissions(home.record(), Permissions::from_mode(0o600)).unwrap();
    let up = home.up();
    home.kibus("list --sandbox");
    up.end("TERM");
}
