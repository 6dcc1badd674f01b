//! Whether EKS has the clusters that are registered for the first time. A mistyped name would get a queue that no event
//! reaches.

use super::blocked::UnknownCluster;
use super::eks_query::{asked, wanted};
use super::names::close;
use super::target::Target;
use super::{Blocked, Case};
use crate::error::{Hint, Invocation, listed};
use crate::model::name::ClusterName;
use crate::survey::Survey;

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
    let (asked, wanted) = (asked(survey, case.target), wanted(survey, case.target));
    let mut warnings = Vec::new();
    if !asked.is_empty() && eks.clusters.present().is_some_and(|all| all.is_empty()) {
        let (region, account) = (&survey.scope.region, &survey.scope.account);
        warnings.push(Hint::text(format!(
            "EKS has no clusters in {region} of account {account}: check that {} will be created there",
            clusters(&asked)
        )));
    }
    let exists = eks.clusters.fault().filter(|_| !asked.is_empty());
    let roles = eks.fault_of_roles().filter(|_| !wanted.is_empty());
    let unknown = match (exists, roles) {
        (Some(fault), None) => Some((fault, format!("whether it has {}", clusters(&asked)))),
        (Some(fault), Some(_)) => Some((
            fault,
            format!(
                "whether it has {}, nor for controller roles, so check those in the plan",
                clusters(&asked)
            ),
        )),
        (None, Some(fault)) => Some((
            fault,
            format!(
                "for the controller role of {}, so check it in the plan",
                clusters(&wanted)
            ),
        )),
        (None, None) => None,
    };
    let listed = survey.role_names.fault().filter(|_| !wanted.is_empty());
    warnings.extend(match (unknown, listed) {
        (Some((fault, what)), _) if fault.is_denied() => Some(permissions(format!(
            "EKS could not be asked {what}: {fault}. To print the permissions for these reads:"
        ))),
        (Some((fault, what)), _) => Some(Hint::text(format!("EKS could not be asked {what}: {fault}"))),
        (None, Some(fault)) => Some(Hint::text(format!(
            "trust policies could not be read for the controller role of {}, so check it in the plan: {fault}",
            clusters(&wanted)
        ))),
        (None, None) => None,
    });
    warnings
}

/// What prints the permissions to ask EKS.
pub fn permissions(text: impl Into<String>) -> Hint {
    Hint::command(text, Invocation::kibus("policy operator --for eks"))
}

fn clusters(names: &[&ClusterName]) -> String {
    match names {
        [one] => format!("cluster `{one}`"),
        several => format!("clusters {}", listed(several)),
    }
}
