//! A service with a token bucket, simulated without waiting.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::*;

/// How AWS limits calls.
#[derive(Clone, Copy)]
struct Limit {
    size: f64,
    per_second: f64,
}

/// The result of a simulation.
#[derive(Debug)]
struct Simulated {
    took: Duration,
    calls: usize,
    throttled: usize,
    /// The successful calls in their order, each with whether it is a read.
    order: Vec<bool>,
}

/// Workers that make `calls`, each again until it succeeds.
fn simulate(calls: Vec<bool>, workers: usize, latency: Duration, limit: impl Fn(Duration) -> Limit) -> Simulated {
    let mut line = Line::default();
    let (mut tokens, mut filled) = (limit(Duration::ZERO).size, Duration::ZERO);
    let mut result = Simulated {
        took: Duration::ZERO,
        calls: 0,
        throttled: 0,
        order: Vec::new(),
    };
    let mut left = calls.into_iter();
    // What happens next: a worker asks for its turn, or has its answer.
    #[derive(PartialEq, Eq, PartialOrd, Ord)]
    enum Next {
        Asks {
            ticket: Ticket,
            is_read: bool,
        },
        HasAnswer {
            sent: Duration,
            is_read: bool,
            throttled: bool,
        },
    }
    let mut events = BinaryHeap::new();
    let begin = |line: &mut Line, is_read: bool| Next::Asks {
        ticket: line.enter(is_read),
        is_read,
    };
    for (worker, is_read) in left.by_ref().take(workers).enumerate() {
        events.push(Reverse((Duration::ZERO, worker, begin(&mut line, is_read))));
    }
    while let Some(Reverse((now, worker, next))) = events.pop() {
        result.took = now;
        match next {
            Next::Asks { ticket, is_read } => match line.turn(ticket, now) {
                Turn::After(wait) => events.push(Reverse((now + wait, worker, Next::Asks { ticket, is_read }))),
                Turn::Now => {
                    let limit = limit(now);
                    tokens = (tokens + (now - filled).as_secs_f64() * limit.per_second).min(limit.size);
                    filled = now;
                    let throttled = tokens < 1.0;
                    if !throttled {
                        tokens -= 1.0;
                    }
                    result.calls += 1;
                    let answer = Next::HasAnswer {
                        sent: now,
                        is_read,
                        throttled,
                    };
                    events.push(Reverse((now + latency, worker, answer)));
                }
            },
            Next::HasAnswer {
                sent,
                is_read,
                throttled: true,
            } => {
                result.throttled += 1;
                line.throttled(sent, now);
                events.push(Reverse((now, worker, begin(&mut line, is_read))));
            }
            Next::HasAnswer {
                sent,
                is_read,
                throttled: false,
            } => {
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

fn seconds(rate: f64) -> impl Fn(Duration) -> Limit {
    move |_| Limit {
        size: rate,
        per_second: rate,
    }
}

#[test]
fn a_rate_is_used_and_few_calls_are_throttled() {
    for calls in [200, 400, 2000] {
        for rate in [15.0, 20.0, 30.0, 100.0] {
            for workers in [4, 16, 32, 64] {
                for latency in [30, 150] {
                    let latency = Duration::from_millis(latency);
                    let ran = simulate(vec![true; calls], workers, latency, seconds(rate));
                    let count = f64::from(u32::try_from(calls).unwrap());
                    let bare = count / (f64::from(u32::try_from(workers).unwrap()) / latency.as_secs_f64());
                    let ideal = ((count - rate) / rate).max(bare);
                    let what = format!(
                        "{calls} calls at {rate}, {workers} workers, {latency:?}, ideal {ideal:.1} s: {:?} {} of {}",
                        ran.took, ran.throttled, ran.calls
                    );
                    println!("{what}");
                    if std::env::var_os("TUNE").is_some() {
                        continue;
                    }
                    assert!(ran.took.as_secs_f64() < ideal * 1.2 + 1.0, "{what}");
                    assert!(ran.throttled < ran.calls / 10 + workers, "{what}");
                }
            }
        }
    }
}
