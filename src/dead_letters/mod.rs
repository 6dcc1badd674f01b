//! The messages of the dead-letter queue: why they are there, whether they are still useful, and what becomes of those that
//! are routed again or deleted.

mod batch;
mod cause;
mod letter;
pub mod read;
#[cfg(test)]
pub(crate) mod readings;
pub mod report;
mod retry_line;
#[cfg(test)]
mod tests;
pub mod treat;
mod usefulness;

use crate::model::answer::Fault;
use crate::model::name::{FunctionName, LogGroupName, QueueName};

pub use crate::model::router_batch::{RouterAnswer, RouterDecision};
pub use batch::batch_event;
pub use cause::{DeadLetterCause, DeliveryError};
pub use letter::{DeadLetter, LetterEvent};
pub use retry_line::RetryLine;
pub use usefulness::Usefulness;

/// How long a received message is hidden, in seconds: longer than the router takes for a batch. A message that a killed
/// command received is visible again after this time.
const HIDDEN: u32 = 30;

/// What `dead-letters` needs: the messages of the dead-letter queue, the router, and its log about them.
pub trait DeadLetters: Send + Sync {
    /// Receives up to ten messages, and hides each for this many seconds. Waits for a second if there is none.
    fn receive(&self, queue: &QueueName, hidden: u32) -> impl Future<Output = Result<Vec<DeadLetter>, Fault>> + Send;

    /// Makes a message visible again.
    fn release(&self, queue: &QueueName, receipt: &str) -> impl Future<Output = Result<(), Fault>> + Send;

    /// Deletes a message.
    fn delete(&self, queue: &QueueName, receipt: &str) -> impl Future<Output = Result<(), Fault>> + Send;

    /// Invokes a function's alias with these messages and waits until they are routed. A failed
    /// invocation is a fault.
    fn route(
        &self,
        function: &FunctionName,
        alias: &str,
        letters: Vec<&DeadLetter>,
    ) -> impl Future<Output = Result<RouterAnswer, Fault>> + Send;

    /// The lines of a log group about messages that the router returned to their queue, since a time in milliseconds of
    /// the Unix epoch, in the order of time; and whether that is all of them.
    fn retry_lines(
        &self,
        group: &LogGroupName,
        since: i64,
    ) -> impl Future<Output = Result<(Vec<String>, bool), Fault>> + Send;
}
