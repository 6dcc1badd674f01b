//! The wheels of a release, which hold the binaries of its archives.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use super::files::Release;
use super::{output, text};

/// The wheels of a release by name.
fn wheels(release: &Release) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(release.folder()).unwrap().map(|entry| entry.unwrap().path());
    let wheels = entries.filter(|path| path.extension().is_some_and(|kind| kind == "whl"));
    wheels.map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), fs::read(path).unwrap())).collect()
}

#[test]
fn pip_installs_the_binary_of_this_platform() {
    let release = Release::new();
    let script = release.package.path(".ci/wheel/build");
    output(&Command::new(&script).arg(release.folder()).output().unwrap());
    let first = wheels(&release);
    let names: Vec<_> = first.keys().map(String::as_str).collect();
    let expected = [
        "kibus-1.2.3-py3-none-macosx_11_0_arm64.whl",
        "kibus-1.2.3-py3-none-macosx_11_0_x86_64.whl",
        "kibus-1.2.3-py3-none-manylinux2014_aarch64.manylinux_2_17_aarch64.whl",
        "kibus-1.2.3-py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64.whl",
    ];
    assert_eq!(names, expected);

    let environment = release.package.path("environment");
    output(&Command::new("python3").args(["-m", "venv"]).arg(&environment).output().unwrap());
    let mut pip = Command::new(environment.join("bin/pip"));
    pip.args(["install", "--no-index", "--find-links"]).arg(release.folder()).arg("kibus");
    output(&pip.output().unwrap());
    let program = environment.join("bin/kibus");
    assert_eq!(output(&Command::new(&program).output().unwrap()), "kibus 1.2.3\n");
    assert!(fs::read_to_string(program).unwrap().contains(env!("KIBUS_TARGET")));

    // Another user may have another file mode creation mask.
    let mut again = Command::new("sh");
    again.args(["-c", "umask 077 && exec \"$0\" \"$1\""]).arg(&script).arg(release.folder());
    output(&again.output().unwrap());
    assert!(wheels(&release) == first, "the second build has other bytes");
}

#[test]
fn without_archives_there_are_no_wheels() {
    let release = Release::new();
    release.package.replace("Cargo.toml", "1.2.3", "1.2.4");
    let mut build = release.package.command(".ci/wheel/build");
    let refused = build.arg(release.folder()).output().unwrap();
    assert_eq!(refused.status.code(), Some(1));
    let message = text(&refused.stderr);
    assert!(message.contains("has no archive of kibus 1.2.4"), "{message}");
}
