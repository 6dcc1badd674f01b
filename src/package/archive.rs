//! The zip archive of the function: one file named `bootstrap`, which a custom runtime starts.

use std::io::{Cursor, Write};

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

/// The file name in the archive.
const FILE: &str = "bootstrap";

/// The compression level. A build with embedded routers packs them once, at build time, and packs a router from an
/// option the same way, so that the same binary has the same hash. Any other build packs in each command that compares
/// or uploads the router. There, speed matters more than size: about a quarter more bytes in half the time of level 3.
const LEVEL: i64 = if cfg!(feature = "carry") { 6 } else { 1 };

/// Time and mode are fixed, so the same binary produces the same bytes. The build script also uses this function.
pub(super) fn pack(binary: &[u8]) -> zip::result::ZipResult<Vec<u8>> {
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Deflated)
        .compression_level(Some(LEVEL))
        .last_modified_time(DateTime::default())
        .unix_permissions(0o755);
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    zip.start_file(FILE, options)?;
    zip.write_all(binary)?;
    Ok(zip.finish()?.into_inner())
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use zip::ZipArchive;

    use super::*;

    #[test]
    fn the_same_binary_produces_the_same_archive() {
        assert_eq!(pack(b"binary").unwrap(), pack(b"binary").unwrap());
        assert_ne!(pack(b"binary").unwrap(), pack(b"other").unwrap());
    }

    #[test]
    fn the_archive_holds_one_executable_named_bootstrap() {
        let packed = pack(b"binary").unwrap();
        let mut archive = ZipArchive::new(Cursor::new(&packed)).unwrap();
        assert_eq!(archive.len(), 1);
        let mut file = archive.by_index(0).unwrap();
        assert_eq!(
            (file.name().unwrap().into_owned(), file.unix_mode().map(|mode| mode & 0o777)),
            ("bootstrap".into(), Some(0o755))
        );
        let mut binary = Vec::new();
        file.read_to_end(&mut binary).unwrap();
        assert_eq!(binary, b"binary");
    }
}
