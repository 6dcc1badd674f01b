//! A whole drill in a test cloud, whose clock moves only during waits.

use std::collections::{BTreeMap, BTreeSet};
use std::future::pending;
use std::sync::Mutex;

use serde_json::json;
use tokio::sync::watch;
use tokio::time::timeout;

use super::*;
use crate::events::LogPage;
use crate::model::{Depth, LogGroupName, scope::tests::scope};
use crate::plan::Action;

/// The time of the local clock when a test begins.
const NOW: i64 = 1_800_000_000_000;

/// What AWS shows a number of seconds after the start of the experiment.
type At<T> = fn(u64) -> T;

/// The message and the signal of log lines.
type Lines = &'static [(&'static str, &'static str)];

const DELIVERED: Lines = &[("delivered", "spot-interruption")];
const DROPPED: Lines = &[("dropped", "spot-interruption")];
const RECOMMENDED: Lines = &[("delivered", "rebalance-recommendation")];

const BOTH: Lines = &[RECOMMENDED[0], DELIVERED[0]];

#[derive(Default)]
struct AccountState {
    /// The tags of the role, if it exists.
    role: Option<Tags>,
    has_policy: bool,
    templates: BTreeSet<String>,
    /// The experiments: when each was started, and whether it was stopped.
    experiments: Vec<(Instant, bool)>,
    calls: Vec<&'static str>,
    /// Faults of the next calls.
    refused: BTreeMap<&'static str, Vec<Fault>>,
}

struct Fake {
    begun: Instant,
    account: Mutex<AccountState>,
    /// The call before which the command is killed, by its number.
    killed_at: Option<usize>,
    status: At<&'static str>,
    reason: &'static str,
    /// FIS's code for a failed experiment.
    code: &'static str,
    state: At<&'static str>,
    lines: At<Lines>,
    /// The lines from before the drill.
    old: Lines,
    depth: At<[u64; 2]>,
    deleted: At<u64>,
}

impl Fake {
    fn healthy() -> Self {
        Self {
            begun: Instant::now(),
            account: Mutex::default(),
            killed_at: None,
            status: |at| match at {
                0..2 => "pending",
                2..125 => "running",
                _ => "completed",
            },
            reason: "",
            code: "",
            state: |at| match at {
                0..120 => "running",
                120..150 => "shutting-down",
                _ => "terminated",
            },
            lines: |at| if at < 15 { &[] } else { DELIVERED },
            old: &[],
            depth: |at| if (16..20).contains(&at) { [0, 1] } else { [0, 0] },
            deleted: |_| 0,
        }
    }

    /// The next calls of this name are refused.
    fn refusing(call: &'static str, faults: Vec<Fault>) -> Self {
        let fake = Self::healthy();
        fake.account.lock().unwrap().refused.insert(call, faults);
        fake
    }

    async fn call(&self, name: &'static str) -> Result<(), Fault> {
        let number = {
            let mut account = self.account.lock().unwrap();
            account.calls.push(name);
            account.calls.len()
        };
        if self.killed_at == Some(number) {
            pending::<()>().await;
        }
        let fault = self.account.lock().unwrap().refused.get_mut(name).and_then(Vec::pop);
        fault.map_or(Ok(()), Err)
    }

    /// Seconds since the last experiment was started.
    fn at(&self) -> u64 {
        let account = self.account.lock().unwrap();
        account.experiments.last().map_or(0, |(begun, _)| begun.elapsed().as_secs())
    }

    fn described(&self, number: usize) -> Experiment {
        let (begun, stopped) = self.account.lock().unwrap().experiments[number];
        let status = if stopped { "stopped" } else { (self.status)(begun.elapsed().as_secs()) };
        let state = ExperimentState {
            status: status.to_owned(),
            reason: if matches!(status, "failed" | "cancelled") { self.reason } else { "" }.to_owned(),
            error: (status == "failed").then(|| ("code".to_owned(), self.code.to_owned())).into_iter().collect(),
        };
        Experiment { id: number.to_string(), role: ROLE.to_owned(), state }
    }

