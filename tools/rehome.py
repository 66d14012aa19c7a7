#!/usr/bin/env python3
"""Moves files to their folders as listed in tools/rehome.tsv and rewrites every mention of the old
paths.

usage: tools/rehome.py [--dry-run]
A row of the table has an old and a new path: a folder with a "/" at its end, or a file without its
extension, whose test moves along. Can be run again, and on a branch that began before the move: then it
changes only what remains. Lists of sources in CMakeLists.txt are not changed; targets named after a
folder are.
"""
import argparse
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCES = r"(?:h|cc|inc|def|cu|bin)\b"
UNTOUCHED = {"tools/rehome.tsv", "tools/rehome.py"}


def read_table():
    rows = [line.split("\t") for line in (ROOT / "tools/rehome.tsv").read_text().splitlines() if line]
    folders = {old: new for old, new in rows if old.endswith("/")}
    files = {old: new for old, new in rows if not old.endswith("/")}
    return folders, files


def new_path(path, folders, files):
    stem, dot, extension = path.rpartition(".")
    for suffix in ("", "_test"):
        if stem.endswith(suffix) and stem.removesuffix(suffix) in files:
            return files[stem.removesuffix(suffix)] + suffix + dot + extension
    for old, new in folders.items():
        if path.startswith(old):
            return new + path.removeprefix(old)
    return path


def rewriter(folders, files):
    """Returns a function that rewrites a text in one pass, so that nothing is renamed twice."""
    changes = {rf"{re.escape(old)}(?=(?:_test)?\.{SOURCES})": new for old, new in files.items()}
    changes |= {rf"{re.escape(old.rstrip('/'))}(?![\w-])": new.rstrip("/") for old, new in folders.items()}
    targets = {old.rstrip("/").replace("/", "_"): new.rstrip("/").replace("/", "_") for old, new in folders.items()}
    changes |= {rf"{old}(?=_test\b|_c_test\b|_symbols\b|_c_program\b|\b)": new for old, new in targets.items()}
    pattern = re.compile(r"(?<![\w-])(?:" + "|".join(f"({each})" for each in changes) + ")")
    values = list(changes.values())
    return lambda text: pattern.sub(lambda match: values[match.lastindex - 1], text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dry-run", action="store_true", help="print what would be moved, change nothing")
    dry = parser.parse_args().dry_run
    folders, files = read_table()
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")[:-1]
    moved = {path: new_path(path, folders, files) for path in tracked}
    for old, new in moved.items():
        if old == new:
            continue
        print(f"{old} -> {new}")
        if not dry:
            (ROOT / new).parent.mkdir(parents=True, exist_ok=True)
            subprocess.run(["git", "mv", old, new], cwd=ROOT, check=True)
    rewrite = rewriter(folders, files)
    for path in moved.values() if not dry else ():
        if path in UNTOUCHED or not (ROOT / path).is_file():
            continue
        try:
            text = (ROOT / path).read_text()
        except UnicodeDecodeError:
            continue
        if (changed := rewrite(text)) != text:
            (ROOT / path).write_text(changed)


if __name__ == "__main__":
    main()
