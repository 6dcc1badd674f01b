//! A published version is asked whether it does its work, before anything is sent to it.

use super::AwsCloud;
use super::error::rejected;
use super::invoke::{Invoked, invoke};
use super::settle::Waiting;
use crate::cloud::Fault;
use crate::model::resource::Alias;
use crate::model::self_test::{SelfTestReport, question};

/// Lets a version take its self-test; gives the verdict on it. The alias is still where it was: at version `live`, if
/// it is there at all.
pub(super) async fn pass(
    cloud: &AwsCloud,
    alias: &Alias,
    version: u64,
    live: Option<u64>,
    waiting: Waiting<'_>,
) -> Result<Result<(), Fault>, Fault> {
    if !cloud.self_test {
        return Ok(Ok(()));
    }
    waiting("the published version takes its self-test");
    let verdict = match invoke(cloud, &alias.function, &version.to_string(), &question(), waiting).await? {
        Invoked::Failed(words) => Err(words),
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
