//! How the function connects to EC2 and SQS: one connector for both, and a connection to each that is opened before the
//! first event arrives.

use std::time::Duration;

use aws_sdk_sqs::config::endpoint::{DefaultResolver, Params, ResolveEndpoint};
use aws_smithy_async::rt::sleep::default_async_sleep;
use aws_smithy_http_client::Connector;
use aws_smithy_http_client::tls::Provider;
use aws_smithy_http_client::tls::rustls_provider::CryptoMode;
use aws_smithy_runtime_api::box_error::BoxError;
use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpClient, SharedHttpConnector, http_client_fn,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_smithy_types::body::SdkBody;
use aws_types::SdkConfig;
use http_body_util::{BodyExt, LengthLimitError, Limited};

use crate::wire::{custom_endpoint, ec2};

pub(super) const CONNECT: Duration = Duration::from_secs(1);

/// The maximum size of one response, in MiB. The largest is a page of 1,000 tags with 384 characters each, less than 4 MB.
const LONGEST_ANSWER: usize = 8;

/// The connector of all clients. This loads the trusted root certificates.
///
/// It uses ring: the SDK's default cryptography takes most of a cold start before its first handshake.
pub(super) fn connector() -> SharedHttpConnector {
    let settings = HttpConnectorSettings::builder().connect_timeout(CONNECT).build();
    let mut builder = Connector::builder().connector_settings(settings);
    builder.set_sleep_impl(default_async_sleep());
    let connector = builder.tls_provider(Provider::rustls(CryptoMode::Ring)).build();
    limited(SharedHttpConnector::new(connector), LONGEST_ANSWER)
}

/// An HTTP client that always uses this connector, so that all its users share connections.
pub(super) fn client(connector: &SharedHttpConnector) -> SharedHttpClient {
    let connector = connector.clone();
    http_client_fn(move |_, _| connector.clone())
}

/// A client for responses with messages from the hub queue. It shares the connector. The router receives many of them
/// at the same time, so each must be small: ten events of 100 KB, while AWS events have 1 to 3 KB.
pub(super) fn receiving_client(connector: &SharedHttpConnector) -> SharedHttpClient {
    client(&limited(connector.clone(), 1))
}

/// The connector, with at most this many MiB per response body: a bad endpoint or proxy cannot fill the memory. A time
/// limit alone would let gigabytes through.
fn limited(connector: SharedHttpConnector, mib: usize) -> SharedHttpConnector {
    SharedHttpConnector::new(LimitedConnector { connector, mib })
}

#[derive(Debug)]
struct LimitedConnector {
    connector: SharedHttpConnector,
    mib: usize,
}

impl HttpConnector for LimitedConnector {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let (answer, mib) = (self.connector.call(request), self.mib);
        HttpConnectorFuture::new(async move { Ok(answer.await?.map(|body| limited_body(body, mib))) })
    }
}

fn limited_body(body: SdkBody, mib: usize) -> SdkBody {
    let too_long = move |e: BoxError| {
        if e.is::<LengthLimitError>() {
            format!("the response has more than {mib} MiB, so it is not from AWS").into()
        } else {
            e
        }
    };
    SdkBody::from_body_1_x(Limited::new(body, mib * 1024 * 1024).map_err(too_long))
}

/// Opens a connection to EC2 and one to SQS. A failed connection is not an error here: the first call reports the failure.
pub(super) async fn open(connector: &SharedHttpConnector, config: &SdkConfig) {
    let endpoints = [Some(ec2::endpoint(config)), sqs_endpoint(config).await];
    let asked = endpoints.iter().flatten().filter_map(|endpoint| greeting(endpoint));
    let answers = futures_util::future::join_all(asked.map(|request| connector.call(request)));
    // This timeout also limits slow responses.
    let _ = tokio::time::timeout(CONNECT, answers).await;
}

/// A request that every server answers with headers only, and that requires no permission.
fn greeting(endpoint: &str) -> Option<HttpRequest> {
    let mut request = HttpRequest::new(SdkBody::empty());
    request.set_method("HEAD").ok()?;
    let uri = format!("{}/ping", endpoint.trim_end_matches('/'));
    request.set_uri(uri).ok()?;
    Some(request)
}

