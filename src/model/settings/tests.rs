use super::*;

const SINCE: &str = r#""since":"1970-01-01T00:00:00Z""#;
const KEY: &str = "arn:aws:kms:us-west-2:111122223333:key/1";

fn settings(tags: &[&str], pinned: Option<u64>, old_keys: &[(&str, u64)]) -> Settings {
    let tags: Vec<_> = tags.iter().map(|tag| tag.parse().unwrap()).collect();
    Settings {
        options: HubOptions { tag: (!tags.is_empty()).then_some(tags), ..HubOptions::default() },
        pinned_version: pinned,
        old_keys: old_keys.iter().map(|(key, until)| (key.parse().unwrap(), Moment(*until))).collect(),
        ..Settings::default()
    }
}

#[test]
fn a_document_is_one_readable_line() {
    let settings = settings(&["team=a"], Some(3), &[(KEY, 1_800_000_000)]);
    let document = settings.document();
    assert_eq!(
        document,
        r#"{"format":1,"options":{"tag":{"team":"a"}},"pinned-version":3,"old-keys":{"arn:aws:kms:us-west-2:111122223333:key/1":"2027-01-15T08:00:00Z"},"since":"1970-01-01T00:00:00Z"}"#
    );
    assert_eq!(Settings::from_document(&document), Ok(settings));
    assert_eq!(Settings::default().document(), format!(r#"{{"format":1,"options":{{}},{SINCE}}}"#));
    // Parameter Store takes no value with two opening braces (Systems Manager API reference, `PutParameter`).
    assert!(!document.contains("{{"));
}

#[test]
fn other_documents_are_refused() {
    let members = |members: &str| format!("{{{members},{SINCE}}}");
    for (text, expected) in [
        (members(r#""format":2,"options":{}"#), Err(Some(2))),
        (members(r#""format":1"#), Err(None)),
        (members(r#""options":{}"#), Err(None)),
        (members(r#""format":0,"options":{}"#), Err(None)),
        (members(r#""format":"1","options":{}"#), Err(None)),
        (members(r#""format":1,"options":{"memory":"1"}"#), Err(None)),
        (members(r#""format":1,"options":{},"old-keys":{"x":"2027-01-15T08:00:00Z"}"#), Err(None)),
        (members(r#""format":1,"options":{},"pinned-version":"3""#), Err(None)),
        (r#"{"format":1,"options":{}}"#.to_owned(), Err(None)),
        (r#"{"format":1,"options":{},"since":"yesterday"}"#.to_owned(), Err(None)),
        ("[]".to_owned(), Err(None)),
        ("hello".to_owned(), Err(None)),
        (String::new(), Err(None)),
        (members(r#""format":1,"options":{}"#), Ok(())),
    ] {
        let read = Settings::from_document(&text).map(drop).map_err(|bad| match bad {
            BadDocument::Future(format) => Some(format),
            BadDocument::Damaged(_) => None,
        });
        assert_eq!(read, expected, "{text}");
    }
    let bad = Settings::from_document("a\u{1b}[31m").unwrap_err().to_string();
    assert!(!bad.contains(char::is_control), "{bad:?}");
}

#[test]
fn what_a_newer_kibus_added_stays() {
    let text = format!(r#"{{"format":1,"options":{{"memory":"512","more":1}},"later":[2],{SINCE}}}"#);
    let read = Settings::from_document(&text).unwrap();
    assert_eq!(read.unknown().collect::<Vec<_>>(), ["later", "more"]);
    assert_eq!(Settings::from_document(&read.document()), Ok(read));
}

#[test]
fn what_leaves_is_remembered_until_everything_else_is_written() {
    let other = KEY.replace("key/1", "key/2");
    for (name, before, after, kept) in [
        ("nothing", settings(&["a=1"], None, &[]), settings(&["a=1"], None, &[]), settings(&["a=1"], None, &[])),
        ("a new tag", settings(&[], None, &[]), settings(&["a=1"], None, &[]), settings(&["a=1"], None, &[])),
        ("another value", settings(&["a=1"], None, &[]), settings(&["a=2"], None, &[]), settings(&["a=2"], None, &[])),
        (
            "a tag less",
            settings(&["a=1", "b=1"], None, &[]),
            settings(&["a=2"], None, &[]),
            settings(&["a=2", "b=1"], None, &[]),
        ),
        ("the last tag", settings(&["a=1"], None, &[]), settings(&["none"], None, &[]), settings(&["a=1"], None, &[])),
        ("a pin", settings(&[], Some(2), &[]), settings(&[], None, &[]), settings(&[], Some(2), &[])),
        ("another pin", settings(&[], Some(2), &[]), settings(&[], Some(1), &[]), settings(&[], Some(1), &[])),
        (
            "an old key",
            settings(&[], None, &[(KEY, 1), (&other, 2)]),
            settings(&[], None, &[(&other, 3)]),
            settings(&[], None, &[(KEY, 1), (&other, 3)]),
        ),
    ] {
        assert_eq!(after.while_leaving(&before), kept, "{name}");
    }
}
