use crate::cli::hub::Context;
use crate::error::Error;
use crate::model::{BusName, FindingCode, GlobalOptions, Signal};
use crate::ui::json::{Explanation, HublessBody};
use crate::ui::{Report, text};

/// The page of every code, whose sections begin with it.
const FINDINGS: &str = include_str!("../../../docs/findings.md");
/// The page of every alarm, whose sections have its name without the bus and the rule.
const RUNBOOK: &str = include_str!("../../../docs/runbook.md");

/// Explain a finding or an alarm: what it means, what to check, and what to do. Works offline.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Code of a finding, such as K203, or name of an alarm, such as kibus-dead-letters or dead-letters [default: list both].
    #[arg(value_name = "CODE|ALARM", value_parser = topic)]
    topic: Option<Topic>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Topic {
    Code(FindingCode),
    /// A section of the runbook, with the bus and the cluster in the alarm's name.
    Alarm {
        section: &'static str,
        bus: Option<BusName>,
        cluster: Option<String>,
    },
}

fn topic(text: &str) -> Result<Topic, String> {
    if let Some(code) = FindingCode::ALL.iter().find(|code| code.as_str().eq_ignore_ascii_case(text)) {
        return Ok(Topic::Code(*code));
    }
    let of = |section, bus: &str, cluster: Option<&str>| {
        // The alarms of a rule have its name before the section.
        let rule = Signal::ALL.iter().find_map(|signal| bus.strip_suffix(&format!("-{}", signal.slug())));
        let (bus, cluster) = (rule.unwrap_or(bus).parse().ok(), cluster.map(str::to_owned));
        Topic::Alarm { section, bus, cluster }
    };
    let found = sections().find_map(|section| {
        let before = text.strip_suffix(section)?;
        if before.is_empty() { Some(of(section, "", None)) } else { Some(of(section, before.strip_suffix('-')?, None)) }
    });
    let reader = || text.split_once("-reader-").map(|(bus, cluster)| of("reader", bus, Some(cluster)));
    found
        .or_else(reader)
        .ok_or_else(|| "neither the code of a finding nor an alarm of kibus; `kibus explain` lists both".to_owned())
}

pub(super) async fn run(args: Args, context: &Context<'_>) -> Result<Report, Error> {
    let of_bus = |bus: Option<BusName>| Names {
        bus: bus.unwrap_or_else(|| context.global.bus.clone()),
        options: &context.global.reach,
    };
    let explanations: Vec<Explanation> = match &args.topic {
        Some(Topic::Code(code)) => vec![finding(*code, &of_bus(None))],
        Some(Topic::Alarm { section, bus, cluster }) => {
            let mut alarm = alarm(section, &of_bus(bus.clone()));
            if let Some(cluster) = cluster {
                alarm.text = alarm.text.replace("NAME", cluster);
            }
            vec![alarm]
        }
        None => {
            let mut codes = FindingCode::ALL.to_vec();
            codes.sort_by_key(|code| code.as_str());
            let names = of_bus(None);
            let alarms = sections().map(|section| alarm(section, &names));
            codes.into_iter().map(|code| finding(code, &names)).chain(alarms).collect()
        }
    };
    let line = |Explanation { title, text, .. }: &Explanation| match args.topic {
        Some(_) => format!("{title}\n\n{text}"),
        None => title.clone(),
    };
    let lines: Vec<String> = explanations.iter().map(line).collect();
    let ui = context.ui;
    ui.result(&text::sentences(&lines.join("\n"), ui.result_style()))?;
    Ok(HublessBody::Explanations(explanations).into())
}

fn finding(code: FindingCode, names: &Names<'_>) -> Explanation {
    // Every code has a section; a test checks this.
    let section = FINDINGS.split("\n### ").skip(1).find(|section| section.starts_with(code.as_str()));
    let (title, body) = section.and_then(|section| section.split_once('\n')).unwrap_or_default();
    let body = body.split("\n## ").next().unwrap_or(body);
    Explanation { code: code.as_str(), title: title.to_owned(), text: names.put_in(&paragraphs(body.trim())) }
}

pub(super) fn sections() -> impl Iterator<Item = &'static str> {
    RUNBOOK.split("\n## ").skip(1).filter_map(|section| section.lines().next())
}

fn alarm(section: &'static str, names: &Names<'_>) -> Explanation {
    let body = RUNBOOK.split("\n## ").find_map(|text| text.strip_prefix(section)?.strip_prefix('\n'));
    let text = names.put_in(&paragraphs(body.unwrap_or_default().trim()));
    let sentence = text.split([':', '.']).next().unwrap_or_default();
    let meaning = sentence.trim_start_matches("It means ").trim_start_matches("that ");
    let title = format!("{section}: {meaning}");
    let text = triage(section).map(|line| line + "\n\n").unwrap_or_default() + &text;
    Explanation { code: section, title, text }
}

/// The row of the table at the start of the runbook, as a sentence.
fn triage(section: &str) -> Option<String> {
    let link = format!("[{section}](#{section})");
    let row = RUNBOOK.lines().find(|line| line.starts_with('|') && line.contains(&link))?;
    let mut cells = row.trim_matches(['|', ' ']).split(" | ").skip(1);
    Some(format!("Events lost now: {}. Urgency: {}.", cells.next()?, cells.next()?))
}

