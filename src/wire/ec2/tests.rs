use super::*;
use crate::wire::query::read_document;
use crate::wire::test_service::{TestService, config, reply};

#[tokio::test]
async fn each_page_of_tags_is_a_call() {
    let page = |id: &str, token: &str| {
        let page = format!("<tagSet>{}</tagSet><nextToken>{token}</nextToken>", item(id, "k", "<value>v</value>"));
        reply(200, format!("<DescribeTagsResponse>{page}</DescribeTagsResponse>"))
    };
    let service = TestService::start(vec![page("i-1", "more"), page("i-2", "")], "Action=");
    let mut asked = 0;
    let tags = describe_tags(&Client::new(&config(&service.endpoint)), &["i-1", "i-2"], || asked += 1).await;
    assert_eq!((tags.unwrap().len(), asked), (2, 2));
    let requests = service.requests();
    assert!(requests[1].ends_with("&nexttoken=more"), "{}", requests[1]);
}

fn read_page(inside: &str, found: &mut HashMap<String, Tags>) -> Result<Option<String>, QueryError> {
    let xmlns = "http://ec2.amazonaws.com/doc/2016-11-15/";
    let page = format!("<Answer xmlns=\"{xmlns}\"><requestId>x</requestId>{inside}</Answer>");
    read_document(&page, "Answer", |page| read_tags(page, found))
}

fn item(id: &str, key: &str, value: &str) -> String {
    format!("<item><resourceId>{id}</resourceId><resourceType>instance</resourceType><key>{key}</key>{value}</item>")
}

#[test]
fn pages_add_up() {
    let mut found = HashMap::new();
    let first = format!(
        "<tagSet>{}{}</tagSet><nextToken>more</nextToken>",
        item("i-1", "a", "<value>1</value>"),
        item("i-2", "b&amp;c", "<value/>")
    );
    assert_eq!(read_page(&first, &mut found), Ok(Some("more".to_owned())));
    let last = format!("<tagSet>{}</tagSet><nextToken/>", item("i-1", "d", ""));
    assert_eq!(read_page(&last, &mut found), Ok(None));
    assert_eq!(
        found,
        HashMap::from([
            ("i-1".to_owned(), Tags::default().with("a", "1").with("d", "")),
            ("i-2".to_owned(), Tags::default().with("b&c", "")),
        ])
    );
}

#[test]
fn no_tags_are_not_an_error_and_a_tag_without_a_resource_is_one() {
    let broken = "<tagSet><item><key>a</key></item></tagSet>";
    for (inside, is_read) in [("<tagSet/>", true), ("<tagSet></tagSet>", true), ("", true), (broken, false)] {
        let mut found = HashMap::new();
        assert_eq!(read_page(inside, &mut found).ok(), is_read.then_some(None), "{inside}");
        assert!(found.is_empty());
    }
}

#[test]
fn instances_are_read_of_every_reservation() {
    let instance = |id: &str, more: &str| {
        format!(
            "<item><instancesSet><item><instanceId>{id}</instanceId><instanceState><code>16</code><name>running</name>\
             </instanceState><privateDnsName>ip-{id}.internal</privateDnsName><instanceType>m5.large</instanceType>\
             <launchTime>2026-11-24T03:00:00.000Z</launchTime><placement><availabilityZone>us-west-2a</availabilityZone>\
             </placement>{more}</item></instancesSet></item>"
        )
    };
    let tag = "<tagSet><item><key>karpenter.sh/nodepool</key><value>blue</value></item></tagSet>";
    let spot = instance("i-1", &format!("<instanceLifecycle>spot</instanceLifecycle>{tag}"));
    let answer = format!(
        "<DescribeInstancesResponse xmlns=\"http://ec2.amazonaws.com/doc/2016-11-15/\"><reservationSet>{spot}{}\
         </reservationSet><nextToken>t</nextToken></DescribeInstancesResponse>",
        instance("i-2", "")
    );
    let (all, token) = instances(&answer).unwrap();
    assert_eq!(token.as_deref(), Some("t"));
    let of = |one: &Instance| (one.id.to_string(), one.is_spot, one.state.clone(), one.tags.0.len());
    let expected = [("i-1", true, 1), ("i-2", false, 0)];
    let expected = expected.map(|(id, spot, tags)| (id.to_owned(), spot, "running".to_owned(), tags));
    assert_eq!(all.iter().map(of).collect::<Vec<_>>(), expected);
    assert_eq!([&all[0].host, &all[0].zone, &all[0].instance_type], ["ip-i-1.internal", "us-west-2a", "m5.large"]);
    assert!(instances("<DescribeInstancesResponse>").is_err());
}
