//! What an update changes: fields of the resource's kind, and tags.

use super::error::rejected;
use crate::cloud::Fault;
use crate::model::resource::{FieldName, FieldValue};
use crate::model::tags::Tags;
use crate::plan::FieldChange;

#[derive(Clone, Copy)]
pub(super) struct Update<'a, K> {
    pub(super) from: &'a K,
    pub(super) to: &'a K,
    pub(super) fields: &'a [FieldChange],
}

/// What an update changes of a resource whose fields are `F`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Changes<F> {
    /// The fields to write, for the writer to match on without a default.
    pub(super) fields: Vec<F>,
    pub(super) tags: TagChanges,
}

impl<F: FieldName> Changes<F> {
    /// Sorts the changes of a plan. A change of a field that this kind does not have is refused, as a call of `action`.
    pub(super) fn among(action: &str, changes: &[FieldChange]) -> Result<Self, Fault> {
        let mut sorted = Self {
            fields: Vec::new(),
            tags: TagChanges::default(),
        };
        for change in changes {
            let FieldChange { path, to, from: _ } = change;
            match (change.tag(), to) {
                (Some(key), FieldValue::Text(value)) => {
                    sorted.tags.set.0.insert(key.to_owned(), value.clone());
                }
                (Some(key), _) => sorted.tags.remove.push(key.to_owned()),
                (None, _) => sorted
                    .fields
                    .push(F::at(path).ok_or_else(|| rejected(action, format!("there is no field `{path}` to write")))?),
            }
        }
        Ok(sorted)
    }
}

/// Which tags to set and which to remove; all others stay.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct TagChanges {
    /// To set, whether they exist or not.
    pub(super) set: Tags,
    pub(super) remove: Vec<String>,
}

impl TagChanges {
    /// Makes the calls that remove and that set tags, if there is something to do. It removes first: the tag that lists the
    /// user's own tags is among those that are set, and a tag that is not in that list no longer counts as managed by kibus.
    pub(super) async fn write<R, S>(
        &self,
        remove: impl Future<Output = Result<R, Fault>>,
        set: impl Future<Output = Result<S, Fault>>,
    ) -> Result<(), Fault> {
        if !self.remove.is_empty() {
            remove.await?;
        }
        if !self.set.0.is_empty() {
            set.await?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::resource::QueueField;

    fn change(path: &str, to: Option<&str>) -> FieldChange {
        FieldChange {
            path: path.to_owned(),
            from: FieldValue::Unset,
            to: to.into(),
        }
    }

    #[test]
    fn fields_and_tags_are_separated() {
        let changes = Changes::among(
            "x:Y",
            &[
                change("tags.kibus:bus", Some("kibus")),
                change("tags.policy", None),
                change("policy", Some("x")),
            ],
        );
        let tags = TagChanges {
            set: Tags::default().with("kibus:bus", "kibus"),
            remove: vec!["policy".to_owned()],
        };
        let fields = vec![QueueField::Policy];
        assert_eq!(changes, Ok(Changes { fields, tags }));
    }

    #[test]
    fn a_field_of_another_kind_is_refused() {
        let refused = Changes::<QueueField>::among("x:Y", &[change("memory", None)]).unwrap_err();
        assert_eq!(refused.message, "there is no field `memory` to write");
    }
}