async fn sqs_endpoint(config: &SdkConfig) -> Option<String> {
    let params = Params::builder()
        .set_region(config.region().map(ToString::to_string))
        .set_use_fips(config.use_fips())
        .set_use_dual_stack(config.use_dual_stack())
        .set_endpoint(custom_endpoint(config, "SQS"))
        .build()
        .ok()?;
    let endpoint = DefaultResolver::new().resolve_endpoint(&params).await.ok()?;
    Some(endpoint.url().to_owned())
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::thread;

    use aws_types::region::Region;

    use super::*;
    use crate::wire::{ec2::describe_tags, query::QueryError, test_service};

    fn config(connector: &SharedHttpConnector, endpoint: &str) -> SdkConfig {
        let mut config = test_service::config(endpoint).into_builder();
        config.set_http_client(Some(client(connector)));
        config.build()
    }

    fn listen() -> (TcpListener, String) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        (listener, endpoint)
    }

    /// Answers the requests of one connection and gives the method of each.
    fn serve(mut stream: TcpStream) -> Vec<String> {
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let mut methods = Vec::new();
        let mut request = String::new();
        let mut buffer = [0; 4096];
        while let Ok(read @ 1..) = stream.read(&mut buffer) {
            request += &String::from_utf8_lossy(&buffer[..read]);
            let is_whole = request.starts_with("HEAD") || request.contains("Action=");
            if !request.contains("\r\n\r\n") || !is_whole {
                continue;
            }
            let method = request.split(' ').next().unwrap_or_default().to_owned();
            let body = if method == "HEAD" { "" } else { "<DescribeTagsResponse/>" };
            let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len());
            stream.write_all(answer.as_bytes()).unwrap();
            methods.push(method);
            request.clear();
        }
        methods
    }

    #[tokio::test]
    async fn a_call_uses_a_connection_that_was_open_before() {
        let (listener, endpoint) = listen();
        let server = thread::spawn(move || {
            let connections: Vec<TcpStream> = (0..2).map(|_| listener.accept().unwrap().0).collect();
            drop(listener);
            let served: Vec<_> = connections.into_iter().map(|stream| thread::spawn(|| serve(stream))).collect();
            let mut methods: Vec<Vec<String>> = served.into_iter().map(|thread| thread.join().unwrap()).collect();
            methods.sort();
            methods
        });
        let connector = connector();
        let config = config(&connector, &endpoint);
        open(&connector, &config).await;
        describe_tags(&ec2::Client::new(&config), &["i-1"], || ()).await.unwrap();
        drop((connector, config));
        // Tasks of this runtime close the connections, so this thread must not block on the server.
        let methods = tokio::task::spawn_blocking(|| server.join().unwrap()).await.unwrap();
        assert_eq!(methods, [vec!["HEAD"], vec!["HEAD", "POST"]]);
    }

    #[tokio::test]
    async fn a_body_ends_at_the_limit() {
        let mib = 1024 * 1024;
        for (length, is_read) in [(0, true), (2 * mib, true), (2 * mib + 1, false)] {
            let read = limited_body(SdkBody::from(vec![b'x'; length]), 2).collect().await;
            let read = read.map(|body| body.to_bytes().len());
            assert_eq!(read.is_ok_and(|read| read == length), is_read, "{length}");
        }
    }

    /// H13.
    #[tokio::test]
    async fn an_endless_answer_ends_by_bytes() {
        let (listener, endpoint) = listen();
        let server = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let _ = stream.read(&mut [0; 4096]);
            let mut written = stream.write(b"HTTP/1.1 200 OK\r\n\r\n").map(|_| ());
            let mut mib = 0;
            while written.is_ok() && mib < 1024 {
                mib += 1;
                written = stream.write_all(&[b'<'; 1024 * 1024]);
            }
            mib
        });
        let connector = connector();
        let mut config = config(&connector, &endpoint).into_builder();
        config.set_retry_config(Some(aws_smithy_types::retry::RetryConfig::disabled()));
        let client = ec2::Client::new(&config.build());
        let failed = describe_tags(&client, &["i-1"], || ()).await.unwrap_err();
        assert!(failed.to_string().contains("more than 8 MiB"), "{failed}");
        drop((connector, client));
        let mib = tokio::task::spawn_blocking(|| server.join().unwrap()).await.unwrap();
        assert!(mib < 64, "{mib} MiB");
    }

    #[tokio::test]
    async fn an_unreachable_endpoint_is_an_error_of_the_first_call() {
        let connector = connector();
        // Nothing listens on port 1.
        let config = config(&connector, "http://127.0.0.1:1");
        open(&connector, &config).await;
        let answer = describe_tags(&ec2::Client::new(&config), &["i-1"], || ()).await;
        assert!(matches!(answer, Err(QueryError::Unreachable(_))), "{answer:?}");
    }

    #[tokio::test]
    async fn the_sqs_connection_has_the_endpoint_of_the_client() {
        for (region, fips, expected) in [
            ("us-west-2", false, "https://sqs.us-west-2.amazonaws.com"),
            ("us-west-2", true, "https://sqs-fips.us-west-2.amazonaws.com"),
            ("us-gov-west-1", false, "https://sqs.us-gov-west-1.amazonaws.com"),
            ("cn-north-1", false, "https://sqs.cn-north-1.amazonaws.com.cn"),
        ] {
            let config = SdkConfig::builder().region(Region::new(region)).use_fips(fips).build();
            assert_eq!(sqs_endpoint(&config).await.as_deref(), Some(expected), "{region}");
        }
    }
}
