//! Behaviors of Lambda and its event source mappings.

use std::collections::HashMap;
use std::time::Duration;

use aws_sdk_lambda::types::{AliasRoutingConfiguration, Environment, ScalingConfig};

use super::{said, with};
use crate::aws_like::Behavior;

#[test]
fn l1_and_l18_a_new_role_is_late() {
    with("200000000008", "L1 L18", async |aws| {
        aws.create_role().await;
        let role = "arn:aws:iam::200000000008:role/r";
        assert_eq!(aws.create_function(role, false).await, "InvalidParameterValueException");
        aws.proxy.like.settle().await;
        assert_eq!(aws.create_function(role, false).await, "ok");
        let invoke = async || said(aws.lambda.invoke().function_name("f").send().await);
        assert_eq!(invoke().await, "AccessDeniedException");
        tokio::time::sleep(Behavior::L18.time() + Duration::from_millis(50)).await;
        assert_ne!(invoke().await, "AccessDeniedException");
        assert_eq!(aws.proxy.like.strikes(Behavior::L18), 1);
    });
}

#[test]
fn l2_and_l19_variables_are_sealed_for_a_role() {
    with("200000000014", "L2 L19", async |aws| {
        aws.create_role().await;
        let role = "arn:aws:iam::200000000014:role/r";
        assert_eq!(aws.create_function(role, true).await, "InvalidParameterValueException");
        aws.proxy.like.settle().await;
        assert_eq!(aws.create_function(role, true).await, "ok");
        let invoke = async || said(aws.lambda.invoke().function_name("f").send().await);
        assert_ne!(invoke().await, "KMSAccessDeniedException");
        aws.iam.delete_role().role_name("r").send().await.unwrap();
        aws.create_role().await;
        assert_eq!(invoke().await, "KMSAccessDeniedException");
        aws.proxy.like.settle().await;
        let cleared = aws.lambda.update_function_configuration().function_name("f").role(role);
        let none = Environment::builder().set_variables(Some(HashMap::new()));
        cleared.environment(none.build()).send().await.unwrap();
        assert_ne!(invoke().await, "KMSAccessDeniedException", "L20");
    });
}

#[test]
fn l4_to_l7_a_new_function_is_busy() {
    with("200000000015", "L4 L5 L6 L7", async |aws| {
        aws.create_role().await;
        aws.create_function("arn:aws:iam::200000000015:role/r", false).await;
        let get = async || aws.lambda.get_function_configuration().function_name("f").send().await;
        assert_eq!(said(get().await), "ResourceNotFoundException");
        tokio::time::sleep(Behavior::L4.time()).await;
        assert_eq!(get().await.unwrap().state.unwrap().as_str(), "Pending");
        let update = async || {
            let call = aws.lambda.update_function_configuration().function_name("f");
            said(call.timeout(5).send().await)
        };
        assert_eq!(update().await, "CodeArtifactUserPendingException");
        assert_eq!(update().await, "ResourceConflictException", "it is Pending");
        aws.proxy.like.settle().await;
        assert_eq!(update().await, "ResourceConflictException", "a concurrent update");
        assert_eq!(update().await, "ok");
        assert_eq!(get().await.unwrap().last_update_status.unwrap().as_str(), "InProgress");
        assert_eq!(update().await, "ResourceConflictException", "an update in progress");
    });
}

#[test]
fn l17_a_function_without_concurrency_is_throttled() {
    with("200000000042", "L17", async |aws| {
        aws.create_role().await;
        aws.create_function("arn:aws:iam::200000000042:role/r", false).await;
        let invoke = async || said(aws.lambda.invoke().function_name("f").send().await);
        assert_ne!(invoke().await, "TooManyRequestsException");
        let none = aws.lambda.put_function_concurrency().function_name("f");
        none.reserved_concurrent_executions(0).send().await.unwrap();
        assert_eq!(invoke().await, "TooManyRequestsException");
        assert_eq!(aws.proxy.like.strikes(Behavior::L17), 1);
    });
}

#[test]
fn l12_cleared_weights_are_shown_until_all_has_arrived() {
    with("200000000021", "held L12", async |aws| {
        aws.create_role().await;
        aws.create_function("arn:aws:iam::200000000021:role/r", false).await;
        let share = AliasRoutingConfiguration::builder().additional_version_weights("7", 0.5);
        let create = aws.lambda.create_alias().function_name("f").name("a");
        let create = create.function_version("$LATEST").routing_config(share.build());
        create.send().await.unwrap();
        let weights = async || {
            let alias = aws.lambda.get_alias().function_name("f").name("a").send().await.unwrap();
            alias.routing_config.and_then(|routing| routing.additional_version_weights).unwrap_or_default().len()
        };
        let none = AliasRoutingConfiguration::builder().set_additional_version_weights(Some(HashMap::new()));
        let clear = aws.lambda.update_alias().function_name("f").name("a");
        clear.routing_config(none.build()).send().await.unwrap();
        tokio::time::sleep(Behavior::L12.time()).await;
        assert_eq!(weights().await, 1);
        aws.proxy.like.settle().await;
        assert_eq!(weights().await, 0);
        assert_eq!(aws.proxy.like.take_struck(), [Behavior::L12]);
    });
}

