//! What pages repeat of the product's output and names. `KIBUS_TEST_UPDATE=1` writes it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use kibus::model::{Code, GlobalOptions, Hub, HubOptions, Kind, ResourceId, Scope, default_queue_template, hub};

/// The bus, the Region and the cluster in names, and their placeholders on the page.
const STAND_INS: [(&str, &str); 3] = [("bus0", "BUS"), ("us-west-2", "REGION"), ("cluster0", "CLUSTER")];

/// Compares the text of a page between two marks, which stay.
pub(crate) fn assert_between(page: &str, marks: [&str; 2], expected: &str) {
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
        let names = match (*kind, names.as_slice()) {
            // There are many, and docs/monitor.md has a row for each. The last one is that of a cluster.
            (Kind::Alarm, [_, .., of_a_cluster]) => format!("[of the hub](monitor.md#alarms), {of_a_cluster}"),
            (_, names) => names.join(", "),
        };
        let has_tag = if tagged(*kind) { "yes" } else { "" };
        table.push_str(&format!("| {label} | {names} | {has_tag} |\n"));
    }
    assert_between("docs/concepts.md", ["<!-- names -->", "\n<!-- end of names -->"], &table);
}

#[test]
fn pages_show_parts_of_the_demo() {
    for (page, command, end) in [
        ("README.md", "kibus discover\n", "\n\nCreate one hub"),
        ("docs/drill.md", "kibus drill tenant-1", "\nTo see what Karpenter did"),
    ] {
        let (_, output) = include_str!("../docs/demo.txt").split_once(&format!("$ {command}")).unwrap();
        let (output, _) = output.split_once(end).unwrap();
        assert_between(page, [&format!("```console\n$ {command}"), "\n```"], output);
    }
}

/// Numbers and spaces aside.
#[test]
fn pages_show_lines_that_scenarios_have() {
    let plain = |line: &str| {
        let line = line.trim_start_matches("! ").replace(|c: char| c.is_ascii_digit() || c == '.', "N");
        let words: Vec<_> = line.split_whitespace().map(|word| word.replace("NN", "N").replace("NN", "N")).collect();
        words.join(" ")
    };
    let scenarios = [include_str!("scenarios/discover.txt"), include_str!("scenarios/events_of_clusters.txt")];
    let recorded: BTreeSet<String> = scenarios.iter().flat_map(|text| text.lines()).map(plain).collect();
    for (name, page) in
        [("migrate", include_str!("../docs/migrate.md")), ("monitor", include_str!("../docs/monitor.md"))]
    {
        let (_, shown) = page.split_once("\nkibus · account ").unwrap();
        let (shown, _) = shown.split_once("\n```").unwrap();
        for line in shown.lines().skip(1).filter(|line| line.trim() != "...") {
            assert!(recorded.contains(&plain(line)), "docs/{name}.md shows what no scenario has: {line}");
        }
    }
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
