//! If the answer to a create is lost, the SDK repeats the call, and AWS answers "exists". The existing resource is then
//! the one that the first call created.

use std::collections::BTreeSet;

use crate::cloud::{Fault, FaultKind, Waiting, Write};
use crate::model::resource::{FieldValue, Resource};
use crate::model::tags::BUS;
use crate::plan::{Action, Change, FieldChange, diff};

/// Makes one change. If AWS answers a create with "exists", and the existing resource has no other settings than the
/// desired one, the missing settings are added. Otherwise the fault is returned.
///
/// The missing settings are part of the planned create, so nothing changes that was not shown. The resource may not be
/// in force yet; a later change that needs it waits.
pub(super) async fn write(cloud: &impl Write, change: &Change, waiting: Waiting<'_>) -> Result<(), Fault> {
    let fault = match cloud.write(change, waiting).await {
        Err(fault) if fault.kind == FaultKind::Exists && change.action == Action::Create => fault,
        answer => return answer,
    };
    let wanted = change.resource();
    let there = match cloud.read_back(&change.id, waiting).await {
        Ok(Some(there)) => there,
        Err(stopped) if stopped.kind == FaultKind::Stopped => return Err(stopped),
        Ok(None) | Err(_) => return Err(fault),
    };
    match missing(wanted, &there) {
        None => Err(fault),
        Some(fields) if fields.is_empty() => Ok(()),
        Some(fields) => {
            let rest = Change::update(change.cluster.clone(), there, wanted.clone(), fields);
            cloud.write(&rest, waiting).await
        }
    }
}

/// The missing settings of a partly created resource; `None` if kibus does not manage it, or if it has other settings.
fn missing(wanted: &Resource, there: &Resource) -> Option<Vec<FieldChange>> {
    let fields = diff(wanted, there, &BTreeSet::new());
    let ours = match (wanted.tags(), there.tags()) {
        // One call writes all settings of a hub: others than these are those of another run.
        _ if matches!(wanted, Resource::Parameter(_)) => fields.is_empty(),
        (Some(wanted), Some(there)) => wanted.get(BUS).is_some() && wanted.get(BUS) == there.get(BUS),
        // A kind without tags counts only if it has all settings.
        _ => fields.is_empty(),
    };
    let only_missing = fields.iter().all(|field| field.from == FieldValue::Unset);
    (ours && only_missing).then_some(fields)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::options::HubOptions;
    use crate::model::resource::{LogGroup, Parameter};
    use crate::model::scope::tests::scope;
    use crate::model::tags::Tags;

    fn group(days: Option<u32>, tags: Tags) -> Resource {
        Resource::LogGroup(LogGroup {
            name: "/aws/lambda/kibus-router".parse().unwrap(),
            retention_days: days,
            tags,
        })
    }

    #[test]
    fn only_a_partly_created_resource_of_this_bus_is_completed() {
        let ours = || Tags::of(&"kibus".parse().unwrap());
        let wanted = group(Some(14), ours());
        for (name, there, expected) in [
            ("complete", group(Some(14), ours()), Some(0)),
            ("partly created", group(None, ours()), Some(1)),
            ("another setting", group(Some(7), ours()), None),
            ("without tags", group(Some(14), Tags::default()), None),
            (
                "another bus's",
                group(Some(14), Tags::of(&"other".parse().unwrap())),
                None,
            ),
            (
                "ours, with a foreign tag",
                group(Some(14), ours().with("cost-center", "7")),
                Some(0),
            ),
        ] {
            assert_eq!(missing(&wanted, &there).map(|fields| fields.len()), expected, "{name}");
        }
        let settings = |memory: Option<&str>| {
            let options = HubOptions {
                memory: memory.map(|memory| memory.parse().unwrap()),
                ..HubOptions::default()
            };
            Resource::Parameter(Parameter {
                name: scope().settings_parameter(),
                settings: Ok(options.into()),
                version: 1,
                tags: ours(),
            })
        };
        for (name, there, expected) in [
            ("the same settings", settings(Some("512")), Some(0)),
            ("settings without an option", settings(None), None),
        ] {
            let fields = missing(&settings(Some("512")), &there);
            assert_eq!(fields.map(|fields| fields.len()), expected, "{name}");
        }
        let untagged = group(Some(14), Tags::default());
        assert_eq!(
            missing(&untagged, &untagged),
            None,
            "without the tag of the bus, kibus does not manage it"
        );
    }
}
