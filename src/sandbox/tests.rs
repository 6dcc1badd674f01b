//! Tests with the real emulator, which is installed once, into the build directory.

use std::net::{Ipv4Addr, SocketAddr, TcpStream, UdpSocket};
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::server::POLL;
use super::*;

fn quiet(_: &str) {}

/// The sandbox that all tests share: `tmp/sandbox` in the directory of Cargo, below which this program is `debug/deps/kibus`.
fn sandbox() -> Sandbox {
    let program = std::env::current_exe().unwrap();
    Sandbox::at(program.ancestors().nth(3).unwrap().join("tmp/sandbox"))
}

/// An address of this machine other than loopback, if it has one. Nothing is sent.
fn outward_address() -> Option<std::net::IpAddr> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).ok()?;
    socket.connect((Ipv4Addr::new(192, 0, 2, 1), 9)).ok()?;
    let address = socket.local_addr().ok()?.ip();
    (!address.is_loopback() && !address.is_unspecified()).then_some(address)
}

fn listens(address: SocketAddr) -> bool {
    TcpStream::connect(address).is_ok()
}

#[tokio::test]
async fn a_server_listens_on_loopback_only_and_stops_when_dropped() {
    let server = sandbox().start(&[("AUTH", "true")], &quiet).await.unwrap();
    let port = server.endpoint().port;
    let token = server.endpoint().secret.as_str();
    let head = format!("GET /_ministack/health HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Amz-Security-Token: {token}\r\n");
    let (status, health) = server::send(port, &head, "").await.unwrap();
    assert_eq!(status, 200);
    assert!(health.contains(r#""auth": "enabled""#), "extra environment");
    if let Some(outward) = outward_address() {
        assert!(!listens((outward, port).into()), "reachable from outside");
    }
    let directory = server.directory().to_owned();
    assert!(directory.join("server.log").exists(), "log");
    drop(server);
    assert!(!listens((Ipv4Addr::LOCALHOST, port).into()), "still listening");
    assert!(!directory.exists(), "its files are removed");
}

/// The emulator runs code, so a server answers only requests with its secret, and never a web page in the user's browser. A server
/// that checks signatures admits its users without the secret, so their requests must be ones that it checks.
#[tokio::test]
async fn a_server_answers_only_who_has_its_secret() {
    const HEALTH: &str = "/_ministack/health";
    const FUNCTIONS: &str = "/2015-03-31/functions/";
    let scope = "20260101/us-west-2/lambda/aws4_request, SignedHeaders=host, Signature=0";
    let signed = |id: &str| format!("Authorization: AWS4-HMAC-SHA256 Credential={id}/{scope}");
    let (user, root) = (&*signed("AKIAUSER"), &*signed("test"));
    for checks_signatures in [false, true] {
        let extra: &[_] = if checks_signatures { &[("AUTH", "true")] } else { &[] };
        let server = sandbox().start(extra, &quiet).await.unwrap();
        let Endpoint { port, secret, .. } = server.endpoint();
        let host = &*format!("Host: 127.0.0.1:{port}");
        let other_host = &*format!("Host: kibus.example:{port}");
        let token = &*format!("X-Amz-Security-Token: {}", secret.as_str());
        for (path, headers, passes) in [
            (HEALTH, &[host, token][..], true),
            (HEALTH, &["Host: localhost:1", token], true),
            (HEALTH, &[host], false),
            (HEALTH, &[host, root], false),
            (HEALTH, &[host, "X-Amz-Security-Token: x"], false),
            (HEALTH, &[host, token, token], false),
            (HEALTH, &[host, token, "Origin: http://127.0.0.1"], false),
            (HEALTH, &[host, token, "Sec-Fetch-Site: cross-site"], false),
            (HEALTH, &[other_host, token], false),
            (HEALTH, &["Host: 127.0.0.1.", token], false),
            (HEALTH, &["Host: 127.0.0.1@kibus.example", token], false),
            (HEALTH, &["Host: localhost.kibus.example", token], false),
            (HEALTH, &[host, other_host, token], false),
            (HEALTH, &[host, "X-Amz-Security-Token:", token], false),
            (FUNCTIONS, &[host, user], checks_signatures),
            (FUNCTIONS, &[host, root], false),
            (FUNCTIONS, &[host, user, root], false),
            (FUNCTIONS, &[host, "Authorization: AWS test:x Credential=AKIAUSER/x"], false),
            ("/2015-03-31/functions/?X-Amz-Credential=test%2F20260101", &[host, user], false),
            ("/2015-03-31/functions/?AWSAccess%4BeyId=test", &[host, user], false),
            (HEALTH, &[host, user], false),
            ("/health", &[host, user], false),
        ] {
            let request = format!("GET {path} HTTP/1.1\r\n{}\r\n", headers.join("\r\n"));
            let (status, body) = answer(*port, &request).await;
            // A request with two hosts is invalid.
            let passed = status != 400 && !body.contains("the sandbox answers only");
            assert_eq!(passed, passes, "{checks_signatures} {path} {headers:?}: {status} {body}");
            assert!(passed || !body.contains("Access-Control"), "{path} {headers:?}");
        }
    }
}

/// The answer to a request without a body. The emulator loads a service at the first call to it, which takes a long time on a
/// busy machine.
async fn answer(port: u16, head: &str) -> (u16, String) {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        match server::send(port, head, "").await {
            Ok(answer) => return answer,
            Err(e) => assert!(Instant::now() < deadline, "{e}"),
        }
    }
}

/// The server that passes events to a function does not know the secret. A page in the user's browser could take the events.
#[tokio::test]
async fn no_page_takes_the_events_of_a_function() {
    let server = sandbox().start(&[], &quiet).await.unwrap();
    // The function reports where its server is, and leaves the event there.
    let bootstrap = b"#!/bin/sh\necho \"$AWS_LAMBDA_RUNTIME_API\" > \"$TMPDIR/new\"\nmv \"$TMPDIR/new\" \"$TMPDIR/api\"\nsleep 30\n";
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default().unix_permissions(0o755);
    zip.start_file("bootstrap", options).unwrap();
    std::io::Write::write_all(&mut zip, bootstrap).unwrap();
    let code = aws_smithy_types::base64::encode(zip.finish().unwrap().into_inner());
    let function = serde_json::json!({
        "FunctionName": "f", "Runtime": "provided.al2023", "Handler": "x", "Timeout": 30, "Code": {"ZipFile": code},
        "Role": "arn:aws:iam::000000000000:role/f",
    });
    post(server.endpoint(), "", &function.to_string()).await;
    post(server.endpoint(), "f/invocations", "{}").await;
    let file = server.directory().join("tmp/api");
    let deadline = Instant::now() + Duration::from_secs(30);
    while !file.exists() {
        assert!(Instant::now() < deadline, "the function does not run");
        sleep(POLL).await;
    }
    let api = std::fs::read_to_string(file).unwrap();
    let port = api.trim().rsplit_once(':').unwrap().1.parse().unwrap();
    for (headers, expected) in [
        (vec!["Host: kibus.example"], 403),
        (vec!["Host: 127.0.0.1", "Origin: null"], 403),
        (vec!["Host: 127.0.0.1", "Sec-Fetch-Site: cross-site"], 403),
        (vec!["Host: 127.0.0.1"], 200),
    ] {
        let head = format!("GET /2018-06-01/runtime/invocation/next HTTP/1.1\r\n{}\r\n", headers.join("\r\n"));
        let (status, _) = server::send(port, &head, "").await.unwrap();
        assert_eq!(status, expected, "{headers:?}");
    }
}

/// Sends a call to Lambda, and waits for the beginning of its answer.
async fn post(Endpoint { port, secret, .. }: &Endpoint, path: &str, body: &str) {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    let mut stream = tokio::net::TcpStream::connect((Ipv4Addr::LOCALHOST, *port)).await.unwrap();
    let (token, length) = (secret.as_str(), body.len());
    let request = format!(
        "POST /2015-03-31/functions/{path} HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Amz-Security-Token: {token}\r\n\
         X-Amz-Invocation-Type: Event\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).await.unwrap();
    assert!(answer.starts_with(b"HTTP/1.1 20"), "{}", String::from_utf8_lossy(&answer));
}

/// A separate sandbox that shares the emulator of all tests.
async fn sandbox_in(directory: &Path) -> Sandbox {
    let python = sandbox().install(&quiet).await.unwrap();
    let emulator = python.ancestors().nth(2).unwrap();
    std::os::unix::fs::symlink(emulator, directory.join(emulator.file_name().unwrap())).unwrap();
    Sandbox::at(directory.to_owned())
}

#[tokio::test]
async fn of_two_servers_at_once_one_starts() {
    let directory = tempfile::tempdir().unwrap();
    let sandbox = sandbox_in(directory.path()).await;
    let (server, refused) = match tokio::join!(sandbox.up(&quiet), sandbox.up(&quiet)) {
        (Ok(server), Err(refused)) | (Err(refused), Ok(server)) => (server, refused),
        (Ok(_), Ok(_)) => panic!("two servers"),
        (Err(e), Err(_)) => panic!("{e}"),
    };
    assert_eq!(refused.message, format!("the sandbox is already running at {}", server.endpoint().url()));
}

/// The process that holds the server holds its standard input, which the kernel closes however that process ends. Then another
/// program can take the port and answer everyone.
#[tokio::test]
async fn no_other_program_is_taken_for_a_killed_server() {
    let directory = tempfile::tempdir().unwrap();
    let sandbox = sandbox_in(directory.path()).await;
    let mut killed = sandbox.up(&quiet).await.unwrap();
    killed.close();
    killed.exited().await;
    let other = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, killed.endpoint().port)).await.unwrap();
    let answers = tokio::spawn(async move {
        use tokio::io::AsyncWriteExt;
        while let Ok((mut stream, _)) = other.accept().await {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n{}").await;
        }
    });
    let message = sandbox.endpoint().await.unwrap_err().message;
    assert!(message.starts_with("the sandbox is not running: its last server was killed"), "{message}");
    answers.abort();

    let server = sandbox.up(&quiet).await.unwrap();
    drop(killed);
    assert_eq!(&sandbox.endpoint().await.unwrap(), server.endpoint(), "the file of the running one stays");
}

