use super::*;
use crate::model::table::rows;
use crate::wire::test_service::{TestService, config, reply};

const SERVICE: Service = Service::of("EC2", "ec2");
const VERSION: &str = "2016-11-15";

/// The status and the code of each response, or its document, and the result.
#[tokio::test]
async fn answers_are_results_errors_or_retried() {
    let table = "
        a result             | 200 <DoResponse><a/></DoResponse>                           | Ok
        throttled once       | 503 RequestLimitExceeded, 200 <DoResponse><a/></DoResponse> | Ok
        throttled with a 400 | 400 Throttling, 200 <DoResponse><a/></DoResponse>           | Ok
        a server's error     | 500 , 200 <DoResponse><a/></DoResponse>                     | Ok
        always throttled     | 503 RequestLimitExceeded, 503 RequestLimitExceeded, 503 RequestLimitExceeded | throttled
        denied               | 403 UnauthorizedOperation                                   | denied
        something else       | 200 <html/>                                                 | unreadable";
    for [what, answers, expected] in rows(table) {
        let error = |code| format!("<Response><Errors><Error><Code>{code}</Code></Error></Errors></Response>");
        let answers = answers.split(", ").map(|answer| answer.split_once(' ').unwrap());
        let answers = answers.map(|(status, text)| {
            let is_code = text.starts_with(char::is_alphabetic);
            reply(status.parse().unwrap(), if is_code { error(text) } else { text.to_owned() })
        });
        let answers: Vec<_> = answers.collect();
        let calls = answers.len();
        let service = TestService::start(answers, "Action=");
        let client = Client::of(&config(&service.endpoint), SERVICE, VERSION);
        let found = match client.call("Do", &params(&[("A", "b c")]), |_| Ok(())).await {
            Ok(()) => "Ok",
            Err(e) if e.is_throttled() => "throttled",
            Err(e) if e.is_denied() => "denied",
            Err(QueryError::Unreadable(_)) => "unreadable",
            Err(e) => panic!("{what}: {e:?}"),
        };
        assert_eq!(found, expected, "{what}");
        let requests = service.requests();
        assert_eq!(requests.len(), calls, "{what}");
        for request in requests {
            assert!(request.starts_with("post / http/1.1\r\n"), "{what}: {request}");
            assert!(request.ends_with("\r\n\r\naction=do&version=2016-11-15&a=b%20c"), "{what}: {request}");
            assert!(request.contains("/us-west-2/ec2/aws4_request"), "{what}: {request}");
        }
    }
}

#[test]
fn codes_answer_questions() {
    let refused = |status, code: &str| QueryError::Refused { status, code: code.to_owned(), message: String::new() };
    for (error, throttled, denied, transient) in [
        (refused(503, "RequestLimitExceeded"), true, false, true),
        (refused(400, "Throttling"), true, false, true),
        (refused(429, ""), true, false, true),
        (refused(500, "InternalError"), false, false, true),
        (refused(400, "RequestExpired"), false, false, true),
        (refused(403, "UnauthorizedOperation"), false, true, false),
        (refused(400, "InvalidParameterValue"), false, false, false),
        (QueryError::Unreachable(String::new()), false, false, true),
    ] {
        let found = (error.is_throttled(), error.is_denied(), error.is_transient());
        assert_eq!(found, (throttled, denied, transient), "{error:?}");
    }
}

#[test]
fn a_form_has_every_parameter_in_order() {
    let mut params = params(&[("X", "1")]);
    params.extend(list("Id", ["i-1", "ü b&c"]));
    assert_eq!(form("Do", VERSION, &params), "Action=Do&Version=2016-11-15&X=1&Id.1=i-1&Id.2=%C3%BC%20b%26c");
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
