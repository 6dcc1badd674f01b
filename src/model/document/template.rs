//! Documents that a security reviewer can read as files (`templates/`). They are filled in as data, not as text.

use serde_json::Value;

use crate::model::document::Document;

/// A JSON document that is part of the program, with every `${name}` in it replaced. A string that is nothing but `${name}`
/// becomes the value itself, so a list stays a list; a longer string can contain only text.
///
/// # Panics
/// When the text is not JSON, or a placeholder has no value: errors in the program, not in its input. The tests fill in
/// every template.
pub fn fill(json: &str, values: &[(&str, Value)]) -> Document {
    #[expect(
        clippy::expect_used,
        reason = "templates are compiled in, and the tests parse every one"
    )]
    let template = serde_json::from_str(json).expect("a built-in template is JSON");
    Document::new(fill_node(&template, values))
}

/// The same from YAML.
///
/// # Panics
/// As [`fill`].
#[cfg(feature = "cli")]
pub fn fill_yaml(yaml: &str, values: &[(&str, Value)]) -> Document {
    #[expect(
        clippy::expect_used,
        reason = "templates are compiled in, and the tests parse every one"
    )]
    let template = serde_yaml::from_str(yaml).expect("a built-in template is YAML");
    Document::new(fill_node(&template, values))
}

fn fill_node(node: &Value, values: &[(&str, Value)]) -> Value {
    match node {
        Value::String(text) => fill_text(text, values),
        Value::Array(items) => items.iter().map(|item| fill_node(item, values)).collect(),
        Value::Object(members) => members
            .iter()
            .map(|(key, value)| match fill_text(key, values) {
                Value::String(key) => (key, fill_node(value, values)),
                other => panic!("`{key}` is a key and was given {other}"),
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
            .unwrap_or_else(|| panic!("the template asks for `{name}`, which was not given"))
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
            other => panic!("`{name}` stands inside a text and was given {other}"),
        }
        rest = tail;
    }
    filled.push_str(rest);
    Value::String(filled)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn placeholders_become_values() {
        let template = r#"{"a": "${x}", "${x}": ["in ${x}.", 1], "l": "${l}"}"#;
        let filled = fill(template, &[("x", json!("y")), ("l", json!([1, "${x}"]))]);
        assert_eq!(filled.value(), &json!({"a": "y", "y": ["in y.", 1], "l": [1, "${x}"]}));
    }

    #[test]
    fn what_is_filled_in_is_never_read_as_json() {
        let filled = fill(r#"{"a": "${x}"}"#, &[("x", json!("\", \"b\": \""))]);
        assert_eq!(filled.value(), &json!({"a": "\", \"b\": \""}));
    }

    #[test]
    #[should_panic(expected = "the template asks for `y`")]
    fn a_missing_value_is_a_bug() {
        let _ = fill(r#"{"a": "${y}"}"#, &[]);
    }
}
