"""What editors read: details of a reproduced case, findings as lines, and the text that the published extension 0.1.0 parses."""
import json
import re

import pytest

from conftest import ROOT

FAULTS = ["scale_missing_tail_mask", "reduce_missing_sync", "rowmax_wrong_identity"]
# The extension 0.1.0 reads printed text with these expressions of its own.
FAILURE, KIND, DTYPE = re.compile(r"^(\d+)\s+(\S+)\s+(.+)$"), re.compile(r"\[(\w+)\]"), re.compile(r"dtype:\s*(\S+)")
SHAPE, MAX_DIFF, SEED = re.compile(r"shape:\s*\[([^\]]+)\]"), re.compile(r"max_diff:\s*([\d.eE+-]+)"), re.compile(r"seed:\s*(\d+)")
TASK = re.compile(r"^\[FAIL\]\s+(\S+)\s+\(seed:\s*(\d+)\):\s+(.+)$")


def examples():
    folder = ROOT / "examples"
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*")
            if path.is_file() and not path.is_relative_to(folder / "triton")}


@pytest.fixture(scope="module")
def tested(new_home):
    home = new_home(examples())
    done = home.run("test", "--quick", "softmax", *FAULTS)
    assert done.returncode == 1, done.stderr
    return home, done


def stored(home, op, kind):
    results = json.loads(home.run("failures", "--op", op, "--limit", 100, "--format", "json").stdout)["results"]
    return next(one for one in results if one["failures"][0]["kind"] == kind)


def reproduce(home, failure, *more):
    done = home.run("reproduce", failure["seed_text"], "--op", failure["op_name"], "--format", "json", *more)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_details_have_the_errors_with_their_bound_and_the_code(tested):
    home, _ = tested
    failure = stored(home, FAULTS[2], "ToleranceExceeded")
    assert {"error_map", "ptx", "launches"}.isdisjoint(reproduce(home, failure))
    details = reproduce(home, failure, "--details")
    error_map, (launch,) = details["error_map"], details["launches"]
    rows, columns = error_map["shape"]
    assert len(error_map["cells"]) == error_map["rows"] * error_map["columns"]
    assert sum(error_map["distribution"].values()) == rows * columns
    assert 0 < error_map["bound"] < max(cell for cell in error_map["cells"] if cell is not None)
    assert error_map["seed_text"] == failure["seed_text"] and error_map["op_name"] == FAULTS[2]
    assert launch["entry"] == FAULTS[2] and launch["grid"] == [rows, 1, 1] and launch["block"][0] % 32 == 0
    assert ".loc" in details["ptx"] and f".entry {FAULTS[2]}" in details["ptx"]


def test_details_of_outputs_that_mean_nothing_have_the_code_alone(tested):
    home, _ = tested
    details = reproduce(home, stored(home, FAULTS[0], "OutOfBounds"), "--details")
    assert details["ptx"] and details["launches"]


def test_details_are_for_json(tested):
    home, _ = tested
    done = home.run("reproduce", 1, "--details")
    assert done.returncode == 2 and "add --format json" in done.stderr


def test_fuzz_takes_several_ops_in_one_process(tested):
    home, _ = tested
    done = home.run("fuzz", "softmax", "vector_add", "--iterations", 6, "--format", "json", "--stream")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0, done.stderr
    assert [line["op_name"] for line in lines if line["type"] == "OpFinished"] == ["softmax", "vector_add"]
    assert [report["total"] for report in lines[-1]["report"]] == [6, 6]
    unknown = home.run("fuzz", "--op", "softmax", "--op", "sofmax")
    assert unknown.returncode == 2 and "softmax" in unknown.stderr


def test_the_published_extension_reads_status_and_runs(tested):
    home, done = tested
    status = home.run("status").stdout
    assert "running" in status and re.search(r"v([\d.]+)", status)[1].count(".") == 2
    for op in ["softmax", *FAULTS]:
        lines = [line for line in done.stdout.splitlines() if op in line and ("FAIL" in line or "failed" in line)]
        assert bool(lines) == (op in FAULTS), lines
    matched = [TASK.match(line) for line in done.stdout.splitlines() if line.startswith("[FAIL]")]
    assert [match[1] for match in matched] == FAULTS
    assert "[FAIL]" in done.stderr  # The message of an item that is errored by its exit code.


def test_the_published_extension_reads_failures(tested):
    home, _ = tested
    lines = home.run("failures", "--limit", 100).stdout.splitlines()
    for line, result in zip(lines, json.loads(home.run("failures", "--limit", 100, "--format", "json").stdout)["results"], strict=True):
        seed, op, rest = FAILURE.match(line).groups()
        assert (seed, op) == (result["seed_text"], result["op_name"])
        assert KIND.search(rest)[1] == result["failures"][0]["kind"]
        assert DTYPE.search(rest)[1] == "float32"
        assert [int(size) for size in SHAPE.search(rest)[1].split(",")] == result["repro_info"]["shape"]
        shown = float(MAX_DIFF.search(rest)[1])
        assert shown == pytest.approx(result["max_diff"], rel=1e-3) or result["max_diff"] > 1e308
        assert SEED.search(rest)[1] == seed
        # Its numbers have 53 bits: what it asks for is the seed that rounds to the same number.
        if not result.get("passes_now"):
            again = home.run("reproduce", int(float(seed)), "--verbose")
            assert again.returncode == 0 and seed in again.stdout + again.stderr


def test_a_stopped_daemon_is_not_running_for_the_published_extension(new_home):
    assert "running" not in new_home(examples()).run("status").stdout


@pytest.mark.slow
def test_the_problem_matcher_reads_findings_as_lines(tested):
    home, _ = tested
    package = json.loads((ROOT / "vscode-extension/package.json").read_text(encoding="utf-8"))
    matcher = next(one for one in package["contributes"]["problemMatchers"] if one["name"] == "gpuemu")["pattern"]
    for command in (["test", "--quick", *FAULTS], ["ci", "--quick"], ["fuzz", FAULTS[0], "-i", 6]):
        # A task of the editor has a terminal, which is narrow; colours are taken away before lines are matched.
        text = re.sub(r"\x1b\[[\d;]*m", "", home.on_terminal(*command, "--format", "short").stdout)
        found = [re.match(matcher["regexp"], line) for line in text.splitlines()]
        places = {(match[matcher["code"]], match[matcher["file"]], int(match[matcher["line"]])) for match in found if match}
        kernels = home.project / "kernels"
        assert ("OutOfBounds", str(kernels / f"{FAULTS[0]}.cu"), 7) in places, text
        assert command[0] == "fuzz" or ("DataRace", str(kernels / f"{FAULTS[1]}.cu"), 13) in places, text
