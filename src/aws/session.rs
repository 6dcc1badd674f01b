//! The session with AWS: credentials, Region, account and partition, found once before anything else.

use crate::model::resource::calls::sts;
use std::sync::Arc;
use std::time::Duration;

use aws_config::SdkConfig;
use aws_config::profile::{ProfileFileCredentialsProvider, ProfileFileLoadError, ProfileSet};
use aws_config::provider_config::ProviderConfig;
use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;
use aws_credential_types::provider::error::CredentialsError;
use aws_credential_types::provider::{ProvideCredentials, future};
use aws_runtime::env_config::file::EnvConfigFiles;
use aws_sdk_sts::config::{Credentials, SharedCredentialsProvider};
use aws_types::os_shim_internal::{Env, Fs};
use tokio::sync::watch;

use super::call_log::CallLog;
use super::connect_error::ConnectError;
use super::error::{failed, rejected};
use super::http_client::{behavior, http_client, plain_endpoint};
use super::pace::Pace;
use super::retry::FinalAnswers;
use crate::cloud::{Fault, FaultKind, Waiting};
use crate::model::answer::Slowdown;
use crate::model::name::{AccountId, BusName, Partition, Region};
use crate::model::scope::{GlobalOptions, Scope};

/// The longest time of a call.
const LONGEST: Duration = Duration::from_secs(300);
/// The longest time of the first call. Without a server it should fail soon.
const FIRST: Duration = Duration::from_secs(30);

/// How to connect to AWS. What is not given comes from the environment or the profile.
#[derive(Clone, Debug, Default)]
pub struct Connect {
    /// The Region; else the environment's, else the profile's.
    pub region: Option<Region>,
    /// The profile; else the environment's, else `default`.
    pub profile: Option<String>,
    /// The endpoint of every service; else the environment's or the profile's, else AWS's own.
    pub endpoint_url: Option<String>,
    /// Whether calls may go without encryption to a host that is not loopback.
    pub allow_http: bool,
    /// Ignore the environment and all profiles, and use credentials that are valid only for an emulator.
    pub isolated: bool,
    /// In isolation, the account: emulators use a key id of twelve digits as the account.
    pub account: Option<AccountId>,
    /// In isolation, the session token, if the emulator requires one.
    pub session_token: Option<String>,
}

/// An authenticated caller in a Region.
#[derive(Clone, Debug)]
pub struct Session {
    config: SdkConfig,
    pub(super) pace: Arc<Pace>,
    /// The caller's account.
    pub account: AccountId,
    /// The partition that the account is in, from the caller's ARN.
    pub partition: Partition,
    /// The Region.
    pub region: Region,
    /// The caller's ARN.
    pub caller: String,
}

impl Connect {
    /// Finds credentials and a Region, and calls `sts:GetCallerIdentity`.
    ///
    /// # Errors
    /// When there is no such profile or no Region, an endpoint is not encrypted, or that call fails.
    pub async fn connect(&self) -> Result<Session, ConnectError> {
        let config = if self.isolated {
            self.isolated_config()
        } else {
            require_profile(self.profile.as_deref()).await?;
            checked(self.shared_config().await)
        };
        if !self.allow_http
            && let Some((endpoint, service)) = plain_endpoint(&config)
        {
            return Err(ConnectError::PlainHttp { endpoint, service });
        }
        let region: Region = config.region().ok_or(ConnectError::NoRegion)?.as_ref().parse()?;
        let endpoint = config.endpoint_url().map(str::to_owned);
        let refused = |fault: Fault| match fault.kind {
            FaultKind::Unreachable if endpoint.is_none() && fault.message.contains("lookup") => {
                ConnectError::NoEndpoint {
                    region: region.clone(),
                    cause: fault.message,
                }
            }
            _ => ConnectError::Refused {
                fault,
                endpoint: endpoint.clone(),
                profile: self.profile.clone(),
            },
        };
        let pace = Arc::default();
        let (account, caller) = identity(&pace, &config, FIRST).await.map_err(refused)?;
        let partition = caller.split(':').nth(1).unwrap_or_default().parse()?;
        Ok(Session {
            account: account.parse()?,
            partition,
            region,
            caller,
            config,
            pace,
        })
    }

