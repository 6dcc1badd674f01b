use clap::builder::BoolishValueParser;

use crate::cli::hub::Context;
use crate::cli::stages::{Consent, change};
use crate::error::Error;
use crate::model::{ClusterName, RoleTemplate};
use crate::reconcile::{ClusterSetting, RoleOption, Target};
use crate::ui::HubReport;

/// Register clusters: create a queue for each and allow its Karpenter to read it.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Names of EKS clusters.
    #[arg(required = true, value_name = "NAME")]
    names: Vec<ClusterName>,
    /// IAM role of the Karpenter controller: a name, a path and name, or an ARN; `{cluster}` in it stands for the
    /// cluster name [default: the role found in EKS and trust policies, else the usual name].
    #[arg(long, env = "KIBUS_CONTROLLER_ROLE", value_name = "ROLE", conflicts_with = "no_controller_role")]
    controller_role: Option<RoleTemplate>,
    /// Do not change IAM; print the statement that the controller role needs.
    #[arg(long, env = "KIBUS_NO_CONTROLLER_ROLE", num_args = 0..=1, require_equals = true,
        default_missing_value = "true", value_name = "BOOL", value_parser = BoolishValueParser::new(),
        hide_possible_values = true)]
    no_controller_role: Option<bool>,
    #[command(flatten)]
    setting: ClusterSetting,
    #[command(flatten)]
    consent: Consent,
}

pub(super) async fn run(args: Args, context: &Context<'_>) -> Result<HubReport, Error> {
    let mut setting = args.setting;
    setting.show_settings = context.ui.verbose > 0;
    setting.removed.beside(&setting.tags())?;
    setting.role = match (args.controller_role, args.no_controller_role) {
        (Some(template), _) if args.names.len() > 1 && !template.names_the_cluster() => {
            return Err(Error::usage("--controller-role names one role, but several clusters were given")
                .hint("use `{cluster}` in it for the cluster's name, or add the clusters one at a time"));
        }
        (Some(template), _) => RoleOption::Named(template),
        (None, Some(true)) => RoleOption::Unmanaged,
        (None, _) => RoleOption::Search,
    };
    let hub = context.hub().await?;
    if matches!(&setting.role, RoleOption::Named(template) if !template.is_of(&hub.scope)) {
        let account = &hub.scope.account;
        return Err(Error::usage(format!("--controller-role does not name a role in account {account}")));
    }
    change(hub, Target::add(args.names, &setting), args.consent, None).await
}
