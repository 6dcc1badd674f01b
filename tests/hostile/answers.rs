//! Answers that AWS never gives: empty, 10 MB, HTML, without an end.

use std::process::Stdio;
use std::time::{Duration, Instant};

use futures_util::stream::{self, StreamExt};
use tempfile::TempDir;
use tokio::process::Command;

use super::bad_server::{Bad, BadServer, Calls, MARK};
use super::shown::check;
use crate::aws_like::{AwsLike, Server};

const SERVICES: [&str; 8] = ["sts", "tagging", "ssm", "sqs", "iam", "events", "logs", "lambda"];
/// Longer than any of these commands takes, beside as many other tests as run at once.
const LONGEST: Duration = Duration::from_secs(300);

struct Run {
    code: Option<i32>,
    text: String,
}

async fn kibus(home: &TempDir, account: &str, url: &str, line: &str) -> Run {
    let output = Command::new(env!("CARGO_BIN_EXE_kibus"))
        .args(line.split(' '))
        .env_clear()
        .env("HOME", home.path())
        .env("AWS_ACCESS_KEY_ID", account)
        .env("AWS_SECRET_ACCESS_KEY", "test")
        .env("AWS_REGION", "us-west-2")
        .env("AWS_ENDPOINT_URL", url)
        .env("AWS_EC2_METADATA_DISABLED", "true")
        .current_dir(home.path())
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let output = tokio::time::timeout(LONGEST, output).await;
    let output = output.unwrap_or_else(|_| panic!("`{line}` does not end")).unwrap();
    let text = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    Run { code: output.status.code(), text: text.concat() }
}

/// An account on the shared server, with a URL at which everything works.
async fn account(server: &'static Server, id: &str) -> (AwsLike, String) {
    let like = AwsLike::new(server.port());
    server.route_functions(id, &like);
    // No service of this name has a bad answer.
    let good = BadServer::start(&like, "none", Bad::Empty, Calls::Writes).await;
    (like, good.url)
}

#[test]
fn a_bad_answer_to_a_read_is_a_short_error_and_nothing_is_written() {
    let server = Server::shared();
    server.runtime.block_on(async {
        let (home, id) = (TempDir::new().unwrap(), "310000000001");
        let (like, good) = account(server, id).await;
        for line in ["bootstrap-hub --yes", "add-cluster base --no-controller-role --yes"] {
            let run = kibus(&home, id, &good, line).await;
            assert_eq!(run.code, Some(0), "{line}: {}", run.text);
        }
        let commands = [
            "verify",
            "teardown --yes",
            "bootstrap-hub --memory 512 --yes",
            "add-cluster other --no-controller-role --yes",
            "remove-cluster base --yes",
            "dead-letters --purge --yes",
        ];
        let mut cases = Vec::new();
        for (at, service) in SERVICES.into_iter().enumerate() {
            for (number, line) in commands.into_iter().enumerate() {
                let rotated = [Bad::ALL[(at + number) % Bad::ALL.len()]];
                let bads = match (line, service) {
                    ("verify", _) => &Bad::ALL[..],
                    // The others do not need its answer (T6), and would write.
                    (_, "sts" | "tagging") | ("dead-letters --purge --yes", "ssm") => &[],
                    // These are about queues and records, and ask nothing else.
                    (line, "iam" | "events" | "logs" | "lambda")
                        if line.contains("cluster") || line.contains("dead") =>
                    {
                        &[]
                    }
                    _ => &rotated[..],
                };
                cases.extend(bads.iter().map(|bad| (service, line, *bad)));
            }
        }
        let runs = stream::iter(cases).map(|(service, line, bad)| {
            let (home, like) = (&home, &like);
            async move {
                let case = format!("{line} with {bad:?} answers of {service}");
                let proxy = BadServer::start(like, service, bad, Calls::Reads).await;
                let began = Instant::now();
                let run = kibus(home, id, &proxy.url, line).await;
                println!(
                    "---- {case}: {:?} {:.1}s {:?}\n{}",
                    run.code,
                    began.elapsed().as_secs_f32(),
                    proxy.writes(),
                    run.text
                );
                check(&case, &run.text, &[MARK, "<html"]);
                assert!(proxy.struck(), "{case}");
                assert_eq!(run.code, Some(1), "{case}: {}", run.text);
                assert_eq!(proxy.writes(), Vec::<String>::new(), "{case}: {}", run.text);
            }
        });
        runs.buffer_unordered(2).collect::<Vec<()>>().await;
    });
}

