//! The secret of a server. Without it, any local program, and any web page through the user's browser, could run code
//! as functions of the emulator.

use std::fmt;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read};

use serde::{Deserialize, Serialize};

const BYTES: usize = 16;

/// What every request to a server must carry as its session token.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// A new secret from the system's random numbers.
    ///
    /// # Errors
    /// When the system gives none.
    pub(super) fn new() -> io::Result<Self> {
        let mut bytes = [0; BYTES];
        File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        Ok(Self(bytes.iter().fold(String::new(), |mut text, byte| {
            // Writing to a String cannot fail.
            let _ = write!(text, "{byte:02x}");
            text
        })))
    }

    /// The session token of AWS clients; `None` for a server that was started before there were secrets.
    #[must_use]
    pub fn token(&self) -> Option<String> {
        (!self.0.is_empty()).then(|| self.0.clone())
    }

    /// The secret as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
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
        assert_eq!(one.as_str().len(), 2 * BYTES);
        assert_eq!(format!("{one:?}"), "Secret");
    }
}
