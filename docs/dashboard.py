#!/usr/bin/env python3
"""Draws docs/dashboard.svg from templates/dashboard.json, with sample data. With `--check`, only compares them.

Each widget is where the definition puts it, with its title, its lines and its legend. The data is that of a quiet bus with three
clusters, on which Spot takes back some instances at once, and one cluster's queue is missing for a while.
"""

import html
import json
import math
import pathlib

from demo import write_or_check

DOCS = pathlib.Path(__file__).parent
TEMPLATES = DOCS.parent / "templates"
PICTURE = DOCS / "dashboard.svg"

# Pixels: a column and a row of the grid, and the space between widgets.
COLUMN, ROW, GAP = 58, 44, 8
SIZE, SMALL, LETTER = 14, 11, 6.1
POINTS = 72  # twelve hours in steps of ten minutes
HOURS = ["06:00", "09:00", "12:00", "15:00"]
COLORS = ["#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b", "#e377c2", "#7f7f7f", "#bcbd22", "#17becf", "#393b79", "#ad494a", "#637939"]

VALUES = {
    "marker": "kibus manages this dashboard of bus `kibus` in us-west-2",
    "bus": "kibus",
    "region": "us-west-2",
    "function": "kibus-router",
    "hub": "kibus-hub",
    "dead_letters": "kibus-hub-dlq",
    "heartbeat": "one every 5 minutes",
    "delivered": [[{"label": label, "sample": label}] for label in ("base", "tenant-1", "tenant-2")],
}

STYLE = """
text { font-size: %dpx; font-family: "Helvetica Neue", Arial, "DejaVu Sans", sans-serif; fill: #16191f }
.title { font-size: %dpx; font-weight: bold }
.heading { font-size: 20px; font-weight: bold }
.axis { fill: #687078 }
.widget { fill: #ffffff; stroke: #d5dbdb }
.grid { stroke: #eaeded }
.code { font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace }
.threshold { fill: #d13212 }
.sample { fill: #8a4b00; font-size: 16px; font-weight: bold; letter-spacing: 1px }
"""


def filled(node):
    if isinstance(node, list):
        return [filled(item) for item in node]
    if isinstance(node, dict):
        return {key: filled(value) for key, value in node.items()}
    if not isinstance(node, str):
        return node
    for name, value in VALUES.items():
        if node == "${%s}" % name:
            return value
        if isinstance(value, str):
            node = node.replace("${%s}" % name, value)
    return node


def wave(seed, level, swing):
    """A level that moves a little, the same in every run."""
    def at(point):
        noise = math.sin(point * 0.9 + seed * 2.1) + math.sin(point * 0.37 + seed) + math.sin(point * 2.3 + seed * 0.7)
        return max(0, level + swing * noise / 2)
    return at


def burst(height, start=44, length=4):
    return lambda point: height if start <= point < start + length else 0


def plus(*parts):
    return lambda point: sum(part(point) for part in parts)


# The sample of each metric, by its name, or by its name and its statistic or its dimension. The others have had no data.
SAMPLES = {
    "base": plus(wave(1, 14, 5), burst(30)),
    "tenant-1": plus(wave(2, 22, 7), burst(90)),
    "tenant-2": plus(wave(3, 9, 4), burst(45)),
    "Received": plus(wave(4, 74, 14), burst(230)),
    "Delivered": plus(wave(5, 45, 9), burst(165)),
    "Dropped": plus(wave(6, 29, 7), burst(24, 43, 6)),
    "Retried": burst(10, 45, 2),
    "DroppedNoKarpenterMarker": wave(7, 17, 5),
    "DroppedAutoMode": wave(8, 6, 2),
    "DroppedNotForKarpenter": wave(9, 3, 1),
    "DroppedNoInstance": wave(10, 0.4, 1),
    "DroppedUnregistered": burst(26, 43, 6),
    "Delay p50": plus(wave(11, 900, 120), burst(250)),
    "Delay p99": plus(wave(12, 1900, 300), burst(1500)),
    "ApproximateNumberOfMessagesVisible kibus-hub": plus(wave(13, 1, 2), burst(38, 44, 2)),
    "ApproximateNumberOfMessagesNotVisible kibus-hub": plus(wave(14, 3, 3), burst(70, 44, 3)),
    "ApproximateNumberOfMessagesVisible kibus-hub-dlq": burst(2, 52, 9),
    "Errors": burst(1, 68, 1),
    "Duration p50": wave(15, 48, 9),
    "Duration p99": plus(wave(16, 160, 40), burst(240)),
    "ConcurrentExecutions": plus(lambda point: 1, burst(4)),
    "Heartbeat": lambda point: 1,
}


def lines(properties):
    """The label and the points of each line of a widget."""
    for metric in properties["metrics"]:
        options = metric[-1]
        label = options["label"]
        names = [options["sample"]] if "sample" in options else [metric[1], f"{metric[1]} {label}", f"{metric[1]} {metric[3]}"]
        sample = next((SAMPLES[name] for name in names if name in SAMPLES), lambda point: 0)
        yield label, [sample(point) for point in range(POINTS)]


def text(x, y, words, kind="", anchor="start"):
    words = html.escape(words, quote=False)
    return f'<text x="{x:.0f}" y="{y:.0f}" class="{kind}" text-anchor="{anchor}">{words}</text>\n'


def rounded(most):
    """The end of an axis that has this value. It is even, because its middle has a number too, and what is counted is whole."""
    step = 10 ** math.floor(math.log10(most))
    ends = (round(end * step, 1) for end in (1, 1.2, 1.6, 2, 2.4, 3, 4, 5, 6, 8, 10, 12))
    return next(end for end in ends if end >= most * 1.02 and end % 2 == 0)


