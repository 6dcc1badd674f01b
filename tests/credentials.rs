//! Kibus finds the credentials that the AWS CLI would use, and uses them in every call.

use std::collections::BTreeSet;
use std::process::{Output, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use aws_smithy_types::DateTime;
use aws_smithy_types::date_time::Format;
use hyper::Request;
use hyper::body::Bytes;
use serde_json::json;
use tempfile::TempDir;
use tokio::process::Command;
use tokio::task::spawn_blocking;

use crate::aws_like::Server;
use crate::support::proxy::{Answer, Port, answer, forward, json_answer};

/// The key id of the expected credentials. The emulator uses it as the account.
const KEY: &str = "300000000078";
const LATER: &str = "2999-01-01T00:00:00Z";

/// The profiles; `HOME` is the home directory of kibus.
const CONFIG: &str = "
[profile keys]
aws_access_key_id = 300000000078
aws_secret_access_key = test
aws_session_token = of-profile
[profile base]
aws_access_key_id = source
aws_secret_access_key = test
[profile admin]
source_profile = base
role_arn = arn:aws:iam::111122223333:role/admin
[profile over]
source_profile = admin
role_arn = arn:aws:iam::111122223333:role/over
[profile of-environment]
credential_source = Environment
role_arn = arn:aws:iam::111122223333:role/admin
[profile ci]
role_arn = arn:aws:iam::111122223333:role/ci
web_identity_token_file = HOME/a-token
[profile process]
credential_process = cat HOME/of-a-process
[sso-session corp]
sso_start_url = https://kibus.awsapps.com/start
sso_region = us-west-2
[profile corp]
sso_session = corp
sso_account_id = 111122223333
sso_role_name = Admin
[profile former]
sso_start_url = https://kibus.awsapps.com/start
sso_region = us-west-2
sso_account_id = 111122223333
sso_role_name = Admin
";

const OTHER_KEYS: &str = "AWS_ACCESS_KEY_ID=source AWS_SECRET_ACCESS_KEY=test";

/// Ways to get credentials: the name, arguments, variables, the calls that get them, and the session token that every
/// call to AWS then has. `URL` is the server.
const SOURCES: [[&str; 5]; 14] = [
    [
        "environment",
        "",
        "AWS_ACCESS_KEY_ID=300000000078 AWS_SECRET_ACCESS_KEY=test AWS_SESSION_TOKEN=given",
        "",
        "given",
    ],
    ["profile of a variable", "", "AWS_PROFILE=keys", "", "of-profile"],
    ["given profile, over keys of the environment", "--profile keys", OTHER_KEYS, "", "of-profile"],
    ["role of another profile", "--profile admin", "", "AssumeRole by source", "AssumeRole"],
    ["role of a role", "--profile over", "", "AssumeRole by source, AssumeRole by 300000000078", "AssumeRole"],
    ["role of the environment", "--profile of-environment", OTHER_KEYS, "AssumeRole by source", "AssumeRole"],
    [
        "web identity of a service account",
        "",
        "AWS_ROLE_ARN=arn:aws:iam::111122223333:role/ci AWS_WEB_IDENTITY_TOKEN_FILE=HOME/a-token",
        "AssumeRoleWithWebIdentity of a-token",
        "AssumeRoleWithWebIdentity",
    ],
    ["web identity", "--profile ci", "", "AssumeRoleWithWebIdentity of a-token", "AssumeRoleWithWebIdentity"],
    [
        "container",
        "",
        "AWS_CONTAINER_CREDENTIALS_FULL_URI=URL/container AWS_CONTAINER_AUTHORIZATION_TOKEN=a-token",
        "container of a-token",
        "container",
    ],
    [
        "EKS Pod Identity",
        "",
        "AWS_CONTAINER_CREDENTIALS_FULL_URI=URL/container AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE=HOME/a-token",
        "container of a-token",
        "container",
    ],
    ["process", "--profile process", "", "", "process"],
    ["IAM Identity Center", "--profile corp", "", "sso of a-token", "sso"],
    ["IAM Identity Center, in its former form", "--profile former", "", "sso of a-token", "sso"],
    [
        "instance metadata",
        "",
        "AWS_EC2_METADATA_SERVICE_ENDPOINT=URL AWS_EC2_METADATA_DISABLED=false",
        "token of instance, role of instance, instance",
        "instance",
    ],
];

fn source(name: &str) -> &'static [&'static str; 5] {
    SOURCES.iter().find(|source| source[0] == name).unwrap()
}

/// Plays every source of credentials, in front of an emulator.
#[derive(Clone)]
struct Givers {
    emulator: u16,
    seen: Arc<Mutex<Seen>>,
}

