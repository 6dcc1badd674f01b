//! What each kind of resource defines in its own file: its fields, and the trait [`Particulars`]. Everything else is generic.
//!
//! A plan compares and shows fields, and a writer writes them. Each kind has one closed list of them. The model builds fields
//! from that list only, and a writer matches on all of it, so the compiler rejects a field that is compared but not written.
//!
//! The order of steps is data: the edges from a resource to others, each with its reason.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use crate::model::{
    ClusterName, Code, Document, FindingCode, Kind, PolicyName, Resource, ResourceId, Scope, duration_text,
};

/// Everything specific to a kind of resource, in addition to its line in the table of kinds.
pub trait Particulars {
    /// What proves which bus manages it.
    fn ownership(&self, _scope: &Scope) -> Ownership {
        Ownership::Tags
    }

    /// The cluster that it belongs to; `None` for the hub. `policies` are the names of the clusters' controller policies.
    fn cluster(&self, _scope: &Scope, _policies: &BTreeMap<PolicyName, ClusterName>) -> Option<ClusterName> {
        None
    }

    /// The resources that its steps are ordered against, except the dead-letter queue, which every resource follows from.
    fn edges(&self, _scope: &Scope) -> Vec<Edge> {
        Vec::new()
    }

    /// This resource as it is compared with an observed one, if AWS does not return all of it, or something else overrides a part.
    fn comparable(&self, _observed: &Resource) -> Option<Resource> {
        None
    }

    /// Whether an update from `before` grants others more.
    fn adds_to(&self, _before: &Resource) -> bool {
        false
    }

    /// This resource with what an update from `before` takes away from others; `None` if it takes away nothing.
    fn while_leaving(&self, _before: &Resource) -> Option<Resource> {
        None
    }

    /// A problem of an observed resource that is more urgent than differing fields, with the message of the finding.
    fn trouble(&self) -> Option<(FindingCode, String)> {
        None
    }

    /// Its main properties in a few words. Texts from outside are not escaped.
    fn summary(&self) -> String;
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ownership {
    Tags,
    /// The tags of any of these resources, which name it or which it names.
    TagsOf(Vec<ResourceId>),
    /// Its content: whether kibus wrote it.
    Content(bool),
}

/// Why the steps of two resources are ordered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The reason, in one sentence without a period.
    pub because: &'static str,
    pub other: Other,
    pub tie: Tie,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Other {
    Id(ResourceId),
    /// Every other resource of this kind that belongs to the same cluster.
    OfCluster(Kind),
}

impl From<ResourceId> for Other {
    fn from(id: ResourceId) -> Self {
        Self::Id(id)
    }
}

impl From<Kind> for Other {
    fn from(kind: Kind) -> Self {
        Self::OfCluster(kind)
    }
}

/// How a step affects what other resources have from its resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// A write that does not affect them.
    Keeps,
    /// A write that gives them more.
    Adds,
    /// A write that takes something away from them.
    Takes,
    Deletes,
}

/// How an edge orders the steps of its two resources. A step that takes something away from a resource comes after each
/// step that needs the resource or follows from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tie {
    /// It depends on the other: it is written after the other, and deleted before the other changes or is deleted.
    Needs,
    /// It follows from the other: it is written and deleted after a write of the other, and deleted before the other is deleted.
    FollowsFrom,
    /// It is written after the other, and deleted at any time.
    UsesWhenWritten,
    /// It is written after the other if the other adds something, and deleted at any time.
    UsesAddition,
    /// It is written before the other is deleted.
    TakesOver,
}

impl Tie {
    pub(super) fn to(self, other: impl Into<Other>, because: &'static str) -> Edge {
        Edge { because, other: other.into(), tie: self }
    }

    /// Whether the step of this resource comes first (`Less`) or the step of the other one (`Greater`), if one must.
    pub fn order(self, this: Effect, other: Effect) -> Option<Ordering> {
        let deletes = this == Effect::Deletes;
        match (self, other) {
            (Self::Needs | Self::FollowsFrom, Effect::Takes) => Some(Ordering::Less),
            (Self::Needs | Self::FollowsFrom, Effect::Deletes) | (Self::Needs, _) if deletes => Some(Ordering::Less),
            (_, Effect::Deletes) => (self == Self::TakesOver && !deletes).then_some(Ordering::Less),
            (Self::FollowsFrom, _) => Some(Ordering::Greater),
            (Self::Needs | Self::UsesWhenWritten, _) | (Self::UsesAddition, Effect::Adds) if !deletes => {
                Some(Ordering::Greater)
            }
            _ => None,
        }
    }
}

/// The fields of one kind of resource.
pub trait FieldName: Copy + 'static {
    /// All of them, in the order in which a plan shows them.
    const ALL: &'static [Self];

    fn path(self) -> &'static str;

    /// The field at this path, or its parent: `environment.X` belongs to `environment`.
    fn at(path: &str) -> Option<Self> {
        let holds = |name: &str| path.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        Self::ALL.iter().copied().find(|field| holds(field.path()))
    }
}

