//! The inline policies of a role, including those that kibus does not manage.

use std::collections::BTreeSet;

use serde_json::Value;

use super::document::{Document, texts};

/// An inline policy as IAM has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InlinePolicy {
    /// Its name. It may break the rules that kibus has for names.
    pub name: String,
    /// The document, exactly as IAM stores it.
    pub text: String,
}

impl InlinePolicy {
    /// The document, if it can be parsed.
    #[must_use]
    pub fn document(&self) -> Option<Document> {
        Document::parse(&self.text).ok()
    }

    /// The document; one that cannot be parsed is kept as text, so that it differs from every desired one.
    #[must_use]
    pub fn document_or_text(&self) -> Document {
        self.document()
            .unwrap_or_else(|| Document::new(Value::String(self.text.clone())))
    }
}

/// The size of a document, in characters, as the quota counts it. IAM does not count white space (IAM user guide,
/// "IAM and STS character quotas").
#[must_use]
pub fn space(text: &str) -> usize {
    text.chars().filter(|c| !c.is_whitespace()).count()
}

/// The ARNs of the queues that a policy allows to receive from, as they are written, with wildcards. A statement with
/// `*` as its resource names no queue.
#[must_use]
pub fn queues_received_from(policy: &Document) -> BTreeSet<String> {
    let allows = |statement: &&Value| {
        statement.get("Effect").and_then(Value::as_str) == Some("Allow")
            && texts(statement.get("Action"))
                .into_iter()
                .any(|action| matches_action(action, "sqs:ReceiveMessage"))
    };
    policy
        .statements()
        .into_iter()
        .filter(allows)
        .flat_map(|statement| texts(statement.get("Resource")))
        .filter(|arn| arn.split(':').nth(2) == Some("sqs"))
        .map(str::to_owned)
        .collect()
}

/// Whether an action matches a pattern; in actions, case does not count.
#[must_use]
pub fn matches_action(pattern: &str, action: &str) -> bool {
    matches(&pattern.to_lowercase(), &action.to_lowercase())
}

/// Whether a text matches a pattern with `*` for any characters and `?` for any one, as IAM's policies have them.
#[must_use]
pub fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    let (mut p, mut t) = (0, 0);
    // Where the last `*` stands, and up to where it has taken the text.
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, t));
                p += 1;
            }
            Some(c) if *c == '?' || *c == text[t] => {
                p += 1;
                t += 1;
            }
            _ => {
                let Some((at, taken)) = star else { return false };
                star = Some((at, taken + 1));
                p = at + 1;
                t = taken + 1;
            }
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn white_space_takes_no_space() {
        for (text, taken) in [("", 0), ("{ \"a\":\n\t\"b\" }", 9), ("{\"ü\":1}", 7)] {
            assert_eq!(space(text), taken, "{text:?}");
        }
    }

    #[test]
    fn a_policy_names_the_queues_that_it_opens() {
        const Q: &str = "arn:aws:sqs:us-west-2:111122223333:q";
        for (name, statement, named) in [
            (
                "one action",
                json!({"Effect": "Allow", "Action": "sqs:ReceiveMessage", "Resource": Q}),
                true,
            ),
            (
                "a list",
                json!({"Effect": "Allow", "Action": ["x:y", "SQS:receivemessage"], "Resource": [Q]}),
                true,
            ),
            (
                "a wildcard",
                json!({"Effect": "Allow", "Action": "sqs:Rec*", "Resource": Q}),
                true,
            ),
            (
                "every action",
                json!({"Effect": "Allow", "Action": "*", "Resource": Q}),
                true,
            ),
            (
                "another action",
                json!({"Effect": "Allow", "Action": "sqs:SendMessage", "Resource": Q}),
                false,
            ),
            (
                "a denial",
                json!({"Effect": "Deny", "Action": "sqs:ReceiveMessage", "Resource": Q}),
                false,
            ),
            (
                "everything",
                json!({"Effect": "Allow", "Action": "sqs:*", "Resource": "*"}),
                false,
            ),
            (
                "no queue",
                json!({"Effect": "Allow", "Action": "*", "Resource": "arn:aws:s3:::bucket"}),
                false,
            ),
            (
                "no resource",
                json!({"Effect": "Allow", "Action": "*", "NotResource": Q}),
                false,
            ),
        ] {
            let queues = queues_received_from(&Document::new(json!({"Statement": [statement]})));
            assert_eq!(queues.contains(Q), named, "{name}");
        }
    }

    #[test]
    fn patterns_match_as_in_iam() {
        for (pattern, text, same) in [
            ("a", "a", true),
            ("a*", "abc", true),
            ("*c", "abc", true),
            ("a*c*", "abcd", true),
            ("a?c", "abc", true),
            ("a?", "a", false),
            ("*", "", true),
            ("a*b", "a", false),
            ("a*bc", "abbc", true),
        ] {
            assert_eq!(matches(pattern, text), same, "{pattern} {text}");
        }
    }
}
