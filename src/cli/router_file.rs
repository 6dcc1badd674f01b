//! The router binary that a command uploads or compares.

use std::path::PathBuf;

use crate::error::{Error, quoted};
use crate::model::Architecture;
use crate::package::{self, BinaryHash, Package, PackageError, RouterSource};
use crate::reconcile::{ArchiveNeed, OfferedRouter, Target, archive_need, options_afterwards};
use crate::survey::Survey;
use crate::ui::Ui;

/// Which router binary to use.
#[derive(Debug, clap::Args)]
pub(super) struct RouterFile {
    /// Router binary [default: embedded, or kibus-router next to kibus].
    #[arg(long, env = "KIBUS_ROUTER_BINARY", value_name = "FILE", hide_short_help = true)]
    router_binary: Option<PathBuf>,
    /// SHA-256 of the router binary that must be live.
    #[arg(long, env = "KIBUS_ROUTER_SHA256", value_name = "SHA256", hide_short_help = true)]
    router_sha256: Option<BinaryHash>,
}

impl RouterFile {
    /// Adds the router to a target, if a survey shows that the target needs one. Returns the archive that may be uploaded.
    pub(super) fn complete(&self, ui: &Ui, target: &mut Target, survey: &Survey) -> Result<Option<Vec<u8>>, Error> {
        let Some(need) = archive_need(survey, target) else {
            return Ok(None);
        };
        let _packaging = ui.spinner("packaging the router");
        let uploads = !target.is_check();
        let is_needed = need == ArchiveNeed::Upload;
        let need = if uploads && self.is_given() { ArchiveNeed::Upload } else { need };
        let architecture = options_afterwards(survey, target).architecture();
        let (router, archive) = self.offer(need, architecture)?;
        if uploads
            && is_needed
            && ui.verbose > 0
            && let Ok(RouterSource::Beside(path)) = self.source(architecture)
        {
            let path = path.display();
            ui.note(&format!("this build has no embedded router; using `{path}`"), &[]);
        }
        target.router = router;
        Ok(archive.filter(|_| uploads))
    }

    /// Whether an option names the router.
    fn is_given(&self) -> bool {
        self.router_binary.is_some() || self.router_sha256.is_some()
    }

    /// The router for a function of this architecture, with its archive if it is available. When code is only compared,
    /// it is not an error if the router is for another architecture, or if it is missing and no option names it.
    ///
    /// # Errors
    /// The binary is needed or named, but it is missing, does not have the named hash, or is not a router that
    ///   Lambda can run.
    fn offer(&self, need: ArchiveNeed, architecture: Architecture) -> Result<(OfferedRouter, Option<Vec<u8>>), Error> {
        let compares = need == ArchiveNeed::Compare;
        let source = self.source(architecture);
        let packaged = |source| package::package(&source, self.router_sha256.as_ref(), architecture);
        match source.and_then(packaged) {
            Ok(Package { archive, code }) => {
                let router = match &self.router_sha256 {
                    Some(hash) => OfferedRouter::Named(code, self.options(hash)),
                    None => OfferedRouter::Packaged(code),
                };
                Ok((router, Some(archive)))
            }
            Err(e) if compares && (!self.is_given() || e.is_for_another) => {
                let PackageError { error, cause, .. } = e;
                let why = cause.map_or_else(|| error.to_string(), |cause| format!("{error}: {cause}"));
                let router = OfferedRouter::OfVersion(env!("CARGO_PKG_VERSION").to_owned(), Some(why));
                Ok((router, None))
            }
            Err(e) => Err(*e.error),
        }
    }

    fn options(&self, hash: &BinaryHash) -> String {
        let sha256 = format!("--router-sha256 {hash}");
        match &self.router_binary {
            Some(file) => format!("--router-binary {} {sha256}", quoted(&file.to_string_lossy())),
            None => sha256,
        }
    }

    fn source(&self, architecture: Architecture) -> Result<RouterSource, PackageError> {
        RouterSource::of(self.router_binary.as_deref(), package::ROUTERS, architecture)
    }
}
