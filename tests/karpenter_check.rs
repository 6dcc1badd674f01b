//! `.ci/karpenter-check`, on a repository with releases that this test makes, and the workflow that runs it each week.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

const MESSAGES: &str = "pkg/controllers/interruption/messages";
const TEMPLATE: &str = "website/content/en/preview/getting-started/getting-started-with-karpenter/cloudformation.yaml";

/// What the script looks for, in the places where Karpenter has it.
const SOURCES: &[(&str, &str)] = &[
    ("pkg/controllers/interruption/messages/types.go", "package messages\n\nconst SpotKind = \"spot\"\n"),
    ("pkg/controllers/interruption/messages/suite_test.go", "package messages_test\n"),
    (
        "pkg/utils/utils.go",
        "package utils\n\nfunc GetTags(name string) map[string]string {\n\treturn nil\n}\n\nfunc Other() {}\n",
    ),
    (
        "pkg/apis/v1/labels.go",
        "package v1\n\nconst (\n\tEKSClusterNameTagKey = \"eks:eks-cluster-name\"\n\tZone = \"a\"\n)\n",
    ),
    (
        "charts/karpenter/values.yaml",
        "settings:\n  # -- The interruption queue.\n  interruptionQueue: \"\"\n  clusterName: \"\"\n",
    ),
    (
        "charts/karpenter/templates/deployment.yaml",
        "{{- with .Values.settings.interruptionQueue }}\n- name: INTERRUPTION_QUEUE\n",
    ),
    (
        TEMPLATE,
        "Resources:\n  NodeRole:\n    Type: AWS::IAM::Role\n  SpotRule:\n    Type: 'AWS::Events::Rule'\n    Pattern: spot\n  Queue:\n    Type: AWS::SQS::Queue\n",
    ),
];

/// A repository of Karpenter, and its record.
struct Repository(TempDir);

