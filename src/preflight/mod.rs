//! What must hold before the plan of a hub is applied, asked without a change: who calls and whether the clock is right, which
//! calls of the plan AWS would allow, and how much of the quotas is left.

mod calls;
mod report;
mod verdict;

use futures_util::future::join_all;

use crate::cloud::{Fault, Read};
use crate::model::answer::{Answered, Fact, Simulation};
use crate::model::name::RoleName;
use crate::model::scope::Scope;
pub use calls::{PlannedCalls, planned_calls};
pub use report::{Findings, check, checks};

/// What a preflight asks of AWS beyond a survey. No method changes anything.
pub trait Preflight: Send + Sync {
    /// The caller's ARN, as STS gives it.
    fn caller(&self) -> &str;

    /// How many rules the default event bus has, whoever created them.
    fn rule_count(&self) -> impl Future<Output = Result<usize, Fault>> + Send;
}

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
    UnreadRoles(RoleName, Fault),
}

/// Asks AWS. Without a simulation, the caller's ARN is not looked for.
pub async fn ask(cloud: &(impl Preflight + Read), scope: &Scope, simulations: &[Simulation]) -> Answers {
    let simulated = async {
        if simulations.is_empty() {
            return Ok(Vec::new());
        }
        let principal = principal(cloud, scope).await?;
        let each = simulations.iter();
        let each = each.map(|simulation| cloud.simulate(&principal, simulation));
        Ok(join_all(each).await.into_iter().flatten().collect())
    };
    let (rules, simulated) = tokio::join!(cloud.rule_count(), simulated);
    Answers {
        caller: cloud.caller().to_owned(),
        rules: Fact::of(rules),
        simulated,
    }
}

/// The ARN of the user or role whose policies decide about the caller. The ARN of a session lacks the path of its role (API
/// reference of STS, `GetCallerIdentity`), so the list of roles has it.
async fn principal(cloud: &(impl Preflight + Read), scope: &Scope) -> Result<String, NoSimulation> {
    let caller = cloud.caller();
    if let Some(role) = cloud.caller_role() {
        let mut roles = match cloud.listed_roles().await {
            Ok(roles) => roles.unwrap_or_default(),
            Err(fault) => return Err(NoSimulation::UnreadRoles(role, fault)),
        };
        let listed = roles.remove(&role).map(|listed| listed.arn);
        return listed.ok_or(NoSimulation::UnlistedRole(role));
    }
    let iam = format!("arn:{}:iam::{}:", scope.partition, scope.account);
    match caller.strip_prefix(&iam) {
        Some("root") => Err(NoSimulation::RootUser),
        Some(user) if user.starts_with("user/") => Ok(caller.to_owned()),
        _ => Err(NoSimulation::NoUserOrRole),
    }
}
