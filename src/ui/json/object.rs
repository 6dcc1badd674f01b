//! How the document's objects and words are declared, so that serde writes them and schemars describes them.

use serde::Serialize;

/// Declares objects: the value that each is made from, and its members with their descriptions, types and values. The
/// schema allows no other members. An `optional` member is left out rather than null.
macro_rules! objects {
    ($(
        $(#[$meta:meta])+
        $name:ident $(<$life:lifetime>)? ($($from:pat_param in $source:ty),+) {
            $($(#[$member_meta:meta])* $member:ident: $type:ty = $value:expr,)+
        }
        $(optional {
            $($(#[$optional_meta:meta])* $optional:ident: $optional_type:ty = $optional_value:expr,)+
        })?
    )+) => {$(
        #[derive(serde::Serialize)]
        #[cfg_attr(test, derive(schemars::JsonSchema))]
        $(#[$meta])+
        pub(super) struct $name $(<$life>)? {
            $($(#[$member_meta])* $member: $type,)+
            $($(
                $(#[$optional_meta])*
                #[serde(skip_serializing_if = "crate::ui::json::object::Optional::is_none")]
                $optional: crate::ui::json::object::Optional<$optional_type>,
            )+)?
        }

        impl $(<$life>)? $name $(<$life>)? {
            pub(super) fn of($($from: $source),+) -> Self {
                Self {
                    $($member: $value,)+
                    $($($optional: crate::ui::json::object::Optional($optional_value),)+)?
                }
            }
        }
    )+};
}
pub(super) use objects;

// Unlike that of an `Option`, its schema has no null. A comment for docs would be the description of each such member.
#[derive(Serialize)]
#[serde(transparent)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(inline))]
pub(super) struct Optional<T>(#[cfg_attr(test, schemars(with = "T"))] pub(super) Option<T>);

impl<T> Optional<T> {
    pub(super) fn is_none(&self) -> bool {
        self.0.is_none()
    }
}

/// Declares closed sets of words: what each is made from, and its words with their meanings and the values that they stand
/// for.
macro_rules! words {
    ($(
        $(#[$meta:meta])+
        $name:ident($source:ty) {
            $($(#[$word_meta:meta])* $word:ident = $value:pat,)+
        }
    )+) => {$(
        #[derive(serde::Serialize)]
        #[serde(rename_all = "kebab-case")]
        #[cfg_attr(test, derive(schemars::JsonSchema))]
        $(#[$meta])+
        pub(super) enum $name {
            $($(#[$word_meta])* $word,)+
        }

        impl $name {
            fn of(value: $source) -> Self {
                match value {
                    $($value => Self::$word,)+
                }
            }
        }
    )+};
}
pub(super) use words;
