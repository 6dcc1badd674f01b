//! I11: IAM's report about all roles of an account agrees with its answers about each role.

use std::collections::{BTreeMap, BTreeSet};

use hyper::body::Bytes;
use hyper::{Request, Response};
use kibus::aws::AwsCloud;
use kibus::cloud::Read;
use kibus::model::{RoleName, policy::InlinePolicy};

use crate::support::emulator::{Emulator, Kind};
use crate::support::proxy::{Answer, Broken, Port, forward};

const NOBODY: &str = r#"{"Version": "2012-10-17", "Statement": []}"#;
const DENIAL: &str = r#"{"Version": "2012-10-17", "Statement": {"Effect": "Deny", "Action": "*", "Resource": "*"}}"#;
const EVERYTHING: &str =
    r#"{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "sqs:*", "Resource": "*"}]}"#;

/// The documents of a role's inline policies, by name.
type Policies = BTreeMap<String, String>;

#[tokio::test]
async fn a_report_agrees_with_the_calls_about_each_role_on_ministack() {
    agrees(Kind::Ministack).await;
}

#[tokio::test]
async fn a_report_agrees_with_the_calls_about_each_role_on_moto() {
    agrees(Kind::Moto).await;
}

async fn agrees(kind: Kind) {
    let emulator = Emulator::start(kind).await;
    let iam = aws_sdk_iam::Client::new(&emulator.sdk());
    for role in ["full", "empty", "another"] {
        let call = iam.create_role().role_name(role);
        call.assume_role_policy_document(NOBODY).send().await.unwrap();
    }
    for (role, policy, text) in
        [("full", "first", EVERYTHING), ("full", "second", DENIAL), ("another", "third", DENIAL)]
    {
        let call = iam.put_role_policy().role_name(role).policy_name(policy);
        call.policy_document(text).send().await.unwrap();
    }

    let cloud = AwsCloud::new(&emulator.session().await, "kibus".parse().unwrap());
    let roles = roles(&["empty", "full", "missing"]);
    let mut each = BTreeMap::new();
    for role in &roles {
        each.extend(one_by_one(&cloud, role).await.map(|policies| (role.clone(), policies)));
    }
    assert_eq!(reported(&cloud, &roles).await, each);
    let sizes: Vec<usize> = each.values().map(BTreeMap::len).collect();
    assert_eq!(sizes, [0, 2], "the missing role is absent");
}

/// Neither emulator divides the report into pages, and AWS may send fewer roles than a page can have.
#[tokio::test]
async fn a_report_is_read_to_its_last_page() {
    let emulator = Emulator::start(Kind::Ministack).await;
    let (_, port) = emulator.endpoint.rsplit_once(':').unwrap();
    let connect = emulator.connect_to(with_two_pages(port.parse().unwrap()).await);
    let cloud = AwsCloud::new(&connect.connect().await.unwrap(), "kibus".parse().unwrap());
    let found = reported(&cloud, &roles(&["on-the-first", "on-the-second", "missing"])).await;
    assert_eq!(found.keys().map(RoleName::as_str).collect::<Vec<_>>(), ["on-the-first", "on-the-second"]);
}

fn roles(names: &[&str]) -> BTreeSet<RoleName> {
    names.iter().map(|name| name.parse().unwrap()).collect()
}

async fn reported(cloud: &AwsCloud, roles: &BTreeSet<RoleName>) -> BTreeMap<RoleName, Policies> {
    let found = cloud.inline_policies(roles).await.unwrap().into_iter();
    let texts = |policies: Vec<InlinePolicy>| policies.into_iter().map(|policy| (policy.name, policy.text));
    found.map(|(role, policies)| (role, texts(policies).collect())).collect()
}

async fn one_by_one(cloud: &AwsCloud, role: &RoleName) -> Option<Policies> {
    let mut inline = BTreeMap::new();
    for name in cloud.inline_policy_names(role).await.unwrap()? {
        let policy = cloud.inline_policy(role, &name).await.unwrap().unwrap();
        inline.insert(policy.name, policy.text);
    }
    Some(inline)
}

/// Starts a proxy to the emulator on this port that has a report of two pages; gives its URL.
async fn with_two_pages(server: u16) -> String {
    Port::open().await.serve(move |request| page(server, request))
}

async fn page(server: u16, request: Request<Bytes>) -> Result<Answer, Broken> {
    let form = String::from_utf8_lossy(request.body());
    if !form.contains("Action=GetAccountAuthorizationDetails") {
        return forward(server, request).await;
    }
    assert!(form.contains("Filter.member.1=Role"), "only roles: {form}");
    let (role, next) = if form.contains("Marker=next") {
        ("on-the-second", "<IsTruncated>false</IsTruncated>")
    } else {
        ("on-the-first", "<IsTruncated>true</IsTruncated><Marker>next</Marker>")
    };
    let roles = ["of-others", role].map(|name| format!("<member><RoleName>{name}</RoleName></member>"));
    let roles = format!("<RoleDetailList>{}</RoleDetailList>", roles.concat());
    Ok(Response::new(Bytes::from(format!(
        "<GetAccountAuthorizationDetailsResponse><GetAccountAuthorizationDetailsResult>{roles}{next}\
         </GetAccountAuthorizationDetailsResult></GetAccountAuthorizationDetailsResponse>"
    ))))
}
