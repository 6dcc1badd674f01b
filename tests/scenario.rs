//! Scenarios: scripts of commands with their whole output, in `tests/scenarios`, on the emulator with the real router.
//!
//! A line that begins with `#` is prose, with `$` a command, with `%` a directive. Its output follows, in the order in which it
//! was written; `!` precedes lines of standard error. `exit` and a number follow if a command fails. Progress and waits of
//! concurrent changes are sorted. What a file shows already is shortened, and stays checked: [`shown`] has the forms.
//! In a command, `c{1..3}` stands for three words. `KIBUS_TEST_UPDATE=1` writes the actual output.
//!
//! EKS has every cluster that an `add-cluster` names, in all Regions, unless the scenario creates clusters itself.
//!
//! - `% sqs|iam|events|logs|lambda|ec2|eks|ssm|sns|cloudwatch OPERATION PARAMETERS`: a call by someone else
//! - `% alarms QUEUE`: every alarm of the account fires and ends; QUEUE receives their notices. Only the threshold is evaluated
//! - `% tries SERVICE OPERATION PARAMETERS`: the same where AWS behaves as `% aws-like` says, with its message if it fails
//! - `% quietly COMMAND`: a command that ends with exit code 0, whose output and calls are not shown
//! - `% last COMMAND`: a command of whose standard output only the last line is shown
//! - `% in full`: the output of the next step is shown as it is
//! - `% mark QUEUE SECONDS`: someone else sets the tag of a queue that is being deleted, with a time this many seconds
//!   ago
//! - `% times N SERVICE OPERATION PARAMETERS`: this many calls; `NUMBER` is the number of each
//! - `% writes`: the writing calls since the last time, sorted; `% writes in order`: in their order
//! - `% remember`, `% compare`: all resources in the account, and how they changed since
//! - `% refuse OPERATION TIMES STATUS CODE MESSAGE`: these calls of kibus fail; `% refuse nothing`: no more of them do
//! - `% lose OPERATION TIMES`: they are executed, and the response is lost
//! - `% before OPERATION SERVICE OPERATION PARAMETERS`: someone else makes this call just before the next one of kibus
//! - `% answer OPERATION TIMES BODY`: they are not executed, and this is the response
//! - `% say OPERATION MEMBER TEXT`: from now on its responses have this text in this member; `% say OPERATION MEMBER 5m
//!   ago`: the time that was then; `% say the truth` ends it
//! - `% pass OPERATION TIMES`: these calls are executed, and what follows for the operation is about later ones
//! - `% interrupt|interrupt-twice|terminate|kill during OPERATION [once it says TEXT]`: the next command receives a signal
//!   then, or when a line of standard error begins so during that; `% interrupt|terminate when slowed`: it does while it
//!   waits for the rate of a service
//! - `% file NAME text|cut|arm64|other-build|kibus`: a text file, a truncated router, one for another architecture, another
//!   build of the router, kibus; `sha256:NAME` in a command is the hash of such a file, `sha256:router` that of the router
//! - `% upload NAME`: someone else uploads such a file as the code of the function, and sets its tags to match;
//!   `% publish`: they publish it as kibus describes a version, and make it live
//! - `% profile NAME ACCOUNT`: a profile with keys of that account
//! - `% in REGION SERVICE OPERATION PARAMETERS`, `% in REGION karpenter QUEUE`: the same in another Region; after `kms CreateKey`, `KEY_ID` is the
//!   key's id
//! - `% aws-like ID...|all|none`: from now on AWS behaves so (`tests/harness/src/aws_like`), for kibus and for the functions;
//!   `% aws-like rates`: from now on it throttles calls at its own rates;
//!   `% aws-like held ID...`: so, and what changes from now on is late until it is settled;
//!   `% aws-like settled`: wait until all that is late has arrived; `% struck`: the ids of the behaviors that struck since
//!   the last time, `% struck ID...`: wait until these are among them. The first time that a file names an id, the words of
//!   the behavior follow
//! - `% partition PARTITION`: from now on every ARN in responses to kibus, and the caller's, is in this partition;
//!   `% partitions`: the partitions of the ARNs that kibus has sent since the last time
//! - `% karpenter QUEUE`: from now on a Karpenter receives the messages of this queue, and deletes them; `% karpenter QUEUE SECONDS`:
//!   it deletes each after this time
//! - `% launch CLUSTER POOL [on-demand]`: Karpenter launches a Spot instance for a cluster; `INSTANCE_1` is the id of the first
//! - `% visible QUEUE`: wait until none of its messages is in flight
//! - `% settle [QUEUE]`: wait until the hub queue or another one is empty; `% messages QUEUE`: the messages in a queue; `% take QUEUE`: the same,
//!   counted and deleted

