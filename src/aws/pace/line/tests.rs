//! A service with a token bucket, simulated without waiting.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::*;

#[derive(Debug)]
struct Simulated {
    took: Duration,
    calls: usize,
    throttled: usize,
    /// The successful calls in their order, each with whether it is a read.
    order: Vec<bool>,
}

/// Workers that make `calls`, and repeat each until it succeeds. AWS limits calls with a bucket of `limit` tokens,
/// which is refilled at `limit` per second.
fn simulate(calls: Vec<bool>, workers: usize, latency: Duration, limit: impl Fn(Duration) -> f64) -> Simulated {
    let mut line = Line::default();
    let (mut tokens, mut filled) = (limit(Duration::ZERO), Duration::ZERO);
    let mut result = Simulated { took: Duration::ZERO, calls: 0, throttled: 0, order: Vec::new() };
    let mut left = calls.into_iter();
    // The next event: a worker requests its turn, or gets its answer.
    #[derive(PartialEq, Eq, PartialOrd, Ord)]
    enum Next {
        Asks { ticket: Ticket, is_read: bool },
        HasAnswer { sent: Duration, is_read: bool, throttled: bool },
    }
    let mut events = BinaryHeap::new();
    let begin = |line: &mut Line, is_read: bool| Next::Asks { ticket: line.enter(is_read), is_read };
    for (worker, is_read) in left.by_ref().take(workers).enumerate() {
        events.push(Reverse((Duration::ZERO, worker, begin(&mut line, is_read))));
    }
    while let Some(Reverse((now, worker, next))) = events.pop() {
        result.took = now;
        match next {
            Next::Asks { ticket, is_read } => match line.turn(ticket, now) {
                Turn::After(wait) => events.push(Reverse((now + wait, worker, Next::Asks { ticket, is_read }))),
                Turn::Now => {
                    let rate = limit(now);
                    tokens = (tokens + (now - filled).as_secs_f64() * rate).min(rate);
                    filled = now;
                    let throttled = tokens < 1.0;
                    if !throttled {
                        tokens -= 1.0;
                    }
                    result.calls += 1;
                    let answer = Next::HasAnswer { sent: now, is_read, throttled };
                    events.push(Reverse((now + latency, worker, answer)));
                }
            },
            Next::HasAnswer { sent, is_read, throttled: true } => {
                result.throttled += 1;
                line.throttled(sent, now);
                events.push(Reverse((now, worker, begin(&mut line, is_read))));
            }
            Next::HasAnswer { sent, is_read, throttled: false } => {
                line.succeeded(sent, now);
                result.order.push(is_read);
                if let Some(is_read) = left.next() {
                    events.push(Reverse((now, worker, begin(&mut line, is_read))));
                }
            }
        }
    }
    result
}

#[test]
fn a_rate_is_used_and_few_calls_are_throttled() {
    let of_calls = [200_u32, 400, 2000].into_iter().flat_map(|calls| [15_u32, 20, 30, 100].map(|rate| (calls, rate)));
    let of_workers = [4_u32, 16, 32, 64].into_iter().flat_map(|workers| [30, 150].map(|latency| (workers, latency)));
    for ((calls, rate), (workers, latency)) in of_calls.flat_map(|of| of_workers.clone().map(move |by| (of, by))) {
        let what = format!("{calls} calls at {rate} a second, {workers} workers, {latency} ms");
        let latency = Duration::from_millis(latency);
        let ran = simulate(vec![true; calls as usize], workers as usize, latency, |_| rate.into());
        let at_the_rate = f64::from(calls - rate) / f64::from(rate);
        let without_limit = latency.as_secs_f64() * f64::from(calls) / f64::from(workers);
        let ideal = at_the_rate.max(without_limit);
        assert!(ran.took.as_secs_f64() < ideal * 1.1 + 0.5, "{what}: {ran:?}, ideal {ideal:.1}");
        // One for each call that was in flight when the bucket was empty, and one in twenty.
        assert!(ran.throttled <= workers as usize + ran.calls / 20, "{what}: {ran:?}");
    }
}

#[test]
fn without_a_throttle_no_call_waits() {
    let latency = Duration::from_millis(50);
    let ran = simulate(vec![true; 320], 32, latency, |_| 1_000_000.0);
    assert_eq!(ran.took, latency * 10);
}

#[test]
fn writes_go_before_the_reads_that_wait() {
    let mut calls = vec![true; 120];
    calls[90..100].fill(false);
    let ran = simulate(calls, 64, Duration::from_millis(30), |_| 10.0);
    let last_write = ran.order.iter().rposition(|is_read| !is_read).unwrap();
    // Each write waits for AWS calls in progress, but not for the 50 reads ahead of it in the line.
    assert!(last_write < 60, "{:?}", ran.order);
}

#[test]
fn a_service_that_works_again_is_used_again_soon() {
    let down = Duration::from_secs(2)..Duration::from_secs(62);
    let ran =
        simulate(vec![true; 400], 16, Duration::from_millis(30), |now| if down.contains(&now) { 0.0 } else { 20.0 });
    assert!(ran.took < Duration::from_secs(62 + 18 + 10), "{ran:?}");
    // While the service is down, it is eventually called every two seconds instead of 20 times a second.
    assert!(ran.throttled < 60, "{ran:?}");
}
