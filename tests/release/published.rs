//! What is published is what was built again and what ran.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;

use super::files::{Release, TARGETS, sum};
use super::{ROOT, output, text};

/// A release whose archives and wheels ran, with their sums by name.
fn built() -> (Release, BTreeMap<String, String>) {
    let release = Release::new();
    for tag in [
        "macosx_11_0_arm64",
        "macosx_11_0_x86_64",
        "manylinux2014_aarch64.manylinux_2_17_aarch64",
        "manylinux2014_x86_64.manylinux_2_17_x86_64",
    ] {
        fs::write(release.folder().join(format!("kibus-1.2.3-py3-none-{tag}.whl")), tag).unwrap();
    }
    let entries = fs::read_dir(release.folder()).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let ran = paths.filter(|path| path.extension().is_none_or(|kind| kind != "sha256"));
    let sums = ran.map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), sum(&path)));
    let sums = sums.collect();
    (release, sums)
}

fn lines(sums: &BTreeMap<String, String>) -> String {
    sums.iter().map(|(file, sum)| format!("{sum}  {file}\n")).collect()
}

#[test]
fn only_the_files_that_ran_and_were_built_again_are_published() {
    type Change = fn(&Release, &mut BTreeMap<String, String>, &mut BTreeMap<String, String>);
    const ARCHIVE: &str = "kibus-1.2.3-x86_64-unknown-linux-gnu.tar.gz";
    const MAC: &str = "kibus-1.2.3-py3-none-macosx_11_0_arm64.whl";
    let cases: [(&str, Change, Option<&str>); 8] = [
        ("the same files", |_, _, _| {}, None),
        (
            "an archive was replaced, with its sum",
            |release, _, _| release.pack("aarch64-unknown-linux-gnu", "kibus", "other"),
            Some("`kibus-1.2.3-aarch64-unknown-linux-gnu.tar.gz` is not the file that ran"),
        ),
        (
            "a wheel was replaced",
            |release, _, _| fs::write(release.folder().join(MAC), "other").unwrap(),
            Some("`kibus-1.2.3-py3-none-macosx_11_0_arm64.whl` is not the file that ran"),
        ),
        (
            "a sum was replaced",
            |release, _, _| fs::write(release.folder().join(format!("{ARCHIVE}.sha256")), "other").unwrap(),
            Some("has another sum than its archive"),
        ),
        (
            "a file was added",
            |release, _, _| fs::write(release.folder().join("kibus.rb"), "other").unwrap(),
            Some("`kibus.rb` is not of a build"),
        ),
        (
            "a file was left out",
            |release, _, _| fs::remove_file(release.folder().join(MAC)).unwrap(),
            Some("`kibus-1.2.3-py3-none-macosx_11_0_arm64.whl` is missing"),
        ),
        (
            "a file did not run",
            |_, played, _| drop(played.remove(MAC)),
            Some("`kibus-1.2.3-py3-none-macosx_11_0_arm64.whl` is not the file that ran"),
        ),
        (
            "the second build wrote other bytes",
            |_, _, rebuilt| drop(rebuilt.insert(ARCHIVE.to_owned(), "0".repeat(64))),
            Some("`kibus-1.2.3-x86_64-unknown-linux-gnu.tar.gz` is not the file of the second build"),
        ),
    ];
    for (name, change, refused) in cases {
        let (release, mut played) = built();
        let mut rebuilt = played.clone();
        rebuilt.retain(|file, _| file.contains("x86_64") && file.contains("linux"));
        assert_eq!((played.len(), rebuilt.len()), (2 * TARGETS.len(), 2));
        change(&release, &mut played, &mut rebuilt);
        let mut check = release.package.command(".ci/release-check");
        let check = check.arg(release.folder()).env("PLAYED", lines(&played));
        let checked = check.env("REBUILT", lines(&rebuilt)).output().unwrap();
        let message = text(&checked.stderr);
        match refused {
            None => assert_eq!(output(&checked), "", "{name}"),
            Some(refused) => assert!(!checked.status.success() && message.contains(refused), "{name}: {message}"),
        }
    }
}

fn workflow() -> Value {
    let text = fs::read_to_string(Path::new(ROOT).join(".github/workflows/release.yml")).unwrap();
    serde_yaml::from_str(&text).unwrap()
}

/// The place of the first step of a job that has this text.
fn place(job: &Value, text: &str) -> usize {
    let steps = job["steps"].as_array().unwrap();
    let found = steps.iter().position(|step| step.to_string().contains(text));
    found.unwrap_or_else(|| panic!("no step has {text}"))
}

#[test]
fn the_job_that_publishes_compares_first() {
    let workflow = workflow();
    let jobs = &workflow["jobs"];
    let publish = &jobs["publish"];
    let check = place(publish, ".ci/release-check files");
    let built = place(publish, "built-*");
    assert!(built < check && check < place(publish, "actions/attest@") && check < place(publish, "gh release create"));
    // Nothing is put to the checked files but the SBOM and what the script of the repository writes.
    for step in &publish["steps"].as_array().unwrap()[check + 1..] {
        let path = &step["with"]["path"];
        assert!(!step.to_string().contains("download-artifact") || (path != "files" && path.is_string()), "{step}");
    }
    let sums = publish["steps"][check]["env"].to_string();
    for (job, outputs) in [
        ("rebuild", &["sums"][..]),
        ("demo", &["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"]),
        ("start", &["x86_64-apple-darwin", "aarch64-apple-darwin"]),
    ] {
        assert!(publish["needs"].as_array().unwrap().contains(&job.into()), "{job}");
        for output in outputs {
            assert!(sums.contains(&format!("${{{{ needs.{job}.outputs.{output} }}}}")), "{job} {output}");
            let value = format!("${{{{ steps.sums.outputs.{output} }}}}");
            assert_eq!(jobs[job]["outputs"][output], value, "{job}");
        }
        let writes = if job == "rebuild" { "sums<<END" } else { "$TARGET<<END" };
        let taken = place(&jobs[job], writes);
        if job != "rebuild" {
            assert!(taken < place(&jobs[job], "./kibus"), "{job} runs something before it takes the sums");
        }
    }
    assert!(place(&jobs["pypi"], "needs.publish.outputs.sums") < place(&jobs["pypi"], "uv publish"));
}

/// A program of others that a job installs could change its files.
#[test]
fn no_job_with_files_of_the_release_installs_programs_of_others() {
    let workflow = workflow();
    for (name, job) in workflow["jobs"].as_object().unwrap() {
        let steps = job["steps"].to_string();
        let installs = steps.contains("cargo install");
        assert_eq!(installs, name == "sbom", "{name}");
        assert!(!installs || !steps.contains("download-artifact"), "{name}");
    }
}
