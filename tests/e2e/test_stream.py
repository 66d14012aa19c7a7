"""`--format json --stream`: a line for each thing that happens, then the report."""
import json
import signal
import subprocess
import time

import pytest

from conftest import BIN
from test_ci import project

SLOW = """import time


def reference(x):
    time.sleep(0.3)
    return x * 2
"""
FAILURE = {"type", "passed", "seed", "op_name", "max_diff", "max_rel_diff", "failures", "timestamp", "duration_ms", "repro_info", "error_stats"}


def stream(home, *words, code):
    done = home.run(*words, "--format", "json", "--stream")
    assert done.returncode == code, done.stdout + done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert lines[0]["type"] == "RunStarted" and lines[-1]["type"] == "RunFinished"
    assert [line["type"] for line in lines].count("RunFinished") == 1
    assert lines[-1]["exit_code"] == code
    return lines


def of(lines, kind):
    return [line for line in lines if line["type"] == kind]


@pytest.fixture(scope="module")
def bad(new_home):
    return new_home(project(wrong=True, cases=4))


@pytest.fixture(scope="module")
def good(new_home):
    return new_home(project(cases=4))


def plain(home, *words, code):
    done = home.run(*words, "--format", "json")
    assert done.returncode == code, done.stdout + done.stderr
    return json.loads(done.stdout)


def test_a_run_that_fails_tells_each_case_once(bad):
    lines = stream(bad, "test", "--cases", "20", "--seed", "3", code=1)
    assert lines[0]["command"] == "test" and lines[0]["cases"] == 20
    names = lines[0]["ops"]
    assert names and lines[0]["dtypes"] == ["float32"]
    failed = of(lines, "CaseFailed")
    report = lines[-1]["report"]
    assert len(failed) == report["failed"] > 0
    assert FAILURE <= set(failed[0]) and failed[0]["failures"][0]["kind"] and not failed[0]["passed"]
    assert failed[0]["repro_info"]["input_snapshot"] is None
    told = {(case["op_name"], case["seed"]) for case in failed}
    assert len(told) == len(failed)
    for op in report["ops"]:
        for left in op["failures"]:  # What has been looked into since stands in the report as well.
            assert (left["op_name"], left["seed"]) in told
            assert any("diagnosis" in finding for finding in left["failures"])
    whole = plain(bad, "test", "--cases", "20", "--seed", "3", code=1)
    assert (whole["failed"], whole["total"], whole["seed"]) == (report["failed"], report["total"], report["seed"])
    assert {case["seed"] for op in whole["ops"] for case in op["failures"]} <= {seed for _, seed in told}


def test_ops_begin_and_end_once_and_in_order(bad):
    lines = stream(bad, "test", "--cases", "6", "--seed", "1", code=1)
    for name in lines[0]["ops"]:
        mine = [line["type"] for line in lines if line.get("op_name") == name]
        assert mine[0] == "OpStarted" and mine.count("OpStarted") == mine.count("OpFinished") == 1
        assert mine[-1] == "OpFinished"
        [end] = [line for line in of(lines, "OpFinished") if line["op_name"] == name]
        assert end["cases"] == 6 and end["passed"] + end["failed"] == 6 and end["dtype"] == "float32"
        assert "failures" not in end and end["failed"] == len([c for c in of(lines, "CaseFailed") if c["op_name"] == name])


def test_a_reader_of_the_last_line_alone_has_the_report(good):
    last = stream(good, "test", "--cases", "4", "--seed", "5", code=0)[-1]["report"]
    whole = plain(good, "test", "--cases", "4", "--seed", "5", code=0)
    assert set(last) == set(whole) and last["type"] == "TestReport" and last["passed"] == whole["passed"]
    assert [set(op) for op in last["ops"]] == [set(op) for op in whole["ops"]]


