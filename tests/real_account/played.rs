//! Recordings that the AWS-like proxy plays back: the same observation sees the same.

use std::path::{Path, PathBuf};
use std::time::Duration;

use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_sdk_sts::config::{Credentials, SharedCredentialsProvider};
use tempfile::TempDir;

use super::observation::lines;
use super::run::Run;
use super::sqs;
use crate::aws_like::{Proxy, Server};
use crate::recorded::Recording;
use crate::support::emulator::plain_http;
use crate::support::proxy::Port;

const ACCOUNT: &str = "300000000004";

/// The recording that comes with the project; it was made on the emulator.
fn committed() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recorded/S2.json")
}

/// A run against this proxy, whose waits are short.
fn run(proxy: &Proxy) -> Run {
    let credentials = Credentials::new(ACCOUNT, "test", None, None, "test");
    let config = SdkConfig::builder()
        .behavior_version(BehaviorVersion::v2026_01_12())
        .region(Region::new("us-west-2"))
        .http_client(plain_http())
        .endpoint_url(&proxy.url)
        .credentials_provider(SharedCredentialsProvider::new(credentials));
    Run::with(&config.build(), ACCOUNT, "").with_second(Duration::from_millis(250))
}

/// Observes S2; what was seen, and the recording.
async fn observe(proxy: &Proxy) -> Recording {
    let run = run(proxy);
    let seen = [("S2", sqs::repeated_create(&run).await)];
    let secrets = run.secrets().await;
    Recording::new(&["S2"], run.place(), lines(&seen), run.recorder.answers(), |text| secrets.clean(text))
}

/// Observes S2 where only a recording answers.
async fn played(recording: Recording) -> Recording {
    // Nothing listens on a port that was just free.
    let closed = Port::open().await.number();
    let proxy = Proxy::start(closed, "none").await;
    proxy.like.play(recording);
    let seen = observe(&proxy).await;
    assert_eq!(proxy.like.not_played(), Vec::<String>::new());
    seen
}

/// The calls of a recording, with what they were answered.
fn answers(recording: &Recording) -> Vec<(&str, u16, &str)> {
    let answers = recording.answers.iter();
    answers.map(|answer| (answer.operation.as_str(), answer.status, answer.body.as_str())).collect()
}

#[test]
fn a_recording_is_played_back() {
    let server = Server::shared();
    server.runtime.block_on(async {
        let recorded = observe(&Proxy::start(server.port(), "S3").await).await;
        assert!(recorded.seen[0].starts_with("S2: CreateQueue with first=1"), "{recorded:?}");
        let statuses: Vec<_> = answers(&recorded).iter().map(|answer| (answer.0.to_owned(), answer.1)).collect();
        assert!(statuses.contains(&("sqs:GetQueueAttributes".to_owned(), 400)), "{statuses:?}");
        let home = TempDir::new().unwrap();
        let read = Recording::read(&recorded.write(home.path()));
        assert_eq!(read, recorded);
        let played = played(read).await;
        assert_eq!((&played.seen, answers(&played)), (&recorded.seen, answers(&recorded)));
    });
}

#[test]
fn the_committed_recording_is_played_back() {
    let server = Server::shared();
    server.runtime.block_on(async {
        if std::env::var_os("KIBUS_TEST_UPDATE").is_some() {
            let recorded = observe(&Proxy::start(server.port(), "none").await).await;
            recorded.write(committed().parent().unwrap());
        }
        let recorded = Recording::read(&committed());
        let played = played(recorded.clone()).await;
        assert_eq!((&played.seen, answers(&played)), (&recorded.seen, answers(&recorded)));
    });
}
