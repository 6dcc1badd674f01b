//! The calls to SNS, one for the router and one for the command line (API version 2010-03-31).

#[cfg(feature = "cli")]
use std::collections::BTreeMap;

#[cfg(feature = "cli")]
use aws_smithy_runtime_api::client::runtime_plugin::RuntimePlugin;
use aws_types::SdkConfig;
use roxmltree::Node;

#[cfg(feature = "cli")]
use super::query::text;
use super::query::{self, Param, QueryError, params};
use super::signed_call::Service;

const VERSION: &str = "2010-03-31";

const SNS: Service = Service::of("SNS", "sns");

#[derive(Clone, Debug)]
pub struct Client(query::Client);

/// A message to a topic, with the attributes that subscriptions can filter by. SNS refuses an attribute without a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    pub message: String,
    pub attributes: Vec<(&'static str, String)>,
}

impl Client {
    pub fn new(config: &SdkConfig) -> Self {
        Self(query::Client::of(config, SNS, VERSION))
    }

    /// A client for [`Client::topic_attributes`], with further interceptors and retry classifiers.
    #[cfg(feature = "cli")]
    pub fn of_topics(config: &SdkConfig, further: impl RuntimePlugin + 'static) -> Self {
        Self(query::Client::named(config, SNS, VERSION, "GetTopicAttributes", further))
    }

    /// The answer about a topic, which [`attributes`] reads.
    #[cfg(feature = "cli")]
    pub async fn topic_attributes(&self, topic: &str) -> Result<String, query::Unanswered> {
        let topic = params(&[("TopicArn", topic)]);
        self.0.send("GetTopicAttributes", &topic).await
    }
}

/// The attributes in an answer about a topic; `None` if it has none.
#[cfg(feature = "cli")]
pub fn attributes(answer: &str) -> Option<BTreeMap<String, String>> {
    let document = roxmltree::Document::parse(answer).ok()?;
    let mut elements = document.descendants();
    let entries = elements.find(|element| element.has_tag_name("Attributes"))?;
    let entries = entries.children().filter(Node::is_element);
    Some(entries.filter_map(|entry| Some((text(entry, "key")?.to_owned(), text(entry, "value")?.to_owned()))).collect())
}

/// Publishes up to ten notices to a topic in one call. Returns how many it accepted: each can fail individually.
pub async fn publish_batch(client: &Client, topic: &str, notices: &[Notice]) -> Result<usize, QueryError> {
    let mut form = params(&[("TopicArn", topic)]);
    for (notice, n) in notices.iter().zip(1..) {
        form.extend(entry(&format!("PublishBatchRequestEntries.member.{n}"), n, notice));
    }
    let count = |answer: Node<'_, '_>| Ok(successful(answer));
    client.0.call("PublishBatch", &form, count).await
}

fn entry(key: &str, id: usize, notice: &Notice) -> Vec<Param> {
    let mut entry = vec![(format!("{key}.Id"), id.to_string()), (format!("{key}.Message"), notice.message.clone())];
    let attributes = notice.attributes.iter().filter(|(_, value)| !value.is_empty());
    for ((name, value), n) in attributes.zip(1..) {
        let key = format!("{key}.MessageAttributes.entry.{n}");
        entry.extend([
            (format!("{key}.Name"), (*name).to_owned()),
            (format!("{key}.Value.DataType"), "String".to_owned()),
            (format!("{key}.Value.StringValue"), value.clone()),
        ]);
    }
    entry
}

fn successful(answer: Node<'_, '_>) -> usize {
    let lists = answer.descendants().filter(|node| node.has_tag_name("Successful"));
    lists.flat_map(|list| list.children()).filter(|member| member.has_tag_name("member")).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_has_the_attributes_that_have_a_value() {
        let notice = Notice {
            message: "{}".to_owned(),
            attributes: vec![("cluster", "a".to_owned()), ("nodepool", String::new()), ("signal", "s".to_owned())],
        };
        let form: Vec<String> = entry("e", 7, &notice).iter().map(|(key, value)| format!("{key}={value}")).collect();
        let attribute = |number, name, value| {
            let of = format!("e.MessageAttributes.entry.{number}");
            format!("{of}.Name={name} {of}.Value.DataType=String {of}.Value.StringValue={value}")
        };
        let attributes = [attribute(1, "cluster", "a"), attribute(2, "signal", "s")].join(" ");
        assert_eq!(form.join(" "), format!("e.Id=7 e.Message={{}} {attributes}"));
    }

    /// The format follows the API reference, "GetTopicAttributes".
    #[test]
    fn a_topic_has_attributes() {
        let answer = "<GetTopicAttributesResponse xmlns=\"http://sns.amazonaws.com/doc/2010-03-31/\"><GetTopicAttributesResult>\
                      <Attributes><entry><key>Policy</key><value>{&quot;Version&quot;:&quot;2012-10-17&quot;}</value></entry>\
                      <entry><key>KmsMasterKeyId</key><value>alias/aws/sns</value></entry></Attributes>\
                      </GetTopicAttributesResult></GetTopicAttributesResponse>";
        let found = attributes(answer).unwrap();
        assert_eq!(found["KmsMasterKeyId"], "alias/aws/sns");
        assert_eq!(found["Policy"], "{\"Version\":\"2012-10-17\"}");
        for other in ["<a/>", "", "<Attributes>"] {
            assert_eq!(attributes(other), None, "{other}");
        }
    }

    /// The format follows the API reference, "PublishBatch".
    #[test]
    fn an_answer_says_how_many_were_taken() {
        let answer = "<PublishBatchResponse xmlns=\"http://sns.amazonaws.com/doc/2010-03-31/\"><PublishBatchResult><Failed><member>\
                      <Id>2</Id><Code>Throttled</Code></member></Failed><Successful><member><Id>1</Id></member><member><Id>3</Id>\
                      </member></Successful></PublishBatchResult></PublishBatchResponse>";
        let document = roxmltree::Document::parse(answer).unwrap();
        // SNS elements have a namespace.
        assert_eq!(successful(document.root_element()), 2);
    }
}
