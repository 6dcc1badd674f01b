//! What pages say about every kind of resource. `KIBUS_TEST_UPDATE=1` writes it.

use std::collections::BTreeMap;
use std::path::Path;

use kibus::model::{Code, GlobalOptions, Hub, HubOptions, Kind, ResourceId, Scope, default_queue_template, hub};

/// The bus, the Region and the cluster in names, and their placeholders on the page.
const STAND_INS: [(&str, &str); 3] = [("bus0", "BUS"), ("us-west-2", "REGION"), ("cluster0", "CLUSTER")];

/// Compares the text of a page between two marks, which stay.
fn assert_between(page: &str, marks: [&str; 2], expected: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(page);
    let text = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = text.split_once(marks[0]).unwrap();
    let (found, after) = rest.split_once(marks[1]).unwrap();
    if std::env::var_os("KIBUS_TEST_UPDATE").is_some() {
        std::fs::write(&path, [before, marks[0], expected, marks[1], after].concat()).unwrap();
        return;
    }
    assert_eq!(found, expected, "{page} differs; `KIBUS_TEST_UPDATE=1` writes it");
}

#[test]
fn the_names_of_every_kind_are_in_the_concepts() {
    let [bus, region, cluster] = STAND_INS.map(|(name, _)| name);
    let scope = Scope {
        bus: bus.parse().unwrap(),
        account: "111122223333".parse().unwrap(),
        region: region.parse().unwrap(),
        partition: "aws".parse().unwrap(),
        options: GlobalOptions::default(),
    };
    let mut names: BTreeMap<Kind, (&str, Vec<String>)> = BTreeMap::new();
    let mut add = |id: &ResourceId, whose: &str| {
        let mut name = format!("{whose}`{}`", id.name().replace("->", "to"));
        for (name_of_one, stand_in) in STAND_INS {
            name = name.replace(name_of_one, stand_in);
        }
        let (_, names) = names.entry(id.of_kind()).or_insert((id.label(), Vec::new()));
        names.push(name);
    };
    for id in hub::ids(&scope, [&HubOptions::all_parts()]) {
        add(&id, "");
    }
    let cluster = cluster.parse().unwrap();
    add(&ResourceId::Record(scope.record_parameter(&cluster)), "of a cluster: ");
    let queue = scope.cluster_queue(&default_queue_template(), &cluster);
    add(&ResourceId::Queue(queue), "of a cluster: ");
    let role = scope.controller_policy(&cluster).as_str().parse().unwrap();
    add(&ResourceId::RolePolicy(role, scope.controller_policy(&cluster)), "of a cluster: ");
    add(&scope.reader_alarm_id(&cluster), "of a cluster: ");
    let code = Code::of_archive("0.0.0", "0".repeat(64));
    let hub = Hub::new(&scope, HubOptions::all_parts(), code).desired();
    let tagged = |kind: Kind| {
        let is_tagged = |id: &ResourceId| hub.get(id).is_some_and(|resource| resource.tags().is_some());
        // The tags of parameters are set when they are created, and never read.
        matches!(kind, Kind::Parameter | Kind::Record) || hub.ids().any(|id| id.of_kind() == kind && is_tagged(id))
    };
    let mut table = "\n\n| kind | names | tag `kibus:bus` |\n| --- | --- | --- |\n".to_owned();
    for kind in Kind::ALL {
        let (label, names) = &names[kind];
        let has_tag = if tagged(*kind) { "yes" } else { "" };
        table.push_str(&format!("| {label} | {} | {has_tag} |\n", names.join(", ")));
    }
    assert_between("docs/concepts.md", ["<!-- names -->", "\n<!-- end of names -->"], &table);
}

#[test]
fn the_readme_shows_the_plan_of_a_first_hub() {
    let scenario = include_str!("scenarios/first_hub.txt");
    let plan = scenario.split_once("\nkibus · ").unwrap().1;
    let plan = plan.split_once("\n! error: not confirmed").unwrap().0;
    let plan = plan.replace("VERSION", env!("CARGO_PKG_VERSION"));
    let asks = plan.replace(" to create; -v", " to create. Nothing is changed yet; -v");
    assert_between("README.md", ["```console\n$ kibus bootstrap-hub\nkibus · ", "\nApply? [y/N]"], &asks);
}
