//! An HTTP client whose answers have a limit ([`crate::wire::answer_limit`]).

use aws_smithy_runtime_api::box_error::BoxError;
use aws_smithy_runtime_api::client::connector_metadata::ConnectorMetadata;
use aws_smithy_runtime_api::client::http::{HttpClient, HttpConnectorSettings, SharedHttpClient, SharedHttpConnector};
use aws_smithy_runtime_api::client::runtime_components::{RuntimeComponents, RuntimeComponentsBuilder};
use aws_smithy_types::config_bag::ConfigBag;

use crate::wire::answer_limit::limited_connector;

/// The client, with at most this many MiB in the body of each answer.
pub(super) fn limited_client(client: SharedHttpClient, mib: usize) -> SharedHttpClient {
    SharedHttpClient::new(LimitedClient { client, mib })
}

#[derive(Debug)]
struct LimitedClient {
    client: SharedHttpClient,
    mib: usize,
}

impl HttpClient for LimitedClient {
    fn http_connector(&self, settings: &HttpConnectorSettings, components: &RuntimeComponents) -> SharedHttpConnector {
        limited_connector(self.client.http_connector(settings, components), self.mib)
    }

    fn validate_base_client_config(
        &self,
        components: &RuntimeComponentsBuilder,
        config: &ConfigBag,
    ) -> Result<(), BoxError> {
        self.client.validate_base_client_config(components, config)
    }

    fn validate_final_config(&self, components: &RuntimeComponents, config: &ConfigBag) -> Result<(), BoxError> {
        self.client.validate_final_config(components, config)
    }

    fn connector_metadata(&self) -> Option<ConnectorMetadata> {
        self.client.connector_metadata()
    }
}