#[test]
fn l14_a_deleted_function_keeps_its_name_for_a_while() {
    with("200000000020", "L14", async |aws| {
        aws.create_role().await;
        aws.create_function("arn:aws:iam::200000000020:role/r", false).await;
        let delete = aws.lambda.delete_function().function_name("f").send().await;
        assert_eq!(said(delete), "ok");
        let get = async || aws.lambda.get_function().function_name("f").send().await;
        let state = get().await.unwrap().configuration.unwrap().state.unwrap();
        assert_eq!(state.as_str(), "Deleting");
        aws.proxy.like.settle().await;
        assert_eq!(said(get().await), "ResourceNotFoundException");
    });
}

#[test]
fn l22_a_change_names_the_latest_revision() {
    with("200000000053", "held L5 L22", async |aws| {
        aws.create_role().await;
        aws.create_function("arn:aws:iam::200000000053:role/r", false).await;
        let revision = async || {
            let call = aws.lambda.get_function_configuration().function_name("f");
            call.send().await.unwrap().revision_id.unwrap()
        };
        let publish = async |revision: &str| {
            let call = aws.lambda.publish_version().function_name("f");
            said(call.revision_id(revision).send().await)
        };
        let pending = revision().await;
        assert_eq!(publish(&pending).await, "PreconditionFailedException", "Pending");
        aws.proxy.like.settle().await;
        let created = revision().await;
        let update = aws.lambda.update_function_configuration().function_name("f");
        let updating = update.timeout(5).send().await.unwrap().revision_id.unwrap();
        assert_eq!(publish(&created).await, "PreconditionFailedException", "the one before");
        aws.proxy.like.settle().await;
        assert_eq!(publish(&updating).await, "PreconditionFailedException", "InProgress");
        assert_eq!(publish(&revision().await).await, "ok");
        let create = aws.lambda.create_alias().function_name("f").name("a");
        let alias = create.function_version("1").send().await.unwrap().revision_id.unwrap();
        let describe = async |revision: &str| {
            let call = aws.lambda.update_alias().function_name("f").name("a").description("d");
            said(call.revision_id(revision).send().await)
        };
        assert_eq!(describe(&alias).await, "ok");
        assert_eq!(describe(&alias).await, "PreconditionFailedException");
        assert_eq!(aws.proxy.like.strikes(Behavior::L22), 4);
    });
}

#[test]
fn m1_m2_m7_m10_and_m14_a_mapping_is_in_transition() {
    with("200000000016", "M1 M2 M7 M10 M14", async |aws| {
        aws.create_role().await;
        aws.create_queue("30").await;
        aws.create_function("arn:aws:iam::200000000016:role/r", false).await;
        let scaling = ScalingConfig::builder().maximum_concurrency(10).build();
        let create = async || {
            let call = aws.lambda.create_event_source_mapping().function_name("f");
            let call = call.event_source_arn("arn:aws:sqs:us-west-2:200000000016:q");
            call.scaling_config(scaling.clone()).send().await
        };
        assert_eq!(said(create().await), "InvalidParameterValueException");
        aws.proxy.like.settle().await;
        let created = create().await.unwrap();
        assert_eq!(created.state.as_deref(), Some("Creating"));
        let uuid = created.uuid.unwrap();
        let state = async || aws.lambda.get_event_source_mapping().uuid(&uuid).send().await.map(|m| m.state.unwrap());
        let delete = async || said(aws.lambda.delete_event_source_mapping().uuid(&uuid).send().await);
        assert_eq!(delete().await, "ResourceInUseException");
        assert_eq!(said(state().await), "ResourceNotFoundException");
        assert_eq!(state().await.unwrap(), "Creating");
        aws.proxy.like.settle().await;
        assert_eq!(state().await.unwrap(), "Enabled");
        let reserve = aws.lambda.put_function_concurrency().function_name("f");
        reserve.reserved_concurrent_executions(5).send().await.unwrap();
        assert_eq!(aws.proxy.like.overbooked().len(), 1);
        assert_eq!(aws.proxy.like.strikes(Behavior::M10), 1);
        assert_eq!(delete().await, "ok");
        assert_eq!(state().await.unwrap(), "Deleting");
        let list = aws.lambda.list_event_source_mappings().function_name("f").send().await.unwrap();
        assert_eq!(list.event_source_mappings.unwrap_or_default().len(), 1);
        aws.proxy.like.settle().await;
        assert_eq!(said(state().await), "ResourceNotFoundException");
    });
}