/// Declares the closed list of fields of one kind of resource, each with its path.
macro_rules! field_names {
    ($(#[$doc:meta])* $name:ident { $($field:ident = $path:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name {
            $(#[doc = concat!("The field at `", $path, "`.")] $field,)*
        }

        impl $crate::model::resource::particulars::FieldName for $name {
            const ALL: &'static [Self] = &[$(Self::$field),*];

            fn path(self) -> &'static str {
                match self {
                    $(Self::$field => $path,)*
                }
            }
        }
    };
}
pub(super) use field_names;

/// Declares the fields of a kind of resource, each with its path and its value. The pattern names every field of the
/// type, so that the compiler rejects a new field until someone decides whether it is compared.
macro_rules! fields {
    (
        $(#[$doc:meta])*
        $name:ident of $kind:ident { $($pattern:tt)* } {
            $($field:ident = $path:literal: $value:expr,)*
        }
    ) => {
        $crate::model::resource::particulars::field_names! {
            $(#[$doc])*
            $name { $($field = $path,)* }
        }

        impl $kind {
            pub(super) fn fields(&self) -> Vec<$crate::model::resource::particulars::Field> {
                let Self { $($pattern)* } = self;
                vec![$($crate::model::resource::particulars::field($name::$field, $value)),*]
            }
        }
    };
}
pub(super) use fields;

/// One setting of a resource under a dotted path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    pub path: String,
    pub value: FieldValue,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldValue {
    Unset,
    Text(String),
    Number(u64, Unit),
    Flag(bool),
    /// Unordered texts; an empty list is [`FieldValue::Unset`].
    List(BTreeSet<String>),
    Document(Document),
    Code(Code),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Count,
    Seconds,
    Days,
    Bytes,
    /// MiB, which Lambda calls MB.
    Megabytes,
}

impl Unit {
    /// A number of this unit, in the largest unit that divides it: `1d`, `90s`, `256 KiB`.
    pub fn text(self, number: u64) -> String {
        const KIB: u64 = 1_024;
        const MIB: u64 = KIB * KIB;
        match self {
            Self::Count => number.to_string(),
            Self::Seconds => duration_text(number),
            Self::Days => format!("{number}d"),
            Self::Bytes if number >= MIB && number.is_multiple_of(MIB) => format!("{} MiB", number / MIB),
            Self::Bytes if number >= KIB && number.is_multiple_of(KIB) => format!("{} KiB", number / KIB),
            Self::Bytes => format!("{number} bytes"),
            Self::Megabytes => format!("{number} MB"),
        }
    }
}

/// Makes a field; `value` may be an `Option`, where `None` means not set.
pub(super) fn field(name: impl FieldName, value: impl Into<FieldValue>) -> Field {
    Field { path: name.path().to_owned(), value: value.into() }
}

/// Makes one entry of a field that is a map.
pub(super) fn entry(name: impl FieldName, key: &str, value: impl Into<FieldValue>) -> Field {
    Field { path: format!("{}.{key}", name.path()), value: value.into() }
}

macro_rules! values {
    ($($from:pat => $type:ty: $value:expr;)*) => {$(
        impl From<$type> for FieldValue {
            fn from($from: $type) -> Self {
                $value
            }
        }
    )*};
}

values! {
    text => &str: Self::Text(text.to_owned());
    text => String: Self::Text(text);
    number => u32: Self::Number(number.into(), Unit::Count);
    (number, unit) => (u32, Unit): Self::Number(number.into(), unit);
    flag => bool: Self::Flag(flag);
    document => Document: Self::Document(document);
    list => BTreeSet<String>: if list.is_empty() { Self::Unset } else { Self::List(list) };
    code => Code: Self::Code(code);
}

impl<T: Into<Self>> From<Option<T>> for FieldValue {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Unset, Into::into)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{FunctionField, QueueField};

    #[test]
    fn numbers_have_the_unit_of_their_field() {
        for (unit, numbers) in [
            (Unit::Seconds, "1209600=14d, 86400=1d, 7200=2h, 300=5m, 90=90s, 86401=86401s, 0=0s"),
            (Unit::Days, "14=14d"),
            (Unit::Bytes, "1048576=1 MiB, 262144=256 KiB, 1000=1000 bytes"),
            (Unit::Megabytes, "256=256 MB"),
            (Unit::Count, "100=100"),
        ] {
            for (number, text) in numbers.split(", ").map(|pair| pair.split_once('=').unwrap()) {
                assert_eq!(unit.text(number.parse().unwrap()), text);
            }
        }
    }

    #[test]
    fn a_path_names_its_field() {
        for (path, field) in [
            ("redrive.max_receives", Some(QueueField::RedriveMaxReceives)),
            ("redrive_allow", Some(QueueField::RedriveAllow)),
            ("policy", Some(QueueField::Policy)),
            ("policy_", None),
            ("redrive", None),
            ("tags.policy", None),
        ] {
            assert_eq!(QueueField::at(path), field, "{path}");
        }
        assert_eq!(FunctionField::at("environment.A.B"), Some(FunctionField::Environment));
    }
}
