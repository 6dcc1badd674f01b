//! Reads the controller roles: their names, and their policies as far as a query needs them.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::future::join_all;

use super::{Reader, not_read};
use crate::cloud::{Fault, ListedRole, Read};
use crate::model::cluster::Cluster;
use crate::model::controller_role::is_usual;
use crate::model::fact::Fact;
use crate::model::inline_policy::InlinePolicy;
use crate::model::name::{ClusterName, RoleName};
use crate::model::policy;
use crate::survey::{Query, RolePolicies, Survey};

/// From this many roles on, one report about all roles of the account takes less time than the calls about each: IAM
/// accepts about 20 calls a second, and each role takes one or two.
const READ_AT_ONCE: usize = 20;

/// The list of all roles.
pub(super) type Listed = Result<BTreeMap<RoleName, ListedRole>, Fault>;
/// The roles that were read, with their policies.
pub(super) type Roles = Vec<(RoleName, Fact<RolePolicies>)>;

impl<R: Read> Reader<'_, R> {
    /// Lists the roles, if that was not done, and reads the policies of this bus on every role that is named like a
    /// controller role, but for the roles that are being read already.
    pub(super) async fn listed_roles(&self, survey: &Survey, query: &Query) -> (Option<Listed>, Roles) {
        let listed = match survey.role_names.is_asked() {
            false => Some(self.call(|| self.cloud.listed_roles()).await),
            true => None,
        };
        let all: Vec<&RoleName> = match &listed {
            Some(listed) => listed.iter().flat_map(BTreeMap::keys).collect(),
            None => survey.role_names.present().into_iter().flatten().collect(),
        };
        let orphans = all
            .into_iter()
            .filter(|role| query.orphans && is_usual(role) && !query.roles.contains(*role));
        let roles = orphans.cloned().collect();
        let read = self.roles(survey, roles).await;
        (listed, read)
    }

    /// Reads the roles that the clusters' queues have saved.
    pub(super) async fn controller_roles(&self, survey: &mut Survey) {
        let saved: BTreeMap<ClusterName, RoleName> = survey
            .clusters()
            .into_iter()
            .filter_map(|(cluster, tags)| Some((cluster, tags.controller_role()?)))
            .collect();
        let roles = saved.values().cloned().collect();
        let read = self.roles(survey, roles).await;
        survey.roles.extend(read);
        // Who may not list the policies of a role may still be allowed to read the one of kibus.
        let direct = saved
            .iter()
            .filter(|(_, role)| survey.roles.get(*role).is_some_and(|fact| fact.fault().is_some()))
            .map(|(cluster, role)| Cluster::policy_id(&survey.scope, cluster, role));
        let read = self.snapshots(not_read(survey, direct)).await;
        survey.take(read);
    }

    pub(super) async fn roles(&self, survey: &Survey, mut roles: BTreeSet<RoleName>) -> Roles {
        roles.retain(|role| !survey.roles.contains_key(role));
        let details = self.many_roles(&roles).await;
        let (details, prefix) = (&details, &survey.scope.controller_policies_prefix());
        let reads = roles.into_iter().map(|role| async move {
            let read = match details {
                Some(details) => Ok(details.get(&role).map(|found| named(found.iter().cloned(), prefix))),
                None => self.role(&role, prefix).await,
            };
            (role, Fact::of_option(read))
        });
        join_all(reads).await
    }

    /// What IAM says of the calls of controllers. Who gets no answer about the first is not let ask about the others.
    pub(super) async fn controller_access(&self, survey: &mut Survey, query: &Query) {
        let Some(first) = query.controller_access.first() else {
            return;
        };
        let asked = &*survey;
        let ask = async |of: &(ClusterName, RoleName)| {
            let calls = policy::controller_calls(&asked.scope, &asked.cluster_queue(&of.0));
            let arn = asked.role_arns.get(&of.1).map_or("", String::as_str);
            let answered = self.call(|| self.cloud.simulate(arn, &calls)).await;
            let decided = answered.into_iter().filter_map(|answered| answered.decisions.ok());
            let decided = decided.flatten().filter(|(call, _)| calls.calls.contains(call));
            let decided = decided.map(|(call, decision)| (call.action, decision));
            (of.clone(), decided.collect::<BTreeMap<_, _>>())
        };
        let answer = ask(first).await;
        let others = query.controller_access.iter().skip(1);
        let others = match answer.1.is_empty() {
            true => others.map(|of| (of.clone(), BTreeMap::new())).collect(),
            false => join_all(others.map(ask)).await,
        };
        survey.controller_access.extend(others.into_iter().chain([answer]));
    }

    /// Every inline policy of some roles.
    pub(super) async fn all_policies(&self, roles: &BTreeSet<RoleName>) -> Roles {
        let reads = roles.iter().map(|role| async {
            let read = self.role(role, "").await;
            (role.clone(), Fact::of_option(read))
        });
        join_all(reads).await
    }

    async fn role(&self, role: &RoleName, prefix: &str) -> Result<Option<RolePolicies>, Fault> {
        let Some(mut names) = self.call(|| self.cloud.inline_policy_names(role)).await? else {
            return Ok(None);
        };
        names.retain(|name| name.starts_with(prefix));
        let reads = names
            .iter()
            .map(|name| self.call(|| self.cloud.inline_policy(role, name)));
        let read: Result<Vec<_>, Fault> = join_all(reads).await.into_iter().collect();
        // A policy that went between the two calls is gone.
        Ok(Some(named(read?.into_iter().flatten(), prefix)))
    }

    /// Many roles at once, if the caller may read them all; `None` if they are read one by one.
    async fn many_roles(&self, roles: &BTreeSet<RoleName>) -> Option<BTreeMap<RoleName, Vec<InlinePolicy>>> {
        if roles.len() < READ_AT_ONCE {
            return None;
        }
        // A fault that is no denial is reported by the calls about each role.
        self.call(|| self.cloud.inline_policies(roles)).await.ok()
    }
}

fn named(policies: impl Iterator<Item = InlinePolicy>, prefix: &str) -> RolePolicies {
    let named = policies.filter(|policy| policy.name.starts_with(prefix));
    named.map(|policy| (policy.name.clone(), policy)).collect()
}

impl Survey {
    pub(super) fn take_listed(&mut self, listed: Option<Listed>) {
        let Some(listed) = listed else { return };
        let listed = listed.map(|roles| {
            let names = roles.keys().cloned().collect();
            let arns = roles.iter().map(|(name, role)| (name.clone(), role.arn.clone()));
            self.role_arns = arns.collect();
            let trusts = roles
                .into_iter()
                .filter_map(|(name, role)| Some((name, role.web_trust?)));
            self.web_trusts = trusts.collect();
            names
        });
        self.role_names = Fact::of(listed);
    }
}
