//! Each subject, by what AWS answered.

mod verdicts;

use super::*;
use crate::model::{
    AccessDecision, Answered, Call, Code, Fact, Fault, FaultKind, Hub, HubOptions, Observed, RoleName,
    scope::tests::scope_in,
};

fn fault(kind: FaultKind) -> Fault {
    Fault::new(kind, "x:Y", "no")
}

fn denied() -> Fault {
    fault(FaultKind::Denied { principal: None, resource: None })
}

fn answers() -> Answers {
    Answers {
        caller: "arn:aws:iam::111122223333:user/operator".to_owned(),
        rules: Fact::Present(7),
        simulated: Ok(Vec::new()),
    }
}

/// The plan of a first hub, which creates five rules.
fn first(scope: &Scope) -> Plan {
    let desired = Hub::new(scope, HubOptions::default(), Code::of_archive("0.1.0", "aa")).desired();
    let observed: Observed = desired.ids().map(|id| (id.clone(), Fact::Absent)).collect();
    crate::plan::plan(scope, &desired, &observed)
}

/// The item of a subject, as its result and its text, with the details and what helps.
fn item(subject: &str, report: &[Message]) -> (String, Vec<String>, Vec<String>) {
    let item = report.iter().find(|item| item.name() == subject).unwrap();
    let hint = |hint: &Hint| match &hint.command {
        Some(command) => command.clone(),
        None => hint.text.clone(),
    };
    let line = format!("{}: {}", item.kind.result(), item.sentence);
    (line, item.notes.clone(), item.fix.steps().iter().map(hint).collect())
}

/// What is known of a first hub in `us-west-2`, before a test changes something.
struct Case {
    scope: Scope,
    plan: Option<Plan>,
    unread: Vec<(String, Fault)>,
    calls: PlannedCalls,
    concurrency: Fact<u32>,
    answers: Answers,
}

impl Case {
    fn new(region: &str) -> Self {
        let scope = scope_in("aws", region);
        Self {
            plan: Some(first(&scope)),
            scope,
            unread: Vec::new(),
            calls: PlannedCalls::default(),
            concurrency: Fact::Present(1000),
            answers: answers(),
        }
    }

    fn report(&self) -> Vec<Message> {
        let findings = Findings {
            scope: &self.scope,
            read: 14,
            unread: self.unread.clone(),
            router: check("router", Passed, ""),
            planned: check("plan", Passed, ""),
            plan: self.plan.as_ref(),
            calls: &self.calls,
            concurrency: &self.concurrency,
            policy: self.scope.kibus("policy operator"),
        };
        checks(findings, &self.answers)
    }
}

#[test]
fn too_many_rules_are_a_warning_because_a_quota_may_be_raised() {
    let text = |result: &str, count: usize, most: usize, new: usize| {
        format!("{result}: {count} of {most} (default limit) on the default event bus; the plan creates {new}")
    };
    for (region, count, planned, expected) in [
        ("us-west-2", 7, true, text("ok", 7, 300, 5)),
        ("us-west-2", 295, true, text("ok", 295, 300, 5)),
        ("us-west-2", 296, true, text("warning", 296, 300, 5)),
        ("us-west-2", 420, true, text("warning", 420, 300, 5)),
        ("us-west-2", 420, false, text("ok", 420, 300, 0)),
        ("af-south-1", 96, true, text("warning", 96, 100, 5)),
    ] {
        let mut case = Case::new(region);
        case.answers.rules = Fact::Present(count);
        if !planned {
            case.plan = Some(Plan::default());
        }
        assert_eq!(item("rules", &case.report()).0, expected);
    }
}

