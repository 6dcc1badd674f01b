//! Requests that are held back.

use tokio::sync::oneshot;

/// Where a handler holds a request back.
pub struct Hold {
    arrived: oneshot::Sender<()>,
    leave: oneshot::Receiver<()>,
}

/// The test's side of it.
pub struct Held {
    arrived: oneshot::Receiver<()>,
    leave: oneshot::Sender<()>,
}

pub fn hold() -> (Hold, Held) {
    let ((arrived, has_arrived), (leave, may_leave)) = (oneshot::channel(), oneshot::channel());
    let hold = Hold { arrived, leave: may_leave };
    let held = Held { arrived: has_arrived, leave };
    (hold, held)
}

impl Hold {
    /// Reports the request, and waits until it is released.
    pub async fn here(self) {
        // The test may have ended.
        let _ = self.arrived.send(());
        let _ = self.leave.await;
    }
}

impl Held {
    /// Waits until a request is held.
    pub async fn reached(&mut self) {
        (&mut self.arrived).await.unwrap();
    }

    pub fn release(self) {
        // A killed command does not wait for it.
        let _ = self.leave.send(());
    }
}
