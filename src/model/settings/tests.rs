use super::*;
use crate::model::table::rows;

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
    let table = r#"
        {"format":1,SINCE}                            | damaged
        {"options":{},SINCE}                          | damaged
        {"format":0,"options":{},SINCE}               | damaged
        {"format":"1","options":{},SINCE}             | damaged
        {"format":1,"options":{},"since":"yesterday"} | damaged
                                                      | damaged
        {"format":1,"options":{},SINCE}               | read"#;
    for [text, expected] in rows(table) {
        let read = Settings::from_document(&text.replace("SINCE", SINCE)).map_or("damaged", |_| "read");
        assert_eq!(read, expected, "{text}");
    }
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
    let tags = |tags: &[&str]| settings(tags, None, &[]);
    let pin = |version| settings(&[], version, &[]);
    let keys = |keys: &[(&str, u64)]| settings(&[], None, keys);
    for (name, before, after, kept) in [
        ("nothing", tags(&["a=1"]), tags(&["a=1"]), tags(&["a=1"])),
        ("a new tag", tags(&[]), tags(&["a=1"]), tags(&["a=1"])),
        ("another value", tags(&["a=1"]), tags(&["a=2"]), tags(&["a=2"])),
        ("a tag less", tags(&["a=1", "b=1"]), tags(&["a=2"]), tags(&["a=2", "b=1"])),
        ("the last tag", tags(&["a=1"]), tags(&["none"]), tags(&["a=1"])),
        ("a pin", pin(Some(2)), pin(None), pin(Some(2))),
        ("another pin", pin(Some(2)), pin(Some(1)), pin(Some(1))),
        ("an old key", keys(&[(KEY, 1), (&other, 2)]), keys(&[(&other, 3)]), keys(&[(KEY, 1), (&other, 3)])),
    ] {
        assert_eq!(after.while_leaving(&before), kept, "{name}");
    }
}
