//! JSON as ranges of a text, so that an edit changes nothing else.

use std::fmt;
use std::ops::Range;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// The members of an object in order, each value in its original form.
pub(super) struct Members<'a>(Vec<Member<'a>>);

pub(super) struct Member<'a> {
    pub(super) name: String,
    pub(super) value: &'a RawValue,
}

impl Member<'_> {
    /// Whether Go's JSON parser matches its name with this one: in any case, and with two Unicode letters that fold to ASCII.
    pub(super) fn folds_to(&self, name: &str) -> bool {
        let folded = self.name.chars().map(|c| match c {
            '\u{17f}' => 's',
            '\u{212a}' => 'k',
            c => c.to_ascii_lowercase(),
        });
        folded.eq(name.chars().map(|c| c.to_ascii_lowercase()))
    }
}

impl<'a> Members<'a> {
    pub(super) fn parse(text: &'a str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Member<'a>> {
        self.0.iter()
    }

    /// The value of a member, unless it is missing or `null`.
    pub(super) fn get(&self, name: &str) -> Option<&'a RawValue> {
        self.written(name).filter(|value| value.get() != "null")
    }

    /// The value of a member, including `null`; of several, the last.
    pub(super) fn written(&self, name: &str) -> Option<&'a RawValue> {
        let member = self.0.iter().rfind(|member| member.name == name)?;
        Some(member.value)
    }

    pub(super) fn members(&self, name: &str) -> Option<Self> {
        Self::parse(self.get(name)?.get())
    }

    /// The text of a member that is a string.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        text(self.get(name)?)
    }

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
                while let Some((key, value)) = map.next_entry::<&RawValue, &RawValue>()? {
                    // Half a surrogate pair is valid JSON, but not valid text, and not a name that any parser reads.
                    let name = text(key).unwrap_or_else(|| key.get().to_owned());
                    members.push(Member { name, value });
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

pub(super) fn text(value: &RawValue) -> Option<String> {
    serde_json::from_str(value.get()).ok()
}

pub(super) fn elements(value: &RawValue) -> Option<Vec<&RawValue>> {
    serde_json::from_str(value.get()).ok()
}

/// The elements of a list, or the value itself.
pub(super) fn elements_or_one(value: &RawValue) -> Vec<&RawValue> {
    elements(value).unwrap_or_else(|| vec![value])
}

pub(super) fn list<'a>(elements: impl Iterator<Item = &'a str>) -> String {
    format!("[{}]", elements.collect::<Vec<_>>().join(","))
}

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
    /// Replaces a value inside a text.
    pub(super) fn replace(whole: &str, value: &RawValue, new: String) -> Self {
        let start = value.get().as_ptr().addr() - whole.as_ptr().addr();
        Self { place: start..start + value.get().len(), new }
    }

    /// Whether both replace the same range.
    pub(super) fn same_place(&self, other: &Self) -> bool {
        self.place == other.place
    }

    /// Adds a member at the beginning of an object.
    pub(super) fn add(whole: &str, members: &Members<'_>, key: &str, value: &str) -> Self {
        let start = whole.find('{').map_or(0, |brace| brace + 1);
        let comma = if members.is_empty() { "" } else { "," };
        Self { place: start..start, new: format!("{}:{value}{comma}", quoted(key)) }
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
    fn names_fold_as_in_go() {
        for (name, keys, folds) in [
            ("state", "state STATE \u{17f}tate \\u0053tate", true),
            ("key", "\u{212a}ey", true),
            ("affectedEntities", "AFFECTEDENTITIES", true),
            ("state", "st\u{e4}te states \\ud800", false),
        ] {
            for text in keys.split(' ').map(|key| format!("{{\"{key}\":1}}")) {
                let members = Members::parse(&text).unwrap();
                assert_eq!(members.iter().next().unwrap().folds_to(name), folds, "{text}");
            }
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
        assert_eq!(apply(whole, edits), " {\"n\":0, \"a\" : 3 ,\"b\":[ 1 ],\"c\": {\"d\":2} }");
        assert_eq!(apply(whole, Vec::new()), whole);
        let empty = Members::parse("{}").unwrap();
        assert_eq!(apply("{}", vec![Edit::add("{}", &empty, "n", "0")]), "{\"n\":0}");
    }
}
