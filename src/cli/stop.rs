//! Ctrl-C and SIGTERM while a plan is applied: the first stops after the calls in flight, the second stops immediately.

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

use crate::error::{Error, ErrorKind};
use crate::ui::Ui;

/// Handles the signals that stop a program.
pub(super) struct Stop {
    interrupt: Signal,
    terminate: Signal,
    ask: watch::Sender<bool>,
}

impl Stop {
    /// Installs the signal handlers. From now on the signals no longer end the process.
    ///
    /// # Errors
    /// The system does not allow the handlers.
    pub(super) fn listen() -> Result<Self, Error> {
        let listen = |kind| signal(kind).map_err(|e| Error::failed("cannot handle signals").note(e.to_string()));
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            ask: watch::channel(false).0,
        })
    }

    /// A value that becomes true at the first signal.
    pub(super) fn asked(&self) -> watch::Receiver<bool> {
        self.ask.subscribe()
    }

    /// Runs `work` to its end, or to the second signal. Returns its result, if it ended, and the kind of the signal, if
    /// there was one.
    pub(super) async fn during<T>(&mut self, ui: &Ui, work: impl Future<Output = T>) -> (Option<T>, Option<ErrorKind>) {
        tokio::pin!(work);
        let mut first = None;
        loop {
            let kind = tokio::select! {
                result = &mut work => return (Some(result), first),
                _ = self.interrupt.recv() => ErrorKind::Interrupted,
                _ = self.terminate.recv() => ErrorKind::Terminated,
            };
            if first.is_some() {
                return (None, Some(kind));
            }
            first = Some(kind);
            ui.say("Finishing calls in flight. Press Ctrl-C again to stop now.");
            // This fails only if the work is over.
            let _ = self.ask.send(true);
        }
    }
}
