#!/usr/bin/env python3
"""Draws docs/demo.svg from the output in docs/demo.txt. With `--check`, only compares them.

The picture shows some of the commands, with their output as recorded. A line with an ellipsis stands for the lines between them.

The picture is a terminal with a background of its own. The animation is CSS in the file: no script, no font to load. It uses
one group that scrolls, one cover below the newest line, and one cover over a command that is being typed. Without animation,
or where the reader prefers reduced motion, the picture is the last screen. The animation also begins with the last screen, for
programs that keep its first frame only.
"""

import html
import pathlib
import sys

OUTPUT = pathlib.Path(__file__).with_name("demo.txt")
PICTURE = pathlib.Path(__file__).with_name("demo.svg")

# The commands that the picture shows, each with the line of its output after which the rest is left out, if any.
SHOWN = {
    "discover": None,
    "add-cluster": "Created ",
    "sandbox send spot": None,
    "sandbox send scheduled": None,
    "events": None,
    "drill": None,
}
LEFT_OUT = "\u2026"

# Pixels. A monospaced letter is 0.6 of its size wide, or a little more where `textLength`, which makes it so for every font, is
# not known.
SIZE, LINE, LETTER, MARGIN, ROWS = 13, 18, 7.83, 16, 20

# Seconds: a letter of a command, a line of output, before and after a command, for the end of a paragraph and for each of its
# lines, on the last screen, and how much of this is at the beginning. All of it takes no longer than a reader waits.
TYPED, PRINTED, THOUGHT, PARAGRAPH, READ, REST, POSTER = 0.02, 0.03, 0.3, 0.3, 0.08, 5.0, 1.0
LONGEST = 25

STYLE = """
text { font: %dpx ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #d1d7e0; white-space: pre }
.command { fill: #ffffff; font-weight: bold }
.create { fill: #57ab5a }
.delete { fill: #f47067 }
.left-out { fill: #768390 }
.paper { fill: #1c2128 }
"""


def sections(output):
    """Each command with its output, and before it the sentence that says what it is for: a paragraph of one line."""
    found, after_sentence = [], False
    paragraphs = output.strip().split("\n\n")
    for paragraph, following in zip(paragraphs, [*paragraphs[1:], ""]):
        is_command = paragraph.startswith("$ ")
        is_sentence = not is_command and "\n" not in paragraph and following.startswith("$ ")
        if is_sentence or is_command and not after_sentence:
            found.append([])
        found[-1].append(paragraph)
        after_sentence = is_sentence
    return ["\n\n".join(section).split("\n") for section in found]


def shown(output):
    """The lines of the picture."""
    lines, wanted, left_out = [], dict(SHOWN), False
    for section in sections(output):
        command = next(line for line in section if line.startswith("$ "))
        name = next((name for name in wanted if command.startswith(f"$ kibus {name} ") or command == f"$ kibus {name}"), None)
        if name is None:
            left_out = True
            continue
        if lines:
            lines += ["", LEFT_OUT, ""] if left_out else [""]
        last = wanted.pop(name)
        at = next(at for at, line in enumerate(section) if line.startswith(last)) + 1 if last else len(section)
        lines += section[:at]
        left_out = at < len(section)
    assert not wanted, f"the output has no {', '.join(wanted)}"
    return lines


def kind(line):
    for start, name in [("$ ", "command"), ("  + ", "create"), ("  - ", "delete"), (LEFT_OUT, "left-out")]:
        if line.startswith(start):
            return f' class="{name}"'
    return ""


def drawn(number, line):
    """A line of the terminal."""
    if not line.strip():
        return ""
    indent = len(line) - len(line.lstrip())
    shown = line.strip()
    x, y = MARGIN + indent * LETTER, MARGIN + number * LINE + SIZE
    width = len(shown) * LETTER
    return f'<text x="{x:g}" y="{y:g}" textLength="{width:g}"{kind(line)}>{html.escape(shown, quote=False)}</text>\n'


def scrolled(shown):
    """How far the terminal has scrolled when so many lines are shown."""
    return -max(0, shown - ROWS) * LINE


