//! Rewrites ARNs between partitions, for a server that knows only one.

use std::collections::BTreeSet;

use hyper::Request;
use hyper::body::Bytes;

use crate::support::proxy::{Answer, Broken};

/// The forms of a colon: plain, and URL-encoded.
const COLONS: [&str; 2] = [":", "%3A"];
/// The partition of the server.
const SERVERS: &str = "aws";

/// The partitions of all ARNs that a request names.
pub(super) fn partitions(request: &Request<Bytes>) -> BTreeSet<String> {
    let text = format!("{} {}", request.uri(), String::from_utf8_lossy(request.body()));
    let mut found = BTreeSet::new();
    for colon in COLONS {
        let beginning = format!("arn{colon}");
        let after = text.split(&beginning).skip(1);
        found.extend(after.filter_map(|rest| Some(rest.split_once(colon)?.0.to_owned())));
    }
    found
}

/// Gives a request the server's partition.
pub(super) fn for_server(request: &mut Request<Bytes>, partition: &str) -> Result<(), Broken> {
    *request.uri_mut() = renamed(&request.uri().to_string(), partition, SERVERS).parse()?;
    rename(request.body_mut(), partition, SERVERS);
    Ok(())
}

/// Gives an answer the partition of kibus.
pub(super) fn from_server(answer: &mut Answer, partition: &str) {
    rename(answer.body_mut(), SERVERS, partition);
}

fn rename(body: &mut Bytes, from: &str, to: &str) {
    // Binary data contains no ARN.
    if let Ok(text) = std::str::from_utf8(body) {
        *body = renamed(text, from, to).into();
    }
}

fn renamed(text: &str, from: &str, to: &str) -> String {
    COLONS.iter().fold(text.to_owned(), |text, colon| {
        text.replace(&format!("arn{colon}{from}{colon}"), &format!("arn{colon}{to}{colon}"))
    })
}