    fn left(&self) -> (bool, bool, usize, bool) {
        let account = self.account.lock().unwrap();
        let all = 0..account.experiments.len();
        let (role, policy, templates) = (account.role.is_some(), account.has_policy, account.templates.len());
        drop(account);
        (role, policy, templates, all.into_iter().any(|number| !self.described(number).has_ended()))
    }
}

const NOTHING: (bool, bool, usize, bool) = (false, false, 0, false);

impl RouterLog for Fake {
    async fn page(&self, _: &LogGroupName, _: &str, _: (i64, Option<i64>), _: Option<&str>) -> Result<LogPage, Fault> {
        self.call("log").await?;
        let line = |began: bool, (message, signal): &(&str, &str)| EventLine {
            logged: self.clock() - i64::try_from(self.at()).unwrap() * 1_000 + 15_000,
            text: json!({
                "message": message, "signal": signal, "reason": (*message == "dropped").then_some("no tags seen"),
                "cluster": "base", "instances": ["i-0a458f323d52c9380"], "delay": 79, "began": began,
            })
            .to_string(),
            settled: false,
        };
        let began = !self.account.lock().unwrap().experiments.is_empty();
        let new = if began { (self.lines)(self.at()) } else { &[] };
        let old = self.old.iter().map(|row| line(false, row));
        Ok(LogPage { events: old.chain(new.iter().map(|row| line(true, row))).collect(), next_token: None })
    }
}

impl Probe for Fake {
    async fn depth(&self, _: &QueueName) -> Result<Option<Depth>, Fault> {
        self.call("depth").await?;
        let [waiting, in_flight] = (self.depth)(self.at());
        Ok(Some(Depth { waiting, in_flight }))
    }
}

impl DrillCloud for Fake {
    async fn instances(&self, _: (&str, &str)) -> Result<Vec<Instance>, Fault> {
        self.call("instances").await?;
        Ok(vec![Instance {
            id: drill().instance,
            host: String::new(),
            instance_type: String::new(),
            zone: String::new(),
            state: (self.state)(self.at()).to_owned(),
            is_spot: true,
            launched: String::new(),
            tags: Tags::default(),
        }])
    }

    async fn resource(&self, id: &ResourceId) -> Result<Option<Resource>, Fault> {
        self.call("read").await?;
        let account = self.account.lock().unwrap();
        Ok(match id {
            ResourceId::Role(_) => account.role.clone().map(|tags| Resource::Role(Role { tags, ..drill().role() })),
            _ => account.has_policy.then(|| Resource::RolePolicy(drill().policy())),
        })
    }

    async fn change(&self, change: &Change, _: Waiting<'_>) -> Result<(), Fault> {
        let (is_role, creates) = (matches!(change.id, ResourceId::Role(_)), change.action == Action::Create);
        let of_policy = if creates { "create policy" } else { "delete policy" };
        let of_role = if creates { "create role" } else { "delete role" };
        self.call(if is_role { of_role } else { of_policy }).await?;
        let mut account = self.account.lock().unwrap();
        if !is_role {
            account.has_policy = creates;
            return Ok(());
        }
        assert!(creates || !account.has_policy && account.templates.is_empty(), "the role goes last");
        if creates && account.role.is_some() {
            return Err(Fault::new(FaultKind::Exists, "iam", "exists"));
        }
        account.role = change.after.as_ref().and_then(Resource::tags).cloned();
        Ok(())
    }

    async fn create_template(&self, _: &Document) -> Result<String, Fault> {
        self.call("create template").await?;
        self.account.lock().unwrap().templates.insert("EXT1".to_owned());
        Ok("EXT1".to_owned())
    }

    async fn templates(&self) -> Result<Vec<Template>, Fault> {
        self.call("templates").await?;
        let ids = self.account.lock().unwrap().templates.clone().into_iter();
        let listed = |id: String, tags| Template { id, tags, ..Template::default() };
        let tags = drill().tags().0;
        let foreign = [listed("EXT2".to_owned(), BTreeMap::new()), listed(TAGGED.to_owned(), tags.clone())];
        Ok(ids.map(|id| listed(id, tags.clone())).chain(foreign).collect())
    }

