//! Every list that AWS splits into pages, with two pages. The second page is throttled at first, which must not request
//! the first page again.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::sync::{Arc, Mutex};

use futures_util::future::{BoxFuture, join, join_all};
use hyper::Request;
use hyper::body::Bytes;
use kibus::aws::{AwsCloud, Connect};
use kibus::cloud::{Questions, Read, Waiting, Write};
use kibus::drill::DrillCloud;
use kibus::model::{Parameter, Resource, ResourceId, Settings};
use kibus::plan::{Change, diff};

use crate::support::proxy::{Answer, JSON, Operation, Port, answer, refusal};

/// A list, and what kibus must find in two pages with the items 1 and 2.
struct List {
    /// The call, and a part of each of its requests.
    call: (&'static str, &'static str),
    /// The parameter that names the next page.
    token: &'static str,
    /// A page with `ITEM`. `NEXT` is what names the next one.
    page: &'static str,
    find: for<'a> fn(&'a AwsCloud) -> BoxFuture<'a, Vec<String>>,
    found: &'static [&'static str],
}

/// Rows: the call, a part of each request, the parameter that names the next page, a page, and what kibus finds.
macro_rules! lists {
    ($($call:literal, $part:literal, $token:literal, $page:literal, |$cloud:ident| $find:expr => $found:expr;)*) => {
        vec![$(List {
            call: ($call, $part),
            token: $token,
            page: $page,
            find: |$cloud| Box::pin(async move { $find }),
            found: &$found,
        }),*]
    };
}