#[test]
fn the_variables_point_at_the_sandbox_only() {
    let secret = Secret::new().unwrap();
    let token = secret.clone();
    let variables = Endpoint { port: 4566, proof: secret.clone(), secret }.variables("eu-north-1");
    let value = |name| {
        let found = variables.set.iter().find(|(n, _)| *n == name);
        found.map(|(_, v)| v.as_str())
    };
    let table = [
        ("AWS_ENDPOINT_URL", Some("http://127.0.0.1:4566")),
        ("AWS_ACCESS_KEY_ID", Some("test")),
        ("AWS_SECRET_ACCESS_KEY", Some("test")),
        ("AWS_REGION", Some("eu-north-1")),
        ("AWS_DEFAULT_REGION", Some("eu-north-1")),
        ("AWS_SESSION_TOKEN", Some(token.as_str())),
        ("AWS_PROFILE", None),
    ];
    for (name, expected) in table {
        assert_eq!(value(name), expected, "{name}");
        assert_eq!(variables.unset.iter().any(|n| n == name), expected.is_none(), "{name}");
    }
}

#[test]
fn endpoints_of_single_services_are_unset() {
    for (name, expected) in [
        ("AWS_ENDPOINT_URL_SQS", true),
        ("AWS_ENDPOINT_URL_API_GATEWAY", true),
        ("AWS_ENDPOINT_URL", false),
        ("AWS_ENDPOINT_URL_", false),
        ("AWS_ENDPOINT_URL_$(id)", false),
    ] {
        assert_eq!(is_endpoint_of_service(name), expected, "{name}");
    }
}

#[test]
fn two_secrets_differ_and_are_not_shown() {
    let (one, other) = (Secret::new().unwrap(), Secret::new().unwrap());
    assert_ne!(one, other);
    let written = serde_json::to_string(&one).unwrap();
    assert_eq!(serde_json::from_str::<Secret>(&written).unwrap(), one);
    assert_eq!(format!("{one:?}"), "Secret");
}

#[test]
fn a_secret_is_digits_and_nothing_else() {
    let digits = "0123456789abcdef0123456789abcdef";
    for (text, valid) in [
        (digits, true),
        ("", false),
        (&digits[1..], false),
        (&format!("{digits}0"), false),
        ("0123456789ABCDEF0123456789ABCDEF", false),
        ("$(kibus)\nexport PATH=.;01234567", false),
    ] {
        assert_eq!(Secret::try_from(text.to_owned()).is_ok(), valid, "{text:?}");
    }
}
