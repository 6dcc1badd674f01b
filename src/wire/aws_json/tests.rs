use std::time::{Duration, SystemTime};

use aws_runtime::env_config::file::{EnvConfigFileKind, EnvConfigFiles};
use aws_smithy_runtime_api::client::runtime_plugin::StaticRuntimePlugin;
use aws_smithy_types::{DateTime, date_time::Format, error::metadata::ProvideErrorMetadata};
use aws_types::region::Region;
use serde::Deserialize;
use serde_json::json;

use super::super::behavior;
use super::super::test_service::{Reply, TestService, config, header, reply};
use super::*;
use crate::model::table::rows;

#[derive(Debug, Deserialize, PartialEq, Eq)]
struct Page {
    names: Option<Vec<String>>,
}

/// A client whose calls get these answers, and the receiver of its requests, which end with this text.
fn client_of(service: JsonService, replies: Vec<Reply>, last: &'static str) -> (JsonClient, TestService) {
    let server = TestService::start(replies, last);
    (JsonClient::new(&config(&server.endpoint), service, StaticRuntimePlugin::new()), server)
}

fn client(replies: Vec<Reply>) -> (JsonClient, TestService) {
    client_of(LOGS, replies, "}")
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

/// The names of the document, or the code and the message of the error.
#[tokio::test]
async fn an_answer_is_a_document_or_an_error() {
    let table = r#"
        200 | a: b | {"names": []}   | Some([])
        200 | a: b | {"names": null} | None
        200 | a: b |                 | None
        400 | a: b | {"__type": "com.amazonaws.logs#OneException", "message": "why"} | Some("OneException") Some("why")
        400 | a: b | {"code": "TwoException", "Message": "why"}                      | Some("TwoException") Some("why")
        400 | x-amzn-errortype: ThreeException:http://internal/ | {}                 | Some("ThreeException") None
        403 | a: b | <html></html>   | None None
        400 | a: b |                 | None None"#;
    for [status, header, body, expected] in rows(table) {
        let (client, server) = client(vec![(status.parse().unwrap(), header.to_owned(), body.to_owned())]);
        let found = match client.call::<Page>("DescribeThings", json!({})).await {
            Ok(page) => format!("{:?}", page.names),
            Err(SdkError::ServiceError(e)) => format!("{:?} {:?}", e.err().code(), e.err().message()),
            Err(e) => panic!("{status} {header} {body}: {e:?}"),
        };
        assert_eq!(found, expected, "{status} {header} {body}");
        server.requests();
    }
}

/// A list of the wrong type is not an empty list. The response may be truncated, so the call is retried.
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
    // The hour of the first request, `20261123t06`, is one less than in the next.
    assert_ne!(signed[0][..11], signed[1][..11], "{signed:?}");
    assert_eq!(signed[1][..11], signed[2][..11], "{signed:?}");
}

