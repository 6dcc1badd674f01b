//! Completion in a shell. The printed script calls kibus with the words of the command line whenever the user requests
//! completion. Nothing here writes an error: someone who is typing wants candidates, or silence.

use std::any::TypeId;
use std::ffi::{OsStr, OsString};
use std::fmt::Display;
use std::path::PathBuf;
use std::process;
use std::time::Duration;

use clap::{Arg, Command, CommandFactory, FromArgMatches};
use clap_complete::Shell;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use clap_complete::env::{CompleteEnv, Shells};
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;

use super::explain::{Topic, sections};
use crate::aws::{self, AwsCloud};
use crate::cli::global::Global;
use crate::cli::hub::Context;
use crate::cli::{Cli, parse};
use crate::error::{Error, quoted};
use crate::model::{BusName, ClusterName, FindingCode, Region, region::REGIONS};
use crate::survey::{self, Query, Survey};
use crate::ui::Report;

/// The variable that names the shell.
const VARIABLE: &str = "KIBUS_COMPLETE";
/// The variable in which the scripts of some shells pass the index of the word to complete. In other shells it is the last.
const INDEX: &str = "_CLAP_COMPLETE_INDEX";
/// How long completion waits for AWS.
const LONGEST: Duration = Duration::from_secs(1);

/// Print a shell script that completes commands, options and names.
///
/// The script completes clusters, buses, Regions, profiles and codes of findings. Kibus reads clusters and buses from AWS,
/// with the global options of the command line, within one second. If that fails, it offers none and prints no error.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Shell to generate the script for.
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

pub(super) async fn run(args: Args, context: &Context<'_>) -> Result<Report, Error> {
    context.ui.only_text()?;
    let called = std::env::args_os().next().unwrap_or_else(|| OsString::from("kibus"));
    context.ui.out(script(args.shell, &called)?.trim())?;
    Ok(Report::default())
}

/// The script that makes a shell complete the program that was called with this path. If it was called by name, the
/// script finds it in `PATH` again; a path becomes absolute.
fn script(shell: Shell, called: &OsStr) -> Result<String, Error> {
    let path = PathBuf::from(called);
    let name = path.file_name().unwrap_or(called).to_string_lossy().into_owned();
    let program = match path.components().count() {
        1 => path,
        _ => std::path::absolute(&path).unwrap_or(path),
    };
    let mut script = Vec::new();
    Shells::builtins()
        .completer(&shell.to_string())
        .ok_or_else(|| Error::failed(format!("kibus has no completion for {shell}")))?
        .write_registration(VARIABLE, "kibus", &name, &program.to_string_lossy(), &mut script)
        .map_err(|e| Error::failed("cannot generate the script").note(e.to_string()))?;
    let script = String::from_utf8_lossy(&script);
    Ok(match shell {
        // clap puts a path that it has quoted between double quotes.
        Shell::Bash => script.replace("\"'", "'").replace("'\" --", "' --"),
        _ => script.into_owned(),
    })
}

/// Writes the candidates and returns the exit code if a script requests them: it sets the variable and puts `--` before
/// the words. No other command line begins with `--`.
pub(in crate::cli) fn answer(args: &[OsString]) -> Option<u8> {
    std::env::var_os(VARIABLE)?;
    let [_, escape, words @ ..] = args else { return None };
    if escape != "--" {
        return None;
    }
    let words: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    if !words.is_empty() {
        let index = std::env::var(INDEX).ok().and_then(|index| index.parse().ok());
        let line = CommandWords::new(words, index);
        let complete = CompleteEnv::with_factory(|| line.command()).var(VARIABLE);
        // The shell is not one that clap supports, or it has closed the pipe.
        let _ = complete.try_complete(args, std::env::current_dir().ok().as_deref());
    }
    Some(0)
}

/// The words of a command line, the name of the program first, and the index of the one to complete.
#[derive(Clone)]
struct CommandWords {
    words: Vec<String>,
    index: usize,
}

impl CommandWords {
    /// A shell may leave out an empty last word.
    fn new(mut words: Vec<String>, index: Option<usize>) -> Self {
        let index = index.unwrap_or(words.len().saturating_sub(1)).min(words.len());
        if index == words.len() {
            words.push(String::new());
        }
        Self { words, index }
    }

    /// The command with candidates for the values of its arguments. It hides the options unless the user has started to
    /// type one: a shell would list them after every list of names.
    fn command(&self) -> Command {
        fn every(command: Command, line: &CommandWords) -> Command {
            command.mut_args(|arg| line.argument(arg)).mut_subcommands(|below| every(below, line))
        }
        let mut kibus = Cli::command();
        // Only a built command has `--help`, and the global options in every place.
        kibus.build();
        every(kibus, self)
    }

