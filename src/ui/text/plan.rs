//! A plan as text: a line per change, below it what changes, at the end one line that sums up.

use super::escape::escape;
use super::fold::fold;
use super::group::{Group, groups};
use super::summary::{kind, name, rest_of_name, short_name, summary};
use super::{Look, document, value};
use crate::model::field::FieldValue;
use crate::plan::{Action, Change, FieldChange, Plan};
use crate::ui::Heading;
use crate::ui::paint::Paint;
use crate::ui::table::gap;

/// How many clusters that only come or only go are shown one by one.
const SHOWN_CLUSTERS: usize = 20;
/// How many of them stay when there are more.
const FIRST_CLUSTERS: usize = 3;
/// Names longer than this do not push the column after them to the right.
pub(super) const NAME_COLUMN: usize = 48;
/// Where a line ends that could as well be two, when nothing else says.
const COMFORTABLE: usize = 120;
/// The least room in which folded words can still be read.
pub(super) const NARROW: usize = 24;

/// The first line of what is said about a hub.
#[must_use]
pub fn heading(heading: &Heading, look: Look) -> String {
    look.paint.bold(&format!(
        "kibus · account {} · {} · hub {}",
        heading.account, heading.region, heading.bus
    ))
}

/// The whole plan. Empty when there is nothing to change and nothing unknown.
#[must_use]
pub fn plan(about: &Heading, plan: &Plan, look: Look) -> String {
    if plan.is_empty() && plan.unknown.is_empty() {
        return String::new();
    }
    let mut lines = vec![heading(about, look)];
    let columns = Columns::of(plan);
    let groups = groups(plan);
    let (shown, folded) = fold_groups(&groups, look);
    let titled = groups.iter().any(|group| group.owner.cluster().is_some());
    for group in shown {
        lines.push(String::new());
        if titled {
            lines.push(format!("  {}", look.paint.bold(&escape(&group.owner.to_string()))));
        }
        for change in &group.changes {
            lines.extend(change_lines(change, columns, look));
        }
    }
    lines.extend(folded);
    if !plan.unknown.is_empty() {
        lines.push(String::new());
    }
    for id in &plan.unknown {
        let what = columns.line(kind(id), &escape(&name(id)), &[]);
        let sign = look.paint.yellow("?");
        lines.push(format!("  {sign} {what}  could not be read; nothing is planned for it"));
    }
    if !plan.is_empty() {
        lines.push(String::new());
        lines.push(last_line(plan, look));
    }
    lines.join("\n")
}

/// How many changes of each action, as a list: `13 to create, 1 to update`.
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

fn last_line(plan: &Plan, look: Look) -> String {
    let hidden = look.verbose == 0 && plan.changes.iter().any(|change| !shows_fields(change));
    let more = if hidden { "; -v shows every document" } else { "" };
    format!("{}. Nothing is changed yet{more}.", look.paint.bold(&counts(plan)))
}

/// Whether the fields stand below the line even when nobody asks for more.
fn shows_fields(change: &Change) -> bool {
    matches!(change.action, Action::Update | Action::Replace)
}

/// How wide kinds and names are.
#[derive(Clone, Copy)]
struct Columns {
    kind: usize,
    name: usize,
}

impl Columns {
    fn of(plan: &Plan) -> Self {
        let ids = || plan.changes.iter().map(|change| &change.id).chain(&plan.unknown);
        Self {
            kind: ids().map(|id| kind(id).chars().count()).max().unwrap_or(0),
            name: ids()
                .map(|id| short_name(id).chars().count())
                .filter(|width| *width <= NAME_COLUMN)
                .max()
                .unwrap_or(0),
        }
    }

    /// Kind and name, and after them the lines of the last column, each at the same place.
    fn line(self, kind: &str, name: &str, last: &[String]) -> String {
        let mut line = format!("{kind}{}  {name}", gap(kind, self.kind));
        let Some((first, more)) = last.split_first() else {
            return line + &gap(name, self.name);
        };
        line = format!("{line}{}  {first}", gap(name, self.name));
        for next in more {
            line.push_str(&format!("\n{}{next}", " ".repeat(self.last())));
        }
        line.trim_end().to_owned()
    }

    /// Where the last column begins.
    fn last(self) -> usize {
        4 + self.kind + 2 + self.name + 2
    }
}

pub(super) fn sign(action: Action, paint: Paint) -> String {
    match action {
        Action::Create => paint.green("+"),
        Action::Update => paint.yellow("~"),
        Action::Replace => paint.yellow("±"),
        Action::Delete => paint.red("-"),
    }
}

