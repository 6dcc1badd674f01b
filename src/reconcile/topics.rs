//! The SNS topics of a hub: the router publishes notices to one, and CloudWatch alarms to the other. A topic that
//! cannot work is refused before any change.

use super::blocked::unanswered;
use super::{Case, OPTIONS, Say};
use crate::error::Hint;
use crate::iam::grants::{LetsIn, Need, lets_in};
use crate::message::Message;
use crate::model::{
    Document, Fact, FindingCode, HubOptions, KmsKey, Resource, RouterHandler, Scope, Topic, TopicAttributes,
    fill_template, router_function::LONGEST_HANDLER, watch,
};
use crate::survey::Survey;

/// The alias of the AWS managed key for topics.
const KEY_OF_AWS: &str = "alias/aws/sns";

/// Refuses a topic in another account or Region, and one whose name does not fit into the handler, from which the router reads it.
pub(super) fn unusable(scope: &Scope, options: &HubOptions) -> Option<Message> {
    let Scope { account, region, .. } = scope;
    let topics =
        [("alarms", options.alarm_topic(), "alarms notify"), ("notify", options.topic(), "the router publishes to")];
    for (option, topic, who) in topics {
        if let Some(topic) = topic.filter(|topic| !is_here(scope, topic)) {
            let sentence = format!("`{topic}` is not a topic of account {account} in {region}; {who} no other topic");
            return Some(refusal(scope, option, sentence));
        }
    }
    let topic = options.topic()?;
    let handler = RouterHandler::of_hub(&scope.bus, options).to_string();
    let over = handler.len().checked_sub(LONGEST_HANDLER + 1)? + 1;
    let sentence = format!(
        "the name of topic `{}` is longer than the {} characters that this bus and --queue-name leave in the router's handler",
        topic.name(),
        topic.name().len().saturating_sub(over)
    );
    Some(refusal(scope, "notify", sentence))
}

fn is_here(scope: &Scope, topic: &Topic) -> bool {
    topic.as_str() == topic.name() || topic.as_str() == scope.topic_arn(topic)
}

fn refusal(scope: &Scope, option: &str, sentence: String) -> Message {
    let (text, without) = match option {
        "alarms" => ("set another topic, or none:", "bootstrap-hub --alarms"),
        _ => ("set a topic that fits, or none:", "bootstrap-hub --notify none"),
    };
    Message::refusal(FindingCode::OptionNotApplicable, OPTIONS, sentence).then(text, scope.kibus(without))
}

/// The topic for notices: the router is not allowed to use a customer key.
pub(super) fn of_notices(case: &Case<'_>, say: &mut Say) {
    let Some(topic) = case.after.options.topic() else {
        return;
    };
    let Some(key) = asked(case, say, "notify", topic).and_then(|found| found.key.as_ref()) else { return };
    let name = topic.name();
    match key_of(case.survey, key) {
        Ok(None) => {}
        Ok(Some(_)) => {
            let sentence = format!(
                "topic `{name}` is encrypted with key `{key}`, which the router is not allowed to use: it can publish \
                 to topics without a key, and to topics encrypted with `{KEY_OF_AWS}`"
            );
            say.refusals.push(refusal(&case.survey.scope, "notify", sentence));
        }
        Err(why) => say.warn(Hint::text(format!(
            "unknown whether the router may use key `{key}` of topic `{name}`{why}. It can if AWS manages the key; otherwise notices fail"
        ))),
    }
}

/// The key of a topic, unless AWS manages it; or why it is unknown, as text that follows a sentence.
fn key_of<'a>(survey: &'a Survey, key: &String) -> Result<Option<&'a KmsKey>, String> {
    if key.ends_with(KEY_OF_AWS) {
        return Ok(None);
    }
    match survey.topic_keys(key) {
        Fact::Present(found) => Ok((!found.of_aws).then_some(&found.key)),
        unread => Err(why(unread)),
    }
}

fn why<T>(unread: &Fact<T>) -> String {
    unread.fault().map_or(String::new(), |fault| format!(": {fault}"))
}