/// The name in the host, by service and kind of endpoint, and the domain in each Region. The cases match the endpoint
/// tests of these services' SDK crates; those of EKS come from botocore, `eks/2017-11-01/endpoint-rule-set-1.json`.
#[test]
fn endpoints_follow_the_region() {
    let table = "
        ec2     |           | ec2             | us-west-2 amazonaws.com, us-gov-east-1 amazonaws.com, cn-north-1 amazonaws.com.cn
        ec2     |           | ec2             | cn-northwest-1 amazonaws.com.cn, us-iso-east-1 c2s.ic.gov
        ec2     |           | ec2             | us-isob-east-1 sc2s.sgov.gov, eusc-de-east-1 amazonaws.eu
        ec2     | fips      | ec2-fips        | us-west-2 amazonaws.com
        ec2     | fips      | ec2             | us-gov-west-1 amazonaws.com
        ec2     | dual      | ec2             | us-west-2 api.aws
        ec2     | fips dual | ec2-fips        | us-gov-west-1 api.aws
        kms     | dual      | kms             | us-west-2 api.aws, cn-north-1 api.amazonwebservices.com.cn
        kms     | dual      | kms             | eusc-de-east-1 api.amazonwebservices.eu, us-isob-east-1 api.aws.scloud
        kms     | fips dual | kms-fips        | us-west-2 api.aws, us-gov-west-1 api.aws
        metrics | fips dual | monitoring      | us-gov-west-1 api.aws
        metrics | fips dual | monitoring-fips | us-west-2 api.aws
        logs    |           | logs            | us-west-2 amazonaws.com, cn-north-1 amazonaws.com.cn
        logs    | fips      | logs-fips       | us-east-1 amazonaws.com, us-iso-east-1 c2s.ic.gov
        logs    | fips      | logs            | us-gov-west-1 amazonaws.com
        logs    | fips dual | logs-fips       | us-east-1 api.aws, us-gov-east-1 api.aws
        tagging |           | tagging         | us-east-1 amazonaws.com
        tagging | fips      | tagging-fips    | us-gov-east-1 amazonaws.com
        tagging | dual      | tagging         | us-east-1 api.aws, cn-north-1 api.amazonwebservices.com.cn
        eks     |           | eks             | us-west-2 amazonaws.com, cn-north-1 amazonaws.com.cn
        eks     | fips      | fips.eks        | us-west-2 amazonaws.com
        eks     | fips      | eks             | us-gov-west-1 amazonaws.com
        eks     | fips      | eks-fips        | us-iso-east-1 c2s.ic.gov
        eks     | dual      | eks             | us-west-2 api.aws, cn-north-1 api.amazonwebservices.com.cn
        eks     | fips dual | eks-fips        | us-west-2 api.aws, us-gov-west-1 api.aws";
    for [service, kind, name, places] in rows(table) {
        let service = match service {
            "kms" => KMS.service,
            "metrics" => METRICS.service,
            "logs" => LOGS.service,
            "tagging" => TAGGING.service,
            "eks" => EKS.service,
            _ => Service::of("EC2", "ec2"),
        };
        for (region, domain) in places.split(", ").map(|place| place.split_once(' ').unwrap()) {
            let config = SdkConfig::builder().region(Region::new(region)).use_fips(kind.contains("fips"));
            let config = config.use_dual_stack(kind.contains("dual")).build();
            assert_eq!(signed_call::endpoint(&config, service), format!("https://{name}.{region}.{domain}"), "{kind}");
        }
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
    let config = SdkConfig::builder().endpoint_url("http://127.0.0.1:4566").build();
    assert_eq!(signed_call::endpoint(&config, EKS.service), "http://127.0.0.1:4566");
}

#[tokio::test]
async fn a_read_is_a_signed_get_and_a_refusal_has_its_code_and_message() {
    let (client, server) = client_of(EKS, vec![reply(200, r#"{"clusters": ["a"]}"#)], "\r\n\r\n");
    let query = [("maxResults", "100"), ("nextToken", "a/b=")];
    let answer: Value = client.get("ListThings", &["clusters", "a", "b c"], &query).await.unwrap();
    assert_eq!(answer, json!({"clusters": ["a"]}));
    let request = &server.requests()[0];
    let line = "get /clusters/a/b%20c?maxresults=100&nexttoken=a%2fb%3d http/1.1\r\n";
    assert!(request.starts_with(line), "{request}");
    assert!(header(request, "authorization").contains("/us-west-2/eks/aws4_request"), "{request}");

    let code = "x-amzn-errortype: ResourceNotFoundException".to_owned();
    let body = r#"{"clusterName": "a", "message": "No cluster found for name: a."}"#;
    let (client, server) = client_of(EKS, vec![(404, code, body.to_owned())], "\r\n\r\n");
    let answer = client.get::<Value>("DescribeCluster", &["clusters", "a"], &[]).await;
    let Err(SdkError::ServiceError(e)) = answer else { panic!("{answer:?}") };
    let expected = (Some("ResourceNotFoundException"), Some("No cluster found for name: a."));
    assert_eq!((e.err().code(), e.err().message()), expected);
    server.requests();
}
