//! Connections that no call has used before. Different connections reach different servers of SQS, which learn of a delete
//! at different times (terraform-provider-aws, pull request 29761), and a pooled connection stays with one of them.

use std::sync::{Arc, Mutex};

use aws_sdk_sqs::config::SharedHttpClient;

use super::http_client::http_client;
use super::locked;

/// How many connections each round has.
const CONNECTIONS: usize = 6;

/// The rounds of connections. All waits of a run share the newest, so their number does not grow with the number of queues.
#[derive(Clone, Debug, Default)]
pub(super) struct FreshConnections(Arc<Mutex<Option<Arc<Round>>>>);

/// Some connections. Each makes one call at a time: SQS documents no limit for reads of attributes, and this is one.
#[derive(Debug)]
pub(super) struct Round(Vec<tokio::sync::Mutex<Option<SharedHttpClient>>>);

impl FreshConnections {
    /// Connections that whoever has used `last` has not used.
    pub(super) fn after(&self, last: Option<&Arc<Round>>) -> Arc<Round> {
        let mut newest = locked(&self.0);
        match newest.as_ref() {
            Some(round) if !last.is_some_and(|last| Arc::ptr_eq(last, round)) => Arc::clone(round),
            _ => Arc::clone(newest.insert(Arc::new(Round::open()))),
        }
    }
}

impl Round {
    /// A connection is opened by its first call. The certificates of the system are read once for all of them.
    fn open() -> Self {
        Self(
            (0..CONNECTIONS)
                .map(|_| tokio::sync::Mutex::new(http_client()))
                .collect(),
        )
    }

    /// Makes a call on each connection, all at once.
    ///
    /// # Errors
    /// With the first call that fails.
    pub(super) async fn each<T, E, F>(&self, call: impl Fn(Option<SharedHttpClient>) -> F) -> Result<Vec<T>, E>
    where
        F: Future<Output = Result<T, E>>,
    {
        let call = &call;
        futures_util::future::try_join_all(self.0.iter().map(|connection| async move {
            let client = connection.lock().await;
            call(client.clone()).await
        }))
        .await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s22_no_wait_uses_a_connection_twice_and_waits_share_them() {
        let connections = FreshConnections::default();
        let first = connections.after(None);
        assert_eq!(first.0.len(), CONNECTIONS);
        assert!(Arc::ptr_eq(&first, &connections.after(None)), "another queue");
        let second = connections.after(Some(&first));
        assert!(!Arc::ptr_eq(&first, &second));
        assert!(
            Arc::ptr_eq(&second, &connections.after(Some(&first))),
            "the other queue"
        );
        assert!(Arc::ptr_eq(&second, &connections.after(None)), "a third one");
    }
}
