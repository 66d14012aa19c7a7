#!/usr/bin/env python3
"""Runs the C++ tests of a build folder and writes one JUnit file.

    python3 tools/cpp_tests.py BUILD --junit FILE [--label LABEL]... [--without LABEL]... [--jobs N]

ctest starts a program once for each of its tests, which takes longer than most tests. This starts each
GoogleTest program only once and leaves the other tests to ctest. --label and --without select tests by
their labels. Exits with 1 when a test failed.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as tree

LIMIT_S = 600  # Limit for one program; ctest's own limit for each test does not apply here.
SHOWN = 40  # Lines shown of the output of a program that ended without a result.
# gtest_discover_tests passes this option to each test that it creates from a program.
DISCOVERED = "--gtest_also_run_disabled_tests"


def tests_of(build, labels, without):
    said = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], capture_output=True, text=True, check=True).stdout
    for test in json.loads(said)["tests"]:
        properties = {one["name"]: one["value"] for one in test.get("properties", [])}
        has = set(properties.get("LABELS", []))
        if (not labels or has & set(labels)) and not has & set(without):
            yield test, properties


def without_result(program, why, said):
    """Returns a suite with one failure, for a program that wrote no result."""
    running = re.findall(r"^\[ RUN      \] (\S+)", said, re.M)
    suite = tree.Element("testsuite", name=program)
    case = tree.SubElement(suite, "testcase", classname=program, name=running[-1] if running else "start")
    failure = tree.SubElement(case, "failure", message=why)
    failure.text = "\n".join([why, *said.splitlines()[-SHOWN:]])
    return [suite]


def unexplained(program, status, said, suites):
    """Returns a failure of the program if its status says that something failed and no test does."""
    if status == 0 or any(case.find("failure") is not None for suite in suites for case in suite):
        return []
    return without_result(program, f"{program} ended with {status} although no test failed", said)


def run_program(program, folder, environment):
    name = pathlib.Path(program).name
    with tempfile.TemporaryDirectory() as scratch:
        file = pathlib.Path(scratch, "result.xml")
        try:
            ended = subprocess.run([program, f"--gtest_output=xml:{file}"], cwd=folder, env={**os.environ, **dict(environment)},
                                   capture_output=True, text=True, errors="replace", timeout=LIMIT_S)
        except subprocess.TimeoutExpired as late:
            return without_result(name, f"{name} took more than {LIMIT_S} s", (late.stdout or b"").decode(errors="replace"))
        except OSError as error:
            return without_result(name, f"{name} cannot be started: {error}", "")
        said = ended.stdout + ended.stderr
        try:
            suites = list(tree.parse(file).getroot().iter("testsuite"))
        except (OSError, tree.ParseError):
            return without_result(name, f"{name} ended with {ended.returncode} and wrote no result", said)
        return suites + unexplained(name, ended.returncode, said, suites)


def run_by_ctest(build, names):
    with tempfile.TemporaryDirectory() as scratch:
        file = pathlib.Path(scratch, "result.xml")
        chosen = "^(" + "|".join(re.escape(name) for name in names) + ")$"
        ended = subprocess.run(["ctest", "--test-dir", build, "--no-tests=error", "-R", chosen, "--output-junit", str(file)],
                               capture_output=True, text=True, errors="replace")
        said = ended.stdout + ended.stderr
        try:
            suites = [tree.parse(file).getroot()]
        except (OSError, tree.ParseError):
            return without_result("ctest", f"ctest ended with {ended.returncode} and wrote no result", said)
        # A program that was not built is "not run" in the result, not failed.
        return suites + unexplained("ctest", ended.returncode, said, suites)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--junit", required=True)
    parser.add_argument("--label", action="append", default=[])
    parser.add_argument("--without", action="append", default=[])
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()

    programs, others = collections.Counter(), []
    for test, properties in tests_of(options.build, options.label, options.without):
        if DISCOVERED in test.get("command", []):
            environment = tuple(tuple(one.split("=", 1)) for one in properties.get("ENVIRONMENT", []))
            programs[(test["command"][0], properties.get("WORKING_DIRECTORY"), environment)] += 1
        else:
            others.append(test["name"])
    if not programs and not others:
        sys.exit(f"cpp_tests: no test of {options.build} has these labels; build the target 'tests' first")

    root = tree.Element("testsuites")
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        running = [pool.submit(run_by_ctest, options.build, others)] if others else []
        running += [pool.submit(run_program, *program) for program, _ in programs.most_common()]
        for one in running:
            root.extend(one.result())
    tree.ElementTree(root).write(options.junit)
    cases = list(root.iter("testcase"))
    missed = sum(programs.values()) + len(others) - len(cases)
    if missed > 0:
        print(f"cpp_tests: {missed} of {len(cases) + missed} tests did not run")
    failed = sum(case.find("failure") is not None or case.find("error") is not None for case in cases)
    return 1 if failed or missed > 0 else 0


if __name__ == "__main__":
    sys.exit(main())
