use std::sync::Mutex;

use super::*;
use crate::model::LogGroupName;

/// A log that answers like CloudWatch Logs, with few lines per page and an empty page before each. Its lines are in chronological order.
#[derive(Default)]
struct Log {
    lines: Vec<(i64, String)>,
    page: usize,
    calls: Mutex<usize>,
}

/// The first and the last time of a read.
type Times = (i64, Option<i64>);

impl RouterLog for Log {
    async fn page(&self, _: &LogGroupName, _: &str, times: Times, token: Option<&str>) -> Result<LogPage, Fault> {
        let (start, end) = times;
        *self.calls.lock().unwrap() += 1;
        let before = |is_before: &dyn Fn(i64) -> bool| self.lines.partition_point(|(time, _)| is_before(*time));
        let all = before(&|time| time < start)..before(&|time| end.is_none_or(|end| time <= end));
        let all = &self.lines[all];
        let skip = token.map_or(0, |token| token[1..].parse().unwrap());
        let next = |skip: usize, kind: &str| (skip < all.len()).then(|| format!("{kind}{skip}"));
        if token.is_some_and(|token| token.starts_with('e')) {
            return Ok(LogPage { events: Vec::new(), next_token: next(skip, "n") });
        }
        let events = all.iter().skip(skip).take(self.page);
        let event =
            |(time, text): &(i64, String)| EventLine { logged: *time, text: text.clone(), ..EventLine::default() };
        Ok(LogPage { events: events.map(event).collect(), next_token: next(skip + self.page, "e") })
    }
}

fn line(more: &str) -> String {
    format!(r#"{{"message":"delivered","signal":"spot-interruption","cluster":"base","items":1,"receives":1{more}}}"#)
}

fn wanted(limit: u32) -> Wanted {
    Wanted { limit, ..Wanted::default() }
}

async fn read_all(log: &Log, wanted: &Wanted, times: (i64, i64)) -> EventReport {
    let group = "/aws/lambda/kibus-router".parse().unwrap();
    read(log, &group, wanted, times, &|_, _| {}).await.unwrap()
}

const DAY: i64 = 24 * 60 * 60 * 1000;

#[tokio::test(start_paused = true)]
async fn the_newest_lines_are_read_once_and_few_of_the_others() {
    let now = 100 * DAY;
    // One line per second for a day, and some that are in the future of the local clock.
    let times = (0..86_400 + 60).map(|second| now - DAY + second * 1_000);
    let log = Log { lines: times.map(|time| (time, line(""))).collect(), page: 200, ..Log::default() };
    for limit in [1, 10, 1_000, 80_000, 86_460, 100_000] {
        *log.calls.lock().unwrap() = 0;
        let report = read_all(&log, &wanted(limit), (now - 7 * DAY, now)).await;
        let expected = log.lines.len().min(limit as usize);
        let newest: Vec<i64> = log.lines.iter().map(|(time, _)| *time).collect();
        let read: Vec<i64> = report.lines.iter().map(|event| event.logged).collect();
        assert_eq!(read, newest[newest.len() - expected..], "{limit}");
        assert_eq!(report.more, expected < log.lines.len(), "{limit}");
        let calls = *log.calls.lock().unwrap();
        assert!(calls <= 12 + 6 * 2 * expected.div_ceil(200), "{limit}: {calls} calls");
    }
}

#[tokio::test(start_paused = true)]
async fn a_log_whose_clock_is_ahead_is_read() {
    let log = Log { lines: vec![(5 * DAY, line(""))], page: 10, ..Log::default() };
    assert_eq!(read_all(&log, &wanted(10), (4 * DAY, DAY)).await.lines.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_retry_is_settled_by_a_later_line_about_the_same_instance() {
    let retry = |message: &str, instances: &str, receives: u32| {
        format!(r#"{{"message":"retried","message_id":"{message}","instances":{instances},"receives":{receives}}}"#)
    };
    let delivered =
        line(r#","message_id":"a","instances":["i-1"],"delay":5"#).replace(r#""receives":1"#, r#""receives":2"#);
    let lines = [
        retry("a", r#"["i-1"]"#, 1),
        retry("a", r#"["i-2"]"#, 1),
        retry("b", "[]", 1),
        retry("b", "[]", 2),
        delivered,
        "{\"message\": \"delivered\", cut".to_owned(),
        "{\"_aws\": {}}".to_owned(),
        "START RequestId: 1".to_owned(),
    ];
    let lines = lines.into_iter().zip(1..).map(|(text, time)| (time, text)).collect();
    let log = Log { lines, page: 3, ..Log::default() };
    let report = read_all(&log, &wanted(10), (0, DAY)).await;
    let settled: Vec<bool> = report.lines.iter().map(|event| event.settled).collect();
    assert_eq!(settled, [true, false, true, false, false]);
    assert_eq!(report.unreadable, 1);
    let names =
        report.clusters.iter().map(|of| (of.name.as_str(), of.events, of.spot_interruptions, of.slowest_delivery));
    assert_eq!(names.collect::<Vec<_>>(), [("", 2, 0, None), ("base", 1, 1, Some(5))]);
}

#[test]
fn patterns_select_what_is_wanted() {
    let names = |names: &[&str]| names.iter().map(|name| name.parse().unwrap()).collect();
    let all = r#"{ ($.message = "dropped" || $.message = "delivered" || $.message = "retried") }"#.to_owned();
    let of = |all: &[&str]| Wanted { names: names(all), ..wanted(1) };
    let one = "i-0a458f323d52c9380";
    let node_pool = "blue".parse().ok();
    let narrow = Wanted { signal: Some(Signal::StateChange), node_pool, dropped: true, ..of(&["i-team"]) };
    let conditions = r#"($.signal = "instance-state-change") && ($.nodepool = "blue") && ($.cluster = "i-team")"#;
    for (wanted, pattern) in [
        (wanted(1), all.clone()),
        (of(&[one]), format!("\"{one}\"")),
        (of(&[one, "i-0a458f323d52c9381"]), "instances".to_owned()),
        (of(&[one, "base"]), all),
        (narrow, format!(r#"{{ ($.message = "dropped") && {conditions} }}"#)),
    ] {
        assert_eq!(wanted.pattern(), pattern);
    }
    let node_pool = "x".repeat(253).parse().ok();
    let longest = Wanted { signal: Some(Signal::CapacityReservation), node_pool, ..of(&["x".repeat(100).as_str()]) };
    assert!(longest.pattern().len() <= 1024);
}
