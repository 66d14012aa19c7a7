#!/usr/bin/env python3
"""Reads the JUnit files of ctest and pytest for the scripts.

    python3 tools/junit.py count FILE                 passed and failed, as two numbers
    python3 tools/junit.py failures|skipped FILE...   failing tests with messages; tests that could not run, and why
    python3 tools/junit.py slowest FILE...            the ten slowest tests, and the time of all of them
"""
import collections
import sys
import xml.etree.ElementTree as tree

SHOWN = 10


def cases_of(path):
    try:
        return list(tree.parse(path).getroot().iter("testcase"))
    except (OSError, tree.ParseError) as error:
        print(f"{path} cannot be read: {error}", file=sys.stderr)
        return []


def name_of(case):
    return f"{case.get('classname', '')}::{case.get('name')}"


def is_skipped(case):
    # ctest reports "notrun" and "disabled" in an attribute.
    return case.find("skipped") is not None or case.get("status") in ("notrun", "disabled")


def faults_of(case):
    return [element for element in case if element.tag in ("failure", "error")]


def count(path):
    """A file that has no tests or cannot be read counts as one failure."""
    cases = cases_of(path)
    bad = sum(bool(faults_of(case)) for case in cases)
    skipped = sum(is_skipped(case) and not faults_of(case) for case in cases)
    return (len(cases) - bad - skipped, bad) if cases else (0, 1)


def failures(paths):
    for case in (case for path in paths for case in cases_of(path) if faults_of(case)):
        said = "\n".join((element.text or element.get("message") or "") for element in case
                         if element.tag in ("failure", "error", "system-out"))
        lines = [line for line in said.splitlines() if line.strip() and not line.startswith("[ ")]
        yield f"FAILED: {name_of(case)}"
        yield from ("  " + line for line in (lines if len(lines) <= 40 else lines[:10] + ["..."] + lines[-30:]))


def skipped(paths):
    """Those of scripts/nightly.sh are skipped on purpose."""
    reasons = collections.defaultdict(list)
    for case in (case for path in paths for case in cases_of(path)):
        for element in case.findall("skipped"):
            reason = element.get("message") or "no reason given"
            if not reason.startswith("slow:"):
                reasons[reason].append(name_of(case))
    for reason, names in reasons.items():
        yield f"skipped {len(names)}: {reason}: {', '.join(names[:3])}{', ...' if len(names) > 3 else ''}"


def slowest(paths):
    times = [(float(case.get("time") or 0), name_of(case)) for path in paths for case in cases_of(path)]
    times.sort(key=lambda one: -one[0])
    yield f"the slowest of {len(times)} tests, which took {sum(time for time, _ in times):.0f} s one after the other:"
    yield from (f"{time:8.1f} s  {name}" for time, name in times[:SHOWN])


def main():
    commands = {"failures": failures, "skipped": skipped, "slowest": slowest}
    if len(sys.argv) < 3 or sys.argv[1] not in ("count", *commands):
        print(__doc__, file=sys.stderr)
        return 2
    if sys.argv[1] == "count":
        print(*count(sys.argv[2]))
    else:
        for line in commands[sys.argv[1]](sys.argv[2:]):
            print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
