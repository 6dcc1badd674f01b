use std::io::{Read, Write};
use std::net::TcpListener;

use super::*;
use crate::wire::test_service::config;

/// Answers one connection after the other and gives the request of each.
fn serve(listener: &TcpListener, answers: &[(u16, String)]) -> Vec<String> {
    let mut requests = Vec::new();
    for (status, body) in answers {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = Vec::new();
        let mut buffer = [0; 4096];
        while !String::from_utf8_lossy(&request).contains("Action=") {
            let read = stream.read(&mut buffer).unwrap();
            request.extend_from_slice(&buffer[..read]);
        }
        let length = body.len();
        let head = format!("HTTP/1.1 {status} X\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n");
        stream.write_all((head + body).as_bytes()).unwrap();
        requests.push(String::from_utf8(request).unwrap());
    }
    requests
}

#[test]
fn each_page_of_tags_is_a_call() {
    let page = |id: &str, token: &str| {
        let item = format!("<item><resourceId>{id}</resourceId><key>k</key><value>v</value></item>");
        let page = format!("<tagSet>{item}</tagSet><nextToken>{token}</nextToken>");
        (200, format!("<DescribeTagsResponse>{page}</DescribeTagsResponse>"))
    };
    let answers = [page("i-1", "more"), page("i-2", "")];
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let server = std::thread::spawn(move || serve(&listener, &answers));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let client = Client::new(&config(&endpoint));
    let mut asked = 0;
    let tags = runtime.block_on(describe_tags(&client, &["i-1", "i-2"], || asked += 1));
    assert_eq!((tags.unwrap().len(), asked), (2, 2));
    let requests = server.join().unwrap();
    assert!(requests[1].ends_with("&NextToken=more"), "{}", requests[1]);
}

