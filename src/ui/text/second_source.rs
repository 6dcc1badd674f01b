//! Second sources of a cluster's events, as warnings.

use crate::error::{Hint, listed, quoted};
use crate::model::other_setup::policy_name;
use crate::reconcile::{Grant, PolicyKind, SecondSource, SecondSources, Unseen};

/// The warnings: what was found, what it means with the next step, and what could not be read.
pub(in crate::ui) fn second_sources(sources: &SecondSources) -> Vec<Hint> {
    let mut hints: Vec<Hint> = sources.found.iter().map(|source| Hint::text(found(source))).collect();
    if !hints.is_empty() {
        hints.push(Hint::command(
            "if such a queue is the cluster's old interruption queue, the same events arrive in two queues. Karpenter reads \
             only the queue in its settings; messages in the other queue expire unread. When Karpenter reads the new \
             queue, delete the old queue, the EventBridge rules that send to it, and the permission to receive from it. \
             To list the rules of a queue:",
            list_rules(sources),
        ));
    }
    hints.extend(unseen(&sources.unseen));
    hints
}

fn found(source: &SecondSource) -> String {
    let SecondSource {
        queue,
        grants,
        named_after,
    } = source;
    let granted: Vec<String> = grants.iter().map(granted).collect();
    let granted = granted.join(" and ");
    let queue = short(queue);
    if named_after.is_empty() {
        return format!("{granted} may receive from queue `{queue}`");
    }
    let named = format!(
        "queue `{queue}` exists, and has a usual name of the interruption queue of cluster {}",
        listed(named_after)
    );
    match granted.as_str() {
        "" => named,
        granted => format!("{named}; {granted} may receive from it"),
    }
}

fn granted(grant: &Grant) -> String {
    let Grant { role, kind, policy } = grant;
    match kind {
        PolicyKind::Inline => format!("controller role `{role}` (inline policy `{policy}`)"),
        PolicyKind::Managed => format!("controller role `{role}` (managed policy `{}`)", policy_name(policy)),
    }
}

/// The name of a queue; an ARN with wildcards stays whole.
fn short(arn: &str) -> &str {
    if is_exact(arn) {
        arn.rsplit(':').next().unwrap_or(arn)
    } else {
        arn
    }
}

/// Whether it is the ARN of one queue. A policy may have any text here, also one that a shell would run.
fn is_exact(arn: &str) -> bool {
    quoted(arn) == arn
}

fn list_rules(sources: &SecondSources) -> String {
    let arn = sources
        .found
        .iter()
        .map(|source| source.queue.as_str())
        .find(|arn| is_exact(arn));
    let region = arn.and_then(|arn| arn.split(':').nth(3));
    format!(
        "aws events list-rule-names-by-target --region {} --target-arn {}",
        region.unwrap_or("REGION"),
        arn.unwrap_or("QUEUE_ARN")
    )
}

/// One sentence for each kind of thing, with the fault of the first.
fn unseen(all: &[Unseen]) -> Vec<Hint> {
    let (mut roles, mut policies, mut hints) = (Vec::new(), Vec::new(), Vec::new());
    for one in all {
        match one {
            Unseen::AttachedPolicies(role, fault) => roles.push((role.as_str(), fault)),
            Unseen::Policy(arn, fault) => policies.push((policy_name(arn), fault)),
            Unseen::Queues(fault) => hints.push(Hint::text(format!(
                "unknown whether an old interruption queue exists, because the queues could not be listed: {fault}"
            ))),
        }
    }
    for (what, names) in [("the managed policies of role", roles), ("managed policy", policies)] {
        if let Some((_, fault)) = names.first() {
            let names: Vec<&str> = names.iter().map(|(name, _)| *name).collect();
            hints.push(Hint::text(format!(
                "unknown whether Karpenter may receive from another queue, because {what} {} could not be read: {fault}",
                list(&names)
            )));
        }
    }
    hints
}

/// The first of some names, and how many more there are.
fn list(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => format!("`{one}`"),
        [first, rest @ ..] => format!("`{first}` and {} more", rest.len()),
    }
}
