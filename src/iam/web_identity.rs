//! Which Kubernetes service accounts a trust policy lets assume a role.

use serde_json::Value;

use super::grants::has_action;
use crate::model::document::{Document, texts};

/// Whether a trust policy names a service account of this name, in one namespace or a pattern of them, for the web
/// identities of a provider, by its ARN. The subject of such an identity is `system:serviceaccount:NAMESPACE:NAME` (EKS user
/// guide, "Assign IAM roles to Kubernetes service accounts"). A policy for every service account names none.
pub fn names_service_account(trust: &Document, provider: &str, service_account: &str) -> bool {
    let Some((_, issuer)) = provider.split_once(":oidc-provider/") else {
        return false;
    };
    trust.statements().into_iter().any(|statement| {
        statement["Effect"] == "Allow"
            && has_action(statement, "sts:AssumeRoleWithWebIdentity")
            && texts(statement["Principal"].get("Federated")).contains(&provider)
            && subjects(statement, issuer).any(|(subject, is_pattern)| names(subject, is_pattern, service_account))
    })
}

/// The subjects that the conditions of a statement compare with, and whether they are patterns.
fn subjects<'a>(statement: &'a Value, issuer: &str) -> impl Iterator<Item = (&'a str, bool)> {
    let key = format!("{issuer}:sub");
    let operators = statement["Condition"].as_object().into_iter().flatten();
    operators.flat_map(move |(operator, keys)| {
        let compared = match operator.split_once(':') {
            Some((_, operator)) => operator,
            None => operator,
        };
        let is_pattern = match compared.strip_suffix("IfExists").unwrap_or(compared) {
            "StringEquals" | "StringEqualsIgnoreCase" => Some(false),
            "StringLike" => Some(true),
            _ => None,
        };
        let keys = keys.as_object().into_iter().flatten();
        let values = keys.filter(|(name, _)| name.eq_ignore_ascii_case(&key));
        let values: Vec<_> = values.flat_map(|(_, value)| texts(Some(value))).collect();
        is_pattern
            .into_iter()
            .flat_map(move |is_pattern| values.clone().into_iter().map(move |value| (value, is_pattern)))
    })
}

/// Whether a subject names the service account. Only its namespace may have wildcards, in a pattern.
fn names(subject: &str, is_pattern: bool, service_account: &str) -> bool {
    let parts: Vec<&str> = subject.split(':').collect();
    let ["system", "serviceaccount", namespace, name] = parts.as_slice() else {
        return false;
    };
    let is_namespace = !namespace.is_empty() && (is_pattern || !namespace.contains(['*', '?']));
    is_namespace && *name == service_account
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const ISSUER: &str = "oidc.eks.us-west-2.amazonaws.com/id/ABC";
    const PROVIDER: &str = "arn:aws:iam::111122223333:oidc-provider/oidc.eks.us-west-2.amazonaws.com/id/ABC";
    const SUBJECT: &str = "system:serviceaccount:kube-system:karpenter";

    fn statement(provider: &str, operator: &str, subject: Value) -> Value {
        let keys = json!({ format!("{ISSUER}:sub"): subject, format!("{ISSUER}:aud"): "sts.amazonaws.com" });
        json!({
            "Effect": "Allow",
            "Principal": { "Federated": provider },
            "Action": "sts:AssumeRoleWithWebIdentity",
            "Condition": { operator: keys },
        })
    }

    fn named(statements: Value) -> bool {
        let trust = Document::new(json!({ "Statement": statements }));
        names_service_account(&trust, PROVIDER, "karpenter")
    }

    #[test]
    fn the_subject_names_the_service_account_in_a_namespace() {
        for (operator, subject, expected) in [
            ("StringEquals", json!(SUBJECT), true),
            ("StringEquals", json!(["system:serviceaccount:a:b", SUBJECT]), true),
            ("ForAnyValue:StringEquals", json!(SUBJECT), true),
            ("StringLike", json!(SUBJECT), true),
            ("StringLike", json!("system:serviceaccount:*:karpenter"), true),
            ("StringLike", json!("system:serviceaccount:karp*:karpenter"), true),
            ("StringLikeIfExists", json!(SUBJECT), true),
            ("StringLike", json!("*"), false),
            ("StringLike", json!("system:serviceaccount:*"), false),
            ("StringLike", json!("system:serviceaccount:karpenter:*"), false),
            ("StringLike", json!("*:karpenter"), false),
            ("StringEquals", json!("system:serviceaccount:*:karpenter"), false),
            ("StringEquals", json!("system:serviceaccount::karpenter"), false),
            (
                "StringEquals",
                json!("system:serviceaccount:kube-system:karpenter-2"),
                false,
            ),
            ("StringNotEquals", json!(SUBJECT), false),
            ("Null", json!(true), false),
        ] {
            let statement = statement(PROVIDER, operator, subject);
            assert_eq!(named(json!(statement)), expected, "{statement}");
        }
    }

    #[test]
    fn only_the_provider_of_the_cluster_counts() {
        let account = "arn:aws:iam::111122223333:oidc-provider";
        for (provider, expected) in [
            (PROVIDER.to_owned(), true),
            (format!("{account}/oidc.eks.us-west-2.amazonaws.com/id/ABCD"), false),
            (PROVIDER.replace("111122223333", "444455556666"), false),
            (PROVIDER.replace("arn:aws:", "arn:aws-cn:"), false),
            (PROVIDER.replace("arn:aws:", "arn:aws-us-gov:"), false),
        ] {
            assert_eq!(
                named(json!([statement(&provider, "StringEquals", json!(SUBJECT))])),
                expected,
                "{provider}"
            );
        }
    }

    #[test]
    fn only_an_allowed_web_identity_counts() {
        let allowed = statement(PROVIDER, "StringEquals", json!(SUBJECT));
        let with = |member: &str, value: Value| {
            let mut statement = allowed.clone();
            statement[member] = value;
            statement
        };
        for (statement, expected) in [
            (
                with("Action", json!(["sts:TagSession", "sts:AssumeRoleWithWebIdentity"])),
                true,
            ),
            (with("Action", json!("sts:*")), true),
            (with("Action", json!("sts:AssumeRole")), false),
            (with("Effect", json!("Deny")), false),
            (with("Principal", json!("*")), false),
            (with("Condition", json!({})), false),
            (with("Condition", json!("odd")), false),
        ] {
            assert_eq!(named(json!([statement])), expected, "{statement}");
        }
    }
}
