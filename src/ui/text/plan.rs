//! A plan as text: one line per change, its changed fields below it, and a last line with the totals.

use super::columns::{Columns, shortened};
use super::escape::escape;
use super::fold::fold;
use super::group::{Group, groups};
use super::name::{name, rest_of_name, short_name};
use super::{Style, document, value};
use crate::model::field::FieldValue;
use crate::model::name::ClusterName;
use crate::plan::{Action, Change, FieldChange, Plan};
use crate::ui::Heading;
use crate::ui::paint::Paint;
use crate::ui::table::{Align, Table, gap};

/// If more clusters than this are only created or only deleted, each is one line.
const DETAILED_CLUSTERS: usize = 20;
/// The longest line for an old and a new value side by side, if the terminal width is unknown.
const COMFORTABLE: usize = 120;

/// The first line of every text about a hub.
#[must_use]
pub fn heading(heading: &Heading, style: Style) -> String {
    style.paint.bold(&format!(
        "kibus · account {} · {} · hub {}",
        heading.account(),
        heading.region(),
        heading.bus
    ))
}

/// The whole plan. Empty if nothing changes and every resource was read.
#[must_use]
pub fn plan(about: &Heading, plan: &Plan, style: Style) -> String {
    if plan.is_empty() && plan.unknown.is_empty() {
        return String::new();
    }
    let mut lines = vec![heading(about, style)];
    let columns = Columns::of(plan, style);
    let groups = groups(plan);
    let (detailed, brief) = split_groups(&groups, style);
    let titled = groups.iter().any(|group| group.cluster.is_some());
    for group in detailed {
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
    for (action, groups) in brief {
        lines.push(String::new());
        lines.extend(cluster_lines(action, &groups, style));
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
        lines.extend(last_lines(plan, style));
    }
    lines.join("\n")
}

/// The number of changes per action: `13 to create, 1 to update`.
#[must_use]
pub fn counts(plan: &Plan) -> String {
    let counts: Vec<String> = [Action::Create, Action::Update, Action::Replace, Action::Delete]
        .into_iter()
        .map(|action| (action, plan.count(action)))
        .filter(|(_, count)| *count > 0)
        .map(|(action, count)| format!("{count} to {}", action.as_str()))
        .collect();
    counts.join(", ")
}

fn last_lines(plan: &Plan, style: Style) -> Vec<String> {
    let hidden = style.verbose == 0 && plan.changes.iter().any(|change| !shows_fields(change));
    let more = if hidden { "; -v shows every document" } else { "" };
    let line = format!("{}. Nothing is changed yet{more}.", style.paint.bold(&counts(plan)));
    fold(&line, style.width.unwrap_or(usize::MAX))
}

/// Whether the fields are shown without `-v`.
fn shows_fields(change: &Change) -> bool {
    matches!(change.action, Action::Update | Action::Replace)
}

pub(super) fn sign(action: Action, paint: Paint) -> String {
    match action {
        Action::Create => paint.green("+"),
        Action::Update => paint.yellow("~"),
        Action::Replace => paint.yellow("±"),
        Action::Delete => paint.red("-"),
    }
}

fn change_lines(change: &Change, columns: Columns, style: Style) -> Vec<String> {
    let shows_fields = shows_fields(change);
    let about = match change.after.as_ref().or(change.before.as_ref()) {
        Some(resource) if !shows_fields => escape(&resource.particulars().summary()).into_owned(),
        _ if change.fields.is_empty() => "unchanged, but deleted and created again with its role".to_owned(),
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
            Action::Update | Action::Replace => field_lines(field, width, style, |old, new| format!("{old} → {new}")),
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
        other => {
            let path_shown = escape(path);
            vec![format!(
                "      {path_shown}{}  {}",
                gap(&path_shown, width),
                value(path, other)
            )]
        }
    }
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
    let path = escape(&field.path);
    let at = format!("      {path}{}  ", gap(&path, width));
    let line = match (from, to) {
        (FieldValue::Unset, _) if field.tag().is_some() => format!("{at}{new}"),
        _ => format!("{at}{}", inline(&old, &new)),
    };
    if line.chars().count() <= style.width.unwrap_or(COMFORTABLE) {
        return vec![line];
    }
    let lines = vec![
        style.paint.red(&format!("- {old}")),
        style.paint.green(&format!("+ {new}")),
    ];
    below(&field.path, lines)
}

/// Splits off the clusters that are only created or only deleted, if they are many and `-v` is not set.
fn split_groups<'a, 'b>(
    groups: &'b [Group<'a>],
    style: Style,
) -> (Vec<&'b Group<'a>>, Vec<(Action, Vec<&'b Group<'a>>)>) {
    let is_all = |group: &Group<'_>, action| {
        group.cluster.is_some() && group.changes.iter().all(|change| change.action == action)
    };
    let mut detailed: Vec<&Group<'a>> = groups.iter().collect();
    let mut brief = Vec::new();
    for action in [Action::Create, Action::Delete] {
        let alike: Vec<_> = groups.iter().filter(|group| is_all(group, action)).collect();
        if style.verbose == 0 && alike.len() > DETAILED_CLUSTERS {
            detailed.retain(|group| !is_all(group, action));
            brief.push((action, alike));
        }
    }
    (detailed, brief)
}

/// One line per cluster, with its controller role.
fn cluster_lines(action: Action, groups: &[&Group<'_>], style: Style) -> Vec<String> {
    let changes: usize = groups.iter().map(|group| group.changes.len()).sum();
    let title = format!(
        "{} clusters, {changes} to {}; -v shows each change",
        groups.len(),
        action.as_str()
    );
    let mut table = Table::new([Align::Left, Align::Left]);
    table.row(["  cluster", "controller role"].map(|title| style.paint.dim(title)));
    for group in groups {
        let cluster = group.cluster.map_or("", ClusterName::as_str);
        let policy = |change: &&Change| {
            change
                .after
                .as_ref()
                .or(change.before.as_ref())?
                .as_role_policy()
                .cloned()
        };
        let role = group.changes.iter().find_map(policy).map(|policy| policy.role);
        table.row([
            format!("{} {}", sign(action, style.paint), escape(cluster)),
            role.map_or_else(String::new, |role| escape(role.as_str()).into_owned()),
        ]);
    }
    let title = shortened(&title, style.width, 2);
    vec![format!("  {}", style.paint.bold(&title)), table.render(2, style.width)]
}
