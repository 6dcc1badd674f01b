//! What scenarios do with an account without kibus: they change its router, and read everything in it.

use std::collections::BTreeMap;
use std::io::{Cursor, Write};

use serde_json::{Value, json};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use crate::support::account::Account;
use crate::support::inventory::{self, Found, all_about};
use crate::support::workbench::sha256;

/// The version of the router.
const OURS: &str = env!("CARGO_PKG_VERSION");

/// The Regions of scenarios; the first is the default.
pub(super) const REGIONS: [&str; 3] = ["us-west-2", "eu-west-1", "cn-north-1"];

/// Uploads a router as the code of the function, and sets the tags that describe it.
pub(super) async fn upload(account: &Account, router: &[u8]) {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().unix_permissions(0o755);
    zip.start_file("bootstrap", options).unwrap();
    zip.write_all(router).unwrap();
    let archive = zip.finish().unwrap().into_inner();
    let code = json!({ "ZipFile": aws_smithy_types::base64::encode(&archive) });
    account.call("lambda", "PUT", &format!("functions/kibus-router/code {code}")).await;
    let tags = json!({"kibus:router-version": OURS, "kibus:router-sha256": sha256(&archive)});
    let arn = format!("arn:aws:lambda:{}:{}:function:kibus-router", account.region, account.id);
    account.call("lambda", "POST", &format!("tags/{arn} {}", json!({ "Tags": tags }))).await;
}

/// Publishes the code of the function with the description that kibus would write, and points the alias to it.
pub(super) async fn publish(account: &Account) {
    let function: Value = serde_json::from_str(&account.settled("functions/kibus-router/configuration").await).unwrap();
    let hash = aws_smithy_types::base64::decode(function["CodeSha256"].as_str().unwrap()).unwrap();
    let hex: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    let description = json!({ "Description": format!("kibus-router {OURS} sha256 {hex}") });
    let version = account.json("lambda", "POST", &format!("functions/kibus-router/versions {description}")).await;
    let version = json!({ "FunctionVersion": version["Version"] });
    account.call("lambda", "PUT", &format!("functions/kibus-router/aliases/live {version}")).await;
}

/// All resources in the account that kibus could change.
pub(super) async fn dump(account: &Account) -> BTreeMap<String, String> {
    let mut dump = BTreeMap::new();
    for region in REGIONS {
        let there = account.in_region(region);
        for found in inventory::all(&there).await {
            let all = all_about(&there, &found).await;
            let Found { kind, name, id } = found;
            // The URL of a queue has the port of the server.
            let what = if id.ends_with(&name) {
                format!("{region} {kind:?} {name}")
            } else {
                format!("{region} {kind:?} {name} {id}")
            };
            let lines = all.into_iter().enumerate();
            dump.extend(lines.map(|(at, text)| (format!("{what}, answer {}", at + 1), text)));
        }
    }
    dump
}
