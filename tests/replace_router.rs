//! Replaces the router and rolls it back, on the emulator that runs the function.

use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use kibus::cloud::{Questions, Read, Waiting, Write};
use kibus::dead_letters::DeadLetters;
use kibus::model::{Resource, ResourceId, Role, Signal, Tags, hub};
use kibus::plan::Change;
use serde_json::Value;
use tempfile::TempDir;

use crate::support::stage::Stage;

/// The version of the router that is built with this test.
const OURS: &str = env!("CARGO_PKG_VERSION");

/// A hub on a private emulator.
struct Hub {
    stage: Stage,
    files: TempDir,
}

impl Hub {
    async fn open() -> Self {
        Self { stage: Stage::open().await, files: TempDir::new().unwrap() }
    }

    fn kibus(&self, arguments: &str) -> Ran {
        Ran::of(&self.stage.kibus(arguments).output().unwrap())
    }

    /// The router as built, with one text in it replaced by another of the same length.
    fn router(&self, name: &str, text: &str, other: &str) -> PathBuf {
        assert_eq!(text.len(), other.len());
        let mut binary = std::fs::read(env!("CARGO_BIN_EXE_kibus-router")).unwrap();
        let places: Vec<usize> =
            (0..binary.len() - text.len()).filter(|at| binary[*at..].starts_with(text.as_bytes())).collect();
        assert!(!places.is_empty(), "{text} is not in the router");
        for at in places {
            binary[at..at + text.len()].copy_from_slice(other.as_bytes());
        }
        let path = self.files.path().join(name);
        std::fs::write(&path, binary).unwrap();
        path
    }

    fn router_of_version(&self, version: &str) -> PathBuf {
        self.router(version, &format!("<kibus-router {OURS}>"), &format!("<kibus-router {version}>"))
    }

    /// The live version, its router, and the version that the settings pin.
    async fn standing(&self) -> (u64, String, Option<u64>) {
        let alias = self.stage.live().await.unwrap();
        let id = ResourceId::Parameter(self.stage.cloud.scope().settings_parameter());
        let parameter = self.stage.cloud.read(&id).await.unwrap().unwrap();
        let settings = parameter.as_parameter().unwrap().settings.clone().unwrap();
        (alias.version.unwrap(), alias.settings.code.version, settings.pinned_version)
    }

    async fn versions(&self) -> Vec<u64> {
        let mut there = Vec::new();
        for number in 1..12 {
            if self.stage.cloud.versions(&number).await.unwrap().is_some() {
                there.push(number);
            }
        }
        there
    }
}

#[derive(Debug)]
struct Ran {
    code: Option<i32>,
    out: String,
    err: String,
}

