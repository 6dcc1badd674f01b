//! Answers that AWS never gives: empty, 10 MB, HTML, endless.

use futures_util::stream::{self, StreamExt};

use super::bad_server::{Bad, BadServer, MARK};
use super::process::{Ran, kibus};
use super::shown::check;
use crate::aws_like::{AwsLike, Proxy, Server};

const SERVICES: [&str; 8] = ["sts", "tagging", "ssm", "sqs", "iam", "events", "logs", "lambda"];
/// Runs kibus, and checks what it wrote.
async fn checked(case: &str, account: &str, url: &str, line: &str) -> Ran {
    let ran = kibus(line, &[("AWS_ACCESS_KEY_ID", account), ("AWS_ENDPOINT_URL", url)]).await;
    check(case, &ran.text(), &[MARK, "<html"]);
    ran
}

async fn succeeds(account: &str, url: &str, line: &str) {
    let ran = checked(line, account, url, line).await;
    assert_eq!(ran.code, Some(0), "{line}: {}", ran.text());
}

/// An account on the shared server, with a URL at which everything works.
async fn account(server: &'static Server, id: &str) -> (AwsLike, String) {
    let like = AwsLike::new(server.port());
    server.route_functions(id, &like);
    let good = Proxy::start(server.port(), "none").await;
    (like, good.url)
}

#[test]
fn a_bad_answer_to_a_read_is_a_short_error_and_nothing_is_written() {
    let server = Server::shared();
    server.runtime.block_on(async {
        let id = "310000000001";
        let (like, good) = account(server, id).await;
        for line in ["bootstrap-hub --yes", "add-cluster base --no-controller-role --yes"] {
            succeeds(id, &good, line).await;
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
                    // Other commands do not need its answer (T6), and would write.
                    (_, "sts" | "tagging") | ("dead-letters --purge --yes", "ssm") => &[],
                    // These work on queues and records, and call nothing else.
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
            let like = &like;
            async move {
                let case = format!("{line} with {bad:?} answers of {service}");
                let proxy = BadServer::start(like, service, bad).await;
                let ran = checked(&case, id, &proxy.url, line).await;
                assert!(proxy.struck(), "{case}");
                assert_eq!(ran.code, Some(1), "{case}: {}", ran.text());
                assert_eq!(proxy.writes(), [""; 0], "{case}: {}", ran.text());
            }
        });
        runs.buffer_unordered(8).collect::<Vec<()>>().await;
    });
}

/// Kibus works without EKS.
#[test]
fn a_bad_answer_of_eks_is_a_warning() {
    let server = Server::shared();
    server.runtime.block_on(async {
        let id = "310000000005";
        let (like, good) = account(server, id).await;
        succeeds(id, &good, "bootstrap-hub --yes").await;
        for bad in Bad::ALL {
            let case = format!("{bad:?} answers of eks");
            let proxy = BadServer::start(&like, "eks", bad).await;
            let ran = checked(&case, id, &proxy.url, "add-cluster base --no-controller-role --dry-run").await;
            assert!(proxy.struck(), "{case}");
            assert_eq!(ran.code, Some(0), "{case}: {}", ran.text());
            assert!(ran.stderr.contains("warning: EKS could not be asked"), "{case}: {}", ran.text());
        }
    });
}

#[test]
fn a_list_without_an_end_is_an_error() {
    let server = Server::shared();
    server.runtime.block_on(async {
        let id = "310000000003";
        let (like, good) = account(server, id).await;
        succeeds(id, &good, "bootstrap-hub --yes").await;
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
            let proxy = BadServer::start(&like, service, bad).await;
            let ran = checked(&case, id, &proxy.url, line).await;
            assert!(proxy.struck(), "{case}");
            let says_so = ran.text().contains("the list does not end");
            assert!(ran.code == Some(1) && says_so, "{case}: {:?}\n{}", ran.code, ran.text());
            assert_eq!(proxy.writes(), [""; 0], "{case}: {}", ran.text());
        }
    });
}
