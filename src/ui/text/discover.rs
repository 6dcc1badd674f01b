//! What others set up for Karpenter, as text: one line per rule target, the steps, and the rules that stay or match nothing.

use super::layout::{Style, Table, block, escape, indented, sentences, shortened};
use crate::discover::{Discovery, FoundQueue, FoundRule, FoundTarget, Readership, Verdict};
use crate::error::{Hint, listed};
use crate::model::{ClusterName, Scope, count_key};
use crate::ui::terminal::Paint;

/// The indentation of tables.
const INDENT: usize = 2;
/// The maximum width for tags.
const TAGS: usize = 60;
/// The placeholder for an unknown cluster or target.
const UNKNOWN: &str = "?";
/// The placeholder for the rule of a queue without one.
const NO_RULE: &str = "-";

pub fn discovery(scope: &Scope, found: &Discovery, style: Style) -> String {
    let has_rows = !found.rules.is_empty() || !found.queues.is_empty();
    let table = has_rows.then(|| table(found, style.paint));
    let steps = (!found.steps.is_empty()).then(|| steps(&found.steps));
    let known = found.rules.iter().filter(|rule| !rule.targets.is_empty());
    let notes = known.flat_map(|FoundRule { name, reason, matches_nothing, .. }| {
        let nothing = matches_nothing.iter().map(move |why| format!("Rule `{name}` matches no event: {why}."));
        nothing.chain(reason.iter().map(move |reason| format!("Keep rule `{name}`: {}.", escape(reason))))
    });
    let notes: Vec<String> = notes.map(|note| sentences(&note, style)).collect();
    let notes = (!notes.is_empty()).then(|| notes.join("\n"));
    let parts = [Some(super::heading(scope, style)), table, Some(block(&summary(found), style)), steps, notes];
    parts.into_iter().flatten().collect::<Vec<_>>().join("\n\n")
}

/// Names are not shortened, because users copy them.
fn table(found: &Discovery, paint: Paint) -> String {
    let mut rows: Vec<_> = found.rules.iter().flat_map(|rule| rows(found, rule)).collect();
    let without_rule = found.queues.iter().filter(|queue| !queue.has_rule);
    rows.extend(without_rule.map(|queue| (None, queue.name.to_string(), Some(queue))));
    // By cluster, in natural order; queues without a cluster last.
    rows.sort_by_key(|(rule, _, queue)| {
        let cluster = queue.and_then(|queue| queue.cluster.as_ref());
        (cluster.is_none(), count_key(cluster.map_or("", ClusterName::as_str)), count_key(name(*rule)))
    });
    let mut table = Table::default();
    table.row(["RULE", "TARGET QUEUE", "READ", "CLUSTER", "ON THE BUS", "TAGS"].map(|title| paint.dim(title)));
    for (rule, target, queue) in rows {
        let [read, cluster, registered] = queue.map_or_else(Default::default, |queue| {
            let cluster = queue.cluster.as_ref().map_or(UNKNOWN, ClusterName::as_str);
            [read(queue.reader, paint), cluster.to_owned(), if queue.registered { "yes" } else { "no" }.to_owned()]
        });
        table.row([name(rule).to_owned(), target, read, cluster, registered, tags(rule, queue)]);
    }
    table.render(INDENT, None)
}

/// A rule, a target, and the queue, if the target is one.
type Row<'a> = (Option<&'a FoundRule>, String, Option<&'a FoundQueue>);

/// A rule with each of its targets.
fn rows<'a>(found: &'a Discovery, rule: &'a FoundRule) -> Vec<Row<'a>> {
    let queue = |target: &FoundTarget| found.queues.iter().find(|queue| Some(&queue.name) == target.queue.as_ref());
    match rule.targets.as_slice() {
        [] => vec![(Some(rule), UNKNOWN.to_owned(), None)],
        targets => targets.iter().map(|target| (Some(rule), short(target), queue(target))).collect(),
    }
}

