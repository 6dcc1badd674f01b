#!/usr/bin/env python3
"""Simulates how fast a storm of events drains through the hub queue while EC2 allows few calls, and prints the tables of drain.md.
With `--check`, compares them with that file, and some rows with docs/performance.md. Exits with 2 if a target is missed.

Time is in seconds. Nothing here runs a router or waits; the input numbers are measured by the benchmark.
"""

import collections
import heapq
import itertools
import math
import pathlib
import sys

TABLES = pathlib.Path(__file__).with_name("drain.md")
PAGE = pathlib.Path(__file__).parents[2] / "docs/performance.md"

# The values of the mapping's maximum concurrency, each with whether the router receives more after a full batch. The default is 5.
MAPPINGS = [(2, True), (5, True), (10, True), (20, True), (5, False)]
# The storms: events, the instances that they cycle through, the time in which they arrive, the latency of a call to EC2
# or SQS, and the number of clusters: as in the benchmark of the router, or slow, or many.
STORMS = [
    (20_000, 20_000, 0, 0.04, 10),
    (20_000, 20_000, 0, 0.04, 200),
    (20_000, 20_000, 60, 0.04, 10),
    (20_000, 2_000, 0, 0.04, 10),
    (20_000, 2_000, 60, 0.04, 10),
    (2_000, 2_000, 0, 0.04, 10),
    (20_000, 20_000, 0, 0.4, 10),
    (20_000, 20_000, 0, 0.4, 200),
]

# EC2's bucket for `DescribeTags`: tokens, and tokens per second (EC2 developer guide, request throttling).
BUCKET = (100.0, 20.0)
# Lambda's pollers: concurrent batches at the start, and additional ones per second (Lambda developer guide, scaling of SQS mappings).
POLLERS = (5.0, 5.0)
# The time to receive a batch, invoke the function, and delete the messages. An assumption.
POLL = 0.03
# The processor time of an invocation, and of each of its messages: what the router benchmark measures beyond two round trips.
COMPUTE = (0.006, 0.000_05)
# How long an invocation can make calls: the function's timeout minus the router's reserve.
CALLS = 8.5
# The first and the longest wait before a throttled call is repeated, and the fraction that is not random.
BACKOFF = (0.05, 1.0, 0.5)
# How often a message can be received from the hub queue.
RECEIVES = 20
# The number of messages that Lambda passes, and the maximum per call.
BATCH = 10
# How often the router receives more after a full batch, and its maximum number of concurrent calls, except queue tag calls.
OWN_RECEIVES, CONCURRENT_CALLS = 19, 30
# From this receive on, a message is routed only in a batch from Lambda.
ALONE_FROM = 10
# A receive without waiting queries only some of the SQS servers. From a queue with fewer messages than this, it returns
# fewer than ten (SQS API reference, ReceiveMessage); how many fewer is an assumption: a hundredth of the waiting
# messages.
SAMPLED = 1_000

# `order`: SQS keeps no order.
Message = collections.namedtuple("Message", "order instance arrived receives")


def random(state):
    """Random numbers, the same in every run."""
    while True:
        state = (state * 6_364_136_223_846_793_005 + 1_442_695_040_888_963_407) % 2**64
        yield state >> 33


def micros(seconds):
    return math.floor(seconds * 1e6 + 0.5)


class Environment:
    """An environment of the function. Each has its own cache."""

    def __init__(self):
        self.known, self.batch, self.own, self.calls_until = set(), [], 0, 0.0


