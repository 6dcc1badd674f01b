//! A write in progress, with its waits; and what an update changes: fields of the resource's kind, and tags.

use std::ops::Deref;
use std::time::Duration;

use super::error::{if_present, rejected};
use super::wait::{WaitReason, Waiting, pause, retried};
use super::{AwsCloud, Sent, locked};
use crate::cloud::{Fault, FaultKind};
use crate::model::{FieldName, FieldValue, Tags, calls::iam};
use crate::plan::FieldChange;

/// The cloud during one write, and the observer that is notified of waits and can stop them.
pub(super) struct Writing<'a> {
    pub(super) cloud: &'a AwsCloud,
    pub(super) waiting: Waiting<'a>,
}

impl Deref for Writing<'_> {
    type Target = AwsCloud;

    fn deref(&self) -> &AwsCloud {
        self.cloud
    }
}

impl Writing<'_> {
    /// Repeats a call while AWS refuses it for a temporary reason, such as an earlier change in progress, and while it
    /// may be too early for one of these reasons: then "not found" or "denied" means "not yet". If that lasts until the
    /// end of the wait, the resource is absent or denied.
    pub(super) async fn seen<T, F: Sent<T>>(
        &self,
        action: &str,
        unseen: &[WaitReason],
        send: impl Fn() -> F,
    ) -> Result<T, Fault> {
        self.until_seen(action, unseen, || self.call(action, &send)).await
    }

    /// Like [`Self::seen`], for code that makes the call itself.
    pub(super) async fn until_seen<T, F>(
        &self,
        action: &str,
        unseen: &[WaitReason],
        call: impl Fn() -> F,
    ) -> Result<T, Fault>
    where
        F: Future<Output = Result<T, Fault>>,
    {
        let attempt = || async { call().await.map(Ok) };
        retried(action, unseen, self.waiting, attempt).await
    }

    /// Retries, up to the limit of this reason, while an attempt returns nothing or AWS refuses it for a temporary reason.
    pub(super) async fn settled<T, F>(
        &self,
        action: &str,
        reason: WaitReason,
        attempt: impl Fn() -> F,
    ) -> Result<T, Fault>
    where
        F: Future<Output = Result<Option<T>, Fault>>,
    {
        let attempt = || async { Ok(attempt().await?.ok_or(reason)) };
        retried(action, &[], self.waiting, attempt).await
    }

    /// A call whose answer is ignored, and which cannot be too early.
    pub(super) async fn write<T, F: Sent<T>>(&self, action: &str, send: impl Fn() -> F) -> Result<(), Fault> {
        self.seen(action, &[], send).await.map(drop)
    }

    /// Deletes a resource that may be absent. Returns whether it existed.
    pub(super) async fn remove<T, F: Sent<T>>(&self, action: &str, send: impl Fn() -> F) -> Result<bool, Fault> {
        Ok(if_present(self.write(action, send).await)?.is_some())
    }

    /// Waits for this reason until a read finds nothing.
    pub(super) async fn gone<T, F: Sent<T>>(
        &self,
        action: &str,
        reason: WaitReason,
        read: impl Fn() -> F,
    ) -> Result<(), Fault> {
        let is_gone = || async { Ok(if_present(self.call(action, &read).await)?.is_none().then_some(())) };
        self.settled(action, reason, is_gone).await
    }

    /// Waits until IAM applies earlier writes, so that the former role of a controller can lose its policy. AWS
    /// documents no duration for it (IAM user guide, "Troubleshoot IAM").
    pub(super) async fn new_policy_applies(&self) -> Result<(), Fault> {
        const REASON: &str =
            "IAM may not apply the policy of the new role yet; until it does, the former role keeps its policy";
        const WAIT: Duration = Duration::from_secs(15);
        self.waiting.report(REASON);
        loop {
            let left = WAIT.saturating_sub(locked(&self.last_write).elapsed());
            if left.is_zero() {
                return Ok(());
            }
            let stopped = |fault| Fault { kind: FaultKind::NotBegun, ..fault };
            self.pause(left, iam::DELETE_ROLE_POLICY, REASON).await.map_err(stopped)?;
        }
    }

    /// Pauses, unless the user requests a stop.
    pub(super) async fn pause(&self, time: Duration, action: &str, reason: &str) -> Result<(), Fault> {
        pause(time, action, reason, self.waiting).await
    }
}

#[derive(Clone, Copy)]
pub(super) struct Update<'a, K> {
    pub(super) from: &'a K,
    pub(super) to: &'a K,
    pub(super) fields: &'a [FieldChange],
}

/// What an update changes of a resource whose fields are `F`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Changes<F> {
    /// The fields to write, for the writer to match on without a default.
    pub(super) fields: Vec<F>,
    pub(super) tags: TagChanges,
}

impl<F: FieldName> Changes<F> {
    /// Sorts the changes of a plan. A change of a field that this kind does not have is refused like a call of `action`.
    pub(super) fn among(action: &str, changes: &[FieldChange]) -> Result<Self, Fault> {
        let mut sorted = Self { fields: Vec::new(), tags: TagChanges::default() };
        for change in changes {
            let FieldChange { path, to, from: _ } = change;
            match (change.tag(), to) {
                (Some(key), FieldValue::Text(value)) => {
                    sorted.tags.set.0.insert(key.to_owned(), value.clone());
                }
                (Some(key), _) => sorted.tags.remove.push(key.to_owned()),
                (None, _) => sorted
                    .fields
                    .push(F::at(path).ok_or_else(|| rejected(action, format!("there is no field `{path}` to write")))?),
            }
        }
        Ok(sorted)
    }
}

/// Which tags to set and which to remove; all other tags stay.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct TagChanges {
    /// Tags to set, whether they exist or not.
    pub(super) set: Tags,
    pub(super) remove: Vec<String>,
}

impl TagChanges {
    /// Makes the calls that remove and set tags, if there is something to do. It removes first: the tag that lists the
    /// user's own tags is one of those that are set, and a tag that is not in that list no longer counts as managed by
    /// kibus.
    pub(super) async fn write<R, S>(
        &self,
        remove: impl Future<Output = Result<R, Fault>>,
        set: impl Future<Output = Result<S, Fault>>,
    ) -> Result<(), Fault> {
        if !self.remove.is_empty() {
            remove.await?;
        }
        if !self.set.0.is_empty() {
            set.await?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::QueueField;

    fn change(path: &str, to: Option<&str>) -> FieldChange {
        FieldChange { path: path.to_owned(), from: FieldValue::Unset, to: to.into() }
    }

    #[test]
    fn fields_and_tags_are_separated() {
        let changes =
            [change("tags.kibus:bus", Some("kibus")), change("tags.policy", None), change("policy", Some("x"))];
        let tags = TagChanges { set: Tags::default().with("kibus:bus", "kibus"), remove: vec!["policy".to_owned()] };
        assert_eq!(Changes::among("x:Y", &changes), Ok(Changes { fields: vec![QueueField::Policy], tags }));
    }

    #[test]
    fn a_field_of_another_kind_is_refused() {
        let refused = Changes::<QueueField>::among("x:Y", &[change("memory", None)]).unwrap_err();
        assert_eq!(refused.message, "there is no field `memory` to write");
    }
}
