#!/usr/bin/env python3
"""Draws a Chrome trace as SVG, one row for each track, as a trace viewer would lay it out.

    gpuemu_example_mlp --backend emulator --layers 3 --steps 3 --trace mlp.json
    python3 tools/trace_picture.py mlp.json mlp.svg [--from US] [--to US] [--title TEXT]

Rectangles are the trace's complete events ("ph": "X") to scale; nothing is drawn that is not in the file.
"""
import argparse
import json
import sys
from html import escape

WIDTH, LEFT, ROW, GAP, TOP, FONT = 1200, 150, 22, 14, 56, 11
COLOURS = ["#4e79a7", "#f28e2b", "#59a14f", "#b07aa1", "#edc948", "#76b7b2", "#e15759", "#9c755f", "#bab0ac", "#ff9da7"]
TICKS = 8


def events_of(trace):
    """Returns (names of processes, complete events). ValueError says why the input is not a trace."""
    if not isinstance(trace, dict) or not isinstance(trace.get("traceEvents"), list):
        raise ValueError('no {"traceEvents": [...]}')
    names = {e["pid"]: e["args"]["name"] for e in trace["traceEvents"] if e.get("ph") == "M" and e.get("name") == "process_name"}
    spans = [e for e in trace["traceEvents"] if e.get("ph") == "X"]
    if not spans:
        raise ValueError("no complete event, nothing to draw")
    return names, sorted(spans, key=lambda e: (e["ts"], -e["dur"]))


def lay_out(spans):
    """Returns the rows of each (process, track): an event is drawn below those that contain it."""
    tracks = {}
    for span in spans:
        rows = tracks.setdefault((span["pid"], span["tid"]), [])
        for row in rows:
            if row[-1]["ts"] + row[-1]["dur"] <= span["ts"]:
                row.append(span)
                break
        else:
            rows.append([span])
    return dict(sorted(tracks.items()))


def tick_step(length):
    step = 1
    while length / step > TICKS:
        step = step * 10 // 4 if str(step)[0] == "2" else step * 2
    return step


def time_text(us):
    return f"{us / 1000:g} ms" if us >= 1000 else f"{us:g} us"


class Picture:
    def __init__(self, begin, end):
        self.begin, self.scale, self.parts, self.y = begin, (WIDTH - LEFT - 10) / (end - begin), [], TOP
        self.end, self.colours = end, {}

    def x(self, us):
        return LEFT + (us - self.begin) * self.scale

    def text(self, x, y, text, extra=""):
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" {extra}>{escape(text)}</text>')

    def span(self, span):
        colour = self.colours.setdefault(span["name"], COLOURS[len(self.colours) % len(COLOURS)])
        left, right = max(self.x(span["ts"]), LEFT), min(self.x(span["ts"] + span["dur"]), WIDTH - 10)
        width = max(right - left, 0.4)
        self.parts.append(f'<rect x="{left:.2f}" y="{self.y}" width="{width:.2f}" height="{ROW - 3}" fill="{colour}">'
                          f"<title>{escape(span['name'])}: {span['dur']:.1f} us</title></rect>")
        if width > 7 * len(span["name"]):
            self.text(left + 3, self.y + ROW - 8, span["name"], 'fill="#fff"')

    def track(self, title, rows):
        self.text(6, self.y + ROW - 8, title)
        for row in rows:
            for span in row:
                if span["ts"] + span["dur"] >= self.begin and span["ts"] <= self.end:
                    self.span(span)
            self.y += ROW
        self.y += GAP

    def axis(self):
        step = tick_step(self.end - self.begin)
        at = -(-self.begin // step) * step
        while at <= self.end:
            x = self.x(at)
            self.parts.insert(0, f'<line x1="{x:.1f}" y1="{TOP - 8}" x2="{x:.1f}" y2="{self.y}" stroke="#ddd"/>')
            self.text(x, TOP - 12, time_text(at), 'text-anchor="middle"')
            at += step

    def svg(self, title):
        self.axis()
        self.text(6, 18, title, 'font-size="14"')
        body = "\n".join(self.parts)
        return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {self.y}" width="{WIDTH}" height="{self.y}" '
                f'font-family="sans-serif" font-size="{FONT}" fill="#222">\n<rect width="100%" height="100%" fill="#fff"/>\n'
                f"{body}\n</svg>\n")


def draw(trace, begin=None, end=None, title=""):
    names, spans = events_of(trace)
    begin = min(e["ts"] for e in spans) if begin is None else begin
    end = max(e["ts"] + e["dur"] for e in spans) if end is None else end
    if not begin < end:
        raise ValueError(f"nothing lies between {begin} and {end} us")
    picture = Picture(begin, end)
    streams = {}
    for (process, track), rows in lay_out(spans).items():
        number = streams.setdefault(process, [])
        number.append(track)
        picture.track(f"{names.get(process, process)} {len(number) - 1}", rows)
    return picture.svg(title)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("trace")
    parser.add_argument("picture")
    parser.add_argument("--from", dest="begin", type=float)
    parser.add_argument("--to", dest="end", type=float)
    parser.add_argument("--title", default="")
    options = parser.parse_args()
    try:
        with open(options.trace) as file:
            text = draw(json.load(file), options.begin, options.end, options.title)
    except (OSError, ValueError) as problem:
        sys.exit(f"trace_picture: {options.trace}: {problem}")
    with open(options.picture, "w") as file:
        file.write(text)


if __name__ == "__main__":
    main()