fn change_lines(change: &Change, columns: Columns, look: Look) -> Vec<String> {
    let shows_fields = shows_fields(change);
    let about = match change.after.as_ref().or(change.before.as_ref()) {
        Some(resource) if !shows_fields => summary(resource),
        _ if change.fields.is_empty() => "stays as it is, but goes and comes back with its role".to_owned(),
        _ => rest_of_name(&change.id),
    };
    let room = look.width.map(|width| width.saturating_sub(columns.last()));
    let (beside, beneath) = match room {
        None => (vec![about], Vec::new()),
        Some(room) if room >= NARROW => (fold(&about, room), Vec::new()),
        Some(_) if about.is_empty() => (Vec::new(), Vec::new()),
        Some(_) => (
            Vec::new(),
            fold(&about, look.width.unwrap_or(COMFORTABLE).saturating_sub(6)),
        ),
    };
    let line = columns.line(kind(&change.id), &escape(&short_name(&change.id)), &beside);
    let mut lines = vec![
        format!("  {} {line}", sign(change.action, look.paint))
            .trim_end()
            .to_owned(),
    ];
    lines.extend(beneath.into_iter().map(|line| format!("      {line}")));
    if shows_fields || look.verbose > 0 {
        let fields = || {
            change
                .fields
                .iter()
                .filter(|field| shows_fields || says_something(field))
        };
        let width = fields().map(|field| field.path.chars().count()).max().unwrap_or(0);
        lines.extend(fields().flat_map(|field| match change.action {
            Action::Create => value_lines(&field.path, &field.to, width),
            Action::Delete => value_lines(&field.path, &field.from, width),
            Action::Update | Action::Replace => field_lines(field, width, look),
        }));
    }
    lines
}

/// Whether a field of something that comes or goes is more than an empty list.
fn says_something(field: &FieldChange) -> bool {
    let empty = |value: &FieldValue| match value {
        FieldValue::Unset => true,
        FieldValue::List(items) => items.is_empty(),
        _ => false,
    };
    !(empty(&field.from) && empty(&field.to))
}

/// A path and lines below it.
fn below(path: &str, lines: Vec<String>) -> Vec<String> {
    std::iter::once(format!("      {}", escape(path)))
        .chain(lines.into_iter().map(|line| format!("        {line}")))
        .collect()
}

/// A field of something that comes or goes as a whole.
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

pub(super) fn field_lines(field: &FieldChange, width: usize, look: Look) -> Vec<String> {
    let (from, to) = (&field.from, &field.to);
    match (from, to) {
        (FieldValue::Document(from), FieldValue::Document(to)) => {
            return below(&field.path, document::diff(from, to, look.verbose > 0, look.paint));
        }
        (FieldValue::Document(from), _) => return below(&field.path, document::whole(from, '-', look.paint)),
        (_, FieldValue::Document(to)) => return below(&field.path, document::whole(to, '+', look.paint)),
        _ => {}
    }
    let (old, new) = (value(&field.path, from), value(&field.path, to));
    let path = escape(&field.path);
    let at = format!("      {path}{}  ", gap(&path, width));
    let line = match (from, to) {
        (FieldValue::Unset, _) if field.path.starts_with("tags.") => format!("{at}{new}"),
        _ => format!("{at}{old} → {new}"),
    };
    if line.chars().count() <= look.width.unwrap_or(COMFORTABLE) {
        return vec![line];
    }
    let lines = vec![
        look.paint.red(&format!("- {old}")),
        look.paint.green(&format!("+ {new}")),
    ];
    below(&field.path, lines)
}

/// The groups to show one by one, and lines that name the rest, where many clusters only come or only go.
fn fold_groups<'a, 'b>(groups: &'b [Group<'a>], look: Look) -> (Vec<&'b Group<'a>>, Vec<String>) {
    let all_are = |group: &Group<'_>, action| {
        group.owner.cluster().is_some() && group.changes.iter().all(|change| change.action == action)
    };
    let mut shown: Vec<&Group<'a>> = groups.iter().collect();
    let mut lines = Vec::new();
    for action in [Action::Create, Action::Delete] {
        let alike: Vec<&Group<'a>> = groups.iter().filter(|group| all_are(group, action)).collect();
        if look.verbose > 0 || alike.len() <= SHOWN_CLUSTERS {
            continue;
        }
        let rest = &alike[FIRST_CLUSTERS..];
        shown.retain(|group| !rest.iter().any(|other| std::ptr::eq(*group, *other)));
        let changes: usize = rest.iter().map(|group| group.changes.len()).sum();
        let names: Vec<_> = rest
            .iter()
            .filter_map(|group| group.owner.cluster())
            .map(|name| escape(name.as_str()))
            .collect();
        lines.push(String::new());
        lines.push(format!(
            "  ... and {} more clusters, {changes} to {}; -v shows all:",
            rest.len(),
            action.as_str()
        ));
        let width = look.width.unwrap_or(COMFORTABLE).saturating_sub(6).max(NARROW);
        lines.extend(
            fold(&names.join(" "), width)
                .into_iter()
                .map(|line| format!("      {line}")),
        );
    }
    (shown, lines)
}
