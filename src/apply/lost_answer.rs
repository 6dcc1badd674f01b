//! A create whose answer is lost is sent again, by the SDK below us, and answered with "exists". What is there then is
//! what was made the first time.

use crate::cloud::{Fault, FaultKind, Write};
use crate::model::field::FieldValue;
use crate::model::resource::Resource;
use crate::model::tags::BUS;
use crate::plan::{FieldChange, Op, diff};

/// Does one step. Where a create is answered with "exists", and what is there is what was to be made as far as it goes,
/// it is done as soon as what is missing is there too; otherwise the fault stands.
///
/// Nothing is done that was not shown: what is still missing is a part of the create. Whether what is there is in force
/// already is not known; whoever needs it waits for it.
pub(super) async fn write(cloud: &impl Write, op: &Op, waiting: &(dyn Fn(&str) + Sync)) -> Result<(), Fault> {
    let fault = match cloud.write(op, waiting).await {
        Err(fault) if fault.kind == FaultKind::Exists => fault,
        answer => return answer,
    };
    let Op::Create(wanted) = op else { return Err(fault) };
    let Ok(Some(there)) = cloud.read_back(&wanted.id()).await else {
        return Err(fault);
    };
    match missing(wanted, &there) {
        None => Err(fault),
        Some(fields) if fields.is_empty() => Ok(()),
        Some(fields) => {
            let from = Box::new(there);
            let to = wanted.clone();
            cloud.write(&Op::Update { from, to, fields }, waiting).await
        }
    }
}

/// What is missing of a resource that is there in parts; nothing if it is not ours, or in some way another.
fn missing(wanted: &Resource, there: &Resource) -> Option<Vec<FieldChange>> {
    let fields = diff(wanted, there);
    let ours = match (wanted.tags(), there.tags()) {
        (Some(wanted), Some(there)) => wanted.get(BUS).is_some() && wanted.get(BUS) == there.get(BUS),
        // Without tags it is ours by what it says, if it says all of it.
        _ => fields.is_empty(),
    };
    let only_missing = fields.iter().all(|field| field.from == FieldValue::Unset);
    (ours && only_missing).then_some(fields)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::resource::LogGroup;
    use crate::model::tags::Tags;

    fn group(days: Option<u32>, tags: Tags) -> Resource {
        Resource::LogGroup(LogGroup {
            name: "/aws/lambda/kibus-router".parse().unwrap(),
            retention_days: days,
            tags,
        })
    }

    #[test]
    fn only_what_is_ours_and_not_otherwise_is_gone_on_with() {
        let ours = || Tags::of(&"kibus".parse().unwrap());
        let wanted = group(Some(14), ours());
        for (name, there, expected) in [
            ("all of it", group(Some(14), ours()), Some(0)),
            ("a part of it", group(None, ours()), Some(1)),
            ("otherwise", group(Some(7), ours()), None),
            ("nobody's", group(Some(14), Tags::default()), None),
            (
                "another bus's",
                group(Some(14), Tags::of(&"other".parse().unwrap())),
                None,
            ),
            (
                "ours, with a tag of somebody else's",
                group(Some(14), ours().with("cost-center", "7")),
                Some(0),
            ),
        ] {
            assert_eq!(missing(&wanted, &there).map(|fields| fields.len()), expected, "{name}");
        }
        let nobodys = group(Some(14), Tags::default());
        assert_eq!(missing(&nobodys, &nobodys), None, "without our tag nothing is ours");
    }
}
