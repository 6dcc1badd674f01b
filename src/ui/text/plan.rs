//! A plan as text: one line per change, its changed fields below it, and a last line with the totals.

use std::collections::BTreeMap;

use similar::{ChangeTag, DiffTag, TextDiff};

use super::layout::{Style, Table, block, escape, fold, gap, hanging, name, shortened};
use crate::model::{ClusterName, Code, Document, FieldName, FieldValue, LogGroupField, ResourceId, Scope, count_key};
use crate::plan::{Action, Change, FieldChange, Plan};
use crate::reconcile::ClusterSummary;
use crate::ui::terminal::Paint;

/// If more clusters than this are only created or only deleted, each takes one line.
const DETAILED_CLUSTERS: usize = 20;
/// The longest line for an old and a new value side by side, if the terminal width is unknown.
const COMFORTABLE: usize = 120;
/// The widest name column. Longer names extend into the next column.
pub(super) const NAME_COLUMN: usize = 48;
/// The number of unchanged lines shown around a change in a document.
const CONTEXT: usize = 3;

/// The first line of every text about a hub.
pub(super) fn heading(scope: &Scope, style: Style) -> String {
    heading_of("hub", scope, "", style)
}

/// The first line about a hub or a bus, which share a name.
pub(super) fn heading_of(what: &str, scope: &Scope, more: &str, style: Style) -> String {
    let line = format!("kibus · account {} · {} · {what} {}{more}", scope.account, scope.region, scope.bus);
    style.paint.bold(&fold(&line, style.room(0)).join("\n"))
}

/// The whole plan. Empty if nothing changes and every resource was read. `open` means that it is not applied yet: the
/// user is asked first, or the plan is only shown.
pub fn plan(scope: &Scope, plan: &Plan, clusters: &[ClusterSummary], open: bool, style: Style) -> String {
    if plan.is_empty() && plan.unknown.is_empty() {
        return String::new();
    }
    let mut lines = vec![heading(scope, style)];
    let ids = plan.changes.iter().map(|change| &change.id).chain(&plan.unknown);
    let columns = Columns::of(ids.map(|id| (id.label(), short_name(id))), style);
    let groups = groups(plan);
    let brief = brief_actions(&groups, style);
    let is_brief = |group: &&Group<'_>| brief.iter().any(|action| is_whole_cluster(group, *action));
    let titled = groups.iter().any(|(cluster, _)| cluster.is_some());
    for group in groups.iter().filter(|group| !is_brief(group)) {
        lines.push(String::new());
        if titled {
            let title = group.0.map_or_else(|| "hub".to_owned(), |name| format!("cluster {name}"));
            let title = style.paint.bold(&escape(&title));
            let title = block(&(title + &found_by(clusters, group.0)), style);
            lines.extend(title.lines().map(|line| shortened(line, style.width, 0)));
        }
        lines.extend(group.1.iter().flat_map(|change| change_lines(change, columns, style)));
    }
    for action in &brief {
        lines.push(String::new());
        lines.extend(cluster_lines(*action, &groups, clusters, style));
    }
    if !plan.unknown.is_empty() {
        lines.push(String::new());
    }
    for id in &plan.unknown {
        let about = "could not be read; no change is planned";
        lines.extend(columns.row(&style.paint.yellow("?"), id.label(), &name(id), about, style));
    }
    if !plan.is_empty() {
        let hidden = style.verbose == 0 && plan.changes.iter().any(|change| !shows_fields(change));
        let more = if hidden { "; -v shows every document" } else { "" };
        let yet = if open { ". Nothing is changed yet" } else { "" };
        let line = format!("{}{yet}{more}.", style.paint.bold(&plan.counts()));
        lines.push(String::new());
        lines.extend(fold(&line, style.width.unwrap_or(usize::MAX)));
    }
    lines.join("\n")
}

/// Changes that belong together, in the order of the plan: the changes of a cluster, or of the hub.
type Group<'a> = (Option<&'a ClusterName>, Vec<&'a Change>);

