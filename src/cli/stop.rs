//! Ctrl-C and SIGTERM. Before changes are made they end the command. While changes are made, the first one stops after
//! the AWS calls in progress, and the second stops at once. They are the usual end of a watch, and no error.

use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

use crate::error::{Ending, Error, ErrorKind};
use crate::ui::Ui;

/// Whether the command handles signals itself: while it makes changes or watches.
#[derive(Debug, Default)]
pub(super) struct Stop {
    handled: AtomicBool,
    /// Whether the command will make changes and has made none.
    before_changes: AtomicBool,
}

/// The two signals that ask a program to end.
struct StopSignals {
    interrupt: Signal,
    terminate: Signal,
}

impl StopSignals {
    fn listen() -> Result<Self, Error> {
        let listen = |kind| signal(kind).map_err(|e| Error::failed("cannot listen for signals").note(e.to_string()));
        Ok(Self { interrupt: listen(SignalKind::interrupt())?, terminate: listen(SignalKind::terminate())? })
    }

    async fn next(&mut self) -> ErrorKind {
        tokio::select! {
            _ = self.interrupt.recv() => ErrorKind::Interrupted,
            _ = self.terminate.recv() => ErrorKind::Terminated,
        }
    }
}

impl Stop {
    /// Runs a command to its end, or to the first signal that it does not handle itself.
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
            if !self.handled.load(Ordering::Relaxed) {
                return Err(if self.before_changes.load(Ordering::Relaxed) {
                    Error::interrupted(kind)
                } else {
                    Error::new(kind, "interrupted")
                });
            }
        }
    }

    /// Watches until the first signal, or an end of its own.
    pub(super) async fn watching(&self, watch: impl Future<Output = Result<Ending, Error>>) -> Result<Ending, Error> {
        let mut signals = StopSignals::listen()?;
        self.handled.store(true, Ordering::Relaxed);
        tokio::select! {
            ending = watch => ending,
            kind = signals.next() => Ok(Ending::With(kind)),
        }
    }

    /// Says that a command begins which will make changes, unless it only shows them.
    pub(super) fn before_changes(&self, will_change: bool) {
        self.before_changes.store(will_change, Ordering::Relaxed);
    }

    /// Makes the changes of all hubs at the same time. Gives the result of each, or `None` if a second signal came before
    /// its end, and the signal that asked to stop.
    pub(super) async fn during<T, F: Future<Output = T>>(
        &self,
        ui: &Ui,
        changes: impl FnOnce(watch::Receiver<bool>) -> Vec<F>,
    ) -> Result<(Vec<Option<T>>, Option<ErrorKind>), Error> {
        let mut signals = StopSignals::listen()?;
        let (ask, asked) = watch::channel(false);
        self.handled.store(true, Ordering::Relaxed);
        self.before_changes(false);
        let changes = changes(asked);
        let mut results: Vec<Option<T>> = changes.iter().map(|_| None).collect();
        let numbered = changes.into_iter().enumerate();
        let mut running: FuturesUnordered<_> = numbered.map(async |(at, one)| (at, one.await)).collect();
        let mut first = None;
        let signal = loop {
            let kind = tokio::select! {
                ended = running.next() => match ended {
                    Some((at, result)) => {
                        results[at] = Some(result);
                        continue;
                    }
                    None => break first,
                },
                kind = signals.next() => kind,
            };
            if first.is_some() {
                break Some(kind);
            }
            first = Some(kind);
            ui.say("Finishing the AWS calls in progress. Press Ctrl-C again to stop now.");
            // Nobody receives it any more only if the work is over.
            let _ = ask.send(true);
        };
        self.handled.store(false, Ordering::Relaxed);
        Ok((results, signal))
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::process::Command;

    use tokio::sync::Mutex;

    use super::*;
    use crate::ui::{Color, Output, Talk};

    fn interrupt() {
        let script = format!("kill -s INT {}", std::process::id());
        assert!(Command::new("sh").args(["-c", &script]).status().unwrap().success());
    }

    /// A signal reaches every test of this process.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::const_new(());

    #[tokio::test]
    async fn only_a_command_that_would_change_something_says_that_it_did_not() {
        let _alone = ONE_AT_A_TIME.lock().await;
        for (will_change, message) in
            [(None, "interrupted"), (Some(false), "interrupted"), (Some(true), "interrupted; nothing was changed")]
        {
            let stop = Stop::default();
            let command = async {
                if let Some(will_change) = will_change {
                    stop.before_changes(will_change);
                }
                interrupt();
                pending::<Result<(), Error>>().await
            };
            let error = stop.unless_interrupted(command).await.unwrap_err();
            assert_eq!((error.kind, error.message.as_str()), (ErrorKind::Interrupted, message));
        }
    }

    #[tokio::test]
    async fn a_second_signal_abandons_only_what_has_not_ended() {
        let _alone = ONE_AT_A_TIME.lock().await;
        let ui = Ui::new(Output::Text, Color::Never, 0, Talk::default());
        let changes = |asked: watch::Receiver<bool>| {
            let hubs = ["done", "stopped", "abandoned"].map(|hub| (hub, asked.clone()));
            let change = async |(hub, mut asked): (&'static str, watch::Receiver<bool>)| {
                if hub == "done" {
                    return hub;
                }
                // The first signal comes when the changes of all hubs have begun.
                if hub == "abandoned" {
                    interrupt();
                }
                asked.wait_for(|asked| *asked).await.unwrap();
                if hub == "abandoned" {
                    interrupt();
                    pending::<()>().await;
                }
                hub
            };
            hubs.into_iter().map(change).collect()
        };
        let ended = Stop::default().during(&ui, changes).await.unwrap();
        assert_eq!(ended, (vec![Some("done"), Some("stopped"), None], Some(ErrorKind::Interrupted)));
    }
}
