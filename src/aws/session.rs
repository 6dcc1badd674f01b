//! The session with AWS: credentials, Region, account and partition, found once before anything else; or why there is
//! no session, and how to fix that. Also the HTTP client of every call: which proxy it uses, and which endpoints it
//! refuses.

use std::net::IpAddr;
use std::pin::pin;
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
use aws_smithy_http_client::proxy::ProxyConfig;
use aws_smithy_http_client::tls::rustls_provider::CryptoMode;
use aws_smithy_http_client::tls::{Provider, TlsContext, TrustStore};
use aws_smithy_http_client::{Builder, Connector};
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, SharedHttpClient, SharedHttpConnector, http_client_fn,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_types::os_shim_internal::{Env, Fs};
use http::Uri;
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use tokio::sync::watch;

use super::error::{failed, rejected};
use super::interceptor::{AnswerDate, CallLog, FinalAnswers};
use super::pace::Pace;
use crate::cloud::{Fault, FaultKind, Waiting};
use crate::error::{Error, quoted};
use crate::model::{AccountId, BusName, GlobalOptions, Partition, Region, Scope, Slowdown, calls::sts, now, slowed_by};
use crate::wire::{behavior, custom_endpoint};

/// The longest time of a call.
const LONGEST: Duration = Duration::from_secs(300);
/// The longest time of the first call. Without a server, it should fail quickly.
const FIRST: Duration = Duration::from_secs(30);

/// The services that a session calls, by their ids in the SDK, and the services that its credentials can come from.
const SERVICES: [&str; 17] = [
    "CloudWatch",
    "CloudWatch Logs",
    "EC2",
    "EKS",
    "EventBridge",
    "fis",
    "IAM",
    "KMS",
    "Lambda",
    "Resource Groups Tagging API",
    "SNS",
    "SQS",
    "SSM",
    "SSO",
    "SSO OIDC",
    "STS",
    "signin",
];

/// How to connect to AWS. Omitted settings come from the environment or the profile. In the sandbox, both are ignored, and
/// the credentials are valid only for an emulator.
#[derive(Clone, Debug, Default)]
pub struct Connect {
    pub options: GlobalOptions,
    /// Whether unencrypted calls to a non-loopback host are allowed.
    pub allow_http: bool,
    /// In the sandbox, the account: emulators use a key id of twelve digits as the account.
    pub account: Option<AccountId>,
    /// In the sandbox, the session token, if the emulator requires one.
    pub session_token: Option<String>,
}

/// An authenticated caller in a Region.
#[derive(Clone, Debug)]
pub struct Session {
    config: SdkConfig,
    pub(super) pace: Arc<Pace>,
    pub account: AccountId,
    /// The partition that the account is in, from the caller's ARN.
    pub partition: Partition,
    pub region: Region,
    pub caller: String,
    /// How many seconds AWS's clock is ahead of the local clock.
    pub(super) ahead: i64,
}

impl Connect {
    pub fn to_emulator(region: Region, endpoint_url: String) -> Self {
        let (region, endpoint_url) = (Some(region), Some(endpoint_url));
        let options = GlobalOptions { region, endpoint_url, sandbox: true, ..GlobalOptions::default() };
        Self { options, ..Self::default() }
    }

    /// Finds credentials and a Region, and calls `sts:GetCallerIdentity`.
    pub async fn connect(&self) -> Result<Session, Error> {
        self.connect_telling(&|_| {}).await
    }

    /// Like [`Self::connect`], but reports once if the call is throttled.
    pub async fn connect_telling(&self, slowed: &dyn Fn(&str)) -> Result<Session, Error> {
        let profile = self.options.profile.as_deref();
        let config = if self.options.sandbox {
            self.isolated_config()
        } else {
            let trust = trust_of_profile(profile).await?;
            checked(self.shared_config(trust).await)
        };
        if !self.allow_http
            && let Some((endpoint, service)) = plain_endpoint(&config)
        {
            let endpoint = endpoint.escape_debug();
            return Err(Error::usage(format!("the endpoint `{endpoint}` of {service} is not encrypted"))
                .note("anyone on the network path could read each call, including the session token")
                .note("it comes from --endpoint-url, KIBUS_ENDPOINT_URL, AWS_ENDPOINT_URL, AWS_ENDPOINT_URL_SERVICE or the profile")
                .hint("set it to an https:// URL; to allow http:// to any host, set KIBUS_ALLOW_HTTP=true"));
        }
        let Some(region) = config.region() else {
            return Err(Error::usage("no AWS Region is set")
                .note("neither the command line, the environment, nor the profile sets one")
                .hint("pass --region, or set AWS_REGION"));
        };
        let region: Region = region.as_ref().parse()?;
        let refused = |fault: Fault| match fault.kind {
            FaultKind::Unreachable if config.endpoint_url().is_none() && fault.message.contains("lookup") => {
                Error::failed(format!("no AWS endpoint found for Region `{region}`"))
                    .note(fault.message)
                    .hint("check that the Region is correct and that this machine can reach AWS")
            }
            _ => refused(&fault, config.endpoint_url(), profile),
        };
        let pace: Arc<Pace> = Arc::default();
        let answer = {
            let (mut slowdown, mut asking) = (pace.slowdown(), pin!(identity(&pace, &config, FIRST)));
            tokio::select! {
                biased;
                answer = &mut asking => answer,
                Ok(()) = slowdown.changed() => {
                    slowed(&slowed_by(["STS"].iter()));
                    asking.await
                }
            }
        };
        let ([account, caller], ahead) = answer.map_err(refused)?;
        let partition = caller.split(':').nth(1).unwrap_or_default().parse()?;
        Ok(Session { account: account.parse()?, partition, region, caller, ahead, config, pace })
    }

