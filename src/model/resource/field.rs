//! The fields of a resource: what a plan compares and shows, and what a writer writes.
//!
//! Each kind of resource has one closed list of its fields. The model builds fields from that list only, and a writer
//! matches on all of it, so a field that is compared and not written does not compile.

use std::collections::BTreeSet;

use super::Code;
use crate::model::document::Document;
use crate::model::duration::duration_text;

/// The fields of one kind of resource.
pub trait FieldName: Copy + 'static {
    /// All of them, in the order in which a plan shows them.
    const ALL: &'static [Self];

    /// The dotted path, like `redrive.max_receives`.
    fn path(self) -> &'static str;

    /// The field at this path, or the one that this path is below: `environment.X` belongs to `environment`.
    fn at(path: &str) -> Option<Self> {
        let holds = |name: &str| {
            path.strip_prefix(name)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
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

        impl $crate::model::field::FieldName for $name {
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

/// Declares the fields of a kind of resource, each with its path and its value. The pattern names every field of the type, so
/// that a new one does not compile until it is decided whether it is compared.
macro_rules! fields {
    (
        $(#[$doc:meta])*
        $name:ident of $kind:ident { $($pattern:tt)* } {
            $($field:ident = $path:literal: $value:expr,)*
        }
    ) => {
        $crate::model::field::field_names! {
            $(#[$doc])*
            $name { $($field = $path,)* }
        }

        impl $kind {
            pub(super) fn fields(&self) -> Vec<$crate::model::field::Field> {
                let Self { $($pattern)* } = self;
                vec![$($crate::model::field::field($name::$field, $value)),*]
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

/// The value of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldValue {
    Unset,
    Text(String),
    Number(u64, Unit),
    /// Any number that is not smaller.
    AtLeast(u64, Unit),
    Flag(bool),
    /// Texts in no order; an empty list is [`FieldValue::Unset`].
    List(BTreeSet<String>),
    Document(Document),
    Code(Code),
}

/// The unit of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A count of things.
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
    Field {
        path: name.path().to_owned(),
        value: value.into(),
    }
}

/// Makes one entry of a field that is a map.
pub(super) fn entry(name: impl FieldName, key: &str, value: impl Into<FieldValue>) -> Field {
    Field {
        path: format!("{}.{key}", name.path()),
        value: value.into(),
    }
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
    use crate::model::resource::{FunctionField, QueueField};

    #[test]
    fn numbers_have_the_unit_of_their_field() {
        for (number, unit, text) in [
            (1_209_600, Unit::Seconds, "14d"),
            (86_400, Unit::Seconds, "1d"),
            (7_200, Unit::Seconds, "2h"),
            (300, Unit::Seconds, "5m"),
            (90, Unit::Seconds, "90s"),
            (86_401, Unit::Seconds, "86401s"),
            (0, Unit::Seconds, "0s"),
            (14, Unit::Days, "14d"),
            (1_048_576, Unit::Bytes, "1 MiB"),
            (262_144, Unit::Bytes, "256 KiB"),
            (1_000, Unit::Bytes, "1000 bytes"),
            (256, Unit::Megabytes, "256 MB"),
            (100, Unit::Count, "100"),
        ] {
            assert_eq!(unit.text(number), text);
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
