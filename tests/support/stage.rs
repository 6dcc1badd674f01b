//! A private emulator for one test, a cloud on it, and kibus commands for it.

use std::process::{Command, Stdio};

use kibus::aws::{AwsCloud, Connect};
use kibus::cloud::Read;
use kibus::model::{Alias, Resource, ResourceId, scope::LIVE};
use kibus::sandbox::SandboxServer;

use super::emulator::private_server;

const REGION: &str = "us-west-2";

/// A running emulator, in which bus `kibus` does not exist yet. Dropping it stops the emulator.
pub(crate) struct Stage {
    /// The bus on it.
    pub(crate) cloud: AwsCloud,
    server: SandboxServer,
}

impl Stage {
    pub(crate) async fn open() -> Self {
        let server = private_server(&[]).await;
        let connect = Connect {
            session_token: Some(server.endpoint().secret.as_str().to_owned()),
            ..Connect::to_emulator(REGION.parse().unwrap(), server.endpoint().url())
        };
        let session = connect.connect().await.unwrap();
        Self { cloud: AwsCloud::new(&session, "kibus".parse().unwrap()), server }
    }

    /// The port of the emulator.
    pub(crate) fn port(&self) -> u16 {
        self.server.endpoint().port
    }

    /// A kibus command with these arguments.
    pub(crate) fn kibus(&self, arguments: &str) -> Command {
        self.kibus_through(&self.server.endpoint().url(), arguments)
    }

    /// The command, through a proxy at this endpoint.
    pub(crate) fn kibus_through(&self, endpoint: &str, arguments: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kibus"));
        command
            .args(arguments.split_whitespace())
            .args(["--region", REGION, "--endpoint-url", endpoint])
            .env_clear()
            .env("AWS_ACCESS_KEY_ID", "test")
            .env("AWS_SECRET_ACCESS_KEY", "test")
            .env("AWS_SESSION_TOKEN", self.server.endpoint().secret.as_str())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// The alias `live`, if it exists.
    pub(crate) async fn live(&self) -> Option<Alias> {
        let id = ResourceId::Alias(self.cloud.scope().router_function(), LIVE.to_owned());
        let alias = self.cloud.read(&id).await.unwrap();
        alias.as_ref().and_then(Resource::as_alias).cloned()
    }
}
