//! Who may invoke a function: the statements of its resource policies.

use std::collections::BTreeSet;

use futures_util::future::try_join_all;
use serde_json::Value;

use crate::aws::error::{if_present, rejected};
use crate::aws::{AwsCloud, version};
use crate::cloud::Fault;
use crate::model::document::{Document, texts};
use crate::model::resource::FunctionPermission;
use crate::model::resource::calls::lambda;
use crate::model::scope::LIVE;

const ACTION: &str = lambda::GET_POLICY;

/// The statements of the policies of the router, of its live alias and of its versions, whoever added them.
pub(in crate::aws) async fn of_router(cloud: &AwsCloud) -> Result<BTreeSet<FunctionPermission>, Fault> {
    let name = &cloud.scope.router_function();
    let policy = |qualifier: Option<String>| async move {
        let call = cloud.lambda.get_policy().function_name(name);
        let call = call.set_qualifier(qualifier);
        match if_present(cloud.call(ACTION, || call.clone().send()).await)? {
            None => Ok(Vec::new()),
            Some(answer) => statements(answer.policy().unwrap_or_default(), &cloud.scope.function_arn(name)),
        }
    };
    let versions = async {
        let versions = version::all(cloud, name).await?;
        let numbers = versions.into_iter().filter_map(|version| version.version);
        // The policy of `$LATEST` is that of the function.
        let numbers = numbers.filter(|number| number.parse::<u64>().is_ok());
        try_join_all(numbers.map(|number| policy(Some(number)))).await
    };
    let named = try_join_all([None, Some(LIVE.to_owned())].map(policy));
    let (named, versions) = tokio::try_join!(named, versions)?;
    Ok(named.into_iter().chain(versions).flatten().collect())
}

fn statements(policy: &str, function: &str) -> Result<Vec<FunctionPermission>, Fault> {
    let policy = Document::parse(policy).map_err(|e| rejected(ACTION, format!("the policy is not JSON: {e}")))?;
    let read = |statement: &Value| {
        let resource = texts(statement.get("Resource")).first().copied().unwrap_or_default();
        let qualifier = resource.strip_prefix(function).and_then(|rest| rest.strip_prefix(':'));
        let principals = match &statement["Principal"] {
            Value::Object(members) => members.values().flat_map(|value| texts(Some(value))).collect(),
            one => texts(Some(one)),
        };
        FunctionPermission {
            qualifier: qualifier.map(str::to_owned),
            sid: statement["Sid"].as_str().unwrap_or_default().to_owned(),
            action: texts(statement.get("Action")).join(", "),
            principal: principals.join(", "),
        }
    };
    Ok(policy.statements().into_iter().map(read).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_statement_names_what_it_is_about() {
        let function = "arn:aws:lambda:us-west-2:111122223333:function:kibus-router";
        for (principal, resource, expected) in [
            (json!("*"), function.to_owned(), (None, "*")),
            (
                json!({"AWS": "arn:aws:iam::444455556666:root"}),
                format!("{function}:live"),
                (Some("live"), "arn:aws:iam::444455556666:root"),
            ),
            (
                json!({"Service": "s3.amazonaws.com"}),
                format!("{function}:3"),
                (Some("3"), "s3.amazonaws.com"),
            ),
        ] {
            let statement = json!({
                "Sid": "mine", "Effect": "Allow", "Principal": principal, "Action": "lambda:InvokeFunction",
                "Resource": resource,
            });
            let policy = json!({"Version": "2012-10-17", "Statement": [statement]});
            let permission = FunctionPermission {
                qualifier: expected.0.map(str::to_owned),
                sid: "mine".to_owned(),
                action: "lambda:InvokeFunction".to_owned(),
                principal: expected.1.to_owned(),
            };
            assert_eq!(statements(&policy.to_string(), function).unwrap(), [permission]);
        }
        assert!(statements("", function).is_err());
    }
}
