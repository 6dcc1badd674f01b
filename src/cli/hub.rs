//! The hubs of a command, and what is about each of them.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;

use futures_util::future::join_all;
use tokio::sync::watch;

use super::global::{Global, HubAddress};
use super::stop::Stop;
use crate::aws::{AwsCloud, Session};
use crate::error::Error;
use crate::model::{BusName, GlobalOptions, Scope, Slowdown, slowed_by};
use crate::reconcile::Intent;
use crate::ui::{Heading, HubReport, Ui, text};

/// A hub that is reached: with a session, options and messages of its own.
pub(super) struct ConnectedHub {
    pub(super) scope: Scope,
    pub(super) cloud: AwsCloud,
    pub(super) heading: Heading,
    /// Writes what is about this hub.
    pub(super) ui: Ui,
    /// How many calls may run at once.
    pub(super) limit: usize,
    address: HubAddress,
    session: Session,
}

impl ConnectedHub {
    fn new(ui: &Ui, command_line: &str, limit: usize, address: HubAddress, session: Session) -> Self {
        let scope = Scope {
            options: GlobalOptions { again: command_line.to_owned(), ..address.options() },
            ..session.scope(address.bus.clone())
        };
        Self {
            cloud: AwsCloud::new(&session, address.bus.clone()),
            heading: Heading::from(&scope),
            scope,
            ui: ui.clone(),
            address,
            session,
            limit,
        }
    }

    /// The bus that the command line names.
    pub(super) fn named_bus(&self) -> Option<&BusName> {
        self.address.names_bus.then_some(&self.scope.bus)
    }

    /// The hub of another bus in the same account and Region.
    pub(super) fn of_bus(&self, bus: BusName) -> Self {
        let address = HubAddress { bus, ..self.address.clone() };
        Self::new(&self.ui, &self.scope.options.again, self.limit, address, self.session.clone())
    }

    /// The report of a hub that the command goes on without. The error of the only hub ends the command.
    pub(super) fn left_out(&self, error: Error) -> Result<HubReport, Error> {
        match self.heading.label.as_str() {
            "" => Err(error),
            _ => Ok(self.failed(error)),
        }
    }

    /// The report of a hub for which there is no intent.
    pub(super) fn failed(&self, error: Error) -> HubReport {
        HubReport { error: Some(error), ..self.report(&Intent::default()) }
    }

    /// The report of an intent that was not applied.
    pub(super) fn report(&self, intent: &Intent) -> HubReport {
        HubReport::new(self.heading.clone(), intent)
    }
}

pub(super) struct Hubs<'a> {
    pub(super) ui: &'a Ui,
    pub(super) list: Vec<ConnectedHub>,
    /// The reports of those of several hubs that could not be reached; the command goes on without them.
    pub(super) unreached: Vec<HubReport>,
    pub(super) verbose: bool,
    pub(super) quiet: bool,
    /// The command as one would type it again.
    pub(super) command_line: String,
    pub(super) stop: &'a Stop,
    /// What AWS throttles, for each session.
    slowdowns: Vec<watch::Receiver<Slowdown>>,
    /// The services that stderr has named as slow.
    named: RefCell<BTreeSet<&'static str>>,
    /// Whether stdout has a part about a hub.
    has_part: Cell<bool>,
}

impl<'a> Hubs<'a> {
    /// Connects to each hub, to all at the same time. If the only one cannot be reached, that is the command's error.
    pub(super) async fn open(
        global: &Global,
        ui: &'a Ui,
        stop: &'a Stop,
        command_line: &str,
        addresses: &[HubAddress],
    ) -> Result<Self, Error> {
        let limit = global.concurrency.get() as usize;
        let mut hubs = Self {
            ui,
            list: Vec::new(),
            unreached: Vec::new(),
            verbose: global.verbose > 0,
            quiet: global.quiet,
            command_line: command_line.to_owned(),
            stop,
            slowdowns: Vec::new(),
            named: RefCell::default(),
            has_part: Cell::default(),
        };
        let sessions = {
            let _asking = ui.spinner("asking AWS for the caller's identity");
            join_all(addresses.iter().map(HubAddress::connect)).await
        };
        for (address, session) in addresses.iter().zip(sessions) {
            match session {
                Ok(session) => {
                    hubs.slowdowns.push(session.slowdown());
                    let hub = ConnectedHub::new(ui, command_line, limit, address.clone(), session);
                    if hubs.list.iter().any(|other| other.heading == hub.heading) {
                        let Scope { bus, region, .. } = &hub.scope;
                        let place = format!("{region} of account {}", hub.scope.account);
                        return Err(Error::usage(format!("hub `{bus}` in {place} is listed twice")));
                    }
                    hubs.list.push(hub);
                }
                Err(error) if addresses.len() == 1 => return Err(error),
                Err(error) => hubs.unreached.push(HubReport { error: Some(error), ..HubReport::of(address.heading()) }),
            }
        }
        hubs.tell_apart();
        Ok(hubs)
    }

    /// The same command about these hubs of the same sessions.
    pub(super) fn with(mut self, list: Vec<ConnectedHub>) -> Self {
        self.list = list;
        self.tell_apart();
        self
    }

    fn tell_apart(&mut self) {
        let reached = self.list.iter_mut().map(|hub| &mut hub.heading);
        Heading::tell_apart(reached.chain(self.unreached.iter_mut().map(|report| &mut report.heading)));
        for hub in &mut self.list {
            hub.ui = self.ui.labeled(&hub.heading.label);
        }
    }

    /// Does `one` for every hub, for all at the same time.
    pub(super) async fn each<T>(&self, one: impl AsyncFn(&ConnectedHub) -> T) -> Vec<T> {
        join_all(self.list.iter().map(|hub| one(hub))).await
    }

    /// Begins the part of stdout about one of several hubs, with its heading unless the text that follows `has_heading`.
    pub(super) fn part(&self, hub: &ConnectedHub, has_heading: bool) -> Result<(), Error> {
        if hub.heading.label.is_empty() {
            return Ok(());
        }
        if self.has_part.replace(true) {
            self.ui.result("")?;
        }
        if !has_heading {
            self.ui.result(&text::heading(&hub.heading, self.ui.result_style()))?;
        }
        Ok(())
    }

    pub(super) fn slowdown(&self) -> Slowdown {
        let mut sum = Slowdown::default();
        for slowdown in &self.slowdowns {
            sum.add(&slowdown.borrow());
        }
        sum
    }

    /// Does `work` for a hub, and shows which services slow it down; stderr names each once for a command.
    pub(super) async fn slowed<T>(&self, hub: &ConnectedHub, show: impl Fn(&str), work: impl Future<Output = T>) -> T {
        let mut slowdown = hub.session.slowdown();
        tokio::pin!(work);
        loop {
            tokio::select! {
                biased;
                done = &mut work => return done,
                Ok(()) = slowdown.changed() => {
                    let slowdown = slowdown.borrow_and_update().clone();
                    let new = slowdown.throttled.keys().filter(|service| self.named.borrow_mut().insert(service));
                    new.for_each(|service| self.ui.slowed(&slowed_by([service])));
                    show(&slowed_by(slowdown.throttled.keys()));
                }
            }
        }
    }
}
