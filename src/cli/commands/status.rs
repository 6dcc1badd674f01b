use crate::cli::hub::Context;
use crate::cli::{failure, stages};
use crate::error::Error;
use crate::message::fixes;
use crate::model::ClusterName;
use crate::reconcile::status::status;
use crate::reconcile::{Check, Target};
use crate::ui::{Body, HubReport, text};

/// Show traffic, problems and the first steps to take on one screen; change nothing.
///
/// Shows the findings of `kibus verify`, but runs no router self-test and sends no probes. Findings do not change the
/// exit code, which is 1 if the hub or a queue could not be read. Waits up to two seconds for metrics and the log; `?`
/// marks unknown values.
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
