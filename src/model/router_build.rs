//! The mark in a router binary.

use std::io::BufRead;

/// The mark in the bytes of every build of the router.
pub const MARK: &str = concat!("<kibus-router ", env!("CARGO_PKG_VERSION"), ">");

/// The text to search for. It omits the opening bracket of the mark, so that kibus itself does not contain the mark.
const NEEDLE: &[u8] = b"kibus-router ";

/// The maximum length of a version.
const LONGEST: usize = 64;

/// The version in a router binary's bytes; `None` if there is no mark.
pub fn version_in(bytes: &[u8]) -> Option<&str> {
    let mut rest = bytes;
    // The standard library's search is fast even in an unoptimized build, for tens of megabytes.
    while rest.skip_until(b'<').is_ok_and(|skipped| skipped > 0) {
        let version = rest.strip_prefix(NEEDLE).and_then(version_at);
        if version.is_some() {
            return version;
        }
    }
    None
}

fn version_at(bytes: &[u8]) -> Option<&str> {
    let end = bytes.iter().take(LONGEST + 1).position(|b| *b == b'>')?;
    let version = std::str::from_utf8(&bytes[..end]).ok()?;
    semver::Version::parse(version).is_ok().then_some(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_read_from_bytes() {
        let long = format!("<kibus-router 1{}>", "0".repeat(LONGEST));
        for (bytes, version) in [
            (&b"\x7fELF\0\xff<kibus-router 0.1.0>\xfe"[..], Some("0.1.0")),
            (b"<kibus-router 1.2.3-rc.1+x>", Some("1.2.3-rc.1+x")),
            (b"kibus-router <kibus-router \0<kibus-router x><kibus-router 2.0.0>", Some("2.0.0")),
            (b"kibus-router 0.1.0>", None),
            (b"<kibus-router 0.1.0", None),
            (b"<kibus-router >", None),
            (b"<kibus-router", None),
            (b"", None),
            (long.as_bytes(), None),
        ] {
            assert_eq!(version_in(bytes), version, "{}", String::from_utf8_lossy(bytes));
        }
    }

    #[test]
    fn the_mark_is_found_and_the_needle_is_none() {
        assert_eq!(version_in(MARK.as_bytes()), Some(env!("CARGO_PKG_VERSION")));
        let twice = [NEEDLE, b"0.0.1>"].concat();
        assert_eq!(version_in(&twice), None);
    }
}
