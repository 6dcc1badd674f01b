//! Questions in a real terminal: what each answer and each signal does.

use std::process::Command;

use crate::support::stage::Stage;

/// The exit code after this answer in a terminal, and what is shown after the question.
fn answered(kibus: &Command, answer: &str) -> (String, String) {
    let output = Command::new("python3")
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/questions/terminal.py"))
        .arg(answer)
        .arg(kibus.get_program())
        .args(kibus.get_args())
        .env_clear()
        .envs(kibus.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("TERM", "dumb")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let (code, shown) = text.split_once('\n').unwrap();
    (code.to_owned(), shown.to_owned())
}

#[tokio::test]
async fn each_answer_has_its_exit_code() {
    const INTERRUPTED: &str = "\nerror: interrupted; nothing was changed\n";
    const NOT_CONFIRMED: &str = "\nerror: not confirmed; nothing was changed\n";
    let stage = Stage::open().await;
    for (command, answer, code, shown) in [
        ("bootstrap-hub", "\u{3}", "130", INTERRUPTED),
        ("bootstrap-hub", "y\u{3}", "130", INTERRUPTED),
        ("bootstrap-hub", "SIGINT", "130", INTERRUPTED),
        ("bootstrap-hub", "SIGTERM", "143", INTERRUPTED),
        ("bootstrap-hub", "\u{4}", "3", NOT_CONFIRMED),
        ("bootstrap-hub", "yes\u{4}\u{4}", "3", NOT_CONFIRMED),
        ("bootstrap-hub", "\n", "3", NOT_CONFIRMED),
        ("bootstrap-hub", "n\n", "3", NOT_CONFIRMED),
        // The person corrects the answer.
        ("bootstrap-hub", "n\u{7f}y\n", "0", ""),
        ("teardown", "y\n", "3", NOT_CONFIRMED),
        ("teardown", "SIGTERM", "143", INTERRUPTED),
        ("teardown", "kibus\n", "0", ""),
    ] {
        let (got, rest) = answered(&stage.kibus(command), answer);
        assert_eq!(got, code, "{command} {answer:?}: {rest}");
        assert!(rest.ends_with(shown), "{command} {answer:?}: {rest}");
    }
}