    fn argument(&self, mut arg: Arg) -> Arg {
        let typed = &self.words[self.index];
        if let Some(find) = finder(&arg) {
            let line = self.clone();
            arg = arg.add(ArgValueCompleter::new(move |typed: &OsStr| line.candidates(find, typed)));
        }
        // For an option that takes a value only after `=`, the next word is not the value.
        if arg.is_require_equals_set() && !typed.contains('=') {
            arg = arg.num_args(0);
        }
        arg.hide(!typed.starts_with('-'))
    }

    /// The candidates that begin with what was typed and are not on the line yet. The program itself may have the same name as a bus.
    fn candidates(&self, find: Finder, typed: &OsStr) -> Vec<CompletionCandidate> {
        let Some(typed) = typed.to_str().filter(|typed| !typed.starts_with('-')) else {
            return Vec::new();
        };
        let mut others = self.words.clone();
        others[self.index].clear();
        let mut found = find(self);
        found.retain(|candidate| {
            let value = candidate.get_value().to_string_lossy();
            value.starts_with(typed) && !others.iter().skip(1).any(|word| *word == value)
        });
        found
    }

    /// Requests names from AWS; none if there is no answer within a second.
    fn ask<T: Display>(&self, read: impl AsyncFnOnce(&Global) -> Option<Vec<T>>) -> Vec<CompletionCandidate> {
        let mut words = self.words.clone();
        let typed = &mut words[self.index];
        if typed.is_empty() || typed.ends_with('=') {
            // A valid name of a cluster and of a bus: the whole line is parsed.
            typed.push('x');
        }
        let (Some(global), Some(runtime)) = (global(&words), runtime()) else {
            return Vec::new();
        };
        let names = runtime.block_on(async { timeout(LONGEST, read(&global)).await });
        if names.is_err() {
            // A `credential_process` that waits for input would otherwise read what the user types next.
            let mut kill = process::Command::new("pkill");
            kill.args(["-KILL", "-P", &process::id().to_string()]).stderr(process::Stdio::null());
            let _ = kill.status();
        }
        // A DNS lookup may still be running.
        runtime.shutdown_background();
        let names = names.ok().flatten().unwrap_or_default();
        names.iter().map(|name| CompletionCandidate::new(name.to_string())).collect()
    }
}

/// Finds the values of an argument.
type Finder = fn(&CommandWords) -> Vec<CompletionCandidate>;

/// The type of an argument's value decides, so a new argument has candidates at once. Any text is a profile.
fn finder(arg: &Arg) -> Option<Finder> {
    let is = |of: TypeId| arg.get_value_parser().type_id() == of;
    let finders: [(bool, Finder); 5] = [
        (is(TypeId::of::<ClusterName>()), |line| line.ask(clusters)),
        (is(TypeId::of::<BusName>()), |line| line.ask(buses)),
        (is(TypeId::of::<Region>()), |_| REGIONS.map(CompletionCandidate::new).into()),
        (is(TypeId::of::<Topic>()), |_| {
            let codes = FindingCode::ALL.iter();
            let candidate =
                |code: &FindingCode| CompletionCandidate::new(code.as_str()).help(Some(code.meaning().into()));
            codes.map(candidate).chain(sections().map(CompletionCandidate::new)).collect()
        }),
        (arg.get_id() == "profile", |_| {
            let profiles = runtime().map_or_else(Vec::new, |runtime| runtime.block_on(aws::profiles()));
            // A candidate becomes part of the line as it is.
            let plain = profiles.into_iter().filter(|name| quoted(name) == *name);
            plain.map(CompletionCandidate::new).collect()
        }),
    ];
    finders.into_iter().find_map(|(fits, find)| fits.then_some(find))
}

/// The buses of the account and Region.
async fn buses(global: &Global) -> Option<Vec<BusName>> {
    let session = global.connect(&|_| {}).await.ok()?;
    let (buses, _) = survey::buses(&AwsCloud::new(&session, global.bus.clone())).await.ok()?;
    Some(buses.into_iter().collect())
}

/// The registered clusters of the bus.
async fn clusters(global: &Global) -> Option<Vec<ClusterName>> {
    let session = global.connect(&|_| {}).await.ok()?;
    let cloud = AwsCloud::new(&session, global.bus.clone());
    let survey = Survey::new(session.scope(global.bus.clone()));
    let guess = Query { records: true, ..Query::default() };
    let pass = |survey: &Survey| survey.records().is_asked();
    let limit = global.concurrency.get() as usize;
    let (survey, _) = survey::survey(&cloud, survey, limit, guess, &|_| {}, pass).await.ok()?;
    Some(survey.recorded().into_keys().collect())
}

/// The global options of a command line, whatever else is wrong with it. Bash splits words at `=` and `:`: with
/// `--bus=two` as three words, the names would come from another bus.
fn global(words: &[String]) -> Option<Global> {
    let line = words.join("\n").replace("\n=\n", "=").replace("\n:\n", ":");
    let command = parse::command(Cli::command()).ignore_errors(true);
    let matches = command.try_get_matches_from(line.split('\n')).ok()?;
    Global::from_arg_matches(&matches).ok()
}

