//! The operation of a request.

use std::fmt::{self, Display, Formatter};

use hyper::Request;
use hyper::body::Bytes;
use serde_json::Value;

use crate::call::{Call, Caller};

/// An operation, and its subject. Displayed as in recordings of writes.
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
        let call = Call::read(request, Caller::Client);
        let service = if call.service.is_empty() { "unsigned" } else { &call.service };
        let field = |name: &str| text(&call.json[name]).or_else(|| call.text(name).map(str::to_owned));
        let is_rest = call.operation.contains(' ');
        Self {
            name: format!("{service}:{}", call.operation.replacen(' ', "/", 1)),
            subject: if is_rest { String::new() } else { subject(field) },
            region: call.region.clone(),
        }
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
