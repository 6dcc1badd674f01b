//! The ministack that scenarios and the tests of the proxy share. Each test has its own account.

use std::sync::OnceLock;

use kibus::sandbox::SandboxServer;
use kibus_harness::aws_like::FunctionProxy;
use tokio::runtime::Runtime;

use super::AwsLike;
use crate::support::emulator::private_server;

/// The one server of this process, which stops with it.
pub(crate) struct Server {
    /// Runs the tests that use the server.
    pub(crate) runtime: Runtime,
    server: SandboxServer,
    functions: FunctionProxy,
}

impl Server {
    /// Starts it if this is the first test that needs it.
    pub(crate) fn shared() -> &'static Self {
        static SERVER: OnceLock<Server> = OnceLock::new();
        SERVER.get_or_init(|| {
            let runtime = Runtime::new().unwrap();
            let (server, functions) = runtime.block_on(async {
                let functions = FunctionProxy::listen().await;
                let variables = [("AWS_ENDPOINT_URL", functions.url.as_str())];
                let server = private_server(&variables).await;
                functions.forward_to(server.endpoint().port);
                (server, functions)
            });
            Self { runtime, server, functions }
        })
    }

    /// The port of the emulator itself.
    pub(crate) fn port(&self) -> u16 {
        self.server.endpoint().port
    }

    /// From now on, the functions of this account call AWS through these behaviors.
    pub(crate) fn route_functions(&self, account: &str, like: &AwsLike) {
        self.functions.route(account, like);
    }
}
