//! Makes the options of a table: their type, what they save in tags and read back, and their defaults.

use std::error::Error as StdError;
use std::fmt;
use std::str::FromStr;

use crate::error::Error;
use crate::model::tags::{OPTION, Tags};

/// A saved option with an invalid value: someone edited the tag.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("tag `{OPTION}{flag}` holds `{}`, which is not a value of --{flag}", .value.escape_debug())]
pub struct BadSavedOption {
    /// The option's flag.
    pub flag: &'static str,
    /// The value of the tag.
    pub value: String,
}

impl From<BadSavedOption> for Error {
    fn from(e: BadSavedOption) -> Self {
        Self::refused(e.to_string())
            .note("the tag saves the option; kibus did not write this value")
            .hint(format!("pass --{} to save it again, or fix the tag", e.flag))
    }
}

/// Why an option does not accept a value.
pub type BadValue = Box<dyn StdError + Send + Sync>;

/// The value of an option.
pub(super) trait Value: Sized {
    /// The value that these words of the command line give.
    fn given(words: &[String]) -> Result<Self, BadValue>;

    /// The words of the command line that give it.
    fn words(&self) -> Vec<String>;

    /// The value that a tag with this text saves, among these tags.
    fn recall(text: &str, _: &Tags) -> Result<Self, BadValue> {
        Self::given(&[text.to_owned()])
    }

    /// The text of the tag that saves it.
    fn memo(&self) -> String {
        self.words().concat()
    }
}

impl<T: FromStr<Err: StdError + Send + Sync + 'static> + fmt::Display> Value for T {
    fn given(words: &[String]) -> Result<Self, BadValue> {
        Ok(words.concat().parse()?)
    }

    fn words(&self) -> Vec<String> {
        vec![self.to_string()]
    }
}

/// The value of a default.
#[expect(clippy::expect_used, reason = "the tests read every default")]
pub(super) fn default_value<T: Value>(text: &str) -> T {
    T::given(&[text.to_owned()]).expect("a default of a table of options")
}

/// The tag that saves an option, if the option is set.
pub(super) fn memo(flag: &str, value: Option<&impl Value>) -> Option<(String, String)> {
    value.map(|value| (format!("{OPTION}{flag}"), value.memo()))
}

/// The saved value of an option.
pub(super) fn recall<T: Value>(tags: &Tags, flag: &'static str) -> Result<Option<T>, BadSavedOption> {
    let read = |text: &str| {
        T::recall(text, tags).map_err(|_| BadSavedOption {
            flag,
            value: text.to_owned(),
        })
    };
    tags.option(flag).map(read).transpose()
}

/// Makes the options of a table.
macro_rules! options {
    ($(#[$doc:meta])* $options:ident, $(#[$key_doc:meta])* $key:ident;
        $($name:ident, $field:ident: $type:ty $(= $default:literal)?, $flag:literal, $value:expr,
            $help:literal,
            by_tag_alone: $by_tag_alone:expr
            $(, documents: $documents:expr)? $(, in_short_help: $in_short_help:literal)?;
        )+
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct $options {
            $(pub $field: Option<$type>,)+
        }

        $(#[$key_doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $key {
            $($name,)+
        }

        impl OptionKey for $key {
            type Options = $options;
            const ALL: &'static [Self] = &[$(Self::$name),+];

            fn row(self) -> &'static Row {
                match self {
                    $(Self::$name => const {
                        &Row {
                            flag: $flag,
                            value: $value,
                            default: options!(@or None $(, Some($default))?),
                            help: $help,
                            by_tag_alone: $by_tag_alone,
                            documents: options!(@or None $(, Some($documents))?),
                            in_short_help: options!(@or true $(, $in_short_help)?),
                        }
                    },)+
                }
            }

            fn set(self, options: &mut $options, words: &[String]) -> Result<(), BadValue> {
                match self {
                    $(Self::$name => options.$field = Some(Value::given(words)?),)+
                }
                Ok(())
            }
        }

        impl $options {
            /// The options that are saved in tags.
            ///
            /// # Errors
            /// When a tag contains an invalid value.
            pub fn saved(tags: &Tags) -> Result<Self, BadSavedOption> {
                Ok(Self { $($field: recall(tags, $flag)?,)+ })
            }

            /// The tags that save the options.
            #[must_use]
            pub fn saved_tags(&self) -> Tags {
                [$(memo($flag, self.$field.as_ref()),)+].into_iter().flatten().collect()
            }

            /// These options; those that are not set come from `other`.
            #[must_use]
            pub fn or(self, other: Self) -> Self {
                Self { $($field: self.$field.or(other.$field),)+ }
            }

            /// The values of an option, each as one types it; `None` if it is not set.
            #[must_use]
            pub fn words(&self, option: $key) -> Option<Vec<String>> {
                match option {
                    $($key::$name => self.$field.as_ref().map(Value::words),)+
                }
            }

            /// The same, or those of its default if it has one.
            #[must_use]
            pub fn words_or_default(&self, option: $key) -> Option<Vec<String>> {
                match option {
                    $($key::$name => self.words(option)$(.or_else(|| Some(default_value::<$type>($default).words())))?,)+
                }
            }

            $($(
                #[doc = concat!("The option `", stringify!($field), "`, or its default, ", $default, ".")]
                #[must_use]
                pub fn $field(&self) -> $type {
                    self.$field.clone().unwrap_or_else(|| default_value($default))
                }
            )?)+
        }
    };
    (@or $default:expr) => { $default };
    (@or $default:expr, $value:expr) => { $value };
}

pub(super) use options;
