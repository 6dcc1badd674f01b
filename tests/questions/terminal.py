"""Runs a command in a terminal, answers its question, and prints the exit code and the terminal output after the question.

Arguments: the answer, and the command. An answer is keys, the name of a signal, or `COLUMNS columns` for a new width of the terminal. After
`...`, more of the output is awaited; after another `...`, the next answer is given.
"""

import codecs
import fcntl
import os
import pty
import re
import signal
import struct
import sys
import termios

# A chunk of output may end within a character.
decoder = codecs.getincrementaldecoder("utf-8")()
(answer, *more), command = sys.argv[1].split("..."), sys.argv[2:]
process, terminal = pty.fork()
if process == 0:
    os.execvp(command[0], command)


def read():
    """The next output; nothing when the command has ended."""
    try:
        return decoder.decode(os.read(terminal, 65536)) or read()
    except OSError:
        return ""


def until(*awaited):
    """The output up to one of these texts."""
    shown = ""
    while not any(text in shown for text in awaited):
        part = read()
        if not part:
            sys.exit(f"no {awaited}: {shown}")
        shown += part
    return shown


def give(answer):
    if answer.startswith("SIG"):
        os.kill(process, getattr(signal, answer))
    elif width := re.fullmatch(r"(\d+) columns", answer):
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, int(width[1]), 0, 0))
    else:
        os.write(terminal, answer.encode())


until("[y/N] ", "to apply: ", "to continue: ")
give(answer)
rest = ""
while more:
    awaited, answer, *more = more
    rest += until(awaited) if awaited else ""
    give(answer)
while part := read():
    rest += part
print(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]))
print(rest.replace("\r", ""), end="")
