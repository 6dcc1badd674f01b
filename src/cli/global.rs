//! Options that every command takes.

use std::ffi::OsString;

use clap::Args;

use crate::error::quoted;
use crate::model::name::{BusName, Region};
use crate::ui::{Color, Output};

/// Options that every command takes.
#[derive(Clone, Debug, Args)]
pub(super) struct Global {
    /// The bus; every name of its resources begins with it.
    #[arg(
        long,
        global = true,
        env = "KIBUS_BUS",
        default_value = "kibus",
        help_heading = "Global options"
    )]
    pub(super) bus: BusName,
    /// The Region; otherwise AWS_REGION or the profile's.
    #[arg(long, global = true, env = "KIBUS_REGION", help_heading = "Global options")]
    pub(super) region: Option<Region>,
    /// The profile of the AWS configuration to use.
    #[arg(long, global = true, env = "KIBUS_PROFILE", help_heading = "Global options")]
    pub(super) profile: Option<String>,
    /// Send every call to this address.
    #[arg(
        long,
        global = true,
        env = "KIBUS_ENDPOINT_URL",
        value_name = "URL",
        value_parser = endpoint_url,
        help_heading = "Global options"
    )]
    pub(super) endpoint_url: Option<String>,
    /// What standard output holds: text, or one JSON document.
    #[arg(
        long,
        short = 'o',
        global = true,
        env = "KIBUS_OUTPUT",
        value_enum,
        default_value = "text",
        help_heading = "Global options"
    )]
    pub(super) output: Output,
    /// Whether text is coloured.
    #[arg(
        long,
        global = true,
        env = "KIBUS_COLOR",
        value_enum,
        default_value = "auto",
        help_heading = "Global options"
    )]
    pub(super) color: Color,
    /// How many calls to AWS may run at the same time.
    #[arg(long, global = true, env = "KIBUS_CONCURRENCY", value_name = "N", default_value = "16",
        value_parser = clap::value_parser!(u16).range(1..=64), help_heading = "Global options")]
    pub(super) concurrency: u16,
    /// Print only results and errors.
    #[arg(long, short = 'q', global = true, help_heading = "Global options")]
    pub(super) quiet: bool,
    /// Never ask; without --yes, end with 3 instead.
    #[arg(long, global = true, help_heading = "Global options")]
    pub(super) no_input: bool,
    /// Use the sandbox (see `kibus sandbox`) and never AWS.
    #[arg(long, global = true, env = "KIBUS_SANDBOX", conflicts_with_all = ["profile", "endpoint_url"],
        num_args = 0..=1, default_missing_value = "true", default_value = "false", require_equals = true,
        value_name = "BOOL", help_heading = "Global options", action = clap::ArgAction::Set, hide_default_value = true,
        hide_possible_values = true)]
    pub(super) sandbox: bool,
    /// Say more: -v shows every document of a plan, -vv also every call to AWS.
    #[arg(long, short = 'v', global = true, action = clap::ArgAction::Count, help_heading = "Global options")]
    pub(super) verbose: u8,
}

fn endpoint_url(text: &str) -> Result<String, &'static str> {
    let rest = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
    match rest {
        Some(rest) if !rest.is_empty() => Ok(text.to_owned()),
        _ => Err("an endpoint begins with http:// or https:// and a host"),
    }
}

/// Lets `-vv` show the calls to AWS on standard error; `KIBUS_LOG` takes a filter of its own.
pub(super) fn start_log(verbose: u8) {
    let default = if verbose >= 2 { "kibus=debug" } else { "off" };
    let filter = tracing_subscriber::EnvFilter::try_from_env("KIBUS_LOG")
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new(default));
    // A second start in one process, as in tests, keeps the first log.
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .without_time()
        .try_init();
}

/// The command line as one would type it again.
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
