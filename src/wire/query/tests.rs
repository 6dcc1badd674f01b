use super::*;
use crate::wire::test_service::{TestService, config};

const SERVICE: Service = Service::of("EC2", "ec2");
const VERSION: &str = "2016-11-15";

#[test]
fn answers_are_results_errors_or_retried() {
    let error = |code: &str| format!("<Response><Errors><Error><Code>{code}</Code></Error></Errors></Response>");
    let result = "<DoResponse><a/></DoResponse>".to_owned();
    let throttled = (503, error("RequestLimitExceeded"));
    let also_throttled = (400, error("Throttling"));
    type Case = (&'static str, Vec<(u16, String)>, fn(&Result<(), QueryError>) -> bool);
    let cases: [Case; 7] = [
        ("a result", vec![(200, result.clone())], |answer| answer.is_ok()),
        ("throttled once", vec![throttled.clone(), (200, result.clone())], |answer| answer.is_ok()),
        ("throttled with a 400", vec![also_throttled, (200, result.clone())], |answer| answer.is_ok()),
        ("a server's error", vec![(500, String::new()), (200, result)], |answer| answer.is_ok()),
        ("always throttled", vec![throttled.clone(), throttled.clone(), throttled], |answer| {
            answer.as_ref().is_err_and(QueryError::is_throttled)
        }),
        ("denied", vec![(403, error("UnauthorizedOperation"))], |answer| {
            answer.as_ref().is_err_and(QueryError::is_denied)
        }),
        ("something else", vec![(200, "<html/>".to_owned())], |answer| {
            matches!(answer, Err(QueryError::Unreadable(_)))
        }),
    ];
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for (what, answers, is_expected) in cases {
        let expected = answers.len();
        let answers = answers.into_iter().map(|(status, body)| (status, "a: b".to_owned(), body)).collect();
        let service = TestService::start(answers, "Action=");
        let client = Client::of(&config(&service.endpoint), SERVICE, VERSION);
        let answer = runtime.block_on(client.call("Do", &params(&[("A", "b c")]), |_| Ok(())));
        assert!(is_expected(&answer), "{what}: {answer:?}");
        let requests = service.requests();
        assert_eq!(requests.len(), expected, "{what}");
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
        assert_eq!(
            (error.is_throttled(), error.is_denied(), error.is_transient()),
            (throttled, denied, transient),
            "{error:?}"
        );
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
