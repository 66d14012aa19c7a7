"""The command blocks of a Markdown page, and how a shown transcript is compared with a real one.

A comment in front of a fenced block says what a test needs to know and a reader need not:

    <!-- file: NAME -->    the block is the text of this file
    <!-- folder: NAME -->  a new empty folder; what follows happens there
    <!-- exit: 0 1 -->     exit status of each command, instead of 0
    <!-- skip: WHY -->     the block is not run

Blocks of `sh` are run as they stand. In blocks of `console` lines with `$ ` are commands and the rest is
output: every line shown must appear, in this order; `...` stands for anything, also for lines left out. In
blocks of `wire` lines with `> ` are requests and lines with `< ` replies, shortened.
"""
import dataclasses
import json
import re

DIRECTIVE = re.compile(r"<!-- (file|folder|exit|skip): (.*?) -->\s*$")
FENCE = re.compile(r"^```(\w*)\s*$")

# What differs between two runs, machines or mixtures of inputs: counts of failing cases, trials, rates, times, process numbers, workers, vector units.
VARIES = [
    (re.compile(r"\(\d+ cases/s\)"), "(N cases/s)"),
    (re.compile(r"\b\d+ cases/s"), "N cases/s"),
    (re.compile(r"\bin \d+\.\d\d s"), "in N s"),
    (re.compile(r"\b\d+ of (\d+ \w+ cases?)"), r"N of \1"),
    (re.compile(r"minimized in \d+ trials?"), "minimized in N trials"),
    (re.compile(r"^case \d+ of"), "case N of"),
    (re.compile(r"largest error \S+ of"), "largest error N of"),
    (re.compile(r"uptime \d+s"), "uptime Ns"),
    (re.compile(r"process:  \d+, \d+ workers"), "process:  N, N workers"),
    (re.compile(r"gpuemu emulator \([^)]*\)"), "gpuemu emulator (N)"),
    (re.compile(r"sm_80, \d+ MiB"), "sm_80, N MiB"),
]


@dataclasses.dataclass
class Block:
    page: str
    line: int
    language: str
    text: str
    directives: dict

    @property
    def where(self):
        return f"{self.page}:{self.line}"

    def exits(self, count):
        given = [int(word) for word in self.directives.get("exit", "").split()]
        assert not given or len(given) in (1, count), f"{self.where}: {len(given)} exits for {count} commands"
        return given * count if len(given) == 1 else given or [0] * count

    def commands(self):
        """[(command, lines shown)] of a console block."""
        found = []
        for line in self.text.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            elif line.startswith("> ") and found and not found[-1][1]:
                found[-1] = (found[-1][0] + "\n" + line[2:], [])
            else:
                assert found, f"{self.where}: output without a command: {line}"
                found[-1][1].append(line)
        return found


def blocks_of(path):
    """Every fenced block of a page, in order."""
    found, directives, body, start = [], {}, None, 0
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if body is not None:
            if line.rstrip() == "```":
                found.append(Block(path.name, start, language, "\n".join(body) + "\n", directives))
                body, directives = None, {}
            else:
                body.append(line)
        elif match := DIRECTIVE.match(line):
            directives[match[1]] = match[2]
        elif match := FENCE.match(line):
            language, body, start = match[1], [], number
        elif line.strip():
            assert not directives, f"{path.name}:{number}: a directive that no block follows"
    assert body is None, f"{path.name}:{start}: this block never ends"
    return found


def normal(text):
    for pattern, stand_in in VARIES:
        text = pattern.sub(stand_in, text)
    return text.rstrip()


def pattern_of(shown):
    return re.compile(".*".join(re.escape(part) for part in normal(shown).split("...")))


def missing_line(shown, output):
    """The first line of `shown` that `output` does not have after those before it; None when all are there."""
    rest = iter([normal(line) for line in output.splitlines()])
    for line in shown:
        if line.strip() in ("", "..."):
            continue
        pattern = pattern_of(line)
        if not any(pattern.fullmatch(candidate) for candidate in rest):
            return line
    return None


# Members that differ from run to run: only their kind of value is compared.
MEMBERS_THAT_VARY = {"timestamp", "duration_ms", "uptime_secs", "uptime_seconds", "pid", "workers", "rate", "name",
                     "memory_bytes", "multiprocessors", "requests_served", "cases_per_second"}


def exchanges(text):
    """[(request, reply shown)] of a wire block."""
    lines = text.splitlines()
    assert all(line.startswith("><"[i % 2] + " ") for i, line in enumerate(lines)) and len(lines) % 2 == 0
    return [(json.loads(sent[2:]), json.loads(back[2:])) for sent, back in zip(lines[::2], lines[1::2])]


def unlike(shown, actual, at=""):
    """Where a reply is not as shown, or "". "..." is anything, last in a list also any number of things."""
    if shown == "...":
        return ""
    if isinstance(shown, dict):
        if not isinstance(actual, dict):
            return at or "the reply"
        for key, value in shown.items():
            if key not in actual:
                return f"{at}.{key} is missing"
            if key in MEMBERS_THAT_VARY and not isinstance(value, (dict, list)):
                if type(value) is not type(actual[key]):
                    return f"{at}.{key} is {actual[key]!r}"
            elif found := unlike(value, actual[key], f"{at}.{key}"):
                return found
        return ""
    if isinstance(shown, list) and isinstance(actual, list):
        open_end = shown[-1:] == ["..."]
        wanted = shown[:-1] if open_end else shown
        if len(actual) < len(wanted) or (len(actual) > len(wanted) and not open_end):
            return f"{at} has {len(actual)} items"
        return next((found for i, value in enumerate(wanted) if (found := unlike(value, actual[i], f"{at}[{i}]"))), "")
    return "" if shown == actual else f"{at} is {actual!r}"
