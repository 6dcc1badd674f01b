//! What a run leaves behind, and its deletion. All names begin with the name of a bus of this test.

use std::collections::BTreeSet;

use kibus::model::resource::SETTINGS_PATH;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use super::iam;
use super::observation::Unseen;
use super::run::{BUS_LENGTH, Run};

/// How often in a row nothing must be found. Lists are late (S21).
const TIMES: u32 = 3;

/// How long the deletion may take, in seconds. A deleted queue is listed for up to a minute (S21).
const BOUND: u32 = 300;

/// Something with such a name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Leftover {
    Rule(String),
    Mapping(String, String),
    Function(String),
    Queue(String, String),
    LogGroup(String),
    Parameter(String),
    Role(String),
}

impl Leftover {
    /// The name.
    fn name(&self) -> &str {
        match self {
            Self::LogGroup(name) => name.trim_start_matches(LOG_GROUPS),
            Self::Parameter(name) => name.trim_start_matches(SETTINGS_PATH),
            Self::Rule(name)
            | Self::Mapping(name, _)
            | Self::Function(name)
            | Self::Queue(name, _)
            | Self::Role(name) => name,
        }
    }
}

const LOG_GROUPS: &str = "/aws/lambda/";

/// Deletes the buses whose names begin like this, and everything else with such a name.
///
/// # Errors
/// What is left.
pub(super) async fn clean(run: &Run, prefix: &str) -> Result<(), String> {
    let mut found = left(run, prefix).await.map_err(incomplete)?;
    let buses: BTreeSet<_> = found.iter().filter_map(|left| left.name().get(..BUS_LENGTH)).collect();
    for bus in buses.into_iter().map(str::to_owned).collect::<Vec<_>>() {
        let ended = run.kibus(&bus, &["teardown", "--yes"]).await;
        let how = if ended.code == Some(0) {
            "done"
        } else {
            "failed; its resources are deleted one by one"
        };
        run.tell(&format!("clean up {bus}: teardown {how}"));
    }
    let (mut nothing, mut unread) = (0, None);
    let cleaned = run.until(BOUND, async || {
        match left(run, prefix).await {
            Ok(left) => (found, unread) = (left, None),
            Err(error) => unread = Some(error),
        }
        if unread.is_some() {
            return None;
        }
        nothing = if found.is_empty() { nothing + 1 } else { 0 };
        for left in &found {
            // What cannot be deleted now, or is deleted already and still listed, is found again.
            let _ = delete(run, left).await;
        }
        if nothing > 0 && nothing < TIMES {
            run.wait(4).await;
        }
        (nothing == TIMES).then_some(())
    });
    if cleaned.await.is_some() {
        return Ok(());
    }
    let why = unread
        .map(|Unseen(why)| format!(" The last list is incomplete: {why}."))
        .unwrap_or_default();
    Err(format!(
        "Not everything is deleted; docs/real-account.md says how to delete it: {found:?}.{why}"
    ))
}

fn incomplete(error: Unseen) -> String {
    format!("Whether an earlier run left something is unknown: {}", error.0)
}

/// Everything whose name begins like this.
pub(super) async fn left(run: &Run, prefix: &str) -> Result<Vec<Leftover>, Unseen> {
    let mut left = Vec::new();
    let rules = run.events.list_rules().name_prefix(prefix).send().await?;
    left.extend(
        rules
            .rules()
            .iter()
            .filter_map(|rule| rule.name.clone())
            .map(Leftover::Rule),
    );

    let mut mappings = run.lambda.list_event_source_mappings().into_paginator().items().send();
    while let Some(mapping) = mappings.try_next().await? {
        let function = mapping
            .function_arn()
            .and_then(|arn| arn.split(':').nth(6))
            .unwrap_or_default();
        if function.starts_with(prefix) {
            left.push(Leftover::Mapping(function.to_owned(), mapping.uuid.unwrap_or_default()));
        }
    }
    let mut functions = run.lambda.list_functions().into_paginator().items().send();
    while let Some(function) = functions.try_next().await? {
        let name = function.function_name.unwrap_or_default();
        left.extend(name.starts_with(prefix).then_some(Leftover::Function(name)));
    }
    let mut queues = run
        .sqs
        .list_queues()
        .queue_name_prefix(prefix)
        .max_results(1000)
        .into_paginator()
        .items()
        .send();
    while let Some(url) = queues.try_next().await? {
        let name = url.rsplit('/').next().unwrap_or_default().to_owned();
        left.push(Leftover::Queue(name, url));
    }
    let mut page = json!({});
    loop {
        let named = format!("{LOG_GROUPS}{prefix}");
        let input = json!({ "logGroupNamePrefix": named, "nextToken": page["nextToken"] });
        page = run.logs.call::<Value>("DescribeLogGroups", input).await?;
        let groups = page["logGroups"].as_array().into_iter().flatten();
        let names = groups.filter_map(|group| group["logGroupName"].as_str());
        left.extend(names.map(|name| Leftover::LogGroup(name.to_owned())));
        if page["nextToken"].is_null() {
            break;
        }
    }
    let mut page = json!({});
    loop {
        let input = json!({ "Path": SETTINGS_PATH, "NextToken": page["NextToken"] });
        page = run.parameters.call::<Value>("GetParametersByPath", input).await?;
        let parameters = page["Parameters"].as_array().into_iter().flatten();
        let names = parameters.filter_map(|parameter| parameter["Name"].as_str());
        let named = names.filter(|name| name.trim_start_matches(SETTINGS_PATH).starts_with(prefix));
        left.extend(named.map(|name| Leftover::Parameter(name.to_owned())));
        if page["NextToken"].is_null() {
            break;
        }
    }
    let mut roles = run.iam.list_roles().into_paginator().items().send();
    while let Some(role) = roles.try_next().await? {
        // Roles have no Region. A run in another Region may need those with its name.
        if role.role_name.starts_with(prefix) && role.role_name.ends_with(&run.region) {
            left.push(Leftover::Role(role.role_name));
        }
    }
    Ok(left)
}

async fn delete(run: &Run, left: &Leftover) -> Result<(), Unseen> {
    match left {
        Leftover::Rule(name) => {
            let targets = run.events.list_targets_by_rule().rule(name).send().await?;
            let ids: Vec<_> = targets.targets().iter().map(|target| target.id.clone()).collect();
            if !ids.is_empty() {
                run.events.remove_targets().rule(name).set_ids(Some(ids)).send().await?;
            }
            run.events.delete_rule().name(name).send().await?;
        }
        Leftover::Mapping(_, id) => drop(run.lambda.delete_event_source_mapping().uuid(id).send().await?),
        Leftover::Function(name) => drop(run.lambda.delete_function().function_name(name).send().await?),
        Leftover::Queue(_, url) => drop(run.sqs.delete_queue().queue_url(url).send().await?),
        Leftover::LogGroup(name) => {
            let input = json!({ "logGroupName": name });
            run.logs.call::<IgnoredAny>("DeleteLogGroup", input).await?;
        }
        Leftover::Parameter(name) => {
            let input = json!({ "Name": name });
            run.parameters.call::<IgnoredAny>("DeleteParameter", input).await?;
        }
        Leftover::Role(name) => iam::delete_role(run, name).await?,
    }
    Ok(())
}
