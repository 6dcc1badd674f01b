//! A proxy that holds one write of a command, so that the command can be killed there.

use std::sync::{Arc, Mutex};

use hyper::Request;
use hyper::body::Bytes;

use crate::support::proxy::{Answer, Broken, Held, Hold, Operation, Port, forward, hold};

/// How many writes come before the end of the held one; no later write is answered.
struct HeldWrite {
    left: usize,
    hold: Option<Hold>,
}

/// A proxy that holds one write of a command.
pub(super) struct Proxy {
    pub(super) url: String,
    held: Arc<Mutex<Option<HeldWrite>>>,
}

impl Proxy {
    pub(super) async fn start(server: u16) -> Self {
        let held: Arc<Mutex<Option<HeldWrite>>> = Arc::default();
        let holds = Arc::clone(&held);
        let url = Port::open()
            .await
            .serve(move |request| pass(Arc::clone(&holds), server, request));
        Self { url, held }
    }

    /// Holds the answer to the write with this number, counted from 1; every later one is held too.
    pub(super) fn hold(&self, write: usize) -> Held {
        let (hold, held) = hold();
        *self.held.lock().unwrap() = Some(HeldWrite {
            left: write,
            hold: Some(hold),
        });
        held
    }

    pub(super) fn release(&self) {
        *self.held.lock().unwrap() = None;
    }
}

async fn pass(held: Arc<Mutex<Option<HeldWrite>>>, server: u16, request: Request<Bytes>) -> Result<Answer, Broken> {
    // A router that is asked for its self-test changes nothing.
    let writes = !Operation::of(&request).is_reading() && !request.uri().path().ends_with("/invocations");
    let answer = forward(server, request).await?;
    let here = match held.lock().unwrap().as_mut().filter(|_| writes) {
        Some(write) => {
            write.left = write.left.saturating_sub(1);
            (write.left == 0).then(|| write.hold.take())
        }
        None => None,
    };
    match here {
        None => {}
        Some(Some(hold)) => hold.here().await,
        Some(None) => std::future::pending().await,
    }
    Ok(answer)
}
