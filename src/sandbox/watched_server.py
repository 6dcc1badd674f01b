# Runs the emulator until its standard input is closed. The kernel closes it when the process that holds
# it ends for any reason; the emulator and its functions (its process group) are then killed.
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
