//! The tags that an update changes.

use std::collections::BTreeMap;

use crate::model::field::FieldValue;
use crate::plan::FieldChange;

/// Which tags to set and which to take away; all others are left alone.
///
/// What goes is taken away first: what remembers which tags were chosen is among those that are set, and once it is, a
/// tag that is not chosen any more is nobody's.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct TagChanges {
    /// To set, whether they are there or not.
    pub(super) set: BTreeMap<String, String>,
    /// To take away.
    pub(super) remove: Vec<String>,
}

impl TagChanges {
    /// Those among these changes.
    pub(super) fn among(fields: &[FieldChange]) -> Self {
        let mut changes = Self::default();
        for field in fields {
            match (field.path.strip_prefix("tags."), &field.to) {
                (Some(key), FieldValue::Text(value)) => {
                    changes.set.insert(key.to_owned(), value.clone());
                }
                (Some(key), _) => changes.remove.push(key.to_owned()),
                (None, _) => {}
            }
        }
        changes
    }
}

/// Whether one of the changes is to a field at or below one of these paths.
pub(super) fn touches(fields: &[FieldChange], paths: &[&str]) -> bool {
    let at = |field: &FieldChange, path: &str| {
        field
            .path
            .strip_prefix(path)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    fields.iter().any(|field| paths.iter().any(|path| at(field, path)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(path: &str, to: Option<&str>) -> FieldChange {
        FieldChange {
            path: path.to_owned(),
            from: FieldValue::Unset,
            to: to.into(),
        }
    }

    #[test]
    fn tags_are_set_and_taken_away_by_key() {
        let changes = TagChanges::among(&[
            change("tags.kibus:bus", Some("kibus")),
            change("tags.a.b", None),
            change("policy", Some("x")),
        ]);
        assert_eq!(
            changes.set,
            BTreeMap::from([("kibus:bus".to_owned(), "kibus".to_owned())])
        );
        assert_eq!(changes.remove, ["a.b"]);
    }

    #[test]
    fn a_path_covers_what_is_below_it() {
        let fields = [change("redrive.max_receives", None)];
        assert!(touches(&fields, &["policy", "redrive"]));
        assert!(!touches(&fields, &["redrive_allow"]));
        assert!(!touches(&[change("redrive_allow", None)], &["redrive"]));
    }
}
