//! The sandbox for real: what it needs is installed once, into the user's sandbox or `KIBUS_SANDBOX_HOME`.

use std::net::{Ipv4Addr, SocketAddr, TcpStream, UdpSocket};

use super::*;

fn quiet(_: Step) {}

/// An address of this machine that is not loopback, if it has one. Nothing is sent.
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
async fn a_private_server_answers_on_loopback_only_and_ends_when_it_is_dropped() {
    let sandbox = Sandbox::open().unwrap();
    let server = sandbox.start_private(&[("AUTH", "true")], &quiet).await.unwrap();
    let Endpoint { port } = server.endpoint();
    let health = http::request(port, "GET", "/_ministack/health").await.unwrap();
    assert_eq!(health.status, 200);
    assert!(health.body.contains(r#""auth": "enabled""#), "extra environment");
    if let Some(outward) = outward_address() {
        assert!(!listens((outward, port).into()), "reachable from outside");
    }
    let log = server.log_path();
    assert!(log.exists(), "log");
    drop(server);
    assert!(!listens((Ipv4Addr::LOCALHOST, port).into()), "still there");
    assert!(!log.exists(), "its files are removed");
}

/// Whoever holds the server holds its standard input, which the kernel closes in any kind of death.
#[tokio::test]
async fn a_private_server_ends_when_its_holder_is_killed() {
    let python = Sandbox::open().unwrap().installed(&quiet).await.unwrap();
    let directory = tempfile::tempdir().unwrap();
    let started = server::start(&python, directory.path(), Lifetime::Watched, &[], |_| Ok(()));
    let mut started = started.await.unwrap();
    drop(started.child.stdin.take());
    let ended = gone(&started.record).await;
    server::end_child(started.child);
    assert!(ended);
}

#[tokio::test]
async fn the_users_server_is_started_once_and_ended_once() {
    let parent = Sandbox::open().unwrap();
    parent.install(&quiet).await.unwrap();
    // What is installed is shared; what is known of the server is not.
    let directory = tempfile::tempdir().unwrap();
    let sandbox = Sandbox::at(directory.path().join("sandbox"));
    for entry in std::fs::read_dir(parent.home.path()).unwrap() {
        let entry = entry.unwrap();
        if entry.file_name().to_string_lossy().starts_with("emulator-") {
            std::fs::create_dir_all(sandbox.home.path()).unwrap();
            let link = sandbox.home.path().join(entry.file_name());
            std::os::unix::fs::symlink(entry.path(), link).unwrap();
        }
    }

    assert_eq!(sandbox.status().await.unwrap(), Status::Down);
    assert!(matches!(sandbox.endpoint().await, Err(Problem::NotRunning)));
    assert_eq!(sandbox.down().await.unwrap(), None, "nothing to end");

    // At the same time: one starts it, the other finds it.
    let (one, other) = tokio::join!(sandbox.up(&quiet), sandbox.up(&quiet));
    let (record, found) = match (one.unwrap(), other.unwrap()) {
        (Up::Started(record), Up::Already(found)) | (Up::Already(found), Up::Started(record)) => (record, found),
        both => panic!("one starts it, one finds it: {both:?}"),
    };
    assert_eq!(record, found);
    assert_eq!(sandbox.status().await.unwrap(), Status::Up(record.clone()));
    assert_eq!(sandbox.endpoint().await.unwrap(), record.endpoint());
    sandbox.reset().await.unwrap();

    assert_eq!(sandbox.down().await.unwrap(), Some(record));
    assert_eq!(sandbox.status().await.unwrap(), Status::Down);
    assert_eq!(sandbox.down().await.unwrap(), None, "ended already");
}
