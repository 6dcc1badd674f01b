//! Simulations of permissions.

use std::collections::{BTreeMap, BTreeSet};

use aws_sdk_iam::types::{
    ContextEntry, ContextKeyTypeEnum, EvaluationResult, PermissionsBoundaryDecisionDetail,
    PolicyEvaluationDecisionType, Statement,
};
use futures_util::future::join_all;

use super::AwsCloud;
use crate::cloud::Fault;
use crate::model::{
    AccessDecision, Answered, Call, Simulation,
    calls::{CONDITION_KEYS, iam},
};
use crate::wire::aws_code;

/// IAM refuses some actions together that it takes alone: "require different authorization information".
pub(super) async fn simulate(cloud: &AwsCloud, principal: &str, simulation: &Simulation) -> Vec<Answered> {
    let answered = |of: Simulation, decisions| Answered { calls: of.calls, decisions };
    let together = decisions(cloud, principal, simulation).await;
    let alone = match &together {
        Err(fault) if fault.code.as_deref().is_some_and(aws_code::is_invalid_input) => simulation.by_action(),
        _ => Vec::new(),
    };
    if alone.len() < 2 {
        return vec![answered(simulation.clone(), together)];
    }
    let each = alone.into_iter().map(async |one| {
        let decisions = decisions(cloud, principal, &one).await;
        answered(one, decisions)
    });
    join_all(each).await
}

async fn decisions(
    cloud: &AwsCloud,
    principal: &str,
    simulation: &Simulation,
) -> Result<BTreeMap<Call, AccessDecision>, Fault> {
    let owned = |texts: BTreeSet<&str>| Some(texts.into_iter().map(str::to_owned).collect());
    let call = cloud
        .iam
        .simulate_principal_policy()
        .policy_source_arn(principal)
        .set_action_names(owned(simulation.actions()))
        .set_resource_arns(owned(simulation.resources()))
        .set_context_entries(Some(context(&simulation.context)))
        .max_items(1000);
    let page = |marker| call.clone().set_marker(marker).send();
    let results = cloud.pages(iam::SIMULATE_PRINCIPAL_POLICY, page, |page| (page.evaluation_results, page.marker));
    Ok(results.await?.into_iter().flat_map(of_result).collect())
}

fn context(context: &BTreeMap<String, Vec<String>>) -> Vec<ContextEntry> {
    let entry = |(key, values): (&String, &Vec<String>)| {
        let kind = match key.as_str() {
            "aws:SecureTransport" => ContextKeyTypeEnum::Boolean,
            key if CONDITION_KEYS.contains(&(key, true)) => ContextKeyTypeEnum::StringList,
            _ => ContextKeyTypeEnum::String,
        };
        let entry = ContextEntry::builder().context_key_name(key).context_key_type(kind);
        entry.set_context_key_values(Some(values.clone())).build()
    };
    context.iter().map(entry).collect()
}

/// The decisions in a result. A result is about one resource, or it is about all of them and has a part for each; then its
/// own decision is the strictest of theirs (API reference of IAM, `EvaluationResult`). Only the whole says what the policies of
/// the organization decide. The statements that match a denied call are those that deny it.
fn of_result(result: EvaluationResult) -> Vec<(Call, AccessDecision)> {
    use PolicyEvaluationDecisionType::{Allowed, ExplicitDeny, ImplicitDeny};
    let organization = result.organizations_decision_detail.as_ref();
    let allowed_by_organization = organization.is_none_or(|detail| detail.allowed_by_organizations);
    let answer = |resource: &str,
                  decision: &PolicyEvaluationDecisionType,
                  boundary: Option<&PermissionsBoundaryDecisionDetail>,
                  statements: &[Statement],
                  missing: &[String]| {
        let call = Call { action: result.eval_action_name.clone(), resource: resource.to_owned() };
        let allowed_by_boundary = boundary.is_none_or(|detail| detail.allowed_by_permissions_boundary);
        let sources = statements.iter().filter_map(Statement::source_policy_id);
        let decision = match decision {
            Allowed => AccessDecision::Allowed,
            ExplicitDeny | ImplicitDeny if !allowed_by_organization => AccessDecision::Organization,
            ExplicitDeny | ImplicitDeny if !allowed_by_boundary => AccessDecision::Boundary,
            ExplicitDeny => AccessDecision::Policies(sources.map(str::to_owned).collect()),
            ImplicitDeny => AccessDecision::NoPolicy { keys: missing.iter().cloned().collect() },
            _ => AccessDecision::Other,
        };
        (call, decision)
    };
    let parts = result.resource_specific_results().iter().map(|part| {
        answer(
            part.eval_resource_name(),
            part.eval_resource_decision(),
            part.permissions_boundary_decision_detail(),
            part.matched_statements(),
            part.missing_context_values(),
        )
    });
    let parts: Vec<_> = parts.collect();
    if !parts.is_empty() {
        return parts;
    }
    vec![answer(
        result.eval_resource_name().unwrap_or("*"),
        result.eval_decision(),
        result.permissions_boundary_decision_detail(),
        result.matched_statements(),
        result.missing_context_values(),
    )]
}

