//! Options that every command accepts, and how they reach a hub.

use std::ffi::OsString;
use std::io::{self, Write};

use clap::{Arg, ArgAction, Args};
use tracing_subscriber::EnvFilter;

use crate::aws::{Connect, Session};
use crate::error::{Error, excerpt, quoted};
use crate::model::{Bounded, BusName, GlobalOptions};
use crate::sandbox::{DEFAULT_REGION, Sandbox};
use crate::ui::text::escape;
use crate::ui::{Color, Output};

/// How many characters of a rejected argument are shown.
const SHOWN: usize = 200;

/// Options that every command accepts.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Global options", mut_args(of_every_command))]
pub(super) struct Global {
    /// Name of the bus; the names of its resources begin with it.
    #[arg(long, env = "KIBUS_BUS", default_value = "kibus")]
    pub(super) bus: BusName,
    /// Whether the command line names the bus, and not a variable or the default.
    #[arg(skip)]
    pub(super) names_bus: bool,
    #[command(flatten)]
    pub(super) reach: GlobalOptions,
    /// Format of standard output: text, or one JSON document.
    #[arg(long, short = 'o', env = "KIBUS_OUTPUT", default_value = "text")]
    pub(super) output: Output,
    /// When to color text.
    #[arg(long, env = "KIBUS_COLOR", default_value = "auto")]
    pub(super) color: Color,
    /// Maximum number of concurrent calls to AWS, from 1 to 64; if AWS throttles calls, kibus slows down by itself.
    #[arg(long, env = "KIBUS_CONCURRENCY", value_name = "N", default_value = "32")]
    pub(super) concurrency: Bounded<1, 64>,
    /// Print only results and errors.
    #[arg(long, short = 'q')]
    pub(super) quiet: bool,
    /// Never prompt; without --yes, exit with 3 instead.
    #[arg(long)]
    pub(super) no_input: bool,
    /// Print more: -v shows every document in a plan, -vv also shows every call to AWS.
    #[arg(long, short = 'v', action = ArgAction::Count)]
    pub(super) verbose: u8,
}

fn of_every_command(arg: Arg) -> Arg {
    let arg = arg.global(true).hide_short_help(true);
    match arg.get_id().as_str() {
        "profile" => arg.value_parser(printable),
        "endpoint_url" => arg.value_parser(endpoint_url),
        _ => arg,
    }
}

fn printable(text: &str) -> Result<String, &'static str> {
    if escape(text) == text { Ok(text.to_owned()) } else { Err("it contains a control character") }
}

fn endpoint_url(text: &str) -> Result<String, &'static str> {
    let rest = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
    match rest {
        Some(rest) if !rest.is_empty() => printable(text),
        _ => Err("an endpoint must be http:// or https:// and a host"),
    }
}

impl Global {
    /// Gets the caller's identity from AWS or the sandbox. Reports if it throttles the call.
    pub(super) async fn connect(&self, slowed: &dyn Fn(&str)) -> Result<Session, Error> {
        let connect = if self.reach.sandbox {
            let endpoint = Sandbox::open()?.endpoint().await?;
            let region = self.reach.region.clone().map_or_else(|| DEFAULT_REGION.parse(), Ok)?;
            let session_token = Some(endpoint.secret.as_str().to_owned());
            Connect { session_token, ..Connect::to_emulator(region, endpoint.url()) }
        } else {
            Connect {
                options: self.reach.clone(),
                allow_http: std::env::var("KIBUS_ALLOW_HTTP").is_ok_and(|allow| allow == "true"),
                ..Connect::default()
            }
        };
        connect.connect_telling(slowed).await
    }
}

/// Starts the log on standard error: with `-vv` the calls to AWS, or what the filter in `KIBUS_LOG` selects.
pub(super) fn start_log(verbose: u8) {
    let default = if verbose >= 2 { "kibus=debug" } else { "off" };
    let set = std::env::var("KIBUS_LOG").ok().filter(|filter| !filter.is_empty());
    let filter = set.and_then(|filter| EnvFilter::try_new(filter).ok()).unwrap_or_else(|| EnvFilter::new(default));
    // If it starts again in the same process, as in tests, the first log stays.
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
    /// Accepts a whole line.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(line);
        writeln!(io::stderr().lock(), "{}", escape(text.trim_end_matches('\n')))?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

/// The first argument that cannot be shown and copied as is: it contains a control character, or is not UTF-8.
pub(super) fn unprintable(args: &[OsString]) -> Option<Error> {
    let mut after_the_name = args.iter().skip(1);
    let bad = after_the_name.find(|arg| arg.to_str().is_none_or(|text| escape(text) != text))?;
    let shown = excerpt(&escape(&bad.to_string_lossy()), SHOWN);
    Some(Error::usage(format!("argument `{shown}` contains a control character, or is not UTF-8")))
}

/// The command line, quoted for a shell. No name begins with `-`, so it needs no `--`, and options can be appended.
pub(super) fn command_line(args: &[OsString]) -> String {
    let words = args.iter().skip(1).filter(|arg| *arg != "--");
    let words = words.map(|arg| quoted(&arg.to_string_lossy()));
    let words: Vec<String> = std::iter::once("kibus".to_owned()).chain(words).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::parse;
    use crate::error::tests::shell_words;

    #[test]
    fn a_command_can_be_typed_again() {
        let args = ["/usr/bin/kibus", "add-cluster", "--tag=a=b c", "--", "it's", ""].map(OsString::from);
        assert_eq!(command_line(&args), r"kibus add-cluster '--tag=a=b c' 'it'\''s' ''");
    }

    #[test]
    fn a_printed_command_has_the_options_as_they_were_given() {
        for odd in ["a", "a b", "it's", "$(kibus)", "`kibus`;kibus", "\"x\" \\", "ü*?~{a,b}", "!x", "#x"] {
            let url = format!("http://127.0.0.1:1/{odd}");
            let options = ["--bus", "b", "--region", "us-east-1", "--profile", odd, "--endpoint-url", &url];
            let given: Vec<OsString> = ["kibus", "list"].iter().chain(&options).map(OsString::from).collect();
            let parsed = parse::parse(&given).unwrap();
            let Global { bus, reach, .. } = &parsed.global;
            let line = reach.kibus(Some(bus), "list");
            assert_eq!(shell_words(&line)[2..], options, "{line}");
            let words: Vec<OsString> = shell_words(&command_line(&given)).iter().map(OsString::from).collect();
            assert_eq!(words, given);
        }
    }
}