mod account;
pub(crate) mod all_together;
mod command;
mod interference;
mod normal;
mod partition;
mod shown;
mod step;

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, resume_unwind};
use std::path::PathBuf;

use futures_util::FutureExt;
use tempfile::TempDir;
use tokio::task::JoinSet;

use crate::aws_like::{Behavior, Server};
use crate::support::account::Account;
use account::REGIONS;
use command::Signals;
use interference::Proxy;
use shown::Shown;

/// The placeholder account in scenario files.
const ACCOUNT: &str = "111122223333";

macro_rules! scenarios {
    ($($name:ident)*) => {
        pub(crate) const NAMES: &[&str] = &[$(stringify!($name)),*];
        $(#[test] fn $name() { crate::scenario::play(stringify!($name)); })*
    };
}
pub(crate) use scenarios;

scenarios! {
    alarms
    aws_like
    bad_input
    changed_router
    clusters
    controller_roles
    deleted_clusters
    deleted_hubs
    denied
    discover
    drift_of_a_cluster
    drift_of_the_hub
    eks
    events
    eventual_consistency
    export
    external
    failed_states
    first_hub
    foreign_version
    found_rules
    function_policy
    interrupted
    json
    killed
    killed_removal
    killed_teardown
    marked_queues
    message_size
    names
    new_conditions
    new_roles
    night
    no_answer
    no_hub
    no_tag_conditions
    no_tagging_api
    notices
    not_ours
    old_keys
    other_mappings
    partition
    policy
    redrive
    reserve_used_up
    retagged
    revisions
    router_binaries
    self_test
    settings_race
    status
    teardown
    throttled
    two_buses
    two_regions
}

/// The names of all scenarios.
fn all() -> impl Iterator<Item = &'static str> {
    crate::a_long_scenario::NAMES.iter().chain(NAMES).copied()
}

#[test]
fn every_scenario_file_has_a_test() {
    let files = std::fs::read_dir(directory()).unwrap();
    let mut files: Vec<_> = files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    files.sort();
    let mut names: Vec<_> = all().map(|name| format!("{name}.txt")).collect();
    names.sort();
    assert_eq!(files, names);
}

fn directory() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios")
}

/// `cargo test --test main scenario::two_hundred -- --ignored`
#[test]
#[ignore = "takes more than a minute; a part of it runs with all tests"]
fn two_hundred_clusters_are_throttled() {
    let many = std::fs::read_to_string(directory().join("many_clusters.txt")).unwrap();
    let wanted = many.replace("60", "200").replace("120", "400");
    let got = played("many_clusters", 1, &wanted);
    assert_eq!(wanted.trim_end(), got.trim_end());
}

/// The actual output of a scenario, in the account of a way to play it.
fn played(name: &str, way: usize, text: &str) -> String {
    let server = Server::shared();
    server.runtime.block_on(async { Scenario::new(name, server, way).await.played(text).await })
}

/// Runs a scenario and compares its output with the file.
pub(crate) fn play(name: &str) {
    let path = directory().join(format!("{name}.txt"));
    let wanted = std::fs::read_to_string(&path).unwrap();
    let got = played(name, 0, &wanted);
    if wanted == got {
        return;
    }
    if std::env::var_os("KIBUS_TEST_UPDATE").is_some() {
        std::fs::write(&path, got).unwrap();
        return;
    }
    let diff = similar::TextDiff::from_lines(&wanted, &got);
    panic!("{}\n{}", path.display(), diff.unified_diff().header("the file", "what came"));
}

