//! JSON documents (policies, patterns), when two of them are equal, and how the templates that a security reviewer can
//! read (`templates/`) are filled in: as data, not as text.

use std::sync::Arc;

use serde_json::{Value, json};

/// A policy or a pattern. Two are equal if they mean the same: the order of a list or of statements does not matter,
/// and in a policy, a list of one item equals the item. (Order matters in a pattern's `numeric` ranges, which kibus does not use.)
#[derive(Clone, Debug)]
pub struct Document(Arc<Value>);

impl Document {
    /// A document with a value. Its copies share the value.
    pub fn new(value: Value) -> Self {
        Self(Arc::new(value))
    }

    pub fn value(&self) -> &Value {
        &self.0
    }

    /// Its value, for changes in this copy only.
    pub fn value_mut(&mut self) -> &mut Value {
        Arc::make_mut(&mut self.0)
    }

    pub fn parse(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text).map(Self::new)
    }

    /// The document on one line, as AWS accepts it.
    pub fn compact(&self) -> String {
        self.0.to_string()
    }

    /// The document over several lines, in an order that does not depend on how it was written.
    pub fn pretty(&self) -> String {
        format!("{:#}", normal(&self.0))
    }

    pub fn statements(&self) -> Vec<&Value> {
        match self.0.get("Statement") {
            Some(Value::Array(statements)) => statements.iter().collect(),
            Some(one) => vec![one],
            None => Vec::new(),
        }
    }
}

/// The texts of a member that has one text or a list. Other values are skipped.
pub fn texts(value: Option<&Value>) -> Vec<&str> {
    match value {
        Some(Value::Array(items)) => items.iter().filter_map(Value::as_str).collect(),
        Some(one) => one.as_str().into_iter().collect(),
        None => Vec::new(),
    }
}

/// Whom a statement applies to. `NotPrincipal` counts as everyone.
pub fn principals(statement: &Value) -> Vec<&str> {
    if statement.get("NotPrincipal").is_some() {
        return vec!["*"];
    }
    match &statement["Principal"] {
        Value::Object(kinds) => kinds.values().flat_map(|of| texts(Some(of))).collect(),
        one => texts(Some(one)),
    }
}

impl PartialEq for Document {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0 || normal(&self.0) == normal(&other.0)
    }
}

impl Eq for Document {}

/// The canonical form of a document: equal documents have the same one.
fn normal(document: &Value) -> Value {
    let mut document = document.clone();
    let is_policy = document.get_mut("Statement").map(as_kibus_writes).is_some();
    unordered(&document, is_policy)
}

/// Normalizes a policy's statements to the form that kibus writes, where the language allows several equivalent forms
/// (IAM user guide, policy elements): one statement without a list, everyone as `{"AWS": "*"}`, and condition values as
/// a number or a boolean. In a pattern, each of these would mean something else.
fn as_kibus_writes(statements: &mut Value) {
    if statements.is_object() {
        *statements = json!([statements.take()]);
    }
    for statement in statements.as_array_mut().into_iter().flatten() {
        if let Some(principal) = statement.get_mut("Principal")
            && (*principal == json!({"AWS": "*"}) || *principal == json!({"AWS": ["*"]}))
        {
            *principal = json!("*");
        }
        if let Some(condition) = statement.get_mut("Condition") {
            as_texts(condition);
        }
    }
}

fn as_texts(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(as_texts),
        Value::Object(members) => members.values_mut().for_each(as_texts),
        Value::Bool(_) | Value::Number(_) => *value = Value::String(value.to_string()),
        Value::String(_) | Value::Null => {}
    }
}

fn unordered(value: &Value, is_policy: bool) -> Value {
    match value {
        Value::Array(items) => {
            let mut items: Vec<Value> = items.iter().map(|item| unordered(item, is_policy)).collect();
            items.sort_by_cached_key(sort_key);
            items.dedup();
            match items.as_slice() {
                [one] if is_policy && !one.is_object() && !one.is_array() => one.clone(),
                _ => Value::Array(items),
            }
        }
        Value::Object(members) => members.iter().map(|(k, v)| (k.clone(), unordered(v, is_policy))).collect(),
        other => other.clone(),
    }
}