#[cfg(test)]
mod tests {
    use aws_sdk_iam::types::{OrganizationsDecisionDetail, ResourceSpecificResult};

    use super::*;
    use PolicyEvaluationDecisionType::{Allowed, ExplicitDeny, ImplicitDeny};

    #[test]
    fn each_resource_has_its_own_answer() {
        let no_policy =
            |keys: &[&str]| AccessDecision::NoPolicy { keys: keys.iter().map(|key| (*key).to_owned()).collect() };
        let detail = |allowed| PermissionsBoundaryDecisionDetail::builder().allowed_by_permissions_boundary(allowed);
        let part = |resource: &str, decision, bounded: bool| {
            let part = ResourceSpecificResult::builder().eval_resource_name(resource);
            let part = part
                .eval_resource_decision(decision)
                .matched_statements(Statement::builder().source_policy_id("guard").build())
                .missing_context_values("aws:SourceIp");
            part.permissions_boundary_decision_detail(detail(bounded).build()).build().unwrap()
        };
        let result = || EvaluationResult::builder().eval_action_name("sqs:CreateQueue");
        let organization = |allowed| OrganizationsDecisionDetail::builder().allowed_by_organizations(allowed).build();
        for (name, result, expected) in [
            (
                "a result for each resource",
                result().eval_resource_name("a").eval_decision(ImplicitDeny),
                vec![("a", no_policy(&[]))],
            ),
            (
                "one result for all, with the strictest decision",
                result()
                    .eval_resource_name("*")
                    .eval_decision(ExplicitDeny)
                    .resource_specific_results(part("a", Allowed, true))
                    .resource_specific_results(part("b", ExplicitDeny, true))
                    .resource_specific_results(part("c", ImplicitDeny, false))
                    .resource_specific_results(part("d", ImplicitDeny, true)),
                vec![
                    ("a", AccessDecision::Allowed),
                    ("b", AccessDecision::Policies(["guard".to_owned()].into())),
                    ("c", AccessDecision::Boundary),
                    ("d", no_policy(&["aws:SourceIp"])),
                ],
            ),
            (
                "the organization comes first",
                result()
                    .eval_decision(ImplicitDeny)
                    .organizations_decision_detail(organization(false))
                    .resource_specific_results(part("a", ImplicitDeny, false)),
                vec![("a", AccessDecision::Organization)],
            ),
            (
                "an allowed call",
                result().eval_decision(Allowed).organizations_decision_detail(organization(true)),
                vec![("*", AccessDecision::Allowed)],
            ),
            ("a decision of tomorrow", result().eval_decision("perhaps".into()), vec![("*", AccessDecision::Other)]),
        ] {
            let decisions = of_result(result.build().unwrap());
            let got: Vec<_> = decisions.into_iter().map(|(call, decision)| (call.resource, decision)).collect();
            let expected: Vec<_> =
                expected.into_iter().map(|(resource, decision)| (resource.to_owned(), decision)).collect();
            assert_eq!(got, expected, "{name}");
        }
    }
}
