#!/usr/bin/env python3
"""Draws the output of a command as SVG, as a terminal shows it.

    gpuemu top --once | python3 tools/terminal_picture.py docs/images/top.svg --command "gpuemu top"
"""
import argparse
import sys
from html import escape

# A character of a monospaced font is 0.602 of its size wide.
FONT, LINE, PADDING, CHARACTER = 13, 18, 14, 7.83


def draw(text, command=""):
    """Draws one <text> for each line; spaces keep their width."""
    lines = ([f"$ {command}"] if command else []) + text.expandtabs().rstrip("\n").split("\n")
    width = round(2 * PADDING + CHARACTER * max(map(len, lines)))
    height = 2 * PADDING + LINE * len(lines)
    rows = [f'<text x="{PADDING}" y="{PADDING + LINE * number + FONT}" xml:space="preserve">{escape(line)}</text>'
            for number, line in enumerate(lines) if line]
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            f'font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="{FONT}" fill="#d4d4d4">\n'
            f'<rect width="100%" height="100%" rx="6" fill="#1e1e1e"/>\n' + "\n".join(rows) + "\n</svg>\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("picture")
    parser.add_argument("--command", default="", help="the line above what it printed")
    options = parser.parse_args()
    text = sys.stdin.read()
    if not text.strip():
        sys.exit("terminal_picture: nothing on standard input; expected what a command printed")
    with open(options.picture, "w", encoding="utf-8") as file:
        file.write(draw(text, options.command))


if __name__ == "__main__":
    main()
