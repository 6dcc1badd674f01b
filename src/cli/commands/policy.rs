use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;

use clap::Subcommand;

use crate::cli::hub::{ConnectedHub, Context};
use crate::cli::stages;
use crate::error::{Error, Hint};
use crate::iam::operator_policy::{self, Purpose, RolePattern};
use crate::model::{
    ClusterName, Document, HubOptions, KmsKey, ResourceId, RoleCandidates, RoleName, Scope, Settings,
    calls::{events, kms, lambda, sqs},
    policy::{self, KeyUse},
    signal::PROBE_SOURCE,
};
use crate::reconcile::{no_single_role, recorded_roles, unnamed_queues};
use crate::survey::{Query, Saved, Survey, role_arns};
use crate::ui::{Body, HubReport};

/// The options of a document for a controller, by their flags.
const OF_READERS: &[&str] = &["kms-key", "queue-name"];
/// Those of the router's document.
const OF_ROUTERS: &[&str] = &["kms-key", "queue-name", "tag-conditions", "notify"];
/// Those of the operator's document.
pub(in crate::cli) const OF_OPERATORS: &[&str] =
    &["tag", "kms-key", "permissions-boundary", "role-path", "queue-name", "tag-conditions"];
/// Those of an operator's document who may change nothing.
const OF_READING_OPERATORS: &[&str] = &["kms-key", "role-path", "queue-name"];

/// Print the least-privilege IAM policy of an operator, the router or a controller.
///
/// The document is for the current bus, account and Region. The command needs credentials, but no permissions. It uses
/// the saved options of the hub if it can read them.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    #[command(subcommand)]
    party: Party,
}

#[derive(Debug, Subcommand)]
enum Party {
    /// Policy for an operator, who runs kibus.
    #[command(mut_args = |arg| shows_of_hub(OF_OPERATORS, arg))]
    Operator {
        /// Print the additional document for a purpose instead; attach both.
        #[arg(long = "for", value_enum, value_name = "PURPOSE",
            conflicts_with_all = ["part", "clusters", "roles", "no_controller_role"])]
        purpose: Option<Purpose>,
        /// Allow only what `verify` and `status` read. `verify --probe` needs more.
        #[arg(long)]
        read_only: bool,
        /// Print only this part of a document that is too long for one managed policy; attach all parts.
        #[arg(long, value_name = "NUMBER")]
        part: Option<NonZeroUsize>,
        #[command(flatten)]
        roles: RoleFlags,
        #[command(flatten)]
        given: HubOptions,
    },
    /// Policy for the router function.
    #[command(mut_args = |arg| shows_of_hub(OF_ROUTERS, arg))]
    Router {
        #[command(flatten)]
        given: HubOptions,
    },
    /// Policy for the Karpenter controller of a cluster, registered or not.
    #[command(mut_args = |arg| shows_of_hub(OF_READERS, arg))]
    Controller {
        /// Name of the EKS cluster.
        #[arg(value_name = "CLUSTER")]
        cluster: ClusterName,
        #[command(flatten)]
        given: HubOptions,
    },
}

/// Which controller roles the document names.
#[derive(Debug, clap::Args)]
struct RoleFlags {
    /// EKS clusters that will be added; their controller roles are found by the usual names.
    #[arg(value_name = "CLUSTER")]
    clusters: Vec<ClusterName>,
    /// Controller role of a cluster that will be added: a name, a path and name, or an ARN; repeat for more. With `*`, a
    /// pattern.
    #[arg(long = "controller-role", value_name = "ROLE", conflicts_with = "no_controller_role")]
    roles: Vec<RolePattern>,
    /// Allow no change of any controller role, not even for registered clusters.
    #[arg(long, conflicts_with = "clusters")]
    no_controller_role: bool,
}

