//! Colors, and output that goes nowhere.

use super::*;
use crate::error::ErrorKind;

#[test]
fn flag_then_variables_then_terminal_decide_on_color() {
    for (flag, environment, terminal, colors) in [
        (Color::Auto, "", true, true),
        (Color::Auto, "", false, false),
        (Color::Auto, "NO_COLOR=1", true, false),
        (Color::Auto, "NO_COLOR=", true, true),
        (Color::Auto, "CLICOLOR=0", true, false),
        (Color::Auto, "CLICOLOR_FORCE=1", false, true),
        (Color::Auto, "CLICOLOR_FORCE=0", false, false),
        (Color::Auto, "NO_COLOR=1 CLICOLOR_FORCE=1", false, false),
        (Color::Auto, "TERM=dumb", true, false),
        (Color::Always, "NO_COLOR=1", false, true),
        (Color::Never, "CLICOLOR_FORCE=1", true, false),
    ] {
        let variable = |name: &str| {
            let mut pairs = environment.split(' ').filter_map(|pair| pair.split_once('='));
            pairs.find(|(key, _)| *key == name).map(|(_, value)| value.to_owned())
        };
        let got = ColorVariables::of(variable).colors(flag, terminal);
        assert_eq!(got, colors, "{flag:?} with `{environment}`, terminal: {terminal}");
    }
}

#[test]
fn output_that_cannot_be_written_is_an_error_unless_nobody_reads_it() {
    let (reader, mut closed) = io::pipe().unwrap();
    drop(reader);
    assert_eq!(write_line(&mut closed, "x"), Ok(false));
    let mut full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    assert_eq!(write_line(&mut full, "x").unwrap_err().kind, ErrorKind::Failed);
}
