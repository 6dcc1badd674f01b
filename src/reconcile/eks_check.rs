//! Whether EKS has the clusters that are registered for the first time. A mistyped name would get a queue that no event
//! reaches.

use super::blocked::UnknownCluster;
use super::names::close;
use super::role_evidence;
use super::target::Target;
use super::{Blocked, Case};
use crate::error::{Hint, Invocation, listed};
use crate::model::name::ClusterName;
use crate::survey::Survey;

/// The clusters about which EKS is asked.
pub(super) fn asked<'a>(survey: &Survey, target: &'a Target) -> Vec<&'a ClusterName> {
    let is_registered = |cluster: &ClusterName| {
        let tags = survey.saved_tags(cluster);
        tags.is_some_and(|tags| tags.belong_to(&survey.scope.bus))
    };
    let set = target.set().into_iter();
    set.filter_map(|(cluster, setting)| (setting.asks_eks && !is_registered(cluster)).then_some(cluster))
        .collect()
}

/// Fails if EKS lists clusters, and not these. An account may be without clusters for now.
pub(super) fn known(survey: &Survey, target: &Target) -> Result<(), Blocked> {
    let Some(all) = survey.eks.clusters.present().filter(|all| !all.is_empty()) else {
        return Ok(());
    };
    let unknown = asked(survey, target).into_iter().filter(|name| !all.contains(*name));
    let unknown = unknown.map(|name| UnknownCluster {
        name: name.clone(),
        similar: close(name, all.iter().cloned()),
    });
    match unknown.collect::<Vec<_>>() {
        unknown if unknown.is_empty() => Ok(()),
        unknown => Err(Blocked::NotInEks(unknown)),
    }
}

/// What EKS could not be asked, and whether it lists no clusters at all.
pub(super) fn warnings(case: &Case<'_>) -> Vec<Hint> {
    let (survey, eks) = (case.survey, &case.survey.eks);
    let (asked, wanted) = (asked(survey, case.target), role_evidence::wanted(survey, case.target));
    let mut warnings = Vec::new();
    if !asked.is_empty() && eks.clusters.present().is_some_and(|all| all.is_empty()) {
        let (region, account) = (&survey.scope.region, &survey.scope.account);
        warnings.push(Hint::text(format!(
            "EKS has no clusters in {region} of account {account}: check that {} will be created there",
            clusters(&asked)
        )));
    }
    let exists = eks.clusters.fault().filter(|_| !asked.is_empty());
    let roles = survey.role_names.fault().filter(|_| !wanted.is_empty());
    if let Some(fault) = eks.fault().or(roles) {
        let unknown = match exists {
            Some(_) => format!("it is unknown whether EKS has {}", clusters(&asked)),
            None => format!(
                "not everything is known that shows the controller role of {}",
                clusters(&wanted)
            ),
        };
        let by_name = match wanted.as_slice() {
            [] => "",
            _ => "; without such evidence, a controller role is found by its name",
        };
        let text = format!("{unknown}{by_name}: {fault}");
        warnings.push(match fault.is_denied() && eks.fault().is_some() {
            true => Hint::command(
                format!("{text}. To print the permissions for these reads:"),
                Invocation::kibus("policy operator --for eks"),
            ),
            false => Hint::text(text),
        });
    }
    warnings
}

fn clusters(names: &[&ClusterName]) -> String {
    match names {
        [one] => format!("cluster `{one}`"),
        several => format!("clusters {}", listed(several)),
    }
}