#[test]
fn answers_are_results_errors_or_retried() {
    let error = |code: &str| format!("<Response><Errors><Error><Code>{code}</Code></Error></Errors></Response>");
    let result = "<DoResponse><a/></DoResponse>".to_owned();
    let throttled = (503, error("RequestLimitExceeded"));
    let also_throttled = (400, error("Throttling"));
    type Case = (&'static str, Vec<(u16, String)>, fn(&Result<(), Ec2Error>) -> bool);
    let cases: [Case; 7] = [
        ("a result", vec![(200, result.clone())], |answer| answer.is_ok()),
        ("throttled once", vec![throttled.clone(), (200, result.clone())], |answer| answer.is_ok()),
        ("throttled with a 400", vec![also_throttled, (200, result.clone())], |answer| answer.is_ok()),
        ("a server's error", vec![(500, String::new()), (200, result)], |answer| answer.is_ok()),
        ("always throttled", vec![throttled.clone(), throttled.clone(), throttled], |answer| {
            answer.as_ref().is_err_and(Ec2Error::is_throttled)
        }),
        ("denied", vec![(403, error("UnauthorizedOperation"))], |answer| {
            answer.as_ref().is_err_and(Ec2Error::is_denied)
        }),
        ("something else", vec![(200, "<html/>".to_owned())], |answer| matches!(answer, Err(Ec2Error::Unreadable(_)))),
    ];
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for (what, answers, is_expected) in cases {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let expected = answers.len();
        let server = std::thread::spawn(move || serve(&listener, &answers));
        let client = Client::new(&config(&endpoint));
        let answer = runtime.block_on(client.call("Do", &params(&[("A", "b c")]), |_| Ok(())));
        assert!(is_expected(&answer), "{what}: {answer:?}");
        let requests = server.join().unwrap();
        assert_eq!(requests.len(), expected, "{what}");
        for request in requests {
            assert!(request.starts_with("POST / HTTP/1.1\r\n"), "{what}: {request}");
            assert!(request.ends_with("\r\n\r\nAction=Do&Version=2016-11-15&A=b%20c"), "{what}: {request}");
            assert!(request.contains("/us-west-2/ec2/aws4_request"), "{what}: {request}");
        }
    }
}

fn read_page(inside: &str, found: &mut HashMap<String, Tags>) -> Result<Option<String>, Ec2Error> {
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
fn no_tags_are_not_an_error() {
    for inside in ["<tagSet/>", "<tagSet></tagSet>", ""] {
        let mut found = HashMap::new();
        assert_eq!(read_page(inside, &mut found), Ok(None), "{inside}");
        assert!(found.is_empty());
    }
}

#[test]
fn a_tag_without_a_resource_is_an_error() {
    let broken = "<tagSet><item><key>a</key></item></tagSet>";
    assert!(read_page(broken, &mut HashMap::new()).is_err());
}

#[test]
fn codes_answer_questions() {
    let refused = |status, code: &str| Ec2Error::Refused { status, code: code.to_owned(), message: String::new() };
    for (error, throttled, denied, transient) in [
        (refused(503, "RequestLimitExceeded"), true, false, true),
        (refused(400, "Throttling"), true, false, true),
        (refused(429, ""), true, false, true),
        (refused(500, "InternalError"), false, false, true),
        (refused(400, "RequestExpired"), false, false, true),
        (refused(403, "UnauthorizedOperation"), false, true, false),
        (refused(400, "InvalidParameterValue"), false, false, false),
        (Ec2Error::Unreachable(String::new()), false, false, true),
    ] {
        assert_eq!(
            (error.is_throttled(), error.is_denied(), error.is_transient()),
            (throttled, denied, transient),
            "{error:?}"
        );
    }
}

#[test]
fn a_form_has_every_parameter_in_order() {
    let tags = Tags::default().with("kubernetes.io/cluster/a", "owned").with("ü", "a b&c");
    let mut params = params(&[("X", "1")]);
    params.extend(list("Id", ["i-1", "i-2"]));
    params.extend(list_of_tags("Tag", &tags));
    assert_eq!(
        form("Do", VERSION, &params),
        "Action=Do&Version=2016-11-15&X=1&Id.1=i-1&Id.2=i-2&Tag.1.Key=kubernetes.io%2Fcluster%2Fa&Tag.1.Value=owned\
         &Tag.2.Key=%C3%BC&Tag.2.Value=a%20b%26c"
    );
}

#[test]
fn the_id_is_that_of_the_instance_only() {
    let answer = "<RunInstancesResponse><reservationId>r-1</reservationId><instancesSet>\
                  <item><monitoring><instanceId>no</instanceId></monitoring><instanceId>i-1</instanceId></item>\
                  <item><instanceId>i-2</instanceId></item></instancesSet></RunInstancesResponse>";
    assert_eq!(
        read_document(answer, "RunInstancesResponse", |answer| Ok(first_instance(answer))),
        Ok(Some("i-1".to_owned()))
    );
}

#[test]
fn an_incomplete_document_is_an_error() {
    for (xml, ok) in [
        ("<A><b>x</b></A>", true),
        ("<?xml version=\"1.0\"?>\n<A/>\n", true),
        ("<A xmlns=\"http://ec2.amazonaws.com/doc/2016-11-15/\"/>", true),
        ("<A><b>x</b>", false),
        ("<A><b>x</b></A", false),
        ("<A/><A/>", false),
        ("<!DOCTYPE A [<!ENTITY x \"x\">]><A>&x;</A>", false),
        ("<B/>", false),
        ("", false),
        ("{\"not\": \"XML\"}", false),
    ] {
        assert_eq!(read_document(xml, "A", |_| Ok(())).is_ok(), ok, "{xml}");
    }
}

#[test]
fn an_error_document_has_a_code_and_a_message() {
    let xml = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Response><Errors><Error>\
               <Code>RequestLimitExceeded</Code><Message>Request limit &lt;exceeded&gt;.</Message></Error>\
               </Errors><RequestID>x</RequestID></Response>";
    let [code, message] = error_in(xml);
    assert_eq!(code.as_deref(), Some("RequestLimitExceeded"));
    assert_eq!(message.as_deref(), Some("Request limit <exceeded>."));
    for none in ["", "<html><body>503</body></html>", "no XML", "<Response><Code"] {
        assert_eq!(error_in(none), [None, None], "{none}");
    }
}

/// The shape is that of the API reference, "DescribeInstances".
#[cfg(feature = "cli")]
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