impl Ran {
    fn of(output: &Output) -> Self {
        Self {
            code: output.status.code(),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Checks the exit code and that the output contains all of these texts.
    #[track_caller]
    fn is(&self, code: i32, says: &[&str]) {
        assert_eq!(self.code, Some(code), "{self:#?}");
        let said = format!("{}{}", self.out, self.err);
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        for text in says {
            assert!(said.contains(text), "{text:?} is not said: {self:#?}");
        }
    }
}

fn with(router: &Path, more: &str) -> String {
    format!("bootstrap-hub --yes {more} --router-binary {}", router.display())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_router_that_fails_its_self_test_never_goes_live() {
    let hub = Hub::open().await;
    let bad = hub.router("bad", "_HANDLER", "_HANDLES");
    let failure = ["did not pass its self-test", "`_HANDLES` is not set", "run again"];

    // Not even the first one. Another build of the same version then replaces it.
    hub.kibus(&with(&bad, "")).is(1, &failure);
    assert_eq!(hub.stage.live().await, None);
    hub.kibus("bootstrap-hub --yes").is(0, &[]);
    let first = hub.standing().await;
    assert_eq!((first.1.as_str(), first.2), (OURS, None));

    let bad = hub.router("bad", "_HANDLER", "_HANDLES");
    let newer = hub.router_of_version("9.0.0");
    let newer_and_bad = {
        let mut binary = std::fs::read(&newer).unwrap();
        let (text, other) = (b"_HANDLER", b"_HANDLES");
        for at in 0..binary.len() - text.len() {
            if binary[at..].starts_with(text) {
                binary[at..at + text.len()].copy_from_slice(other);
            }
        }
        std::fs::write(&bad, binary).unwrap();
        bad
    };
    for _ in 0..2 {
        let stays = format!("alias `live` stays at version {}", first.0);
        hub.kibus(&with(&newer_and_bad, "")).is(1, &[&failure[..], &[&stays]].concat());
        assert_eq!(hub.standing().await, first);
    }
    hub.kibus("verify")
        .is(2, &["K220 function kibus-router: code changed", "the function has other code", "failed its self-test"]);
    // It was never live, so this kibus replaces it, and neither version nor tag prevents that.
    hub.kibus("bootstrap-hub --yes").is(0, &["Updated 1"]);
    hub.kibus("verify").is(0, &["No findings"]);
    assert_eq!(hub.standing().await, first);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_router_is_replaced_and_rolled_back() {
    let hub = Hub::open().await;
    let newer = hub.router_of_version("9.0.0");
    let newest = hub.router_of_version("9.1.0");
    hub.kibus("bootstrap-hub --yes").is(0, &[]);
    hub.kibus("rollback --yes").is(4, &["no version of the router is available for rollback"]);
    hub.kibus(&with(&newer, "")).is(0, &["Updated 2"]);
    hub.kibus(&with(&newest, "")).is(0, &["Updated 2"]);
    assert_eq!(hub.standing().await, (3, "9.1.0".to_owned(), None));

    // An older router replaces a newer one only with --allow-downgrade.
    let refused = "router 9.1.0 is live, which is newer than 9.0.0";
    hub.kibus(&with(&newer, "")).is(4, &[refused, "--allow-downgrade"]);

    // Repeating a rollback changes nothing. Without confirmation nothing changes.
    hub.kibus("rollback").is(3, &["pinned_version not set → 2", "2 to update"]);
    assert_eq!(hub.standing().await.0, 3);
    hub.kibus("rollback --yes")
        .is(0, &["Updated 2", "To end the rollback and upgrade again: kibus bootstrap-hub --router-latest"]);
    let back = (2, "9.0.0".to_owned(), Some(2));
    assert_eq!(hub.standing().await, back);
    hub.kibus("rollback --yes")
        .is(0, &["No changes", "version 2 of the function is live (router 9.0.0): rolled back from version 3"]);
    assert_eq!(hub.standing().await, back);
    let says = [
        "No findings",
        "rolled back from version 3",
        "was not compared with the router of this kibus: router 9.0.0 is live",
    ];
    hub.kibus("verify").is(0, &says);
    hub.kibus("rollback --yes 7").is(4, &["version 7", "available: 1"]);
    hub.kibus("rollback --yes 1").is(0, &[]);
    assert_eq!(hub.standing().await, (1, OURS.to_owned(), Some(1)));

    // The rollback is kept while other drift is fixed, and changes that need a new version are refused.
    let rule = ResourceId::Rule(hub.stage.cloud.scope().rule(Signal::SpotInterruption));
    let rule = hub.stage.cloud.read(&rule).await.unwrap().unwrap();
    let delete = Change::delete(None, rule);
    hub.stage.cloud.write(&delete, Waiting::unattended()).await.unwrap();
    hub.kibus("verify").is(2, &["K108", "kibus bootstrap-hub"]);
    let kept = with(&newest, "");
    hub.kibus(&kept).is(0, &["Created 1", "rolled back from version 3", "kibus bootstrap-hub --router-latest"]);
    assert_eq!(hub.standing().await, (1, OURS.to_owned(), Some(1)));
    hub.kibus(&kept).is(0, &["No changes"]);
    hub.kibus("verify").is(0, &["No findings"]);
    hub.kibus(&with(&newest, "--memory 512"))
        .is(4, &["a new version is needed to change: `memory`", "--router-latest"]);

    // Upgrade again, once.
    let forward = with(&newest, "--router-latest");
    hub.kibus(&forward).is(0, &["Updated 2"]);
    assert_eq!(hub.standing().await, (3, "9.1.0".to_owned(), None));
    hub.kibus(&forward).is(0, &["No changes"]);

    // Downgrade, if requested.
    hub.kibus(&with(&newer, "--allow-downgrade")).is(0, &["Updated 2"]);
    assert_eq!(hub.standing().await.1, "9.0.0");
    for version in ["9.2.0", "9.3.0", "9.4.0"] {
        hub.kibus(&with(&hub.router_of_version(version), "")).is(0, &[]);
    }
    let live = hub.stage.live().await.unwrap();
    assert_eq!(live.settings.code.version, "9.4.0");
    assert_eq!(live.before().len(), 2);
    let mut kept = live.before();
    kept.extend(live.version);
    kept.sort_unstable();
    assert_eq!(hub.versions().await, kept);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_probe_is_delivered_and_shows_who_reads_it() {
    let hub = Hub::open().await;
    hub.kibus("bootstrap-hub --yes").is(0, &[]);
    let bus = hub.kibus("verify --probe --output json");
    bus.is(0, &[]);
    let report: Value = serde_json::from_str(&bus.out).unwrap();
    assert_eq!(report["hubs"][0]["probes"][0]["verdict"], "delivered");

    let role = Role {
        name: "KarpenterServiceAccount-base".parse().unwrap(),
        path: "/".parse().unwrap(),
        trust: kibus::model::policy::router_trust(),
        permissions_boundary: None,
        tags: Tags::default(),
    };
    let role = Change::create(None, Resource::Role(role));
    hub.stage.cloud.write(&role, Waiting::unattended()).await.unwrap();
    hub.kibus("add-cluster base --yes").is(0, &[]);
    let queue = hub.stage.cloud.scope().cluster_queue(&hub::default_queue_template(), &"base".parse().unwrap());

    // A reader like Karpenter: it receives all messages and deletes unknown ones.
    let over = Arc::new(AtomicBool::new(false));
    let reader = tokio::spawn({
        let (cloud, over) = (hub.stage.cloud.clone(), Arc::clone(&over));
        async move {
            let mut taken = Vec::new();
            while !over.load(Ordering::Relaxed) {
                for message in cloud.receive(&queue, 30).await.unwrap() {
                    cloud.delete(&queue, &message.receipt).await.unwrap();
                    taken.push(message.body);
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            taken
        }
    });
    let read = hub.kibus("verify --probe base");
    over.store(true, Ordering::Relaxed);
    read.is(0, &["Karpenter reads queue `karpenter-base`"]);
    let taken = reader.await.unwrap();
    let times: Vec<Value> =
        taken.iter().map(|body| serde_json::from_str::<Value>(body).unwrap()["time"].clone()).collect();
    assert_eq!(times.len(), 1, "{taken:?}");
    assert!(times.iter().all(Value::is_string), "Karpenter measures by `time`: {taken:?}");

    let missing = hub.kibus("verify --probe other");
    missing.is(2, &[]);
    assert!(missing.out.contains("K116  cluster other: not recorded"), "{missing:?}");
}