/// Reads the saved options that the document depends on, and prints the document.
pub(super) async fn run(args: Args, context: &Context<'_>) -> Result<HubReport, Error> {
    let hub = context.hub().await?;
    let document = match args.party {
        Party::Operator { purpose: Some(purpose), read_only, .. } => {
            let document = operator_policy::additional(&hub.scope, purpose);
            if read_only { operator_policy::reads(document) } else { document }
        }
        Party::Operator { purpose: None, read_only, part, roles, given } => {
            let document = if read_only { OF_READING_OPERATORS } else { OF_OPERATORS };
            let known = known_for_queues(hub, given, document).await?;
            let controllers = roles.arns(hub).await?;
            let document = operator_policy::operator(&hub.scope, &known.options, &controllers);
            let document = if read_only {
                hub.ui.note(
                    "`verify --probe` needs more than this document allows. The document without --read-only has these \
                     statements:",
                    &for_probes(&hub.scope),
                );
                operator_policy::reads(document)
            } else {
                with_old_keys(hub, KeyUse::Receive, &known, document)
            };
            match part {
                Some(number) => nth(&document, number)?,
                None => fits(hub, document),
            }
        }
        Party::Router { given } => {
            let known = known_for_queues(hub, given, OF_ROUTERS).await?;
            let document = policy::router_policy(&hub.scope, &known.options);
            with_old_keys(hub, KeyUse::Route, &known, document)
        }
        Party::Controller { cluster, given } => {
            let known = known(hub, given, OF_READERS).await?;
            let queue = hub.scope.cluster_queue(&known.options.queue_template(), &cluster);
            let document = policy::controller_policy(&hub.scope, &queue, known.options.key());
            with_old_keys(hub, KeyUse::Receive, &known, document)
        }
    };
    hub.ui.result(&document.pretty())?;
    Ok(HubReport::with(&hub.scope, Body::Policy(document)))
}

/// What an operator needs for probes besides reads.
fn for_probes(scope: &Scope) -> [String; 4] {
    let (probe, router) = (scope.probe_queue(), scope.router_function());
    [
        format!("{} with the source {PROBE_SOURCE}", events::PUT_EVENTS),
        format!("{} on {router}, which can route any event", lambda::INVOKE_FUNCTION),
        format!("{} on {probe} and the queues of clusters, and {} for their key", sqs::RECEIVE_MESSAGE, kms::DECRYPT),
        format!("{} on {probe}", sqs::DELETE_MESSAGE),
    ]
}

/// The document, with a warning if it is too long for one managed policy.
fn fits(hub: &ConnectedHub<'_>, document: Document) -> Document {
    let fitted = operator_policy::fitted(document.clone());
    if let Some(over) = operator_policy::too_long(&fitted) {
        let count = operator_policy::parts(&document).len();
        let commands: Vec<String> =
            (1..=count).map(|part| format!("{} --part {part}", hub.scope.options.again)).collect();
        let text = format!(
            "the document is {over} characters too long for one managed policy. Create a policy from each of its {count} \
             parts, and attach all of them:"
        );
        hub.ui.warn(&Hint::command(text, commands.join("\n")));
    }
    fitted
}

fn nth(document: &Document, number: NonZeroUsize) -> Result<Document, Error> {
    let parts = operator_policy::parts(document);
    let none = || Error::usage(format!("the document has no part {number}: it has {}", parts.len()));
    parts.get(number.get() - 1).cloned().ok_or_else(none)
}

/// Leaves the other options of a hub out of the help. They are accepted, so that a pipeline can pass to every command what it
/// passes to `bootstrap-hub`.
fn shows_of_hub(shown: &[&str], arg: clap::Arg) -> clap::Arg {
    let of_hub = <HubOptions as clap::Args>::augment_args(clap::Command::new(""));
    let is_of_hub = of_hub.get_arguments().any(|option| option.get_id() == arg.get_id());
    let is_shown = !is_of_hub || arg.get_long().is_some_and(|flag| shown.contains(&flag));
    if is_shown { arg } else { arg.hide(true) }
}

/// Reads the settings, and prints those that the document depends on and that the command line does not replace.
async fn known(hub: &ConnectedHub<'_>, given: HubOptions, used: &[&str]) -> Result<Settings, Error> {
    let survey = stages::survey(hub, |_| Query::default(), |_| ()).await?.0;
    let parameter = ResourceId::Parameter(hub.scope.settings_parameter());
    let saved = match survey.saved() {
        Saved::Kept(settings) => settings.clone(),
        Saved::Absent => Settings::default(),
        Saved::Unreadable(_) => {
            hub.ui.warn_text(&format!(
                "{parameter} could not be read: the document uses the options given and the defaults"
            ));
            Settings::default()
        }
        Saved::Bad(bad) => {
            hub.ui.warn_text(&format!("{parameter} is not used: {bad}"));
            Settings::default()
        }
    };
    let mut printed = saved.options.clone();
    printed.retain(|flag| used.contains(&flag) && (flag == "tag" || !given.values().contains_key(flag)));
    let printed = printed.typed();
    if !printed.is_empty() {
        hub.ui.note(&format!("Saved options in this document, from {parameter}:"), &printed);
    }
    Ok(Settings { options: given.or(saved.options), ..saved })
}

