//! What a hub's options ask for beyond the hub itself: room in the account, a key that lets the rules in, and clusters
//! that follow.

use super::add_cluster::indented;
use super::clusters::{self, Registered};
use super::context::Context;
use super::explain;
use crate::error::Error;
use crate::model::inventory::{Desired, Observed};
use crate::model::key_policy::{LetsIn, lets_rules_in};
use crate::model::name::KmsKey;
use crate::model::options::HubOptions;
use crate::model::policy;
use crate::model::resource::{Resource, ResourceId};
use crate::model::signal::Signal;
use crate::plan;
use crate::plan::finding::{self, Finding};
use crate::ui::json::ClusterReport;

/// Whether the account has as much concurrency as is to be set aside. Gives a warning where that cannot be asked.
pub(super) async fn check_concurrency(
    context: &Context<'_>,
    wanted: &Desired,
    observed: &Observed,
) -> Result<Option<String>, Error> {
    let id = ResourceId::Function(context.scope.router_function());
    let reserved = |resource: Option<&Resource>| match resource {
        Some(Resource::Function(function)) => function.reserved_concurrency,
        _ => None,
    };
    let (wanted, live) = (reserved(wanted.get(&id)), reserved(observed.resource(&id)));
    if wanted.is_none() || wanted <= live {
        return Ok(None);
    }
    match context.cloud.unreserved_concurrency().await {
        Ok(None) => Ok(None),
        Ok(Some(unreserved)) => plan::check_concurrency(wanted, live, unreserved)
            .map(|()| None)
            .map_err(|refusal| explain::refused(context, &[refusal], false)),
        Err(fault) => Ok(Some(format!(
            "it is not known whether the account has so much concurrency left: {fault}"
        ))),
    }
}

/// What is about to be overwritten where the queue that remembers what was chosen is gone, and the hub is not.
pub(super) struct Forgotten {
    /// What the live resources have, as if it had been chosen.
    pub(super) live: HubOptions,
    flags: Vec<String>,
}

impl Forgotten {
    /// Nothing where something remembers, and where nothing of the hub is otherwise than it will be.
    pub(super) fn look(context: &Context<'_>, observed: &Observed, chosen: &HubOptions) -> Option<Self> {
        let memory = ResourceId::Queue(context.scope.dead_letter_queue());
        if observed.resource(&memory).is_some() {
            return None;
        }
        let live = HubOptions::as_live(&context.scope, observed);
        let flags = live.flags_beyond(chosen);
        (!flags.is_empty()).then_some(Self { live, flags })
    }

    pub(super) fn warning(&self, context: &Context<'_>) -> String {
        format!(
            "queue `{}`, which remembers what was chosen for the hub, is gone: what is not given is the default again, \
             and these live values are overwritten; to keep them:\n{}",
            context.scope.dead_letter_queue(),
            indented(&self.command(context))
        )
    }

    /// The command that keeps what is live.
    pub(super) fn command(&self, context: &Context<'_>) -> String {
        context.command(&format!("bootstrap-hub {}", self.flags.join(" ")))
    }
}

/// What must be so before a key is used or left, in words.
pub(super) async fn check_key(
    context: &Context<'_>,
    before: Option<&HubOptions>,
    after: &HubOptions,
) -> Result<Vec<String>, Error> {
    let (before, after) = (before.and_then(clusters::key), clusters::key(after));
    let mut warnings = Vec::new();
    if let Some(key) = after {
        plan::check_key(&context.scope, key).map_err(|refusal| explain::refused(context, &[refusal], false))?;
    }
    if let Some(key) = before.filter(|_| before != after) {
        warnings.push(format!(
            "messages that still wait under key `{key}` cannot be read once the permission to use it is gone: see that \
             the queues are empty, or give the router and the controllers that permission until they are"
        ));
    }
    if let Some(key) = after {
        let key = Key::look(context, key).await;
        let shut = key.finding.as_ref().map(|finding| {
            format!(
                "{}: {}: {}; {}. Choose another key, or give its policy this statement:\n{}",
                finding.code,
                finding.name(),
                finding.message,
                finding.code.meaning(),
                statement(context)
            )
        });
        warnings.extend(shut);
        warnings.extend(key.unclear.filter(|_| before != after));
    }
    Ok(warnings)
}

/// What can be said about the customer key of a hub's queues.
#[derive(Default)]
pub(super) struct Key {
    /// What is wrong with it.
    pub(super) finding: Option<Finding>,
    /// Why it is not known whether something is.
    pub(super) unclear: Option<String>,
}

impl Key {
    /// Reads the key's policy, and sees whether EventBridge may use the key. Only the account of a key can read it.
    pub(super) async fn look(context: &Context<'_>, key: &KmsKey) -> Self {
        let scope = &context.scope;
        let not_known = |why: String| Self {
            finding: None,
            unclear: Some(format!(
                "whether key `{key}` lets EventBridge in is not known: {why}. Events are lost without a trace unless it \
                 is a customer managed key with this statement in its policy:\n{}",
                statement(context)
            )),
        };
        if !key.as_str().contains(&format!(":{}:key/", scope.account)) {
            return not_known("it is of another account, which alone can read its policy".to_owned());
        }
        let rules: Vec<String> = Signal::ALL
            .iter()
            .map(|signal| scope.rule_arn(&scope.rule(*signal)))
            .collect();
        let verdict = match context.cloud.key_policy(key).await {
            Ok(policy) => policy.map(|policy| lets_rules_in(&policy, &scope.account, &rules)),
            Err(fault) => return not_known(fault.to_string()),
        };
        match verdict {
            Some(LetsIn::Unclear) => not_known("its policy has conditions that kibus does not judge".to_owned()),
            verdict => Self {
                finding: finding::key(scope, key, verdict.as_ref()),
                unclear: None,
            },
        }
    }

    /// The same for the key that was chosen for a hub, if one was.
    pub(super) async fn look_at_chosen(context: &Context<'_>, options: &HubOptions) -> Self {
        match clusters::key(options) {
            Some(key) => Self::look(context, key).await,
            None => Self::default(),
        }
    }
}

fn statement(context: &Context<'_>) -> String {
    indented(&policy::key_statement(&context.scope).pretty())
}

/// Adds the clusters whose queues and policies follow the hub's key. Where no key was ever chosen nothing follows,
/// and nothing is read.
pub(super) async fn with_clusters(
    context: &Context<'_>,
    before: Option<&HubOptions>,
    after: &HubOptions,
    wanted: &mut Desired,
    observed: &mut Observed,
) -> Result<Vec<ClusterReport>, Error> {
    let Some(before) = before.filter(|before| before.kms_key.is_some() || after.kms_key.is_some()) else {
        return Ok(Vec::new());
    };
    let mut registered = Registered::find(context, before)
        .await
        .map_err(|fault| super::explain::clusters_unknown(context, &fault))?;
    registered.read_policies(context).await;
    if let Some((id, fault)) = registered.faults.first() {
        return Err(explain::unreadable(context, id, fault));
    }
    wanted.extend(registered.desired(context, after)?);
    observed.extend(registered.observed.clone());
    Ok(registered.report(context, after))
}
