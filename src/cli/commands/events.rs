use std::cell::Cell;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use tokio::time::sleep;

use crate::cli::hub::{ConnectedHub, Context};
use crate::cli::stages;
use crate::error::{Error, Hint};
use crate::events::{self, EventLine, EventReport, Wanted, is_instance};
use crate::message::Message;
use crate::model::{ClusterName, counted, duration_text, now, parse_duration, parse_time, time_text};
use crate::reconcile::{check_log, check_names};
use crate::survey::{Query, Survey};
use crate::ui::{Body, HubReport, text};

/// The pause between two reads of `--follow`.
const PAUSE: Duration = Duration::from_secs(5);
/// How far before the newest line each read starts, in milliseconds: CloudWatch Logs shows lines late.
const LATE: i64 = 2 * 60 * 1000;
/// How far back each read starts while there is no line: clocks differ.
const CLOCKS: i64 = 10 * 60 * 1000;
/// How often progress is reported without a terminal.
const REPORT: Duration = Duration::from_secs(10);
const DAY: i64 = 24 * 60 * 60 * 1000;

/// Trace interruptions: the outcome of each event, and how long the delivery took.
///
/// Reads the router's log and shows the newest events of each cluster in chronological order. Retries that led to an
/// outcome are not listed separately. For an instance id, shows everything that the router logged about the instance.
/// Events that Karpenter ignores are only counted in metrics. Older routers did not log deliveries.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    #[command(flatten)]
    wanted: Wanted,
    /// Start of the period to read: an age such as 30m, 24h or 7d, or a time such as 2026-11-24 or 2026-11-24T03:00:00Z.
    #[arg(long, value_name = "TIME", default_value = "7d", value_parser = since)]
    since: Since,
    /// Show new events as they happen, until Ctrl-C.
    #[arg(long)]
    pub(in crate::cli) follow: bool,
}

/// The start of the period, in milliseconds of the Unix epoch, and in words.
#[derive(Clone, Debug)]
struct Since(i64, String);

fn since(text: &str) -> Result<Since, &'static str> {
    let ago = |seconds: u64| {
        let millis = i64::try_from(seconds).unwrap_or(i64::MAX).saturating_mul(1_000);
        let start = now().saturating_sub(millis).max(0);
        Since(start, format!("in {}", duration_text(seconds)))
    };
    let at = |time: i64| Since(time.max(0), format!("since {}", time_text(time)));
    match parse_duration(text).map(ago).or_else(|| parse_time(text).map(at)) {
        Some(since) if since.0 < now() => Ok(since),
        Some(_) => Err("expected a time in the past"),
        None => Err("expected a duration like 30m, 24h or 7d, or a time like 2026-11-24 or 2026-11-24T03:00:00Z"),
    }
}

/// What `--follow` has shown of the log and may read again, by time, and where the next read starts.
struct Look {
    from: i64,
    shown: BTreeSet<(i64, String)>,
}

impl Look {
    /// The lines of a report that were not shown yet. Forgets those that the next read skips.
    fn new_lines(&mut self, report: &EventReport) -> Vec<EventLine> {
        let is_new = |event: &&EventLine| self.shown.insert((event.logged, event.text.clone()));
        let new = report.lines.iter().filter(is_new).cloned().collect();
        let late = self.shown.last().map_or(0, |(newest, _)| newest - LATE);
        self.from = self.from.max(late);
        self.shown = self.shown.split_off(&(self.from, String::new()));
        new
    }
}

/// Shows the events once, or keeps showing new ones until a signal.
pub(super) async fn run(args: Args, context: &Context<'_>) -> Result<HubReport, Error> {
    let hub = context.hub().await?;
    let report = read_first(hub, &args).await?;
    if !args.follow {
        return show_events(hub, &args, true, report);
    }
    let oldest = report.lines.first().filter(|_| report.more);
    let from = oldest.map_or(now() - CLOCKS, |oldest| oldest.logged);
    let mut look = Look { from, shown: BTreeSet::new() };
    look.new_lines(&report);
    let write = |report: HubReport| hub.ui.report(&hub.complete(report.into()));
    write(show_events(hub, &args, true, report)?)?;
    while !hub.ui.is_closed() {
        sleep(PAUSE).await;
        match search(hub, &args, look.from).await {
            Ok(mut report) => {
                report.lines = look.new_lines(&report);
                if !report.lines.is_empty() {
                    write(show_events(hub, &args, false, report)?)?;
                }
            }
            Err(error) => hub.ui.note(&format!("{}: {error}; trying again", time_text(now())), &[]),
        }
    }
    Ok(HubReport::of(&hub.scope))
}