    async fn template(&self, id: &str) -> Result<Option<Template>, Fault> {
        self.call("template").await?;
        let role = if id == TAGGED { "arn:aws:iam::111122223333:role/payments" } else { ROLE }.to_owned();
        Ok(Some(Template { id: id.to_owned(), role, tags: drill().tags().0 }))
    }

    async fn delete_template(&self, id: &str) -> Result<(), Fault> {
        self.call("delete template").await?;
        assert!(self.account.lock().unwrap().templates.remove(id), "{id}");
        Ok(())
    }

    async fn start_experiment(&self, _: &str, _: String, _: &Tags) -> Result<Experiment, Fault> {
        self.call("start").await?;
        self.account.lock().unwrap().experiments.push((Instant::now(), false));
        let started = self.account.lock().unwrap().experiments.len() - 1;
        Ok(self.described(started))
    }

    async fn experiment(&self, id: &str) -> Result<Experiment, Fault> {
        self.call("experiment").await?;
        Ok(self.described(id.parse().unwrap()))
    }

    async fn experiments(&self, _: &str) -> Result<Vec<Experiment>, Fault> {
        self.call("experiments").await?;
        let all = 0..self.account.lock().unwrap().experiments.len();
        Ok(all.map(|number| self.described(number)).collect())
    }

    async fn stop_experiment(&self, id: &str) -> Result<(), Fault> {
        self.call("stop").await?;
        self.account.lock().unwrap().experiments[id.parse::<usize>().unwrap()].1 = true;
        Ok(())
    }

    async fn deleted(&self, _: &QueueName, _: i64) -> Result<u64, Fault> {
        self.call("deleted").await?;
        Ok((self.deleted)(self.at()))
    }

    fn clock(&self) -> i64 {
        NOW + i64::try_from(self.begun.elapsed().as_millis()).unwrap()
    }
}

/// A template of another team, which someone has tagged.
const TAGGED: &str = "EXT3";
const ROLE: &str = "arn:aws:iam::111122223333:role/platform/kibus-drill-us-west-2";

fn drill() -> Drill {
    Drill {
        scope: scope(),
        options: HubOptions {
            role_path: "/platform/".parse().ok(),
            tag: Some(vec!["team=a".parse().unwrap()]),
            ..HubOptions::default()
        },
        cluster: "base".parse().unwrap(),
        queue: "karpenter-base".parse().unwrap(),
        instance: "i-0a458f323d52c9380".parse().unwrap(),
        minutes: 2,
    }
}

/// Runs a drill. Returns how it ended, its steps as text, and its waits.
async fn ran(cloud: &Fake, stop: &watch::Receiver<bool>) -> (Ended, Vec<String>, Vec<String>) {
    let (steps, waits) = (Mutex::new(Vec::new()), Mutex::new(Vec::new()));
    let step = |report: &StepReport| {
        let StepReport { result, seconds, message, .. } = report;
        steps.lock().unwrap().push(format!("{seconds} {result:?} {message}"));
    };
    let wait = |reason: &str| waits.lock().unwrap().push(reason.to_owned());
    let ended = run(cloud, &drill(), &step, &wait, stop).await;
    (ended, steps.into_inner().unwrap(), waits.into_inner().unwrap())
}

async fn undisturbed(cloud: &Fake) -> (Ended, Vec<String>, Vec<String>) {
    let (_stop, asked) = watch::channel(false);
    ran(cloud, &asked).await
}