/// Kibus works without EKS.
#[test]
fn a_bad_answer_of_eks_is_a_warning() {
    let server = Server::shared();
    server.runtime.block_on(async {
        let (home, id) = (TempDir::new().unwrap(), "310000000005");
        let (like, good) = account(server, id).await;
        let run = kibus(&home, id, &good, "bootstrap-hub --yes").await;
        assert_eq!(run.code, Some(0), "{}", run.text);
        for bad in Bad::ALL {
            let case = format!("{bad:?} answers of eks");
            let proxy = BadServer::start(&like, "eks", bad, Calls::Reads).await;
            let run = kibus(&home, id, &proxy.url, "add-cluster base --no-controller-role --dry-run").await;
            println!("---- {case}: {:?}\n{}", run.code, run.text);
            check(&case, &run.text, &[MARK, "<html"]);
            assert!(proxy.struck(), "{case}");
            assert_eq!(run.code, Some(0), "{case}: {}", run.text);
            assert!(run.text.contains("warning: EKS could not be asked"), "{case}: {}", run.text);
        }
    });
}

#[test]
fn after_a_bad_answer_to_a_write_the_next_run_finishes() {
    let server = Server::shared();
    server.runtime.block_on(async {
        let cases =
            [("sqs", Bad::Html), ("iam", Bad::Empty), ("events", Bad::Empty), ("lambda", Bad::Html)].into_iter();
        let runs = stream::iter(cases.enumerate()).map(|(number, (service, bad))| async move {
            let (home, id) = (TempDir::new().unwrap(), format!("3100000001{number:02}"));
            let (like, good) = account(server, &id).await;
            let proxy = BadServer::start(&like, service, bad, Calls::Writes).await;
            for line in ["bootstrap-hub --yes", "add-cluster base --no-controller-role --yes", "teardown --yes"] {
                let case = format!("{line} with {bad:?} answers of {service}");
                let run = kibus(&home, &id, &proxy.url, line).await;
                println!("---- {case}: {:?}\n{}", run.code, run.text);
                check(&case, &run.text, &[MARK, "<html"]);
                let again = kibus(&home, &id, &good, line).await;
                assert_eq!(again.code, Some(0), "{case}: {}\n{}", run.text, again.text);
            }
        });
        runs.buffer_unordered(2).collect::<Vec<()>>().await;
    });
}

#[test]
fn a_list_without_an_end_is_an_error() {
    let server = Server::shared();
    server.runtime.block_on(async {
        let (home, id) = (TempDir::new().unwrap(), "310000000003");
        let (like, good) = account(server, id).await;
        let run = kibus(&home, id, &good, "bootstrap-hub --yes").await;
        assert_eq!(run.code, Some(0), "{}", run.text);
        for (service, line, bad) in [
            ("ssm", "list", Bad::Repeated),
            ("ssm", "teardown --yes", Bad::Endless),
            ("tagging", "verify", Bad::Endless),
            ("iam", "add-cluster base --yes", Bad::Repeated),
            ("events", "verify", Bad::Endless),
            ("logs", "bootstrap-hub --memory 512 --yes", Bad::Repeated),
            ("lambda", "verify", Bad::Repeated),
        ] {
            let case = format!("{line} with {bad:?} lists of {service}");
            let proxy = BadServer::start(&like, service, bad, Calls::Reads).await;
            let run = kibus(&home, id, &proxy.url, line).await;
            println!("---- {case}: {:?}\n{}", run.code, run.text);
            check(&case, &run.text, &[MARK]);
            assert!(proxy.struck(), "{case}");
            let says_so = run.text.contains("the list does not end");
            assert!(run.code == Some(1) && says_so, "{case}: {:?}\n{}", run.code, run.text);
            assert_eq!(proxy.writes(), Vec::<String>::new(), "{case}: {}", run.text);
        }
    });
}