    async fn shared_config(&self) -> SdkConfig {
        let mut loader = aws_config::defaults(behavior())
            .retry_config(retries())
            .timeout_config(timeouts());
        if let Some(client) = http_client() {
            loader = loader.http_client(client);
        }
        if let Some(region) = &self.region {
            loader = loader.region(aws_config::Region::new(region.to_string()));
        }
        if let Some(profile) = &self.profile {
            loader = loader.profile_name(profile);
        }
        if let Some(endpoint) = &self.endpoint_url {
            loader = loader.endpoint_url(endpoint);
        }
        let config = loader.load().await;
        match &self.profile {
            Some(profile) => with_profile(config, profile),
            None => config,
        }
    }

    fn isolated_config(&self) -> SdkConfig {
        let key = self.account.as_ref().map_or("test", AccountId::as_str);
        let credentials = Credentials::new(key, "test", self.session_token.clone(), None, "isolated");
        let mut config = SdkConfig::builder()
            .behavior_version(behavior())
            .retry_config(retries())
            .timeout_config(timeouts())
            .credentials_provider(SharedCredentialsProvider::new(credentials));
        config.set_http_client(http_client());
        config.set_region(
            self.region
                .as_ref()
                .map(|region| aws_config::Region::new(region.to_string())),
        );
        config.set_endpoint_url(self.endpoint_url.clone());
        config.build()
    }
}

impl Session {
    /// A bus in this session's account and Region.
    pub fn scope(&self, bus: BusName) -> Scope {
        Scope {
            bus,
            account: self.account.clone(),
            region: self.region.clone(),
            partition: self.partition.clone(),
            options: GlobalOptions::default(),
        }
    }

    /// What AWS has throttled, now and from now on.
    pub fn slowdown(&self) -> watch::Receiver<Slowdown> {
        self.pace.slowdown()
    }

    /// The endpoint of every service, if it is not AWS's own.
    pub fn endpoint_url(&self) -> Option<&str> {
        self.config.endpoint_url()
    }

    /// The configuration of the clients of every service.
    pub fn config(&self) -> &SdkConfig {
        &self.config
    }
}

/// The account and the ARN of the caller.
async fn identity(pace: &Pace, config: &SdkConfig, longest: Duration) -> Result<(String, String), Fault> {
    let action = sts::GET_CALLER_IDENTITY;
    let config = aws_sdk_sts::config::Builder::from(config)
        .interceptor(CallLog)
        .retry_classifier(FinalAnswers)
        .retry_config(RetryConfig::standard().with_max_attempts(2))
        .timeout_config(
            timeouts()
                .to_builder()
                .read_timeout(Duration::from_secs(10))
                .operation_timeout(longest)
                .build(),
        )
        .build();
    let sts = aws_sdk_sts::Client::from_conf(config);
    let attempt = || async { sts.get_caller_identity().send().await.map_err(|e| failed(action, &e)) };
    let answer = pace.call(action, Waiting::unattended(), attempt).await?;
    answer
        .account
        .zip(answer.arn)
        .ok_or_else(|| rejected(action, "the answer names no account"))
}

/// Fails if the AWS configuration has no such profile, or not the one of `AWS_PROFILE`, which the SDK would ignore. A
/// configuration that cannot be read is reported with the credentials.
async fn require_profile(given: Option<&str>) -> Result<(), ConnectError> {
    let variable = std::env::var("AWS_PROFILE").ok().filter(|profile| !profile.is_empty());
    let Some(profile) = given.or(variable.as_deref()) else {
        return Ok(());
    };
    match profile_files().await {
        Ok(profiles) if profiles.get_profile(profile).is_none() => Err(ConnectError::NoProfile {
            profile: profile.to_owned(),
            given: given.is_some(),
        }),
        _ => Ok(()),
    }
}