#[tokio::test(start_paused = true)]
async fn a_step_that_fails_or_stays_away_is_said_as_such() {
    let no_delivery = "360 Failed no delivery of the warning in the router's log after 6m";
    let not_known = "900 NotKnown unknown whether Karpenter took it after 15m";
    let delivered = "15 Done warning at the hub, delivered to karpenter-base in 79 ms";
    let waited: At<[u64; 2]> = |at| [u64::from(at < 40), 0];
    let nothing: At<Lines> = |_| &[];
    let recommended_first: At<Lines> = |at| match at {
        0..5 => &[],
        5..15 => RECOMMENDED,
        _ => BOTH,
    };
    let cancelled: At<&str> = |at| if at < 9 { "running" } else { "cancelled" };
    let failing = |status, reason| Fake { status, reason, lines: nothing, ..Fake::healthy() };
    let with_lines = |lines| Fake { lines, ..Fake::healthy() };
    let with_depth = |depth| Fake { depth, ..Fake::healthy() };
    let stays = Fake { state: |_| "running", ..Fake::healthy() };
    let late = |at| if at < 290 { &[] } else { DELIVERED };
    for (what, cloud, failed, line) in [
        ("the experiment fails", failing(|_| "failed", "denied"), true, "0 Failed experiment failed: denied"),
        ("it is cancelled", failing(cancelled, "no target"), true, "10 Failed experiment cancelled: no target"),
        ("it never begins", failing(|_| "pending", ""), true, "120 Failed experiment still pending after 2m"),
        ("no delivery", with_lines(nothing), true, no_delivery),
        ("an earlier warning", Fake { old: DELIVERED, ..with_lines(nothing) }, true, no_delivery),
        ("a recommendation is no warning", with_lines(|_| RECOMMENDED), true, no_delivery),
        ("a recommendation before it", with_lines(recommended_first), false, delivered),
        ("dropped", with_lines(|_| DROPPED), true, "4 Failed warning at the hub, dropped: no tags seen"),
        ("it waited", with_depth(waited), false, "40 Done taken by Karpenter: its queue is empty"),
        ("an empty queue", with_depth(|_| [0, 0]), false, "78 Done taken by Karpenter: its queue is empty"),
        ("a message that was in flight before", with_depth(|_| [0, 1]), false, not_known),
        ("a message that expired was not taken", with_depth(|at| [u64::from(at < 320), 0]), false, not_known),
        ("a line when it may have expired", Fake { lines: late, ..with_depth(|_| [0, 0]) }, false, not_known),
        (
            "metrics",
            Fake { deleted: |at| u64::from(at > 400), ..with_depth(|at| [u64::from(at < 320), 0]) },
            false,
            "410 Done taken by Karpenter: 1 deleted from its queue",
        ),
        ("the instance stays", stays, true, "420 Failed instance still running after 7m"),
        (
            "a log that cannot be read is named",
            Fake::refusing("log", vec![Fault::new(FaultKind::Rejected, "logs:X", "no"); 500]),
            true,
            "360 Failed no delivery of the warning in the router's log after 6m; logs:X: no",
        ),
    ] {
        let (ended, steps, _) = undisturbed(&cloud).await;
        assert!(steps.iter().any(|step| step == line), "{what}: {steps:#?}");
        assert_eq!((ended.has_failed(), cloud.left()), (failed, NOTHING), "{what}: {steps:#?}");
    }
}