    async fn shared_config(&self, trust: TlsContext) -> SdkConfig {
        let loader = aws_config::defaults(behavior()).retry_config(retries()).timeout_config(timeouts());
        let mut loader = loader.http_client(http_client(trust));
        let GlobalOptions { region, profile, endpoint_url, .. } = &self.options;
        if let Some(region) = region {
            loader = loader.region(aws_config::Region::new(region.to_string()));
        }
        if let Some(profile) = profile {
            loader = loader.profile_name(profile);
        }
        if let Some(endpoint) = endpoint_url {
            loader = loader.endpoint_url(endpoint);
        }
        let config = loader.load().await;
        match profile {
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
        config.set_http_client(Some(http_client(TlsContext::default())));
        config.set_region(self.options.region.as_ref().map(|region| aws_config::Region::new(region.to_string())));
        config.set_endpoint_url(self.options.endpoint_url.clone());
        config.build()
    }
}

impl Session {
    pub fn scope(&self, bus: BusName) -> Scope {
        Scope {
            bus,
            account: self.account.clone(),
            region: self.region.clone(),
            partition: self.partition.clone(),
            options: GlobalOptions::default(),
        }
    }

    pub fn slowdown(&self) -> watch::Receiver<Slowdown> {
        self.pace.slowdown()
    }

