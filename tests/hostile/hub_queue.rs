//! A storm in which the hub queue misbehaves, or has a hostile message, through the real router.

use std::collections::BTreeSet;

use super::function::Function;
use super::hub::{Hub, Receives};
use super::router::{MEMORY, MOST, about, batch, ids, retried, spot};

fn spots(names: impl Iterator<Item = usize>) -> Vec<String> {
    names.map(|number| spot(&number.to_string())).collect()
}

/// A full batch, as Lambda passes it. Its events are called 1000 to 1009.
fn full() -> String {
    batch(&spots(1000..1010))
}

async fn with_hub(hub: Hub) -> Function {
    let function = Function::start(&[]).await;
    *function.hub() = hub;
    function
}

fn receipts(numbers: impl Iterator<Item = usize>) -> BTreeSet<String> {
    numbers.map(|number| format!("r{number}")).collect()
}

/// The bad message is the only one that returns, after its own wait.
#[tokio::test]
async fn one_bad_message_of_two_hundred_returns_alone() {
    let mut bodies = spots(0..250);
    bodies[123] = about(MOST + 1);
    let mut function = with_hub(Hub::of(bodies)).await;
    assert_eq!(function.invoke(full()).await, retried(&[]));
    let numbers = || (0..190).filter(|number| *number != 123);
    let mut sent: Vec<String> = numbers().chain(1000..1010).map(|number| number.to_string()).collect();
    sent.sort();
    assert_eq!(ids(&function.take_sent()), sent);
    {
        let hub = function.hub();
        assert_eq!(hub.deleted.iter().cloned().collect::<BTreeSet<_>>(), receipts(numbers()));
        assert_eq!((hub.deleted.len(), &hub.hidden), (189, &vec![("r123".to_owned(), 8)]));
        assert_eq!((hub.received.len(), hub.handed_out), (19, 190));
        for input in &hub.received {
            assert_eq!((&input["MaxNumberOfMessages"], &input["WaitTimeSeconds"]), (&10.into(), &0.into()));
            // The harness gives an invocation 60 s. Whatever happens, the messages return soon after it.
            let hidden = input["VisibilityTimeout"].as_u64().unwrap();
            assert!((30..=62).contains(&hidden), "{hidden}");
        }
    }
    let log = function.log().await;
    assert!(log.contains(r#""ReceivedByRouter":190"#), "{log}");
    assert!(!log.contains("NotDeleted"), "{log}");
}

#[tokio::test]
async fn throttled_receives_harm_nothing() {
    let mut function = with_hub(Hub { receives: Receives::Throttled, ..Hub::of(spots(0..190)) }).await;
    assert_eq!(function.invoke(full()).await, retried(&[]));
    assert_eq!(function.take_sent().len(), 10);
    assert_eq!(function.hub().received.len(), 19);
    assert!(!function.log().await.contains("ReceivedByRouter"));
}

/// What is not deleted returns and is routed again; the metric counts it.
#[tokio::test]
async fn a_refused_delete_is_counted() {
    let mut function = with_hub(Hub { refuses_deletes: true, ..Hub::of(spots(0..190)) }).await;
    assert_eq!(function.invoke(full()).await, retried(&[]));
    assert_eq!(function.take_sent().len(), 200);
    assert_eq!(function.hub().deleted.len(), 171);
    let log = function.log().await;
    assert!(log.contains(r#""NotDeleted":19"#), "{log}");
}

#[tokio::test]
async fn lost_receives_leave_time_for_the_messages_of_lambda() {
    let mut function = with_hub(Hub { receives: Receives::Lost, ..Hub::of(spots(0..190)) }).await;
    assert_eq!(function.invoke(full()).await, retried(&[]));
    assert_eq!(function.take_sent().len(), 10);
    assert_eq!(function.hub().deleted, Vec::<String>::new());
}

/// Ten small messages of Lambda, and behind them what fills the memory of a function that takes everything.
#[tokio::test]
async fn large_messages_behind_small_ones_fit_into_memory() {
    let large = format!("{}{}", spot("large"), " ".repeat(1_000_000));
    let entities = about(2_000);
    for (bodies, routed) in [(vec![large; 190], 0), (vec![entities; 190], 10)] {
        let mut function = with_hub(Hub::of(bodies)).await;
        assert_eq!(function.invoke(full()).await, retried(&[]));
        assert_eq!(function.take_sent().len(), 10 + routed);
        assert_eq!(function.hub().deleted.len(), routed);
        assert!(function.peak() < MEMORY / 2, "{} KiB", function.peak());
    }
}
