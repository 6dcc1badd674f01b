//! What must hold before the plan of a hub is applied, asked without a change: who calls, which
//! calls of the plan AWS would allow, and how much of the quotas is left.

mod calls;
mod report;

use crate::model::{Answered, Fact, Fault, RoleName, Simulation};
use crate::survey::Survey;
pub use calls::{PlannedCalls, planned_calls};
pub use report::{Findings, check, checks};

/// What AWS answered.
#[derive(Clone, Debug)]
pub struct Answers {
    /// The caller's ARN.
    pub caller: String,
    /// The number of rules.
    pub rules: Fact<usize>,
    /// The answers to the simulations, or why there are none.
    pub simulated: Result<Vec<Answered>, NoSimulation>,
}

/// Why nothing was simulated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoSimulation {
    #[error("IAM does not simulate calls of the root user, which only the organization can deny")]
    RootUser,
    #[error("IAM simulates calls of users and roles only")]
    NoUserOrRole,
    #[error("the ARN of role `{0}` is needed, and it is not in the list of roles")]
    UnlistedRole(RoleName),
    #[error("the ARN of role `{0}` is needed, and the roles could not be listed: {1}")]
    UnreadRoles(RoleName, Box<Fault>),
}

/// What AWS says, as far as it was asked. Without a simulation, the caller's ARN is not looked for.
pub fn answers(survey: &Survey, simulations: &[Simulation]) -> Answers {
    let rules = survey.event_rules();
    let principal = match simulations {
        [] => Ok(None),
        _ => principal(survey),
    };
    let simulated = principal.map(|principal| {
        let asked = principal.into_iter().flat_map(|principal| {
            let simulations = simulations.iter().cloned();
            simulations.map(move |simulation| (principal.clone(), simulation))
        });
        let answers = asked.filter_map(|asked| survey.simulated(&asked).present().cloned());
        answers.flatten().collect()
    });
    Answers {
        caller: survey.caller.clone(),
        rules: match rules.fault() {
            Some(fault) => Fact::Unreadable(fault.clone()),
            None => Fact::Present(rules.present().map_or(0, Vec::len)),
        },
        simulated,
    }
}

/// The ARN of the user or role whose policies decide about the caller; `None` if that is not known yet. The ARN of a session lacks
/// the path of its role (API reference of STS, `GetCallerIdentity`), so the list of roles has it.
fn principal(survey: &Survey) -> Result<Option<String>, NoSimulation> {
    let Survey { scope, caller, .. } = survey;
    if let Some(role) = &survey.caller_role {
        return match survey.listed_roles() {
            Fact::NotAsked => Ok(None),
            Fact::Unreadable(fault) => Err(NoSimulation::UnreadRoles(role.clone(), Box::new(fault.clone()))),
            roles => match roles.present().and_then(|roles| roles.get(role)) {
                Some(listed) => Ok(Some(listed.arn.clone())),
                None => Err(NoSimulation::UnlistedRole(role.clone())),
            },
        };
    }
    let iam = format!("arn:{}:iam::{}:", scope.partition, scope.account);
    match caller.strip_prefix(&iam) {
        Some("root") => Err(NoSimulation::RootUser),
        Some(user) if user.starts_with("user/") => Ok(Some(caller.clone())),
        _ => Err(NoSimulation::NoUserOrRole),
    }
}