/// The topic for alarms: its policy and the policy of its key must allow CloudWatch.
pub(super) fn of_alarms(case: &Case<'_>, say: &mut Say) {
    let (scope, options) = (&case.survey.scope, &case.after.options);
    let Some(topic) = options.alarm_topic() else { return };
    let Some(found) = asked(case, say, "alarms", topic) else {
        return;
    };
    let alarms = watch::alarms(scope, options);
    let alarms = alarms.iter().filter_map(Resource::as_alarm).map(|alarm| alarm.name.clone());
    let clusters = case.survey.recorded().into_keys().filter(|_| options.has_reader_alarms());
    let alarms = alarms.chain(clusters.map(|cluster| watch::reader_alarm_name(scope, &cluster)));
    let alarms: Vec<String> = alarms.map(|alarm| scope.alarm_arn(&alarm)).collect();
    let name = topic.name();
    let judge = |say: &mut Say, what: &str, policy: &Document, need: Need| match lets_in(policy, need, scope, &alarms) {
        LetsIn::Yes => {}
        LetsIn::No(missing) => {
            let values = [
                ("account", scope.account.as_str().into()),
                ("actions", missing.into_iter().collect()),
                ("resource", if need == Need::AlarmsUseKey { "*".into() } else { scope.topic_arn(topic).into() }),
            ];
            let statement = fill_template(include_str!("../../templates/policies/topic.json"), &values).compact();
            let sentence = format!("topic `{name}` cannot be notified by alarms: {what} does not allow CloudWatch");
            let refusal = refusal(scope, "alarms", sentence);
            say.refusals.push(refusal.advise(format!("add this statement to that policy: {statement}")));
        }
        LetsIn::Unclear => say.warn(Hint::text(format!(
            "unknown whether alarms can notify topic `{name}`: {what} has conditions that kibus does not evaluate"
        ))),
    };
    if let Some(policy) = &found.policy {
        judge(say, "its policy", policy, Need::AlarmsPublish);
    }
    let Some(key) = &found.key else { return };
    let unknown = match key_of(case.survey, key) {
        Ok(None) => {
            let sentence = format!(
                "topic `{name}` is encrypted with the AWS managed key `{KEY_OF_AWS}`, whose policy does not allow \
                 CloudWatch and cannot be changed: alarms would notify no one. Encrypt the topic with a customer key \
                 that allows CloudWatch, or not at all"
            );
            say.refusals.push(refusal(scope, "alarms", sentence));
            return;
        }
        Ok(Some(customer)) => match case.survey.key_policies(customer) {
            Fact::Present(policy) => {
                return judge(say, &format!("the policy of its key `{key}`"), policy, Need::AlarmsUseKey);
            }
            unread => why(unread),
        },
        Err(why) => why,
    };
    say.warn(Hint::text(format!(
        "unknown whether key `{key}` of topic `{name}` allows CloudWatch{unknown}. Its policy must allow \
         `cloudwatch.amazonaws.com`, or alarms notify no one"
    )));
}

/// SNS's answer about the topic of an option. If there is no answer, or no topic, this reports it.
fn asked<'a>(case: &Case<'a>, say: &mut Say, option: &str, topic: &Topic) -> Option<&'a TopicAttributes> {
    let (survey, scope) = (case.survey, &case.survey.scope);
    // A topic elsewhere is refused without a call.
    if !is_here(scope, topic) {
        return None;
    }
    let name = topic.name();
    match survey.topics(topic) {
        Fact::Present(found) => return Some(found),
        Fact::Absent => {
            let (region, account) = (&scope.region, &scope.account);
            let sentence = format!("topic `{name}` does not exist in {region} of account {account}");
            say.refusals.push(refusal(scope, option, sentence));
        }
        Fact::Unreadable(fault) => {
            let what = format!("unknown whether topic `{name}` of --{option} exists and can be published to");
            say.warn(unanswered(scope, &what, fault));
        }
        Fact::NotAsked => {}
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::scope::tests::scope;

    #[test]
    fn a_topic_is_of_this_account_and_fits_into_the_handler() {
        let longest = format!("{{cluster}}{}", "x".repeat(50));
        let here = "arn:aws:sns:us-west-2:111122223333:team-a";
        for (topic, template, refused) in [
            ("team-a", "karpenter-{cluster}", [false, false]),
            (here, "karpenter-{cluster}", [false, false]),
            ("arn:aws:sns:us-east-1:111122223333:team-a", "karpenter-{cluster}", [true, true]),
            ("arn:aws:sns:us-west-2:999999999999:team-a", "karpenter-{cluster}", [true, true]),
            ("arn:aws-cn:sns:us-west-2:111122223333:team-a", "karpenter-{cluster}", [true, true]),
            // Of 128, 5 for the bus, 59 for the template, 9 between.
            (&"t".repeat(55), &longest, [false, false]),
            (&"t".repeat(56), &longest, [true, false]),
        ] {
            let template = Some(template.parse().unwrap());
            let of = |option: &str| {
                let given = serde_json::from_value(serde_json::json!({ option: topic })).unwrap();
                HubOptions { queue_name: template.clone(), ..given }
            };
            let found = ["notify", "alarms"].map(|option| unusable(&scope(), &of(option)).is_some());
            assert_eq!(found, refused, "{topic}");
        }
        for refused in ["team.fifo", "arn:aws:sqs:us-west-2:111122223333:a", "", "a:b"] {
            assert!(refused.parse::<Topic>().is_err(), "{refused}");
        }
    }
}
