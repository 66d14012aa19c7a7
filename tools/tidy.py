#!/usr/bin/env python3
"""Checks the structure where no other tool does: layering, third parties, lengths, banned calls and
words.

usage: tools/tidy.py [--map]
Run from anywhere; prints one line per offence and exits with 1 if there is one. --map prints every
folder with the first sentence of its CMakeLists.txt, lowest level first.
"""
import pathlib
import re
import subprocess
import sys

import unity_names

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ("common", "runtime", "kernels", "ops", "judge", "daemon", "bindings", "cli")
LINES_MAX = 500
# Such a comment cannot be understood without the line above.
OPENS_WITH_OF = re.compile(r"(?:^|\s)//[/!]?<? ?Of\b")
# The whole head of a statement whose body stands on the next line. clang-tidy finds the same, but CI runs it on few files.
HEAD_WITHOUT_BRACE = re.compile(r"\s*(?:\} )?(?:else )?(?:if|for|while) (?:constexpr )?\(.*\)$")
COLUMNS_MAX = 100  # Applies to string literals, too, which clang-format does not break.
# A third-party header and the folders that may include it.
THIRD_PARTY = {
    r"<nng/": {"common/transport", "bench"},
    r"<rocksdb/": {"bench", "daemon/database", "daemon/storage"},
    r"<flatbuffers/": {"daemon/records"},
    r"<nlohmann/": {"common/codec", "cli/report", "daemon/reference", "daemon/tapes", "ops/capi", "ops/dispatch", "runtime/device", "runtime/run_record", "runtime/tape", "common/pipes",
                    "ops/profile", "cli/archive", "cli/export", "cli/trace"},
    r"<toml\+\+/": {"common/toml"},
    r"<CLI/": {"cli/parse", "daemon", "tests/fidelity"},
    r"<blake2.h>": {"common/base"},
    r"<zlib.h>": {"kernels", "cli/archive"},
}
BANNED = {
    r"\bstd::rand\b|\bsrand\(": "use common/rng: everything random takes a seed",
    r"(?<![:\w])assert\(": "use GPUEMU_CHECK, which checks in release builds too",
    r"\bstd::regex\b": "use RE2",
    r"\busing namespace\b": "name what you use",
    r"\bFIXME\b|\bTODO\b(?!\(#\d+\))": "finish it or name its issue: TODO(#12)",
}
BANNED_IN_PRODUCT = {
    r'\bbackend\w* *[!=]= *"(cuda|emulator|null)"': "ask for the trait that makes the difference: runtime/device/device_traits.h",
}
# Spellings of PTX instructions that are words of other lists, too: operations of atomics and of
# predicates, which are modifiers; kinds of findings; classes of instructions and of accesses; policies.
OTHER_WORDS = {"add", "and", "barrier", "call", "match", "max", "mbarrier", "min", "or", "trap", "xor"}

# Words that messages must not use, and their replacements. A message is a literal of four words or more.
BANNED_IN_MESSAGES = {
    r"\b(is|are) no (?!longer\b|more\b)[a-z]": "is not a, does not exist",
    r"\b(to be|are|was|be) had\b": "available, found",
    r"\bmend\b": "fix",
    r"\bno(body| one) (waits|is|else|reads)\b": "name who, or say unused",
    r"\bspoilt\b": "invalidated",
    r"\bparted\b": "separated",
    r"\bwithout a word\b": "without output",
    r"\bfor want of\b": "because ... is missing",
    r"\bstands? alone\b": "only ... is wrong, disagrees",
    r"\bthe nearest are\b": "did you mean",
    r"\bof its bound\b": "of the error bound",
    r"\bin place of\b": "instead of",
    r"\b(does|do|did) not come to (its|their) end\b": "did not finish",
    r"\blook(s|ed)? into\b": "examine",
    r"\bgo(es)? on\b": "continue",
    r"\bas (many|much|long) as\b": "state the number",
    r"\bnothing (is expected of|tells|to say)\b": "say what is missing",
    r"\bwanted\b": "expected",
    r"\bsuch as float32\b": "list the dtypes",
    r"\{\} (ok|bad), \{\}": "passed, failed, skipped",
    r"\bat the most\b|\bat most are possible\b": "the limit is",
}
MESSAGE_WORDS = 4


def libraries():
    """Returns folder -> (library, allowed folders in code, allowed folders in tests)."""
    named, found = {}, {}
    for cmake in sorted(path for top in FOLDERS for path in (ROOT / top).rglob("CMakeLists.txt")):
        folder = str(cmake.parent.relative_to(ROOT))
        for name, body in re.findall(r"gpuemu_library\((\w+)([^)]*)\)", cmake.read_text()):
            words, section, sets = body.split(), "", {}
            for word in words:
                if word.isupper() and not word.startswith("gpuemu::"):
                    section = word
                elif word.startswith("gpuemu::"):
                    sets.setdefault(section, set()).add(word.removeprefix("gpuemu::"))
            named[name] = folder
            found[folder] = (name, sets.get("DEPS", set()), sets.get("TEST_DEPS", set()))
    return named, found