/// A running scenario, with its own account and its own proxy to the server.
struct Scenario {
    account: Account,
    proxy: Proxy,
    directory: TempDir,
    signals: Option<Signals>,
    saved: BTreeMap<String, String>,
    /// The ids of the instances that someone launched, in order: `INSTANCE_1` stands for the first.
    instances: Vec<String>,
    /// The id of the last created KMS key.
    key: Option<String>,
    /// Each step waits until AWS has finished the step before.
    is_patient: bool,
    /// EKS gets the clusters of each command before it runs.
    has_named_clusters: bool,
    shown: Shown,
    /// The output of the next step is not shortened.
    in_full: bool,
    /// The behaviors whose words were shown.
    explained: BTreeSet<Behavior>,
    /// What reads queues until the scenario ends.
    karpenters: JoinSet<()>,
}

impl Scenario {
    /// A scenario in an account of its own; each way to play it is another account.
    async fn new(name: &str, server: &Server, way: usize) -> Self {
        let at = all().position(|other| other == name).unwrap();
        let port = server.port();
        let id = format!("{:012}", 100_000_000_000 + way * 1_000 + at);
        let proxy = Proxy::start(port).await;
        server.route_functions(&id, &proxy.like);
        Self {
            account: Account::new(&id, port, REGIONS[0]),
            proxy,
            directory: TempDir::new().unwrap(),
            signals: None,
            saved: BTreeMap::new(),
            instances: Vec::new(),
            key: None,
            is_patient: false,
            has_named_clusters: true,
            shown: Shown::nothing_of(name),
            in_full: false,
            explained: BTreeSet::new(),
            karpenters: JoinSet::new(),
        }
    }

    /// Plays it, and deletes the functions that it leaves on the shared emulator, even if it fails.
    async fn played(self, text: &str) -> String {
        let (account, proxy) = (self.account.clone(), self.proxy.clone());
        let played = AssertUnwindSafe(self.play(text)).catch_unwind().await;
        for region in proxy.regions() {
            account.in_region(&region).delete_functions().await;
        }
        played.unwrap_or_else(|failed| resume_unwind(failed))
    }

    async fn play(mut self, text: &str) -> String {
        self.has_named_clusters = !text.contains("\n% eks ");
        let mut played = String::new();
        let mut was_prose = true;
        for line in text.lines() {
            let is_prose = line.starts_with('#');
            if !is_prose && !line.starts_with("$ ") && !line.starts_with("% ") {
                continue;
            }
            if is_prose && !was_prose && !played.ends_with("\n\n") {
                played.push('\n');
            }
            was_prose = is_prose;
            played.push_str(&format!("{line}\n"));
            if !is_prose {
                let mut step = line.replace(ACCOUNT, &self.account.id);
                if let Some(key) = &self.key {
                    step = step.replace("KEY_ID", key);
                }
                for (id, number) in self.instances.iter().zip(1..) {
                    step = step.replace(&format!("INSTANCE_{number}"), id);
                }
                if self.is_patient {
                    self.proxy.like.settle().await;
                }
                let in_full = std::mem::take(&mut self.in_full);
                let came = self.step(&step).await;
                let came = self
                    .instances
                    .iter()
                    .zip(1..)
                    .fold(came, |came, (id, number)| came.replace(id, &format!("INSTANCE_{number}")));
                let came = normal::normal(&came, &self.account.id, self.proxy.port, self.directory.path());
                let came = self.shown.show(&came, in_full);
                if !came.trim().is_empty() {
                    played.push_str(&format!("{}\n\n", came.trim_end()));
                }
            }
        }
        for call in self.proxy.take_interferences() {
            played.push_str(&format!("{call} was never called\n"));
        }
        format!("{}\n", played.trim_end())
    }
}