#[test]
fn what_aws_does_not_answer_is_unknown() {
    let for_check = "kibus policy operator --for check";
    let role: RoleName = "operator".parse().unwrap();
    for (name, subject, change, expected, helps) in [
        (
            "denied rules",
            "rules",
            &(|case: &mut Case| case.answers.rules = Fact::Unreadable(denied())) as &dyn Fn(&mut Case),
            "unknown: x:Y: no",
            vec![for_check],
        ),
        (
            "throttled rules",
            "rules",
            &|case| case.answers.rules = Fact::Unreadable(fault(FaultKind::Throttled)),
            "unknown: x:Y: no",
            vec![],
        ),
        (
            "concurrency",
            "concurrency",
            &|case| case.concurrency = Fact::Unreadable(denied()),
            "unknown: x:Y: no",
            vec![],
        ),
        (
            "the root user",
            "permissions",
            &|case| case.answers.simulated = Err(NoSimulation::RootUser),
            "warning: IAM does not simulate calls of the root user, which only the organization can deny",
            vec![],
        ),
        (
            "a role that is not listed",
            "permissions",
            &|case| case.answers.simulated = Err(NoSimulation::UnlistedRole(role.clone())),
            "unknown: the ARN of role `operator` is needed, and it is not in the list of roles",
            vec![],
        ),
        (
            "no plan",
            "permissions",
            &|case| case.plan = None,
            "unknown: without a plan, it is unknown what it needs",
            vec![],
        ),
        (
            "a change without known calls",
            "permissions",
            &|case| case.calls.without = vec![ResourceId::Queue("x".parse().unwrap())],
            "unknown: no clear answer for 1 of 1 calls of the plan",
            vec![],
        ),
    ] {
        let mut case = Case::new("us-west-2");
        change(&mut case);
        let (line, _, hints) = item(subject, &case.report());
        assert_eq!((line.as_str(), hints), (expected, helps.into_iter().map(str::to_owned).collect()), "{name}");
    }
}

#[test]
fn little_concurrency_is_a_warning() {
    for (unreserved, expected) in
        [(5, "ok: 5 of the account unreserved"), (4, "warning: 4 of the account unreserved; the router uses up to 5")]
    {
        let mut case = Case::new("us-west-2");
        case.concurrency = Fact::Present(unreserved);
        assert_eq!(item("concurrency", &case.report()).0, expected);
    }
}

#[test]
fn reads_that_are_denied_fail() {
    for (fault, expected) in [
        (denied(), "failed: 1 of 15 resources in us-west-2 could not be read"),
        (fault(FaultKind::Unreachable), "unknown: 1 of 15 resources in us-west-2 could not be read"),
    ] {
        let mut case = Case::new("us-west-2");
        case.unread = vec![("queue x".to_owned(), fault)];
        assert_eq!(item("reads", &case.report()).0, expected);
    }
}

#[test]
fn denied_calls_are_listed_with_their_resources() {
    let call = |action: &str, resource: &str| Call { action: action.to_owned(), resource: resource.to_owned() };
    let calls =
        [call("sqs:CreateQueue", "a"), call("sqs:CreateQueue", "b"), call("sqs:TagQueue", "a"), call("x:Y", "*")];
    let no_policy = AccessDecision::NoPolicy { keys: BTreeSet::new() };
    let attach = "kibus policy operator";
    let elsewhere = "no further policy helps: let those who manage what denies these calls allow them";
    for (decision, why, helps) in [
        (no_policy, "no policy of the caller allows it", attach),
        (AccessDecision::Boundary, "the permissions boundary of the caller does not allow it", elsewhere),
    ] {
        let decided = [decision.clone(), decision, AccessDecision::Allowed];
        let mut case = Case::new("us-west-2");
        case.answers.simulated = Ok(vec![Answered {
            calls: calls.iter().cloned().collect(),
            decisions: Ok(calls.iter().cloned().zip(decided).collect()),
        }]);
        let (line, details, hints) = item("permissions", &case.report());
        assert_eq!(line, "failed: IAM denies 2 of 4 calls of the plan");
        let denied = format!("sqs:CreateQueue on 2 resources like a: {why}");
        assert_eq!(details, [denied.as_str(), "x:Y is unknown: IAM gave no answer about it"]);
        assert_eq!(hints, [helps]);
    }
}

#[test]
fn i13_an_allowed_call_may_be_denied_by_a_condition() {
    let call = Call { action: "x:Y".to_owned(), resource: "*".to_owned() };
    let mut case = Case::new("us-west-2");
    case.answers.simulated =
        Ok(vec![Answered { calls: [call.clone()].into(), decisions: Ok([(call, AccessDecision::Allowed)].into()) }]);
    let (line, ..) = item("permissions", &case.report());
    assert_eq!(line, "ok: IAM allows the 1 calls of the plan, unless a condition denies one");
}