/// Statements sort by their `Sid` first, so that a line diff shows a changed statement next to its old version.
fn sort_key(value: &Value) -> (String, String) {
    let sid = value.get("Sid").and_then(Value::as_str).unwrap_or_default();
    (sid.to_owned(), value.to_string())
}

/// A JSON document that is compiled into the program, with every `${name}` in it replaced. A string that is only
/// `${name}` becomes the value itself, so a list stays a list; a longer string can contain only text.
///
/// It panics if the text is not JSON, or a placeholder has no value: errors in the program, which the tests find.
pub fn fill_template(json: &str, values: &[(&str, Value)]) -> Document {
    fill(serde_json::from_str(json).ok(), values)
}

/// The texts of a member of each item of a template that is a list, filled in, without the rest.
pub(super) fn fill_members(json: &str, member: &str, values: &[(&str, Value)]) -> Vec<String> {
    let items: Vec<Value> = serde_json::from_str(json).unwrap_or_default();
    let filled = items.iter().map(|item| fill_node(&item[member], values));
    filled.filter_map(|text| Some(text.as_str()?.to_owned())).collect()
}

#[cfg(feature = "cli")]
pub fn fill_yaml_template(yaml: &str, values: &[(&str, Value)]) -> Document {
    fill(serde_yaml::from_str(yaml).ok(), values)
}

/// A value as YAML that versions 1.1 and 1.2 read alike: text that either could read as another type is quoted, like `on`,
/// `1_000`, `1:20` or a date.
#[cfg(feature = "cli")]
pub fn yaml(value: &Value) -> String {
    // JSON values below text keys are always valid YAML.
    serde_yaml::to_string(&marked(value)).unwrap_or_default().replace(QUOTE, "'")
}

/// The placeholder for a quotation mark until YAML is written. No name or tag contains parentheses.
#[cfg(feature = "cli")]
const QUOTE: &str = "(quote)";

#[cfg(feature = "cli")]
fn marked(value: &Value) -> Value {
    match value {
        Value::String(text) if is_ambiguous(text) => format!("{QUOTE}{text}{QUOTE}").into(),
        Value::Array(items) => items.iter().map(marked).collect(),
        Value::Object(members) => members.iter().map(|(key, value)| (key.clone(), marked(value))).collect(),
        other => other.clone(),
    }
}

/// Whether some version of YAML has another type for a text (yaml.org/type).
#[cfg(feature = "cli")]
fn is_ambiguous(text: &str) -> bool {
    let is_word = ["y", "n", "yes", "no", "on", "off", "true", "false", "null"].contains(&text.to_lowercase().as_str());
    let begins = text.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c));
    is_word || begins && text.chars().all(|c| c.is_ascii_alphanumeric() || "+-._:".contains(c))
}

#[expect(clippy::expect_used, reason = "templates are compiled in, and the tests parse every one")]
fn fill(template: Option<Value>, values: &[(&str, Value)]) -> Document {
    Document::new(fill_node(&template.expect("a built-in template can be read"), values))
}

fn fill_node(node: &Value, values: &[(&str, Value)]) -> Value {
    match node {
        Value::String(text) => fill_text(text, values),
        Value::Array(items) => items.iter().map(|item| fill_node(item, values)).collect(),
        Value::Object(members) => members
            .iter()
            .map(|(key, value)| match fill_text(key, values) {
                Value::String(key) => (key, fill_node(value, values)),
                other => panic!("`{key}` is a key, but its value is {other}"),
            })
            .collect(),
        other => other.clone(),
    }
}

