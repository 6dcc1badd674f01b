//! A plan as text: one line per change, its changed fields below it, and a last line with the totals.

use super::columns::{Columns, shortened};
use super::escape::escape;
use super::fold::fold;
use super::group::{Group, groups};
use super::name::{name, rest_of_name, short_name};
use super::value::value;
use super::{Style, document};
use crate::model::name::ClusterName;
use crate::model::resource::FieldValue;
use crate::plan::{Action, Change, FieldChange, Plan};
use crate::ui::Heading;
use crate::ui::paint::Paint;
use crate::ui::table::{Table, gap};

/// If more clusters than this are only created or only deleted, each is one line.
const DETAILED_CLUSTERS: usize = 20;
/// The longest line for an old and a new value side by side, if the terminal width is unknown.
const COMFORTABLE: usize = 120;

/// The first line of every text about a hub.
pub fn heading(heading: &Heading, style: Style) -> String {
    heading_of("hub", heading, style)
}

/// The same about a hub or a bus, which have the same name.
pub(super) fn heading_of(what: &str, heading: &Heading, style: Style) -> String {
    style.paint.bold(&format!(
        "kibus · account {} · {} · {what} {}",
        heading.account(),
        heading.region(),
        heading.bus
    ))
}

/// The whole plan. Empty if nothing changes and every resource was read. `open` says that it is not applied
/// yet: a person is asked first, or it is only shown.
pub fn plan(about: &Heading, plan: &Plan, open: bool, style: Style) -> String {
    if plan.is_empty() && plan.unknown.is_empty() {
        return String::new();
    }
    let mut lines = vec![heading(about, style)];
    let ids = plan.changes.iter().map(|change| &change.id).chain(&plan.unknown);
    let columns = Columns::of(ids.map(|id| (id.label(), short_name(id))), style);
    let groups = groups(plan);
    let brief = brief_actions(&groups, style);
    let is_brief = |group: &&Group<'_>| brief.iter().any(|action| is_whole_cluster(group, *action));
    let titled = groups.iter().any(|group| group.cluster.is_some());
    for group in groups.iter().filter(|group| !is_brief(group)) {
        lines.push(String::new());
        if titled {
            let title = group
                .cluster
                .map_or_else(|| "hub".to_owned(), |name| format!("cluster {name}"));
            let title = shortened(&escape(&title), style.width, 2);
            lines.push(format!("  {}", style.paint.bold(&title)));
        }
        for change in &group.changes {
            lines.extend(change_lines(change, columns, style));
        }
    }
    for action in &brief {
        lines.push(String::new());
        lines.extend(cluster_lines(*action, &groups, style));
    }
    if !plan.unknown.is_empty() {
        lines.push(String::new());
    }
    for id in &plan.unknown {
        let about = "could not be read; no change is planned";
        lines.extend(columns.row(&style.paint.yellow("?"), id.label(), &name(id), about, style));
    }
    if !plan.is_empty() {
        lines.push(String::new());
        lines.extend(last_lines(plan, open, style));
    }
    lines.join("\n")
}

fn last_lines(plan: &Plan, open: bool, style: Style) -> Vec<String> {
    let hidden = style.verbose == 0 && plan.changes.iter().any(|change| !shows_fields(change));
    let more = if hidden { "; -v shows every document" } else { "" };
    let yet = if open { ". Nothing is changed yet" } else { "" };
    let line = format!("{}{yet}{more}.", style.paint.bold(&plan.counts()));
    fold(&line, style.width.unwrap_or(usize::MAX))
}

/// Whether the fields are shown without `-v`.
fn shows_fields(change: &Change) -> bool {
    change.action == Action::Update
}

pub(super) fn sign(action: Action, paint: Paint) -> String {
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

/// A path, and lines below it.
fn below(path: &str, lines: Vec<String>) -> Vec<String> {
    std::iter::once(format!("      {}", escape(path)))
        .chain(lines.into_iter().map(|line| format!("        {line}")))
        .collect()
}

/// A field of a created or deleted resource.
fn value_lines(path: &str, of: &FieldValue, width: usize) -> Vec<String> {
    match of {
        FieldValue::Document(document) => below(path, document::plain(document)),
        other => vec![beside(path, width) + &value(path, other)],
    }
}

/// A path, before a value in a column.
fn beside(path: &str, width: usize) -> String {
    let path = escape(path);
    format!("      {path}{}  ", gap(&path, width))
}

/// A field that differs. `inline` says how one line shows the old and the new value.
pub(super) fn field_lines(
    field: &FieldChange,
    width: usize,
    style: Style,
    inline: fn(&str, &str) -> String,
) -> Vec<String> {
    let (from, to) = (&field.from, &field.to);
    match (from, to) {
        (FieldValue::Document(from), FieldValue::Document(to)) => {
            return below(&field.path, document::diff(from, to, style.verbose > 0, style.paint));
        }
        (FieldValue::Document(from), _) => return below(&field.path, document::whole(from, '-', style.paint)),
        (_, FieldValue::Document(to)) => return below(&field.path, document::whole(to, '+', style.paint)),
        _ => {}
    }
    let (old, new) = (value(&field.path, from), value(&field.path, to));
    let line = beside(&field.path, width) + &inline(&old, &new);
    if line.chars().count() <= style.width.unwrap_or(COMFORTABLE) {
        return vec![line];
    }
    let lines = vec![
        style.paint.red(&format!("- {old}")),
        style.paint.green(&format!("+ {new}")),
    ];
    below(&field.path, lines)
}

/// Whether all that happens to a cluster is this.
fn is_whole_cluster(group: &Group<'_>, action: Action) -> bool {
    group.cluster.is_some() && group.changes.iter().all(|change| change.action == action)
}

/// For which actions each whole cluster is one line: there are many, and `-v` is not set.
fn brief_actions(groups: &[Group<'_>], style: Style) -> Vec<Action> {
    let count = |action| groups.iter().filter(|group| is_whole_cluster(group, action)).count();
    let mut actions = vec![Action::Create, Action::Delete];
    actions.retain(|action| style.verbose == 0 && count(*action) > DETAILED_CLUSTERS);
    actions
}

/// One line per whole cluster, with its controller role.
fn cluster_lines(action: Action, groups: &[Group<'_>], style: Style) -> Vec<String> {
    let groups: Vec<_> = groups.iter().filter(|group| is_whole_cluster(group, action)).collect();
    let changes: usize = groups.iter().map(|group| group.changes.len()).sum();
    let title = format!(
        "{} clusters, {changes} to {}; -v shows each change",
        groups.len(),
        action.words()[0]
    );
    let mut table = Table::default();
    table.row(["  cluster", "controller role"].map(|title| style.paint.dim(title)));
    for group in groups {
        let policy = |change: &&Change| {
            let resource = change.after.as_ref().or(change.before.as_ref())?;
            resource.as_role_policy().map(|policy| policy.role.to_string())
        };
        let cluster = group.cluster.map_or("", ClusterName::as_str);
        let role = group.changes.iter().find_map(policy);
        table.row([
            format!("{} {cluster}", sign(action, style.paint)),
            role.unwrap_or_default(),
        ]);
    }
    let title = shortened(&title, style.width, 2);
    vec![format!("  {}", style.paint.bold(&title)), table.render(2, style.width)]
}

#[cfg(test)]
mod tests;
