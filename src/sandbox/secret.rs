//! The secret of a server. Without it, any local program, and any web page through the user's browser, could run code
//! as functions of the emulator.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};

use serde::{Deserialize, Serialize};

const BYTES: usize = 16;

/// What every request to a server must carry as its session token: 32 hexadecimal digits.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Secret(String);

impl Secret {
    /// A new secret from the system's random numbers.
    pub(super) fn new() -> io::Result<Self> {
        let mut bytes = [0; BYTES];
        File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        Ok(Self(hex::encode(bytes)))
    }

    /// The secret as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Secret {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let is_digit = |b| matches!(b, b'0'..=b'9' | b'a'..=b'f');
        match text.len() == 2 * BYTES && text.bytes().all(is_digit) {
            true => Ok(Self(text)),
            false => Err("a secret is 32 hexadecimal digits"),
        }
    }
}

impl From<Secret> for String {
    fn from(secret: Secret) -> Self {
        secret.0
    }
}

/// Logs and error messages do not show it.
impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_secrets_differ_and_are_not_shown() {
        let (one, other) = (Secret::new().unwrap(), Secret::new().unwrap());
        assert_ne!(one, other);
        assert_eq!(Secret::try_from(String::from(one.clone())), Ok(one.clone()));
        assert_eq!(format!("{one:?}"), "Secret");
    }

    #[test]
    fn a_secret_is_digits_and_nothing_else() {
        let digits = "0123456789abcdef0123456789abcdef";
        for (text, valid) in [
            (digits, true),
            ("", false),
            (&digits[1..], false),
            (&format!("{digits}0"), false),
            ("0123456789ABCDEF0123456789ABCDEF", false),
            ("$(kibus)\nexport PATH=.;01234567", false),
        ] {
            assert_eq!(Secret::try_from(text.to_owned()).is_ok(), valid, "{text:?}");
        }
    }
}
