//! The writes of a change: most changes are one write, and some need a state between the two.

use std::collections::BTreeSet;

use crate::model::resource::{FieldValue, Function, FunctionField, Parameter, Resource};
use crate::plan::{Action, Change, FieldChange, Op, diff};

/// The writes of a change, in their order.
pub(super) fn split(change: &Change) -> Vec<Op> {
    match (change.action, &change.before, &change.after) {
        (Action::Create, _, Some(after)) => vec![Op::Create(after.clone())],
        (Action::Delete, Some(before), _) => vec![Op::Delete(before.clone())],
        (Action::Replace, Some(before), Some(after)) => {
            vec![Op::Delete(before.clone()), Op::Create(after.clone())]
        }
        (Action::Update, Some(before), Some(after)) => {
            match reserved_last(change, before, after).or_else(|| forgets_last(before, after)) {
                Some(middle) => {
                    let is_removed = |field: &&FieldChange| field.to == FieldValue::Unset;
                    let removed = change.fields.iter().filter(is_removed).filter_map(FieldChange::tag);
                    let untagged = removed.map(str::to_owned).collect();
                    vec![
                        update(before.clone(), middle.clone(), &BTreeSet::new()),
                        update(middle, after.clone(), &untagged),
                    ]
                }
                None => vec![Op::Update {
                    from: Box::new(before.clone()),
                    to: after.clone(),
                    fields: change.fields.clone(),
                }],
            }
        }
        _ => unreachable!("a change has what its action needs: its constructors see to it"),
    }
}

fn update(from: Resource, to: Resource, untagged: &BTreeSet<String>) -> Op {
    let fields = diff(&to, &from, untagged);
    Op::Update {
        from: Box::new(from),
        to,
        fields,
    }
}

/// The function between two functions of which the second has less reserved concurrency, if they differ in more than
/// that. The reservation is lowered last, after the mapping has been limited.
fn reserved_last(change: &Change, before: &Resource, after: &Resource) -> Option<Resource> {
    let (Resource::Function(old), Resource::Function(new)) = (before, after) else {
        return None;
    };
    let mut fields = change.fields.iter();
    let more = fields.any(|field| !field.is_of(FunctionField::ReservedConcurrency));
    (more && new.lowers_reserved(old)).then(|| {
        Resource::Function(Function {
            reserved_concurrency: old.reserved_concurrency,
            // With tags that kibus did not set. The last step removes the others.
            tags: old.tags.clone().with_all(&new.tags),
            ..new.clone()
        })
    })
}

/// The settings between two settings of which the second lacks something, if they differ in more than that. What is needed no
/// more is forgotten last, after it has gone from everything that has it.
fn forgets_last(before: &Resource, after: &Resource) -> Option<Resource> {
    let (old, new) = (before.as_parameter()?, after.as_parameter()?);
    let (was, is) = (old.settings()?, new.settings()?);
    let kept = is.while_leaving(was);
    (kept != *is && kept != *was).then(|| {
        Resource::Parameter(Parameter {
            settings: Ok(kept),
            tags: old.tags.clone().with_all(&new.tags),
            ..new.clone()
        })
    })
}
