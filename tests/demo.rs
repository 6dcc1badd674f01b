//! The demo of the sandbox, whole. It checks each of its results itself.

use std::process::{Command, Stdio};

#[test]
fn every_result_of_the_demo_is_as_expected() {
    let output = Command::new(env!("CARGO_BIN_EXE_kibus"))
        .args(["sandbox", "demo"])
        .env("AWS_EC2_METADATA_DISABLED", "true")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let shown = String::from_utf8_lossy(&output.stdout);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{shown}\n{said}");
    assert!(shown.contains("0 lost, 0 misrouted"), "{shown}");
}
