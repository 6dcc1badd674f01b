//! Bytes to events, and events to the copies for clusters. Whatever arrives, nothing panics, every copy decodes to the
//! same signal, and no copy names another cluster's instance.
#![no_main]

use std::collections::HashSet;

use kibus::model::{GlobalOptions, Scope};
use kibus::router::{EventSubject, InstanceId, decode};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(body) = std::str::from_utf8(bytes) else { return };
    let scope = Scope {
        bus: "kibus".parse().expect("a bus"),
        account: "111122223333".parse().expect("an account"),
        region: "us-west-2".parse().expect("a Region"),
        partition: "aws".parse().expect("a partition"),
        options: GlobalOptions::default(),
    };
    let Ok(event) = decode(body, 1_795_183_351_183, &scope) else {
        return;
    };
    let EventSubject::Instances(instances) = &event.subject else {
        let copy = event.copy_of(&HashSet::new());
        assert_eq!(decode(&copy, 0, &scope).map(|e| e.signal), Ok(event.signal));
        return;
    };
    // One cluster owns the even instances, and another the odd ones.
    for half in 0..2 {
        let places: HashSet<usize> =
            (0..instances.len()).filter(|place| place % 2 == half && instances[*place].is_ok()).collect();
        if places.is_empty() {
            continue;
        }
        let expected: Vec<&InstanceId> = instances
            .iter()
            .enumerate()
            .filter(|(place, _)| places.contains(place))
            .filter_map(|(_, instance)| instance.as_ref().ok())
            .collect();
        let copy = event.copy_of(&places);
        let again = decode(&copy, 0, &scope).expect("a copy decodes");
        assert_eq!(again.signal, event.signal);
        assert_eq!(again.repairs, 0, "a repaired event needs another repair");
        let EventSubject::Instances(got) = &again.subject else { panic!("a copy names no instances") };
        let got: Vec<&InstanceId> = got.iter().map(|instance| instance.as_ref().expect("an instance")).collect();
        assert_eq!(got, expected);
    }
});
