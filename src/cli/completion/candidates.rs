//! What can stand in a place of the command line. The type of an argument's value decides its candidates, so a new argument
//! has them at once.

use std::any::TypeId;
use std::ffi::OsStr;

use clap::{Arg, Command};
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};

use super::line::Line;
use super::names::{self, Names};
use crate::error::quoted;
use crate::model::finding_code::FindingCode;
use crate::model::name::{BusName, ClusterName, Region};
use crate::model::region::REGIONS;

/// Where candidates come from.
#[derive(Clone, Copy, Debug)]
enum Source {
    /// Names that AWS is asked for.
    Names(Names),
    Regions,
    Profiles,
    Codes,
}

/// The command with candidates for the values of its arguments. It hides the options unless one was begun: a shell would
/// list them after every list of names.
pub(super) fn add_to(mut kibus: Command, line: &Line) -> Command {
    fn every(command: Command, line: &Line) -> Command {
        command
            .mut_args(|arg| argument(arg, line))
            .mut_subcommands(|below| every(below, line))
    }
    // Only a built command has `--help`, and the global options in every place.
    kibus.build();
    every(kibus, line)
}

fn argument(mut arg: Arg, line: &Line) -> Arg {
    if let Some(source) = source(&arg) {
        let line = line.clone();
        arg = arg.add(ArgValueCompleter::new(move |typed: &OsStr| {
            source.candidates(typed, &line)
        }));
    }
    // The next word is no value of an option that takes one only after `=`.
    if arg.is_require_equals_set() && !line.current().contains('=') {
        arg = arg.num_args(0);
    }
    let is_option = line.current().starts_with('-');
    arg.hide(!is_option)
}

fn source(arg: &Arg) -> Option<Source> {
    // Any text is a profile.
    if arg.get_id() == "profile" {
        return Some(Source::Profiles);
    }
    let value = arg.get_value_parser().type_id();
    let sources = [
        (TypeId::of::<ClusterName>(), Source::Names(Names::Clusters)),
        (TypeId::of::<BusName>(), Source::Names(Names::Buses)),
        (TypeId::of::<Region>(), Source::Regions),
        (TypeId::of::<FindingCode>(), Source::Codes),
    ];
    sources
        .into_iter()
        .find_map(|(of, source)| (value == of).then_some(source))
}

impl Source {
    /// The candidates that begin with what was typed and are not on the line yet.
    fn candidates(self, typed: &OsStr, line: &Line) -> Vec<CompletionCandidate> {
        let Some(typed) = typed.to_str().filter(|typed| !typed.starts_with('-')) else {
            return Vec::new();
        };
        let mut candidates: Vec<(String, Option<&str>)> = match self {
            Self::Names(names) => bare(names.ask(line)),
            Self::Regions => bare(REGIONS.map(str::to_owned)),
            // A candidate becomes part of the line as it is.
            Self::Profiles => bare(names::profiles().into_iter().filter(|name| quoted(name) == *name)),
            Self::Codes => FindingCode::ALL
                .iter()
                .map(|code| (code.as_str().to_owned(), Some(code.meaning())))
                .collect(),
        };
        candidates.retain(|(value, _)| value.starts_with(typed) && !line.contains(value));
        let candidate =
            |(value, help): (String, Option<&'static str>)| CompletionCandidate::new(value).help(help.map(Into::into));
        candidates.into_iter().map(candidate).collect()
    }
}

fn bare(values: impl IntoIterator<Item = String>) -> Vec<(String, Option<&'static str>)> {
    values.into_iter().map(|value| (value, None)).collect()
}
