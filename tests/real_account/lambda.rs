//! What Lambda does.

use std::collections::BTreeMap;
use std::io::{Cursor, Write};

use aws_sdk_lambda::Client;
use aws_sdk_lambda::primitives::Blob;
use aws_sdk_lambda::types::{Environment, FunctionCode, LastUpdateStatus, Runtime, State};
use serde_json::json;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::observation::{Seen, Unseen, answer};
use super::run::Run;
use super::{iam, sqs};

/// How long a role may take to be allowed to map a queue, and a mapping to be deleted, in seconds.
const MAPPED: u32 = 120;

/// How long a new role may take until Lambda can assume it, in seconds.
const ASSUMED: u32 = 300;

/// How long a function is invoked that may never run again, in seconds.
const SEALED: u32 = 60;

/// The least time between two calls for one function, in seconds: control plane calls are few (L21).
const ASKED: u32 = 2;

/// L7, L19, L20, M5: two functions with one role, one of them with a variable. Neither answers: each start ends with an error, which is
/// another answer than that of a function that Lambda cannot start.
pub(super) async fn functions(run: &Run) -> Result<Vec<Seen>, Unseen> {
    let (sealed, plain) = (run.name("sealed"), run.name("plain"));
    let (role, other) = (run.role("function"), run.role("other"));
    for role in [&role, &other] {
        iam::create_role(run, role, "lambda.amazonaws.com").await?;
    }
    create(run, &sealed, &role, true).await?;
    let busy = busy(run, &sealed).await;
    create(run, &plain, &role, false).await?;
    for function in [&sealed, &plain] {
        ready(run, function).await?;
    }
    publish(run, &sealed, "before").await?;
    let result = last_result(run, &plain, &role).await;

    // IAM may still see deleted policies (I4).
    let deleted = run.until(120, async || iam::delete_role(run, &role).await.ok()).await;
    deleted.ok_or("a role cannot be deleted in 120 s")?;
    iam::create_role(run, &role, "lambda.amazonaws.com").await?;
    let plain_again = runs(run, &plain, "$LATEST", ASSUMED).await;
    // The role can be assumed now, so that only the seal is at fault.
    let sealed_again = runs(run, &sealed, "$LATEST", SEALED).await;
    for role in [&other, &role] {
        let set = run.lambda.update_function_configuration().function_name(&sealed);
        let set = set.role(run.arn("iam", &format!("role/{role}")));
        let accepted = run.until(ASSUMED, async || set.clone().send().await.ok()).await;
        accepted.ok_or("the role of a function cannot be changed in 300 s")?;
        ready(run, &sealed).await?;
    }
    publish(run, &sealed, "after").await?;
    let new = runs(run, &sealed, "2", ASSUMED).await;
    let old = runs(run, &sealed, "1", SEALED).await;
    Ok(vec![
        busy,
        Ok(format!(
            "with a variable, role made again: Invoke {sealed_again}; after another role and back: new version {new}, old version {old}"
        )),
        Ok(format!("without variables, role made again: Invoke {plain_again}")),
        result,
    ])
}

async fn create(run: &Run, name: &str, role: &str, sealed: bool) -> Result<(), Unseen> {
    let variables = sealed.then(|| Environment::builder().variables("SEALED", "yes").build());
    let code = FunctionCode::builder().zip_file(Blob::new(archive())).build();
    let create = run
        .lambda
        .create_function()
        .function_name(name)
        .role(run.arn("iam", &format!("role/{role}")))
        .runtime(Runtime::Providedal2023)
        .handler("none")
        .timeout(3)
        .code(code)
        .set_environment(variables);
    let mut last = String::new();
    let created = run.until(ASSUMED, async || {
        last = answer(&create.clone().send().await);
        (!last.contains("cannot be assumed") && !last.contains("CreateGrant")).then_some(())
    });
    match created.await {
        Some(_) if last == "200" => Ok(()),
        _ => Err(Unseen(format!("CreateFunction was answered with {last}"))),
    }
}

/// A program that ends at once with an error.
fn archive() -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().unix_permissions(0o755);
    zip.start_file("bootstrap", options).unwrap();
    zip.write_all(b"#!/bin/sh\nexit 1\n").unwrap();
    zip.finish().unwrap().into_inner()
}

/// L7: the answers of a function that is new.
async fn busy(run: &Run, function: &str) -> Seen {
    let mut answers: BTreeMap<String, u32> = BTreeMap::new();
    for _ in 0..10 {
        let update = run.lambda.update_function_code().function_name(function);
        let update = update.zip_file(Blob::new(archive())).send().await;
        *answers.entry(format!("UpdateFunctionCode {}", answer(&update))).or_default() += 1;
        let invoke = invoke(&run.lambda, function, "$LATEST").await;
        *answers.entry(format!("Invoke {invoke}")).or_default() += 1;
        run.wait(ASKED).await;
    }
    let answers: Vec<_> = answers.into_iter().map(|(answer, times)| format!("{times} x {answer}")).collect();
    Ok(format!("right after CreateFunction: {}", answers.join("; ")))
}

/// M5: what a mapping reports about a function that always fails.
async fn last_result(run: &Run, function: &str, role: &str) -> Seen {
    let queue = sqs::create(run, "mapped").await?;
    let arn = run.arn("sqs", &run.name("mapped"));
    let actions = ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"];
    iam::allow(run, role, &actions, &arn).await?;
    let create = run.lambda.create_event_source_mapping().event_source_arn(&arn);
    let create = create.function_name(function).batch_size(1);
    let created = run.until(120, async || create.clone().send().await.ok());
    let (mapping, _) = created.await.ok_or("the mapping cannot be created in 120 s")?;
    let id = mapping.uuid.ok_or("the mapping has no id")?;
    run.sqs.send_message().queue_url(&queue).message_body("{}").send().await?;
    run.wait(60).await;
    let mapping = run.lambda.get_event_source_mapping().uuid(&id).send().await?;
    run.lambda.delete_event_source_mapping().uuid(&id).send().await?;
    Ok(format!(
        "60 s after a message that fails: State {}, LastProcessingResult {}",
        mapping.state().unwrap_or("absent"),
        mapping.last_processing_result().unwrap_or("absent")
    ))
}

