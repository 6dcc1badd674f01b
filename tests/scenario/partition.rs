//! Rewrites ARNs between partitions, for a server that knows only one.

use std::collections::BTreeSet;

use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::header::CONTENT_LENGTH;
use hyper::{Request, Response, Uri};

type Broken = Box<dyn std::error::Error + Send + Sync>;

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

/// A request with the server's partition.
pub(super) fn for_server(request: Request<Bytes>, partition: &str) -> Result<Request<Bytes>, Broken> {
    let (mut parts, body) = request.into_parts();
    parts.uri = renamed(&parts.uri.to_string(), partition, SERVERS).parse::<Uri>()?;
    let body = bytes(&body, partition, SERVERS);
    parts.headers.insert(CONTENT_LENGTH, body.len().into());
    Ok(Request::from_parts(parts, body))
}

/// A response with the partition of kibus.
pub(super) async fn from_server(
    answer: Response<Full<Bytes>>,
    partition: &str,
) -> Result<Response<Full<Bytes>>, Broken> {
    let (mut parts, body) = answer.into_parts();
    let body = bytes(&body.collect().await?.to_bytes(), SERVERS, partition);
    parts.headers.insert(CONTENT_LENGTH, body.len().into());
    Ok(Response::from_parts(parts, Full::new(body)))
}

fn bytes(body: &Bytes, from: &str, to: &str) -> Bytes {
    match std::str::from_utf8(body) {
        Ok(text) => renamed(text, from, to).into(),
        // Not text, so it contains no ARN.
        Err(_) => body.clone(),
    }
}

fn renamed(text: &str, from: &str, to: &str) -> String {
    COLONS.iter().fold(text.to_owned(), |text, colon| {
        text.replace(&format!("arn{colon}{from}{colon}"), &format!("arn{colon}{to}{colon}"))
    })
}
