//! Behaviors of IAM.

use super::{said, with};

#[test]
fn i3_a_new_role_is_not_found() {
    with("200000000007", "I3", async |aws| {
        aws.create_role().await;
        let put = async || {
            let call = aws.iam.put_role_policy().role_name("r").policy_name("p");
            said(
                call.policy_document(
                    r#"{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"sqs:*","Resource":"*"}]}"#,
                )
                .send()
                .await,
            )
        };
        assert_eq!(put().await, "NoSuchEntity");
        assert_eq!(said(aws.iam.get_role().role_name("r").send().await), "NoSuchEntity");
        aws.proxy.like.settle().await;
        assert_eq!(put().await, "ok");
    });
}

#[test]
fn i2_a_trust_policy_with_a_new_role_is_refused() {
    with("200000000019", "I2", async |aws| {
        aws.create_role().await;
        let trust = r#"{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"AWS":"arn:aws:iam::200000000019:role/r"},"Action":"sts:AssumeRole"}]}"#;
        let create = async || {
            let call = aws.iam.create_role().role_name("other");
            said(call.assume_role_policy_document(trust).send().await)
        };
        assert_eq!(create().await, "MalformedPolicyDocument");
        aws.proxy.like.settle().await;
        assert_eq!(create().await, "ok");
    });
}

#[test]
fn i9_a_condition_does_not_see_a_new_boundary() {
    with("200000000041", "held I9", async |aws| {
        aws.create_role().await;
        let put = async || {
            let call = aws.iam.put_role_policy().role_name("r").policy_name("p");
            let policy = r#"{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"sqs:*","Resource":"*"}]}"#;
            said(call.policy_document(policy).send().await)
        };
        assert_eq!(put().await, "ok", "it has none");
        let bound = aws.iam.put_role_permissions_boundary().role_name("r");
        let bound = bound.permissions_boundary("arn:aws:iam::200000000041:policy/b").send();
        assert_eq!(said(bound.await), "ok");
        assert_eq!([put().await, put().await, put().await], ["AccessDenied", "AccessDenied", "ok"]);
    });
}

#[test]
fn i4_deleted_policies_linger() {
    with("200000000013", "I4", async |aws| {
        aws.create_role().await;
        let policy = r#"{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"sqs:*","Resource":"*"}]}"#;
        let put = aws.iam.put_role_policy().role_name("r").policy_name("p").policy_document(policy);
        put.send().await.unwrap();
        aws.iam.delete_role_policy().role_name("r").policy_name("p").send().await.unwrap();
        let delete = async || said(aws.iam.delete_role().role_name("r").send().await);
        assert_eq!(delete().await, "DeleteConflict");
        aws.proxy.like.settle().await;
        assert_eq!(delete().await, "ok");
    });
}
