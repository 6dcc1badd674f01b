# Runs the emulator for as long as somebody holds the other end of its standard input: when that
# process is gone, however it ended, the emulator and the functions that it runs (its process group) go too.
import os
import signal
import sys
import threading


def watch():
    sys.stdin.buffer.read()
    os.killpg(0, signal.SIGKILL)


threading.Thread(target=watch, daemon=True).start()

from ministack.app import main  # noqa: E402

main()
