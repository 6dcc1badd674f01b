//! The script of `docs/pipelines.md`, as it is printed there, with a `kibus` that writes down how it was called.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use tempfile::TempDir;

/// Exits with what is in the file named by the profile and the command, and else with 0.
const KIBUS: &str = "#!/bin/sh\ncat > /dev/null\necho \"$KIBUS_PROFILE $KIBUS_REGION: $*\" >> calls\n\
    if [ -e \"$KIBUS_PROFILE-$1\" ]; then exit \"$(cat \"$KIBUS_PROFILE-$1\")\"; fi\n";

const PLAN: &[&str] = &["--dry-run", "--detailed-exitcode"];

const HUBS: &str = "production us-west-2 base tenant-1\nstaging eu-west-1 base\n";

/// The arguments of the script, what commands exit with, and what the script exits with.
type Row = (&'static [&'static str], &'static [(&'static str, u8)], i32);

#[test]
fn a_hub_that_fails_stops_no_other_and_decides_the_exit_code() {
    let page = include_str!("../docs/pipelines.md");
    let mut blocks = page.split("```bash\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let script = blocks.find(|block| block.starts_with("#!")).unwrap();

    let rows: [Row; 7] = [
        (&["--yes"], &[], 0),
        (&["--yes"], &[("production-bootstrap-hub", 1)], 1),
        (PLAN, &[("staging-add-cluster", 2)], 2),
        (PLAN, &[("production-bootstrap-hub", 2), ("staging-add-cluster", 4)], 1),
        (&["verify"], &[], 0),
        (&["verify"], &[("production-verify", 2)], 2),
        (&["verify"], &[("production-verify", 1), ("staging-verify", 2)], 1),
    ];
    for (arguments, codes, expected) in rows {
        let folder = TempDir::new().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        for (name, text) in [("hubs.sh", script), ("kibus", KIBUS), ("hubs.txt", HUBS)] {
            write(name, text);
            fs::set_permissions(folder.path().join(name), Permissions::from_mode(0o755)).unwrap();
        }
        for (name, code) in codes {
            write(name, &code.to_string());
        }
        let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap());
        let mut run = Command::new("bash");
        run.args(["hubs.sh", "hubs.txt"]).args(arguments).env("PATH", path).current_dir(folder.path());
        let output = run.output().unwrap();
        assert_eq!(output.status.code(), Some(expected), "{arguments:?} {codes:?}");

        let calls = fs::read_to_string(folder.path().join("calls")).unwrap();
        let joined = arguments.join(" ");
        let of_hub = |place: &str, clusters: &str| match arguments {
            ["verify"] => format!("{place}: verify\n"),
            _ => format!("{place}: bootstrap-hub {joined}\n{place}: add-cluster {clusters} {joined}\n"),
        };
        let expected = of_hub("production us-west-2", "base tenant-1") + &of_hub("staging eu-west-1", "base");
        assert_eq!(calls, expected, "{arguments:?} {codes:?}");
    }
}
