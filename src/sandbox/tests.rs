//! Tests with the real emulator, which is installed once, into the user's sandbox or `KIBUS_SANDBOX_HOME`.

use std::net::{Ipv4Addr, SocketAddr, TcpStream, UdpSocket};

use super::*;

fn quiet(_: SetupStep) {}

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
async fn a_private_server_listens_on_loopback_only_and_stops_when_dropped() {
    let sandbox = Sandbox::open().unwrap();
    let server = sandbox.start_private(&[("AUTH", "true")], &quiet).await.unwrap();
    let port = server.endpoint().port;
    let health = http::get(server.endpoint(), "/_ministack/health").await.unwrap();
    assert_eq!(health.status, 200);
    assert!(health.body.contains(r#""auth": "enabled""#), "extra environment");
    if let Some(outward) = outward_address() {
        assert!(!listens((outward, port).into()), "reachable from outside");
    }
    let log = server.log_path();
    assert!(log.exists(), "log");
    drop(server);
    assert!(!listens((Ipv4Addr::LOCALHOST, port).into()), "still listening");
    assert!(!log.exists(), "its files are removed");
}

/// The emulator runs code, so a server answers only requests with its secret, and no web page in the user's browser.
#[tokio::test]
async fn a_server_answers_only_who_has_its_secret() {
    let sandbox = Sandbox::open().unwrap();
    for extra in [&[][..], &[("AUTH", "true")]] {
        let server = sandbox.start_private(extra, &quiet).await.unwrap();
        let Endpoint { port, secret } = server.endpoint();
        let host = format!("Host: 127.0.0.1:{port}");
        let token = format!("X-Amz-Security-Token: {}", secret.as_str());
        let signed = "Authorization: AWS4-HMAC-SHA256 Credential=test/20260101/us-west-2/lambda/aws4_request";
        let other_host = format!("Host: kibus.example:{port}");
        for (headers, expected) in [
            (&[&host[..], &token][..], 200),
            (&["Host: localhost:1", &token], 200),
            (&[&host], 403),
            (&[&host, signed], 403),
            (&[&host, "X-Amz-Security-Token: x"], 403),
            (&[&host, &token, &token], 403),
            (&[&host, &token, "Origin: http://127.0.0.1"], 403),
            (&[&other_host, &token], 403),
        ] {
            let request = format!("GET /2015-03-31/functions/ HTTP/1.1\r\n{}\r\n", headers.join("\r\n"));
            let answer = http::send(*port, &request).await.unwrap();
            // With its own checks on, the emulator refuses an unsigned request that the guard lets pass.
            let passed = answer.status != 403 || !answer.body.contains("the sandbox answers only");
            assert_eq!(passed, expected == 200, "{extra:?} {headers:?}: {answer:?}");
            assert!(passed || !answer.body.contains("Access-Control"), "{headers:?}");
        }
    }
}

/// The holder of the server holds its standard input, which the kernel closes however the holder ends.
#[tokio::test]
async fn a_private_server_stops_when_its_holder_is_killed() {
    let python = Sandbox::open().unwrap().install(&quiet).await.unwrap();
    let directory = tempfile::tempdir().unwrap();
    let started = server::start(&python, directory.path(), Lifetime::Watched, &[], |_| Ok(()));
    let mut started = started.await.unwrap();
    drop(started.child.stdin.take());
    let exited = has_exited(&started.record).await;
    server::stop_child(started.child);
    assert!(exited);
}

#[tokio::test]
async fn the_users_server_is_started_once_and_stopped_once() {
    let parent = Sandbox::open().unwrap();
    parent.install(&quiet).await.unwrap();
    // The installation is shared; the record of the server is not.
    let directory = tempfile::tempdir().unwrap();
    let sandbox = Sandbox {
        home: Home::new(directory.path().join("sandbox")),
    };
    for entry in std::fs::read_dir(parent.home.path()).unwrap() {
        let entry = entry.unwrap();
        if entry.file_name().to_string_lossy().starts_with("emulator-") {
            std::fs::create_dir_all(sandbox.home.path()).unwrap();
            let link = sandbox.home.path().join(entry.file_name());
            std::os::unix::fs::symlink(entry.path(), link).unwrap();
        }
    }

    assert_eq!(sandbox.status().await.unwrap(), ServerStatus::Down);
    assert!(matches!(sandbox.endpoint().await, Err(SandboxError::NotRunning)));
    assert_eq!(sandbox.down().await.unwrap(), None, "nothing to stop");

    // Two calls at once: one starts the server, the other finds it.
    let (one, other) = tokio::join!(sandbox.up(&quiet), sandbox.up(&quiet));
    let (record, found) = match (one.unwrap(), other.unwrap()) {
        (Up::Started(record), Up::AlreadyRunning(found)) | (Up::AlreadyRunning(found), Up::Started(record)) => {
            (record, found)
        }
        both => panic!("expected one start and one running server: {both:?}"),
    };
    assert_eq!(record, found);
    assert_eq!(sandbox.status().await.unwrap(), ServerStatus::Up(record.clone()));
    assert_eq!(sandbox.endpoint().await.unwrap(), record.endpoint());

    assert_eq!(sandbox.down().await.unwrap(), Some(record));
    assert_eq!(sandbox.status().await.unwrap(), ServerStatus::Down);
    assert_eq!(sandbox.down().await.unwrap(), None, "already stopped");
}
