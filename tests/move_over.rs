//! Clusters that already have rules and a queue of another tool move to a hub while events flow: no event is lost, and none
//! stays unanswered. Then they go back.

mod fleet;
mod flow;
pub(crate) mod setups;

use std::sync::Arc;

use crate::aws_like::Server;
use fleet::Fleet;
use flow::Flow;
use setups::{SETUPS, Setup, Way};

/// The names of clusters, as arguments.
fn names<'a>(setups: impl Iterator<Item = &'a &'static Setup>) -> String {
    setups.map(|setup| setup.cluster).collect::<Vec<_>>().join(" ")
}

/// Plays the move of all clusters whose hub has this prefix, and the way back, in an account of its own.
async fn moves_over(server: &Server, account: &str, prefix: &str) {
    let setups: Vec<&Setup> = SETUPS.iter().filter(|setup| setup.prefix == prefix).collect();
    let fleet = Arc::new(Fleet::open(server, account, &setups).await);
    let flow = Flow::start(&fleet);
    let all = names(setups.iter());
    let adopted = || setups.iter().filter(|setup| setup.way == Way::Adopt);
    fleet.is_discovered().await;

    let bootstrap = match prefix {
        "" => "bootstrap-hub --queue-prefix= --yes".to_owned(),
        prefix => format!("bootstrap-hub --queue-prefix {prefix} --yes"),
    };
    fleet.kibus(&bootstrap).await;
    fleet.kibus("verify --probe").await;
    for setup in &setups {
        let adopt = if setup.way == Way::Adopt { " --adopt" } else { "" };
        let (cluster, role) = (setup.cluster, setup.role);
        fleet.kibus(&format!("add-cluster {cluster} --controller-role {role}{adopt} --yes")).await;
        flow.goes_on().await;
        flow.reads(setup, fleet.queue(setup));
        flow.registers(setup);
    }
    let verified = fleet.kibus(&format!("verify --probe {all}")).await;
    assert_eq!(verified.contains("K314"), adopted().next().is_some(), "{verified}");

    for setup in &setups {
        fleet.remove(setup).await;
        flow.goes_on().await;
    }
    let adopted_names = names(adopted());
    fleet.kibus(&format!("add-cluster {adopted_names} --drop-old-senders --yes")).await;
    flow.goes_on().await;
    let verified = fleet.kibus(&format!("verify --probe {all}")).await;
    assert!(!verified.contains("K313") && !verified.contains("K314"), "{verified}");
    for setup in &setups {
        assert!(!fleet.accepts_old_rules(setup).await, "{}: not locked", setup.cluster);
    }

    for setup in &setups {
        // The rules of a tool may match less than those of the hub.
        if setup.way == Way::NewQueue {
            flow.unregisters(setup);
        }
        fleet.create(setup).await;
        flow.goes_on().await;
        flow.reads(setup, setup.queue.to_owned());
    }
    fleet.kibus(&format!("remove-cluster {all} --yes")).await;
    flow.goes_on().await;
    flow.arrives().await;
    for setup in &setups {
        fleet.is_as_before(setup).await;
    }
    let again = fleet.kibus(&format!("remove-cluster {adopted_names} --yes")).await;
    assert!(again.contains("No changes"), "{again}");
}

fn play(account: &str, prefix: &str) {
    let server = Server::shared();
    server.runtime.block_on(moves_over(server, account, prefix));
}

#[test]
fn queues_with_the_names_of_their_clusters() {
    play("330000000001", "");
}

#[test]
fn queues_of_terraform_aws_eks() {
    play("330000000002", "Karpenter-");
}

#[test]
fn queues_with_the_default_prefix_and_with_other_names() {
    play("330000000003", "karpenter-");
}

/// No two setups share a name.
#[test]
fn each_setup_has_its_own_names() {
    for setup in SETUPS {
        let others = SETUPS.iter().filter(|other| !std::ptr::eq(*other, setup));
        for other in others {
            assert_ne!(setup.cluster, other.cluster);
            assert_ne!(setup.queue, other.queue);
            assert_ne!(setup.role, other.role);
            assert!(setup.rules.iter().all(|(rule, _)| !other.rules.iter().any(|(name, _)| name == rule)));
        }
    }
}
