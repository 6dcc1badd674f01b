//! Options that every command takes.

use std::ffi::OsString;

use clap::builder::BoolishValueParser;
use clap::{ArgAction, Args};

use tracing_subscriber::EnvFilter;

use crate::error::quoted;
use crate::model::name::{BusName, Region};
use crate::ui::{Color, Output};

/// Options that every command takes.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Global options")]
pub(super) struct Global {
    /// Name of the bus; the names of its resources begin with it.
    #[arg(
        long,
        global = true,
        env = "KIBUS_BUS",
        default_value = "kibus",
        hide_short_help = true
    )]
    pub(super) bus: BusName,
    /// AWS Region [default: AWS_REGION, else that of the profile].
    #[arg(long, global = true, env = "KIBUS_REGION", hide_short_help = true)]
    pub(super) region: Option<Region>,
    /// Profile of the AWS configuration [default: AWS_PROFILE].
    #[arg(long, global = true, env = "KIBUS_PROFILE", hide_short_help = true)]
    pub(super) profile: Option<String>,
    /// Endpoint for all calls, instead of those of AWS.
    #[arg(long, global = true, env = "KIBUS_ENDPOINT_URL", value_name = "URL", value_parser = endpoint_url,
        hide_short_help = true)]
    pub(super) endpoint_url: Option<String>,
    /// Format of standard output: text, or one JSON document.
    #[arg(
        long,
        short = 'o',
        global = true,
        env = "KIBUS_OUTPUT",
        value_enum,
        default_value = "text",
        hide_short_help = true
    )]
    pub(super) output: Output,
    /// Color text.
    #[arg(
        long,
        global = true,
        env = "KIBUS_COLOR",
        value_enum,
        default_value = "auto",
        hide_short_help = true
    )]
    pub(super) color: Color,
    /// Maximum number of concurrent calls to AWS, from 1 to 64.
    #[arg(long, global = true, env = "KIBUS_CONCURRENCY", value_name = "N", default_value = "16",
        value_parser = clap::value_parser!(u16).range(1..=64), hide_short_help = true)]
    pub(super) concurrency: u16,
    /// Print only results and errors.
    #[arg(long, short = 'q', global = true, hide_short_help = true)]
    pub(super) quiet: bool,
    /// Never ask; without --yes, exit with 3 instead.
    #[arg(long, global = true, hide_short_help = true)]
    pub(super) no_input: bool,
    /// Use the sandbox (see `kibus sandbox`) instead of AWS.
    #[arg(long, global = true, env = "KIBUS_SANDBOX", conflicts_with_all = ["profile", "endpoint_url"],
        num_args = 0..=1, default_missing_value = "true", default_value = "false", require_equals = true,
        value_name = "BOOL", value_parser = BoolishValueParser::new(), action = ArgAction::Set,
        hide_default_value = true, hide_possible_values = true, hide_short_help = true)]
    pub(super) sandbox: bool,
    /// Print more: -v shows every document of a plan, -vv also every call to AWS.
    #[arg(long, short = 'v', global = true, action = ArgAction::Count, hide_short_help = true)]
    pub(super) verbose: u8,
}

fn endpoint_url(text: &str) -> Result<String, &'static str> {
    let rest = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
    match rest {
        Some(rest) if !rest.is_empty() => Ok(text.to_owned()),
        _ => Err("an endpoint is http:// or https:// and a host"),
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
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .without_time()
        .try_init();
}

/// The command line, quoted for a shell.
pub(super) fn command_line(args: &[OsString]) -> String {
    let words = args.iter().skip(1).map(|arg| quoted(&arg.to_string_lossy()));
    std::iter::once("kibus".to_owned())
        .chain(words)
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_can_be_typed_again() {
        let args = ["/usr/bin/kibus", "add-cluster", "--tag=a=b c", "it's", ""].map(OsString::from);
        assert_eq!(command_line(&args), r"kibus add-cluster '--tag=a=b c' 'it'\''s' ''");
    }
}