fn fill_text(text: &str, values: &[(&str, Value)]) -> Value {
    let value = |name: &str| {
        values
            .iter()
            .find_map(|(key, value)| (*key == name).then_some(value))
            .unwrap_or_else(|| panic!("the template needs `{name}`, which has no value"))
    };
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let Some((name, tail)) = after.split_once('}') else {
            break;
        };
        if before.is_empty() && tail.is_empty() && filled.is_empty() {
            return value(name).clone();
        }
        filled.push_str(before);
        match value(name) {
            Value::String(text) => filled.push_str(text),
            other => panic!("`{name}` is inside a text, but its value is {other}"),
        }
        rest = tail;
    }
    filled.push_str(rest);
    Value::String(filled)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::table::rows;

    fn document(text: &str) -> Document {
        Document::parse(text).unwrap()
    }

    #[test]
    fn documents_compare_by_what_they_say() {
        let policy = document(r#"{"Statement": [{"Sid": "B", "Action": ["x", "y"]}, {"Sid": "A", "Action": "z"}]}"#);
        let table = r#"
            order of statements  | {"Statement": [{"Sid": "A", "Action": "z"}, {"Sid": "B", "Action": ["x", "y"]}]}      | true
            order of actions     | {"Statement": [{"Action": ["y", "x"], "Sid": "B"}, {"Sid": "A", "Action": "z"}]}      | true
            a list of one        | {"Statement": [{"Sid": "B", "Action": ["x", "y"]}, {"Sid": "A", "Action": ["z"]}]}    | true
            another action       | {"Statement": [{"Sid": "B", "Action": ["x", "y"]}, {"Sid": "A", "Action": "q"}]}      | false
            one statement less   | {"Statement": [{"Sid": "B", "Action": ["x", "y"]}]}                                   | false
            one action more      | {"Statement": [{"Sid": "B", "Action": ["x", "y", "z"]}, {"Sid": "A", "Action": "z"}]} | false"#;
        for [name, other, same] in rows(table) {
            assert_eq!((policy == document(other)).to_string(), same, "{name}");
        }
    }

    #[test]
    fn a_document_equals_its_text() {
        for value in [json!({"Statement": [[{"Condition": false}]]}), json!([[["x"]]]), json!([[{"a": [1]}]])] {
            let document = Document::new(value);
            assert_eq!(Document::parse(&document.pretty()).unwrap(), document);
        }
    }

    /// In a pattern, a number is not text, and a list with one statement does not equal the statement.
    #[test]
    fn a_policy_has_several_forms_of_the_same() {
        let statement = r#"{"Principal": "*", "Condition": {"Bool": {"aws:SecureTransport": "false"}}}"#;
        let ours = document(&format!(r#"{{"Statement": [{statement}]}}"#));
        assert_eq!(ours, document(&format!(r#"{{"Statement": {statement}}}"#)), "one statement without a list");
        let table = r#"
            everyone by kind            | {"AWS": "*"}            | "false"   | true
            everyone by kind, in a list | {"AWS": ["*"]}          | ["false"] | true
            a boolean                   | "*"                     | false     | true
            the other boolean           | "*"                     | true      | false
            every service               | {"Service": "*"}        | "false"   | false
            someone                     | {"AWS": "111122223333"} | "false"   | false"#;
        for [name, principal, value, same] in rows(table) {
            let other = statement.replace(r#""*""#, principal).replace(r#""false""#, value);
            assert_eq!((ours == document(&format!(r#"{{"Statement": [{other}]}}"#))).to_string(), same, "{name}");
        }
        for (one, other) in [
            (r#"{"detail": {"n": [1]}}"#, r#"{"detail": {"n": ["1"]}}"#),
            (r#"{"a": [{"prefix": "x"}]}"#, r#"{"a": {"prefix": "x"}}"#),
        ] {
            assert_ne!(document(one), document(other));
        }
    }

    #[test]
    fn placeholders_become_values_that_are_never_read_as_json() {
        let template = r#"{"a": "${x}", "${x}": ["in ${x}.", 1], "l": "${l}", "j": "${j}"}"#;
        let values = [("x", json!("y")), ("l", json!([1, "${x}"])), ("j", json!("\", \"b\": \""))];
        let expected = json!({"a": "y", "y": ["in y.", 1], "l": [1, "${x}"], "j": "\", \"b\": \""});
        assert_eq!(fill_template(template, &values).value(), &expected);
    }

    #[test]
    #[should_panic(expected = "the template needs `y`")]
    fn a_missing_value_is_a_bug() {
        let _ = fill_template(r#"{"a": "${y}"}"#, &[]);
    }
}
