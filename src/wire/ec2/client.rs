//! One call: a form in the request, an XML document in the answer.

use aws_smithy_runtime::client::orchestrator::operation::Operation;
use aws_types::SdkConfig;
use roxmltree::Node;

use super::error::Ec2Error;
use super::form::Params;
use super::xml;
use crate::wire::signed_call::{self, ErrorResponse, FipsHost, Service};

const EC2: Service = Service {
    id: "EC2",
    name: "ec2",
    fips: FipsHost::Suffix,
    gov_is_fips: true,
};

/// The endpoint of EC2 for this configuration.
pub fn endpoint(config: &SdkConfig) -> String {
    signed_call::endpoint(config, EC2)
}

/// The version of the EC2 API.
const VERSION: &str = "2016-11-15";

/// A client of EC2. Clones share their connections.
#[derive(Clone, Debug)]
pub struct Client {
    operation: Operation<String, String, ErrorResponse>,
}

impl Client {
    /// A client with the credentials, Region, endpoint, HTTP client, retries and timeouts of a configuration.
    /// Without a retry configuration it retries as the SDK's standard mode does.
    pub fn new(config: &SdkConfig) -> Self {
        let operation = signed_call::operation(config, EC2, "Query", signed_call::runtime(config, EC2))
            .serializer(|form| signed_call::post(form, &[("content-type", "application/x-www-form-urlencoded")]))
            .deserializer(|response| signed_call::answer(response, xml::error))
            .build();
        Self { operation }
    }

    /// Makes a call and reads EC2's answer: the root element of a complete document, `<action>Response`.
    ///
    /// # Errors
    /// When EC2 refuses, does not answer, or the answer is another document.
    pub async fn call<T>(
        &self,
        action: &str,
        params: &Params,
        read: impl FnOnce(Node<'_, '_>) -> Result<T, Ec2Error>,
    ) -> Result<T, Ec2Error> {
        let answer = self.operation.invoke(params.body(action, VERSION)).await?;
        xml::read(&answer, &format!("{action}Response"), read)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;

    use super::super::describe_tags::describe_tags;
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
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
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
            (
                "throttled once",
                vec![throttled.clone(), (200, result.clone())],
                |answer| answer.is_ok(),
            ),
            (
                "throttled with a 400",
                vec![also_throttled, (200, result.clone())],
                |answer| answer.is_ok(),
            ),
            (
                "a server's error",
                vec![(500, String::new()), (200, result)],
                |answer| answer.is_ok(),
            ),
            (
                "always throttled",
                vec![throttled.clone(), throttled.clone(), throttled],
                |answer| answer.as_ref().is_err_and(Ec2Error::is_throttled),
            ),
            ("denied", vec![(403, error("UnauthorizedOperation"))], |answer| {
                answer.as_ref().is_err_and(Ec2Error::is_denied)
            }),
            ("something else", vec![(200, "<html/>".to_owned())], |answer| {
                matches!(answer, Err(Ec2Error::Unreadable(_)))
            }),
        ];
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        for (what, answers, is_expected) in cases {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let endpoint = format!("http://{}", listener.local_addr().unwrap());
            let expected = answers.len();
            let server = std::thread::spawn(move || serve(&listener, &answers));
            let client = Client::new(&config(&endpoint));
            let answer = runtime.block_on(client.call("Do", &Params::new().with("A", "b c"), |_| Ok(())));
            assert!(is_expected(&answer), "{what}: {answer:?}");
            let requests = server.join().unwrap();
            assert_eq!(requests.len(), expected, "{what}");
            for request in requests {
                assert!(request.starts_with("POST / HTTP/1.1\r\n"), "{what}: {request}");
                assert!(
                    request.ends_with("\r\n\r\nAction=Do&Version=2016-11-15&A=b%20c"),
                    "{what}: {request}"
                );
                assert!(request.contains("/us-west-2/ec2/aws4_request"), "{what}: {request}");
            }
        }
    }
}
