//! No secret is in output or logs.

use std::fs;

use serde_json::json;
use tempfile::TempDir;

use super::bad_server::{Bad, BadServer};
use super::function::{Ended, Function};
use super::process;
use crate::aws_like::{AwsLike, Server};

const SECRET: &str = "wJalrXUtnFEMIkeyOfTheTest";
const TOKEN: &str = "IQoJb3JpZ2luTokenOfTheTest";

/// Everything that kibus writes at its most talkative, with these variables.
async fn kibus(line: &str, home: &TempDir, variables: &[(&str, &str)]) -> String {
    let talkative = [
        ("HOME", home.path().to_str().unwrap()),
        ("KIBUS_LOG", "trace"),
        ("RUST_LOG", "trace"),
        ("RUST_BACKTRACE", "full"),
    ];
    let mut command = process::command(&format!("{line} -vv"), &[&talkative, variables].concat());
    if !variables.iter().any(|(name, _)| *name == "AWS_SECRET_ACCESS_KEY") {
        command.env_remove("AWS_SECRET_ACCESS_KEY");
    }
    let output = command.output().await.unwrap();
    [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat()
}

fn check(case: &str, text: &str) {
    for secret in [SECRET, TOKEN] {
        if let Some(line) = text.lines().find(|line| line.contains(secret)) {
            panic!("{case}: `{secret}` in {line}");
        }
    }
}

#[test]
fn no_command_tells_a_secret() {
    let server = Server::shared();
    server.runtime.block_on(async {
        let (home, id) = (TempDir::new().unwrap(), "310000000004");
        let like = AwsLike::new(server.port());
        server.route_functions(id, &like);
        let keys = [("AWS_ACCESS_KEY_ID", id), ("AWS_SECRET_ACCESS_KEY", SECRET), ("AWS_SESSION_TOKEN", TOKEN)];
        for (service, bad, line) in [
            ("none", Bad::Empty, "bootstrap-hub --yes"),
            ("none", Bad::Empty, "verify"),
            ("none", Bad::Empty, "list --output json"),
            ("sts", Bad::Html, "verify"),
            ("sts", Bad::Forbidden, "verify --output json"),
            ("sqs", Bad::Html, "verify"),
            ("iam", Bad::Forbidden, "verify"),
            ("lambda", Bad::Empty, "verify"),
        ] {
            let proxy = BadServer::start(&like, service, bad).await;
            let text = kibus(line, &home, &[&keys[..], &[("AWS_ENDPOINT_URL", &proxy.url)]].concat()).await;
            assert!(text.contains("sts:GetCallerIdentity"), "{line}: no log in {text}");
            check(&format!("{line} with {bad:?} answers of {service}"), &text);
            assert!(service == "none" || proxy.struck(), "{line} with {bad:?} answers of {service}");
        }
        let closed = [("AWS_ENDPOINT_URL", "http://127.0.0.1:1")];
        check("no endpoint", &kibus("verify", &home, &[&keys[..], &closed].concat()).await);
    });
}

#[tokio::test]
async fn no_broken_credentials_are_shown() {
    let home = TempDir::new().unwrap();
    fs::create_dir(home.path().join(".aws")).unwrap();
    let process = home.path().join("process");
    fs::write(&process, format!("{{\"Version\": 1, \"SecretAccessKey\": \"{SECRET}\", {TOKEN}")).unwrap();
    let config = home.path().join(".aws/config");
    for (case, text) in [
        ("a process with invalid output", format!("[default]\ncredential_process = cat {}\n", process.display())),
        (
            "a process that fails",
            format!("[default]\ncredential_process = sh -c 'cat {0}; echo denied >&2; exit 1'\n", process.display()),
        ),
        ("no key id", format!("[default]\naws_secret_access_key = {SECRET}\naws_session_token = {TOKEN}\n")),
        ("no assignment", format!("[default]\naws_access_key_id = x\naws_secret_access_key {SECRET}\n")),
        ("a token with a newline", format!("[default]\naws_access_key_id = x y\naws_secret_access_key = {SECRET}\n")),
    ] {
        fs::write(&config, text).unwrap();
        let text = kibus("verify", &home, &[("AWS_ENDPOINT_URL", "http://127.0.0.1:1")]).await;
        assert!(text.contains("error:"), "{case}: {text}");
        check(case, &text);
    }
}

#[tokio::test]
async fn the_router_tells_no_secret_and_no_text_of_a_message() {
    let keys = [
        ("AWS_SECRET_ACCESS_KEY", SECRET),
        ("AWS_SESSION_TOKEN", TOKEN),
        ("RUST_LOG", "trace"),
        ("AWS_LAMBDA_LOG_LEVEL", "TRACE"),
    ];
    let mut function = Function::start(&keys).await;
    let spot = include_str!("../events/spot-interruption-warning.json").replace("terminate", "text-of-the-message");
    for payload in [
        spot.clone(),
        spot.replace("i-0a1b2c3d4e5f60718", "text-of-the-message"),
        json!({"source": "kibus.selftest", "detail-type": "Kibus Self-Test"}).to_string(),
        "{\"Records\": \"text-of-the-message\"}".to_owned(),
        "text-of-the-message".to_owned(),
    ] {
        let ended = function.invoke(payload).await;
        if let Ended::Answered(answer) = ended {
            check("the answer", &answer.to_string());
        }
    }
    let log = function.log().await;
    assert!(log.contains("started"), "{log}");
    check("the router", &log);
    assert!(!log.contains("text-of-the-message"), "{log}");
}
