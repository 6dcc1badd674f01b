//! A healthy bus with one cluster, and the plans for changes of it.

mod checks;
mod fields;
mod findings;
mod order;
mod readings;

use crate::model::{
    ClusterRecord, Code, Dashboard, Desired, Fact, Hub, HubOptions, Moment, Observed, Resource, RoleName, Scope,
    Settings, Tags, hub, scope::tests::scope,
};
use crate::plan::{Action, Change, Plan, plan};

/// Since when the hub and its cluster exist, in Unix seconds.
const SINCE: u64 = 1_800_000_000;
const HUB: &str = "kibus-hub";
const DLQ: &str = "kibus-hub-dlq";
const PROBE: &str = "kibus-probe";
const BASE: &str = "karpenter-base";
const ROLE: &str = "kibus-router-us-west-2";
const SPOT: &str = "kibus-spot-interruption";
const CONTROLLER: &str = "controller/kibus.us-west-2.base";

fn code() -> Code {
    Code::of_archive("0.2.0", "aa")
}

/// Desired and observed resources: equal until a test changes something.
struct Bench {
    scope: Scope,
    options: HubOptions,
    code: Code,
    role: Option<RoleName>,
    observed: Observed,
}

impl Bench {
    fn new() -> Self {
        let mut bench = Self {
            scope: scope(),
            options: HubOptions::default(),
            code: code(),
            role: Some("controller".parse().unwrap()),
            observed: hub::ids(&scope(), [&HubOptions::all_parts()]).into_iter().map(|id| (id, Fact::Absent)).collect(),
        };
        bench.see_wanted();
        bench
    }

    /// All desired resources exist, without drift.
    fn see_wanted(&mut self) {
        for mut resource in self.wanted().resources().cloned() {
            if let Resource::Queue(queue) = &mut resource {
                queue.created = SINCE;
            }
            self.see(resource);
        }
    }

    fn see(&mut self, resource: Resource) {
        self.observed.insert(resource.id(), Fact::Present(resource));
    }

    /// Gives the hub a dashboard, which someone has changed.
    fn with_dashboard(&mut self, edit: impl FnOnce(&mut Dashboard)) {
        self.options.dashboard = Some(true);
        self.see_wanted();
        self.dashboard(edit);
    }

    /// Changes the answer for everything of this kind and name.
    fn answer(&mut self, kind: &str, name: &str, seen: Fact<Resource>) {
        let id = self.observed.iter().find(|(id, _)| id.kind() == kind && id.name() == name).map(|(id, _)| id.clone());
        self.observed.insert(id.unwrap_or_else(|| panic!("{kind} `{name}` was never read")), seen);
    }

    /// The resources that were read; none exists.
    fn absent(&self) -> Observed {
        self.observed.iter().map(|(id, _)| (id.clone(), Fact::Absent)).collect()
    }

    fn wanted(&self) -> Desired {
        let settings = Settings { since: Moment(SINCE), ..self.options.clone().into() };
        let mut desired = Hub::new(&self.scope, settings.clone(), self.code.clone()).desired();
        let record = ClusterRecord::new(&self.scope, &self.options, "base".parse().unwrap(), Moment(SINCE));
        desired.extend(ClusterRecord { role: self.role.clone(), ..record }.desired(&self.scope, &settings));
        desired
    }

    /// The plan from the observed to the desired resources. A new desired resource was read and is absent.
    fn plan(&self) -> Plan {
        let wanted = self.wanted();
        let mut observed: Observed = wanted.ids().map(|id| (id.clone(), Fact::Absent)).collect();
        observed.extend(self.observed.clone());
        plan(&self.scope, &wanted, &observed)
    }

    fn teardown(&self) -> Plan {
        plan(&self.scope, &Desired::default(), &self.observed)
    }
}

fn put(tags: &mut Tags, key: &str, value: &str) {
    tags.0.insert(key.to_owned(), value.to_owned());
}

/// A plan in one line: `+role` creates, `~queue(retention)` updates, `-rule` deletes.
fn drawing(plan: &Plan) -> String {
    plan.changes.iter().map(draw).collect::<Vec<_>>().join(" ")
}

/// What a row does to a healthy bus, and the resulting plan in one line.
type Row = (&'static str, fn(&mut Bench), &'static str);

fn assert_drawn(rows: &[Row]) {
    for (name, edit, expected) in rows {
        let mut bench = Bench::new();
        edit(&mut bench);
        assert_eq!(drawing(&bench.plan()), *expected, "{name}");
    }
}

fn draw(change: &Change) -> String {
    let sign = match change.action {
        Action::Create => "+",
        Action::Update => "~",
        Action::Delete => "-",
    };
    let paths: Vec<&str> = change.fields.iter().map(|field| field.path.as_str()).collect();
    let fields = if change.action == Action::Update { format!("({})", paths.join(",")) } else { String::new() };
    format!("{sign}{}{fields}", change.id.kind().trim_start_matches("event-source-"))
}
