//! A test's access to an emulator: its own account, a cloud on it, kibus commands, and calls that bypass kibus.

use std::process::{Command, Stdio};

use kibus::aws::{AwsCloud, Connect, Session};

use super::account::Account;
use super::corrected_emulator;
use super::emulator::{Kind, SharedServer, free_account, in_background, moto, secret};
use crate::aws_like::{AwsLike, Proxy};

const REGION: &str = "us-west-2";

/// An account on an emulator, in which bus `kibus` does not exist yet. Dropping this deletes its functions.
pub(crate) struct Stage {
    /// The bus in it.
    pub(crate) cloud: AwsCloud,
    /// The account, called without kibus and without the proxy.
    pub(crate) account: Account,
    /// Where kibus calls it: the emulator, or a proxy in front of it.
    pub(crate) endpoint: String,
    pub(crate) kind: Kind,
    _functions: Option<Functions>,
}

impl Stage {
    /// A free account on a shared ministack.
    pub(crate) async fn new() -> Self {
        let server = SharedServer::plain();
        let account = Account::new(&free_account(), server.port(), REGION);
        Self::of(account, server.endpoint.clone(), Kind::Ministack).await
    }

    /// A free account on a shared emulator, behind a proxy that corrects it and answers the self-tests of routers.
    pub(crate) async fn corrected(kind: Kind, region: &str) -> Self {
        let server = match kind {
            Kind::Ministack => SharedServer::plain().port(),
            Kind::Moto => moto(),
        };
        let account = Account::new(&free_account(), server, region);
        let proxy = corrected_emulator::start(server, kind, &account.id).await;
        let server = match kind {
            Kind::Ministack => server,
            // Only the proxy names the account in moto's format.
            Kind::Moto => port_of(&proxy),
        };
        Self::of(Account { server, ..account }, proxy, kind).await
    }

    async fn of(account: Account, endpoint: String, kind: Kind) -> Self {
        let cloud = cloud(&connect(&account, &endpoint)).await;
        let _functions = (kind == Kind::Ministack).then(|| Functions(account.clone()));
        Self { cloud, account, endpoint, kind, _functions }
    }

    /// A free account on a shared ministack behind the AWS-like proxy, whose behaviors are off.
    pub(crate) async fn like_aws() -> (Self, AwsLike) {
        let stage = Self::new().await;
        let Proxy { url, like } = Proxy::start(stage.port(), "none").await;
        (Self { cloud: stage.cloud_at(&url).await, endpoint: url, ..stage }, like)
    }

    /// The bus through the server at this endpoint, which passes calls on to the account.
    pub(crate) async fn cloud_at(&self, endpoint: &str) -> AwsCloud {
        cloud(&connect(&self.account, endpoint)).await
    }

    pub(crate) async fn session(&self) -> Session {
        connect(&self.account, &self.endpoint).connect().await.unwrap()
    }

    /// A kibus command with these arguments.
    pub(crate) fn kibus(&self, line: &str) -> Command {
        self.kibus_with(&line.split_whitespace().collect::<Vec<_>>())
    }

    pub(crate) fn kibus_with(&self, arguments: &[&str]) -> Command {
        let Account { id, region, server } = &self.account;
        let mut command = Command::new(env!("CARGO_BIN_EXE_kibus"));
        command
            .args(arguments)
            .args(["--region", region, "--endpoint-url", &self.endpoint])
            .env_clear()
            .env("AWS_ACCESS_KEY_ID", id)
            .env("AWS_SECRET_ACCESS_KEY", "test")
            .envs(secret(*server).map(|secret| ("AWS_SESSION_TOKEN", secret)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// The port of the emulator.
    pub(crate) fn port(&self) -> u16 {
        self.account.server
    }
}

/// The port of an endpoint.
pub(crate) fn port_of(endpoint: &str) -> u16 {
    endpoint.rsplit_once(':').unwrap().1.parse().unwrap()
}

fn connect(Account { id, server, region }: &Account, endpoint: &str) -> Connect {
    Connect {
        account: Some(id.parse().unwrap()),
        session_token: secret(*server),
        ..Connect::to_emulator(region.parse().unwrap(), endpoint.to_owned())
    }
}

async fn cloud(connect: &Connect) -> AwsCloud {
    AwsCloud::new(&connect.connect().await.unwrap(), "kibus".parse().unwrap())
}

/// The functions of an account. In ministack, each has a process and two threads until it is deleted.
struct Functions(Account);

impl Drop for Functions {
    fn drop(&mut self) {
        let account = self.0.clone();
        // The test may have failed, and the emulator with it.
        let _ = in_background(async move || account.delete_functions().await);
    }
}
