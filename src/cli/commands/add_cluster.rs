use std::collections::BTreeSet;

use clap::builder::BoolishValueParser;

use crate::cli::Ending;
use crate::cli::hub::Hubs;
use crate::cli::stages::{Consent, change};
use crate::error::Error;
use crate::model::karpenter::{KarpenterVersion, RoleTemplate};
use crate::model::name::{ClusterName, NameError};
use crate::model::options::UserTag;
use crate::model::tags::{NAMESPACE, Tags};
use crate::reconcile::{Adopt, ClusterSetting, RoleOption, Target};

/// Register clusters: create a queue for each and allow its Karpenter to read it.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Names of EKS clusters.
    #[arg(required = true, value_name = "NAME")]
    names: Vec<ClusterName>,
    /// IAM role of the Karpenter controller: a name, a path and name, or an ARN; `{cluster}` in it is replaced by the name of
    /// the cluster [default: the role that EKS and trust policies show, else the usual name].
    #[arg(
        long,
        env = "KIBUS_CONTROLLER_ROLE",
        value_name = "ROLE",
        conflicts_with = "no_controller_role"
    )]
    controller_role: Option<RoleTemplate>,
    /// Do not change IAM; print the statement that the controller role needs.
    #[arg(long, env = "KIBUS_NO_CONTROLLER_ROLE", num_args = 0..=1, require_equals = true,
        default_missing_value = "true", value_name = "BOOL", value_parser = BoolishValueParser::new(),
        hide_possible_values = true)]
    no_controller_role: Option<bool>,
    /// Do not ask EKS whether a new cluster exists, nor for its controller role.
    #[arg(long, env = "KIBUS_NO_EKS_CHECK", num_args = 0..=1, require_equals = true,
        default_missing_value = "true", value_name = "BOOL", value_parser = BoolishValueParser::new(),
        hide_possible_values = true, hide_short_help = true)]
    no_eks_check: Option<bool>,
    /// Version of Karpenter in the cluster; it selects the setting to print.
    #[arg(long, env = "KIBUS_KARPENTER_VERSION", value_name = "VERSION")]
    karpenter_version: Option<KarpenterVersion>,
    /// Tag to add to the queue, or to change; repeat for more.
    #[arg(long = "tag", env = "KIBUS_TAG", value_name = "KEY=VALUE", value_delimiter = ',')]
    tags: Vec<UserTag>,
    /// Key of a tag to remove from the queue; repeat for more.
    #[arg(long, env = "KIBUS_UNTAG", value_name = "KEY", value_delimiter = ',', value_parser = untagged)]
    untag: Vec<String>,
    /// Take over the queue of this name that another tool created, if something shows that a Karpenter uses it; with
    /// `unproven`, whatever uses it. The queue keeps its messages, and the rules that send to it.
    #[arg(long, env = "KIBUS_ADOPT", num_args = 0..=1, require_equals = true, default_missing_value = "true",
        value_name = "unproven", value_parser = adopt, hide_short_help = true)]
    adopt: Option<Adopt>,
    /// Remove the statements by which an adopted queue lets its old senders send.
    #[arg(long, env = "KIBUS_DROP_OLD_SENDERS", num_args = 0..=1, require_equals = true,
        default_missing_value = "true", value_name = "BOOL", value_parser = BoolishValueParser::new(),
        hide_possible_values = true, hide_short_help = true)]
    drop_old_senders: Option<bool>,
    #[command(flatten)]
    consent: Consent,
}

pub(super) async fn run(args: Args, hubs: Hubs<'_>) -> Result<Ending, Error> {
    let role = match (args.controller_role, args.no_controller_role) {
        (Some(template), _) if args.names.len() > 1 && !template.names_the_cluster() => {
            return Err(
                Error::usage("--controller-role names one role, and several clusters are given")
                    .hint("use `{cluster}` in it for the cluster's name, or add the clusters one at a time"),
            );
        }
        (Some(template), _) => {
            if let Some(hub) = hubs.list.iter().find(|hub| !template.is_of(&hub.scope)) {
                let account = &hub.scope.account;
                return Err(Error::usage(format!(
                    "--controller-role names no role of account {account}"
                )));
            }
            RoleOption::Named(template)
        }
        (None, Some(true)) => RoleOption::Unmanaged,
        (None, _) => RoleOption::Search,
    };
    let tags: Tags = args.tags.into_iter().map(|tag| (tag.key, tag.value)).collect();
    let untag: BTreeSet<String> = args.untag.into_iter().collect();
    if let Some(key) = untag.iter().find(|key| tags.get(key).is_some()) {
        let message = format!("--tag sets tag `{}`, and --untag removes it", key.escape_debug());
        return Err(Error::usage(message).hint("pass only one of the two for a tag"));
    }
    let setting = ClusterSetting {
        role,
        adopt: args.adopt.unwrap_or_default(),
        drop_old_senders: args.drop_old_senders == Some(true),
        tags,
        untag,
        karpenter_version: args.karpenter_version,
        show_settings: hubs.verbose,
        asks_eks: args.no_eks_check != Some(true),
    };
    change(hubs, Target::add(args.names, &setting), args.consent).await
}

fn adopt(text: &str) -> Result<Adopt, String> {
    match text.to_lowercase().as_str() {
        "true" | "yes" | "on" | "1" => Ok(Adopt::IfUsed),
        "false" | "no" | "off" | "0" => Ok(Adopt::No),
        "unproven" => Ok(Adopt::Unproven),
        _ => Err("expected `true`, `false` or `unproven`".to_owned()),
    }
}

fn untagged(key: &str) -> Result<String, NameError> {
    let reserved = key.to_lowercase().starts_with("aws:") || key.starts_with(NAMESPACE);
    match reserved || key.is_empty() || key.chars().count() > 128 {
        true => Err(NameError::new(
            "key of a tag",
            key,
            "up to 128 characters that do not begin with `kibus:` or `aws:`",
        )),
        false => Ok(key.to_owned()),
    }
}
