//! The main properties of a resource in a few words.

use std::collections::BTreeSet;

use serde_json::Value;

use super::escape::escape;
use super::value::{days, seconds};
use crate::model::document::Document;
use crate::model::queue_policy;
use crate::model::resource::{
    Encryption, EventSourceMapping, Function, FunctionSettings, Queue, Resource, ResourceId, Role, RolePolicy, Rule,
};

/// The display name of a resource.
#[must_use]
pub fn name(id: &ResourceId) -> String {
    id.name().replace(" -> ", " → ")
}

/// The name in the name column of a plan. For a role policy it is the role, because the summary has the policy's name.
pub(super) fn short_name(id: &ResourceId) -> String {
    if let ResourceId::RolePolicy(role, _) = id {
        return role.to_string();
    }
    name(id)
}

/// The part of the name that [`short_name`] omits, for a resource whose fields are shown instead of its summary.
pub(super) fn rest_of_name(id: &ResourceId) -> String {
    if let ResourceId::RolePolicy(role, policy) = id
        && role.as_str() != policy.as_str()
    {
        return policy.to_string();
    }
    String::new()
}

/// The main properties of a resource.
#[must_use]
pub fn summary(resource: &Resource) -> String {
    match resource {
        Resource::Queue(queue) => of_queue(queue),
        Resource::Role(role) => of_role(role),
        Resource::RolePolicy(policy) => of_policy(policy),
        Resource::LogGroup(group) => group
            .retention_days
            .map_or("unlimited retention".to_owned(), |kept| days(kept.into())),
        Resource::Function(function) => of_function(function),
        Resource::Alias(alias) => match alias.version {
            Some(version) => format!("version {version}"),
            None => format!("router {}", escape(&alias.settings.code.version)),
        },
        Resource::EventSourceMapping(mapping) => of_mapping(mapping),
        Resource::Rule(rule) => of_rule(rule),
    }
}

fn of_queue(queue: &Queue) -> String {
    let mut parts = vec![seconds(queue.retention.into()), encryption(&queue.encryption)];
    let policy = queue.policy.as_ref();
    if let Some(redrive) = &queue.redrive {
        parts.push(format!("dead letters after {} receives", redrive.max_receives));
    } else if let Some(sources) = queue.redrive_allow.as_ref().and_then(dead_letters_of) {
        parts.push(sources);
    } else if policy.is_some_and(queue_policy::is_locked) {
        parts.push("from the router only".to_owned());
    } else if policy.is_some_and(is_tls_only) {
        parts.push("TLS only".to_owned());
    }
    parts.join(", ")
}

fn encryption(encryption: &Encryption) -> String {
    match encryption {
        Encryption::None => "not encrypted".to_owned(),
        Encryption::SqsManaged => "SSE-SQS".to_owned(),
        Encryption::Kms(key) => format!("KMS {}", last(key.as_str(), ':')),
        Encryption::OtherKms(key) => format!("KMS {}", escape(key)),
    }
}

/// The queues that may redrive into a dead-letter queue, if it names them.
fn dead_letters_of(allow: &Document) -> Option<String> {
    let sources = texts(allow.value().get("sourceQueueArns"));
    let names: Vec<_> = sources.iter().map(|arn| escape(last(arn, ':'))).collect();
    (!names.is_empty()).then(|| format!("from {} only", names.join(", ")))
}

fn is_tls_only(policy: &Document) -> bool {
    policy.statements().iter().any(|statement| {
        let secure = statement.pointer("/Condition/Bool/aws:SecureTransport");
        statement.get("Effect").and_then(Value::as_str) == Some("Deny")
            && texts(secure).first().is_some_and(|text| text == "false")
    })
}

fn of_role(role: &Role) -> String {
    let principals: BTreeSet<String> = role
        .trust
        .statements()
        .iter()
        .filter_map(|statement| statement.get("Principal"))
        .flat_map(|principal| match principal {
            Value::Object(kinds) => kinds.values().flat_map(|who| texts(Some(who))).collect(),
            other => texts(Some(other)),
        })
        .collect();
    let mut parts: Vec<String> = principals
        .iter()
        .map(|principal| escape(principal).into_owned())
        .collect();
    if role.path.as_str() != "/" {
        parts.push(format!("path {}", role.path));
    }
    if let Some(boundary) = &role.permissions_boundary {
        parts.push(format!("boundary {}", last(boundary.as_str(), '/')));
    }
    parts.join(", ")
}

fn of_policy(policy: &RolePolicy) -> String {
    if policy.role.as_str() == policy.name.as_str() {
        return match policy.document.statements().len() {
            1 => "1 statement".to_owned(),
            count => format!("{count} statements"),
        };
    }
    let actions: Vec<String> = policy
        .document
        .statements()
        .iter()
        .flat_map(|statement| texts(statement.get("Action")))
        .map(|action| plain_action(&action))
        .collect();
    format!("{}: {}", policy.name, actions.join(", "))
}

/// The short word for an action.
fn plain_action(action: &str) -> String {
    match action {
        "sqs:ReceiveMessage" => "receive".to_owned(),
        "sqs:DeleteMessage" => "delete".to_owned(),
        "sqs:GetQueueUrl" => "get URL".to_owned(),
        "sqs:GetQueueAttributes" => "get attributes".to_owned(),
        "kms:Decrypt" => "decrypt".to_owned(),
        other => escape(other).into_owned(),
    }
}

fn of_function(function: &Function) -> String {
    let FunctionSettings {
        runtime,
        architecture,
        memory,
        code,
        ..
    } = &function.settings;
    let mut text = format!("{}, {architecture}, {memory} MB", escape(runtime));
    if code.has_version() {
        text = format!("{}, {text}", escape(&code.version));
    }
    if let Some(reserved) = function.reserved_concurrency {
        text.push_str(&format!(", reserved concurrency {reserved}"));
    }
    text
}

fn of_mapping(mapping: &EventSourceMapping) -> String {
    let mut text = format!("batch {}", mapping.batch_size);
    if mapping.window > 0 {
        text.push_str(&format!(", window {}", seconds(mapping.window.into())));
    }
    if let Some(maximum) = mapping.maximum_concurrency {
        text.push_str(&format!(", concurrency {maximum}"));
    }
    if !mapping.enabled {
        text.push_str(", disabled");
    }
    text
}

fn of_rule(rule: &Rule) -> String {
    let target = match &rule.target {
        Some(target) => format!("→ {}", escape(last(&target.arn, ':'))),
        None => "no target".to_owned(),
    };
    let about = rule.description.strip_prefix("Kibus: ").unwrap_or(&rule.description);
    let disabled = if rule.enabled { "" } else { ", disabled" };
    format!("{target}, {}{disabled}", escape(about))
}

/// The text after the last separator.
fn last(text: &str, separator: char) -> &str {
    text.rsplit(separator).next().unwrap_or(text)
}

/// The texts of a policy element that holds one text or a list.
fn texts(value: Option<&Value>) -> Vec<String> {
    match value {
        Some(Value::Array(items)) => items.iter().flat_map(|item| texts(Some(item))).collect(),
        Some(Value::String(text)) => vec![text.clone()],
        Some(other) => vec![other.to_string()],
        None => Vec::new(),
    }
}
