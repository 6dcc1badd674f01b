//! The zip archive of the function: one file named `bootstrap`, which a custom runtime starts.

use std::io::{Cursor, Write};

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

/// Packs a binary. Time and mode are fixed, so the same binary produces the same bytes.
pub(super) fn pack(binary: &[u8]) -> zip::result::ZipResult<Vec<u8>> {
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Deflated)
        .last_modified_time(DateTime::default())
        .unix_permissions(0o755);
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    zip.start_file("bootstrap", options)?;
    zip.write_all(binary)?;
    Ok(zip.finish()?.into_inner())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn the_same_binary_produces_the_same_archive() {
        assert_eq!(pack(b"binary").unwrap(), pack(b"binary").unwrap());
        assert_ne!(pack(b"binary").unwrap(), pack(b"other").unwrap());
    }

    #[test]
    fn the_archive_holds_one_executable_named_bootstrap() {
        let mut archive = zip::ZipArchive::new(Cursor::new(pack(b"binary").unwrap())).unwrap();
        assert_eq!(archive.len(), 1);
        let mut file = archive.by_index(0).unwrap();
        assert_eq!(
            (
                file.name().unwrap().into_owned(),
                file.unix_mode().map(|mode| mode & 0o777)
            ),
            ("bootstrap".into(), Some(0o755))
        );
        let mut content = Vec::new();
        file.read_to_end(&mut content).unwrap();
        assert_eq!(content, b"binary");
    }
}
