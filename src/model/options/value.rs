//! Values of options: one of a few words, a number within bounds, or `none`.

use std::fmt;
use std::str::FromStr;

use crate::model::name::NameError;

/// A value that may be `none`, which is not the same as an option that is not set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrNone<T>(pub Option<T>);

impl<T: FromStr> FromStr for OrNone<T> {
    type Err = T::Err;

    fn from_str(s: &str) -> Result<Self, T::Err> {
        if s == "none" {
            Ok(Self(None))
        } else {
            s.parse().map(|value| Self(Some(value)))
        }
    }
}

impl<T: fmt::Display> fmt::Display for OrNone<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(value) => value.fmt(f),
            None => f.write_str("none"),
        }
    }
}

/// A whole number between two bounds; the type says which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounded<const MIN: u32, const MAX: u32>(u32);

impl<const MIN: u32, const MAX: u32> Bounded<MIN, MAX> {
    /// The number.
    #[must_use]
    pub fn get(self) -> u32 {
        self.0
    }
}

impl<const MIN: u32, const MAX: u32> FromStr for Bounded<MIN, MAX> {
    type Err = OutOfBounds;

    fn from_str(s: &str) -> Result<Self, OutOfBounds> {
        match s.parse() {
            Ok(number) if (MIN..=MAX).contains(&number) => Ok(Self(number)),
            _ => Err(OutOfBounds {
                value: s.to_owned(),
                min: MIN,
                max: MAX,
            }),
        }
    }
}

impl<const MIN: u32, const MAX: u32> fmt::Display for Bounded<MIN, MAX> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Not a number, or not within the bounds.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is not a whole number from {min} to {max}", .value.escape_debug())]
pub struct OutOfBounds {
    value: String,
    min: u32,
    max: u32,
}

/// How long the hub queue keeps a message, in seconds: the range of SQS, but at least an hour, because a
/// message that expires is lost without a trace.
pub type Retention = Bounded<3_600, 1_209_600>;
/// The router's memory, in MiB: the range of Lambda.
pub type Memory = Bounded<128, 10_240>;
/// How many invocations of the router may run at once. The event source mapping needs at least two.
pub type ReservedConcurrency = Bounded<2, 1_000_000>;

/// How long the router's log is kept, in days: one of the values that CloudWatch Logs accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogRetention(u32);

impl LogRetention {
    /// The values that `PutRetentionPolicy` accepts (CloudWatch Logs API reference).
    const DAYS: [u32; 22] = [
        1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653,
    ];

    /// The number of days.
    #[must_use]
    pub fn days(self) -> u32 {
        self.0
    }
}

impl FromStr for LogRetention {
    type Err = NameError;

    fn from_str(s: &str) -> Result<Self, NameError> {
        match s.parse() {
            Ok(days) if Self::DAYS.contains(&days) => Ok(Self(days)),
            _ => Err(NameError {
                kind: "log retention",
                value: s.to_owned(),
                expected: "a number of days that CloudWatch Logs takes: 1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, \
                           365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288 or 3653",
            }),
        }
    }
}

impl fmt::Display for LogRetention {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