def closure(named, found, folder, seen=None):
    """Returns every folder that `folder` reaches through DEPS."""
    seen = set() if seen is None else seen
    for name in found[folder][1]:
        below = named.get(name)
        if below and below not in seen:
            seen.add(below)
            if below in found:
                closure(named, found, below, seen)
    return seen


def check_layers(named, found, report):
    for folder, (name, deps, test_deps) in found.items():
        if folder in closure(named, found, folder):
            report(f"{folder}: depends on itself in a circle")
        for path in sorted((ROOT / folder).glob("*.[hc]*")):
            if path.suffix not in (".h", ".cc", ".inc", ".def"):
                continue
            is_test = path.stem.endswith(("_test", "_fixture"))
            allowed = {named.get(dep) for dep in deps | (test_deps if is_test else set())} | {folder}
            if is_test:
                for dep in list(allowed):
                    if dep in found:
                        allowed |= closure(named, found, dep)
            for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
                match = re.match(r'\s*#include "((?:%s)(?:/\w+)*)/' % "|".join(FOLDERS), line)
                if match and match[1] in found and match[1] not in allowed:
                    report(f"{path.relative_to(ROOT)}:{number}: {folder} may not include {match[1]} "
                           f"(not in DEPS of {name})")


def check_houses(named, found, report):
    """Checks that top-level folders include each other in one direction only."""
    above = {}
    for folder, (name, deps, _) in found.items():
        house = folder.split("/")[0]
        for dep in deps:
            below = named.get(dep, house).split("/")[0]
            if below != house:
                above.setdefault((house, below), f"{folder} -> {dep}")
    for (house, below), example in above.items():
        if (below, house) in above:
            report(f"{house} and {below} include each other: {example}")


def sentence_of(folder):
    """Returns the first comment of a folder's CMakeLists.txt, or ""."""
    first = (ROOT / folder / "CMakeLists.txt").read_text().splitlines()[0]
    return first.removeprefix("# ") if first.startswith("# ") else ""


def print_map(named, found):
    level = {folder: len(closure(named, found, folder)) for folder in found}
    for folder in sorted(found, key=lambda one: (level[one], one)):
        print(f"{folder:28} {sentence_of(folder)}")


def is_text(path, line):
    return path.suffix == ".cu" or line.lstrip().startswith('"')


def check_sources(report):
    for top in FOLDERS + ("bench", "tests"):
        for path in sorted((ROOT / top).rglob("*")):
            if path.suffix not in (".h", ".cc", ".cu") or not path.is_file():
                continue
            where, folder = path.relative_to(ROOT), str(path.parent.relative_to(ROOT))
            lines = path.read_text(errors="replace").splitlines()
            if len(lines) > LINES_MAX and not path.stem.endswith("tables"):
                report(f"{where}: {len(lines)} lines, the wall is {LINES_MAX}: split it by noun")
            is_product = top in FOLDERS and path.suffix != ".cu" and not path.stem.endswith("_test")
            if path.suffix == ".h" and lines and not lines[0].startswith("//"):
                report(f"{where}:1: the first line of a header says what the file is")
            if path.suffix == ".h" and "#pragma once" not in lines:
                report(f"{where}: no #pragma once")
            for number, line in enumerate(lines, 1):
                goes_on = line.lstrip().startswith("//") and lines[number - 2].lstrip().startswith("//")
                if top in FOLDERS and not goes_on and OPENS_WITH_OF.search(line):
                    report(f"{where}:{number}: a comment begins with 'Of': begin with what it is about")
                before = lines[number - 2] if number > 1 else ""
                if is_product and HEAD_WITHOUT_BRACE.match(before) and not line.lstrip().startswith("{"):
                    report(f"{where}:{number}: a body on its own line needs braces")
                if len(line) > COLUMNS_MAX and top in FOLDERS:
                    report(f"{where}:{number}: {len(line)} columns, the limit is {COLUMNS_MAX}: break the line")
                for pattern, folders in THIRD_PARTY.items():
                    if re.search(r"#include " + pattern, line) and folder not in folders \
                            and not path.stem.endswith("_test"):
                        report(f"{where}:{number}: {pattern} is included only by {sorted(folders)}")
                # CUDA sources are written as by a user, and a line of a literal is text.
                banned = BANNED if top in ("bench", "tests") or path.stem.endswith("_test") else BANNED | BANNED_IN_PRODUCT
                for pattern, instead in banned.items() if not is_text(path, line) else ():
                    if re.search(pattern, line):
                        report(f"{where}:{number}: {instead}")


