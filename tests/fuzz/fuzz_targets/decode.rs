//! Bytes to events, and events to the copies that clusters get. Whatever arrives, nothing panics, every copy is an
//! event that is read again as what it was made from, and no copy names an instance that was not asked for.
#![no_main]

use std::collections::HashSet;

use kibus::model::scope::Scope;
use kibus::router::{InstanceId, Subject, decode};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(body) = std::str::from_utf8(bytes) else { return };
    let scope = Scope {
        bus: "kibus".parse().expect("a bus"),
        account: "111122223333".parse().expect("an account"),
        region: "us-west-2".parse().expect("a Region"),
        partition: "aws".parse().expect("a partition"),
    };
    let Ok(event) = decode(body, 1_795_183_351_183, &scope) else {
        return;
    };
    let Subject::Instances(instances) = &event.subject else {
        assert_eq!(
            decode(&event.copy_of(&HashSet::new()), 0, &scope).map(|e| e.signal),
            Ok(event.signal)
        );
        return;
    };
    // One cluster gets the even ones of the instances, and another the odd ones.
    for half in 0..2 {
        let places: HashSet<usize> = (0..instances.len())
            .filter(|place| place % 2 == half && instances[*place].is_ok())
            .collect();
        if places.is_empty() {
            continue;
        }
        let wanted: Vec<&InstanceId> = instances
            .iter()
            .enumerate()
            .filter(|(place, _)| places.contains(place))
            .filter_map(|(_, instance)| instance.as_ref().ok())
            .collect();
        let copy = event.copy_of(&places);
        let again = decode(&copy, 0, &scope).expect("a copy can be read");
        assert_eq!(again.signal, event.signal);
        assert!(
            again.repairs.is_empty(),
            "what was repaired needs no repair: {:?}",
            again.repairs
        );
        let Subject::Instances(got) = &again.subject else {
            panic!("a copy is about instances")
        };
        let got: Vec<&InstanceId> = got
            .iter()
            .map(|instance| instance.as_ref().expect("an instance"))
            .collect();
        assert_eq!(got, wanted);
    }
});
