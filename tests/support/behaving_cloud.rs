//! The clients of kibus in an account of the shared emulator, which behaves like AWS.

use kibus::aws::{AwsCloud, Connect};

use crate::aws_like::{Proxy, Server};

/// A cloud behind the AWS-like proxy. Every behavior is off.
pub(crate) struct BehavingCloud {
    pub(crate) proxy: Proxy,
    pub(crate) cloud: AwsCloud,
}

impl BehavingCloud {
    pub(crate) async fn of(account: &str) -> Self {
        let proxy = Proxy::start(Server::shared().port(), "none").await;
        let connect = Connect {
            account: Some(account.parse().unwrap()),
            ..Connect::to_emulator("us-west-2".parse().unwrap(), proxy.url.clone())
        };
        let session = connect.connect().await.unwrap();
        let cloud = AwsCloud::new(&session, "kibus".parse().unwrap());
        Self { proxy, cloud }
    }
}
