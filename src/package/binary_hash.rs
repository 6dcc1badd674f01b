//! The hash by which a user names the only router binary to use.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest, Sha256};

use crate::model::name::NameError;

/// The SHA-256 of a router binary, as 64 lower-case hex digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BinaryHash(String);

impl BinaryHash {
    /// The hash of these bytes.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        Self(hex::encode(Sha256::digest(bytes)))
    }

    /// The 64 digits.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for BinaryHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for BinaryHash {
    type Err = NameError;

    fn from_str(s: &str) -> Result<Self, NameError> {
        if s.len() == 64 && s.bytes().all(|b| b.is_ascii_hexdigit()) {
            Ok(Self(s.to_ascii_lowercase()))
        } else {
            Err(NameError::new("SHA-256", s, "64 hex digits"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_64_hex_digits() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(BinaryHash::of(b"").as_str(), empty);
        assert_eq!(empty.to_uppercase().parse(), Ok(BinaryHash::of(b"")));
        for refused in ["", "e3b0", &empty[1..], &format!("{empty}0"), &empty.replace('e', "g")] {
            assert!(refused.parse::<BinaryHash>().is_err(), "{refused:?}");
        }
    }
}