    pub fn config(&self) -> &SdkConfig {
        &self.config
    }
}

/// The account and the ARN of the caller, and how far AWS's clock is ahead of the local clock.
async fn identity(pace: &Pace, config: &SdkConfig, longest: Duration) -> Result<([String; 2], i64), Fault> {
    let action = sts::GET_CALLER_IDENTITY;
    let config = aws_sdk_sts::config::Builder::from(config)
        .interceptor(CallLog)
        .retry_classifier(FinalAnswers)
        .retry_config(RetryConfig::standard().with_max_attempts(2))
        .timeout_config(
            timeouts().to_builder().read_timeout(Duration::from_secs(10)).operation_timeout(longest).build(),
        )
        .build();
    let sts = aws_sdk_sts::Client::from_conf(config);
    let date = AnswerDate::default();
    let attempt = || async {
        let call = sts.get_caller_identity().customize().interceptor(date.clone());
        call.send().await.map_err(|e| failed(action, &e))
    };
    let asked = now() / 1_000;
    let answer = pace.call(action, Waiting::unattended(), attempt).await?;
    let ahead = date.seconds().map_or(0, |date| ahead_by(date, asked, now() / 1_000));
    let (Some(account), Some(caller)) = (answer.account, answer.arn) else {
        return Err(rejected(action, "the answer names no account"));
    };
    Ok(([account, caller], ahead))
}

/// How many seconds AWS's clock is ahead of this machine's clock. AWS wrote the date between the request and the
/// response: a clock that agrees with that is correct, however slow the response was. Otherwise it is corrected by the
/// smallest amount that explains the date, since a record from the future would make its own queue look prepared.
fn ahead_by(date: i64, asked: i64, answered: i64) -> i64 {
    let is_right = (asked - 1..=answered).contains(&date);
    if is_right { 0 } else { date - answered }
}

/// The CA certificates to trust, from `AWS_CA_BUNDLE` or the profile, as for the AWS CLI. Fails if the AWS configuration has no such
/// profile, or lacks the profile in `AWS_PROFILE`, which the SDK would ignore, or if its role needs an MFA code, which the SDK would
/// omit. An unreadable configuration is reported with the credentials.
async fn trust_of_profile(given: Option<&str>) -> Result<TlsContext, Error> {
    let set = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    let variable = set("AWS_PROFILE");
    let named = given.or(variable.as_deref());
    let files = profile_files().await.ok();
    let profile = files.as_ref().and_then(|files| files.get_profile(named.unwrap_or("default")));
    if let (Some(named), Some(_), None) = (named, &files, profile) {
        let set = if given.is_some() { "" } else { "AWS_PROFILE is set to it; " };
        let named = named.escape_debug();
        return Err(Error::usage(format!("profile `{named}` does not exist in the AWS configuration"))
            .note(format!("{set}searched the AWS config and credentials files"))
            .hint_command("to list the profiles:", "aws configure list-profiles"));
    }
    let is_used = given.is_some() || set("AWS_ACCESS_KEY_ID").is_none();
    if let Some(profile) = profile.filter(|profile| is_used && profile.get("mfa_serial").is_some()) {
        let name = profile.name();
        let log_in = format!("aws configure export-credentials --profile {} --format env", quoted(name));
        return Err(Error::usage(format!(
            "profile `{}` needs an MFA code, and kibus does not prompt for one",
            name.escape_debug()
        ))
        .hint_command("create a session, then run again without --profile:", format!("eval \"$({log_in})\"")));
    }
    let bundle = set("AWS_CA_BUNDLE").map(|file| (file, "AWS_CA_BUNDLE"));
    let of_profile = || profile?.get("ca_bundle").map(|file| (file.to_owned(), "`ca_bundle` of the profile"));
    bundle.or_else(of_profile).map_or(Ok(TlsContext::default()), |(file, source)| trust_in(&file, source))
}

/// Trust only the certificates in a file, as the AWS CLI does.
fn trust_in(file: &str, source: &str) -> Result<TlsContext, Error> {
    let unusable = |why: String| {
        Error::usage(format!("the CA certificates of `{}` cannot be used: {why}", file.escape_debug()))
            .note(format!("the file is set by {source}"))
    };
    let bytes = std::fs::read(file).map_err(|e| unusable(e.to_string()))?;
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(&bytes) {
        let certificate = certificate.map_err(|e| unusable(e.to_string()))?;
        roots.add(certificate).map_err(|e| unusable(e.to_string()))?;
    }
    if roots.is_empty() {
        return Err(unusable("it contains no PEM certificate".to_owned()));
    }
    let trust = TlsContext::builder().with_trust_store(TrustStore::empty().with_pem_certificate(bytes)).build();
    trust.map_err(|e| unusable(e.to_string()))
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

/// A profile from the command line takes precedence over credentials in the environment, as in the AWS CLI. The SDK does the opposite.
fn with_profile(config: SdkConfig, profile: &str) -> SdkConfig {
    let mut provider_config = ProviderConfig::without_region().with_region(config.region().cloned());
    if let Some(client) = config.http_client() {
        provider_config = provider_config.with_http_client(client);
    }
    let provider = ProfileFileCredentialsProvider::builder().configure(&provider_config).profile_name(profile).build();
    config.into_builder().credentials_provider(SharedCredentialsProvider::new(provider)).build()
}

/// Fails if credentials contain a character that no request can carry, such as a key id with the newline of its file: the SDK panics on it.
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
                    let why = format!("{name} contains a space, a newline or another character that AWS never uses");
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

/// Enough to outlast a service that fails for some seconds. Throttled calls do not count ([`Pace`]).
fn retries() -> RetryConfig {
    RetryConfig::standard().with_max_attempts(6)
}

/// A connection is established quickly or not at all; a response may take as long as the upload of an archive. A call with all its
/// retries and the whole answer ends after [`LONGEST`].
fn timeouts() -> TimeoutConfig {
    TimeoutConfig::builder()
        .connect_timeout(Duration::from_secs(4))
        .read_timeout(Duration::from_secs(90))
        .operation_timeout(LONGEST)
        .build()
}

/// An HTTP client with its own connections; one client serves all services. It keeps any number of idle connections, so
/// concurrent calls reuse them. It uses the proxies from the environment, except for servers on the loopback interface,
/// such as the sandbox.
fn http_client(trust: TlsContext) -> SharedHttpClient {
    let client = |proxies: ProxyConfig| {
        let trust = trust.clone();
        Builder::new().build_with_connector_fn(move |settings, components| {
            let tls = Provider::rustls(CryptoMode::Ring);
            let mut builder =
                Connector::builder().tls_provider(tls).tls_context(trust.clone()).proxy_config(proxies.clone());
            builder.set_connector_settings(settings.cloned());
            builder.set_sleep_impl(components.and_then(RuntimeComponents::sleep_impl));
            builder.build()
        })
    };
    let (remote, loopback) = (client(ProxyConfig::from_env()), client(ProxyConfig::disabled()));
    http_client_fn(move |settings, components| {
        SharedHttpConnector::new(ConnectorByHost {
            remote: remote.http_connector(settings, components),
            loopback: loopback.http_connector(settings, components),
        })
    })
}

/// An endpoint of this configuration that calls would reach unencrypted, and its service. On the loopback interface, no
/// one else can read them.
fn plain_endpoint(config: &SdkConfig) -> Option<(String, &'static str)> {
    SERVICES.into_iter().find_map(|service| {
        let endpoint = custom_endpoint(config, service)?;
        let uri: Uri = endpoint.trim().parse().ok()?;
        (uri.scheme_str() == Some("http") && !is_loopback(&uri)).then_some((endpoint, service))
    })
}

fn is_loopback(uri: &Uri) -> bool {
    let host = uri.host().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']').parse();
    host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address: IpAddr| address.is_loopback())
}

