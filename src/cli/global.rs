//! Options that every command takes.

use std::ffi::OsString;
use std::io::{self, Write};

use clap::builder::BoolishValueParser;
use clap::{ArgAction, Args};
use tracing_subscriber::EnvFilter;

use super::address::HubAddress;
use crate::error::{Error, excerpt, quoted};
use crate::model::options::Bounded;
use crate::ui::text::escape;
use crate::ui::{Color, Output};

/// How many characters of a refused argument are shown.
const SHOWN: usize = 200;

/// Options that every command takes.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Global options", mut_args(|arg| arg.global(true).hide_short_help(true)))]
pub(super) struct Global {
    #[command(flatten)]
    pub(super) hub: HubAddress,
    /// Format of standard output: text, or one JSON document.
    #[arg(long, short = 'o', env = "KIBUS_OUTPUT", default_value = "text")]
    pub(super) output: Output,
    /// Color text.
    #[arg(long, env = "KIBUS_COLOR", default_value = "auto")]
    pub(super) color: Color,
    /// Maximum number of concurrent calls to AWS, from 1 to 64; where AWS throttles, kibus slows down by itself.
    #[arg(long, env = "KIBUS_CONCURRENCY", value_name = "N", default_value = "32")]
    pub(super) concurrency: Bounded<1, 64>,
    /// Print only results and errors.
    #[arg(long, short = 'q')]
    pub(super) quiet: bool,
    /// Never ask; without --yes, exit with 3 instead.
    #[arg(long)]
    pub(super) no_input: bool,
    /// Use the sandbox (see `kibus sandbox`) instead of AWS.
    #[arg(long, env = "KIBUS_SANDBOX", conflicts_with_all = ["profile", "endpoint_url"],
        num_args = 0..=1, default_missing_value = "true", default_value = "false", require_equals = true,
        value_name = "BOOL", value_parser = BoolishValueParser::new(), action = ArgAction::Set,
        hide_default_value = true, hide_possible_values = true)]
    pub(super) sandbox: bool,
    /// Print more: -v shows every document of a plan, -vv also every call to AWS.
    #[arg(long, short = 'v', action = ArgAction::Count)]
    pub(super) verbose: u8,
}

impl Global {
    /// How the hub is reached that these options name.
    pub(super) fn address(&self) -> HubAddress {
        HubAddress {
            sandbox: self.sandbox,
            ..self.hub.clone()
        }
    }
}

/// Starts the log on standard error: with `-vv` the calls to AWS, or what the filter in `KIBUS_LOG` selects.
pub(super) fn start_log(verbose: u8) {
    let default = if verbose >= 2 { "kibus=debug" } else { "off" };
    let set = std::env::var("KIBUS_LOG").ok().filter(|filter| !filter.is_empty());
    let filter = set
        .and_then(|filter| EnvFilter::try_new(filter).ok())
        .unwrap_or_else(|| EnvFilter::new(default));
    // A second start in one process, as in tests, keeps the first log.
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(|| EscapedStderr)
        .with_ansi(false)
        .without_time()
        .try_init();
}

/// Standard error for log lines, which hold names and error codes from outside.
struct EscapedStderr;

impl Write for EscapedStderr {
    /// Takes a whole line.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(line);
        writeln!(io::stderr().lock(), "{}", escape(text.trim_end_matches('\n')))?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

/// The first argument that cannot be shown and copied as it is: with a control character, or not UTF-8.
pub(super) fn unprintable(args: &[OsString]) -> Option<Error> {
    let mut after_the_name = args.iter().skip(1);
    let bad = after_the_name.find(|arg| arg.to_str().is_none_or(|text| escape(text) != text))?;
    let shown = excerpt(&escape(&bad.to_string_lossy()), SHOWN);
    Some(Error::usage(format!(
        "argument `{shown}` has a control character, or is not UTF-8"
    )))
}

/// The command line, quoted for a shell. No name begins with `-`, so it goes without `--`, and options can be added.
pub(super) fn command_line(args: &[OsString]) -> String {
    let words = args.iter().skip(1).filter(|arg| *arg != "--");
    let words = words.map(|arg| quoted(&arg.to_string_lossy()));
    let words: Vec<String> = std::iter::once("kibus".to_owned()).chain(words).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_can_be_typed_again() {
        let args = ["/usr/bin/kibus", "add-cluster", "--tag=a=b c", "--", "it's", ""].map(OsString::from);
        assert_eq!(command_line(&args), r"kibus add-cluster '--tag=a=b c' 'it'\''s' ''");
    }
}
