//! Calls about several parameters, or about a path. AWS allows such a call if it allows it on each of them; a path is
//! the resource exactly as sent, with or without a trailing slash. The emulator reads only `Name` from a request, and
//! would require `*` in a document here. So the proxy checks each resource with a harmless call by the same caller that
//! names only this resource, and makes the call as the root user if none was denied.

use aws_smithy_runtime_api::client::runtime_plugin::StaticRuntimePlugin;
use hyper::Request;
use hyper::body::Bytes;
use hyper::http::request::Parts;
use kibus::wire::aws_json::{JsonClient, PARAMETERS};
use serde_json::{Value, json};

use super::account::{Account, REGION};
use super::arn;
use super::denied::{Tried, not_denied};
use crate::support::emulator::ACCOUNT;
use crate::support::proxy::{Answer, Broken, Upstream};
use crate::support::workbench::sha256;

/// The denial of such a call. Without a denial, the root user makes the call.
pub(super) async fn denied(server: &Upstream, head: &mut Parts, body: &Bytes) -> Result<Option<Answer>, Broken> {
    let resources = resources(head, body);
    for resource in &resources {
        let mut asks = head.clone();
        // The signature covers the original body and its length.
        asks.headers.insert("x-amz-content-sha256", sha256(body).parse()?);
        let named = format!("{:width$}", json!({ "Name": resource }).to_string(), width = body.len());
        let answer = server.forward(Request::from_parts(asks, named.into())).await?;
        if !answer.status().is_success() {
            return Ok(Some(answer));
        }
    }
    if !resources.is_empty() {
        let signature = head.headers["authorization"].to_str()?;
        let (_, scope) = signature.split_once('/').ok_or("the signature has no scope")?;
        head.headers.insert("authorization", format!("AWS4-HMAC-SHA256 Credential={ACCOUNT}/{scope}").parse()?);
    }
    Ok(None)
}

/// The names or the path in a call that the emulator cannot decide about.
fn resources(head: &Parts, body: &[u8]) -> Vec<String> {
    let target = head.headers.get("x-amz-target").and_then(|target| target.to_str().ok());
    let members = match target.and_then(|target| target.strip_prefix("AmazonSSM.")) {
        Some("GetParameters" | "DeleteParameters") => "Names",
        Some("GetParametersByPath") => "Path",
        _ => return Vec::new(),
    };
    let call: Value = serde_json::from_slice(body).unwrap_or_default();
    let one = std::slice::from_ref(&call[members]);
    let all = call[members].as_array().map_or(one, Vec::as_slice);
    all.iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Makes a record so old that `verify` reads the metrics of the cluster's queue.
pub(super) async fn age_record(account: &Account, cluster: &str) {
    let root = JsonClient::new(&account.root(), PARAMETERS, StaticRuntimePlugin::new());
    let name = format!("/kibus/kibus/clusters/{cluster}");
    let found: Value = root.call("GetParameter", json!({ "Name": name })).await.unwrap();
    let mut record: Value = serde_json::from_str(found["Parameter"]["Value"].as_str().unwrap()).unwrap();
    record["since"] = "2026-01-01T00:00:00Z".into();
    let aged = json!({ "Name": name, "Type": "String", "Overwrite": true, "Value": record.to_string() });
    root.call::<Value>("PutParameter", aged).await.unwrap();
}

#[tokio::test]
async fn one_denied_parameter_denies_the_call() {
    let account = Account::start(REGION).await;
    let root = JsonClient::new(&account.root(), PARAMETERS, StaticRuntimePlugin::new());
    for name in ["/kibus/a", "/kibus/b", "/kibus/b/c"] {
        let put = json!({ "Name": name, "Type": "String", "Value": "x" });
        root.call::<Value>("PutParameter", put).await.unwrap();
    }
    let allowed = ["a", "b", "b/c"].map(|name| arn("ssm", &format!("parameter/kibus/{name}")));
    let document = json!({
        "Version": "2012-10-17",
        "Statement": [
            {"Effect": "Allow", "Action": ["ssm:GetParameters", "ssm:GetParametersByPath"], "Resource": allowed[..2]},
            {"Effect": "Allow", "Action": "ssm:DeleteParameters", "Resource": allowed[2]},
        ],
    });
    let keys = account.user("reader", &[&document]).await;
    let reader = JsonClient::new(&account.sdk(&keys), PARAMETERS, StaticRuntimePlugin::new());
    let mut done = Vec::new();
    for (operation, input, found) in [
        ("GetParameters", json!({ "Names": ["/kibus/a", "/kibus/b"] }), Some(2)),
        ("GetParameters", json!({ "Names": ["/kibus/a", "/kibus/b/c"] }), None),
        ("GetParameters", json!({ "Names": ["/kibus/absent", "/kibus/a"] }), None),
        ("GetParametersByPath", json!({ "Path": "/kibus/b" }), Some(1)),
        ("GetParametersByPath", json!({ "Path": "/kibus/b/" }), None),
        ("GetParametersByPath", json!({ "Path": "/kibus" }), None),
        ("DeleteParameters", json!({ "Names": ["/kibus/b/c", "/kibus/a"] }), None),
        ("GetParametersByPath", json!({ "Path": "/kibus/b" }), Some(1)),
        ("DeleteParameters", json!({ "Names": ["/kibus/b/c"] }), Some(0)),
        ("GetParametersByPath", json!({ "Path": "/kibus/b" }), Some(0)),
    ] {
        let what = format!("{operation} {input}");
        match (reader.call::<Value>(operation, input).await, found) {
            (Ok(answer), found) => {
                let parameters = answer["Parameters"].as_array().map_or(0, Vec::len);
                assert_eq!(Some(parameters), found, "{what}");
            }
            (Err(error), None) => done.push(Tried::new(&what, Some(error))),
            (Err(error), Some(_)) => panic!("{what}: {error:?}"),
        }
    }
    assert_eq!(not_denied(&done), Vec::<String>::new());
}
