//! The context of a command, and the hub that it works on.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use tokio::sync::OnceCell;

use super::global::Global;
use super::stop::Stop;
use crate::aws::{AwsCloud, Session};
use crate::error::{Error, ErrorKind};
use crate::model::{BusName, GlobalOptions, Scope, slowed_by};
use crate::ui::{HubReport, Report, Ui};

/// The context of a command, in addition to its arguments.
pub(super) struct Context<'a> {
    pub(super) ui: &'a Ui,
    pub(super) global: &'a Global,
    stop: &'a Stop,
    /// The command line, quoted to be run again.
    text: &'a str,
    hub: OnceCell<ConnectedHub<'a>>,
}

impl<'a> Context<'a> {
    pub(super) fn new(ui: &'a Ui, global: &'a Global, stop: &'a Stop, text: &'a str) -> Self {
        Self { ui, global, stop, text, hub: OnceCell::new() }
    }

    /// Connects to the hub, unless the command is already connected. Arguments are checked before that.
    pub(super) async fn hub(&self) -> Result<&ConnectedHub<'a>, Error> {
        self.hub.get_or_try_init(|| ConnectedHub::connect(self)).await
    }

    /// The report of a finished command. An error belongs to the hub, if one was reached.
    pub(super) fn report(&self, done: Result<Report, Error>) -> Result<Report, Error> {
        match (done, self.hub.get()) {
            (Ok(report), Some(hub)) => Ok(hub.complete(report)),
            (Err(error), Some(hub)) if error.kind != ErrorKind::Usage => Ok(hub.complete(hub.failed(error).into())),
            (done, _) => done,
        }
    }
}

/// A connected hub.
#[derive(Clone)]
pub(super) struct ConnectedHub<'a> {
    pub(super) scope: Scope,
    pub(super) cloud: AwsCloud,
    pub(super) ui: &'a Ui,
    pub(super) stop: &'a Stop,
    /// The maximum number of concurrent calls.
    pub(super) limit: usize,
    /// Whether the command line names the bus, and not a variable or the default.
    pub(super) names_bus: bool,
    session: Session,
    /// The services already named on stderr as slow.
    slow: Rc<RefCell<BTreeSet<&'static str>>>,
}

impl<'a> ConnectedHub<'a> {
    async fn connect(context: &Context<'a>) -> Result<Self, Error> {
        let Context { ui, global, stop, text, .. } = *context;
        let session = {
            let asking = ui.spinner("getting the caller's identity from AWS");
            let slowed = |reason: &str| {
                asking.slowed(reason);
                ui.slowed(reason);
            };
            global.connect(&slowed).await?
        };
        let options = GlobalOptions { again: text.to_owned(), ..global.reach.clone() };
        Ok(Self {
            cloud: AwsCloud::new(&session, global.bus.clone()),
            scope: Scope { options, ..session.scope(global.bus.clone()) },
            ui,
            stop,
            limit: global.concurrency.get() as usize,
            names_bus: global.names_bus,
            session,
            slow: Rc::default(),
        })
    }

    /// The hub of another bus in the same account and Region.
    pub(super) fn of_bus(&self, bus: BusName) -> Self {
        let cloud = AwsCloud::new(&self.session, bus.clone());
        Self { cloud, scope: Scope { bus, ..self.scope.clone() }, ..self.clone() }
    }

    pub(super) fn failed(&self, error: Error) -> HubReport {
        HubReport { error: Some(error), ..HubReport::of(&self.scope) }
    }

    /// A report with details that are known only at the end: the warnings of a document, and throttled calls.
    pub(super) fn complete(&self, mut report: Report) -> Report {
        let slowdown = self.session.slowdown().borrow().clone();
        if self.ui.verbose > 0
            && let Some(sentence) = slowdown.sentence()
        {
            self.ui.note(&sentence, &[]);
        }
        report.throttled_calls = slowdown.throttled;
        if let Some(hub) = report.hubs.first_mut() {
            hub.warnings.extend(self.ui.warnings());
        }
        report
    }

    /// Does `work`, and shows which services slow it down; stderr names each service once per command.
    pub(super) async fn slowed<T>(&self, show: impl Fn(&str), work: impl Future<Output = T>) -> T {
        let mut slowdown = self.session.slowdown();
        tokio::pin!(work);
        loop {
            tokio::select! {
                biased;
                done = &mut work => return done,
                Ok(()) = slowdown.changed() => {
                    let slowdown = slowdown.borrow_and_update().clone();
                    let new = slowdown.throttled.keys().filter(|service| self.slow.borrow_mut().insert(service));
                    new.for_each(|service| self.ui.slowed(&slowed_by([service])));
                    show(&slowed_by(slowdown.throttled.keys()));
                }
            }
        }
    }
}
