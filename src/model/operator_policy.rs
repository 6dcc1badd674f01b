//! What whoever runs kibus must be allowed, from `templates/policies/operator.json`.
//!
//! It allows the calls that kibus makes, and what AWS asks for besides: tags at creation are a permission of their
//! own, and so is handing a role to Lambda. Everything is narrowed to this bus by name where AWS takes a name, and
//! by tag or condition where that says more (Service Authorization Reference of each service).

use serde_json::Value;

use super::document::Document;
use super::name::{KmsKey, QueuePrefix, RoleName};
use super::policy::with_key;
use super::scope::Scope;
use super::signal::PROBE_SOURCE;
use super::template::Template;

/// The names of roles that clusters' controllers usually run as, as patterns: those of
/// [`super::cluster::controller_role_candidates`], under any path, with whatever eksctl or Terraform appends.
const USUAL_CONTROLLER_ROLES: [&str; 6] = [
    "*KarpenterServiceAccount-*",
    "*-karpenter*",
    "*KarpenterControllerRole-*",
    "*KarpenterController-*",
    "*KarpenterIRSA-*",
    "*eksctl-*-iamservice-role*",
];

/// What an operator of this bus must be allowed. `roles` are the controller roles that may be given a policy; if
/// there are none, those with the usual names may.
#[must_use]
pub fn operator(scope: &Scope, prefix: &QueuePrefix, roles: &[RoleName], key: Option<&KmsKey>) -> Document {
    let mut queues = scope.hub_queues().map(|queue| scope.queue_arn(&queue)).to_vec();
    queues.push(scope.queues_arn(prefix));
    let controllers: Vec<String> = if roles.is_empty() {
        USUAL_CONTROLLER_ROLES.map(|role| scope.roles_arn(role)).to_vec()
    } else {
        roles.iter().flat_map(|role| scope.role_arns(role.as_str())).collect()
    };
    let policy = Template::builtin(include_str!("../../templates/policies/operator.json")).fill(&[
        ("bus", scope.bus.as_str().into()),
        ("queue_arns", queues.into()),
        ("hub_queue_arn", scope.queue_arn(&scope.hub_queue()).into()),
        ("probe_queue_arn", scope.queue_arn(&scope.probe_queue()).into()),
        ("rules_arn", scope.rules_arn().into()),
        ("event_bus_arn", scope.event_bus_arn().into()),
        ("probe_source", PROBE_SOURCE.into()),
        ("function_arn", scope.function_arn(&scope.router_function()).into()),
        ("any_mapping_arn", scope.any_mapping_arn().into()),
        ("log_group_arn", scope.log_group_arn(&scope.router_log_group()).into()),
        (
            "router_role_arns",
            Value::from(scope.role_arns(scope.router_role().as_str()).to_vec()),
        ),
        ("controller_role_arns", controllers.into()),
    ]);
    with_key(
        policy,
        include_str!("../../templates/policies/controller-key.json"),
        key,
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;
    use crate::model::cluster::controller_role_candidates;
    use crate::model::hub::default_queue_prefix;
    use crate::model::scope::tests::{scope, scope_in};

    /// What kibus calls and an operator needs no permission for: this one needs none, and the others are the
    /// demo's, which is root in its own sandbox.
    const WITHOUT: [&str; 3] = ["sts:GetCallerIdentity", "sqs:SendMessage", "logs:FilterLogEvents"];
    /// What kibus never calls and AWS asks for all the same: to hand a role to Lambda.
    const BESIDES: [&str; 1] = ["iam:PassRole"];

    fn document() -> Document {
        operator(&scope(), &default_queue_prefix(), &[], None)
    }

    fn texts(value: &Value) -> Vec<String> {
        match value {
            Value::Array(items) => items.iter().flat_map(texts).collect(),
            Value::String(text) => vec![text.clone()],
            _ => Vec::new(),
        }
    }

    fn allowed() -> BTreeSet<String> {
        let document = document();
        let statements = document.statements();
        statements
            .iter()
            .flat_map(|statement| texts(&statement["Action"]))
            .collect()
    }

    /// Every call that the sources of the cloud name, as IAM does.
    fn called() -> BTreeSet<String> {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/aws");
        let mut calls = BTreeSet::new();
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|extension| extension != "rs") {
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            let code = text.split("#[cfg(test)]").next().unwrap();
            calls.extend(code.split('"').filter(|word| is_call(word)).map(str::to_owned));
        }
        calls
    }

    fn is_call(word: &str) -> bool {
        let services = ["sqs", "iam", "logs", "lambda", "events", "tag", "sts", "kms"];
        word.split_once(':').is_some_and(|(service, name)| {
            services.contains(&service)
                && name.starts_with(|c: char| c.is_ascii_uppercase())
                && name.chars().all(|c| c.is_ascii_alphabetic())
        })
    }

    #[test]
    fn an_operator_may_call_what_kibus_calls_and_nothing_else() {
        let mut needed = called();
        assert!(needed.len() > 50, "the sources were not understood");
        needed.retain(|call| !WITHOUT.contains(&call.as_str()));
        needed.extend(BESIDES.map(str::to_owned));
        let allowed = allowed();
        let lacking: Vec<_> = needed.difference(&allowed).collect();
        let idle: Vec<_> = allowed.difference(&needed).collect();
        assert!(
            lacking.is_empty(),
            "kibus calls what templates/policies/operator.json does not allow: {lacking:?}"
        );
        assert!(
            idle.is_empty(),
            "templates/policies/operator.json allows what kibus never calls: {idle:?}"
        );
    }

    #[test]
    fn only_what_has_no_name_is_allowed_on_everything() {
        let document = document();
        for statement in document.statements() {
            if texts(&statement["Resource"]).iter().any(|resource| resource == "*") {
                let sid = statement["Sid"].as_str().unwrap();
                assert!(["KibusFind", "KibusMapping"].contains(&sid), "{sid}");
            }
        }
    }

    #[test]
    fn a_document_fits_into_a_managed_policy() {
        // IAM counts all but white space, up to 6,144 characters.
        let longest = Scope {
            bus: "a2345678901234567890".parse().unwrap(),
            ..scope_in("aws-us-gov", "us-gov-west-1")
        };
        let prefix = "p".repeat(40).parse().unwrap();
        let text = operator(&longest, &prefix, &[], None).compact();
        let count = text.chars().filter(|c| !c.is_whitespace()).count();
        assert!(count <= 6_144, "{count} characters");
    }

    #[test]
    fn every_role_that_is_looked_for_may_be_looked_at() {
        let arns = texts(
            &document()
                .statements()
                .iter()
                .find(|statement| statement["Sid"] == "KibusControllerRoles")
                .unwrap()["Resource"],
        );
        for role in controller_role_candidates(&"base".parse().unwrap()) {
            let arn = scope().role_arn(&"/".parse().unwrap(), &role);
            assert!(arns.iter().any(|pattern| matches(pattern, &arn)), "{role}");
        }
    }

    /// Whether a pattern with `*` matches a text.
    fn matches(pattern: &str, text: &str) -> bool {
        match pattern.split_once('*') {
            None => pattern == text,
            Some((head, rest)) => text.strip_prefix(head).is_some_and(|tail| {
                (0..=tail.len())
                    .filter(|at| tail.is_char_boundary(*at))
                    .any(|at| matches(rest, &tail[at..]))
            }),
        }
    }
}
