"""Types command lines into an interactive bash, completes the last word of each with every candidate, and prints the words.

Arguments: the program that prints the script of completion, and the lines. For each line, it prints the words on one line.
"""

import os
import pty
import re
import sys

# It is typed in two parts, so that only its output contains it in one piece.
END = "EN''D"


def answer(terminal):
    """The terminal's output up to the end of a command."""
    shown = b""
    while b"END" not in shown:
        shown += os.read(terminal, 65536)
    return shown.decode(errors="replace").replace("\r", "")


program, lines = sys.argv[1], sys.argv[2:]
process, terminal = pty.fork()
if process == 0:
    os.execvp("bash", ["bash", "--noprofile", "--norc", "-i"])
setup = "stty cols 9999; bind 'set enable-bracketed-paste off'; source <('{}' completions bash); echo {}\n"
os.write(terminal, setup.format(program, END).encode())
answer(terminal)
for line in lines:
    # Meta-* inserts all candidates; then the line becomes the arguments of a command that prints them.
    os.write(terminal, f"{line}\033*\001printf '<%s>\\n' \005; echo {END}\n".encode())
    words = re.findall(r"^<(.*)>$", answer(terminal), re.MULTILINE)
    print(" ".join(words), flush=True)
