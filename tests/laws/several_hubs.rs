//! Several hubs at the same time: a failure at one stops no other, a request to stop stops all, and after the next run the
//! plan of each is empty.

use std::sync::Mutex;

use futures_util::future::join;
use kibus::apply::{Event, Listener, Outcome, apply};
use kibus::model::{HubOptions, Scope};
use kibus::plan::{Change, Plan};
use tokio::sync::watch;

use super::account::{Account, Interruption, Trouble};
use super::command::{Command, RoleFlag};
use super::interruption::{Desired, scope, wait};
use Command::{AddCluster, BootstrapHub, Teardown};

/// A hub, and what was in its account and Region before.
struct Hub {
    scope: Scope,
    start: Desired,
}

/// Records the changes that begin after the request to stop.
struct Late {
    stop: watch::Receiver<bool>,
    begun: Mutex<Vec<String>>,
}

impl Listener for Late {
    fn event(&self, _: usize, change: &Change, event: Event) {
        if event == Event::Started && *self.stop.borrow() {
            self.begun.lock().unwrap().push(change.id.to_string());
        }
    }
}

/// Runs a command for both hubs at the same time, with trouble at the first.
async fn both(command: &Command, hubs: &[Hub; 2], accounts: &[Account; 2], now: Interruption) -> [(Plan, Outcome); 2] {
    let one = command.plan(&hubs[0].scope, &accounts[0]).await;
    let other = command.plan(&hubs[1].scope, &accounts[1]).await;
    let stop = accounts[0].show(&one, Some(now));
    accounts[1].show(&other, None);
    let late = Late { stop: stop.clone(), begun: Mutex::default() };
    let mut outcomes = (Outcome::of(&one), Outcome::of(&other));
    join(
        apply(&one, &accounts[0], 2, stop.clone(), &late, &mut outcomes.0),
        apply(&other, &accounts[1], 2, stop, &late, &mut outcomes.1),
    )
    .await;
    assert_eq!(late.begun.into_inner().unwrap(), [""; 0], "{command:?} {now:?}");
    [(one, outcomes.0), (other, outcomes.1)]
}

/// A hub in this Region after these commands.
fn hub(region: &str, history: &[Command]) -> Hub {
    let scope = Scope { region: region.parse().unwrap(), ..scope() };
    let account = Account::new(&scope, Desired::new());
    for command in history {
        assert!(wait(command.run(&scope, &account, 8, None)).outcome.is_complete());
    }
    Hub { start: account.resources(), scope }
}

#[test]
fn one_that_fails_stops_no_other_and_a_signal_stops_all() {
    let bootstrap = || BootstrapHub(HubOptions::default(), "0.1.0");
    let add = || AddCluster(vec!["base", "two"], RoleFlag::Role("r-{cluster}"));
    for (history, command) in [(vec![], bootstrap()), (vec![bootstrap()], add()), (vec![bootstrap(), add()], Teardown)]
    {
        let hubs = ["us-west-2", "eu-west-1"].map(|region| hub(region, &history));
        let accounts = || [0, 1].map(|at: usize| Account::new(&hubs[at].scope, hubs[at].start.clone()));
        let steps = wait(command.plan(&hubs[0].scope, &accounts()[0])).changes.len();
        assert!(steps > 0, "{command:?}");
        for (at, trouble) in (0..steps).flat_map(|at| [(at, Trouble::Nothing), (at, Trouble::Stop)]) {
            let now = Interruption { at, trouble, killed: false };
            let name = format!("{command:?} {now:?}");
            let accounts = accounts();
            let first = wait(both(&command, &hubs, &accounts, now));
            if trouble == Trouble::Nothing {
                assert_eq!(first[0].1.failed.len(), 1, "{name}");
                assert!(first[1].1.is_complete(), "{name}: {:?}", first[1].1);
            }
            for ((hub, account), (plan, outcome)) in hubs.iter().zip(&accounts).zip(&first) {
                assert_eq!(
                    outcome.done.len() + outcome.failed.len() + outcome.unknown.len() + outcome.not_tried.len(),
                    plan.changes.len(),
                    "{name}"
                );
                assert_eq!(outcome.stopped, trouble == Trouble::Stop && !outcome.is_complete(), "{name}");
                let again = wait(command.run(&hub.scope, account, 8, None));
                assert!(again.outcome.is_complete(), "{name}, again: {:?}", again.outcome);
                account.a_minute_passes();
                assert!(wait(command.plan(&hub.scope, account)).is_empty(), "{name}");
                assert_eq!(account.breaches(), [""; 0], "{name}");
            }
        }
    }
}
