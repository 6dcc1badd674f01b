//! What the answers of a simulation mean.

use std::collections::BTreeMap;

use super::super::*;
use crate::model::{Fault, FaultKind};

const BUS: &str = "aws:ResourceTag/kibus:bus";
const UNLESS: &str = "what no policy allows is missing, unless a policy that depends on aws:SourceIp allows it";
const SOME_KEY: &str = "a policy may deny a call only because the simulation has no value for a condition key, such as \
                        aws:MultiFactorAuthPresent or aws:SourceIp";
const ADDRESS: &str = "a policy may deny a call only because the simulation has no value for aws:SourceIp";

fn call(action: &str) -> Call {
    Call { action: action.to_owned(), resource: "a".to_owned() }
}

fn no_policy(keys: &[&str]) -> AccessDecision {
    AccessDecision::NoPolicy { keys: keys.iter().map(|key| (*key).to_owned()).collect() }
}

fn policies(names: &[&str]) -> AccessDecision {
    AccessDecision::Policies(names.iter().map(|name| (*name).to_owned()).collect())
}

/// The verdict about calls `a`, `b` and so on, as its denials, reserves and unknowns.
fn verdict(decisions: Vec<Option<AccessDecision>>) -> [Vec<String>; 3] {
    let names = ["a", "b", "c"];
    let calls = names[..decisions.len()].iter().map(|name| call(name)).collect();
    let decided = names.iter().zip(decisions);
    let decisions: BTreeMap<_, _> = decided.filter_map(|(name, decision)| Some((call(name), decision?))).collect();
    let answer = Answered { calls, decisions: Ok(decisions) };
    let verdict = weigh(&[BUS.to_owned()].into(), &[answer]);
    let why = |reasons: Vec<(Call, String)>| reasons.into_iter().map(|(call, why)| format!("{}: {why}", call.action));
    [why(verdict.denied).collect(), verdict.reserves, why(verdict.unknown).collect()]
}

#[test]
fn i13_a_denial_is_a_denial_and_says_what_else_may_decide() {
    let none = "a: no policy of the caller allows it";
    let guard = "a: policy `guard` denies it";
    for (decisions, denied, reserves) in [
        (vec![AccessDecision::Allowed], &[] as &[&str], &[] as &[&str]),
        // A request lacks this key too.
        (vec![no_policy(&[BUS])], &[none], &[]),
        (vec![no_policy(&[BUS, "aws:SourceIp"])], &[none], &[UNLESS]),
        // Without a call that no policy allows, IAM lists no key.
        (vec![policies(&["guard"])], &[guard], &[SOME_KEY]),
        (vec![policies(&[])], &["a: a policy denies it"], &[SOME_KEY]),
        (vec![policies(&["x", "y"])], &["a: policies `x`, `y` deny it"], &[SOME_KEY]),
        (vec![policies(&["guard"]), no_policy(&[])], &[guard, "b: no policy of the caller allows it"], &[]),
        (
            vec![policies(&["guard"]), no_policy(&["aws:SourceIp"])],
            &[guard, "b: no policy of the caller allows it"],
            &[UNLESS, ADDRESS],
        ),
        (vec![AccessDecision::Boundary], &["a: the permissions boundary of the caller does not allow it"], &[]),
        (
            vec![AccessDecision::Organization],
            &["a: a service control policy of the organization does not allow it"],
            &[],
        ),
    ] {
        let expected = [denied, reserves, &[]].map(<[&str]>::to_vec);
        let case = format!("{decisions:?}");
        assert_eq!(verdict(decisions.into_iter().map(Some).collect()), expected, "{case}");
    }
}

#[test]
fn what_has_no_clear_answer_is_unknown() {
    let [denied, _, unknown] = verdict(vec![Some(AccessDecision::Other), None]);
    assert_eq!(denied, Vec::<String>::new());
    assert_eq!(unknown, ["a: IAM gave an answer that kibus does not know", "b: IAM gave no answer about it",]);
    let throttled = Fault::new(FaultKind::Throttled, "iam:SimulatePrincipalPolicy", "slow down");
    let answer = Answered { calls: [call("a")].into(), decisions: Err(throttled) };
    let verdict = weigh(&BTreeSet::new(), &[answer]);
    assert_eq!(verdict.unknown, [(call("a"), "iam:SimulatePrincipalPolicy: slow down".to_owned())]);
}
