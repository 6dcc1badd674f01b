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
            environment
                .split(' ')
                .filter_map(|pair| pair.split_once('='))
                .find(|(key, _)| *key == name)
                .map(|(_, value)| value.to_owned())
        };
        let got = ColorVariables::of(variable).colors(flag, terminal);
        assert_eq!(got, colors, "{flag:?} with `{environment}`, terminal: {terminal}");
    }
}

struct Refuses(io::ErrorKind);

impl Write for Refuses {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(self.0.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn output_that_cannot_be_written_is_an_error_unless_nobody_reads_it() {
    assert_eq!(write_line(&mut Refuses(io::ErrorKind::BrokenPipe), "x"), Ok(false));
    let full = write_line(&mut Refuses(io::ErrorKind::StorageFull), "x").unwrap_err();
    assert_eq!(full.kind, ErrorKind::Failed);
}
