//! What a recording must not contain.

/// The account id in a recording.
const ACCOUNT: &str = "111122223333";
const REMOVED: &str = "removed";

/// Members whose values are secrets, or allow something to whoever has them.
const MEMBERS: [&str; 4] = ["AccessKeyId", "SecretAccessKey", "SessionToken", "ReceiptHandle"];

/// How the ids of keys, roles and users begin (IAM user guide, "Understanding unique ID prefixes").
const UNIQUE_IDS: [&str; 4] = ["AIDA", "AKIA", "AROA", "ASIA"];

/// What stands before the name of a person or of a session.
const PRINCIPALS: [&str; 3] = [":user/", ":assumed-role/", ":federated-user/"];

/// The texts of a run that no recording may contain, with what stands for each.
#[derive(Clone, Debug, Default)]
pub(crate) struct Secrets(Vec<(String, &'static str)>);

impl Secrets {
    /// These texts; an empty one is none.
    pub(crate) fn of(texts: impl IntoIterator<Item = (String, &'static str)>) -> Self {
        Self(texts.into_iter().filter(|(text, _)| !text.is_empty()).collect())
    }

    /// A text without them, account ids, credentials, receipt handles, unique ids, and names of principals.
    pub(crate) fn clean(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (secret, instead) in &self.0 {
            text = text.replace(secret, instead);
        }
        for member in MEMBERS {
            text = between(&text, &format!("<{member}>"), &['<'], REMOVED);
            text = between(&text, &format!("\"{member}\":\""), &['"'], REMOVED);
            text = between(&text, &format!("\"{member}\": \""), &['"'], REMOVED);
        }
        for principal in PRINCIPALS {
            text = between(&text, principal, &[' ', '"', '<', ',', '\\'], "someone");
        }
        words(&text)
    }
}

/// A text with something else between each of these and the next of the ends.
fn between(text: &str, begin: &str, ends: &[char], instead: &str) -> String {
    let mut parts = text.split(begin);
    let mut cleaned = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(ends).unwrap_or(part.len());
        cleaned.push_str(begin);
        cleaned.push_str(instead);
        cleaned.push_str(&part[end..]);
    }
    cleaned
}

/// A text without account ids and unique ids.
fn words(text: &str) -> String {
    let is_id = |word: &str| {
        word.len() > 15
            && UNIQUE_IDS.iter().any(|prefix| word.starts_with(prefix))
            && word.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit())
    };
    let is_account = |word: &str| word.len() == 12 && word.bytes().all(|b| b.is_ascii_digit());
    let mut cleaned = String::new();
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
        // IAM percent-encodes documents.
        let escaped = if cleaned.ends_with('%') { end.min(2) } else { 0 };
        cleaned.push_str(&rest[..escaped]);
        let (word, after) = (&rest[escaped..end], &rest[end..]);
        cleaned.push_str(match word {
            word if is_account(word) => ACCOUNT,
            word if is_id(word) => REMOVED,
            word => word,
        });
        let next = after.find(|c: char| c.is_ascii_alphanumeric()).unwrap_or(after.len());
        cleaned.push_str(&after[..next]);
        rest = &after[next..];
    }
    cleaned
}

#[test]
fn a_recording_has_no_secret() {
    let secrets = Secrets::of([("s3cret".to_owned(), REMOVED), ("kibus-rt-1f0c9a2e".to_owned(), "kibus-rt-00000000")]);
    for (text, expected) in [
        (
            "arn:aws:sqs:us-west-2:123456789012:kibus-rt-1f0c9a2e-o-x",
            "arn:aws:sqs:us-west-2:111122223333:kibus-rt-00000000-o-x",
        ),
        ("iam%3A%3A123456789012%3Aroot", "iam%3A%3A111122223333%3Aroot"),
        ("/123456789012/q?1234567890123", "/111122223333/q?1234567890123"),
        ("<SecretAccessKey>abc/+=</SecretAccessKey>", "<SecretAccessKey>removed</SecretAccessKey>"),
        (r#"{"ReceiptHandle":"AQEB==","Body":"{}"}"#, r#"{"ReceiptHandle":"removed","Body":"{}"}"#),
        (r#"{"SessionToken": "t", "a": "s3cret"}"#, r#"{"SessionToken": "removed", "a": "removed"}"#),
        (
            "User: arn:aws:sts::123456789012:assumed-role/Admin/me@example.com is not authorized",
            "User: arn:aws:sts::111122223333:assumed-role/someone is not authorized",
        ),
        (r#""arn:aws:iam::123456789012:user/me""#, r#""arn:aws:iam::111122223333:user/someone""#),
        ("<RoleId>AROAEXAMPLE123456789</RoleId> ASIAx", "<RoleId>removed</RoleId> ASIAx"),
    ] {
        assert_eq!(secrets.clean(text), expected);
    }
}