def scenes(lines):
    """What happens when: the seconds, the lines that are shown, and the letters of the last line that are typed, if any."""
    now, found, read = 0.0, [(0.0, 0, None)], 0
    for number, line in enumerate(lines):
        if line.startswith("$ "):
            now += THOUGHT
            found.append((now, number + 1, 2))
            now += TYPED * len(line)
            found.append((now, number + 1, len(line)))
            now += THOUGHT
        else:
            # A paragraph ends where the next line is not indented: a list belongs to the line above it.
            if not line and not lines[number + 1].startswith(" "):
                now += PARAGRAPH + READ * (number - read)
                read = number
            else:
                now += PRINTED
            found.append((now, number + 1, None))
    return found, now + REST


def keyframes(name, steps, total):
    """A rule of CSS. Each step holds until the next one, except where it says how it moves on."""
    rules, last = [], None
    for now, move, pace in steps:
        if (move, pace) != last:
            timing = f"; animation-timing-function: {pace}" if pace else ""
            rules.append(f"{100 * now / total:.2f}% {{ transform: translate({move}){timing} }}")
        last = (move, pace)
    return f"@keyframes {name} {{ " + " ".join(rules) + " }"


def picture(lines):
    letters = max(len(line) for line in lines)
    width, height = 2 * MARGIN + letters * LETTER, 2 * MARGIN + ROWS * LINE
    found, total = scenes(lines)
    assert total <= LONGEST, f"the picture takes {total:.1f} s"
    scroll = [(now, f"0, {scrolled(shown)}px", None) for now, shown, _ in found]
    cover = [(now, f"0, {shown * LINE}px", None) for now, shown, _ in found]
    typing = []
    for now, shown, typed in found:
        move = f"{(typed or letters) * LETTER:g}px, {(shown - 1) * LINE}px"
        typing.append((now, move, f"steps({len(lines[shown - 1]) - 2})" if typed == 2 else None))
    end = f"translate(0, {scrolled(len(lines))}px)"
    moves = "\n".join(
        [keyframes("scroll", scroll, total), keyframes("cover", cover, total), keyframes("typing", typing, total)]
    )
    text = "".join(drawn(number, line) for number, line in enumerate(lines))
    # A cover is as large as all lines, so that nothing shows below it.
    rows = len(lines) * LINE + height
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}" role="img" aria-labelledby="title">
<title id="title">Parts of one run of `kibus sandbox demo` in a terminal: discover, add clusters, trace events, run a drill</title>
<style>{STYLE % SIZE}.scroll {{ transform: {end} }}
.cover, .typing {{ display: none }}
@media (prefers-reduced-motion: no-preference) {{
.cover, .typing {{ display: inline }}
.scroll, .cover, .typing {{ animation: scroll {total:.1f}s step-end -{total - POSTER:.1f}s infinite }}
.cover {{ animation-name: cover }}
.typing {{ animation-name: typing }}
{moves}
}}
</style>
<clipPath id="screen"><rect x="1" y="{MARGIN}" width="{width - 2:g}" height="{ROWS * LINE}"/></clipPath>
<rect class="paper" x="0.5" y="0.5" width="{width - 1:g}" height="{height - 1:g}" rx="8" stroke="#444c56"/>
<g clip-path="url(#screen)"><g class="scroll" xml:space="preserve">
{text}<rect class="paper cover" x="{MARGIN}" y="{MARGIN}" width="{width - MARGIN - 1:g}" height="{rows}"/>
<rect class="paper typing" x="{MARGIN}" y="{MARGIN}" width="{width - MARGIN - 1:g}" height="{LINE}"/>
</g></g>
</svg>
"""


def write_or_check(made, picture, source):
    """Writes a picture; with `--check`, fails if the file is not the picture. `source` is what it is made from."""
    script = pathlib.Path(sys.argv[0]).name
    if sys.argv[1:] == ["--check"]:
        if picture.read_text(encoding="utf-8") != made:
            sys.exit(f"docs/{picture.name} is not made from {source}; run docs/{script}")
    elif sys.argv[1:]:
        sys.exit(f"usage: docs/{script} [--check]")
    else:
        picture.write_text(made, encoding="utf-8")


if __name__ == "__main__":
    write_or_check(picture(shown(OUTPUT.read_text(encoding="utf-8"))), PICTURE, "docs/demo.txt")
