//! Enums whose values are words in options, tags and documents.

/// Declares an enum, with each value's word and its accepted synonyms.
macro_rules! words {
    (
        $(#[$doc:meta])*
        $vis:vis $name:ident, $kind:literal, $expected:literal {
            $($(#[$of:meta])* $value:ident = $word:literal $(| $other:literal)*,)*
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $vis enum $name {
            $($(#[$of])* $value,)*
        }

        impl $name {
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$value => $word,)*
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.serialize_str(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::model::NameError;

            fn from_str(s: &str) -> Result<Self, Self::Err> {
                match s {
                    $($word $(| $other)* => Ok(Self::$value),)*
                    _ => Err($crate::model::NameError::new($kind, s, $expected)),
                }
            }
        }
    };
}
pub(super) use words;
