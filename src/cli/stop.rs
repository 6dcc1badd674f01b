//! Ctrl-C and SIGTERM while changes are made: the first asks to stop after the calls in flight, the second stops.

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

use crate::error::{Error, ErrorKind};
use crate::ui::Ui;

/// Listens for the signals that ask a program to end.
pub(super) struct Stop {
    interrupt: Signal,
    terminate: Signal,
    ask: watch::Sender<bool>,
}

impl Stop {
    /// Begins to listen; from now on the signals do not end the process by themselves.
    pub(super) fn listen() -> Result<Self, Error> {
        let listen = |kind| signal(kind).map_err(|e| Error::failed("cannot listen for signals").note(e.to_string()));
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            ask: watch::channel(false).0,
        })
    }

    /// What turns true when someone asks to stop.
    pub(super) fn asked(&self) -> watch::Receiver<bool> {
        self.ask.subscribe()
    }

    /// Runs something to its end. Gives which signal asked to stop meanwhile, or nothing to go with it if a second
    /// signal came before the end.
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
            ui.say("stopping when the calls in flight are answered; once more to stop at once");
            // Nobody listens any more only when the work is over.
            let _ = self.ask.send(true);
        }
    }
}
