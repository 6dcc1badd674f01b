//! Questions in a real terminal: what each answer and each signal does.

use std::process::Command;

use crate::support::stage::Stage;

/// The exit code after this answer in a terminal, and the output after the question.
fn answered(kibus: &Command, answer: &str) -> (String, String) {
    let output = Command::new("python3")
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/questions/terminal.py"))
        .arg(answer)
        .arg(kibus.get_program())
        .args(kibus.get_args())
        .env_clear()
        .envs(kibus.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("TERM", "xterm")
        .env("NO_COLOR", "1")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let (code, shown) = text.split_once('\n').unwrap();
    (code.to_owned(), shown.to_owned())
}

/// A hub with a cluster that has a Spot instance.
async fn launch(stage: &Stage) {
    let added = stage.kibus("add-cluster base --no-controller-role --no-eks-check --yes").status().unwrap();
    assert!(added.success());
    let tags = "TagSpecification.1.Tag.1.Key=kubernetes.io/cluster/base TagSpecification.1.Tag.1.Value=owned \
        TagSpecification.1.Tag.2.Key=aws:eks:cluster-name TagSpecification.1.Tag.2.Value=base \
        TagSpecification.1.Tag.3.Key=karpenter.sh/nodepool TagSpecification.1.Tag.3.Value=spot";
    let kind = "ImageId=ami-12345678 InstanceType=m5.large MinCount=2 MaxCount=2 InstanceMarketOptions.MarketType=spot";
    let launch = format!("{kind} TagSpecification.1.ResourceType=instance {tags}");
    stage.account.call("ec2", "RunInstances", &launch).await;
}

#[tokio::test]
async fn each_answer_has_its_exit_code() {
    const INTERRUPTED: &str = "\nerror: interrupted; nothing was changed\n";
    const NOT_CONFIRMED: &str = "\nerror: not confirmed; nothing was changed\n";
    const STOPPED: &str = "\nerror: stopped early\n  everything that the drill made is removed\n  \
        if EC2 has sent the warning, the instance may still be interrupted\n";
    let stage = Stage::new().await;
    for (command, answer, code, shown) in [
        ("bootstrap-hub", "\u{3}", "130", INTERRUPTED),
        ("bootstrap-hub", "y\u{3}", "130", INTERRUPTED),
        ("bootstrap-hub", "SIGINT", "130", INTERRUPTED),
        ("bootstrap-hub", "SIGTERM", "143", INTERRUPTED),
        ("bootstrap-hub", "\u{4}", "3", NOT_CONFIRMED),
        ("bootstrap-hub", "yes\u{4}\u{4}", "3", NOT_CONFIRMED),
        ("bootstrap-hub", "\n", "3", NOT_CONFIRMED),
        ("bootstrap-hub", "n\n", "3", NOT_CONFIRMED),
        // A new width of the terminal is not an answer.
        ("bootstrap-hub", "50 columns......\u{4}", "3", NOT_CONFIRMED),
        // The user corrects the answer, and the terminal becomes narrow while changes are made.
        ("bootstrap-hub", "n\u{7f}y\n...kibus-...30 columns", "0", ""),
        ("drill base", "\u{3}", "130", INTERRUPTED),
        ("drill base", "SIGTERM", "143", INTERRUPTED),
        ("drill base", "\u{4}", "3", NOT_CONFIRMED),
        ("drill base", "y\n", "3", NOT_CONFIRMED),
        ("drill base", "base\n...experiment runs...\u{3}", "130", STOPPED),
        ("teardown", "\u{3}", "130", INTERRUPTED),
        ("teardown", "SIGTERM", "143", INTERRUPTED),
        ("teardown", "\u{4}", "3", NOT_CONFIRMED),
        ("teardown", "y\n", "3", NOT_CONFIRMED),
        ("teardown", "40 columns......kibus\n", "0", ""),
    ] {
        let (got, rest) = answered(&stage.kibus(command), answer);
        assert_eq!(got, code, "{command} {answer:?}: {rest}");
        assert!(rest.ends_with(shown), "{command} {answer:?}: {rest}");
        if (command, code) == ("bootstrap-hub", "0") {
            launch(&stage).await;
        }
    }
}
