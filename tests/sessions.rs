//! Sessions: the caller's identity, and the errors when it is unknown.

use kibus::aws::{Connect, ConnectError};
use kibus::error::{Error, ErrorKind};

use crate::support::emulator::{ACCOUNT, Emulator, Kind};
use crate::support::proxy::Port;

#[tokio::test]
async fn a_session_knows_account_region_and_partition() {
    for (kind, account) in [(Kind::Ministack, ACCOUNT), (Kind::Moto, "123456789012")] {
        let emulator = Emulator::start(kind).await;
        let session = emulator.session().await;
        let identity = (
            session.account.as_str(),
            session.region.as_str(),
            session.partition.as_str(),
        );
        assert_eq!(identity, (account, "us-west-2", "aws"), "{kind:?}");
        assert_eq!(session.endpoint_url(), Some(emulator.endpoint.as_str()));
    }
}

#[tokio::test]
async fn the_endpoint_does_not_respond() {
    // A port on which nothing listens.
    let port = Port::open().await.number();
    let connect = Connect {
        region: Some("us-west-2".parse().unwrap()),
        endpoint_url: Some(format!("http://127.0.0.1:{port}")),
        isolated: true,
        ..Connect::default()
    };
    let error = Error::from(connect.connect().await.unwrap_err());
    assert_eq!(error.kind, ErrorKind::Failed);
    assert_eq!(
        error.message,
        format!("endpoint `http://127.0.0.1:{port}` does not answer")
    );
}

#[tokio::test]
async fn no_region_is_configured() {
    let connect = Connect {
        isolated: true,
        ..Connect::default()
    };
    assert_eq!(connect.connect().await.unwrap_err(), ConnectError::NoRegion);
}
