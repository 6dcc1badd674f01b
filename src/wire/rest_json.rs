//! Calls in the REST JSON protocol: the path names the resource, the query or the body has the parameters, and the answer is
//! a JSON document (Smithy documentation, "AWS restJson1 protocol").

use std::fmt::Debug;

use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use aws_smithy_runtime_api::client::result::SdkError;
use aws_smithy_runtime_api::client::runtime_plugin::RuntimePlugin;
use aws_types::SdkConfig;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::json_call::JsonCalls;
use super::signed_call::{self, ErrorResponse, FipsHost, Service};

/// A service with this protocol.
#[derive(Clone, Copy, Debug)]
pub struct RestService(Service);

/// EKS.
pub const EKS: RestService = RestService(Service {
    id: "EKS",
    name: "eks",
    fips: FipsHost::Prefix,
    gov_is_fips: true,
});

/// A client of such a service. Clones share what they learned about the clock of the service.
#[derive(Clone, Debug)]
pub struct RestClient(JsonCalls);

impl RestClient {
    /// A client with the credentials, Region, endpoint, HTTP client, retries and timeouts of a configuration, and with
    /// further interceptors and retry classifiers.
    pub fn new(config: &SdkConfig, service: RestService, further: impl RuntimePlugin + 'static) -> Self {
        Self(JsonCalls::new(config, service.0, further))
    }

    /// Reads what is at a path, with these parameters.
    ///
    /// # Errors
    /// When the service refuses or does not answer, or the answer is not a document of this type.
    pub async fn get<T>(
        &self,
        operation: &'static str,
        path: &[&str],
        query: &[(&str, &str)],
    ) -> Result<T, SdkError<ErrorResponse, HttpResponse>>
    where
        T: DeserializeOwned + Debug + Send + Sync + 'static,
    {
        self.0.call(operation, uri(path, query), signed_call::get).await
    }

    /// Creates something at a path, with these parameters. Gives what the service says of it.
    pub async fn post(
        &self,
        operation: &'static str,
        path: &[&str],
        body: &Value,
    ) -> Result<Value, SdkError<ErrorResponse, HttpResponse>> {
        let uri = uri(path, &[]);
        let request = move |body: String| {
            let mut request = signed_call::post(body, &[("content-type", "application/json")])?;
            request.set_uri(uri.clone())?;
            Ok(request)
        };
        self.0.call(operation, body.to_string(), request).await
    }
}

fn uri(path: &[&str], query: &[(&str, &str)]) -> String {
    let path: String = path
        .iter()
        .map(|part| format!("/{}", urlencoding::encode(part)))
        .collect();
    let pair = |(name, value): &(&str, &str)| format!("{name}={}", urlencoding::encode(value));
    match query.iter().map(pair).collect::<Vec<_>>().join("&").as_str() {
        "" => path,
        query => format!("{path}?{query}"),
    }
}

#[cfg(test)]
mod tests {
    use aws_smithy_runtime_api::client::runtime_plugin::StaticRuntimePlugin;
    use aws_smithy_types::error::metadata::ProvideErrorMetadata;
    use aws_types::region::Region;
    use serde_json::json;

    use super::super::test_service::{TestService, config, header};
    use super::*;

    #[tokio::test]
    async fn a_read_is_a_signed_get() {
        let service = TestService::start(vec![(200, "a: b".to_owned(), r#"{"clusters": ["a"]}"#)], "\r\n\r\n");
        let client = RestClient::new(&config(&service.endpoint), EKS, StaticRuntimePlugin::new());
        let query = [("maxResults", "100"), ("nextToken", "a/b=")];
        let answer: Value = client
            .get("ListThings", &["clusters", "a", "b c"], &query)
            .await
            .unwrap();
        assert_eq!(answer, json!({"clusters": ["a"]}));
        let request = &service.requests()[0];
        let line = "get /clusters/a/b%20c?maxresults=100&nexttoken=a%2fb%3d http/1.1\r\n";
        assert!(request.starts_with(line), "{request}");
        assert!(
            header(request, "authorization").contains("/us-west-2/eks/aws4_request"),
            "{request}"
        );
    }

    #[tokio::test]
    async fn a_refusal_has_its_code_and_message() {
        let code = "x-amzn-errortype: ResourceNotFoundException".to_owned();
        let body = r#"{"clusterName": "a", "message": "No cluster found for name: a."}"#;
        let service = TestService::start(vec![(404, code, body)], "\r\n\r\n");
        let client = RestClient::new(&config(&service.endpoint), EKS, StaticRuntimePlugin::new());
        let answer = client.get::<Value>("DescribeCluster", &["clusters", "a"], &[]).await;
        let Err(SdkError::ServiceError(e)) = answer else {
            panic!("{answer:?}")
        };
        let expected = (Some("ResourceNotFoundException"), Some("No cluster found for name: a."));
        assert_eq!((e.err().code(), e.err().message()), expected);
        service.requests();
    }

    /// botocore, `eks/2017-11-01/endpoint-rule-set-1.json`.
    #[test]
    fn endpoints_of_eks_follow_the_region() {
        for (region, fips, dual_stack, expected) in [
            ("us-west-2", false, false, "https://eks.us-west-2.amazonaws.com"),
            ("us-west-2", true, false, "https://fips.eks.us-west-2.amazonaws.com"),
            ("us-west-2", false, true, "https://eks.us-west-2.api.aws"),
            ("us-west-2", true, true, "https://eks-fips.us-west-2.api.aws"),
            ("us-gov-west-1", true, false, "https://eks.us-gov-west-1.amazonaws.com"),
            ("us-gov-west-1", true, true, "https://eks-fips.us-gov-west-1.api.aws"),
            ("cn-north-1", false, false, "https://eks.cn-north-1.amazonaws.com.cn"),
            (
                "cn-north-1",
                false,
                true,
                "https://eks.cn-north-1.api.amazonwebservices.com.cn",
            ),
            (
                "us-iso-east-1",
                true,
                false,
                "https://eks-fips.us-iso-east-1.c2s.ic.gov",
            ),
        ] {
            let config = SdkConfig::builder().region(Region::new(region));
            let config = config.use_fips(fips).use_dual_stack(dual_stack).build();
            assert_eq!(signed_call::endpoint(&config, EKS.0), expected, "{region} {fips}");
        }
    }
}