/// The calls about an item of a list, and the answers.
const SINGLE: [(&str, &str); 5] = [
    (
        "sts:GetCallerIdentity",
        "<GetCallerIdentityResponse><GetCallerIdentityResult><Arn>arn:aws:iam::111122223333:root</Arn>\
         <Account>111122223333</Account></GetCallerIdentityResult></GetCallerIdentityResponse>",
    ),
    ("eks:GET/clusters/base/pod-identity-associations/1", r#"{"association": {"roleArn": "1"}}"#),
    ("eks:GET/clusters/base/pod-identity-associations/2", r#"{"association": {"roleArn": "2"}}"#),
    ("logs:ListTagsForResource", r#"{"tags": {}}"#),
    // Someone else has written it in the meantime.
    ("ssm:PutParameter", r#"{"Version": 3}"#),
];

fn lists() -> Vec<List> {
    lists! {
        // Without a page size, SQS returns one page and no token for the next.
        "sqs:ListQueues", r#""MaxResults":1000"#, "NextToken",
            r#"{"QueueUrls": ["http://x/1/ITEM"], "NextToken": NEXT}"#,
            |cloud| texts(cloud.queues(&String::new()).await.unwrap().unwrap()) => ["1", "2"];
        "sqs:ListDeadLetterSourceQueues", r#""MaxResults":1000"#, "NextToken",
            r#"{"queueUrls": ["http://x/1/ITEM"], "NextToken": NEXT}"#,
            |cloud| texts(cloud.dead_letter_sources(&"x".parse().unwrap()).await.unwrap().unwrap()) => ["1", "2"];
        "tagging:GetResources", "", "PaginationToken",
            r#"{"ResourceTagMappingList": [{"ResourceARN": "arn:aws:sqs:us-west-2:1:ITEM"}], "PaginationToken": NEXT}"#,
            |cloud| texts(cloud.tagged_queues().await.unwrap().unwrap().into_keys()) => ["1", "2"];
        "iam:ListRoles", "", "Marker",
            "<ListRolesResponse><ListRolesResult><Roles><member><Path>/</Path><RoleName>ITEM</RoleName><RoleId>r</RoleId>\
             <Arn>a</Arn><CreateDate>2026-01-01T00:00:00Z</CreateDate></member></Roles>NEXT</ListRolesResult></ListRolesResponse>",
            |cloud| texts(cloud.listed_roles().await.unwrap().unwrap().into_keys()) => ["1", "2"];
        "iam:ListRolePolicies", "RoleName=x", "Marker",
            "<ListRolePoliciesResponse><ListRolePoliciesResult><PolicyNames><member>ITEM</member></PolicyNames>NEXT\
             </ListRolePoliciesResult></ListRolePoliciesResponse>",
            |cloud| texts(cloud.inline_policy_names(&"x".parse().unwrap()).await.unwrap().unwrap()) => ["1", "2"];
        "iam:GetAccountAuthorizationDetails", "Filter.member.1=Role", "Marker",
            "<GetAccountAuthorizationDetailsResponse><GetAccountAuthorizationDetailsResult><RoleDetailList>\
             <member><RoleName>ITEM</RoleName><RolePolicyList><member><PolicyName>p</PolicyName>\
             <PolicyDocument>%7BITEM%7D</PolicyDocument></member></RolePolicyList></member>\
             <member><RoleName>of-others</RoleName></member></RoleDetailList>NEXT\
             </GetAccountAuthorizationDetailsResult></GetAccountAuthorizationDetailsResponse>",
            |cloud| {
                let roles = BTreeSet::from(["1", "2", "missing"].map(|role| role.parse().unwrap()));
                let found = cloud.inline_policies(&roles).await.unwrap().into_iter();
                texts(found.map(|(role, inline)| format!("{role} {} {}", inline[0].name, inline[0].text)))
            } => ["1 p {1}", "2 p {2}"];
        "eks:GET/clusters", "", "nextToken", r#"{"clusters": ["ITEM"], "nextToken": NEXT}"#,
            |cloud| texts(cloud.eks_clusters().await.unwrap().unwrap()) => ["1", "2"];
        "eks:GET/clusters/base/pod-identity-associations", "serviceAccount=karpenter", "nextToken",
            r#"{"associations": [{"serviceAccount": "karpenter", "associationId": "ITEM"}], "nextToken": NEXT}"#,
            |cloud| {
                let found = cloud.associations(&"base".parse().unwrap()).await.unwrap().unwrap().into_iter();
                texts(found.map(|association| association.role_arn))
            } => ["1", "2"];
        "events:ListRules", "", "NextToken", r#"{"Rules": [{"Name": "ITEM"}], "NextToken": NEXT}"#,
            |cloud| texts(cloud.event_rules().await.unwrap().unwrap().into_iter().map(|rule| rule.name)) => ["1", "2"];
        "events:ListTargetsByRule", r#""Rule":"x""#, "NextToken",
            r#"{"Targets": [{"Id": "ITEM", "Arn": "a"}], "NextToken": NEXT}"#,
            |cloud| {
                let targets = cloud.rule_targets(&"x".parse().unwrap()).await.unwrap().unwrap().into_iter();
                texts(targets.map(|target| target.id))
            } => ["1", "2"];
        "lambda:GET/event-source-mappings", "", "Marker",
            r#"{"EventSourceMappings": [{"UUID": "ITEM", "FunctionArn":
                "arn:aws:lambda:us-west-2:111122223333:function:kibus-router"}], "NextMarker": NEXT}"#,
            |cloud| {
                let mappings = cloud.function_mappings().await.unwrap().unwrap().into_iter();
                texts(mappings.map(|mapping| mapping.uuid))
            } => ["1", "2"];
        // Two concurrent questions share one list. They request the policy of each version.
        "lambda:GET/functions/kibus-router/versions", "", "Marker",
            r#"{"Versions": [{"Version": "ITEM"}], "NextMarker": NEXT}"#,
            |cloud| {
                let (one, other) = join(cloud.function_permissions(), cloud.function_permissions()).await;
                assert_eq!(one, other);
                texts(one.unwrap().unwrap().into_iter().map(|statement| statement.sid))
            } => ["", "1", "2", "live"];
        "ssm:GetParametersByPath", r#""Path":"/kibus""#, "NextToken",
            r#"{"Parameters": [{"Name": "/kibus/bITEM"}], "NextToken": NEXT}"#,
            |cloud| texts(cloud.buses().await.unwrap().unwrap()) => ["b1", "b2"];
        // The settings of a hub stay while a record remains that another tool has not made. This kibus cannot read the second one.
        "ssm:GetParametersByPath", r#""Path":"/kibus/kibus/clusters""#, "NextToken",
            r#"{"Parameters": [{"Name": "/kibus/kibus/clusters/base", "Value":
                "{\"format\": ITEM, \"cluster\": \"base\", \"queue\": \"q\", \"made-by\": \"terraform\", \"external\": true}"}],
                "NextToken": NEXT}"#,
            |cloud| {
                let (first, next) = cloud.records_page(None).await.unwrap();
                let (second, end) = cloud.records_page(next).await.unwrap();
                assert_eq!((first.len(), second.len(), end), (1, 1, None));
                vec![refused(cloud, Change::delete(None, parameter(cloud, None))).await]
            } => ["another run has just added a cluster to this hub"];
        // The last writer of a parameter is on the last page.
        "ssm:GetParameterHistory", "", "NextToken",
            r#"{"Parameters": [{"Version": ITEM, "Value": "x", "LastModifiedUser": "ITEM"}], "NextToken": NEXT}"#,
            |cloud| {
                let (from, to) = (parameter(cloud, None), parameter(cloud, Some("512")));
                let fields = diff(&to, &from, &BTreeSet::new());
                vec![refused(cloud, Change::update(None, from, to, fields)).await]
            } => ["2 wrote it after the plan was made"];
        // Other log groups have names with this prefix.
        "logs:DescribeLogGroups", r#""logGroupNamePrefix":"/x-2""#, "nextToken",
            r#"{"logGroups": [{"logGroupName": "/x-ITEM", "retentionInDays": ITEM}], "nextToken": NEXT}"#,
            |cloud| {
                let id = ResourceId::LogGroup("/x-2".parse().unwrap());
                let group = cloud.read(&id).await.unwrap().unwrap();
                texts(group.as_log_group().unwrap().retention_days)
            } => ["2"];
        "logs:FilterLogEvents", "", "nextToken",
            r#"{"events": [{"message": "{\"message\": \"dropped\", \"reason\": \"unregistered\", \"cluster\": \"ITEM\"}"}],
                "nextToken": NEXT}"#,
            |cloud| {
                let dropped = cloud.dropped_clusters().await.unwrap().unwrap();
                assert!(dropped.complete);
                texts(dropped.clusters.into_keys())
            } => ["1", "2"];
        // A page may continue a series of the previous page.
        "monitoring:GetMetricData", "", "NextToken",
            r#"{"MetricDataResults": [{"Id": "q", "Values": [ITEM]}], "NextToken": NEXT}"#,
            |cloud| texts([cloud.deleted(&"x".parse().unwrap(), 0).await.unwrap()]) => ["3"];
        "ec2:DescribeInstances", "", "NextToken",
            "<DescribeInstancesResponse><reservationSet><item><instancesSet><item><instanceId>i-0000000000000000ITEM</instanceId>\
             </item></instancesSet></item></reservationSet>NEXT</DescribeInstancesResponse>",
            |cloud| texts(cloud.instances(("tag-key", "x")).await.unwrap().into_iter().map(|instance| instance.id))
                => ["i-00000000000000001", "i-00000000000000002"];
        "fis:GET/experimentTemplates", "", "nextToken",
            r#"{"experimentTemplates": [{"id": "ITEM"}], "nextToken": NEXT}"#,
            |cloud| texts(cloud.templates().await.unwrap().into_iter().map(|template| template.id)) => ["1", "2"];
        "fis:GET/experiments", "experimentTemplateId=x", "nextToken",
            r#"{"experiments": [{"id": "ITEM"}], "nextToken": NEXT}"#,
            |cloud| texts(cloud.experiments("x").await.unwrap().into_iter().map(|experiment| experiment.id)) => ["1", "2"];
    }
}