def test_fuzz_tells_each_op(bad):
    lines = stream(bad, "fuzz", "-i", "6", "--seed", "3", code=1)
    assert lines[0]["command"] == "fuzz" and lines[0]["cases"] == 6
    assert [line["op_name"] for line in of(lines, "OpStarted")] == lines[0]["ops"]
    assert [line["op_name"] for line in of(lines, "OpFinished")] == lines[0]["ops"]
    assert isinstance(lines[-1]["report"], list) and len(lines[-1]["report"]) == len(lines[0]["ops"])
    assert of(lines, "CaseFailed") and sum(one["failed"] for one in lines[-1]["report"]) >= len(of(lines, "CaseFailed"))
    one = stream(bad, "fuzz", lines[0]["ops"][1], "-i", "3", code=1)
    assert one[-1]["report"]["type"] == "FuzzResults" and one[0]["ops"] == [lines[0]["ops"][1]]


def test_ci_ends_with_its_summary(bad, good):
    lines = stream(bad, "ci", "--quick", "--report", "json=ci.json", code=1)
    written = json.loads((bad.project / "ci.json").read_text())
    report = lines[-1]["report"]
    assert set(report) == set(written) and report["failed"] == written["failed"] > 0
    assert {line["op_name"] for line in of(lines, "OpFinished")} == {op["op_name"] for op in written["ops"]}
    failed = {(case["op_name"], case["seed"]) for case in of(lines, "CaseFailed")}
    assert {(case["op_name"], case["seed"]) for case in written["validation_results"] if not case["passed"]} <= failed
    assert of(stream(good, "ci", "--quick", code=0), "CaseFailed") == []


def test_lines_come_while_it_runs_and_ctrl_c_ends_with_a_report(new_home):
    home = new_home({**project(cases=40), **{name: SLOW for name in project() if name.endswith(".py")}})
    command = [BIN / "gpuemu", "test", "--format", "json", "--stream"]
    running = subprocess.Popen(command, cwd=home.project, env=home.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    lines, times = [], []
    for text in running.stdout:
        lines.append(json.loads(text))
        times.append(time.monotonic())
        if lines[-1]["type"] == "Progress" and lines[-1]["done"] >= 3:
            running.send_signal(signal.SIGINT)
            break
    lines += [json.loads(text) for text in running.stdout]
    running.stderr.close()
    assert running.wait(60) == 130
    assert lines[0]["type"] == "RunStarted" and lines[-1]["type"] == "RunFinished" and lines[-1]["exit_code"] == 130
    progress = [(when, line) for when, line in zip(times, lines) if line["type"] == "Progress"]
    assert all(0 <= line["done"] <= line["total"] for _, line in progress if line["total"])
    assert len(progress) <= 10 * (times[-1] - times[0]) + 2
    assert lines[-1]["report"]["ops"][0]["cases"] < 40


def test_what_cannot_be_run_ends_with_an_error(good):
    done = good.run("test", "nothing", "--format", "json", "--stream")
    assert done.returncode == 2 and json.loads(done.stdout.splitlines()[-1])["type"] == "Error"


def test_a_kernel_that_does_not_compile_is_told(new_home):
    home = new_home(project(cases=2))
    (home.project / "twice.ptx").write_text("not PTX\n")
    lines = stream(home, "test", code=3)
    [end] = [line for line in of(lines, "OpFinished") if line["op_name"] == "twice"]
    assert end["skipped_reason"].startswith("error: ") and end["cases"] == 0


@pytest.mark.parametrize("words", [["test"], ["fuzz"], ["ci"], ["test", "--format", "text"]])
def test_without_json_it_is_wrong_use(good, words):
    done = good.run(*words, "--stream")
    assert done.returncode == 2 and done.stdout == ""
    assert "--stream" in done.stderr and "--format json" in done.stderr


def test_the_report_of_a_stream_goes_to_standard_output(good):
    done = good.run("ci", "--format", "json", "--stream", "--output", "ci.json")
    assert done.returncode == 2 and "--report json=ci.json" in done.stderr
    assert not (good.project / "ci.json").exists()
