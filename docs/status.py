#!/usr/bin/env python3
"""Draws docs/status.svg: what `kibus status` prints in tests/scenarios/night.txt, on an emulator with sample metrics, when six things
are wrong. With `--check`, only compares them."""

import pathlib
import re

from demo import LETTER, LINE, MARGIN, SIZE, STYLE, drawn, write_or_check

ROOT = pathlib.Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs/status.svg"
NOTE = "Sample data: an emulator, and metrics that a test has put there."


def screen():
    """The output of the command after the note that six things are wrong, with a version and times."""
    scenario = (ROOT / "tests/scenarios/night.txt").read_text(encoding="utf-8").split("# Six things")[1]
    version = re.search(r'^version = "(.*)"', (ROOT / "Cargo.toml").read_text(encoding="utf-8"), re.M)[1]
    output = scenario.split("$ kibus status\n")[1].split("\n\n$ ")[0]
    return ["$ kibus status", *output.replace("VERSION", version).replace("HH:MM", "02:41").split("\n")]


def picture(lines):
    width = 2 * MARGIN + max(map(len, [*lines, NOTE])) * LETTER
    height = 2 * MARGIN + (len(lines) + 2) * LINE
    text = "".join(drawn(number, line) for number, line in enumerate([*lines, "", NOTE]))
    # What the text says is wrong is red, as on a terminal.
    text = re.sub(r"(<text[^>]*)(>[^<]*(critical|error|since)[^<]*</text>)", r'\1 class="delete"\2', text)
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}" role="img" aria-labelledby="title">
<title id="title">`kibus status` with six things wrong: sample data</title>
<style>{STYLE % SIZE}</style>
<rect class="paper" x="0.5" y="0.5" width="{width - 1:g}" height="{height - 1:g}" rx="8" stroke="#444c56"/>
<g xml:space="preserve">
{text}</g>
</svg>
"""


write_or_check(picture(screen()), PICTURE, "tests/scenarios/night.txt")