#[derive(Debug)]
struct ConnectorByHost {
    remote: SharedHttpConnector,
    loopback: SharedHttpConnector,
}

impl HttpConnector for ConnectorByHost {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let is_loopback = request.uri().parse().is_ok_and(|uri: Uri| is_loopback(&uri));
        if is_loopback { &self.loopback } else { &self.remote }.call(request)
    }
}

/// The start of the TLS library's error about a certificate.
const UNTRUSTED: &str = "invalid peer certificate";

/// Why the call for the caller's identity failed, and how to fix that.
fn refused(fault: &Fault, endpoint: Option<&str>, profile: Option<&str>) -> Error {
    let with_profile = |command: &str| match profile {
        Some(profile) => format!("{command} --profile {}", quoted(profile)),
        None => command.to_owned(),
    };
    let log_in = with_profile("aws sso login");
    match &fault.kind {
        FaultKind::NoCredentials => Error::failed("no AWS credentials found")
            .note("searched the environment, the profile, and container and instance metadata")
            .hint("pass --profile, or set AWS_PROFILE")
            .hint_command("or log in:", log_in),
        FaultKind::ExpiredCredentials => {
            Error::failed("the AWS credentials have expired").note(&fault.message).hint_command("log in again:", log_in)
        }
        FaultKind::BadCredentials if fault.code.is_none() => Error::failed("the AWS credentials cannot be loaded")
            .note(&fault.message)
            .hint("pass --profile, or set AWS_PROFILE")
            .hint_command("if they come from IAM Identity Center, log in:", log_in),
        FaultKind::BadCredentials => Error::failed("AWS rejected these credentials")
            .note(&fault.message)
            .hint("a Region that is not enabled in the account causes the same error")
            .hint_command("check your identity:", with_profile("aws sts get-caller-identity")),
        FaultKind::Unreachable if fault.message.contains(UNTRUSTED) => {
            let server = endpoint.map_or("AWS".to_owned(), |endpoint| format!("endpoint `{endpoint}`"));
            Error::failed(format!("the TLS certificate of {server} is not trusted"))
                .note(&fault.message)
                .hint("check this system's CA certificates (package ca-certificates) and clock")
                .hint("for other CA certificates, such as a proxy's, set AWS_CA_BUNDLE to their file")
        }
        FaultKind::Unreachable => match endpoint {
            Some(endpoint) => Error::failed(format!("endpoint `{endpoint}` does not answer"))
                .note(&fault.message)
                .hint("check that it is running, or pass another endpoint with --endpoint-url"),
            None => Error::failed("AWS does not answer")
                .note(&fault.message)
                .hint("check that this machine can reach AWS, through a proxy or a VPC endpoint if needed"),
        },
        FaultKind::Throttled => Error::failed("AWS is throttling the call for the caller's identity")
            .note(&fault.message)
            .hint("other programs in this account may use up the rate limit: wait, or stop them, and run again"),
        _ => {
            let error = Error::failed("AWS did not return the caller's identity");
            let error = error.note(format!("{} failed: {}", fault.action, fault.message));
            match endpoint {
                Some(endpoint) if !matches!(fault.kind, FaultKind::Denied { .. }) => {
                    error.hint(format!("check that `{endpoint}` serves the AWS APIs"))
                }
                _ => error
                    .hint("this call needs no permission, but a VPC endpoint or a proxy may refuse it")
                    .hint_command("check whether the AWS CLI works:", with_profile("aws sts get-caller-identity")),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::TcpListener;
    use std::path::Path;
    use std::thread;
    use std::time::Instant;

    use super::*;
    use crate::error::tests::shell_words;

    #[test]
    fn a_slow_answer_moves_no_clock_that_is_right() {
        for (date, asked, answered, ahead) in [
            (100, 100, 100, 0),
            // The date has no fraction, so it may be in the previous second.
            (99, 100, 100, 0),
            (100, 100, 112, 0),
            (112, 100, 112, 0),
            (160, 100, 100, 60),
            (160, 100, 112, 48),
            (40, 100, 112, -72),
        ] {
            assert_eq!(ahead_by(date, asked, answered), ahead, "{date}, {asked} to {answered}");
        }
    }

    #[tokio::test]
    async fn an_answer_that_never_ends_is_given_up() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint_url = format!("http://{}", listener.local_addr().unwrap());
        let connect = Connect::to_emulator("us-west-2".parse().unwrap(), endpoint_url);
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
        let fault = identity(&pace, &connect.isolated_config(), Duration::from_millis(500)).await.unwrap_err();
        assert_eq!(fault.kind, FaultKind::Unreachable, "{fault:?}");
        assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
        // The other calls have the same limit, but with more time.
        let config = connect.isolated_config();
        assert_eq!(config.timeout_config().unwrap().operation_timeout(), Some(LONGEST));
    }

    #[test]
    fn a_printed_command_names_the_profile_as_it_was_given() {
        use FaultKind::{BadCredentials, ExpiredCredentials, NoCredentials, Rejected};
        for profile in ["dev", "a b", "it's", "$(kibus)", "`kibus`;kibus", "-x \"y\"", "ü*?~"] {
            for kind in [NoCredentials, ExpiredCredentials, BadCredentials, Rejected] {
                let code = Some("x".into());
                let fault = Fault { code, ..Fault::new(kind, "sts:GetCallerIdentity", "") };
                let hints = refused(&fault, None, Some(profile)).hints;
                assert!(hints.iter().any(|hint| hint.command.is_some()), "{fault:?}");
                for command in hints.iter().filter_map(|hint| hint.command.as_ref()) {
                    let words = shell_words(command);
                    assert_eq!(words[words.len() - 2..], ["--profile", profile], "{command:?}");
                }
            }
        }
    }

    #[test]
    fn a_certificate_that_is_not_trusted_has_a_message_of_its_own() {
        let (untrusted, endpoint) = ("invalid peer certificate: UnknownIssuer", Some("https://127.0.0.1:1"));
        for (text, endpoint, message) in [
            (untrusted, None, "the TLS certificate of AWS is not trusted"),
            (untrusted, endpoint, "the TLS certificate of endpoint `https://127.0.0.1:1` is not trusted"),
            ("connection refused", None, "AWS does not answer"),
        ] {
            let fault = Fault::new(FaultKind::Unreachable, "sts:GetCallerIdentity", text);
            assert_eq!(refused(&fault, endpoint, None).message, message);
        }
    }

    #[test]
    fn only_loopback_is_trusted_without_encryption() {
        let encrypted =
            "http://127.0.0.1:4566 http://127.8.8.8 http://[::1]:4566/ http://localhost:4566 https://sqs.example";
        let plain = "http://sqs.example HTTP://sqs.example http://10.0.0.1:4566 http://0.0.0.0:4566 \
                     http://127.0.0.1.example http://127.0.0.1@sqs.example http://localhost.example";
        for (endpoints, is_plain) in [(encrypted, false), (plain, true)] {
            for endpoint in endpoints.split(' ') {
                let config = SdkConfig::builder().endpoint_url(endpoint).build();
                assert_eq!(plain_endpoint(&config).is_some(), is_plain, "{endpoint}");
            }
        }
    }

    /// A service that is missing here would have an unchecked endpoint.
    #[test]
    fn every_service_that_is_called_is_known() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let read = |file: &str| std::fs::read_to_string(root.join(file)).unwrap();
        let sources = ["aws_json.rs", "ec2.rs", "sns.rs"].map(|file| read(&format!("src/wire/{file}"))).concat();
        let mut called: Vec<&str> =
            sources.split("Service::of(\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
        let manifest = read("Cargo.toml");
        let crates = manifest.lines().filter_map(|line| line.strip_prefix("aws-sdk-"));
        called.extend(crates.filter_map(|line| line.split(' ').next()));
        assert!(called.len() >= 10, "{called:?}");
        for service in called {
            assert!(SERVICES.iter().any(|known| known.eq_ignore_ascii_case(service)), "{service}");
        }
    }
}
