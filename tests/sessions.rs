//! Sessions: the caller's identity, and the errors when it is unknown.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::support::emulator::{Kind, SharedServer, free_account};
use crate::support::proxy::{Port, forward};
use crate::support::stage::Stage;
use crate::support::tls::Authority;

/// Kibus with these arguments and variables, in a Region, and without the files of a home.
fn kibus(arguments: &[&str], variables: &[(&str, &str)]) -> Command {
    let mut kibus = Command::new(env!("CARGO_BIN_EXE_kibus"));
    kibus.args(arguments).env_clear().env("HOME", "/nonexistent").env("AWS_REGION", "us-west-2");
    kibus.envs(variables.iter().copied());
    kibus
}

const KEYS: [(&str, &str); 2] = [("AWS_ACCESS_KEY_ID", "test"), ("AWS_SECRET_ACCESS_KEY", "test")];

#[tokio::test]
async fn a_session_knows_account_region_and_partition() {
    for kind in [Kind::Ministack, Kind::Moto] {
        let stage = Stage::corrected(kind, "us-west-2").await;
        let session = stage.session().await;
        let identity = (session.account.as_str(), session.region.as_str(), session.partition.as_str());
        assert_eq!(identity, (stage.account.id.as_str(), "us-west-2", "aws"), "{kind:?}");
        assert_eq!(session.config().endpoint_url(), Some(stage.endpoint.as_str()));
    }
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
        let mut kibus = kibus(&["list", "--endpoint-url", endpoint], &KEYS);
        for variable in variables {
            kibus.env(variable, if *variable == "NO_PROXY" { "invalid" } else { &proxy });
        }
        let kibus =
            kibus.env("KIBUS_ALLOW_HTTP", "true").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
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

/// The trusted certificates come from the same sources as in the AWS CLI, and otherwise from the system.
#[tokio::test(flavor = "multi_thread")]
async fn kibus_sends_only_to_a_server_that_it_trusts() {
    let (known, unknown) = (Authority::new("known"), Authority::new("unknown"));
    let files = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let file = files.path().join(name);
        std::fs::write(&file, text).unwrap();
        file.to_str().unwrap().to_owned()
    };
    let bundle = write("bundle.pem", &format!("{}{}", unknown.pem(), known.pem()));
    let other = write("other.pem", &Authority::new("other").pem());
    let (empty, damaged) = (write("empty.pem", "no certificate"), write("damaged.pem", &known.pem().replace('M', "A")));
    let config = write("config", &format!("[default]\nca_bundle = {bundle}\n[profile broken]\nca_bundle = {empty}\n"));
    let (account, emulator) = (free_account(), SharedServer::plain().port());
    let server = Port::open().await.serve(move |request| forward(emulator, request));
    let server = server.trim_start_matches("http://");
    let (valid, expired) = (known.front(2999, server).await, known.front(2020, server).await);
    let (trusted, untrusted) = ("No buses in us-west-2", "is not trusted\n");
    for (variables, server, expected) in [
        (vec![("SSL_CERT_FILE", bundle.as_str())], &valid, trusted),
        (vec![("AWS_CA_BUNDLE", &bundle)], &valid, trusted),
        (vec![("AWS_CA_BUNDLE", &bundle), ("SSL_CERT_FILE", &other)], &valid, trusted),
        (vec![("AWS_CONFIG_FILE", &config)], &valid, trusted),
        (vec![("AWS_CONFIG_FILE", &config), ("AWS_CA_BUNDLE", &other)], &valid, untrusted),
        (vec![], &valid, untrusted),
        (vec![("AWS_CA_BUNDLE", &bundle)], &expired, untrusted),
        (vec![("AWS_CA_BUNDLE", &empty)], &valid, "cannot be used: it contains no PEM certificate\n"),
        (vec![("AWS_CA_BUNDLE", &damaged)], &valid, "cannot be used: "),
        (vec![("AWS_CA_BUNDLE", "/nonexistent")], &valid, "cannot be used: No such file"),
        (vec![("AWS_CONFIG_FILE", &config), ("AWS_PROFILE", "broken")], &valid, "set by `ca_bundle` of the profile"),
    ] {
        let keys = [("AWS_ACCESS_KEY_ID", account.as_str()), ("AWS_SECRET_ACCESS_KEY", "test")];
        let output =
            kibus(&["list", "--endpoint-url", server], &keys).envs(variables.iter().copied()).output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
        assert!(said.contains(expected), "{variables:?} {server}: {said}");
    }
}

/// Kibus does not prompt for a code, and the SDK would assume the role without one, which AWS denies without a reason.
#[test]
fn a_profile_that_needs_a_code_is_refused() {
    let files = tempfile::tempdir().unwrap();
    let config = files.path().join("config");
    let text = "[profile base]\nregion = us-west-2\n[profile admin]\nsource_profile = base\nrole_arn = arn:aws:iam::111122223333:role/admin\n\
                mfa_serial = arn:aws:iam::111122223333:mfa/jane\n";
    std::fs::write(&config, text).unwrap();
    let command = "eval \"$(aws configure export-credentials --profile admin --format env)\"";
    for (arguments, variables, is_refused) in [
        (&["--profile", "admin"][..], &[][..], true),
        (&[], &[("AWS_PROFILE", "admin")], true),
        (&["--profile", "admin"], &KEYS, true),
        // These credentials are used instead.
        (&[], &[("AWS_PROFILE", "admin"), KEYS[0], KEYS[1]], false),
        (&["--profile", "base"], &KEYS, false),
    ] {
        let mut kibus = kibus(&[&["list", "--endpoint-url", "http://127.0.0.1:1"], arguments].concat(), variables);
        kibus.env("AWS_CONFIG_FILE", &config).env("AWS_EC2_METADATA_DISABLED", "true");
        let output = kibus.output().unwrap();
        let message = String::from_utf8(output.stderr).unwrap();
        let refused = message.starts_with("error: profile `admin` needs an MFA code") && message.contains(command);
        assert_eq!(refused, is_refused, "{arguments:?} {variables:?}: {message}");
    }
}

/// A call contains the session token of the credentials.
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
        let mut kibus = kibus(&[&["list"], arguments].concat(), &KEYS);
        kibus.env("HTTP_PROXY", &proxy).env("HTTPS_PROXY", &proxy).envs(variables.iter().copied());
        let output = kibus.output().unwrap();
        let message = String::from_utf8(output.stderr).unwrap();
        let first = format!("error: the endpoint {expected} is not encrypted\n");
        assert!(message.starts_with(&first) && message.contains("KIBUS_ALLOW_HTTP=true"), "{message}");
        assert_eq!(output.status.code(), Some(64), "{expected}");
    }
    assert!(listener.accept().is_err(), "a call was sent");
}