/// The groups of a plan: the hub first, then the clusters in natural order.
fn groups(plan: &Plan) -> Vec<Group<'_>> {
    let mut groups: BTreeMap<_, Group<'_>> = BTreeMap::new();
    for change in &plan.changes {
        let cluster = change.cluster.as_ref();
        let place = cluster.map(|name| count_key(name.as_str()));
        groups.entry(place).or_insert((cluster, Vec::new())).1.push(change);
    }
    groups.into_values().collect()
}

/// Whether the fields are shown without `-v`.
fn shows_fields(change: &Change) -> bool {
    change.action == Action::Update
}

fn sign(action: Action, paint: Paint) -> String {
    match action {
        Action::Create => paint.green("+"),
        Action::Update => paint.yellow("~"),
        Action::Delete => paint.red("-"),
    }
}

fn change_lines(change: &Change, columns: Columns, style: Style) -> Vec<String> {
    let shows_fields = shows_fields(change);
    let about = match change.after.as_ref().or(change.before.as_ref()) {
        Some(resource) if !shows_fields => escape(&resource.particulars().summary()).into_owned(),
        _ => rest_of_name(&change.id),
    };
    let sign = sign(change.action, style.paint);
    let mut lines = columns.row(&sign, change.id.label(), &short_name(&change.id), &about, style);
    if shows_fields || style.verbose > 0 {
        let shown = |field: &&FieldChange| shows_fields || has_value(field);
        let fields = || change.fields.iter().filter(shown);
        let width = fields().map(|field| field.path.chars().count()).max().unwrap_or(0);
        lines.extend(fields().flat_map(|field| match change.action {
            Action::Create => value_lines(&field.path, &field.to, width),
            Action::Delete => value_lines(&field.path, &field.from, width),
            Action::Update => field_lines(field, width, style, |old, new| format!("{old} → {new}")),
        }));
    }
    lines
}

/// Whether a field of a created or deleted resource has a value.
fn has_value(field: &FieldChange) -> bool {
    let empty = |value: &FieldValue| match value {
        FieldValue::Unset => true,
        FieldValue::List(items) => items.is_empty(),
        _ => false,
    };
    !(empty(&field.from) && empty(&field.to))
}

/// A path, with lines below it.
fn below(path: &str, lines: Vec<String>) -> Vec<String> {
    std::iter::once(format!("      {}", escape(path)))
        .chain(lines.into_iter().map(|line| format!("        {line}")))
        .collect()
}

/// A field of a created or deleted resource.
fn value_lines(path: &str, of: &FieldValue, width: usize) -> Vec<String> {
    match of {
        FieldValue::Document(document) => below(path, plain(document)),
        other => vec![beside(path, width) + &value(path, other)],
    }
}

/// A path, followed by a value in a column.
fn beside(path: &str, width: usize) -> String {
    let path = escape(path);
    format!("      {path}{}  ", gap(&path, width))
}

/// A field that differs. `inline` formats the old and the new value on one line.
pub(super) fn field_lines(
    field: &FieldChange,
    width: usize,
    style: Style,
    inline: fn(&str, &str) -> String,
) -> Vec<String> {
    let (from, to) = (&field.from, &field.to);
    match (from, to) {
        (FieldValue::Document(from), FieldValue::Document(to)) => {
            let path = format!("{} (- now, + planned)", field.path);
            return below(&path, diff(from, to, style.verbose > 0, style.paint));
        }
        (FieldValue::Document(from), _) => return below(&field.path, whole(from, '-', style.paint)),
        (_, FieldValue::Document(to)) => return below(&field.path, whole(to, '+', style.paint)),
        _ => {}
    }
    let (old, new) = (value(&field.path, from), value(&field.path, to));
    let line = beside(&field.path, width) + &inline(&old, &new);
    if line.chars().count() <= style.width.unwrap_or(COMFORTABLE) {
        return vec![line];
    }
    let lines = vec![style.paint.red(&format!("- {old}")), style.paint.green(&format!("+ {new}"))];
    below(&field.path, lines)
}

/// Whether a cluster has no other changes.
fn is_whole_cluster(group: &Group<'_>, action: Action) -> bool {
    group.0.is_some() && group.1.iter().all(|change| change.action == action)
}

