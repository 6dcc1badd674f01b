//! Ctrl-C and SIGTERM. Before any change, they end the command. During changes, the first signal stops after the AWS
//! calls in progress, and the second stops immediately.

use std::cell::Cell;
use std::pin::pin;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

use crate::error::{Error, ErrorKind};
use crate::ui::Ui;

/// How far a command is with its changes.
#[derive(Debug, Default)]
pub(super) struct Stop(Cell<Phase>);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    /// It makes no changes.
    #[default]
    Reads,
    /// It will make changes, but has made none.
    Before,
    /// It is making changes, and handles signals itself.
    Changes,
    After,
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
                // A finished command is no longer interrupted.
                biased;
                result = &mut command => return result,
                kind = signals.next() => kind,
            };
            match self.0.get() {
                Phase::Reads => return Err(Error::new(kind, "interrupted")),
                Phase::Before => return Err(Error::interrupted(kind)),
                Phase::Changes => {}
                Phase::After => return Err(Error::new(kind, "interrupted after the changes were made")),
            }
        }
    }

    /// Declares that the command will make changes, unless it only shows them.
    pub(super) fn before_changes(&self, will_change: bool) {
        self.0.set(if will_change { Phase::Before } else { Phase::Reads });
    }

    /// Makes changes. Returns their result, or `None` if a second signal arrived before the end; and the first signal.
    pub(super) async fn during<T>(
        &self,
        ui: &Ui,
        changes: impl AsyncFnOnce(watch::Receiver<bool>) -> T,
    ) -> Result<(Option<T>, ErrorKind), Error> {
        let mut signals = StopSignals::listen()?;
        let (ask, asked) = watch::channel(false);
        self.0.set(Phase::Changes);
        let mut changes = pin!(changes(asked));
        let mut first = None;
        let done = loop {
            let kind = tokio::select! {
                biased;
                done = &mut changes => break Some(done),
                kind = signals.next() => kind,
            };
            if first.replace(kind).is_some() {
                break None;
            }
            ui.say("Finishing the AWS calls in progress. Press Ctrl-C again to stop now.");
            // Fails only after the work is done.
            let _ = ask.send(true);
        };
        self.0.set(Phase::After);
        Ok((done, first.unwrap_or(ErrorKind::Interrupted)))
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::process::Command;

    use super::*;
    use crate::ui::{Color, Output, Talk};

    /// A signal reaches every test of this process, so no other may wait for one.
    #[tokio::test]
    async fn only_a_command_that_would_change_something_says_that_it_did_not() {
        let ui = Ui::new(Output::Text, Color::Never, 0, Talk::default());
        for (will_change, changes, message) in [
            (None, false, "interrupted"),
            (Some(false), false, "interrupted"),
            (Some(true), false, "interrupted; nothing was changed"),
            (Some(true), true, "interrupted after the changes were made"),
        ] {
            let stop = Stop::default();
            let command = async {
                if let Some(will_change) = will_change {
                    stop.before_changes(will_change);
                }
                if changes {
                    stop.during(&ui, async |_| ()).await.unwrap();
                }
                let script = format!("kill -s INT {}", std::process::id());
                assert!(Command::new("sh").args(["-c", &script]).status().unwrap().success());
                pending::<Result<(), Error>>().await
            };
            let error = stop.unless_interrupted(command).await.unwrap_err();
            assert_eq!((error.kind, error.message.as_str()), (ErrorKind::Interrupted, message));
        }
    }
}
