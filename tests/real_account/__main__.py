#!/usr/bin/env python3
"""Runs the whole story of a bus in a real AWS account, and observes AWS behavior that no source proves:

    python3 tests/real_account --account 111122223333

docs/real-account.md says what it does, what it costs, and how to clean up by hand. by_hand.sh, in this folder, records what needs more. It
needs boto3 (tests/bench/requirements.txt).
"""

import argparse
import concurrent.futures
import pathlib
import signal
import sys
import threading
import time
import traceback

import leftovers
import observations
import story
from run import PREFIX, Failed, Stopped, connect, say

TARGET = pathlib.Path(__file__).resolve().parents[2] / "target"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--account", metavar="ID", help="the account to run in, which must be that of the credentials")
    parser.add_argument("--kibus", type=pathlib.Path, default=TARGET / "debug/kibus", help="the command line's binary")
    parser.add_argument("--recordings", type=pathlib.Path, default=TARGET / "real-account", help="the directory for the answers of AWS")
    parser.add_argument("--row", action="append", help="observe this row of tests/aws-behavior.md only, without the story")
    parser.add_argument("--second", type=float, default=1.0, help="the length of a second, for emulators, where nothing is late")
    options = parser.parse_args()
    run = connect(options.account, options.kibus.resolve(), options.second)
    say(f"bus {run.bus} in account {run.account}, {run.region}")
    whole(run, options)


def whole(run, options):
    """Runs everything, and deletes everything, however the run ends."""
    interrupted, cleaning = threading.Event(), run.with_others(stopped=threading.Event())
    for signals in (signal.SIGINT, signal.SIGTERM):
        # A signal during the first cleanup counts when the story begins.
        signal.signal(signals, lambda *_: (interrupted.set(), run.stopped.set()))
    leftovers.clean(cleaning, PREFIX)
    chosen = [(rows, observation) for rows, observation in observations.ALL if not options.row or set(options.row) & set(rows)]
    with concurrent.futures.ThreadPoolExecutor(len(chosen) + 1) as parts:
        observed = [parts.submit(observations.observe, run, *one, options.recordings) for one in chosen]
        tale = [] if options.row else [parts.submit(story.tell, run)]
        waiting = {*observed, *tale}
        while waiting:
            ended, waiting = concurrent.futures.wait(waiting, timeout=0.2, return_when=concurrent.futures.FIRST_COMPLETED)
            if any(part.exception() for part in ended) and not run.stopped.is_set():
                run.stopped.set()
            if interrupted.is_set():
                say("interrupted; deleting everything, please wait")
                break
            if ended & set(observed) and not waiting & set(observed) and not run.stopped.is_set():
                run.tell(f"all observations are made; the answers are in {options.recordings}")
    errors = [error for part in [*tale, *observed] if (error := part.exception()) and not isinstance(error, Stopped)]
    for error in errors:
        say(str(error) if isinstance(error, Failed) else "".join(traceback.format_exception(error)))
    why = "was interrupted" if interrupted.is_set() else "failed; the reason is above" if errors else None
    try:
        leftovers.clean(cleaning, run.bus)
    except Failed as left:
        raise Failed(f"The run {why}. {left}" if why else str(left)) from left
    if why:
        raise Failed(f"The run {why}. Nothing is left.")
    say("what this account did where no source proves it (tests/aws-behavior.md):")
    lines = {} if options.row else {row: f"not seen here, because {why}" for row, why in observations.NOT_HERE.items()}
    for part in observed:
        lines |= part.result()
    for line in observations.in_order(lines):
        say(line)
    say(f"done in {time.monotonic() - run.begun:.0f} s; nothing is left")


if __name__ == "__main__":
    try:
        main()
    except Failed as error:
        sys.exit(str(error))