/// The actions for which each whole cluster takes one line: there are many, and `-v` is not set.
fn brief_actions(groups: &[Group<'_>], style: Style) -> Vec<Action> {
    let count = |action| groups.iter().filter(|group| is_whole_cluster(group, action)).count();
    let mut actions = vec![Action::Create, Action::Delete];
    actions.retain(|action| style.verbose == 0 && count(*action) > DETAILED_CLUSTERS);
    actions
}

/// One line per whole cluster, with its controller role.
fn cluster_lines(action: Action, groups: &[Group<'_>], found: &[ClusterSummary], style: Style) -> Vec<String> {
    let groups: Vec<_> = groups.iter().filter(|group| is_whole_cluster(group, action)).collect();
    let changes: usize = groups.iter().map(|(_, changes)| changes.len()).sum();
    let title = format!("{} clusters, {changes} to {}; -v shows each change", groups.len(), action.words()[0]);
    let mut table = Table::default();
    table.row(["  cluster", "controller role"].map(|title| style.paint.dim(title)));
    for (cluster, changes) in groups {
        let policy = |change: &&Change| {
            let resource = change.after.as_ref().or(change.before.as_ref())?;
            resource.as_role_policy().map(|policy| policy.role.to_string())
        };
        let role = changes.iter().find_map(policy).map(|role| role + &found_by(found, *cluster));
        let cluster = cluster.map_or("", ClusterName::as_str);
        table.row([format!("{} {cluster}", sign(action, style.paint)), role.unwrap_or_default()]);
    }
    let title = shortened(&title, style.width, 2);
    vec![format!("  {}", style.paint.bold(&title)), table.render(2, style.width)]
}

/// The name in the name column of a plan. For a role policy, it is the role, because the summary has the policy's name.
fn short_name(id: &ResourceId) -> String {
    if let ResourceId::RolePolicy(role, _) = id {
        return role.to_string();
    }
    name(id)
}

/// The part of the name that [`short_name`] omits, for a resource whose fields are shown instead of its summary.
fn rest_of_name(id: &ResourceId) -> String {
    if let ResourceId::RolePolicy(role, policy) = id
        && role.as_str() != policy.as_str()
    {
        return policy.to_string();
    }
    String::new()
}

/// The widths of the columns for kinds and names.
#[derive(Clone, Copy)]
struct Columns {
    kind: usize,
    name: usize,
}

impl Columns {
    /// The columns for rows of these kinds and names.
    fn of(rows: impl IntoIterator<Item = (&'static str, String)>, style: Style) -> Self {
        let (mut kinds, mut names) = (0, 0);
        for (kind, name) in rows {
            kinds = kinds.max(kind.chars().count());
            names = names.max(Some(name.chars().count()).filter(|width| *width <= NAME_COLUMN).unwrap_or(0));
        }
        let room = style.width.map_or(NAME_COLUMN, |width| width.saturating_sub(4 + kinds + 2));
        Self { kind: kinds, name: names.min(room) }
    }

    /// A sign, a kind, a name, and a text next to them. On a terminal, a long name is shortened.
    fn row(self, sign: &str, kind: &str, name: &str, about: &str, style: Style) -> Vec<String> {
        let lead = format!("  {sign} {kind}{}  {}", gap(kind, self.kind), escape(name));
        let lines = hanging(&lead, 4 + self.kind + 2 + self.name + 2, about, style);
        lines.iter().map(|line| shortened(line, style.width, 0)).collect()
    }
}

/// How the controller role of a cluster was found, for the lines of a plan; empty if there was no search.
fn found_by(clusters: &[ClusterSummary], name: Option<&ClusterName>) -> String {
    let cluster = clusters.iter().find(|cluster| Some(&cluster.name) == name);
    let sources: Vec<String> = cluster.into_iter().flat_map(|one| &one.found_by).map(ToString::to_string).collect();
    if sources.is_empty() { String::new() } else { format!(" (role found by {})", escape(&sources.join(", "))) }
}

/// The value of the field at `path`, on one line. A document has its own lines.
fn value(path: &str, value: &FieldValue) -> String {
    match value {
        FieldValue::Unset if path == LogGroupField::RetentionDays.path() => "unlimited".to_owned(),
        FieldValue::Unset => "not set".to_owned(),
        FieldValue::Text(text) if text.is_empty() => "empty".to_owned(),
        FieldValue::Text(text) => escape(text).into_owned(),
        FieldValue::Number(number, unit) => unit.text(*number),
        FieldValue::Flag(flag) => if *flag { "yes" } else { "no" }.to_owned(),
        FieldValue::List(items) if items.is_empty() => "none".to_owned(),
        FieldValue::List(items) => {
            let items: Vec<_> = items.iter().map(|item| escape(item)).collect();
            items.join(", ")
        }
        FieldValue::Document(_) => "a document".to_owned(),
        FieldValue::Code(code) => code_of(code),
    }
}

fn code_of(code: &Code) -> String {
    let first_digits: String = code.sha256.chars().take(12).collect();
    let (version, sha256) = (escape(&code.version), escape(&first_digits));
    match (version.is_empty(), sha256.is_empty()) {
        (true, true) => "unknown".to_owned(),
        (true, false) => format!("sha256 {sha256}"),
        (false, true) => version.into_owned(),
        (false, false) => format!("{version} (sha256 {sha256})"),
    }
}

/// The lines of a whole document, each after the same sign.
fn whole(document: &Document, sign: char, paint: Paint) -> Vec<String> {
    let lines = document.pretty();
    lines.lines().map(|line| signed(sign, line, paint)).collect()
}

/// The lines of a whole document, for copying.
fn plain(document: &Document) -> Vec<String> {
    let lines = document.pretty();
    lines.lines().map(|line| escape(line).into_owned()).collect()
}

/// The lines that differ between two documents, with [`CONTEXT`] lines around them, or all lines if `full`.
fn diff(from: &Document, to: &Document, full: bool, paint: Paint) -> Vec<String> {
    let (from, to) = (from.pretty() + "\n", to.pretty() + "\n");
    let diff = TextDiff::from_lines(from.as_str(), to.as_str());
    let context = if full { usize::MAX / 4 } else { CONTEXT };
    let mut lines = Vec::new();
    for ops in diff.grouped_ops(context) {
        // In a long policy, the context lines do not show which statement a change is in.
        let hidden = ops.first().map_or(0, |op| op.new_range().start) > 0;
        let changed = ops.iter().find(|op| op.tag() != DiffTag::Equal);
        if hidden && let Some(first) = changed.map(|op| op.new_range().start) {
            let header = format!("... {}", escape(&place(&to, first)));
            lines.push(paint.dim(header.trim_end()));
        }
        for change in ops.iter().flat_map(|op| diff.iter_changes(op)) {
            let sign = match change.tag() {
                ChangeTag::Equal => ' ',
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
            };
            lines.push(signed(sign, change.value().trim_end_matches('\n'), paint));
        }
    }
    lines
}

/// The path to a line of a document: keys from the outside in, and the `Sid` of a statement.
fn place(text: &str, line: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let depth = |at: usize| lines[at].len() - lines[at].trim_start().len();
    let mut keys = Vec::new();
    let mut inside = depth(line);
    for at in (0..line).rev() {
        if depth(at) >= inside {
            continue;
        }
        inside = depth(at);
        let opening = lines[at].trim();
        if opening == "{" {
            let members = (at + 1..lines.len()).take_while(|member| depth(*member) > inside);
            let mut own = members.filter(|member| depth(*member) == inside + 2);
            keys.extend(own.find_map(|member| member_text(lines[member], "Sid")));
        } else if let Some((key, _)) = opening.split_once("\": ") {
            keys.push(key.trim_start_matches('"').to_owned());
        }
    }
    keys.reverse();
    keys.join(" / ")
}

/// The text value of this key, if the line contains it.
fn member_text(line: &str, key: &str) -> Option<String> {
    let value = line.trim().strip_prefix(&format!("\"{key}\": "))?;
    serde_json::from_str(value.trim_end_matches(',')).ok()
}

fn signed(sign: char, line: &str, paint: Paint) -> String {
    let line = format!("{sign} {}", escape(line));
    match sign {
        '+' => paint.green(&line),
        '-' => paint.red(&line),
        _ => paint.dim(&line),
    }
}

#[cfg(test)]
mod tests;
