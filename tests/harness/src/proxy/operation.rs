//! What a request asks for.

use std::fmt::{self, Display, Formatter};

use hyper::Request;
use hyper::body::Bytes;
use serde_json::Value;

/// An operation, and what it is about. Displayed as recordings of writes have it.
#[derive(Clone, Debug)]
pub struct Operation {
    /// Like `sqs:CreateQueue`; for REST services like `lambda:POST/functions` and `eks:GET/clusters`.
    pub name: String,
    pub region: String,
    subject: String,
}

impl Operation {
    /// The operation of a request, by its signature and its protocol.
    pub fn of(request: &Request<Bytes>) -> Self {
        let header = |name| request.headers().get(name).map(|value| value.to_str().unwrap());
        let mut scope = header("authorization").unwrap_or_default().split('/').skip(2);
        let region = scope.next().unwrap_or_default().to_owned();
        let service = scope.next().unwrap_or("unsigned");
        if let Some(target) = header("x-amz-target") {
            let operation = target.rsplit('.').next().unwrap();
            let body: Value = serde_json::from_slice(request.body()).unwrap_or_default();
            return Self { name: format!("{service}:{operation}"), region, subject: subject(|key| text(&body[key])) };
        }
        if header("content-type").is_some_and(|kind| kind.contains("x-www-form-urlencoded")) {
            let form = String::from_utf8_lossy(request.body());
            let field = |key: &str| {
                let mut pairs = form.split('&').filter_map(|pair| pair.split_once('='));
                pairs.find(|(k, _)| *k == key).map(|(_, value)| value.to_owned())
            };
            let name = format!("{service}:{}", field("Action").unwrap_or_default());
            return Self { name, region, subject: subject(field) };
        }
        let path = request.uri().path().replace("%3A", ":");
        let path = path.trim_matches('/');
        let path = match service {
            "eks" | "fis" => path,
            _ => path.split_once('/').map_or("", |(_date, path)| path),
        };
        Self { name: format!("{service}:{}/{path}", request.method()), region, subject: String::new() }
    }

    pub fn service(&self) -> &str {
        self.name.split_once(':').map_or("", |(service, _)| service)
    }

    /// Whether the operation changes nothing, by its name.
    pub fn is_reading(&self) -> bool {
        let name = self.name.split_once(':').map_or("", |(_, name)| name);
        ["Get", "List", "Describe", "Filter", "Simulate", "GET/"].iter().any(|beginning| name.starts_with(beginning))
    }
}

impl Display for Operation {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(format!("{} {}", self.name, self.subject).trim_end())
    }
}

/// A name, or several of them.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(name) => Some(name.clone()),
        Value::Array(names) => Some(names.iter().filter_map(text).collect::<Vec<_>>().join(" ")),
        _ => None,
    }
}

/// The names in a request.
fn subject(field: impl Fn(&str) -> Option<String>) -> String {
    const MEMBERS: [&str; 11] = [
        "QueueName",
        "QueueUrl",
        "Name",
        "Rule",
        "logGroupName",
        "ResourceARN",
        "resourceArn",
        "RoleName",
        "PolicyName",
        // Of Parameter Store.
        "ResourceId",
        "Names",
    ];
    let named = MEMBERS.iter().filter_map(|member| field(member));
    let short = named.map(|name| match name.rsplit_once("://") {
        Some((_, url)) => url.rsplit('/').next().unwrap_or_default().to_owned(),
        None => name,
    });
    short.collect::<Vec<_>>().join(" ")
}
