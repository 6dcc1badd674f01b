//! Values of options: one of a list, a number or a duration within bounds, or `none`.

use std::fmt;
use std::str::FromStr;

use crate::model::duration::{duration_text, parse_duration};
use crate::model::name::NameError;

/// An option that can be set to `none`, which is not the same as an option that is not set.
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

/// A whole number from `MIN` to `MAX`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounded<const MIN: u32, const MAX: u32>(u32);

impl<const MIN: u32, const MAX: u32> Bounded<MIN, MAX> {
    /// A number that is known to be within the bounds.
    pub(super) const fn of(number: u32) -> Self {
        assert!(MIN <= number && number <= MAX);
        Self(number)
    }

    /// The number.
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
                expected: format!("a whole number from {MIN} to {MAX}"),
            }),
        }
    }
}

impl<const MIN: u32, const MAX: u32> fmt::Display for Bounded<MIN, MAX> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Not a number, or not a duration, within the bounds.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is not {expected}", .value.escape_debug())]
pub struct OutOfBounds {
    value: String,
    /// What is accepted.
    pub expected: String,
}

/// A duration from `MIN` to `MAX` seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BoundedDuration<const MIN: u32, const MAX: u32>(u32);

impl<const MIN: u32, const MAX: u32> BoundedDuration<MIN, MAX> {
    /// A duration that is known to be within the bounds, in seconds.
    pub(super) const fn of(seconds: u32) -> Self {
        assert!(MIN <= seconds && seconds <= MAX);
        Self(seconds)
    }

    /// The number of seconds.
    pub fn seconds(self) -> u32 {
        self.0
    }
}

impl<const MIN: u32, const MAX: u32> FromStr for BoundedDuration<MIN, MAX> {
    type Err = OutOfBounds;

    /// Takes a duration with a unit, or seconds.
    fn from_str(s: &str) -> Result<Self, OutOfBounds> {
        let seconds = parse_duration(s).or_else(|| s.parse().ok());
        match seconds.and_then(|seconds| seconds.try_into().ok()) {
            Some(seconds) if (MIN..=MAX).contains(&seconds) => Ok(Self(seconds)),
            _ => {
                let (min, max) = (duration_text(MIN.into()), duration_text(MAX.into()));
                Err(OutOfBounds {
                    value: s.to_owned(),
                    expected: format!("a duration from {min} to {max}, such as `90m`, `2h` or `1d`"),
                })
            }
        }
    }
}

impl<const MIN: u32, const MAX: u32> fmt::Display for BoundedDuration<MIN, MAX> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&duration_text(self.0.into()))
    }
}

/// Retention of the router log, in days: one of the values that CloudWatch Logs takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogRetention(u32);

impl LogRetention {
    /// The values that `PutRetentionPolicy` accepts (CloudWatch Logs API reference).
    const DAYS: [u32; 22] = [
        1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653,
    ];

    /// The number of days.
    pub fn days(self) -> u32 {
        self.0
    }
}

impl Default for LogRetention {
    fn default() -> Self {
        Self(14)
    }
}

impl FromStr for LogRetention {
    type Err = NameError;

    /// Takes a duration with a unit, or days.
    fn from_str(s: &str) -> Result<Self, NameError> {
        const DAY: u64 = 86_400;
        let days = match parse_duration(s) {
            Some(seconds) if seconds.is_multiple_of(DAY) => (seconds / DAY).try_into().ok(),
            Some(_) => None,
            None => s.parse().ok(),
        };
        match days {
            Some(days) if Self::DAYS.contains(&days) => Ok(Self(days)),
            _ => Err(NameError::new(
                "log retention",
                s,
                "a number of days that CloudWatch Logs takes, such as `14d`: 1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, \
                 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288 or 3653",
            )),
        }
    }
}

impl fmt::Display for LogRetention {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}d", self.0)
    }
}
