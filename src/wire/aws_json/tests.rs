use std::time::{Duration, SystemTime};

use aws_runtime::env_config::file::{EnvConfigFileKind, EnvConfigFiles};
use aws_smithy_runtime_api::client::runtime_plugin::StaticRuntimePlugin;
use aws_smithy_types::DateTime;
use aws_smithy_types::date_time::Format;
use aws_smithy_types::error::metadata::ProvideErrorMetadata;
use aws_types::region::Region;
use serde::Deserialize;
use serde_json::json;

use super::super::behavior;
use super::super::test_service::{Reply, TestService, config, header};
use super::*;

#[derive(Debug, Deserialize, PartialEq, Eq)]
struct Page {
    names: Option<Vec<String>>,
}

/// A client of CloudWatch Logs whose calls get these answers, and what receives the requests.
fn client(replies: Vec<Reply>) -> (JsonClient, TestService) {
    let service = TestService::start(replies, "}");
    let client = JsonClient::new(&config(&service.endpoint), LOGS, StaticRuntimePlugin::new());
    (client, service)
}

fn reply(status: u16, body: &str) -> Reply {
    (status, "a: b".to_owned(), body.to_owned())
}

#[tokio::test]
async fn a_request_names_the_operation_and_has_no_null() {
    let (client, server) = client(vec![reply(200, r#"{"names": ["a"], "other": 1}"#)]);
    let input = json!({ "logGroupName": "b", "nextToken": null });
    let page: Page = client.call("DescribeThings", input).await.unwrap();
    assert_eq!(page.names, Some(vec!["a".to_owned()]));
    let request = &server.requests()[0];
    assert!(request.starts_with("post / http/1.1\r\n"), "{request}");
    assert!(request.ends_with("\r\n\r\n{\"loggroupname\":\"b\"}"), "{request}");
    assert_eq!(header(request, "x-amz-target"), "logs_20140328.describethings");
    assert_eq!(header(request, "content-type"), "application/x-amz-json-1.1");
    let signature = header(request, "authorization");
    assert!(signature.contains("/us-west-2/logs/aws4_request"), "{signature}");
}

#[tokio::test]
async fn an_answer_is_a_document_or_an_error() {
    type Case = (Reply, Result<Option<Vec<String>>, (Option<&'static str>, Option<&'static str>)>);
    let cases: [Case; 8] = [
        (reply(200, r#"{"names": []}"#), Ok(Some(Vec::new()))),
        (reply(200, r#"{"names": null}"#), Ok(None)),
        (reply(200, ""), Ok(None)),
        (
            reply(400, r#"{"__type": "com.amazonaws.logs#OneException", "message": "why"}"#),
            Err((Some("OneException"), Some("why"))),
        ),
        (reply(400, r#"{"code": "TwoException", "Message": "why"}"#), Err((Some("TwoException"), Some("why")))),
        (
            (400, "x-amzn-errortype: ThreeException:http://internal/".to_owned(), "{}".to_owned()),
            Err((Some("ThreeException"), None)),
        ),
        (reply(403, "<html></html>"), Err((None, None))),
        (reply(400, ""), Err((None, None))),
    ];
    for (reply, expected) in cases {
        let case = format!("{reply:?}");
        let (client, server) = client(vec![reply]);
        let answer = client.call::<Page>("DescribeThings", json!({})).await;
        server.requests();
        match (&answer, expected) {
            (Ok(page), Ok(names)) => assert_eq!(page.names, names, "{case}"),
            (Err(SdkError::ServiceError(e)), Err((code, message))) => {
                assert_eq!((e.err().code(), e.err().message()), (code, message), "{case}");
            }
            _ => panic!("{case}: {answer:?}"),
        }
    }
}

/// A list of the wrong type is not an empty list. The answer may be cut off, so the call is retried.
#[tokio::test]
async fn another_document_is_unreadable() {
    for body in ["<html></html>", r#"{"names": 1}"#, r#"{"names": ["a"]"#, "[]"] {
        let (client, server) = client(vec![reply(200, body), reply(200, body), reply(200, body)]);
        let answer = client.call::<Page>("DescribeThings", json!({})).await;
        assert!(matches!(answer, Err(SdkError::ResponseError(_))), "{body}: {answer:?}");
        server.requests();
    }
}

#[tokio::test]
async fn a_wrong_clock_is_corrected_once() {
    let date = SystemTime::now() + Duration::from_secs(3600);
    let date = format!("date: {}", DateTime::from(date).fmt(Format::HttpDate).unwrap());
    let refused = r#"{"__type": "InvalidSignatureException", "message": "Signature expired"}"#;
    let (client, server) = client(
        [(400, refused), (200, "{}"), (200, "{}")].map(|(status, body)| (status, date.clone(), body.to_owned())).into(),
    );
    for _ in 0..2 {
        client.clone().call::<Page>("DescribeThings", json!({})).await.unwrap();
    }
    let requests = server.requests();
    let signed: Vec<&str> = requests.iter().map(|request| header(request, "x-amz-date")).collect();
    // The first hour of these, `20261123t06`, is one less than in the next.
    assert_ne!(signed[0][..11], signed[1][..11], "{signed:?}");
    assert_eq!(signed[1][..11], signed[2][..11], "{signed:?}");
}

/// As in the endpoint tests of the SDK crates of these services.
#[test]
fn endpoints_follow_the_region() {
    for (service, region, fips, dual_stack, expected) in [
        (LOGS, "us-west-2", false, false, "https://logs.us-west-2.amazonaws.com"),
        (LOGS, "us-east-1", true, false, "https://logs-fips.us-east-1.amazonaws.com"),
        (LOGS, "us-east-1", true, true, "https://logs-fips.us-east-1.api.aws"),
        (LOGS, "us-gov-west-1", true, false, "https://logs.us-gov-west-1.amazonaws.com"),
        (LOGS, "us-gov-east-1", true, true, "https://logs-fips.us-gov-east-1.api.aws"),
        (LOGS, "cn-north-1", false, false, "https://logs.cn-north-1.amazonaws.com.cn"),
        (LOGS, "us-iso-east-1", true, false, "https://logs-fips.us-iso-east-1.c2s.ic.gov"),
        (TAGGING, "us-east-1", false, false, "https://tagging.us-east-1.amazonaws.com"),
        (TAGGING, "us-east-1", false, true, "https://tagging.us-east-1.api.aws"),
        (TAGGING, "us-gov-east-1", true, false, "https://tagging-fips.us-gov-east-1.amazonaws.com"),
        (TAGGING, "cn-north-1", false, true, "https://tagging.cn-north-1.api.amazonwebservices.com.cn"),
    ] {
        let config = SdkConfig::builder().region(Region::new(region)).use_fips(fips).use_dual_stack(dual_stack).build();
        assert_eq!(signed_call::endpoint(&config, service.service), expected, "{region} {fips}");
    }
}

/// The `services` section of a profile. The SDK writes `-` for the space in the name of a service, where the AWS CLI writes `_`.
#[tokio::test]
async fn an_endpoint_of_one_service_wins() {
    let profile = "[default]\nendpoint_url = http://all\nservices = s\n[services s]\n\
                   resource-groups-tagging-api =\n  endpoint_url = http://tags\n\
                   cloudwatch-logs =\n  endpoint_url = http://logs\n";
    let files = EnvConfigFiles::builder().with_contents(EnvConfigFileKind::Config, profile);
    let loader = aws_config::defaults(behavior()).region(Region::new("us-west-2"));
    let config = loader.profile_files(files.build()).load().await;
    for (service, expected) in [(LOGS, "http://logs"), (TAGGING, "http://tags"), (KMS, "http://all")] {
        assert_eq!(signed_call::endpoint(&config, service.service), expected);
    }
}

#[tokio::test]
async fn a_read_is_a_signed_get() {
    let service = TestService::start(vec![reply(200, r#"{"clusters": ["a"]}"#)], "\r\n\r\n");
    let client = JsonClient::new(&config(&service.endpoint), EKS, StaticRuntimePlugin::new());
    let query = [("maxResults", "100"), ("nextToken", "a/b=")];
    let answer: Value = client.get("ListThings", &["clusters", "a", "b c"], &query).await.unwrap();
    assert_eq!(answer, json!({"clusters": ["a"]}));
    let request = &service.requests()[0];
    let line = "get /clusters/a/b%20c?maxresults=100&nexttoken=a%2fb%3d http/1.1\r\n";
    assert!(request.starts_with(line), "{request}");
    assert!(header(request, "authorization").contains("/us-west-2/eks/aws4_request"), "{request}");
}

#[tokio::test]
async fn a_refusal_has_its_code_and_message() {
    let code = "x-amzn-errortype: ResourceNotFoundException".to_owned();
    let body = r#"{"clusterName": "a", "message": "No cluster found for name: a."}"#;
    let service = TestService::start(vec![(404, code, body.to_owned())], "\r\n\r\n");
    let client = JsonClient::new(&config(&service.endpoint), EKS, StaticRuntimePlugin::new());
    let answer = client.get::<Value>("DescribeCluster", &["clusters", "a"], &[]).await;
    let Err(SdkError::ServiceError(e)) = answer else { panic!("{answer:?}") };
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
        ("cn-north-1", false, true, "https://eks.cn-north-1.api.amazonwebservices.com.cn"),
        ("us-iso-east-1", true, false, "https://eks-fips.us-iso-east-1.c2s.ic.gov"),
    ] {
        let config = SdkConfig::builder().region(Region::new(region)).use_fips(fips).use_dual_stack(dual_stack).build();
        assert_eq!(signed_call::endpoint(&config, EKS.service), expected, "{region} {fips}");
    }
}
