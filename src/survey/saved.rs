//! The options that a hub has saved, in the tags of its dead-letter queue and, as a copy, of its function. Options on a
//! queue that is being deleted do not count.

use crate::cloud::Fault;
use crate::model::hub::default_queue_prefix;
use crate::model::inventory::{Observed, Reading};
use crate::model::options::{BadSavedOption, HubOptions};
use crate::model::resource::ResourceId;
use crate::model::router_handler::RouterHandler;
use crate::model::scope::Scope;
use crate::model::tags::Tags;

/// The saved options of a hub.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SavedOptions {
    /// There are none, because there is no hub.
    Absent,
    /// The dead-letter queue has the hub's name and is not managed by this bus.
    Foreign,
    /// The dead-letter queue could not be read.
    Unreadable(Fault),
    /// A tag has a value that its option does not accept. The tags are those of the resource that saved them.
    Damaged(BadSavedOption, Tags),
    Kept {
        options: HubOptions,
        /// Whether they are the function's copy, because the dead-letter queue is missing or being deleted.
        copy: bool,
    },
}

impl SavedOptions {
    /// The saved options among what was read at the time `now`, in Unix seconds. The dead-letter queue wins over the
    /// function.
    #[must_use]
    pub fn of(scope: &Scope, observed: &Observed, now: u64) -> Self {
        match observed.get(&ResourceId::Queue(scope.dead_letter_queue())) {
            Some(Reading::Unreadable(fault)) => Self::Unreadable(fault.clone()),
            Some(Reading::Present(queue)) => match queue.tags().filter(|tags| tags.belong_to(&scope.bus)) {
                Some(tags) if tags.being_deleted(now) => Self::of_function(scope, observed),
                Some(tags) => Self::from_tags(tags.clone(), false),
                None => Self::Foreign,
            },
            Some(Reading::Absent) | None => Self::of_function(scope, observed),
        }
    }

    fn of_function(scope: &Scope, observed: &Observed) -> Self {
        let function = observed.function(scope.router_function());
        let Some(function) = function.filter(|function| function.tags.belong_to(&scope.bus)) else {
            return Self::Absent;
        };
        let mut saved = Self::from_tags(function.tags.clone(), true);
        // A function of kibus 0.1.0 has no copy of the options, but its settings have the prefix.
        if let Self::Kept { options, .. } = &mut saved
            && options.queue_prefix.is_none()
        {
            let prefix = RouterHandler::of(&function.settings).map(|handler| handler.prefix);
            options.queue_prefix = prefix.filter(|prefix| *prefix != default_queue_prefix());
        }
        saved
    }

    fn from_tags(tags: Tags, copy: bool) -> Self {
        match HubOptions::saved(&tags) {
            Ok(options) => Self::Kept { options, copy },
            Err(bad) => Self::Damaged(bad, tags),
        }
    }

    /// The options, if they are known.
    #[must_use]
    pub fn options(&self) -> Option<&HubOptions> {
        match self {
            Self::Kept { options, .. } => Some(options),
            Self::Absent | Self::Foreign | Self::Unreadable(_) | Self::Damaged(..) => None,
        }
    }
}