fn runtime() -> Option<Runtime> {
    Builder::new_current_thread().enable_all().build().ok()
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;

    use super::*;

    /// The candidates for the end of a command line, each with its help.
    fn complete(line: &str) -> Vec<String> {
        let line = CommandWords::new(line.split(' ').map(str::to_owned).collect(), None);
        let words = line.words.iter().map(OsString::from).collect();
        let mut text = Vec::new();
        let shells = Shells::builtins();
        let fish = shells.completer("fish").unwrap();
        let _ = fish.write_complete(&mut line.command(), words, None, &mut text);
        String::from_utf8(text).unwrap().lines().map(str::to_owned).collect()
    }

    fn values(line: &str) -> Vec<String> {
        let found = complete(line);
        let value = |candidate: &String| candidate.split('\t').next().unwrap().to_owned();
        found.iter().map(value).collect()
    }

    #[test]
    fn a_word_has_the_candidates_of_its_place() {
        for (line, expected) in [
            ("kibus remo", &["remove-cluster"][..]),
            ("kibus policy ", &["operator", "router", "controller", "help"]),
            ("kibus --region us-w", &["us-west-1", "us-west-2"]),
            ("kibus --region=us-gov-", &["--region=us-gov-east-1", "--region=us-gov-west-1"]),
            ("kibus list --region us-west-2 --output ", &["text", "json"]),
            ("kibus explain K10", &["K101", "K102", "K103", "K104", "K105", "K106", "K107", "K108"]),
            ("kibus explain dead", &["dead-letters"]),
            ("kibus completions ", &["bash", "elvish", "fish", "powershell", "zsh"]),
            ("kibus list --end", &["--endpoint-url"]),
            // Only `=` begins the value of a boolean.
            ("kibus --sandbox lis", &["list"]),
            ("kibus list --sandbox=", &["--sandbox=true", "--sandbox=false"]),
            ("kibus policy router x", &[]),
        ] {
            assert_eq!(values(line), expected, "{line}");
        }
    }

    #[test]
    fn options_are_shown_where_one_begins_and_a_code_has_its_meaning() {
        let without = values("kibus ");
        assert!(without.contains(&"add-cluster".to_owned()), "{without:?}");
        assert!(!without.iter().any(|value| value.starts_with('-')), "{without:?}");
        let options = values("kibus status --");
        assert!(options.iter().all(|value| value.starts_with('-')), "{options:?}");
        for option in ["--region", "--help"] {
            assert!(options.contains(&option.to_owned()), "{option}: {options:?}");
        }
        assert_eq!(complete("kibus explain K108"), ["K108\tevents of this kind reach no cluster at all"]);
    }

    #[test]
    fn a_script_calls_the_program_that_printed_it() {
        for shell in Shell::value_variants() {
            for (called, name, program) in
                [("kibus", "kibus", "kibus"), ("/opt/kibus-0.3/kibus-next", "kibus-next", "/opt/kibus-0.3/kibus-next")]
            {
                let script = script(*shell, OsStr::new(called)).unwrap();
                for text in [program, " -- ", name, VARIABLE] {
                    assert!(script.contains(text), "no {text} in {script}");
                }
            }
        }
        let script = script(Shell::Bash, OsStr::new("/opt/a folder/kibus")).unwrap();
        assert!(script.contains("\n        '/opt/a folder/kibus' -- "), "{script}");
    }

    #[test]
    fn a_shell_may_leave_out_an_empty_word() {
        let words = || vec!["kibus".to_owned(), "status".to_owned()];
        for (index, current) in [(None, "status"), (Some(1), "status"), (Some(2), ""), (Some(9), "")] {
            let line = CommandWords::new(words(), index);
            assert_eq!(line.words[line.index], current, "{index:?}");
        }
    }

    #[test]
    fn an_incomplete_line_has_its_global_options() {
        for line in [
            "kibus --bus b --region eu-west-1 --profile p status x",
            "kibus status x --bus b --region=eu-west-1 --profile p",
            "kibus status x --bus = b --region = eu-west-1 --profile p --endpoint-url = http : //127.0.0.1 : 4566",
            "kibus --bus b add-cluster --region eu-west-1 a --profile p --controller-role",
            "kibus --bus b remove-cluster x --region eu-west-1 --profile p --unknown",
            "kibus --bus b --region eu-west-1 --profile p",
            "kibus --bus b --region eu-west-1 --profile p policy controller",
        ] {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            let Global { bus, reach, .. } = global(&words).unwrap();
            let region = reach.region.as_ref().map(|region| region.as_str());
            assert_eq!((bus.as_str(), region, reach.profile.as_deref()), ("b", Some("eu-west-1"), Some("p")), "{line}");
        }
    }
}
