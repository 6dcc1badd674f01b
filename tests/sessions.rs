//! Sessions: the caller's identity, and the errors when it is unknown.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::time::Duration;

use kibus::aws::Connect;
use kibus::error::ErrorKind;
use kibus::model::GlobalOptions;

use crate::support::emulator::{ACCOUNT, Emulator, Kind};
use crate::support::proxy::Port;

#[tokio::test]
async fn a_session_knows_account_region_and_partition() {
    for (kind, account) in [(Kind::Ministack, ACCOUNT), (Kind::Moto, "123456789012")] {
        let emulator = Emulator::start(kind).await;
        let session = emulator.session().await;
        let identity = (session.account.as_str(), session.region.as_str(), session.partition.as_str());
        assert_eq!(identity, (account, "us-west-2", "aws"), "{kind:?}");
        assert_eq!(session.config().endpoint_url(), Some(emulator.endpoint.as_str()));
    }
}

#[tokio::test]
async fn the_endpoint_does_not_respond() {
    // A port on which nothing listens.
    let port = Port::open().await.number();
    let connect = Connect::to_emulator("us-west-2".parse().unwrap(), format!("http://127.0.0.1:{port}"));
    let error = connect.connect().await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Failed);
    assert_eq!(error.message, format!("endpoint `http://127.0.0.1:{port}` does not answer"));
}

#[tokio::test]
async fn no_region_is_configured() {
    let options = GlobalOptions { sandbox: true, ..GlobalOptions::default() };
    let connect = Connect { options, ..Connect::default() };
    assert_eq!(connect.connect().await.unwrap_err().message, "no AWS Region is set");
}

#[test]
fn calls_follow_the_proxies_of_the_environment() {
    for (variables, endpoint, expected) in [
        (&["HTTPS_PROXY"][..], "https://sts.invalid", Some("CONNECT sts.invalid:443 HTTP/1.1")),
        (&["https_proxy"], "https://sts.invalid", Some("CONNECT sts.invalid:443 HTTP/1.1")),
        (&["ALL_PROXY"], "https://sts.invalid", Some("CONNECT sts.invalid:443 HTTP/1.1")),
        (&["HTTP_PROXY"], "http://sts.invalid", Some("POST http://sts.invalid/ HTTP/1.1")),
        (&["HTTP_PROXY"], "https://sts.invalid", None),
        // Nothing listens there.
        (&["HTTP_PROXY", "ALL_PROXY"], "http://127.0.0.1:1", None),
        (&["HTTP_PROXY", "ALL_PROXY"], "http://localhost:1", None),
        (&["HTTPS_PROXY", "ALL_PROXY"], "https://[::1]:1", None),
        (&["HTTPS_PROXY", "NO_PROXY"], "https://sts.invalid", None),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let proxy = format!("http://{}", listener.local_addr().unwrap());
        let mut kibus = Command::new(env!("CARGO_BIN_EXE_kibus"));
        kibus.args(["list", "--endpoint-url", endpoint]).env_clear();
        for variable in variables {
            kibus.env(variable, if *variable == "NO_PROXY" { "invalid" } else { &proxy });
        }
        let kibus = kibus
            .env("KIBUS_ALLOW_HTTP", "true")
            .env("HOME", "/nonexistent")
            .env("AWS_ACCESS_KEY_ID", "test")
            .env("AWS_SECRET_ACCESS_KEY", "test")
            .env("AWS_REGION", "us-west-2")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut kibus = kibus.spawn().unwrap();
        let received = loop {
            if let Ok((stream, _)) = listener.accept() {
                stream.set_nonblocking(false).unwrap();
                let mut line = String::new();
                BufReader::new(stream).read_line(&mut line).unwrap();
                break Some(line.trim_end().to_owned());
            }
            if kibus.try_wait().unwrap().is_some() {
                break None;
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        // It may have ended.
        let _ = kibus.kill();
        kibus.wait().unwrap();
        assert_eq!(received.as_deref(), expected, "{variables:?} {endpoint}");
    }
}

/// A call has the session token of the credentials.
#[test]
fn no_call_goes_to_another_host_without_encryption() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let proxy = format!("http://{}", listener.local_addr().unwrap());
    let home = tempfile::tempdir().unwrap();
    let config = home.path().join("config");
    let profile = "[default]\nregion = us-west-2\nservices = local\n[services local]\nlambda =\n  endpoint_url = http://lambda.invalid\n";
    std::fs::write(&config, profile).unwrap();
    let config = config.to_str().unwrap();
    for (arguments, variables, expected) in [
        (&["--endpoint-url", "http://all.invalid"][..], &[][..], "`http://all.invalid` of CloudWatch"),
        (&[], &[("KIBUS_ENDPOINT_URL", "http://all.invalid")], "`http://all.invalid` of CloudWatch"),
        (&[], &[("AWS_ENDPOINT_URL", "http://all.invalid")], "`http://all.invalid` of CloudWatch"),
        (&[], &[("AWS_ENDPOINT_URL_SQS", "http://sqs.invalid")], "`http://sqs.invalid` of SQS"),
        (&[], &[("AWS_CONFIG_FILE", config)], "`http://lambda.invalid` of Lambda"),
        (
            &[],
            &[("AWS_ENDPOINT_URL_STS", "http://sts.invalid"), ("KIBUS_ALLOW_HTTP", "1")],
            "`http://sts.invalid` of STS",
        ),
    ] {
        let mut kibus = Command::new(env!("CARGO_BIN_EXE_kibus"));
        kibus.arg("list").args(arguments).env_clear();
        let kibus = kibus
            .env("HOME", "/nonexistent")
            .env("HTTP_PROXY", &proxy)
            .env("HTTPS_PROXY", &proxy)
            .env("AWS_ACCESS_KEY_ID", "test")
            .env("AWS_SECRET_ACCESS_KEY", "test")
            .env("AWS_REGION", "us-west-2")
            .envs(variables.iter().copied());
        let output = kibus.output().unwrap();
        let message = String::from_utf8(output.stderr).unwrap();
        let first = format!("error: the endpoint {expected} is not encrypted\n");
        assert!(message.starts_with(&first) && message.contains("KIBUS_ALLOW_HTTP=true"), "{message}");
        assert_eq!(output.status.code(), Some(64), "{expected}");
    }
    assert!(listener.accept().is_err(), "a call was sent");
}
