#!/usr/bin/env python3
"""Runs clang-tidy on all of our sources except tests, and remembers which were clean.

usage: tools/lint.py [--build build/release] [--quick | --analyze] [--jobs N] [file ...]
  --quick     checks names, sizes, moves and unused code: a third of the time; used by CI
  --analyze   also runs the static analyzer (clang-analyzer-*), which takes ten times as long; nightly only
A file stays clean until the file, our headers that it includes, .clang-tidy or clang-tidy changes. Files
of one folder are read as one translation unit, because reading the headers takes most of the time; files
that declare the same names go to different units. Exit code 1 when something was found, 3 when
clang-tidy-19 or the compilation database is missing.
"""
import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
TOOL = "clang-tidy-19"
UNIT_MOST = 12  # Most files of one unit, because larger ones have more clashes.
QUICK = ("-*,readability-identifier-naming,readability-function-size,readability-else-after-return,"
         "bugprone-use-after-move,bugprone-infinite-loop,misc-unused-parameters,misc-unused-alias-decls,"
         "modernize-use-override,modernize-use-nullptr,readability-braces-around-statements,"
         "performance-unnecessary-copy-initialization,"
         "performance-for-range-copy,cppcoreguidelines-init-variables")


def together(path):
    """Returns the sources compiled together in `path`, a file made by GPUEMU_UNITY; otherwise `path`
    itself."""
    if path.parent.name != "Unity" or not path.exists():
        return [path]
    return [pathlib.Path(name) for name in re.findall(r'^#include "(.+)"$', path.read_text(), re.M)]


def dependencies(build):
    """Returns source -> our files that it includes, as recorded by ninja during the build."""
    found, current = {}, []
    text = subprocess.run(["ninja", "-C", str(build), "-t", "deps"], capture_output=True, text=True).stdout
    for line in text.splitlines():
        if not line.startswith(" "):
            current = []
            continue
        path = pathlib.Path(os.path.normpath(build / line.strip()))
        if not path.is_relative_to(ROOT) or path.name.startswith("cmake_pch"):
            continue
        current.append(path)
        if len(current) == 1:
            for source in together(path):
                found[source] = current
    return found


def key_of(source, needs, salt):
    digest = hashlib.sha256(salt + exceptions_of(source.parent).encode())
    for path in sorted({source, *needs}):
        digest.update(str(path.relative_to(ROOT)).encode())
        digest.update(path.read_bytes() if path.exists() else b"")
    return digest.hexdigest()


def sources_of(build, named):
    commands = json.loads((build / "compile_commands.json").read_text())
    ours = {source for entry in commands for source in together(pathlib.Path(entry["file"]))}
    ours = {path for path in ours if path.is_relative_to(ROOT) and not path.is_relative_to(ROOT / "build")
            and not path.stem.endswith("_test")}
    if named:
        ours &= {pathlib.Path(name).resolve() for name in named}
    return sorted(ours)


def exceptions_of(folder):
    """Returns the checks that the .clang-tidy of a folder and of its parents switch off; --checks on the
    command line would switch them on again."""
    words = []
    for above in (folder, *folder.parents):
        own = above / ".clang-tidy"
        if above == ROOT:
            break
        if own.exists():
            words += re.findall(r"(?<=[\s,])-[a-z][\w.*-]*", own.read_text())
    return ",".join(words)


def without_precompiled(words):
    """Removes options that Clang does not know: GCC's precompiled headers and some of its warnings."""
    kept = [word for word in words if word not in ("-Winvalid-pch", "-fpch-preprocess")]
    while "-include" in kept and kept[kept.index("-include") + 1].endswith("cmake_pch.hxx"):
        at = kept.index("-include")
        del kept[at:at + 2]
    return [*kept, "-Wno-unknown-warning-option"]


def flags_of(build):
    """Returns source -> the compiler's flags, without compiler, source and output; for several
    compilations, those of the first."""
    found = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        words = shlex.split(entry["command"])
        while words and (words[0] in ("env", "ccache") or words[0].endswith("/ccache") or "=" in words[0]):
            words = words[1:]
        words = words[1:words.index("-o")] if "-o" in words else words[1:]
        words = without_precompiled(words)
        for source in together(pathlib.Path(entry["file"])):
            # Clang knows none of GCC's parameters.
            found.setdefault(source, tuple(word for word in words if word not in ("-c", entry["file"]) and not word.startswith("--param=")))
    return found


