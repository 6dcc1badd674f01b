//! Reads the controller roles: their names, and their policies as far as a query needs them.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::future::{OptionFuture, join_all};

use super::{Reader, not_read};
use crate::cloud::{Fault, ListedRole, Read, RoleDetails};
use crate::model::cluster::Cluster;
use crate::model::controller_role::is_usual;
use crate::model::document::Document;
use crate::model::fact::Fact;
use crate::model::name::{ClusterName, RoleName};
use crate::model::other_setup::may_name_a_queue;
use crate::survey::{Policies, Query, RolePolicies, Survey};

/// From this many roles on, one report about all roles of the account takes less time than the calls about each: IAM
/// accepts about 20 calls a second, and each role takes two or more.
const READ_AT_ONCE: usize = 20;

/// Up to this many roles, the attached policies are listed in the same round as the inline ones, also of a role that turns
/// out to be absent: as many as the usual names of one cluster. More would take IAM's calls of a second for nothing.
const LISTED_TOGETHER: usize = 6;

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
            .filter(|role| query.orphans && is_usual(role) && !query.roles.contains_key(*role));
        let roles = orphans.map(|role| (role.clone(), Policies::OfBus)).collect();
        let read = self.roles(survey, roles).await;
        (listed, read)
    }

    /// Reads the roles that the clusters' queues have saved.
    pub(super) async fn controller_roles(&self, survey: &mut Survey, policies: Policies) {
        let saved: BTreeMap<ClusterName, RoleName> = survey
            .clusters()
            .into_iter()
            .filter_map(|(cluster, tags)| Some((cluster, tags.controller_role()?)))
            .collect();
        let roles = saved.values().map(|role| (role.clone(), policies)).collect();
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

    pub(super) async fn roles(&self, survey: &Survey, roles: BTreeMap<RoleName, Policies>) -> Roles {
        let prefix = survey.scope.controller_policies_prefix();
        let is_unread = |(role, policies): &(RoleName, Policies)| match survey.roles.get(role) {
            Some(Fact::Present(known)) => match policies {
                Policies::OfBus => false,
                Policies::All => known.all().is_none(),
                Policies::AllAndManaged => known.all().is_none() || !known.managed.is_asked(),
            },
            known => known.is_none(),
        };
        let unread: Vec<_> = roles.into_iter().filter(is_unread).collect();
        let details = self.role_details(unread.iter().map(|(role, _)| role)).await;
        let details = &details;
        let together = unread.len() <= LISTED_TOGETHER;
        let reads = unread.into_iter().map(|(role, policies)| {
            let known = survey.roles.get(&role).and_then(Fact::present).cloned();
            let prefix = prefix.as_str();
            async move {
                if let Some(details) = details {
                    let found =
                        OptionFuture::from(details.get(&role).map(|found| self.detailed(found, policies))).await;
                    return (role, Fact::of_option(Ok(found)));
                }
                let wanted = |name: &str| policies != Policies::OfBus || name.starts_with(prefix);
                let managed = policies == Policies::AllAndManaged;
                let read = self.role(&role, known, wanted, (managed, together)).await;
                (role, Fact::of_option(read))
            }
        });
        join_all(reads).await
    }

    async fn role(
        &self,
        role: &RoleName,
        known: Option<RolePolicies>,
        wanted: impl Fn(&str) -> bool,
        (managed, together): (bool, bool),
    ) -> Result<Option<RolePolicies>, Fault> {
        let attached = || self.call(|| self.cloud.attached_policies(role));
        let (mut policies, listed) = match known {
            Some(known) => (known, None),
            None => {
                let (names, listed) = tokio::join!(
                    self.call(|| self.cloud.inline_policy_names(role)),
                    OptionFuture::from((managed && together).then(attached))
                );
                let Some(names) = names? else { return Ok(None) };
                let policies = RolePolicies {
                    names,
                    ..RolePolicies::default()
                };
                (policies, listed)
            }
        };
        let is_unread = |name: &&String| wanted(name) && !policies.documents.contains_key(*name);
        let reads = policies
            .names
            .iter()
            .filter(is_unread)
            .map(|name| self.call(|| self.cloud.inline_policy(role, name)));
        let managed = managed && !policies.managed.is_asked();
        let (inline, managed) = tokio::join!(
            join_all(reads),
            OptionFuture::from(managed.then_some(async {
                let listed = match listed {
                    Some(listed) => listed,
                    None => attached().await,
                };
                match listed {
                    Ok(Some(arns)) => self.managed_documents(arns).await,
                    Ok(None) => Fact::Absent,
                    Err(fault) => Fact::Unreadable(fault),
                }
            }))
        );
        policies.managed = managed.unwrap_or(policies.managed);
        for policy in inline {
            // A policy that went between the two calls takes no space any more.
            if let Some(policy) = policy? {
                policies.documents.insert(policy.name.clone(), policy);
            }
        }
        let read = policies.documents.keys().cloned().collect::<BTreeSet<_>>();
        policies.names.retain(|name| !wanted(name) || read.contains(name));
        Ok(Some(policies))
    }

    /// Many roles at once, if the caller may read them all; `None` if they are read one by one.
    async fn role_details(
        &self,
        roles: impl ExactSizeIterator<Item = &RoleName>,
    ) -> Option<BTreeMap<RoleName, RoleDetails>> {
        if roles.len() < READ_AT_ONCE {
            return None;
        }
        let roles = roles.cloned().collect();
        // A fault that is no denial is reported by the calls about each role.
        self.call(|| self.cloud.role_details(&roles)).await.ok()
    }

    async fn detailed(&self, details: &RoleDetails, policies: Policies) -> RolePolicies {
        let inline = details.inline.iter();
        let documents: BTreeMap<_, _> = inline.map(|policy| (policy.name.clone(), policy.clone())).collect();
        RolePolicies {
            names: documents.keys().cloned().collect(),
            documents,
            managed: match policies {
                Policies::OfBus | Policies::All => Fact::NotAsked,
                Policies::AllAndManaged => self.managed_documents(details.managed.clone()).await,
            },
        }
    }

    /// Those of the managed policies that may name a queue.
    async fn managed_documents(&self, arns: BTreeSet<String>) -> Fact<BTreeMap<String, Fact<Document>>> {
        let reads = arns.into_iter().filter(|arn| may_name_a_queue(arn)).map(|arn| async {
            let document = self.call(|| self.cloud.managed_policy(&arn)).await;
            (arn, Fact::of_option(document))
        });
        Fact::Present(join_all(reads).await.into_iter().collect())
    }
}

impl Survey {
    pub(super) fn take_listed(&mut self, listed: Option<Listed>) {
        let Some(listed) = listed else { return };
        let listed = listed.map(|roles| {
            let names = roles.keys().cloned().collect();
            let trusts = roles
                .into_iter()
                .filter_map(|(name, role)| Some((name, role.web_trust?)));
            self.web_trusts = trusts.collect();
            names
        });
        self.role_names = Fact::of(listed);
    }
}
