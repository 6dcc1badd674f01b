//! The archive that holds a function's code.

use aws_sdk_lambda::primitives::Blob;
use sha2::{Digest, Sha256};

use crate::aws::AwsCloud;
use crate::aws::error::rejected;
use crate::cloud::Fault;
use crate::model::resource::Code;

/// The planned archive. Any other is refused, so that only code is uploaded that was shown.
pub(super) fn archive(cloud: &AwsCloud, action: &str, planned: &Code) -> Result<Blob, Fault> {
    let unplanned = |has: &str| {
        let planned = &planned.sha256;
        rejected(
            action,
            format!("the plan needs the archive with SHA-256 {planned}, and {has}"),
        )
    };
    let archive = cloud.archive.as_deref().ok_or_else(|| unplanned("this run has none"))?;
    let sha256 = hex::encode(Sha256::digest(archive));
    if sha256 == planned.sha256 {
        Ok(Blob::new(archive))
    } else {
        Err(unplanned(&format!("this run has one with {sha256}")))
    }
}