#[derive(Default)]
struct Seen {
    /// The calls that got credentials.
    asked: Vec<String>,
    /// The key id and the session token of each call to AWS.
    used: Vec<(String, String)>,
    /// What the source answers instead of credentials.
    refusal: Option<(u16, &'static str)>,
    /// When credentials of a container expire.
    expiration: Option<String>,
}

impl Givers {
    async fn new() -> Self {
        let emulator = spawn_blocking(|| Server::shared().port()).await.unwrap();
        Self { emulator, seen: Arc::default() }
    }

    async fn pass(self, request: Request<Bytes>) -> Answer {
        let header = |name: &str| request.headers().get(name).map_or("", |value| value.to_str().unwrap()).to_owned();
        let body = String::from_utf8_lossy(request.body()).into_owned();
        let of =
            |giver: &str| json!({"AccessKeyId": KEY, "SecretAccessKey": "test", "Token": giver, "Expiration": LATER});
        let path = request.uri().path();
        let given = if path == "/container" {
            let mut credentials = of("container");
            let mut seen = self.seen.lock().unwrap();
            if let Some(expiration) = &seen.expiration {
                credentials["Expiration"] = json!(expiration);
                credentials["Token"] = json!(format!("container-{}", seen.asked.len()));
            }
            seen.asked.push(format!("container of {}", header("authorization")));
            Some(json_answer(200, &credentials))
        } else if path == "/federation/credentials" {
            self.ask(format!("sso of {}", header("x-amz-sso_bearer_token")));
            let credentials = json!({"accessKeyId": KEY, "secretAccessKey": "test", "sessionToken": "sso", "expiration": 32_472_144_000_000_u64});
            Some(json_answer(200, &json!({ "roleCredentials": credentials })))
        } else if path == "/latest/api/token" {
            self.ask("token of instance".to_owned());
            let mut token = answer(200, "text/plain", "t");
            token.headers_mut().insert("x-aws-ec2-metadata-token-ttl-seconds", "21600".parse().unwrap());
            Some(token)
        } else if let Some(role) = path.strip_prefix("/latest/meta-data/iam/security-credentials") {
            let is_list = role.trim_matches('/').is_empty();
            self.ask(if is_list { "role of instance" } else { "instance" }.to_owned());
            let mut credentials = of("instance");
            credentials["Code"] = json!("Success");
            Some(if is_list { answer(200, "text/plain", "role") } else { json_answer(200, &credentials) })
        } else if let Some((_, rest)) = body.split_once("Action=AssumeRole") {
            let with_token = rest.starts_with("WithWebIdentity");
            let by = key_of(&header("authorization"));
            let how = if with_token { "WithWebIdentity of a-token".to_owned() } else { format!(" by {by}") };
            assert!(!with_token || body.contains("WebIdentityToken=a-token"), "{body}");
            self.ask(format!("AssumeRole{how}"));
            let operation = if with_token { "AssumeRoleWithWebIdentity" } else { "AssumeRole" };
            let credentials = format!(
                "<Credentials><AccessKeyId>{KEY}</AccessKeyId><SecretAccessKey>test</SecretAccessKey>\
                 <SessionToken>{operation}</SessionToken><Expiration>{LATER}</Expiration></Credentials>\
                 <AssumedRoleUser><Arn>arn:aws:sts::111122223333:assumed-role/r/s</Arn><AssumedRoleId>A:s</AssumedRoleId></AssumedRoleUser>"
            );
            let result = format!(
                "<{operation}Response><{operation}Result>{credentials}</{operation}Result></{operation}Response>"
            );
            Some(answer(200, "text/xml", result))
        } else {
            None
        };
        match given {
            Some(given) => match &self.seen.lock().unwrap().refusal {
                Some((status, body)) if body.starts_with('<') => answer(*status, "text/xml", *body),
                Some((status, body)) => answer(*status, "application/json", *body),
                None => given,
            },
            None => {
                self.seen.lock().unwrap().used.push((key_of(&header("authorization")), header("x-amz-security-token")));
                forward(self.emulator, request).await.unwrap()
            }
        }
    }

