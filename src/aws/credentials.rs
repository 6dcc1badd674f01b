//! Credentials that fit into a request. The SDK panics on others, like a key id with the newline of the file that it came
//! from.

use aws_config::SdkConfig;
use aws_credential_types::provider::error::CredentialsError;
use aws_credential_types::provider::{ProvideCredentials, SharedCredentialsProvider, future};

/// Fails where credentials have a character that no request can carry.
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

/// The configuration with the same credentials, checked.
pub(super) fn checked(config: SdkConfig) -> SdkConfig {
    match config.credentials_provider() {
        None => config,
        Some(provider) => config
            .into_builder()
            .credentials_provider(SharedCredentialsProvider::new(Checked(provider)))
            .build(),
    }
}