/// M13: whether a condition on the function's ARN, or on that of the alias, allows to map a queue to the alias, and to delete
/// the mapping.
pub(super) async fn mapping_condition(run: &Run) -> Seen {
    let (name, role) = (run.name("aliased"), run.role("aliased"));
    iam::create_role(run, &role, "lambda.amazonaws.com").await?;
    let queue = run.arn("sqs", &run.name("aliased"));
    sqs::create(run, "aliased").await?;
    let actions = ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"];
    iam::allow(run, &role, &actions, &queue).await?;
    create(run, &name, &role, false).await?;
    ready(run, &name).await?;
    publish(run, &name, "aliased").await?;
    let alias = run.lambda.create_alias().function_name(&name).name("live");
    let alias = alias.function_version("1").send().await?.alias_arn.unwrap_or_default();
    let function = run.arn("lambda", &format!("function:{name}"));
    let mut seen = Vec::new();
    // Without a condition first, so that only the condition can deny the others.
    for (what, arn) in [("any", "*"), ("function", &function), ("alias", &alias)] {
        let mapped = mapped_as(run, &format!("by-{what}"), arn, &alias, &queue).await?;
        seen.push(format!("allowed by the ARN of {what}: {mapped}"));
    }
    Ok(seen.join("; "))
}

/// What a role is answered that may map functions with this ARN: to a create, and to the delete.
async fn mapped_as(run: &Run, role: &str, arn: &str, alias: &str, queue: &str) -> Result<String, Unseen> {
    let role = run.role(role);
    iam::create_role(run, &role, "root").await?;
    let policy = json!({
        "Version": "2012-10-17",
        "Statement": [{
            "Effect": "Allow",
            "Action": ["lambda:CreateEventSourceMapping", "lambda:DeleteEventSourceMapping"],
            "Resource": "*",
            "Condition": {"ArnLike": {"lambda:FunctionArn": arn}},
        }],
    });
    iam::put(run, &role, "map", &policy.to_string()).await?;
    let lambda = iam::assume(run, &role).await?.lambda;
    let mut last = String::new();
    let mapping = run.until(MAPPED, async || {
        let create = lambda.create_event_source_mapping().event_source_arn(queue);
        let created = create.function_name(alias).send().await;
        last = answer(&created);
        created.ok()?.uuid
    });
    let Some((mapping, _)) = mapping.await else {
        // Without a condition, it is not the condition that denies.
        let why = format!("CreateEventSourceMapping is answered with {last} after {MAPPED} s");
        return if arn == "*" { Err(Unseen(why)) } else { Ok(why) };
    };
    let mut deleted = String::new();
    // A mapping in transition cannot be deleted (M7).
    run.until(MAPPED, async || {
        deleted = answer(&lambda.delete_event_source_mapping().uuid(&mapping).send().await);
        (!deleted.contains("ResourceInUse")).then_some(())
    })
    .await;
    // The next create needs the queue and the function without a mapping.
    run.until(MAPPED, async || {
        let _ = run.lambda.delete_event_source_mapping().uuid(&mapping).send().await;
        let left = run.lambda.get_event_source_mapping().uuid(&mapping).send().await;
        left.is_err().then_some(())
    })
    .await;
    Ok(format!("create {last}, delete {deleted}"))
}

/// Waits until a function can be changed and run.
async fn ready(run: &Run, function: &str) -> Result<(), Unseen> {
    let ready = run.until(ASSUMED, async || {
        let function = run.lambda.get_function_configuration().function_name(function).send().await.ok()?;
        let is_busy = function.state() == Some(&State::Pending)
            || function.last_update_status() == Some(&LastUpdateStatus::InProgress);
        (!is_busy).then_some(())
    });
    ready.await.map(drop).ok_or_else(|| Unseen(format!("{function} stays busy")))
}

async fn publish(run: &Run, function: &str, description: &str) -> Result<(), Unseen> {
    let publish = run.lambda.publish_version().function_name(function);
    let version = publish.description(description).send().await?;
    let is_pending = async || {
        let get = run.lambda.get_function_configuration().function_name(function);
        let state = get.set_qualifier(version.version.clone()).send().await.ok()?;
        (state.state() != Some(&State::Pending)).then_some(())
    };
    run.until(ASSUMED, is_pending).await.ok_or("the version stays pending")?;
    Ok(())
}

/// Invokes until the function runs; the answer, with the time or the last error.
async fn runs(run: &Run, function: &str, version: &str, bound: u32) -> String {
    let mut last = String::new();
    let ran = run.until(bound, async || {
        last = invoke(&run.lambda, function, version).await;
        (last == "runs").then_some(())
    });
    match ran.await {
        Some(((), after)) => format!("runs after {after:.1} s"),
        None => format!("not within {bound} s: {last}"),
    }
}

/// The answer to an invocation in short.
async fn invoke(lambda: &Client, function: &str, version: &str) -> String {
    let invoke = lambda.invoke().function_name(function).qualifier(version);
    let invoked = invoke.payload(Blob::new("{}")).send().await;
    match &invoked {
        Ok(ran) if ran.function_error().is_some() => "runs".to_owned(),
        other => answer(other),
    }
}
