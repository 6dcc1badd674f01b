//! The version of a release is the same in its tag, in `Cargo.toml` and in the changelog.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::{Package, ROOT, output, text};

const CHANGELOG: &str = "# Changelog\n\n## [Unreleased]\n\n## [1.2.3] - 2026-01-31\n\nIntroduction.\n\n### Added\n\n- New.\n\n\
    ## [1.2.2] - 2026-01-01\n\n- Old.\n";

fn package() -> Package {
    let package = Package::new();
    fs::write(package.path("CHANGELOG.md"), CHANGELOG).unwrap();
    fs::write(package.path("docs/upgrading.md"), "| from | to 1.2.3 |\n").unwrap();
    package
}

#[test]
fn the_version_of_kibus_is_documented() {
    output(&Command::new(Path::new(ROOT).join(".ci/check-version")).output().unwrap());
}

#[test]
fn the_section_of_the_tag_is_printed() {
    let printed = package().command(".ci/check-version").arg("v1.2.3").output().unwrap();
    assert_eq!(output(&printed).trim_end(), "Introduction.\n\n### Added\n\n- New.");
}

#[test]
fn entries_may_wait_for_the_next_version_until_there_is_a_tag() {
    let package = package();
    package.replace("CHANGELOG.md", "[Unreleased]\n", "[Unreleased]\n\n- Next.\n");
    output(&package.command(".ci/check-version").output().unwrap());
}

#[test]
fn a_version_that_is_not_ready_is_refused() {
    for (file, from, to, tag, expected) in [
        ("Cargo.toml", "1.2.3", "1.2.3", "v1.2.4", "the tag is `v1.2.4`"),
        ("Cargo.toml", "1.2.3", "1.2.3", "1.2.3", "whose tag is `v1.2.3`"),
        ("Cargo.toml", "1.2.3", "1.2.3", "", "the tag is ``"),
        ("Cargo.toml", "1.2.3", "1.2.4", "v1.2.4", "has no section [1.2.4]"),
        ("Cargo.toml", "repository", "homepage", "v1.2.3", "has no `repository`"),
        ("Cargo.toml", "example", "someone", "v1.2.3", "https://github.com/example/kibus"),
        ("CHANGELOG.md", "2026-01-31", "soon", "v1.2.3", "has no section [1.2.3] with a date"),
        ("CHANGELOG.md", "[1.2.3]", "[1x2.3]", "v1.2.3", "has no section [1.2.3]"),
        ("CHANGELOG.md", "[Unreleased]", "[Next]", "v1.2.3", "no section [Unreleased]"),
        ("CHANGELOG.md", "[Unreleased]", "[Unreleased]\n- Next.", "v1.2.3", "under [Unreleased]"),
        ("CHANGELOG.md", "Introduction.\n\n### Added\n\n- New.", "", "v1.2.3", "[1.2.3] of CHANGELOG.md is empty"),
        ("docs/upgrading.md", "1.2.3", "1.2.2", "v1.2.3", "docs/upgrading.md"),
    ] {
        let package = package();
        package.replace(file, from, to);
        let mut command = package.command(".ci/check-version");
        let refused = command.env("GITHUB_REPOSITORY", "example/kibus").arg(tag).output().unwrap();
        let message = text(&refused.stderr);
        assert_eq!((refused.status.code(), text(&refused.stdout).as_str()), (Some(1), ""), "{expected}: {message}");
        assert!(message.starts_with("check-version: ") && message.contains(expected), "{expected}: {message}");
    }
}
