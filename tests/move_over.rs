//! Clusters that already have rules and a queue from another tool move to a hub while events flow: no event is lost,
//! and none stays unanswered. Then they return.

mod fleet;
mod flow;
pub(crate) mod setups;

use std::sync::Arc;

use futures_util::future::join_all;

use crate::aws_like::Server;
use fleet::Fleet;
use flow::Flow;
use setups::{SETUPS, Setup, Way};

fn names<'a>(setups: impl Iterator<Item = &'a &'static Setup>) -> String {
    setups.map(|setup| setup.cluster).collect::<Vec<_>>().join(" ")
}

/// Plays the move of all clusters whose hub uses this queue name template, and the return, in a separate account.
async fn moves_over(server: &Server, account: &str, template: &str) {
    let setups: Vec<&Setup> = SETUPS.iter().filter(|setup| setup.template == template).collect();
    let fleet = Arc::new(Fleet::open(server, account, &setups).await);
    let flow = Flow::start(&fleet);
    let all = names(setups.iter());
    let of = |way| setups.iter().filter(move |setup| setup.way == way);
    fleet.is_discovered().await;

    fleet.kibus(&format!("bootstrap-hub --queue-name {template} --yes")).await;
    fleet.kibus("verify --probe").await;
    // Adopted queues accept the old rules for a minute.
    join_all(of(Way::Adopt).map(async |setup| {
        let (cluster, role) = (setup.cluster, setup.role);
        fleet.kibus(&format!("add-cluster {cluster} --adopt --controller-role {role} --yes")).await;
    }))
    .await;
    for setup in &setups {
        let (cluster, role) = (setup.cluster, setup.role);
        match setup.way {
            Way::Adopt => {}
            Way::External => {
                fleet.tag(setup).await;
                fleet.kibus(&format!("add-cluster {cluster} --external --yes")).await;
            }
            Way::NewQueue => {
                fleet.kibus(&format!("add-cluster {cluster} --controller-role {role} --yes")).await;
            }
        }
        flow.goes_on().await;
        flow.reads(setup, fleet.queue(setup));
        flow.registers(setup);
    }
    // Old rules are a warning, and the policy of an external queue is a finding until its owner changes it.
    let external = of(Way::External).next().is_some();
    let verified = fleet.run(&format!("verify --probe {all}"), if external { 2 } else { 0 }).await.text();
    assert_eq!(verified.contains("K314"), of(Way::Adopt).next().is_some(), "{verified}");
    assert_eq!(verified.contains("K320"), external, "{verified}");

    for setup in &setups {
        fleet.remove(setup).await;
        flow.goes_on().await;
    }
    let verified = fleet.kibus(&format!("verify --probe {all}")).await;
    assert!(!verified.contains("K314") && !verified.contains("K320"), "{verified}");
    for setup in &setups {
        assert!(!fleet.accepts_old_rules(setup).await, "{}: not locked", setup.cluster);
    }

    for setup in &setups {
        if setup.way == Way::Adopt {
            fleet.grant(setup).await;
            fleet.kibus(&format!("add-cluster {} --external --yes", setup.cluster)).await;
            flow.goes_on().await;
        }
        fleet.create(setup).await;
        flow.goes_on().await;
        // A tool's rules may match less than those of the hub.
        flow.unregisters(setup);
        flow.reads(setup, setup.queue.to_owned());
        fleet.untag(setup).await;
    }
    fleet.kibus(&format!("remove-cluster {all} --yes")).await;
    flow.goes_on().await;
    flow.arrives().await;
    for setup in &setups {
        fleet.is_as_before(setup).await;
    }
    let again = fleet.kibus(&format!("remove-cluster {all} --ignore-missing --yes")).await;
    assert!(again.contains("No changes"), "{again}");
}

fn play(account: &str, template: &str) {
    let server = Server::shared();
    server.runtime.block_on(moves_over(server, account, template));
}

#[test]
fn a_queue_with_the_name_of_its_cluster_stays_its_owners() {
    play("330000000001", "{cluster}");
}

#[test]
fn a_queue_of_terraform_aws_eks_becomes_kibus_s_own() {
    play("330000000002", "Karpenter-{cluster}");
}

#[test]
fn queues_with_the_default_names_and_with_other_names() {
    play("330000000003", "karpenter-{cluster}");
}
