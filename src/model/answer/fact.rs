//! What is known of one thing.

use crate::model::answer::fault::Fault;

/// The answer to one question.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Fact<T> {
    /// Not read.
    #[default]
    NotAsked,
    /// It exists.
    Present(T),
    /// It certainly does not exist.
    Absent,
    /// The call was denied or failed.
    Unreadable(Fault),
}

impl<T> Fact<T> {
    /// The fact of an answer that always exists.
    pub fn of(answer: Result<T, Fault>) -> Self {
        answer.map_or_else(Self::Unreadable, Self::Present)
    }

    /// The fact of an answer that may be "absent".
    pub fn of_option(answer: Result<Option<T>, Fault>) -> Self {
        match answer {
            Ok(Some(value)) => Self::Present(value),
            Ok(None) => Self::Absent,
            Err(fault) => Self::Unreadable(fault),
        }
    }

    /// The value, if it is present.
    pub fn present(&self) -> Option<&T> {
        match self {
            Self::Present(value) => Some(value),
            Self::NotAsked | Self::Absent | Self::Unreadable(_) => None,
        }
    }

    /// The fault, if the call failed.
    pub fn fault(&self) -> Option<&Fault> {
        match self {
            Self::Unreadable(fault) => Some(fault),
            Self::NotAsked | Self::Present(_) | Self::Absent => None,
        }
    }

    /// Whether it was read.
    pub fn is_asked(&self) -> bool {
        !matches!(self, Self::NotAsked)
    }
}