/// Markdown as plain text: one line per paragraph, without markup.
fn paragraphs(markdown: &str) -> String {
    let mut code_block = false;
    let mut text = String::new();
    for line in markdown.lines() {
        if line.starts_with("```") {
            code_block = !code_block;
        } else if code_block {
            text.push_str(&format!("    {line}\n"));
        } else if line.is_empty() {
            text.truncate(text.trim_end().len());
            text.push_str("\n\n");
        } else {
            text.push_str(&line.replace("**", ""));
            text.push(' ');
        }
    }
    text.trim_end().to_owned()
}

/// The bus and the Region that commands and names are for.
struct Names<'a> {
    bus: BusName,
    options: &'a GlobalOptions,
}

impl Names<'_> {
    /// Replaces the names in the pages with them, and links with the commands for the linked sections.
    fn put_in(&self, text: &str) -> String {
        let lines = text.lines().map(|line| match line.strip_prefix("    ") {
            Some(command) => format!("    {}", self.command(command)),
            None => {
                let spans = unlinked(line);
                let spans = spans.split('`').enumerate();
                let spans = spans.map(|(at, span)| if at % 2 == 1 { self.command(span) } else { span.to_owned() });
                spans.collect::<Vec<_>>().join("`")
            }
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    fn command(&self, text: &str) -> String {
        let is_default = self.bus.as_str() == "kibus";
        if let Some(arguments) = text.strip_prefix("kibus ") {
            let is_of_bus = !arguments.starts_with("explain ");
            return self.options.kibus((is_of_bus && !is_default).then_some(&self.bus), arguments);
        }
        let region = self.options.region.as_ref().map_or_else(String::new, |region| format!(" --region {region}"));
        text.replace("kibus-", &format!("{}-", self.bus)).replace("aws ", &format!("aws{region} "))
    }
}

/// The text of links. A link within the runbook becomes the name of its section, which `kibus explain` accepts.
fn unlinked(line: &str) -> String {
    let Some((before, after)) = line.split_once("](") else { return line.to_owned() };
    let (start, text) = before.rsplit_once('[').unwrap_or((before, ""));
    let (target, rest) = after.split_once(')').unwrap_or_default();
    let section = target.strip_prefix('#').map_or_else(String::new, |section| format!(" (`kibus explain {section}`)"));
    format!("{start}{text}{section}{}", unlinked(rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_explained() {
        let names = Names { bus: "kibus".parse().unwrap(), options: &GlobalOptions::default() };
        for code in FindingCode::ALL {
            let Explanation { title, text, .. } = finding(*code, &names);
            assert!(title.starts_with(code.as_str()) && text.contains("Fix:"), "{title}");
        }
    }

    #[test]
    fn every_alarm_has_an_urgency() {
        for section in sections().filter(|section| *section != "keep-nodes-safe") {
            assert!(
                triage(section).is_some_and(|line| line.contains("Urgency: page") || line.contains("ticket")),
                "{section}"
            );
        }
    }

    #[test]
    fn a_topic_is_a_code_or_an_alarm_of_any_bus() {
        let alarm = |section, bus: &str, cluster: &str| {
            let cluster = Some(cluster.to_owned()).filter(|cluster| !cluster.is_empty());
            Ok(Topic::Alarm { section, bus: bus.parse().ok(), cluster })
        };
        for (text, expected) in [
            ("k203", Ok(Topic::Code(FindingCode::ALL.iter().copied().find(|code| code.as_str() == "K203").unwrap()))),
            ("dead-letters", alarm("dead-letters", "", "")),
            ("kibus-dead-letters", alarm("dead-letters", "kibus", "")),
            ("blue-green-in-flight", alarm("in-flight", "blue-green", "")),
            ("blue-spot-interruption-sent-to-dlq", alarm("sent-to-dlq", "blue", "")),
            ("blue-reader-tenant-1", alarm("reader", "blue", "tenant-1")),
            ("keep-nodes-safe", alarm("keep-nodes-safe", "", "")),
        ] {
            assert_eq!(topic(text), expected, "{text}");
        }
        for other in ["K999", "", "cpu-high", "kibus-dead", "xlost"] {
            assert!(topic(other).unwrap_err().starts_with("neither"), "{other}");
        }
    }

    #[test]
    fn paragraphs_become_lines() {
        let markdown = "One\nparagraph.\n\n**Fix** this:\n\n```\nrun it\n```";
        assert_eq!(paragraphs(markdown), "One paragraph.\n\nFix this:\n\n    run it");
    }

    #[test]
    fn names_and_commands_are_those_of_the_bus() {
        let options = GlobalOptions { region: Some("eu-west-1".parse().unwrap()), ..GlobalOptions::default() };
        let names = Names { bus: "blue".parse().unwrap(), options: &options };
        let text = "Run `kibus verify`, then see [lost](#lost) and [why](router.md#x).\n    aws sqs list-queues --queue-name-prefix kibus-hub";
        let expected = "Run `kibus verify --bus blue --region eu-west-1`, then see lost (`kibus explain lost --region eu-west-1`) and why.\n    \
                        aws --region eu-west-1 sqs list-queues --queue-name-prefix blue-hub";
        assert_eq!(names.put_in(text), expected);
    }
}