/// FIS refuses the first calls, or begins experiments that fail, while it does not know the role.
#[tokio::test(start_paused = true)]
async fn a_role_that_cannot_be_assumed_yet_is_waited_for() {
    let refusal = || Fault::new(FaultKind::Rejected, "fis", "FIS is not able to assume the role");
    for call in ["start", "create template"] {
        for (times, begins) in [(3, true), (100, false)] {
            let cloud = Fake::refusing(call, vec![refusal(); times]);
            let (ended, steps, waits) = undisturbed(&cloud).await;
            assert_eq!((ended.fault.is_none(), !steps.is_empty()), (begins, begins), "{call} {times}");
            let why = "FIS cannot start the experiment yet: FIS is not able to assume the role";
            assert_eq!(waits.first().map(String::as_str), Some(why));
            assert_eq!(cloud.left(), NOTHING);
        }
    }
    let status: At<&str> = |at| if at < 12 { "initiating" } else { "failed" };
    for (code, reason, state, repeats) in [
        ("", "Unable to assume role", "running", true),
        ("AuthorizationFailure", "Not authorized to perform the required action.", "running", true),
        ("InternalFailure", "", "running", true),
        ("AuthorizationFailure", "", "shutting-down", false),
        ("ResourceNotFound", "no target", "running", false),
    ] {
        let state: At<&str> = if state == "running" { |_| "running" } else { |_| "shutting-down" };
        let cloud = Fake { status, code, reason, state, lines: |_| &[], ..Fake::healthy() };
        let (_, steps, waits) = undisturbed(&cloud).await;
        let why = [code, reason].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(": ");
        let failed = format!("Failed experiment failed: {why}");
        let begun = cloud.account.lock().unwrap().experiments.len();
        assert_eq!((begun > 5, !waits.is_empty()), (repeats, repeats), "{code} {begun} {waits:?}");
        assert!(steps[0].ends_with(&failed), "{steps:?}");
        assert_eq!(cloud.left(), NOTHING);
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_fails_leaves_nothing() {
    for call in ["create role", "create policy", "create template", "start"] {
        let no = Fault::new(FaultKind::Rejected, call, "no");
        let cloud = Fake::refusing(call, vec![no.clone()]);
        let (ended, ..) = undisturbed(&cloud).await;
        assert_eq!((ended.fault, ended.left, cloud.left()), (Some(no), None, NOTHING), "{call}");
    }
}

#[tokio::test(start_paused = true)]
async fn of_two_drills_the_second_goes_no_further() {
    let cloud = Fake::healthy();
    cloud.account.lock().unwrap().role = Some(drill().tags());
    let (ended, ..) = undisturbed(&cloud).await;
    assert_eq!(ended.fault.map(|fault| fault.kind), Some(FaultKind::Exists));
    assert_eq!(cloud.account.lock().unwrap().calls, ["create role"]);
}

#[tokio::test(start_paused = true)]
async fn a_request_to_stop_stops_the_experiment_and_removes_all() {
    for seconds in [0, 1, 10, 17, 100] {
        let cloud = Fake::healthy();
        let (stop, asked) = watch::channel(false);
        let stopping = async {
            sleep(Duration::from_secs(seconds)).await;
            stop.send_replace(true);
        };
        let ((ended, ..), ()) = tokio::join!(ran(&cloud, &asked), stopping);
        let fault = ended.fault.map(|fault| fault.kind);
        assert_eq!((fault, ended.left, cloud.left()), (Some(FaultKind::Stopped), None, NOTHING), "{seconds}");
    }
}

/// The command is killed at every call until the first steps were seen; then `--clean` finds everything.
#[tokio::test(start_paused = true)]
async fn what_a_killed_drill_left_is_found_and_removed() {
    for at in 1..30 {
        let mut cloud = Fake { killed_at: Some(at), ..Fake::healthy() };
        let killed = timeout(Duration::from_secs(60), undisturbed(&cloud)).await;
        assert!(killed.is_err(), "it ended before call {at}");
        cloud.killed_at = None;
        let left = find(&cloud, &scope()).await.unwrap();
        assert_eq!(left.parts().is_empty(), at == 1, "{at}");
        assert_eq!(left.experiments.len(), usize::from(cloud.left().3), "{at}: {left:?}");
        remove(&cloud, &scope(), &left).await.unwrap();
        assert_eq!(cloud.left(), NOTHING, "{at}");
        assert!(find(&cloud, &scope()).await.unwrap().parts().is_empty());
    }
}

#[test]
fn the_documents_name_one_instance() {
    let drill = drill();
    let arn = "arn:aws:ec2:us-west-2:111122223333:instance/i-0a458f323d52c9380";
    let template = drill.template(NOW);
    assert_eq!(template.value()["targets"]["node"]["resourceArns"], json!([arn]));
    assert_eq!(template.value()["actions"]["interrupt"]["parameters"]["durationBeforeInterruption"], "PT2M");
    assert_eq!(template.value()["tags"], json!({"kibus:bus": "kibus", "kibus:cluster": "base", "team": "a"}));
    assert_eq!(template.value()["roleArn"], ROLE);
    let policy = drill.policy().document;
    let may: Vec<_> = policy.statements().iter().map(|one| (one["Action"].clone(), one["Resource"].clone())).collect();
    let finds = (json!("ec2:DescribeInstances"), json!("*"));
    assert_eq!(may, [finds, (json!("ec2:SendSpotInstanceInterruptions"), json!(arn))]);
    let role = drill.role();
    let condition = &role.trust.statements()[0]["Condition"];
    assert_eq!(condition["StringEquals"]["aws:SourceAccount"], "111122223333");
}
