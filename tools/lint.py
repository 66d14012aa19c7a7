#!/usr/bin/env python3
"""Runs clang-tidy over every source of ours that is no test and remembers what was clean.

usage: tools/lint.py [--build build/release] [--quick | --analyze] [--jobs N] [file ...]
  --quick     names, sizes, moves and what is unused: a third of the time; CI does it
  --analyze   also the static analyzer (clang-analyzer-*), which takes ten times as long; nightly does it
A file is clean as long as it, the headers of ours that it includes, .clang-tidy and clang-tidy stay the
same. Exit 1 when something was found, 3 when clang-tidy-19 or the compilation database is missing.
"""
import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TOOL = "clang-tidy-19"
QUICK = ("-*,readability-identifier-naming,readability-function-size,readability-else-after-return,"
         "bugprone-use-after-move,bugprone-infinite-loop,misc-unused-parameters,misc-unused-alias-decls,"
         "modernize-use-override,modernize-use-nullptr,performance-unnecessary-copy-initialization,"
         "performance-for-range-copy,cppcoreguidelines-init-variables")


def dependencies(build):
    """Source -> the files of ours that it includes, as ninja recorded them when it built."""
    found, current = {}, []
    text = subprocess.run(["ninja", "-C", str(build), "-t", "deps"], capture_output=True, text=True).stdout
    for line in text.splitlines():
        if not line.startswith(" "):
            current = []
            continue
        path = pathlib.Path(os.path.normpath(build / line.strip()))
        if not path.is_relative_to(ROOT):
            continue
        current.append(path)
        if len(current) == 1:
            found[path] = current
    return found


def key_of(source, needs, salt):
    digest = hashlib.sha256(salt + exceptions_of(source.parent).encode())
    for path in sorted({source, *needs}):
        digest.update(str(path.relative_to(ROOT)).encode())
        digest.update(path.read_bytes() if path.exists() else b"")
    return digest.hexdigest()


def sources_of(build, named):
    commands = json.loads((build / "compile_commands.json").read_text())
    ours = {pathlib.Path(entry["file"]) for entry in commands}
    ours = {path for path in ours if path.is_relative_to(ROOT) and not path.is_relative_to(ROOT / "build")
            and not path.stem.endswith("_test")}
    if named:
        ours &= {pathlib.Path(name).resolve() for name in named}
    return sorted(ours)


def exceptions_of(folder):
    """What the .clang-tidy of a folder and those above it switch off: --checks on the command line
    would undo it."""
    words = []
    for above in (folder, *folder.parents):
        own = above / ".clang-tidy"
        if above == ROOT:
            break
        if own.exists():
            words += re.findall(r"(?<=[\s,])-[a-z][\w.*-]*", own.read_text())
    return ",".join(words)


def lint(source, build, checks):
    off = exceptions_of(source.parent)
    checks = [f"{option},{off}" if off and option.startswith("--checks=") else option for option in checks]
    run = subprocess.run([TOOL, "-p", str(build), "--quiet", *checks, str(source)],
                         capture_output=True, text=True)
    return run.returncode, run.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build/release", type=pathlib.Path)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--analyze", action="store_true")
    parser.add_argument("--jobs", default=os.cpu_count(), type=int)
    parser.add_argument("files", nargs="*")
    args = parser.parse_args()
    build = args.build.resolve()
    if not shutil.which(TOOL) or not (build / "compile_commands.json").exists():
        print(f"lint: needs {TOOL} and {build}/compile_commands.json (scripts/setup.sh --tests; "
              "cmake --preset release)", file=sys.stderr)
        return 3
    checks = [] if args.analyze else [f"--checks={QUICK}" if args.quick else "--checks=-clang-analyzer-*"]
    version = subprocess.run([TOOL, "--version"], capture_output=True).stdout
    salt = version + (ROOT / ".clang-tidy").read_bytes() + str(checks).encode()
    needs = dependencies(build)
    clean = build / "lint-clean"
    clean.mkdir(exist_ok=True)
    todo = {}
    sources = sources_of(build, args.files)
    for source in sources:
        key = key_of(source, needs.get(source, []), salt)
        if not (clean / key).exists():
            todo[source] = key
    bad = 0
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        futures = {pool.submit(lint, source, build, checks): source for source in todo}
        for future in concurrent.futures.as_completed(futures):
            status, output = future.result()
            if status == 0:
                (clean / todo[futures[future]]).touch()
            else:
                bad += 1
                print(output, flush=True)
    print(f"lint: {len(sources)} files, {len(sources) - len(todo)} unchanged, {bad} with findings")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
