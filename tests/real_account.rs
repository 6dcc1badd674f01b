//! The whole story of a bus in a real AWS account, and what AWS does there where no source proves it.
//!
//! ```text
//! KIBUS_REAL_ACCOUNT=111122223333 cargo test --test main real_account -- --ignored
//! ```
//!
//! `docs/real-account.md` says what it does, what it costs, and how to clean up by hand. The tests in `emulated` run the
//! same program against the emulator, as another process with the same variables.

mod connections;
mod dead_letters;
mod emulated;
mod eventbridge;
mod iam;
mod lambda;
mod leftovers;
mod observation;
mod played;
mod recorder;
mod run;
mod sqs;
mod story;
mod tagging;

use std::path::PathBuf;
use std::time::Instant;

use tokio::signal::unix::{SignalKind, signal};
use tokio::task::{LocalSet, spawn_local};

use run::{Run, say};

/// The variable that names the account to run in.
const ACCOUNT_VARIABLE: &str = "KIBUS_REAL_ACCOUNT";

/// The variable that names the directory for the answers of AWS.
const RECORDINGS_VARIABLE: &str = "KIBUS_REAL_ACCOUNT_RECORDINGS";

#[tokio::test]
#[ignore = "changes a real AWS account and costs money: see docs/real-account.md"]
async fn real_account() {
    let begun = Instant::now();
    if let Err(error) = LocalSet::new().run_until(whole()).await {
        panic!("{error}");
    }
    say(&format!("done in {} s; nothing is left", begun.elapsed().as_secs()));
}

/// Runs everything, and deletes everything however it ends.
///
/// # Errors
/// What failed, with what is left, if anything.
async fn whole() -> Result<(), String> {
    let run = Run::new(std::env::var(ACCOUNT_VARIABLE).ok()).await?;
    // A signal during the first cleanup counts when the story begins.
    let (mut interrupt, mut terminate) = (listen(SignalKind::interrupt()), listen(SignalKind::terminate()));
    say(&format!("bus {} in account {}, {}", run.bus, run.account, run.region));
    leftovers::clean(&run, run::PREFIX).await?;
    let story = spawn_local({
        let run = run.clone();
        // A panic in one of them ends the other. Without a box, their futures would not fit on the stack of a test.
        async move { tokio::join!(Box::pin(story::tell(&run)), Box::pin(observation::all(&run, recordings()))).1 }
    });
    let stop = story.abort_handle();
    let interrupted = spawn_local(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        say("interrupted; deleting everything, please wait");
        stop.abort();
    });
    let ended = story.await;
    interrupted.abort();
    let cleaned = leftovers::clean(&run, &run.bus).await;
    let seen = match ended {
        Ok(seen) => seen,
        Err(error) => {
            let why = if error.is_cancelled() { "was interrupted" } else { "failed; the reason is above" };
            return Err(match cleaned {
                Ok(()) => format!("The run {why}. Nothing is left."),
                Err(left) => format!("The run {why}. {left}"),
            });
        }
    };
    say("what this account did where no source proves it (docs/reliability.md):");
    for line in observation::lines(&seen) {
        say(&line);
    }
    cleaned
}

/// The directory for the answers of AWS.
fn recordings() -> PathBuf {
    std::env::var_os(RECORDINGS_VARIABLE)
        .map_or_else(|| PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("real-account"), PathBuf::from)
}

fn listen(kind: SignalKind) -> tokio::signal::unix::Signal {
    signal(kind).unwrap()
}
