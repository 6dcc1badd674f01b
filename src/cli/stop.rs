//! Ctrl-C and SIGTERM. Before changes are made they end the command. While changes are made, the first one stops after
//! the calls in flight, and the second stops at once.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

use crate::error::{Error, ErrorKind};
use crate::ui::Ui;

/// Whether changes are being made, which decides what a signal does.
#[derive(Debug, Default)]
pub(super) struct Stop {
    applying: AtomicBool,
}

/// The two signals that ask a program to end.
struct StopSignals {
    interrupt: Signal,
    terminate: Signal,
}

impl StopSignals {
    fn listen() -> Result<Self, Error> {
        let listen = |kind| signal(kind).map_err(|e| Error::failed("cannot listen for signals").note(e.to_string()));
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
        })
    }

    async fn next(&mut self) -> ErrorKind {
        tokio::select! {
            _ = self.interrupt.recv() => ErrorKind::Interrupted,
            _ = self.terminate.recv() => ErrorKind::Terminated,
        }
    }
}

impl Stop {
    /// Runs a command to its end, or to the first signal that arrives while no changes are made.
    pub(super) async fn unless_interrupted<T>(
        &self,
        command: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        let mut signals = StopSignals::listen()?;
        tokio::pin!(command);
        loop {
            let kind = tokio::select! {
                // A command that has ended is not interrupted any more.
                biased;
                result = &mut command => return result,
                kind = signals.next() => kind,
            };
            if !self.applying.load(Ordering::Relaxed) {
                return Err(Error::new(kind, "interrupted; nothing was changed"));
            }
        }
    }

    /// Makes changes. Gives their result, or `None` if a second signal came before the end, and the signal that asked to
    /// stop.
    pub(super) async fn during<T, F: Future<Output = T>>(
        &self,
        ui: &Ui,
        changes: impl FnOnce(watch::Receiver<bool>) -> F,
    ) -> Result<(Option<T>, Option<ErrorKind>), Error> {
        let mut signals = StopSignals::listen()?;
        let (ask, asked) = watch::channel(false);
        self.applying.store(true, Ordering::Relaxed);
        let work = changes(asked);
        tokio::pin!(work);
        let mut first = None;
        let ended = loop {
            let kind = tokio::select! {
                result = &mut work => break (Some(result), first),
                kind = signals.next() => kind,
            };
            if first.is_some() {
                break (None, Some(kind));
            }
            first = Some(kind);
            ui.say("Finishing calls in flight. Press Ctrl-C again to stop now.");
            // Nobody receives it any more only if the work is over.
            let _ = ask.send(true);
        };
        self.applying.store(false, Ordering::Relaxed);
        Ok(ended)
    }
}