def check_extension(report):
    """Checks TypeScript: lengths, and no use of the editor in code that tests run without it."""
    top = ROOT / "vscode-extension"
    for path in sorted(path for folder in ("src", "test") for path in (top / folder).rglob("*.ts")):
        where, lines = path.relative_to(ROOT), path.read_text().splitlines()
        if len(lines) > LINES_MAX:
            report(f"{where}: {len(lines)} lines, the wall is {LINES_MAX}: split it by noun")
        for number, line in enumerate(lines, 1):
            if path.parent.name == "core" and "from 'vscode'" in line:
                report(f"{where}:{number}: core is tested without an editor: take what needs one out of it")
            if re.search(r"\bexecSync\b|\bshell: true\b|: any\b|\bas any\b", line):
                report(f"{where}:{number}: no shell, nothing that blocks the editor, no any")


def check_instructions(found, report):
    """Checks that runtime/ptx/isa/instructions.def is the only list of PTX instructions: other code
    compares opcodes or queries a trait."""
    home = "runtime/ptx/isa"
    table = (ROOT / home / "instructions.def").read_text()
    spellings = set(re.findall(r'^INSTRUCTION\(\w+, "(\w+)"', table, re.M)) - OTHER_WORDS
    if not spellings:
        report(f"{home}/instructions.def: no instruction found; tools/tidy.py expects rows INSTRUCTION(Ld, \"ld\", ...)")
    for folder, (_, deps, _) in found.items():
        if folder == home or not deps & {"runtime_ptx", "runtime_ptx_isa"}:
            continue
        for path in sorted((ROOT / folder).glob("*.*")):
            if path.suffix not in (".h", ".cc", ".inc") or path.stem.endswith(("_test", "_fixture")):
                continue
            for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
                # has("mma") queries a modifier; "mov" + types is the key of a row of the handlers.
                words = re.findall(r'(?<!\bhas\()"(\w+)"(?! \+)', line.split("//")[0])
                for word in spellings.intersection(words):
                    report(f'{path.relative_to(ROOT)}:{number}: "{word}" is an instruction: compare Opcode::'
                           f"{word.capitalize()}, or give {home}/instructions.def a trait")


def messages_of(lines):
    """Yields (line number, text) of the messages in C++ lines; adjacent literals are joined."""
    joined, first = "", 0
    for number, line in enumerate([*lines, ""], 1):
        literals = [] if line.lstrip().startswith(("//", "#")) else re.findall(r'"((?:[^"\\]|\\.)*)"', line)
        if literals:
            first = first if joined else number
            joined += " " + "".join(literals)
        if not (literals and line.rstrip().endswith('"')):
            if len(joined.split()) >= MESSAGE_WORDS:
                yield first, joined
            joined = ""


def check_messages(report):
    for top in FOLDERS:
        for path in sorted((ROOT / top).rglob("*")):
            if path.suffix not in (".h", ".cc", ".inc") or path.stem.endswith(("_test", "_fixture")):
                continue
            for number, text in messages_of(path.read_text(errors="replace").splitlines()):
                for pattern, instead in BANNED_IN_MESSAGES.items():
                    match = re.search(pattern, text)
                    if match:
                        report(f"{path.relative_to(ROOT)}:{number}: a message says '{match[0]}': say {instead}")


def check_test_names(report):
    """Checks that names are unique, because pytest takes files of one name for one module."""
    seen = {}
    for folder in ("python/tests", "tests"):
        for path in sorted((ROOT / folder).rglob("test_*.py")):
            other = seen.setdefault(path.name, path)
            if other != path:
                report(f"{path.relative_to(ROOT)}: {other.relative_to(ROOT)} has the same name; rename one of them")


def check_protocol(report):
    """Checks that the files generated from the tables of the protocol are current."""
    made = subprocess.run([sys.executable, ROOT / "tools/make_protocol.py", "--check"], capture_output=True, text=True)
    for line in (made.stdout + made.stderr).splitlines():
        report(line)


def main():
    offences = []
    named, found = libraries()
    if not found:
        offences.append("no gpuemu_library() found: is this the project?")
    if sys.argv[1:] == ["--map"]:
        print_map(named, found)
        return 0
    check_layers(named, found, offences.append)
    check_houses(named, found, offences.append)
    offences += [f"{folder}/CMakeLists.txt: begin with a sentence that says what the folder holds"
                 for folder in found if not sentence_of(folder)]
    check_sources(offences.append)
    check_extension(offences.append)
    check_messages(offences.append)
    check_test_names(offences.append)
    check_instructions(found, offences.append)
    check_protocol(offences.append)
    unity_names.check(ROOT, found, offences.append)
    print("\n".join(offences) if offences else f"tidy: {len(found)} folders, nothing to say")
    return 1 if offences else 0


if __name__ == "__main__":
    sys.exit(main())