def number(value):
    return f"{value:g}" if value < 1000 else f"{value / 1000:g}k"


def legend(entries, x, y, right):
    """The legend: a column beside the graph, or a row below it."""
    drawn = ""
    for index, (label, _) in enumerate(entries):
        drawn += f'<rect x="{x:.0f}" y="{y - 9:.0f}" width="10" height="10" rx="2" fill="{COLORS[index % len(COLORS)]}"/>\n'
        drawn += text(x + 14, y, label)
        x, y = (x, y + 15.5) if right else (x + 26 + len(label) * LETTER, y)
    return drawn


def graph(properties, left, top, width, height):
    entries = list(lines(properties))
    right = properties.get("legend", {}).get("position") == "right"
    beside = max(len(label) for label, _ in entries) * 6.6 + 32 if right else 0
    unit = properties["yAxis"]["left"].get("label")
    x, y = left + 44, top + (56 if unit else 42)
    w, h = width - 60 - beside, top + height - y - (22 if right else 46)
    stacked = properties["stacked"]
    totals = [sum(values) for values in zip(*(points for _, points in entries))]
    most = max(totals) if stacked else max(max(points) for _, points in entries)
    thresholds = properties.get("annotations", {}).get("horizontal", [])
    end = rounded(max(most, 1, *(line["value"] for line in thresholds)))
    place = lambda point, value: f"{x + w * point / (POINTS - 1):.1f},{y + h - h * value / end:.1f}"
    drawn = ""
    for share in (0, 0.5, 1):
        at = y + h - h * share
        drawn += f'<path class="grid" d="M{x:.0f} {at:.1f}h{w:.0f}"/>\n'
        drawn += text(x - 6, at + 4, number(end * share), "axis", "end")
    for index, hour in enumerate(HOURS):
        drawn += text(x + w * (index + 0.5) / len(HOURS), y + h + 15, hour, "axis", "middle")
    if unit:
        drawn += text(left + 12, y - 17, unit, "axis")
    base = [0] * POINTS
    for index, (_, points) in enumerate(entries):
        color = COLORS[index % len(COLORS)]
        if stacked:
            tops = [under + value for under, value in zip(base, points)]
            path = [place(point, value) for point, value in enumerate(tops)]
            path += [place(point, base[point]) for point in reversed(range(POINTS))]
            base = tops
            if any(points):
                drawn += f'<polygon points="{" ".join(path)}" fill="{color}" fill-opacity="0.75"/>\n'
        else:
            path = " ".join(place(point, value) for point, value in enumerate(points))
            drawn += f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="1.6"/>\n'
    for line in thresholds:
        at = y + h - h * line["value"] / end
        drawn += f'<path stroke="{line["color"]}" stroke-dasharray="4 3" d="M{x:.0f} {at:.1f}h{w:.0f}"/>\n'
        drawn += text(x + 4, at - 5, line["label"], "threshold")
    if right:
        return drawn + legend(entries, x + w + 18, y + 6, True)
    return drawn + legend(entries, x, y + h + 38, False)


def markdown(properties, left, top):
    heading, *paragraphs = properties["markdown"].split("\n\n")
    drawn = text(left + 14, top + 34, heading.removeprefix("# "), "heading")
    for index, paragraph in enumerate(paragraphs):
        words = html.escape(paragraph, quote=False).split("`")
        words = "".join(f'<tspan class="code">{part}</tspan>' if at % 2 else part for at, part in enumerate(words))
        drawn += f'<text x="{left + 14}" y="{top + 68 + 30 * index}" style="font-size: 14px">{words}</text>\n'
    return drawn


def note(width):
    """What the picture must say of itself, in the corner of its first widget."""
    x, y, w, h = width - GAP - 174, GAP + 14, 160, 34
    box = f'<rect x="{x}" y="{y}" width="{w}" height="{h}" rx="6" fill="#fff3d6" stroke="#e09b2d"/>\n'
    return box + text(x + w / 2, y + 23, "SAMPLE DATA", "sample", "middle")


def drawn(widget):
    left, top = widget["x"] * COLUMN + GAP, widget["y"] * ROW + GAP
    width, height = widget["width"] * COLUMN - GAP, widget["height"] * ROW - GAP
    box = f'<rect class="widget" x="{left}" y="{top}" width="{width}" height="{height}" rx="6"/>\n'
    properties = widget["properties"]
    if widget["type"] == "text":
        return box + markdown(properties, left, top)
    return box + text(left + 12, top + 20, properties["title"], "title") + graph(properties, left, top, width, height)


def picture(definition):
    widgets = filled(json.loads(definition))["widgets"]
    width = max(w["x"] + w["width"] for w in widgets) * COLUMN + GAP
    height = max(w["y"] + w["height"] for w in widgets) * ROW + GAP
    label = "The dashboard of a bus with sample data: " + ", ".join(w["properties"].get("title", "what it is") for w in widgets)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">\n'
        f"<title>{html.escape(label)}</title>\n<style>{STYLE % (SMALL, SIZE)}</style>\n"
        f'<rect width="{width}" height="{height}" fill="#f2f3f3"/>\n' + "".join(map(drawn, widgets)) + note(width) + "</svg>\n"
    )


write_or_check(picture((TEMPLATES / "dashboard.json").read_text(encoding="utf-8")), PICTURE, "templates/dashboard.json")
