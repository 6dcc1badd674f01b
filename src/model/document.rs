//! JSON documents (policies, patterns) and when two of them say the same.

use serde_json::Value;

/// A policy or a pattern. Two are equal if they say the same, however they are written: the order of a list, a
/// list of one against the thing itself, and the order of statements carry no meaning in either language.
#[derive(Clone, Debug)]
pub struct Document(pub Value);

impl Document {
    /// Reads a document from text.
    ///
    /// # Errors
    /// When the text is not JSON.
    pub fn parse(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text).map(Self)
    }

    /// The document on one line, as AWS takes it.
    #[must_use]
    pub fn compact(&self) -> String {
        self.0.to_string()
    }

    /// The document over several lines, in an order that does not depend on how it was written.
    #[must_use]
    pub fn pretty(&self) -> String {
        format!("{:#}", normal(&self.0))
    }

    /// The statements of a policy, none if it has none.
    #[must_use]
    pub fn statements(&self) -> Vec<&Value> {
        match self.0.get("Statement") {
            Some(Value::Array(statements)) => statements.iter().collect(),
            Some(one) => vec![one],
            None => Vec::new(),
        }
    }
}

impl PartialEq for Document {
    fn eq(&self, other: &Self) -> bool {
        normal(&self.0) == normal(&other.0)
    }
}

impl Eq for Document {}

/// The one form of all documents that say the same.
fn normal(value: &Value) -> Value {
    match value {
        Value::Array(items) => {
            let mut items: Vec<Value> = items.iter().map(normal).collect();
            items.sort_by_key(sort_key);
            items.dedup();
            match items.as_slice() {
                [one] if !one.is_object() => one.clone(),
                _ => Value::Array(items),
            }
        }
        Value::Object(members) => members.iter().map(|(k, v)| (k.clone(), normal(v))).collect(),
        other => other.clone(),
    }
}

/// Statements sort by their `Sid` first, so that a changed statement stands beside what it was in a line diff.
fn sort_key(value: &Value) -> (String, String) {
    let sid = value.get("Sid").and_then(Value::as_str).unwrap_or_default();
    (sid.to_owned(), value.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn documents_compare_by_what_they_say() {
        let policy = json!({"Statement": [{"Sid": "B", "Action": ["x", "y"]}, {"Sid": "A", "Action": "z"}]});
        for (name, other, same) in [
            (
                "order of statements",
                json!({"Statement": [{"Sid": "A", "Action": "z"}, {"Sid": "B", "Action": ["x", "y"]}]}),
                true,
            ),
            (
                "order of actions",
                json!({"Statement": [{"Action": ["y", "x"], "Sid": "B"}, {"Sid": "A", "Action": "z"}]}),
                true,
            ),
            (
                "a list of one",
                json!({"Statement": [{"Sid": "B", "Action": ["x", "y"]}, {"Sid": "A", "Action": ["z"]}]}),
                true,
            ),
            (
                "another action",
                json!({"Statement": [{"Sid": "B", "Action": ["x", "y"]}, {"Sid": "A", "Action": "q"}]}),
                false,
            ),
            (
                "one statement less",
                json!({"Statement": [{"Sid": "B", "Action": ["x", "y"]}]}),
                false,
            ),
            (
                "one action more",
                json!({"Statement": [{"Sid": "B", "Action": ["x", "y", "z"]}, {"Sid": "A", "Action": "z"}]}),
                false,
            ),
        ] {
            assert_eq!(Document(policy.clone()) == Document(other), same, "{name}");
        }
    }

    #[test]
    fn a_pattern_of_one_statement_is_not_unwrapped_into_its_object() {
        assert_ne!(
            Document(json!({"a": [{"prefix": "x"}]})),
            Document(json!({"a": {"prefix": "x"}}))
        );
    }
}