fn name(rule: Option<&FoundRule>) -> &str {
    rule.map_or(NO_RULE, |rule| rule.name.as_str())
}

/// A queue by its name; any other target by its service and the part after the account.
fn short(target: &FoundTarget) -> String {
    let parts: Vec<&str> = target.arn.splitn(6, ':').collect();
    let text = match parts.as_slice() {
        [_, _, "sqs", .., name] => (*name).to_owned(),
        [_, _, service, .., name] => format!("{service} {name}"),
        _ => target.arn.clone(),
    };
    escape(&text).into_owned()
}

fn read(reader: Readership, paint: Paint) -> String {
    match reader {
        Readership::Reads => "yes".to_owned(),
        Readership::Seldom => paint.yellow("seldom"),
        Readership::Nothing => paint.red("no"),
        Readership::NoQueue => paint.red("no queue"),
        Readership::Unknown => paint.yellow("unknown"),
    }
}

/// The tags of the rule and the queue. Of the CloudFormation tags, only the stack name is shown.
fn tags(rule: Option<&FoundRule>, queue: Option<&FoundQueue>) -> String {
    let mut all = rule.map(|rule| rule.tags.clone()).unwrap_or_default();
    all.extend(queue.into_iter().flat_map(|queue| queue.tags.clone()));
    let tag = |(key, value): (String, String)| match key.strip_prefix("aws:cloudformation:") {
        None => Some(format!("{key}={value}")),
        Some("stack-name") => Some(format!("stack={value}")),
        Some(_) => None,
    };
    let all: Vec<String> = all.into_iter().filter_map(tag).collect();
    shortened(&escape(&all.join(", ")), Some(TAGS), 0)
}

fn summary(found: &Discovery) -> String {
    let Discovery { rule_count, rule_limit, rules_of_kibus, rules, queues, .. } = found;
    let rules: Vec<&FoundRule> = rules.iter().filter(|rule| rule.matches_nothing.is_none()).collect();
    let replaces = if rules.iter().any(|rule| rule.targets.is_empty()) {
        "it is unknown which of these the hub replaces".to_owned()
    } else {
        let same = rules.iter().filter(|rule| rule.verdict == Verdict::Replace).count();
        format!("the hub replaces {same}")
    };
    let (of_kibus, [none, other, others]) = match rules_of_kibus {
        0 => (String::new(), ["None matches", "matches", "match"]),
        count => (format!(", {count} of them managed by kibus"), ["No other matches", "other matches", "others match"]),
    };
    let others = match rules.len() {
        0 => format!("{none} Karpenter's events."),
        1 => format!("1 {other} Karpenter's events; {replaces}."),
        count => format!("{count} {others} Karpenter's events; {replaces}."),
    };
    let unread = queues
        .iter()
        .filter(|queue| queue.reader == Readership::Nothing && queue.is_for_karpenter && !queue.registered);
    let unread: Vec<_> = unread.map(|queue| &queue.name).collect();
    let unread = match unread.as_slice() {
        [] => String::new(),
        queues => format!(
            "\nNothing has read {} in the last day. Check `settings.interruptionQueue` in the Helm values of its Karpenter.",
            listed(queues)
        ),
    };
    format!("The default event bus has {rule_count} of {rule_limit} rules{of_kibus}. {others}{unread}")
}

/// Numbered, with commands in one column; several commands are below their step.
fn steps(steps: &[Hint]) -> String {
    let is_short = |step: &&Hint| step.command.as_ref().is_some_and(|command| !command.contains('\n'));
    let width = steps.iter().filter(is_short).map(|step| step.text.len()).max().unwrap_or_default();
    let lines = steps.iter().zip(1..).map(|(step, number)| match &step.command {
        Some(command) if is_short(&step) => format!("{number}. {:width$}   {command}", escape(&step.text)),
        Some(commands) => format!("{number}. {}\n{}", escape(&step.text), indented(commands)),
        None => format!("{number}. {}", escape(&step.text)),
    });
    lines.collect::<Vec<_>>().join("\n")
}
