//! The documents that kibus prints and writes, as files for a review without credentials. `KIBUS_TEST_UPDATE=1` writes them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use kibus::model::{Document, HubOptions, Signal, policy};

use super::{arn, scope, stand_alone, typed};

/// The documents of a hub and its cluster `base`, by their files.
fn documents(options: &HubOptions) -> BTreeMap<String, Document> {
    let scope = scope();
    let queue = scope.cluster_queue(&options.queue_template(), &"base".parse().unwrap());
    let rules: Vec<_> =
        Signal::ALL.into_iter().filter(|signal| options.has_rule(*signal)).map(|signal| scope.rule(signal)).collect();
    let others = [
        ("router", policy::router_policy(&scope, options)),
        ("controller", policy::controller_policy(&scope, &queue, options.key())),
        ("queue-of-hub", policy::hub_queue_policy(&scope, &scope.hub_queue(), rules.iter())),
        ("queue-of-cluster", policy::cluster_queue_policy(&scope, &queue)),
        ("key-statement", policy::key_statement(&scope)),
    ];
    let others = others.map(|(name, document)| (name.to_owned(), document));
    let of_operators = stand_alone::documents(options).into_iter().map(|(name, document)| {
        let name = format!("operator-{}", name.replace(" --", "-"));
        (name.replace("operator-hub", "operator"), document)
    });
    of_operators.chain(others).collect()
}

/// A document for reads, or with an option, has a file if it differs from the plain one.
#[test]
fn every_document_is_published() {
    let plain = documents(&HubOptions::default());
    let mut files = plain.clone();
    files.retain(|name, document| name.strip_suffix("-read-only").is_none_or(|whole| plain[whole] != *document));
    for (end, options) in [
        ("with-key", format!("--kms-key {}", arn("kms", "key/1234abcd-12ab-34cd-56ef-1234567890ab"))),
        ("with-boundary", "--permissions-boundary arn:aws:iam::111122223333:policy/platform".to_owned()),
        ("with-topic", format!("--notify {}", arn("sns", "interruptions"))),
        ("without-tag-conditions", "--tag-conditions=false".to_owned()),
    ] {
        let differing = documents(&typed(&options)).into_iter();
        let differing = differing.filter(|(name, document)| !name.ends_with("read-only") && plain[name] != *document);
        files.extend(differing.map(|(name, document)| (format!("{name}-{end}"), document)));
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/policies");
    for (name, document) in &files {
        let (path, text) = (folder.join(format!("{name}.json")), format!("{}\n", document.pretty()));
        if std::env::var_os("KIBUS_TEST_UPDATE").is_some() {
            fs::write(&path, &text).unwrap();
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), text, "{name} differs; `KIBUS_TEST_UPDATE=1` writes it");
    }
    let found = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let expected = files.keys().map(|name| format!("{name}.json"));
    assert_eq!(found.collect::<BTreeSet<_>>(), expected.collect());
}