fn texts<T: Display>(items: impl IntoIterator<Item = T>) -> Vec<String> {
    items.into_iter().map(|item| item.to_string()).collect()
}

/// The settings of the hub, with this memory.
fn parameter(cloud: &AwsCloud, memory: Option<&str>) -> Resource {
    let mut settings = Settings::default();
    settings.options.memory = memory.map(|memory| memory.parse().unwrap());
    let name = cloud.scope().settings_parameter();
    Resource::Parameter(Parameter { name, settings: Ok(settings), version: 0, tags_of_new: Default::default() })
}

/// Why a change was not made.
async fn refused(cloud: &AwsCloud, change: Change) -> String {
    let fault = cloud.write(&change, Waiting::unattended()).await.unwrap_err();
    fault.message.split(';').next().unwrap().to_owned()
}

/// The requested pages, by call.
type Asked = Arc<Mutex<BTreeMap<(&'static str, &'static str), Vec<&'static str>>>>;

fn answered(request: &Request<Bytes>, asked: &Asked) -> Answer {
    let operation = Operation::of(request);
    let text = format!("{} {}", request.uri(), String::from_utf8_lossy(request.body()));
    let body = |body: String| answer(200, if body.starts_with('<') { "text/xml" } else { JSON }, body);
    let is_meant = |list: &List| operation.name == list.call.0 && text.contains(list.call.1);
    let Some(list) = lists().into_iter().find(is_meant) else {
        if operation.name == "lambda:GET/functions/kibus-router/policy" {
            let (_, qualifier) = text.split_once("Qualifier=").unwrap_or_default();
            let statement = format!(r#"{{\"Statement\": [{{\"Sid\": \"{}\"}}]}}"#, qualifier.trim());
            return body(format!(r#"{{"Policy": "{statement}"}}"#));
        }
        let single = SINGLE.iter().find(|(name, _)| operation.name == *name);
        return body(single.unwrap_or_else(|| panic!("{operation}: {text}")).1.to_owned());
    };
    let is_second = ["\":\"", "="].iter().any(|is| text.contains(&format!("{}{is}second", list.token)));
    let mut asked = asked.lock().unwrap();
    let asked = asked.entry(list.call).or_default();
    asked.push(if is_second { "second" } else { "first" });
    if is_second && asked.len() < 4 {
        let code = if operation.service() == "sqs" { "RequestThrottled" } else { "ThrottlingException" };
        return match operation.service() {
            "ec2" => answer(
                503,
                "text/xml",
                "<Response><Errors><Error><Code>RequestLimitExceeded</Code><Message>x</Message></Error></Errors></Response>",
            ),
            _ => refusal(&operation, 400, code, "Rate exceeded"),
        };
    }
    let next = match (list.page.starts_with('<'), is_second) {
        (false, false) => r#""second""#,
        (false, true) => "null",
        (true, false) => "<IsTruncated>true</IsTruncated><Marker>second</Marker><nextToken>second</nextToken>",
        (true, true) => "<IsTruncated>false</IsTruncated>",
    };
    body(list.page.replace("ITEM", if is_second { "2" } else { "1" }).replace("NEXT", next))
}

#[tokio::test]
async fn every_page_of_a_list_is_read_and_a_throttled_one_alone_is_asked_for_again() {
    let asked = Asked::default();
    let server = Arc::clone(&asked);
    let url = Port::open().await.serve(move |request| {
        let answer = answered(&request, &server);
        async { Ok(answer) }
    });
    let session = Connect::to_emulator("us-west-2".parse().unwrap(), url).connect().await.unwrap();
    let cloud = AwsCloud::new(&session, "kibus".parse().unwrap());
    join_all(lists().into_iter().map(async |list| {
        assert_eq!((list.find)(&cloud).await, list.found, "{:?}", list.call);
        let mut asked = asked.lock().unwrap()[&list.call].clone();
        // Deleting the settings requests both pages again while the record remains.
        if list.call.1.contains("clusters") {
            asked.truncate(4);
        }
        assert_eq!(asked, ["first", "second", "second", "second"], "{:?}", list.call);
    }))
    .await;
}