async fn profile_files() -> Result<ProfileSet, ProfileFileLoadError> {
    aws_config::profile::load(&Fs::real(), &Env::real(), &EnvConfigFiles::default(), None).await
}

/// The names of the profiles in the AWS configuration, sorted; none if it cannot be read.
pub async fn profiles() -> Vec<String> {
    let files = profile_files().await;
    let mut names: Vec<String> = files.iter().flat_map(ProfileSet::profiles).map(str::to_owned).collect();
    names.sort();
    names
}

/// A profile that was given takes precedence over credentials in the environment, as with the AWS CLI. The SDK does it the
/// other way round.
fn with_profile(config: SdkConfig, profile: &str) -> SdkConfig {
    let mut provider_config = ProviderConfig::without_region().with_region(config.region().cloned());
    if let Some(client) = config.http_client() {
        provider_config = provider_config.with_http_client(client);
    }
    let provider = ProfileFileCredentialsProvider::builder()
        .configure(&provider_config)
        .profile_name(profile)
        .build();
    config
        .into_builder()
        .credentials_provider(SharedCredentialsProvider::new(provider))
        .build()
}

/// Fails where credentials have a character that no request can carry, like a key id with the newline of the file that it came
/// from: the SDK panics on it.
#[derive(Debug)]
struct Checked(SharedCredentialsProvider);

impl ProvideCredentials for Checked {
    fn provide_credentials<'a>(&'a self) -> future::ProvideCredentials<'a>
    where
        Self: 'a,
    {
        future::ProvideCredentials::new(async {
            let credentials = self.0.provide_credentials().await?;
            for (name, value) in [
                ("the access key id", Some(credentials.access_key_id())),
                ("the session token", credentials.session_token()),
            ] {
                if value.is_some_and(|value| !value.bytes().all(|b| b.is_ascii_graphic())) {
                    let why = format!("{name} has a space, a newline or another character that AWS never uses");
                    return Err(CredentialsError::invalid_configuration(why));
                }
            }
            Ok(credentials)
        })
    }
}

fn checked(config: SdkConfig) -> SdkConfig {
    let Some(provider) = config.credentials_provider() else {
        return config;
    };
    let checked = SharedCredentialsProvider::new(Checked(provider));
    config.into_builder().credentials_provider(checked).build()
}

/// Enough to outlast a service that fails for some seconds. Throttled calls are no part of it ([`Pace`]).
fn retries() -> RetryConfig {
    RetryConfig::standard().with_max_attempts(6)
}

/// A connection is made quickly or not at all; an answer may take as long as the upload of an archive. A call with all its
/// retries and the whole answer ends after [`LONGEST`].
fn timeouts() -> TimeoutConfig {
    TimeoutConfig::builder()
        .connect_timeout(Duration::from_secs(4))
        .read_timeout(Duration::from_secs(90))
        .operation_timeout(LONGEST)
        .build()
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::TcpListener;
    use std::thread;
    use std::time::Instant;

    use super::*;

    #[tokio::test]
    async fn an_answer_that_never_ends_is_given_up() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let connect = Connect {
            region: Some("us-west-2".parse().unwrap()),
            endpoint_url: Some(format!("http://{}", listener.local_addr().unwrap())),
            isolated: true,
            ..Connect::default()
        };
        thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                thread::spawn(move || {
                    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/xml\r\ncontent-length: 9999999\r\n\r\n";
                    let mut written = stream.write_all(head.as_bytes());
                    while written.is_ok() {
                        thread::sleep(Duration::from_millis(20));
                        written = stream.write_all(b"<");
                    }
                });
            }
        });
        let began = Instant::now();
        let pace = Pace::default();
        let fault = identity(&pace, &connect.isolated_config(), Duration::from_millis(500))
            .await
            .unwrap_err();
        assert_eq!(fault.kind, FaultKind::Unreachable, "{fault:?}");
        assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
        // The other calls have the same limit, for more time.
        let config = connect.isolated_config();
        assert_eq!(config.timeout_config().unwrap().operation_timeout(), Some(LONGEST));
    }
}
