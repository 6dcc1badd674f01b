//! A run: its account, its bus, its clients, and the real kibus binary.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::io::Write;
use std::process::Stdio;
use std::time::{Duration, Instant};

use aws_config::{BehaviorVersion, SdkConfig};
use aws_sdk_sts::config::{Credentials, ProvideCredentials, SharedCredentialsProvider};
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponentsBuilder;
use aws_smithy_runtime_api::client::runtime_plugin::StaticRuntimePlugin;
use kibus::wire::aws_json::{JsonClient, TAGGING};

use super::ACCOUNT_VARIABLE;
use super::recorder::Recorder;
use crate::recorded::Secrets;
use crate::support::emulator::https;
use crate::support::inventory::Inventory;

/// How the name of every bus of this test begins.
pub(super) const PREFIX: &str = "kibus-rt-";

/// The length of the name of such a bus.
pub(super) const BUS_LENGTH: usize = PREFIX.len() + 8;

/// The variable with the length of a second in milliseconds. Where nothing is late, waits can be shorter.
pub(super) const SECOND_VARIABLE: &str = "KIBUS_REAL_ACCOUNT_SECOND";

/// A run of the test in one account and Region.
#[derive(Clone)]
pub(super) struct Run {
    /// The name of the bus.
    pub(super) bus: String,
    /// The account's id.
    pub(super) account: String,
    /// The Region.
    pub(super) region: String,
    /// The partition.
    pub(super) partition: String,
    /// The configuration of the clients.
    pub(super) config: SdkConfig,
    pub(super) events: aws_sdk_eventbridge::Client,
    pub(super) iam: aws_sdk_iam::Client,
    pub(super) lambda: aws_sdk_lambda::Client,
    pub(super) sqs: aws_sdk_sqs::Client,
    pub(super) sts: aws_sdk_sts::Client,
    pub(super) tagging: JsonClient,
    /// Records the answers to these clients.
    pub(super) recorder: Recorder,
    second: Duration,
    begun: Instant,
}

/// How a command of kibus ended.
pub(super) struct Ended {
    /// The exit code; `None` if a signal ended it.
    pub(super) code: Option<i32>,
    /// Standard output.
    pub(super) stdout: String,
    /// Both outputs.
    pub(super) text: String,
}

/// Prints a line. The test harness does not capture it.
pub(super) fn say(line: &str) {
    let mut stdout = std::io::stdout().lock();
    // Nobody may read it any more after an interruption, and cleaning goes on.
    let _ = writeln!(stdout, "{line}").and_then(|()| stdout.flush());
}

impl Run {
    /// A run with the caller's ordinary configuration.
    ///
    /// # Errors
    /// The variable is missing, or these credentials belong to another account. Nothing is changed then.
    pub(super) async fn new(wanted: Option<String>) -> Result<Self, String> {
        let wanted = wanted_account(wanted.as_deref())?;
        let config = aws_config::defaults(BehaviorVersion::v2026_01_12()).http_client(https()).load().await;
        config.region().ok_or("No Region is set. Set AWS_REGION.")?;
        let sts = aws_sdk_sts::Client::new(&config);
        let caller = sts.get_caller_identity().send().await;
        let caller = caller.map_err(|e| format!("AWS does not say who the caller is: {:?}", e.into_source()))?;
        let (account, arn) = (caller.account().unwrap_or_default(), caller.arn().unwrap_or_default());
        if account != wanted {
            return Err(format!(
                "{ACCOUNT_VARIABLE} is {wanted}, but these credentials belong to account {account} ({arn}). \
                 Nothing was changed. Use credentials of {wanted}."
            ));
        }
        Ok(Self::with(&config, account, arn))
    }

    /// A run with this configuration, account and caller.
    pub(super) fn with(config: &SdkConfig, account: &str, caller: &str) -> Self {
        Self::connected(config, account, caller, Recorder::new())
    }

    fn connected(config: &SdkConfig, account: &str, caller: &str, recorder: Recorder) -> Self {
        macro_rules! client {
            ($sdk:ident) => {
                $sdk::Client::from_conf($sdk::config::Builder::from(config).interceptor(recorder.clone()).build())
            };
        }
        let json = |service| {
            let components = RuntimeComponentsBuilder::new("recorder").with_interceptor(recorder.clone());
            JsonClient::new(config, service, StaticRuntimePlugin::new().with_runtime_components(components))
        };
        let second = std::env::var(SECOND_VARIABLE).map_or(1000, |text| text.parse().unwrap());
        let random = RandomState::new().build_hasher().finish() & 0xffff_ffff;
        Self {
            bus: format!("{PREFIX}{random:08x}"),
            account: account.to_owned(),
            region: config.region().map(ToString::to_string).unwrap_or_default(),
            partition: caller.split(':').nth(1).unwrap_or("aws").to_owned(),
            events: client!(aws_sdk_eventbridge),
            iam: client!(aws_sdk_iam),
            lambda: client!(aws_sdk_lambda),
            sqs: client!(aws_sdk_sqs),
            sts: client!(aws_sdk_sts),
            tagging: json(TAGGING),
            config: config.clone(),
            recorder,
            second: Duration::from_millis(second),
            begun: Instant::now(),
        }
    }

    /// This run with another length of a second.
    pub(super) fn with_second(self, second: Duration) -> Self {
        Self { second, ..self }
    }

