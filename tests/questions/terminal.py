"""Runs a command in a terminal, answers its question, and prints the exit code and what the terminal shows after the question.

Arguments: the keys or the name of a signal, and the command.
"""

import os
import pty
import signal
import sys

answer, command = sys.argv[1], sys.argv[2:]
process, terminal = pty.fork()
if process == 0:
    os.execvp(command[0], command)


def read():
    """What the terminal shows next; nothing when the command has ended."""
    try:
        return os.read(terminal, 65536).decode()
    except OSError:
        return ""


shown = ""
while not shown.endswith(("[y/N] ", "to apply: ")):
    more = read()
    if not more:
        sys.exit(f"no question: {shown}")
    shown += more
if answer.startswith("SIG"):
    os.kill(process, getattr(signal, answer))
else:
    os.write(terminal, answer.encode())
rest = ""
while more := read():
    rest += more
print(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]))
print(rest.replace("\r", ""), end="")
