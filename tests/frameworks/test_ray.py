"""Cases on the workers of a Ray cluster of this machine: those that gpuemu.check runs, and the same verdicts."""
import json
import pathlib
import subprocess
import sys

import pytest

pytest.importorskip("ray")
PROGRAM = pathlib.Path(__file__).parent / "ray_cases.py"


@pytest.fixture(scope="module")
def saw():
    done = subprocess.run([sys.executable, PROGRAM], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_workers_find_what_one_process_finds(saw):
    cases, passed, seed, failures, smallest, replay = saw["spread"]
    assert saw["spread"] == saw["alone"] and (cases, seed) == (60, 4) and len(failures) == 60 - passed > 0
    assert smallest == {"cols": 1} and replay.startswith("gpuemu.check(..., seed=4, only=")


def test_the_first_failure_is_raised_with_its_replay(saw):
    failed, text, seed, again = saw["raised"]
    assert 0 < failed <= 3 and seed == again and "replay: gpuemu.check" in text


def test_right_functions_pass_and_wrong_arguments_are_told_before_a_worker_starts(saw):
    assert saw["right"] == 20
    assert saw["wrong layouts"][0] == "ValueError" and "unknown layouts diagonal" in saw["wrong layouts"][1]
    assert saw["no function"][0] == "TypeError" and "expected a function" in saw["no function"][1]
    assert saw["no cases"] == ["ValueError", "cases is 0, expected 1 or more"]
