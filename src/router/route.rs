//! A batch of messages, from bytes to decisions.

use std::sync::Arc;

use super::InvocationContext;
use super::batch::{Message, RoutedBatch};
use super::clock::Clock;
use super::deliver::deliver;
use super::locate::{locate, retry};
use super::open_items::{OpenItems, texts};
use super::services::{InstanceTags, Queues};

/// Routes a batch of messages.
pub(super) async fn route<T: InstanceTags, Q: Queues, C: Clock>(
    context: &Arc<InvocationContext<T, Q, C>>,
    messages: &[Message],
) -> RoutedBatch {
    let (start, start_millis) = (context.clock.now(), context.clock.unix_millis());
    let texts = texts(messages);
    let mut items = OpenItems::decode(&context.router.scope, messages, &texts);
    let (owners, unanswered) = locate(context, items.instances()).await;
    let outgoing = items.settle(&context.router, &owners);
    // Items with a known owner do not wait for a slow EC2.
    let (results, late_results) = tokio::join!(deliver(context, outgoing), async {
        if unanswered.is_empty() {
            return Vec::new();
        }
        let owners = retry(context, unanswered).await;
        let outgoing = items.settle(&context.router, &owners);
        deliver(context, outgoing).await
    });
    RoutedBatch {
        contradictions: context.take_contradictions(),
        ..items.finish(results.into_iter().chain(late_results), start, start_millis)
    }
}
