use std::collections::{BTreeMap, BTreeSet};

use clap::Subcommand;

use crate::cli::hub::{ConnectedHub, Context};
use crate::cli::stages;
use crate::error::{Error, Hint};
use crate::iam::operator_policy::{self, Purpose, RolePattern};
use crate::model::{
    ClusterName, Document, HubOptions, KmsKey, Moment, ResourceId, RoleCandidates, RoleName, Settings,
    calls::lambda,
    policy::{self, KeyUse},
};
use crate::reconcile::{no_single_role, recorded_roles, unnamed_queues};
use crate::survey::{Query, Saved, Survey, role_arns};
use crate::ui::{Body, HubReport};

/// The options of a document for a controller, by their flags.
const OF_READERS: &[&str] = &["kms-key", "queue-name"];
/// The options of the router's document.
const OF_ROUTERS: &[&str] = &["kms-key", "queue-name", "tag-conditions", "notify"];
/// The options of the operator's document.
const OF_OPERATORS: &[&str] = &["tag", "kms-key", "permissions-boundary", "role-path", "queue-name", "tag-conditions"];
/// The options of the document for a read-only operator.
const OF_READING_OPERATORS: &[&str] = &["kms-key", "role-path", "queue-name"];
/// The options of the document for a drill.
const OF_DRILLS: &[&str] = &["tag", "permissions-boundary", "role-path"];
/// The options of the document for clusters.
const OF_CLUSTERS: &[&str] = &["kms-key", "queue-name", "tag-conditions"];

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
    /// Policy for an operator: anyone who runs kibus.
    #[command(mut_args = |arg| shows_of_hub(OF_OPERATORS, arg))]
    Operator {
        /// Print the additional document for a purpose instead of the hub document; attach both.
        #[arg(long = "for", value_enum, value_name = "PURPOSE")]
        purpose: Option<Purpose>,
        /// Allow only what `verify` and `status` read. `verify --probe` needs more.
        #[arg(long)]
        read_only: bool,
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

/// Which controller roles the document for clusters names.
#[derive(Debug, clap::Args)]
struct RoleFlags {
    /// With `--for clusters`: clusters whose controller roles to include [default: all registered clusters]. For other
    /// clusters, kibus searches for the usual role names.
    #[arg(value_name = "CLUSTER", requires = "purpose")]
    clusters: Vec<ClusterName>,
    /// With `--for clusters`: a controller role, as a name, a path and name, or an ARN; repeatable. With `*`, a pattern.
    #[arg(long = "controller-role", value_name = "ROLE", requires = "purpose")]
    roles: Vec<RolePattern>,
}

/// Reads the saved options that the document depends on, and prints the document.
pub(super) async fn run(args: Args, context: &Context<'_>) -> Result<HubReport, Error> {
    let hub = context.hub().await?;
    let document = match args.party {
        Party::Operator { purpose: Some(Purpose::Clusters), read_only, roles, given } => {
            let known = known_for_queues(hub, given, OF_CLUSTERS).await?;
            let roles = roles.arns(hub).await?;
            if let Some(role) = operator_policy::own_role(&hub.scope, &known.options, &roles) {
                let sentence = format!("`{role}` matches a role that kibus creates, which is not a controller role");
                return Err(Error::usage(sentence).hint(
                    "name controller roles, or use a narrower pattern: this document does not require a permissions boundary",
                ));
            }
            if let Some(most) = operator_policy::fitting(&hub.scope, &known.options, &roles) {
                let count = roles.len();
                let sentence =
                    format!("{count} controller roles do not fit into one managed policy; the maximum is {most}");
                return Err(Error::usage(sentence).hint(
                    "split the clusters over several documents, and attach each; or pass a pattern with \
                     --controller-role",
                ));
            }
            let document = operator_policy::clusters(&hub.scope, &known.options, &roles);
            if read_only {
                operator_policy::reads(document)
            } else {
                with_old_keys(hub, KeyUse::Receive, &known, document)
            }
        }
        Party::Operator { roles: RoleFlags { clusters, roles }, .. } if !clusters.is_empty() || !roles.is_empty() => {
            return Err(Error::usage("clusters and controller roles require `--for clusters`"));
        }
        Party::Operator { purpose: Some(purpose), read_only, given, .. } => {
            let options = match purpose {
                Purpose::Drill => known(hub, given, OF_DRILLS).await?.options,
                _ => given,
            };
            let document = operator_policy::additional(&hub.scope, &options, purpose);
            if read_only { operator_policy::reads(document) } else { document }
        }
        Party::Operator { purpose: None, read_only, given, .. } => {
            let document = if read_only { OF_READING_OPERATORS } else { OF_OPERATORS };
            let known = known_for_queues(hub, given, document).await?;
            let document = operator_policy::operator(&hub.scope, &known.options);
            if let Some(over) = operator_policy::too_long(&document) {
                let sentence = format!("the document is {over} characters too long for one managed policy");
                let hint = "use a shorter role path, a shorter name of the boundary, or fewer tags";
                return Err(Error::usage(sentence).hint(hint));
            }
            if read_only {
                let more = format!(
                    "`verify --probe` also needs {}, which can route any event, and this document:",
                    lambda::INVOKE_FUNCTION
                );
                hub.ui.note(&more, &[hub.scope.kibus("policy operator --for clusters")]);
                operator_policy::reads(document)
            } else {
                document
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

/// Hides the other options of a hub in the help. They are accepted, so that a pipeline can pass the options of
/// `bootstrap-hub` to every command.
fn shows_of_hub(shown: &[&str], arg: clap::Arg) -> clap::Arg {
    let of_hub = <HubOptions as clap::Args>::augment_args(clap::Command::new(""));
    let is_of_hub = of_hub.get_arguments().any(|option| option.get_id() == arg.get_id());
    let is_shown = !is_of_hub || arg.get_long().is_some_and(|flag| shown.contains(&flag));
    if is_shown { arg } else { arg.hide(true) }
}

/// Reads the settings, and prints those that the document depends on and that the command line does not override.
async fn known(hub: &ConnectedHub<'_>, given: HubOptions, used: &[&str]) -> Result<Settings, Error> {
    let survey = stages::survey(hub, |_| Query::default(), |_| ()).await?.0;
    let parameter = ResourceId::Parameter(hub.scope.settings_parameter());
    let saved = match survey.saved() {
        Saved::Kept(settings) => settings.clone(),
        Saved::Absent => Settings::default(),
        Saved::Unreadable(_) => {
            hub.ui.warn_text(&format!(
                "{parameter} could not be read: the document uses the given options and the defaults"
            ));
            Settings::default()
        }
        Saved::Bad(bad) => {
            hub.ui.warn_text(&format!("{parameter} is ignored: {bad}"));
            Settings::default()
        }
    };
    let mut printed = saved.options.clone();
    printed.retain(|flag| used.contains(&flag) && (flag == "tag" || !given.values().contains_key(flag)));
    let printed = printed.typed();
    if !printed.is_empty() {
        hub.ui.note(&format!("Saved options in this document, from {parameter}:"), &printed);
    }
    let current = saved.options.key().cloned();
    let mut known = Settings { options: given.or(saved.options), ..saved };
    // Messages stay encrypted with the current key, even after a change to the given one.
    known.old_keys.extend(current.map(|key| (key, Moment::default())));
    Ok(known)
}

/// Reads and prints the settings for a document about all cluster queues.
async fn known_for_queues(hub: &ConnectedHub<'_>, given: HubOptions, used: &[&str]) -> Result<Settings, Error> {
    let known = known(hub, given, used).await?;
    match unnamed_queues(&hub.scope, &known.options) {
        Some(refusal) => Err(Error::from([refusal].as_slice())),
        None => Ok(known),
    }
}

/// The document, with a statement for the old keys of the hub, which it also prints.
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
    /// The ARNs of the roles, or patterns of ARNs. Warns about what a pattern opens, and what is unknown.
    async fn arns(&self, hub: &ConnectedHub<'_>) -> Result<BTreeSet<String>, Error> {
        let known = match role_arns(&hub.cloud).await {
            Ok(roles) => roles,
            Err(fault) => {
                hub.ui.warn_text(&format!(
                    "the roles could not be listed, so roles of clusters were not found, and roles given by name are \
                    assumed to have the path `/`: {fault}"
                ));
                BTreeMap::new()
            }
        };
        let mut arns = BTreeSet::new();
        for role in &self.roles {
            if role.is_open() {
                hub.ui.warn_text(&format!(
                    "`{role}` may match roles that are not controllers, even under other paths, because `*` matches \
                    `/`: with iam:PutRolePolicy, an operator can grant each of them any permission"
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
        if self.roles.is_empty() || !self.clusters.is_empty() {
            let recorded = self.recorded(hub).await?;
            arns.extend(self.found(hub, &known, &recorded).iter().chain(recorded.values().flatten()).map(arn));
        }
        if arns.is_empty() {
            hub.ui.warn(&Hint::command(
                "the document contains no controller role. Unless another team manages IAM, name the clusters that will be added:",
                hub.scope.kibus("policy operator --for clusters NAME"),
            ));
        }
        Ok(arns)
    }

    /// The roles found for named clusters without a recorded role. A role that may belong to another cluster is not used.
    fn found(
        &self,
        hub: &ConnectedHub<'_>,
        known: &BTreeMap<RoleName, String>,
        recorded: &BTreeMap<ClusterName, BTreeSet<RoleName>>,
    ) -> BTreeSet<RoleName> {
        let mut roles = BTreeSet::new();
        for cluster in self.clusters.iter().filter(|cluster| !recorded.contains_key(*cluster)) {
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

    /// The recorded controller roles of the named clusters, or of all clusters, as far as they can be read. Prints them.
    async fn recorded(&self, hub: &ConnectedHub<'_>) -> Result<BTreeMap<ClusterName, BTreeSet<RoleName>>, Error> {
        let guess = |_: &Survey| Query { records: true, ..Query::default() };
        let (survey, mut roles) = stages::survey(hub, guess, recorded_roles).await?;
        if let Some(fault) = survey.records().fault() {
            hub.ui.warn_text(&format!(
                "the cluster records could not be read, so the document may lack their controller roles: {fault}"
            ));
        }
        roles.retain(|cluster, _| self.clusters.is_empty() || self.clusters.contains(cluster));
        if !roles.is_empty() {
            let lines =
                roles.iter().flat_map(|(cluster, roles)| roles.iter().map(move |role| format!("{cluster}: {role}")));
            hub.ui.note("Controller roles in this document, from the cluster records:", &lines.collect::<Vec<_>>());
        }
        Ok(roles)
    }
}
