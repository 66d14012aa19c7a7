#!/usr/bin/env python3
"""Renames names in the code as listed in tools/rename.tsv, and moves the files that are named after
them.

usage: tools/rename.py
A row of the table has an old name, a new name and the folders or files in which the old one has that
meaning, separated by tabs. A name with a "/" is a file without its extension, whose test moves along. A
name that begins with "." is a member, which changes only after "." or "->". Names in string literals are
kept: they are words of the protocol or of messages. Can be run again, and on a branch that began before
the change: then it changes only what remains. Lists of sources in CMakeLists.txt are rewritten but not
sorted; run clang-format afterwards.
"""
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCES = (".h", ".cc", ".inc", ".cu", ".cuh", ".def")
# Text that is not changed: literals, and in tables of the protocol the names in the protocol and in
# Python.
KEPT = re.compile(r'("(?:[^"\\\n]|\\.)*"|\b(?:python|as)=\S+)')


def read_table():
    for line in (ROOT / "tools/rename.tsv").read_text().splitlines():
        if line and not line.startswith("#"):
            old, new, folders = line.split("\t")
            yield old, new, folders.split()


def git(*arguments):
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout


def move_files(rows):
    tracked = set(git("ls-files").splitlines())
    for old, new, _ in rows:
        for suffix in (".h", ".cc", "_test.cc", ".def", ".gen.h"):
            if old + suffix in tracked:
                print(f"{old}{suffix} -> {new}{suffix}")
                git("mv", old + suffix, new + suffix)


def pattern_of(name):
    return rf"(?<=\.){name[1:]}\b|(?<=->){name[1:]}\b" if name.startswith(".") else rf"\b{name}\b"


def is_within(path, folders):
    return any(path == one or path.startswith(one.rstrip("/") + "/") for one in folders)


def rename_words(path, rows):
    """Returns the text of a source with all names of its folder renamed in one pass, so that nothing
    changes twice."""
    text = (ROOT / path).read_text()
    mine = [(old, new) for old, new, folders in rows if is_within(path, folders)]
    if not mine:
        return
    pattern = re.compile("|".join(f"({pattern_of(old)})" for old, _ in mine))
    new_name = lambda match: mine[match.lastindex - 1][1].lstrip(".")  # noqa: E731
    lines = [line if line.startswith("#include") else
             "".join(part if at % 2 else pattern.sub(new_name, part) for at, part in enumerate(KEPT.split(line)))
             for line in text.split("\n")]
    if (changed := "\n".join(lines)) != text:
        (ROOT / path).write_text(changed)


def rename_paths(path, files):
    """Rewrites mentions of the moved files, by path anywhere and by their plain name in the
    CMakeLists.txt beside them."""
    try:
        text = changed = (ROOT / path).read_text()
    except UnicodeDecodeError:
        return
    for old, new, _ in files:
        changed = re.sub(rf"(?<![\w-]){re.escape(old)}(?=(?:_test)?(?:\.gen)?\.(?:h|cc|def)\b)", new, changed)
        folder, _, stem = old.rpartition("/")
        if path == f"{folder}/CMakeLists.txt":
            changed = re.sub(rf"\b{stem}(?=(?:_test)?(?:\.gen)?\.(?:h|cc)\b)", new.rpartition("/")[2], changed)
    if changed != text:
        (ROOT / path).write_text(changed)


def main():
    rows = list(read_table())
    files = [row for row in rows if "/" in row[0]]
    words = [row for row in rows if "/" not in row[0]]
    move_files(files)
    for path in git("ls-files").splitlines():
        if path.startswith("tools/rename") or not (ROOT / path).is_file():
            continue
        if path.endswith(SOURCES):
            rename_words(path, words)
        rename_paths(path, files)


if __name__ == "__main__":
    main()
