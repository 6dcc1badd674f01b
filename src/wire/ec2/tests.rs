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
    let [first, second] = [Tags::default().with("a", "1").with("d", ""), Tags::default().with("b&c", "")];
    assert_eq!(found, HashMap::from([("i-1".to_owned(), first), ("i-2".to_owned(), second)]));
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

/// Their members are read in scenario `drill`.
#[test]
fn instances_are_read_of_every_reservation() {
    let instance =
        |id: &str| format!("<item><instancesSet><item><instanceId>{id}</instanceId></item></instancesSet></item>");
    let answer = format!(
        "<DescribeInstancesResponse xmlns=\"http://ec2.amazonaws.com/doc/2016-11-15/\"><reservationSet>{}{}\
         </reservationSet><nextToken>t</nextToken></DescribeInstancesResponse>",
        instance("i-1"),
        instance("i-2")
    );
    let (all, token) = instances(&answer).unwrap();
    let ids: Vec<&str> = all.iter().map(|one| one.id.as_str()).collect();
    assert_eq!((ids, token.as_deref()), (vec!["i-1", "i-2"], Some("t")));
    assert!(instances("<DescribeInstancesResponse>").is_err());
}