    fn ask(&self, call: String) {
        self.seen.lock().unwrap().asked.push(call);
    }
}

/// The key id in a signature.
fn key_of(signature: &str) -> String {
    let key = signature.split_once("Credential=").and_then(|(_, scope)| scope.split('/').next());
    key.unwrap_or_default().to_owned()
}

/// One command with a home directory that contains everything that a source may name.
async fn run([_, arguments, variables, ..]: &[&str; 5], givers: &Givers, sso_until: &str) -> Output {
    let home = TempDir::new().unwrap();
    let passes = givers.clone();
    let url = Port::open().await.serve(move |request| {
        let passes = passes.clone();
        async move { Ok(passes.pass(request).await) }
    });
    let filled = |text: &str| text.replace("URL", &url).replace("HOME", home.path().to_str().unwrap());
    let write = |name: &str, text: &str| {
        let file = home.path().join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    };
    write(".aws/config", &filled(CONFIG));
    write("a-token", "a-token");
    let process = json!({"Version": 1, "AccessKeyId": KEY, "SecretAccessKey": "test", "SessionToken": "process"});
    write("of-a-process", &process.to_string());
    let start = "https://kibus.awsapps.com/start";
    let login = json!({"accessToken": "a-token", "expiresAt": sso_until, "region": "us-west-2", "startUrl": start});
    // The SHA-1 of the session's name, and of the start URL.
    for name in ["ee0bfd2552fbd840c02cc48b6e823320543c450f", "6ce5a154020518793cbf81d8ffa05fc28c3ccc26"] {
        write(&format!(".aws/sso/cache/{name}.json"), &login.to_string());
    }
    Command::new(env!("CARGO_BIN_EXE_kibus"))
        .args(["list", "--region", "us-west-2"])
        .args(arguments.split_whitespace())
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", home.path())
        .env("AWS_EC2_METADATA_DISABLED", "true")
        .env("AWS_ENDPOINT_URL", &url)
        .envs(variables.split_whitespace().filter_map(|set| set.split_once('=')).map(|(name, set)| (name, filled(set))))
        .stdin(Stdio::null())
        .output()
        .await
        .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_call_has_the_credentials_that_the_aws_cli_would_use() {
    for source @ [name, .., asked, token] in &SOURCES {
        let givers = Givers::new().await;
        let output = run(source, &givers, LATER).await;
        let said = String::from_utf8_lossy(&output.stderr);
        let seen = givers.seen.lock().unwrap();
        assert!(output.status.success(), "{name}: {said}");
        assert_eq!(seen.asked.join(", "), *asked, "{name}");
        let expected = (KEY.to_owned(), (*token).to_owned());
        assert!(seen.used.len() > 1 && seen.used.iter().all(|used| *used == expected), "{name}: {:?}", seen.used);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn credentials_that_expire_meanwhile_are_asked_for_again() {
    let givers = Givers::new().await;
    // The SDK requests new ones when they are about to expire.
    givers.seen.lock().unwrap().expiration =
        Some(DateTime::from(SystemTime::now() + Duration::from_secs(5)).fmt(Format::DateTime).unwrap());
    let output = run(source("container"), &givers, LATER).await;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let seen = givers.seen.lock().unwrap();
    let used: BTreeSet<_> = seen.used.iter().map(|(_, token)| token.as_str()).collect();
    assert!(used.contains("container-0") && used.contains("container-1"), "{used:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn credentials_that_nobody_gives_are_an_error_with_the_next_step() {
    let denied =
        "<ErrorResponse><Error><Code>AccessDenied</Code><Message>not authorized</Message></Error></ErrorResponse>";
    let (gone, past) = (r#"{"message": "Session token not found or invalid"}"#, "2020-01-01T00:00:00Z");
    for (name, sso_until, refusal, reason) in [
        ("container", LATER, Some((403, "")), "403"),
        ("role of another profile", LATER, Some((403, denied)), "AccessDenied: not authorized"),
        ("web identity", LATER, Some((403, denied)), "AccessDenied: not authorized"),
        ("IAM Identity Center", past, None, "SSO token has expired"),
        ("IAM Identity Center", LATER, Some((401, gone)), "not found or invalid"),
        ("IAM Identity Center, in its former form", past, Some((401, gone)), "not found or invalid"),
    ] {
        let (source, givers) = (source(name), Givers::new().await);
        givers.seen.lock().unwrap().refusal = refusal;
        let output = run(source, &givers, sso_until).await;
        let said = String::from_utf8_lossy(&output.stderr);
        let happened = if refusal.is_some() { "cannot be loaded" } else { "have expired" };
        let step = format!("aws sso login {}", source[1]);
        assert_eq!(output.status.code(), Some(1), "{name}: {said}");
        assert!(said.starts_with(&format!("error: the AWS credentials {happened}\n")), "{name}: {said}");
        assert!(said.contains(reason) && said.contains(step.trim()) && !said.contains(" { "), "{name}: {said}");
        assert_eq!(givers.seen.lock().unwrap().used, [], "{name}: a call was sent without credentials");
    }
}