/// [`known`] for a document about all cluster queues.
async fn known_for_queues(hub: &ConnectedHub<'_>, given: HubOptions, used: &[&str]) -> Result<Settings, Error> {
    let known = known(hub, given, used).await?;
    match unnamed_queues(&hub.scope, &known.options) {
        Some(refusal) => Err(Error::from([refusal].as_slice())),
        None => Ok(known),
    }
}

/// The document, with a statement for the old keys of the hub, which are printed.
fn with_old_keys(hub: &ConnectedHub<'_>, of: KeyUse, settings: &Settings, to: Document) -> Document {
    let mut keys = settings.old_keys();
    keys.retain(|key| Some(key) != settings.options.key());
    if !keys.is_empty() {
        let parameter = ResourceId::Parameter(hub.scope.settings_parameter());
        let lines: Vec<String> = keys.iter().map(KmsKey::to_string).collect();
        hub.ui.note(&format!("Old keys in this document, from {parameter}:"), &lines);
    }
    policy::with_old_keys(to, of, &hub.scope, &keys)
}

impl RoleFlags {
    /// The ARNs of the roles, or patterns of ARNs. Warns of what a pattern opens, and of what is unknown.
    async fn arns(&self, hub: &ConnectedHub<'_>) -> Result<BTreeSet<String>, Error> {
        if self.no_controller_role {
            return Ok(BTreeSet::new());
        }
        let known = match role_arns(&hub.cloud).await {
            Ok(roles) => roles,
            Err(fault) => {
                hub.ui.warn_text(&format!(
                    "the roles could not be listed, so roles of clusters are not found, and a role given by its name has \
                     the path `/` in the document: {fault}"
                ));
                BTreeMap::new()
            }
        };
        let mut arns = BTreeSet::new();
        for role in &self.roles {
            if role.is_open() {
                hub.ui.warn_text(&format!(
                    "`{role}` may match roles that are not controllers, also under other paths, because `*` matches `/`: \
                     with iam:PutRolePolicy, an operator can give each of them any permission"
                ));
            }
            arns.insert(role.arn(&hub.scope, &known).ok_or_else(|| {
                let account = &hub.scope.account;
                Error::usage(format!("`{role}` is not a role of account {account}"))
            })?);
        }
        let arn = |role: &RoleName| {
            let listed = known.get(role).cloned();
            listed.unwrap_or_else(|| hub.scope.roles_arn(role.as_str()))
        };
        arns.extend(self.found(hub, &known).iter().map(arn));
        arns.extend(recorded(hub).await?.iter().map(|(_, role)| arn(role)));
        if arns.is_empty() {
            hub.ui.warn(&Hint::command(
                "no controller role is known, so the document does not cover any. Name the clusters that will be added, or \
                 their roles with --controller-role. If another team manages IAM:",
                hub.scope.kibus("policy operator --no-controller-role"),
            ));
        }
        Ok(arns)
    }

    /// The roles found for the clusters that will be added. A role that may be another cluster's is not used.
    fn found(&self, hub: &ConnectedHub<'_>, known: &BTreeMap<RoleName, String>) -> BTreeSet<RoleName> {
        let mut roles = BTreeSet::new();
        for cluster in &self.clusters {
            let RoleCandidates { usual, suffixed } = RoleCandidates::among(cluster, known);
            if let [role] = usual.as_slice() {
                roles.insert(role.clone());
                continue;
            }
            let candidates = usual.iter().chain(&suffixed).collect();
            let text = no_single_role(cluster, candidates);
            hub.ui.warn_text(&format!("{text}; name it with --controller-role"));
        }
        roles
    }
}

/// The controller roles of the recorded clusters, as far as they can be read. Prints those for the document.
async fn recorded(hub: &ConnectedHub<'_>) -> Result<BTreeSet<(ClusterName, RoleName)>, Error> {
    let guess = |_: &Survey| Query { records: true, ..Query::default() };
    let (survey, roles) = stages::survey(hub, guess, recorded_roles).await?;
    if let Some(fault) = survey.records().fault() {
        hub.ui.warn_text(&format!(
            "the records of clusters could not be read, so the document may lack their controller roles: {fault}"
        ));
    }
    if !roles.is_empty() {
        let lines = roles.iter().map(|(cluster, role)| format!("{cluster}: {role}"));
        hub.ui.note("Controller roles in this document, from the records of clusters:", &lines.collect::<Vec<_>>());
    }
    Ok(roles)
}
