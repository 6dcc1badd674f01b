//! AWS answers from files instead of the emulator's: the n-th call of an operation receives the n-th recorded answer of
//! this operation, whatever its parameters. After the last, the emulator answers.

use std::collections::{HashMap, VecDeque};
use std::sync::Mutex;

use super::reply::Reply;
use crate::call::Call;
use crate::recorded::{RecordedAnswer, Recording};

#[derive(Default)]
pub(super) struct Playback(Mutex<HashMap<String, VecDeque<RecordedAnswer>>>);

impl Playback {
    /// Adds the answers of a recording to those that are still to be played.
    pub(super) fn add(&self, recording: Recording) {
        let mut all = self.0.lock().unwrap();
        for answer in recording.answers {
            all.entry(answer.operation.clone()).or_default().push_back(answer);
        }
    }

    /// The operations with answers that were not played.
    pub(super) fn left(&self) -> Vec<String> {
        let all = self.0.lock().unwrap();
        let left = all.iter().filter(|(_, answers)| !answers.is_empty());
        left.map(|(operation, _)| operation.clone()).collect()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.lock().unwrap().values().all(VecDeque::is_empty)
    }

    pub(super) fn next(&self, call: &Call) -> Option<Reply> {
        let mut all = self.0.lock().unwrap();
        let answer = all.get_mut(&name(call))?.pop_front()?;
        Some(Reply::recorded(answer))
    }
}

/// The operation of a call in the form of recordings; in the path of a REST call, `*` replaces each name.
fn name(call: &Call) -> String {
    let (method, path) = call.path();
    if path.is_empty() {
        return format!("{}:{}", call.service, call.operation);
    }
    let parts = path.iter().enumerate();
    let parts: Vec<_> = parts.map(|(at, part)| if at % 2 == 0 { part } else { "*" }).collect();
    format!("{}:{method} {}", call.service, parts.join("/"))
}