    /// What there is in its account and Region.
    pub(super) fn inventory(&self) -> Inventory {
        Inventory::new(&self.config)
    }

    /// This run, whose answers are recorded apart from those of all others.
    pub(super) fn recorded(&self) -> Self {
        self.again(&self.config, Recorder::new())
    }

    /// This run with the credentials of a role. The answers are recorded together.
    pub(super) fn with_credentials(&self, keys: Credentials) -> Self {
        let config = self.config.to_builder().credentials_provider(SharedCredentialsProvider::new(keys));
        self.again(&config.build(), self.recorder.clone())
    }

    fn again(&self, config: &SdkConfig, recorder: Recorder) -> Self {
        Self {
            bus: self.bus.clone(),
            partition: self.partition.clone(),
            second: self.second,
            begun: self.begun,
            ..Self::connected(config, &self.account, "", recorder)
        }
    }

    /// What a recording of this run must not contain.
    pub(super) async fn secrets(&self) -> Secrets {
        let bus = (self.bus.clone(), "kibus-rt-00000000");
        let keys = match self.config.credentials_provider() {
            Some(provider) => provider.provide_credentials().await.ok(),
            None => None,
        };
        let keys = keys.into_iter().flat_map(|keys| {
            let token = keys.session_token().unwrap_or_default().to_owned();
            [keys.access_key_id().to_owned(), keys.secret_access_key().to_owned(), token]
        });
        // A key id of an emulator may be the account, or a word.
        let keys = keys.filter(|key| key.len() > 12).map(|key| (key, "removed"));
        Secrets::of(keys.chain([bus]))
    }

    /// Where the run is, for its recordings.
    pub(super) fn place(&self) -> String {
        match self.config.endpoint_url() {
            Some(_) => "an emulator".to_owned(),
            None => format!("AWS, {}", self.region),
        }
    }

    /// The template of the queues of the clusters. It keeps them apart from all other clusters of the account.
    pub(super) fn queue_template(&self) -> String {
        format!("{}-c-{{cluster}}", self.bus)
    }

    /// The name of something that the test itself creates.
    pub(super) fn name(&self, what: &str) -> String {
        format!("{}-o-{what}", self.bus)
    }

    /// The name of a role that the test itself creates. Roles have no Region, so their names have it.
    pub(super) fn role(&self, what: &str) -> String {
        format!("{}-o-{what}-{}", self.bus, self.region)
    }

    /// An ARN in this account and Region.
    pub(super) fn arn(&self, service: &str, resource: &str) -> String {
        let Self { partition, region, account, .. } = self;
        let region = if service == "iam" { "" } else { region };
        format!("arn:{partition}:{service}:{region}:{account}:{resource}")
    }

    /// Waits for this many seconds.
    pub(super) async fn wait(&self, seconds: u32) {
        tokio::time::sleep(self.second * seconds).await;
    }

    /// Asks again every second until there is an answer; gives it with the seconds that it took.
    pub(super) async fn until<T>(&self, bound: u32, mut ask: impl AsyncFnMut() -> Option<T>) -> Option<(T, f64)> {
        let begun = Instant::now();
        loop {
            if let Some(answer) = ask().await {
                return Some((answer, begun.elapsed().as_secs_f64()));
            }
            if begun.elapsed() > self.second * bound {
                return None;
            }
            self.wait(1).await;
        }
    }

    /// Prints what happens, with the time since the begin.
    pub(super) fn tell(&self, line: &str) {
        say(&format!("{:7.1} s  {line}", self.begun.elapsed().as_secs_f64()));
    }

    /// Runs kibus on this bus. Dropping the future kills it.
    pub(super) async fn kibus(&self, bus: &str, words: &[&str]) -> Ended {
        let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_kibus"));
        for (name, _) in std::env::vars_os() {
            // Options of kibus come from here alone, except the router, which must fit Lambda's libraries.
            if name.to_string_lossy().starts_with("KIBUS_") && name != "KIBUS_ROUTER_BINARY" {
                command.env_remove(name);
            }
        }
        let output = command
            .args(words)
            .args(["--bus", bus, "--region", &self.region, "--color", "never", "--no-input"])
            .stdin(Stdio::null())
            // Ctrl-C is for the test, which then deletes what this command made.
            .process_group(0)
            .kill_on_drop(true)
            .output()
            .await
            .unwrap();
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        let stderr = String::from_utf8_lossy(&output.stderr);
        Ended { code: output.status.code(), text: format!("$ kibus {}\n{stdout}{stderr}", words.join(" ")), stdout }
    }
}

fn wanted_account(variable: Option<&str>) -> Result<&str, String> {
    const HOW: &str = "This test creates a bus in a real AWS account and deletes it again, for about one cent. \
                       docs/real-account.md describes it. Name the account to run it:\n    \
                       KIBUS_REAL_ACCOUNT=111122223333 cargo test --test main real_account -- --ignored";
    match variable {
        Some(id) if id.len() == 12 && id.bytes().all(|byte| byte.is_ascii_digit()) => Ok(id),
        Some(other) => Err(format!("{ACCOUNT_VARIABLE} is `{other}`, which is no account id of 12 digits.\n{HOW}")),
        None => Err(format!("{ACCOUNT_VARIABLE} is not set.\n{HOW}")),
    }
}
