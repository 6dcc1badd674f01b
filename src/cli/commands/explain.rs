use crate::cli::hub::Context;
use crate::error::Error;
use crate::model::FindingCode;
use crate::ui::json::{Explanation, HublessBody};
use crate::ui::{Report, text};

/// The page of every code.
const PAGE: &str = include_str!("../../../docs/findings.md");

/// Explain a finding: what it means, what to do if you are paged, and how to fix it.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Code of a finding, such as K203 [default: list the codes].
    #[arg(value_name = "CODE", value_parser = code)]
    code: Option<FindingCode>,
}

fn code(text: &str) -> Result<FindingCode, String> {
    let found = FindingCode::ALL.iter().find(|code| code.as_str().eq_ignore_ascii_case(text));
    found.copied().ok_or_else(|| "no finding has this code; `kibus explain` lists the codes".to_owned())
}

pub(super) async fn run(args: Args, context: &Context<'_>) -> Result<Report, Error> {
    let mut explanations: Vec<Explanation> = match args.code {
        Some(code) => vec![explanation(code)],
        None => FindingCode::ALL.iter().copied().map(explanation).collect(),
    };
    explanations.sort_by_key(|one| one.code);
    let line = |Explanation { title, text, .. }: &Explanation| match args.code {
        Some(_) => format!("{title}\n\n{text}"),
        None => title.clone(),
    };
    let lines: Vec<String> = explanations.iter().map(line).collect();
    let ui = context.ui;
    ui.result(&text::sentences(&lines.join("\n"), ui.result_style()))?;
    Ok(HublessBody::Explanations(explanations).into())
}

fn explanation(code: FindingCode) -> Explanation {
    let (title, body) = section(code).unwrap_or_default();
    Explanation { code: code.as_str(), title: title.to_owned(), text: paragraphs(body) }
}

/// The title and text of a code's section. Every code has one, which a test holds.
fn section(code: FindingCode) -> Option<(&'static str, &'static str)> {
    let section = PAGE.split("\n### ").skip(1).find(|section| section.starts_with(code.as_str()))?;
    let (title, body) = section.split_once('\n')?;
    Some((title, body.split("\n## ").next().unwrap_or(body).trim()))
}

/// Markdown as plain text: a line for each paragraph, without marks.
fn paragraphs(markdown: &str) -> String {
    let mut code_block = false;
    let mut text = String::new();
    for line in markdown.lines() {
        if line.starts_with("```") {
            code_block = !code_block;
        } else if code_block {
            text.push_str(&format!("    {line}\n"));
        } else if line.is_empty() {
            text.truncate(text.trim_end_matches(' ').len());
            text.push_str("\n\n");
        } else {
            text.push_str(&line.replace("**", ""));
            text.push(' ');
        }
    }
    text.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_explained() {
        let has_title = |code: &FindingCode| section(*code).is_some_and(|(title, _)| title.starts_with(code.as_str()));
        assert!(FindingCode::ALL.iter().all(has_title));
    }

    #[test]
    fn paragraphs_become_lines() {
        let markdown = "One\nparagraph.\n\n**Fix** this:\n\n```\nrun it\n```";
        assert_eq!(paragraphs(markdown), "One paragraph.\n\nFix this:\n\n    run it");
    }
}