impl Repository {
    /// With the releases v1.3.5 and v1.4.2 on record.
    fn recorded() -> Self {
        let repository = Self(TempDir::new().unwrap());
        repository.git(&["init", "--quiet"]);
        for (path, text) in SOURCES {
            repository.write(path, text);
        }
        repository.release("v1.3.5");
        repository.release("v1.4.2");
        assert!(repository.check(&["--record"]).status.success());
        repository
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn replace(&self, path: &str, old: &str, new: &str) {
        let text = fs::read_to_string(self.path(path)).unwrap();
        assert!(text.contains(old), "{path} has no {old}");
        self.write(path, &text.replace(old, new));
    }

    fn git(&self, arguments: &[&str]) {
        let who = ["-c", "user.name=test", "-c", "user.email=test@example.com", "-c", "commit.gpgsign=false"];
        let command = Command::new("git").current_dir(self.0.path()).args(who).args(arguments).output();
        let output = command.unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    fn release(&self, tag: &str) {
        self.git(&["add", "pkg", "charts", "website"]);
        self.git(&["commit", "--quiet", "--allow-empty", "--message", tag]);
        self.git(&["tag", "--no-sign", tag]);
    }

    fn check(&self, arguments: &[&str]) -> Output {
        let path = std::env::var("PATH").unwrap();
        let path = format!("{}:{path}", self.path("bin").display());
        let mut command = Command::new("python3");
        command.arg(Path::new(ROOT).join(".ci/karpenter-check")).arg(self.0.path());
        command.arg("--file").arg(self.path("record.json")).args(arguments);
        command.env("PATH", path).current_dir(self.0.path()).output().unwrap()
    }

    /// The first line of each report: a release, and the parts that changed.
    fn reported(&self) -> Vec<String> {
        let output = self.check(&[]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let shown = String::from_utf8(output.stdout).unwrap();
        let titles = shown.lines().filter(|line| line.starts_with("Karpenter v"));
        titles.map(str::to_owned).collect()
    }
}

/// What a release changes, in words and as a change, and the parts that are reported.
type Row<'a> = (&'a str, &'a dyn Fn(&Repository), Option<&'a str>);

#[test]
fn a_release_is_reported_if_it_changes_what_kibus_rests_on() {
    let parser = format!("{MESSAGES}/newkind/parser.go");
    let rows: &[Row] = &[
        ("nothing", &|_| (), None),
        ("a new message", &|repository| repository.write(&parser, "package newkind\n"), Some("messages")),
        ("a test", &|repository| repository.write(&format!("{MESSAGES}/suite_test.go"), "package changed\n"), None),
        (
            "a comment",
            &|repository| {
                repository.replace(&format!("{MESSAGES}/types.go"), "package", "/* License */\n// Doc.\npackage")
            },
            None,
        ),
        ("alignment", &|repository| repository.replace("pkg/apis/v1/labels.go", "TagKey =", "TagKey       ="), None),
        (
            "a tag",
            &|repository| repository.replace("pkg/apis/v1/labels.go", "eks-cluster-name", "cluster"),
            Some("instance tags"),
        ),
        (
            "the function of the tags",
            &|repository| repository.replace("pkg/utils/utils.go", "return nil", "return map[string]string{}"),
            Some("instance tags"),
        ),
        (
            "another function beside it",
            &|repository| repository.replace("pkg/utils/utils.go", "Other() {}", "Other() { panic(1) }"),
            None,
        ),
        (
            "the function of the tags in a file that is not known",
            &|repository| repository.replace("pkg/utils/utils.go", "GetTags", "gatherTags"),
            Some("instance tags"),
        ),
        (
            "the value of the chart",
            &|repository| {
                repository.replace("charts/karpenter/values.yaml", "interruptionQueue", "interruptionQueueName")
            },
            Some("chart"),
        ),
        (
            "another value of the chart",
            &|repository| repository.replace("charts/karpenter/values.yaml", "clusterName", "cluster"),
            None,
        ),
        (
            "a rule",
            &|repository| repository.replace(TEMPLATE, "Pattern: spot", "Pattern: none"),
            Some("CloudFormation"),
        ),
        ("a role", &|repository| repository.replace(TEMPLATE, "AWS::IAM::Role", "AWS::IAM::Role\n    Path: /"), None),
        (
            "the template and a message",
            &|repository| {
                repository.replace(TEMPLATE, "AWS::SQS::Queue", "AWS::SQS::Queue\n    Retention: 60");
                repository.write(&parser, "package newkind\n");
            },
            Some("messages, CloudFormation"),
        ),
    ];
    for (name, change, parts) in rows {
        let repository = Repository::recorded();
        change(&repository);
        repository.release("v1.4.3");
        let expected = parts.map(|parts| format!("Karpenter v1.4.3 changed: {parts}"));
        assert_eq!(repository.reported(), Vec::from_iter(expected), "{name}");
    }
}

#[test]
fn each_new_release_is_compared_with_the_one_before_it() {
    let repository = Repository::recorded();
    let kind = |text: &str| repository.write(&format!("{MESSAGES}/types.go"), text);
    // Each release, with a text of its own, and whether it is reported.
    let rows = [
        ("v1.2.9", "older line", false),
        ("v1.4.1", "before the record", false),
        ("v1.5.0-rc.1", "no release", false),
        ("helm-v9.9.9", "no release", false),
        ("v1.3.6", "changed", true),
        ("v1.4.3", "changed", true),
        ("v1.10.0", "changed", false),
        ("v1.10.1", "changed again", true),
    ];
    for (tag, text, _) in rows {
        kind(text);
        repository.release(tag);
    }
    let expected = rows.iter().filter(|(.., reported)| *reported);
    let expected: Vec<_> = expected.map(|(tag, ..)| format!("Karpenter {tag} changed: messages")).collect();
    assert_eq!(repository.reported(), expected);

    assert!(repository.check(&["--record"]).status.success());
    assert_eq!(repository.reported(), Vec::<String>::new(), "all are on record now");
}

#[test]
fn an_issue_names_what_changed_and_is_opened_once() {
    let repository = Repository::recorded();
    repository.replace(TEMPLATE, "Pattern: spot", "Pattern: none");
    repository.release("v1.5.0");
    // Issues are a file with titles.
    let gh = "#!/bin/sh\ncase \"$2\" in\n\
        list) printf '['; sed -e 's/.*/{\"title\": \"&\"}/' -e '$!s/$/,/' titles; printf ']';;\n\
        create) printf '%s\\n' \"$4\" >> titles; cat >> bodies;;\nesac\n";
    repository.write("bin/gh", gh);
    fs::set_permissions(repository.path("bin/gh"), Permissions::from_mode(0o755)).unwrap();
    repository.write("titles", "Karpenter v1.5.0\n");

    for run in 1..=2 {
        let output = repository.check(&["--issues"]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let titles = fs::read_to_string(repository.path("titles")).unwrap();
        assert_eq!(titles, "Karpenter v1.5.0\nKarpenter v1.5.0 changed: CloudFormation\n", "run {run}");
    }
    let body = fs::read_to_string(repository.path("bodies")).unwrap();
    for part in ["between v1.4.2 and v1.5.0", "-    Pattern: spot\n+    Pattern: none", "docs/karpenter.md"] {
        assert!(body.contains(part), "no {part} in:\n{body}");
    }
}

#[test]
fn a_record_that_is_not_of_this_repository_is_refused() {
    let repository = Repository::recorded();
    let record = fs::read_to_string(repository.path("record.json")).unwrap();
    let mut record: Value = serde_json::from_str(&record).unwrap();
    record["v1.4.2"]["chart"] = "0".repeat(64).into();
    repository.write("record.json", &record.to_string());
    repository.release("v1.4.3");
    let output = repository.check(&["--issues"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("the record differs from v1.4.2") && said.contains("chart"), "{said}");
}

#[test]
fn nothing_is_recorded_while_a_part_is_not_found() {
    let repository = Repository::recorded();
    let before = fs::read_to_string(repository.path("record.json")).unwrap();
    repository.git(&["rm", "--quiet", "-r", MESSAGES]);
    repository.release("v1.5.0");
    let output = repository.check(&["--record"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("not found in v1.5.0: messages"), "{said}");
    assert_eq!(fs::read_to_string(repository.path("record.json")).unwrap(), before);
}

/// The page names the newest release whose source was read.
#[test]
fn the_page_and_the_record_are_of_the_same_release() {
    let record = fs::read_to_string(Path::new(ROOT).join(".ci/karpenter.json")).unwrap();
    let record: Value = serde_json::from_str(&record).unwrap();
    let number = |tag: &str| -> Vec<u32> { tag[1..].split('.').map(|part| part.parse().unwrap()).collect() };
    let newest = record.as_object().unwrap().keys().max_by_key(|tag| number(tag)).unwrap();
    let page = fs::read_to_string(Path::new(ROOT).join("docs/karpenter.md")).unwrap();
    let expected = format!("The source was read up to {newest}");
    assert!(page.contains(&expected), "docs/karpenter.md should say: {expected}");
}

#[test]
fn the_workflow_runs_weekly_and_may_only_read_and_write_issues() {
    let text = fs::read_to_string(Path::new(ROOT).join(".github/workflows/karpenter.yml")).unwrap();
    let workflow: Value = serde_yaml::from_str(&text).unwrap();
    let cron = workflow["on"]["schedule"][0]["cron"].as_str().unwrap();
    let weekly = cron.split(' ').collect::<Vec<_>>();
    assert!(
        matches!(weekly[..], [minute, hour, "*", "*", day] if [minute, hour, day].iter().all(|at| at.parse::<u8>().is_ok()))
    );
    let job = &workflow["jobs"]["compare"];
    assert_eq!(workflow["permissions"], serde_json::json!({}));
    assert_eq!(job["permissions"], serde_json::json!({ "contents": "read", "issues": "write" }));
    assert!(job["steps"].to_string().contains(".ci/karpenter-check"));
}
