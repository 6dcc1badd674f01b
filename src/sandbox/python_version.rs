//! The version of a Python.

use std::fmt;

/// The major and minor version of a Python.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PythonVersion {
    /// The 3 of 3.10.
    pub major: u32,
    /// The 10 of 3.10.
    pub minor: u32,
}

impl fmt::Display for PythonVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}
