use crate::cli::hub::Context;
use crate::cli::{failure, stages};
use crate::error::Error;
use crate::message::fixes;
use crate::model::ClusterName;
use crate::reconcile::status::status;
use crate::reconcile::{Check, Target};
use crate::ui::{Body, HubReport, text};

/// Show on one screen what flows, what is wrong, and what to do first; change nothing.
///
/// The findings are those of `kibus verify` without the self-test of the router and without probes, and do not change the exit
/// code. It is 1 if the hub or a queue could not be read. Metrics and the log are waited for two seconds; what they do not
/// tell is `?`.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Names of EKS clusters to show, with their last events [default: all clusters].
    #[arg(value_name = "NAME")]
    names: Vec<ClusterName>,
}

pub(super) async fn run(args: Args, context: &Context<'_>) -> Result<HubReport, Error> {
    let mut hub = context.hub().await?.clone();
    hub.cloud = hub.cloud.impatient();
    let hub = &hub;
    let target = Target { check: Check::Look, ..Target::keep(args.names) };
    let (survey, mut guess) = target.survey(hub.scope.clone());
    (guess.hub_activity, guess.last_events) = (true, true);
    let (_, found) = stages::extended(hub, (survey, guess), |survey| status(survey, &target)).await?;
    let (status, intent) = found?;
    let fixes = fixes(&hub.scope, &intent.findings);
    hub.ui.result(&text::status(&hub.scope, &status, &intent, &fixes, hub.ui.result_style()))?;
    let error = failure::incomplete(hub, status.unread.len(), &status.unread);
    Ok(HubReport { error, body: Some(Body::Status(status)), ..HubReport::new(&hub.scope, &intent) })
}