class Simulation:
    """The hub queue, its pollers, the routers and EC2's bucket, until every event is delivered or a dead letter."""

    def __init__(self, storm, mapping):
        events, instances, spread, self.latency, self.clusters = storm
        concurrency, self.receives_more = mapping
        order = random(1)
        arrivals = (micros(spread * event / events) for event in range(events))
        # Messages that are hidden or have not arrived yet, by the time when they can be received.
        self.hidden = [(at, Message(next(order), event % instances, at, 0)) for event, at in enumerate(arrivals)]
        heapq.heapify(self.hidden)
        self.visible, self.environments = collections.deque(), [Environment() for _ in range(concurrency)]
        self.tokens, self.random, self.delays = (BUCKET[0], 0.0), random(2), []
        # When the last event was delivered; calls of `DescribeTags`; messages that returned to the hub queue, counted each time.
        self.after, self.calls, self.throttled, self.retried, self.dead = 0.0, 0, 0, 0, 0
        self.steps, self.number = [], itertools.count()
        for number, environment in enumerate(self.environments):
            environment.number = number
            self.then(max(number + 1.0 - POLLERS[0], 0.0) / POLLERS[1], environment, self.take_batch)
        while len(self.delays) + self.dead < events and self.steps:
            at, _, _, step, environment, *more = heapq.heappop(self.steps)
            step(at / 1e6, environment, *more)
        self.delays.sort()

    def then(self, at, environment, step, *more):
        heapq.heappush(self.steps, (micros(at), environment.number, next(self.number), step, environment, *more))

    def take_batch(self, now, environment):
        """It is ready for a batch."""
        self.show(now)
        if not self.visible:
            following = self.hidden[0][0] / 1e6 if self.hidden else now
            return self.then(max(following, now + 0.01), environment, self.take_batch)
        environment.batch, environment.own = self.receive(BATCH), 0
        environment.calls_until = now + POLL + CALLS
        self.then(now + POLL, environment, self.route)

    def show(self, now):
        """Messages hidden until now can be received."""
        while self.hidden and self.hidden[0][0] <= micros(now):
            self.visible.append(heapq.heappop(self.hidden)[1])

    def receive(self, most):
        """Takes at most this many messages out of the queue. They return only if they are hidden again."""
        taken = (self.visible.popleft() for _ in range(min(most, len(self.visible))))
        return [message._replace(receives=message.receives + 1) for message in taken]

    def route(self, now, environment):
        """It has a batch from Lambda."""
        is_young = all(message.receives < ALONE_FROM for message in environment.batch)
        if self.receives_more and len(environment.batch) == BATCH and is_young:
            self.show(now)
            now += self.latency
            more = self.receive(OWN_RECEIVES * min(max(BATCH * len(self.visible) // SAMPLED, 1), BATCH))
            environment.own = len(more)
            environment.batch += more
        ready = [message for message in environment.batch if message.instance in environment.known]
        environment.batch = [message for message in environment.batch if message.instance not in environment.known]
        if not environment.batch:
            return self.deliver_all(now, environment, ready)
        # Known instances wait only for the first answer of EC2.
        self.delivered(self.sent(now + self.latency, ready), ready)
        self.then(now, environment, self.ask, 0)

    def ask(self, now, environment, tries):
        """It calls `DescribeTags`, after this many attempts."""
        self.calls += 1
        tokens, since = self.tokens
        tokens = min(tokens + (now - since) * BUCKET[1], BUCKET[0])
        answered = now + self.latency
        if tokens >= 1.0:
            self.tokens = (tokens - 1.0, now)
            return self.then(answered, environment, self.answered)
        self.tokens = (tokens, now)
        self.throttled += 1
        first, longest, fixed = BACKOFF
        # From 0 to 1.
        chance = next(self.random) / (2**31 - 1)
        wait = min(first * 2**tries, longest) * (fixed + (1.0 - fixed) * chance)
        if answered + wait < environment.calls_until:
            return self.then(answered + wait, environment, self.ask, tries + 1)
        for message in environment.batch:
            self.retried += 1
            if message.receives == RECEIVES:
                self.dead += 1
            else:
                heapq.heappush(self.hidden, (micros(answered + min(2 ** min(message.receives, 5), 30)), message))
        environment.batch = []
        # The call about visibility.
        self.then(answered + self.latency, environment, self.take_batch)

    def answered(self, now, environment):
        """It has an answer from EC2."""
        batch, environment.batch = environment.batch, []
        environment.known.update(message.instance for message in batch)
        self.deliver_all(now, environment, batch)

    def deliver_all(self, now, environment, messages):
        """Delivers the last messages of a batch, deletes the messages that the router received itself, and ends the invocation."""
        sent = self.sent(now, messages)
        self.delivered(sent, messages)
        self.then(sent + self.time_of(math.ceil(environment.own / BATCH)), environment, self.take_batch)

    def sent(self, now, messages):
        """The time when messages decided now are sent: up to ten to one queue in one call."""
        queues = collections.Counter(message.instance % self.clusters for message in messages)
        sends = sum(math.ceil(count / BATCH) for count in queues.values())
        return now + (COMPUTE[0] + COMPUTE[1] * len(messages)) + self.time_of(sends)

    def time_of(self, calls):
        return math.ceil(calls / CONCURRENT_CALLS) * self.latency

    def delivered(self, at, messages):
        if messages:
            self.after = max(self.after, at)
        self.delays += [at - message.arrived / 1e6 for message in messages]


def table(names, rows):
    lines = [names, ["---"] * len(names), *rows]
    return "".join(f"| {' | '.join(map(str, line))} |\n" for line in lines).replace("|  |", "| |")


def tables(drained):
    """The table of all storms, and that of the targets, which are for 20,000 new instances at once; and whether they are met."""
    names = ["events", "instances", "clusters", "they arrive", "a call takes", "a full batch becomes", "maximum concurrency"]
    names += ["drained after", "median delay", "longest delay", "`DescribeTags`", "throttled", "retried", "dead letters"]
    rows = []
    for ((events, instances, spread, latency, clusters), (concurrency, more)), of in drained.items():
        storm = [events, instances, clusters, f"within {spread} s" if spread else "at once", f"{latency * 1000:.0f} ms"]
        median, longest = of.delays[len(of.delays) // 2], of.delays[-1]
        delays = [f"{of.after:.0f} s", f"{median:.1f} s", f"{longest:.1f} s"]
        rows.append([*storm, 200 if more else 10, concurrency, *delays, of.calls, of.throttled, of.retried, of.dead])
    usual, slow = drained[STORMS[0], MAPPINGS[1]], drained[STORMS[6], MAPPINGS[1]]
    targets = [
        ("drained, s, at most", 15, usual.after),
        ("`DescribeTags`, at most", 150, usual.calls),
        ("drained with calls of 400 ms, s, at most", 40, slow.after),
    ]
    ends = [[what, bound, f"{value:.1f}", "met" if value <= bound else "missed"] for what, bound, value in targets]
    printed = f"{table(names, rows)}\n{table(['target', '', 'simulated', ''], ends)}"
    return printed, all(value <= bound for _, bound, value in targets)


def of_the_page(drained):
    """The storms of new instances with the default concurrency and fast calls, as the page has them."""
    rows = []
    for storm in STORMS[:3]:
        events, _, spread, _, clusters = storm
        of = drained[storm, MAPPINGS[1]]
        arrival = f"within {spread} s" if spread else "at once"
        rows.append([events, clusters, arrival, f"{of.after:.0f} s", f"{of.delays[-1]:.1f} s", of.calls])
    return table(["events", "clusters", "they arrive", "drained after", "longest delay", "`DescribeTags`"], rows)


def main():
    drained = {(storm, mapping): Simulation(storm, mapping) for storm in STORMS for mapping in MAPPINGS}
    printed, are_met = tables(drained)
    if sys.argv[1:] == ["--check"]:
        for path, expected in [(TABLES, printed), (PAGE, of_the_page(drained))]:
            if expected not in path.read_text():
                sys.exit(f"{path.name} should have:\n{expected}")
    else:
        print(printed, end="")
    sys.exit(0 if are_met else 2)


if __name__ == "__main__":
    main()
