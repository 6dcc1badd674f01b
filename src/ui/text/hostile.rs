//! A property: nothing in the output controls the terminal, whatever was read.

use proptest::prelude::*;

use super::layout::at_the_edge;
use super::tests::{between, cluster_resources, dead_letter_report, drifted, hub_resources};
use super::*;
use crate::dead_letters::readings::any_letter;
use crate::dead_letters::{DeadLetter, RetryLine};
use crate::error::{Error, Hint};
use crate::model::{
    Desired, Document, Encryption, HubOptions, Redrive, Resource,
    readings::{any_json, any_policy, any_text},
    scope::tests::scope,
};
use crate::ui::Paint;
use crate::ui::json::HubReport;

/// Whether a text controls the terminal other than by line breaks and kibus's colors. No part of the text may depend on [`at_the_edge`].
fn is_safe(text: &str, style: Style) -> bool {
    at_the_edge(text, style.paint.is_on()) == text
}

fn any_style() -> impl Strategy<Value = Style> {
    let parts = (any::<bool>(), prop::option::of(20..200_usize), 0..2_u8);
    parts.prop_map(|(colors, width, verbose)| Style { paint: Paint::new(colors), width, verbose })
}

/// The resources of a hub and a cluster, with text from outside wherever such text is read.
fn with_texts(text: &str, policy: &Document) -> Desired {
    let mut all = hub_resources(HubOptions::default());
    all.extend(cluster_resources("base"));
    drifted(&all, |resource| {
        let text = text.to_owned();
        if let Some(tags) = resource.tags_mut() {
            tags.0.insert(format!("kibus:{text}"), text.clone());
        }
        match resource {
            Resource::Queue(queue) => {
                queue.policy = Some(policy.clone());
                queue.redrive_allow = Some(policy.clone());
                queue.encryption = Encryption::OtherKms(text.clone());
                queue.redrive = Some(Redrive { dead_letters: text, max_receives: 0 });
            }
            Resource::Role(role) => role.trust = policy.clone(),
            Resource::RolePolicy(role_policy) => role_policy.document = policy.clone(),
            Resource::Rule(rule) => (rule.pattern, rule.description) = (policy.clone(), text),
            Resource::Function(function) => {
                let settings = &mut function.settings;
                settings.environment.insert(text.clone(), text.clone());
                [settings.runtime, settings.handler, settings.role] = [(); 3].map(|()| text.clone());
                (settings.code.version, settings.code.sha256) = (text.clone(), text);
            }
            _ => {}
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_plan_controls_no_terminal(text in any_text(), policy in any_policy(), style in any_style()) {
        let found = with_texts(&text, &Document::new(policy));
        let planned = between(&found, &with_texts("x", &Document::new("x".into())));
        for plan in [&planned, &between(&Desired::default(), &found), &between(&found, &Desired::default())] {
            let shown = super::plan(&scope(), plan, &[], true, style);
            prop_assert!(is_safe(&shown, style), "{shown:?}");
        }
        let mut report = HubReport::of(&scope());
        report.changes = planned.changes;
        let json = json_text(&crate::ui::Report::from(report).to_json(), false);
        prop_assert!(is_safe(&json, Style::default()), "{json:?}");
    }

    #[test]
    fn a_dead_letter_controls_no_terminal(letter in any_letter(), reason in any_text(), style in any_style()) {
        let last_retry = Some(RetryLine { id: reason.clone(), cluster: Some(reason.clone()), reason });
        let report = dead_letter_report([DeadLetter { last_retry, ..letter.with_event(0) }]);
        let shown = dead_letters(&scope(), &report, style);
        prop_assert!(is_safe(&shown, style), "{shown:?}");
    }

    #[test]
    fn an_error_controls_no_terminal(text in any_text(), value in any_json(), style in any_style()) {
        let error = Error::failed(text.clone())
            .note(value.to_string())
            .note(text.clone())
            .hint(text.clone())
            .hint_command(text.clone(), crate::error::quoted(&text));
        for shown in [
            super::error(&error, style),
            warning(&Hint::command(text.clone(), text.clone()), style),
            hint(&Hint::command(text.clone(), "kibus")),
        ] {
            prop_assert!(is_safe(&shown, style), "{shown:?}");
        }
    }

    /// A command is identified by its line.
    #[test]
    fn text_from_outside_begins_no_line(text in any_text()) {
        let (style, text) = (Style::default(), format!("x{text}"));
        let hint = Hint::command(text.clone(), "kibus verify");
        let error = Error::failed(text.clone()).note(text.clone()).hint_command(text.clone(), "kibus verify");
        let report = HubReport { warnings: vec![hint.clone()], ..HubReport::of(&scope()) };
        let json = crate::ui::Report::from(report).to_json();
        for (shown, lines) in [
            (warning(&Hint::text(text.clone()), style), 1),
            (warning(&Hint::command(text.clone(), "kibus verify"), style), 2),
            (super::error(&error, style), 4),
            (super::hint(&hint), 2),
            (json["hubs"][0]["warnings"][0].as_str().unwrap().to_owned(), 2),
        ] {
            prop_assert_eq!(shown.lines().count(), lines, "{}", shown);
        }
    }
}