/// Reads the log of a hub for the first time, and checks the names.
async fn read_first(hub: &ConnectedHub<'_>, args: &Args) -> Result<EventReport, Error> {
    let names = args.wanted.names.iter();
    let clusters: BTreeSet<ClusterName> = names.filter(|name| !is_instance(name)).cloned().collect();
    let pass = |survey: &Survey| check_log(!clusters.is_empty(), survey);
    let (survey, kept) = stages::survey(hub, |_| Query::default(), pass).await?;
    let ui = hub.ui;
    match kept? {
        Err(fault) => ui.warn_text(&format!("unknown how long the log keeps events: {fault}")),
        Ok(Some(days)) if args.since.0 < now() - i64::from(days) * DAY - DAY / 24 => {
            let from = time_text(now() - i64::from(days) * DAY);
            ui.warn_text(&format!("the log retention is {days}d; events before {from} are unknown"));
        }
        Ok(_) => {}
    }
    let report = search(hub, args, args.since.0).await?;
    let is_logged = |name: &ClusterName| report.clusters.iter().any(|cluster| cluster.name == name.as_str());
    let (logged, others): (BTreeSet<_>, _) = clusters.into_iter().partition(is_logged);
    check_names(&survey, &others)?;
    if check_names(&survey, &logged).is_err() {
        ui.note("the log has events for clusters that are no longer registered", &[]);
    }
    Ok(report)
}

async fn search(hub: &ConnectedHub<'_>, args: &Args, since: i64) -> Result<EventReport, Error> {
    let reading = hub.ui.spinner("reading the router's log");
    let reported = Cell::new(Instant::now());
    let progress = |lines: usize, begin: i64| {
        let text = format!("{lines} lines, all since {}", time_text(begin));
        reading.slowed(&text);
        if reported.get().elapsed() >= REPORT {
            reported.set(Instant::now());
            hub.ui.slowed(&format!("reading the router's log: {text}"));
        }
    };
    let group = hub.scope.router_log_group();
    let read = events::read(&hub.cloud, &group, &args.wanted, (since, now()), &progress);
    let read = hub.slowed(|reason| reading.slowed(reason), read).await;
    read.map_err(|fault| Error::from(Message::unread(&hub.scope, [("the router's log".into(), &fault)])))
}

/// Shows a report: the first, or what is new.
fn show_events(hub: &ConnectedHub<'_>, args: &Args, first: bool, report: EventReport) -> Result<HubReport, Error> {
    let (ui, wanted, style) = (hub.ui, &args.wanted, hub.ui.result_style());
    let mut period = args.since.1.clone();
    if let Some(oldest) = report.lines.first().filter(|_| report.more) {
        period = format!("since {}", time_text(oldest.logged));
        let limit = wanted.limit;
        ui.warn_text(&format!("the limit of {limit} was reached; to show older events, use `--limit`"));
    }
    if report.unreadable > 0 && first {
        let lines = counted(report.unreadable, "line");
        ui.warn_text(&format!("could not read {lines} of the router's log"));
    }
    if !first {
        ui.result(&text::event_rows(&report.lines, wanted, true, style))?;
    } else if report.lines.is_empty() {
        ui.sentence(&format!("No events {period}."))?;
    } else {
        ui.result(&text::events(&hub.scope, &report, &period, wanted, style))?;
    }
    if !wanted.names.is_empty() && !wanted.is_story() && !wanted.dropped && !args.follow {
        let command = hub.scope.kibus("events --dropped");
        let drops = Hint::command("All drops on the bus, including those of unknown clusters:", command);
        ui.next_steps(&[drops])?;
    }
    Ok(HubReport::with(&hub.scope, Body::Events(report)))
}
