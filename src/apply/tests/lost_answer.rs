//! Completing a create whose response was lost.

use crate::apply::*;
use crate::model::{HubOptions, Parameter, Tags, scope::tests::scope};

fn group(days: Option<u32>, tags: Tags) -> Resource {
    super::group("g", days, tags)
}

#[test]
fn only_a_partly_created_resource_of_this_bus_is_completed() {
    let ours = || Tags::of_bus(&"kibus".parse().unwrap());
    let wanted = group(Some(14), ours());
    for (name, there, expected) in [
        ("complete", group(Some(14), ours()), Some(0)),
        ("partly created", group(None, ours()), Some(1)),
        ("another setting", group(Some(7), ours()), None),
        ("without tags", group(Some(14), Tags::default()), None),
        ("another bus's", group(Some(14), Tags::of_bus(&"other".parse().unwrap())), None),
        ("ours, with a foreign tag", group(Some(14), ours().with("cost-center", "7")), Some(0)),
    ] {
        assert_eq!(missing(&wanted, &there).map(|fields| fields.len()), expected, "{name}");
    }
    let settings = |memory: Option<&str>| {
        let options = HubOptions { memory: memory.map(|memory| memory.parse().unwrap()), ..HubOptions::default() };
        let (name, settings) = (scope().settings_parameter(), Ok(options.into()));
        Resource::Parameter(Parameter { name, settings, version: 1, tags_of_new: ours() })
    };
    for (name, there, expected) in
        [("the same settings", settings(Some("512")), Some(0)), ("settings without an option", settings(None), None)]
    {
        let fields = missing(&settings(Some("512")), &there);
        assert_eq!(fields.map(|fields| fields.len()), expected, "{name}");
    }
    let untagged = group(Some(14), Tags::default());
    assert_eq!(missing(&untagged, &untagged), None, "without the tag of the bus, kibus does not manage it");
}