def unit_of(scratch, folder, name, sources):
    """Returns the path of the file to read: a single source itself, otherwise a unit of all sources in a
    mirrored folder, where clang-tidy finds copies of their .clang-tidy files."""
    if len(sources) == 1:
        return sources[0]
    home = scratch / folder.relative_to(ROOT)
    home.mkdir(parents=True, exist_ok=True)
    for above in (folder, *folder.parents):
        if (above / ".clang-tidy").exists():
            shutil.copyfile(above / ".clang-tidy", scratch / above.relative_to(ROOT) / ".clang-tidy")
        if above == ROOT:
            break
    unit = home / name
    unit.write_text("".join(f'#include "{source}"\n' for source in sources))
    return unit


def lint(build, read, flags, off, checks):
    checks = [f"{option},{off}" if off and option.startswith("--checks=") else option for option in checks]
    run = subprocess.run([TOOL, "--quiet", *checks, str(read), "--", *flags, "-ferror-limit=0"],
                         capture_output=True, text=True, cwd=ROOT)
    return run.returncode, run.stdout


def lint_together(build, scratch, name, folder, sources, flags, checks):
    """Returns the sources that are clean, and what was found in the others. All are of one folder and
    have the same flags."""
    clean, said = [], []
    waiting = [list(sources)]
    while waiting:
        group = waiting.pop()
        status, output = lint(build, unit_of(scratch, folder, name, group), flags, exceptions_of(folder), checks)
        if status == 0:
            clean += group
        elif len(group) > 1 and "[clang-diagnostic-error" in output:
            at_fault = set(re.findall(r"^(/[^:]+):\d+:\d+: error: .*\[clang-diagnostic-error", output, re.M))
            clashing = [source for source in group if str(source) in at_fault]
            if len(clashing) in (0, len(group)):  # No single source explains the clash.
                clashing = group[1:]
            waiting += [clashing, [source for source in group if source not in clashing]]
        elif len(group) > 1:  # Only separate runs show which of them are clean.
            waiting += [[source] for source in group]
        else:
            said.append(output)
    return clean, said


def names_in(source):
    """Returns roughly the names declared at the left margin: files that share a name are rarely put in
    one unit."""
    text = source.read_text()
    return set(re.findall(r"^(?:struct|class|enum class|enum|using) (\w+)", text, re.M)
               + re.findall(r"^[A-Za-z_][^\n(=;]*?[ &*>](\w+)\(", text, re.M)
               + re.findall(r"^(?:inline |static )?const[^\n(=;{]* (\w+)(?:\[\w*\])? ?[={]", text, re.M))


def batches(todo, flags):
    """Returns [(folder, sources)]: sources of one folder with the same flags, without common names, at
    most UNIT_MOST."""
    bins = {}
    for source in todo:
        names = names_in(source)
        row = bins.setdefault((source.parent, flags[source]), [])
        fit = next((one for one in row if len(one[0]) < UNIT_MOST and not one[1] & names), None)
        if fit is None:
            fit = ([], set())
            row.append(fit)
        fit[0].append(source)
        fit[1].update(names)
    made = [(folder, sources) for (folder, _), row in bins.items() for sources, _ in row]
    return sorted(made, key=lambda batch: -len(batch[1]))


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
    flags = flags_of(build)
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool, tempfile.TemporaryDirectory() as scratch:
        futures = {pool.submit(lint_together, build, pathlib.Path(scratch), f"unit_{at}.cc", folder, group, flags[group[0]], checks): group
                   for at, (folder, group) in enumerate(batches(todo, flags))}
        for future in concurrent.futures.as_completed(futures):
            passed, said = future.result()
            for source in passed:
                (clean / todo[source]).touch()
            bad += len(futures[future]) - len(passed)
            for output in said:
                print(output, flush=True)
    print(f"lint: {len(sources)} files, {len(sources) - len(todo)} unchanged, {bad} with findings")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
