//! A storm in which the hub queue misbehaves, or contains a hostile message, through the real router.

use std::collections::BTreeSet;

use kibus_harness::hub_queue::Hub;

use super::function::Function;
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
    let mut function = with_hub(Hub { bodies, ..Hub::default() }).await;
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

/// Messages that are not deleted return and are routed again; the metric counts them. An answer that never arrives
/// leaves time for the messages from Lambda.
#[tokio::test]
async fn a_call_to_the_hub_queue_that_fails_harms_no_message() {
    for (loses_receives, refuses_deletes, sent, deleted) in [(true, false, 10, 0), (false, true, 200, 171)] {
        let hub = Hub { bodies: spots(0..190), loses_receives, refuses_deletes, ..Hub::default() };
        let mut function = with_hub(hub).await;
        assert_eq!(function.invoke(full()).await, retried(&[]));
        assert_eq!((function.take_sent().len(), function.hub().deleted.len()), (sent, deleted));
        let log = function.log().await;
        assert_eq!(log.contains(r#""NotDeleted":19"#), refuses_deletes, "{log}");
    }
}

/// Ten small messages from Lambda, and behind them enough messages to fill the memory of a function that receives everything.
#[tokio::test]
async fn large_messages_behind_small_ones_fit_into_memory() {
    let large = format!("{}{}", spot("large"), " ".repeat(1_000_000));
    let entities = about(2_000);
    for (bodies, routed) in [(vec![large; 190], 0), (vec![entities; 190], 10)] {
        let mut function = with_hub(Hub { bodies, ..Hub::default() }).await;
        assert_eq!(function.invoke(full()).await, retried(&[]));
        assert_eq!(function.take_sent().len(), 10 + routed);
        assert_eq!(function.hub().deleted.len(), routed);
        assert!(function.peak() < MEMORY / 2, "{} KiB", function.peak());
    }
}
