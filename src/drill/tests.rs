//! A whole drill in a cloud of a test, whose clock stands still while nobody waits.

use std::collections::{BTreeMap, BTreeSet};
use std::future::pending;
use std::sync::Mutex;

use serde_json::json;
use tokio::sync::watch;
use tokio::time::timeout;

use super::*;
use crate::events::LogPage;
use crate::model::{Depth, LogGroupName, OrNone, scope::tests::scope};
use crate::plan::Action;

/// The time of the local clock when a test begins.
const NOW: i64 = 1_800_000_000_000;

/// What is seen of AWS so many seconds after the start of the experiment.
type At<T> = fn(u64) -> T;

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
    /// FIS's code of an experiment that failed.
    code: &'static str,
    state: At<&'static str>,
    /// The message and the signal of lines of the log.
    lines: At<&'static [(&'static str, &'static str)]>,
    /// Those from before the drill.
    old: &'static [(&'static str, &'static str)],
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
            lines: |at| {
                if at < 15 { &[] } else { &[("delivered", "spot-interruption")] }
            },
            old: &[],
            depth: |at| if (16..20).contains(&at) { [0, 1] } else { [0, 0] },
            deleted: |_| 0,
        }
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
        self.call(match (is_role, creates) {
            (true, true) => "create role",
            (true, false) => "delete role",
            (false, true) => "create policy",
            (false, false) => "delete policy",
        })
        .await?;
        let mut account = self.account.lock().unwrap();
        match is_role {
            true if !creates => assert!(!account.has_policy && account.templates.is_empty(), "the role goes last"),
            true if account.role.is_some() => return Err(Fault::new(FaultKind::Exists, "iam", "exists")),
            _ => {}
        }
        if is_role {
            account.role = change.after.as_ref().and_then(Resource::tags).cloned()
        } else {
            account.has_policy = creates
        }
        Ok(())
    }

    async fn create_template(&self, _: &Document) -> Result<String, Fault> {
        self.call("create template").await?;
        let id = "EXT1".to_owned();
        self.account.lock().unwrap().templates.insert(id.clone());
        Ok(id)
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
        let number = {
            let mut account = self.account.lock().unwrap();
            account.experiments.push((Instant::now(), false));
            account.experiments.len() - 1
        };
        Ok(self.described(number))
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

/// A template of another team, which somebody has tagged.
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

/// Runs a drill. Gives how it ended, its steps as text, and what was waited for.
async fn ran(cloud: &Fake, stop: &watch::Receiver<bool>) -> (Ended, Vec<String>, Vec<String>) {
    let (steps, waits) = (Mutex::default(), Mutex::default());
    let step = |report: &StepReport| {
        let StepReport { result, seconds, message, .. } = report;
        let lines: &Mutex<Vec<String>> = &steps;
        lines.lock().unwrap().push(format!("{seconds} {result:?} {message}"));
    };
    let wait = |reason: &str| {
        let waits: &Mutex<Vec<String>> = &waits;
        waits.lock().unwrap().push(reason.to_owned());
    };
    let ended = run(cloud, &drill(), &step, &wait, stop).await;
    (ended, steps.into_inner().unwrap(), waits.into_inner().unwrap())
}

async fn undisturbed(cloud: &Fake) -> (Ended, Vec<String>, Vec<String>) {
    let (_stop, asked) = watch::channel(false);
    ran(cloud, &asked).await
}

const DELIVERED: &str = "Done warning at the hub, delivered to karpenter-base in 79 ms";

#[tokio::test(start_paused = true)]
async fn a_drill_tells_each_step_and_leaves_nothing() {
    let cloud = Fake::healthy();
    let (ended, steps, waits) = undisturbed(&cloud).await;
    assert_eq!(
        steps,
        [
            "2 Done experiment runs",
            &format!("15 {DELIVERED}"),
            "18 Done taken by Karpenter: a message of its queue is in flight",
            "120 Done instance shutting down",
            "150 Done instance terminated",
        ]
    );
    assert!(!ended.has_failed() && ended.fault.is_none() && ended.left.is_none(), "{ended:?}");
    assert_eq!((waits, cloud.left()), (Vec::new(), NOTHING));
    let calls = &cloud.account.lock().unwrap().calls;
    let writes: Vec<_> = calls.iter().filter(|call| call.contains("te ") || ["start", "stop"].contains(call)).collect();
    assert_eq!(
        writes,
        [
            &"create role",
            &"create policy",
            &"create template",
            &"start",
            &"delete template",
            &"delete policy",
            &"delete role"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_step_that_fails_or_stays_away_is_said_as_such() {
    let healthy = Fake::healthy;
    let rebalance: At<&'static [_]> = |at| match at {
        0..5 => &[],
        5..15 => &[("delivered", "rebalance-recommendation")],
        _ => &[("delivered", "rebalance-recommendation"), ("delivered", "spot-interruption")],
    };
    let nothing: At<&'static [_]> = |_| &[];
    for (what, cloud, failed, line) in [
        (
            "the experiment fails",
            Fake { status: |_| "failed", reason: "no permission", lines: nothing, ..healthy() },
            true,
            "0 Failed experiment failed: no permission",
        ),
        (
            "it is cancelled while it runs",
            Fake {
                status: |at| if at < 9 { "running" } else { "cancelled" },
                reason: "no target",
                lines: nothing,
                ..healthy()
            },
            true,
            "10 Failed experiment cancelled: no target",
        ),
        (
            "it never begins",
            Fake { status: |_| "pending", lines: nothing, ..healthy() },
            true,
            "120 Failed experiment still pending after 2m",
        ),
        (
            "no delivery",
            Fake { lines: nothing, ..healthy() },
            true,
            "360 Failed no delivery of the warning in the router's log after 6m",
        ),
        (
            "an earlier warning",
            Fake { lines: nothing, old: &[("delivered", "spot-interruption")], ..healthy() },
            true,
            "360 Failed no delivery of the warning in the router's log after 6m",
        ),
        (
            "a recommendation is no warning",
            Fake { lines: |_| &[("delivered", "rebalance-recommendation")], ..healthy() },
            true,
            "360 Failed no delivery of the warning in the router's log after 6m",
        ),
        ("a recommendation", Fake { lines: rebalance, ..healthy() }, false, &format!("15 {DELIVERED}")),
        (
            "dropped",
            Fake { lines: |_| &[("dropped", "spot-interruption")], ..healthy() },
            true,
            "4 Failed warning at the hub, dropped: no tags seen",
        ),
        (
            "the message waited",
            Fake { depth: |at| if at < 40 { [1, 0] } else { [0, 0] }, ..healthy() },
            false,
            "40 Done taken by Karpenter: its queue is empty",
        ),
        (
            "an empty queue says nothing at once",
            Fake { depth: |_| [0, 0], ..healthy() },
            false,
            "78 Done taken by Karpenter: its queue is empty",
        ),
        (
            "a message that was in flight before",
            Fake { depth: |_| [0, 1], ..healthy() },
            false,
            "900 NotKnown whether Karpenter took it is not known after 15m",
        ),
        (
            "a message that expired was not taken",
            Fake { depth: |at| if at < 320 { [1, 0] } else { [0, 0] }, ..healthy() },
            false,
            "900 NotKnown whether Karpenter took it is not known after 15m",
        ),
        (
            "a line of the log that comes when the message may have expired",
            Fake {
                lines: |at| {
                    if at < 290 { &[] } else { &[("delivered", "spot-interruption")] }
                },
                depth: |_| [0, 0],
                ..healthy()
            },
            false,
            "900 NotKnown whether Karpenter took it is not known after 15m",
        ),
        (
            "metrics",
            Fake { depth: |at| [u64::from(at < 320), 0], deleted: |at| u64::from(at > 400), ..healthy() },
            false,
            "410 Done taken by Karpenter: 1 deleted from its queue",
        ),
        (
            "the instance stays",
            Fake { state: |_| "running", ..healthy() },
            true,
            "420 Failed instance still running after 7m",
        ),
    ] {
        let (ended, steps, _) = undisturbed(&cloud).await;
        assert!(steps.iter().any(|step| step == line), "{what}: {steps:#?}");
        assert_eq!((ended.has_failed(), cloud.left()), (failed, NOTHING), "{what}: {steps:#?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_log_that_cannot_be_read_is_named() {
    let cloud = Fake::healthy();
    let denied = || Fault::new(FaultKind::Rejected, "logs:X", "no");
    cloud.account.lock().unwrap().refused.insert("log", vec![denied(); 500]);
    let (ended, steps, _) = undisturbed(&cloud).await;
    let expected = "no delivery of the warning in the router's log after 6m; logs:X: no";
    assert!(ended.has_failed() && steps.iter().any(|step| step.ends_with(expected)), "{steps:#?}");
}

/// FIS refuses the first calls, or begins experiments that fail, while it does not know the role.
#[tokio::test(start_paused = true)]
async fn a_role_that_cannot_be_assumed_yet_is_waited_for() {
    let refusal = || Fault::new(FaultKind::Rejected, "fis", "FIS is not able to assume the role");
    for call in ["start", "create template"] {
        for (times, begins) in [(3, true), (100, false)] {
            let cloud = Fake::healthy();
            cloud.account.lock().unwrap().refused.insert(call, vec![refusal(); times]);
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
        let cloud = Fake::healthy();
        let no = Fault::new(FaultKind::Rejected, call, "no");
        cloud.account.lock().unwrap().refused.insert(call, vec![no.clone()]);
        let (ended, ..) = undisturbed(&cloud).await;
        assert_eq!((ended.fault, ended.left), (Some(no), None), "{call}");
        assert_eq!(cloud.left(), NOTHING, "{call}");
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
        assert!(
            ended.fault.as_ref().is_some_and(|fault| fault.kind == FaultKind::Stopped) && ended.left.is_none(),
            "{seconds}: {ended:?}"
        );
        assert_eq!(cloud.left(), NOTHING, "{seconds}");
    }
}

/// The command is killed at every call until the first steps were seen; then `--clean` finds all of it.
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

#[tokio::test(start_paused = true)]
async fn a_role_of_someone_else_is_not_touched() {
    let cloud = Fake::healthy();
    cloud.account.lock().unwrap().role = Some(Tags::default());
    let found = find(&cloud, &scope()).await.unwrap_err();
    assert_eq!(found.kind, FaultKind::NotManaged);
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
    assert_eq!((role.path.as_str(), &role.tags), ("/platform/", &drill.tags()));
    let boundary = |role: Role| role.permissions_boundary.unwrap().to_string();
    assert_eq!(boundary(role.clone()), "arn:aws:iam::aws:policy/service-role/AWSFaultInjectionSimulatorEC2Access");
    let of_hub = "arn:aws:iam::111122223333:policy/platform";
    let options = HubOptions { permissions_boundary: Some(OrNone(of_hub.parse().ok())), ..drill.options.clone() };
    assert_eq!(boundary(Drill { options, ..drill.clone() }.role()), of_hub);
    let condition = &role.trust.statements()[0]["Condition"];
    assert_eq!(condition["StringEquals"]["aws:SourceAccount"], "111122223333");
}
