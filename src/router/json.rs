//! JSON as ranges of a text, so that an edit changes nothing else.

use std::collections::HashSet;
use std::fmt;
use std::ops::Range;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// The members of an object in order, each value as it is written.
pub(super) struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'a> Members<'a> {
    /// Parses an object. Gives nothing if the text is not an object or has a member twice: another parser might take the
    /// other one.
    pub(super) fn parse(text: &'a str) -> Option<Self> {
        let members: Self = serde_json::from_str(text).ok()?;
        let mut seen = HashSet::new();
        members
            .0
            .iter()
            .all(|(key, _)| seen.insert(key.as_str()))
            .then_some(members)
    }

    /// The value of a member, unless it is missing or `null`.
    pub(super) fn get(&self, key: &str) -> Option<&'a RawValue> {
        self.written(key).filter(|value| value.get() != "null")
    }

    /// The value of a member, including `null`.
    pub(super) fn written(&self, key: &str) -> Option<&'a RawValue> {
        self.0.iter().find_map(|(name, value)| (name == key).then_some(*value))
    }

    /// The members of a member that is an object.
    pub(super) fn members(&self, key: &str) -> Option<Self> {
        Self::parse(self.get(key)?.get())
    }

    /// The text of a member that is a string.
    pub(super) fn text(&self, key: &str) -> Option<String> {
        text(self.get(key)?)
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::with_capacity(map.size_hint().unwrap_or(16));
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

/// The text of a string.
pub(super) fn text(value: &RawValue) -> Option<String> {
    serde_json::from_str(value.get()).ok()
}

/// The elements of a list.
pub(super) fn elements(value: &RawValue) -> Option<Vec<&RawValue>> {
    serde_json::from_str(value.get()).ok()
}

/// A string as JSON text.
pub(super) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// A range of a text and its replacement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Edit {
    place: Range<usize>,
    new: String,
}

impl Edit {
    /// Replaces a value that is part of a text.
    pub(super) fn replace(whole: &str, value: &RawValue, new: String) -> Self {
        let start = value.get().as_ptr().addr() - whole.as_ptr().addr();
        Self {
            place: start..start + value.get().len(),
            new,
        }
    }

    /// Whether both replace the same range.
    pub(super) fn same_place(&self, other: &Self) -> bool {
        self.place == other.place
    }

    /// Adds a member at the beginning of an object.
    pub(super) fn add(whole: &str, members: &Members<'_>, key: &str, value: &str) -> Self {
        let start = whole.find('{').map_or(0, |brace| brace + 1);
        let comma = if members.is_empty() { "" } else { "," };
        Self {
            place: start..start,
            new: format!("{}:{value}{comma}", quoted(key)),
        }
    }
}

/// Applies edits to a text. They must not overlap.
pub(super) fn apply(whole: &str, mut edits: Vec<Edit>) -> String {
    edits.sort_by_key(|edit| edit.place.start);
    let mut result = String::with_capacity(whole.len() + 64);
    let mut done = 0;
    for Edit { place, new } in edits {
        result.push_str(&whole[done..place.start]);
        result.push_str(&new);
        done = place.end;
    }
    result.push_str(&whole[done..]);
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_object_without_duplicate_members_is_read() {
        for (text, read) in [
            ("{}", true),
            (" {\"a\": 1, \"b\": {\"a\": 2}} ", true),
            ("{\"a\": 1, \"a\": 1}", false),
            ("{\"a\": 1, \"\\u0061\": 1}", false),
            ("{\"a\": 1", false),
            ("{} {}", false),
            ("[]", false),
            ("null", false),
            ("", false),
        ] {
            assert_eq!(Members::parse(text).is_some(), read, "{text}");
        }
    }

    #[test]
    fn an_edit_changes_nothing_else() {
        let whole = " { \"a\" : 1e1 ,\"b\":[ 1 ],\"c\": {\"d\":\"ü\"} }";
        let members = Members::parse(whole).unwrap();
        let inner = members.members("c").unwrap();
        let edits = vec![
            Edit::replace(whole, inner.get("d").unwrap(), "2".to_owned()),
            Edit::replace(whole, members.get("a").unwrap(), "3".to_owned()),
            Edit::add(whole, &members, "n", "0"),
        ];
        assert_eq!(
            apply(whole, edits),
            " {\"n\":0, \"a\" : 3 ,\"b\":[ 1 ],\"c\": {\"d\":2} }"
        );
        assert_eq!(apply(whole, Vec::new()), whole);
        let empty = Members::parse("{}").unwrap();
        assert_eq!(apply("{}", vec![Edit::add("{}", &empty, "n", "0")]), "{\"n\":0}");
    }
}
