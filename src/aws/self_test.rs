//! The self-test of a published version, before it receives any event.

use super::AwsCloud;
use super::error::rejected;
use super::invoke::{Invoked, invoke};
use super::wait::Waiting;
use crate::cloud::Fault;
use crate::model::resource::Alias;
use crate::model::self_test::{SelfTestReport, question};

/// Runs the self-test of a version; returns the verdict. The alias still points to version `live`, if it exists.
pub(super) async fn pass(
    cloud: &AwsCloud,
    alias: &Alias,
    version: u64,
    live: Option<u64>,
    waiting: Waiting<'_>,
) -> Result<Result<(), Fault>, Fault> {
    waiting.report("the published version runs its self-test");
    let verdict = match invoke(cloud, &alias.function, &version.to_string(), &question(), waiting).await? {
        Invoked::Failed(message) => Err(message),
        Invoked::Answered(payload) => SelfTestReport::read(&payload).and_then(|report| report.check(&alias.settings)),
    };
    Ok(verdict.map_err(|why| {
        let state = match live {
            Some(live) => format!("alias `{}` stays at version {live}", alias.name),
            None => format!("alias `{}` points to no version yet", alias.name),
        };
        rejected(
            "lambda:InvokeFunction",
            format!("version {version} did not pass its self-test: {why}; {state}"),
        )
    }))
}
