//! A call as the behaviors see it.

use std::collections::BTreeMap;

use hyper::Request;
use hyper::body::Bytes;
use serde_json::Value;

use crate::proxy::Connection;

/// Who makes a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caller {
    /// Kibus, or a test.
    Client,
    /// A function of the emulator.
    Function,
}

/// One call, with its parameters decoded.
pub(crate) struct Call {
    pub(crate) caller: Caller,
    /// `None` for a call that came over none.
    pub(crate) connection: Option<Connection>,
    pub(crate) service: String,
    /// Like `CreateQueue`; for REST services the method and the path, like `POST functions`.
    pub(crate) operation: String,
    pub(crate) account: String,
    pub(crate) region: String,
    /// The body of a JSON protocol.
    pub(crate) json: Value,
    /// The body of a query protocol, or the query of a REST call.
    form: BTreeMap<String, String>,
}

impl Call {
    pub(crate) fn read(request: &Request<Bytes>, caller: Caller) -> Self {
        let header = |name| request.headers().get(name).and_then(|value| value.to_str().ok());
        let mut scope = scope(request);
        let account = scope.next().unwrap_or_default().to_owned();
        let region = scope.nth(1).unwrap_or_default().to_owned();
        let service = scope.next().unwrap_or_default().to_owned();
        let json: Value = serde_json::from_slice(request.body()).unwrap_or_default();
        let is_form = header("content-type").is_some_and(|kind| kind.contains("x-www-form-urlencoded"));
        let form = if is_form {
            pairs(&String::from_utf8_lossy(request.body()))
        } else {
            pairs(request.uri().query().unwrap_or_default())
        };
        let operation = if let Some(target) = header("x-amz-target") {
            target.rsplit('.').next().unwrap_or_default().to_owned()
        } else if let Some(action) = form.get("Action") {
            action.clone()
        } else {
            let path = decoded(request.uri().path());
            let path = path.trim_matches('/');
            let path = match service.as_str() {
                "eks" | "fis" => path,
                _ => path.split_once('/').map_or("", |(_date, path)| path),
            };
            format!("{} {path}", request.method())
        };
        Self {
            caller,
            connection: request.extensions().get().copied(),
            service,
            operation,
            account,
            region,
            json,
            form,
        }
    }

    /// A text parameter, of any protocol.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.json[name].as_str().or_else(|| self.form.get(name).map(String::as_str))
    }

    /// The queue that an SQS call names.
    pub(crate) fn queue(&self) -> Option<&str> {
        let name = self.text("QueueName").or_else(|| self.text("QueueUrl"))?;
        name.rsplit('/').next()
    }

    /// The name of a call's subject.
    pub(crate) fn subject(&self) -> Option<&str> {
        match self.service.as_str() {
            "sqs" => self.queue(),
            "iam" => self.text("RoleName"),
            "events" => {
                let of_arn = || Some(self.text("ResourceARN")?.split_once(":rule/")?.1);
                self.text("Rule").or_else(|| self.text("Name")).or_else(of_arn)
            }
            "lambda" => self.path().1.get(1).copied().or_else(|| self.text("FunctionName")),
            _ => self.text("Name"),
        }
    }

    /// The method and the parts of the path of a REST call.
    pub(crate) fn path(&self) -> (&str, Vec<&str>) {
        let (method, path) = self.operation.split_once(' ').unwrap_or_default();
        (method, path.split('/').filter(|part| !part.is_empty()).collect())
    }

    /// A resource of this name in the account and Region of the call; roles are in no Region.
    pub(crate) fn key(&self, name: &str) -> String {
        let region = if self.service == "iam" { "" } else { &self.region };
        format!("{}/{region}/{name}", self.account)
    }

    /// The role with this ARN in the account of the call.
    pub(crate) fn role_key(&self, arn: &str) -> String {
        format!("{}//{}", self.account, arn.rsplit('/').next().unwrap_or_default())
    }
}

/// The key id, the date, the Region and the service in the signature of a request.
pub(crate) fn scope(request: &Request<Bytes>) -> std::str::Split<'_, char> {
    let signature = request.headers().get("authorization").and_then(|value| value.to_str().ok());
    let credential = signature.and_then(|text| text.split_once("Credential="));
    credential.map_or("", |(_, rest)| rest).split('/')
}

fn pairs(form: &str) -> BTreeMap<String, String> {
    let pairs = form.split('&').filter_map(|pair| pair.split_once('='));
    pairs.map(|(key, value)| (decoded(key), decoded(value))).collect()
}

/// Decodes a part of a URL or a form.
pub fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digits: String = rest.by_ref().take(2).map(char::from).collect();
                u8::from_str_radix(&digits, 16).unwrap_or(b'?')
            }
            byte => byte,
        });
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
