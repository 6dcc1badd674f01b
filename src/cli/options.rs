//! The flags of saved options, from the tables in `model::options`.

use std::marker::PhantomData;

use clap::builder::BoolishValueParser;
use clap::{Arg, ArgAction, ArgMatches, Command, FromArgMatches};

use crate::error::Error;
use crate::model::name::NameError;
use crate::model::options::{BadValue, DocumentFor, OptionKey, Row, Words};

/// What options are given for: to save them, or for a document.
pub(in crate::cli) trait Purpose: Send + Sync + 'static {
    /// The document that depends on them; none if all of them are saved.
    const DOCUMENT: Option<DocumentFor>;
}

/// To save all options.
#[derive(Debug)]
pub(in crate::cli) enum Save {}
/// For the document of the router or a controller.
#[derive(Debug)]
pub(in crate::cli) enum ForReader {}
/// For the document of an operator.
#[derive(Debug)]
pub(in crate::cli) enum ForOperator {}

impl Purpose for Save {
    const DOCUMENT: Option<DocumentFor> = None;
}

impl Purpose for ForReader {
    const DOCUMENT: Option<DocumentFor> = Some(DocumentFor::Reader);
}

impl Purpose for ForOperator {
    const DOCUMENT: Option<DocumentFor> = Some(DocumentFor::BoundedOperator);
}

/// The options that are given for a purpose, each with its help.
fn flags<K: OptionKey>(document: Option<DocumentFor>) -> Vec<(K, String)> {
    let Some(document) = document else {
        // What `none` means is in the help itself.
        let help = |row: &Row| match row.default.filter(|default| *default != "none") {
            Some(default) => format!("{} [default: {default}]", row.help),
            None => row.help.to_owned(),
        };
        return K::ALL.iter().map(|option| (*option, help(option.row()))).collect();
    };
    let in_document = |option: &K| {
        let row = option.row();
        let documents = row.documents.filter(|documents| documents.from <= document)?;
        let help = match row.default {
            Some(default) => format!("{} [default: the saved option, else {default}]", documents.help),
            None => documents.help.to_owned(),
        };
        // The options of every document come last.
        Some(((documents.from == DocumentFor::Reader, row.opens()), (*option, help)))
    };
    let mut flags: Vec<_> = K::ALL.iter().filter_map(in_document).collect();
    flags.sort_by_key(|(place, _)| *place);
    flags.into_iter().map(|(_, flag)| flag).collect()
}

/// The options of a table that were given.
#[derive(Debug)]
pub(in crate::cli) struct Given<K: OptionKey, P: Purpose = Save>(Vec<(K, Vec<String>)>, PhantomData<P>);

impl<K: OptionKey, P: Purpose> Given<K, P> {
    /// The options that were given. Values that are valid alone may not be valid together.
    pub(in crate::cli) fn options(self) -> Result<K::Options, Error> {
        let mut options = K::Options::default();
        for (option, words) in self.0 {
            option.set(&mut options, &words).map_err(invalid)?;
        }
        Ok(options)
    }
}

fn invalid(bad: BadValue) -> Error {
    match bad.downcast::<NameError>() {
        Ok(name) => (*name).into(),
        Err(other) => Error::usage(other.to_string()),
    }
}

impl<K: OptionKey, P: Purpose> clap::Args for Given<K, P> {
    fn augment_args(command: Command) -> Command {
        let flags = flags::<K>(P::DOCUMENT).into_iter();
        command.args(flags.map(|(option, help)| arg(option, help)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

fn arg<K: OptionKey>(option: K, help: String) -> Arg {
    let row = option.row();
    let arg = Arg::new(row.flag).long(row.flag).env(row.variable()).help(help);
    let arg = arg.hide_short_help(!row.in_short_help);
    let valid = move |word: &str| {
        let word = word.to_owned();
        option.set(&mut K::Options::default(), std::slice::from_ref(&word))?;
        Ok::<String, BadValue>(word)
    };
    match row.value {
        Words::One(name) => arg.value_name(name).value_parser(valid),
        Words::Many(name) => arg
            .value_name(name)
            .action(ArgAction::Append)
            .value_delimiter(',')
            .value_parser(valid),
        Words::Switch => switch(arg),
    }
}

/// An option that is `true` or `false`; the flag without a value is `true`.
fn switch(arg: Arg) -> Arg {
    arg.value_name("BOOL")
        .num_args(0..=1)
        .require_equals(true)
        .default_missing_value("true")
        .value_parser(BoolishValueParser::new())
        .hide_possible_values(true)
}

impl<K: OptionKey, P: Purpose> FromArgMatches for Given<K, P> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let given = |(option, _): (K, String)| {
            let Row { flag, value, .. } = *option.row();
            let words = match value {
                Words::One(_) | Words::Many(_) => matches.get_many::<String>(flag)?.cloned().collect(),
                Words::Switch => vec![matches.get_one::<bool>(flag)?.to_string()],
            };
            Some((option, words))
        };
        let flags = flags::<K>(P::DOCUMENT).into_iter();
        Ok(Self(flags.filter_map(given).collect(), PhantomData))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
