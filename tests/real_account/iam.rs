//! Roles: those of the test, and what IAM does.

use aws_sdk_iam::error::ProvideErrorMetadata;
use aws_sdk_sts::config::Credentials;
use serde_json::json;

use super::observation::{Seen, Unseen, answer};
use super::run::Run;
use super::sqs::seconds;

/// Creates a role that this service, or with `root` this account, may assume.
pub(super) async fn create_role(run: &Run, name: &str, principal: &str) -> Result<(), Unseen> {
    let principal = match principal {
        "root" => json!({"AWS": run.arn("iam", "root")}),
        service => json!({"Service": service}),
    };
    let trust = json!({
        "Version": "2012-10-17",
        "Statement": [{"Effect": "Allow", "Principal": principal, "Action": "sts:AssumeRole"}],
    });
    let create = run.iam.create_role().role_name(name);
    create.assume_role_policy_document(trust.to_string()).send().await?;
    Ok(())
}

/// The run with the credentials of a role that this account may assume.
pub(super) async fn assume(run: &Run, role: &str) -> Result<Run, Unseen> {
    let arn = run.arn("iam", &format!("role/{role}"));
    let assumed = run.until(120, async || {
        let assume = run.sts.assume_role().role_arn(&arn).role_session_name("kibus-rt");
        match assume.send().await {
            // A new role cannot be assumed at once.
            Err(error) if error.code() == Some("AccessDenied") => None,
            other => Some(other),
        }
    });
    let (assumed, _) = assumed.await.ok_or("the role cannot be assumed in 120 s")?;
    let keys = assumed?.credentials.ok_or("AssumeRole gave no credentials")?;
    Ok(run.with_credentials(Credentials::new(
        keys.access_key_id,
        keys.secret_access_key,
        Some(keys.session_token),
        None,
        "role",
    )))
}

/// Allows a role these actions on these resources, by one inline policy.
pub(super) async fn allow(run: &Run, role: &str, actions: &[&str], resource: &str) -> Result<(), Unseen> {
    let policy = json!({
        "Version": "2012-10-17",
        "Statement": [{"Effect": "Allow", "Action": actions, "Resource": resource}],
    });
    put(run, role, "allow", &policy.to_string()).await
}

/// Writes an inline policy.
pub(super) async fn put(run: &Run, role: &str, name: &str, document: &str) -> Result<(), Unseen> {
    let put = run.iam.put_role_policy().role_name(role).policy_name(name);
    let put = put.policy_document(document);
    // A new role is not found at once (I3).
    let written = run.until(120, async || put.clone().send().await.ok()).await;
    written.map(drop).ok_or_else(|| "a role policy cannot be written in 120 s".into())
}

/// Deletes the inline policies of a role.
pub(super) async fn delete_policies(run: &Run, role: &str) -> Result<(), Unseen> {
    let policies = run.iam.list_role_policies().role_name(role).send().await?;
    for policy in policies.policy_names() {
        let delete = run.iam.delete_role_policy().role_name(role);
        delete.policy_name(policy).send().await?;
    }
    Ok(())
}

/// Deletes a role with its inline policies.
pub(super) async fn delete_role(run: &Run, role: &str) -> Result<(), Unseen> {
    delete_policies(run, role).await?;
    run.iam.delete_role().role_name(role).send().await?;
    Ok(())
}

/// I8: the answers if a boundary does not exist.
pub(super) async fn absent_boundary(run: &Run) -> Seen {
    let absent = run.arn("iam", &format!("policy/{}", run.name("absent")));
    let role = run.role("boundary");
    let trust = r#"{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"ec2.amazonaws.com"},"Action":"sts:AssumeRole"}]}"#;
    let create = run.iam.create_role().role_name(&role).assume_role_policy_document(trust);
    let create = answer(&create.permissions_boundary(&absent).send().await);
    if create != "200" {
        create_role(run, &role, "ec2.amazonaws.com").await?;
    }
    let put = run.iam.put_role_permissions_boundary().role_name(&role);
    let put = answer(&put.permissions_boundary(&absent).send().await);
    Ok(format!("CreateRole: {create}; PutRolePermissionsBoundary: {put}"))
}

/// I9: PutRolePolicy under a condition on the boundary, right after CreateRole gave the role that boundary.
pub(super) async fn new_boundary(run: &Run) -> Seen {
    let (operator, bounded) = (run.role("bounder"), run.role("bounded"));
    let boundary = format!("arn:{}:iam::aws:policy/ReadOnlyAccess", run.partition);
    create_role(run, &operator, "root").await?;
    let policy = json!({
        "Version": "2012-10-17",
        "Statement": [{
            "Effect": "Allow",
            "Action": ["iam:CreateRole", "iam:PutRolePolicy"],
            "Resource": run.arn("iam", &format!("role/{bounded}")),
            "Condition": {"StringEquals": {"iam:PermissionsBoundary": boundary}},
        }],
    });
    put(run, &operator, "bounded", &policy.to_string()).await?;
    let iam = assume(run, &operator).await?.iam;
    let trust = r#"{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"ec2.amazonaws.com"},"Action":"sts:AssumeRole"}]}"#;
    let mut last = String::new();
    let created = run.until(180, async || {
        let create = iam.create_role().role_name(&bounded).permissions_boundary(&boundary);
        last = answer(&create.assume_role_policy_document(trust).send().await);
        (last == "200").then_some(())
    });
    if created.await.is_none() {
        return Err(Unseen(format!("CreateRole under the condition is answered with {last} after 180 s")));
    }
    let mut first = None;
    let allowed = run.until(180, async || {
        let put = iam.put_role_policy().role_name(&bounded).policy_name("first");
        let said = answer(&put.policy_document(policy.to_string()).send().await);
        first.get_or_insert_with(|| said.clone());
        (said == "200").then_some(())
    });
    let allowed = seconds(allowed.await.map(|allowed| allowed.1), 180);
    Ok(format!("PutRolePolicy right after CreateRole: {}; allowed {allowed} after it", first.unwrap_or_default()))
}

/// R9: whether a policy comes back in the order in which it was sent.
pub(super) async fn order_of_a_policy(run: &Run) -> Seen {
    let role = run.role("order");
    create_role(run, &role, "ec2.amazonaws.com").await?;
    let sent = "{ \"Statement\": [{\"Resource\": \"*\", \"Effect\": \"Deny\",\n\"Action\": [\"sqs:b*\", \"sqs:a*\"]}], \"Version\": \"2012-10-17\"}";
    put(run, &role, "order", sent).await?;
    let read = run.until(120, async || {
        let get = run.iam.get_role_policy().role_name(&role).policy_name("order");
        match get.send().await {
            Err(e) if e.code() == Some("NoSuchEntity") => None,
            other => Some(other),
        }
    });
    let (read, _) = read.await.ok_or("the policy does not appear in 120 s")?;
    let read = read?.policy_document;
    let encoded = if read.contains('%') { "percent-encoded" } else { "not encoded" };
    let same = if urlencoding::decode(&read).is_ok_and(|read| read == sent) {
        "as sent, with its white space"
    } else {
        "changed"
    };
    Ok(format!("{encoded}, {same}"))
}
