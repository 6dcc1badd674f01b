//! Writes to stdout, and the errors of it.

use std::io::{self, Write};

use crate::error::Error;

/// The message of the error for a closed stdout. It is not shown, because nobody reads the output.
pub(super) const STDOUT_CLOSED: &str = "standard output is closed";

/// Writes text and a newline.
pub(super) fn write_line(to: &mut impl Write, text: &str) -> Result<(), Error> {
    writeln!(to, "{text}")
        .and_then(|()| to.flush())
        .map_err(|e| not_written(&e))
}

/// The error of a failed write to stdout: a closed pipe, or a full disk.
pub fn not_written(e: &io::Error) -> Error {
    if e.kind() == io::ErrorKind::BrokenPipe {
        return Error::failed(STDOUT_CLOSED);
    }
    Error::failed("the output could not be written to standard output")
        .note(e.to_string())
        .note("the output is incomplete; what was changed stays changed")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    struct Refuses(io::ErrorKind);

    impl Write for Refuses {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn output_that_goes_nowhere_is_an_error() {
        let closed = write_line(&mut Refuses(io::ErrorKind::BrokenPipe), "x").unwrap_err();
        assert_eq!(
            (closed.kind, closed.message.as_str()),
            (ErrorKind::Failed, STDOUT_CLOSED)
        );
        let full = write_line(&mut Refuses(io::ErrorKind::StorageFull), "x").unwrap_err();
        assert_eq!(full.kind, ErrorKind::Failed);
        assert_ne!(full.message, STDOUT_CLOSED);
    }
}
