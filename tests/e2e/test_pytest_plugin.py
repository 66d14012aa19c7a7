"""The pytest plugin: drawn inputs for tests, and the ops of gpuemu.toml as tests."""
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as tree

import pytest

from conftest import ROOT

DRAWN = '''
import gpuemu, numpy as np, pytest

def clip(x):
    y = np.maximum(x, 0)
    return np.where(x > 5, x + 1, y).astype(x.dtype) if WRONG else y

WRONG = False

@pytest.mark.gpuemu(x=gpuemu.Tensor["rows", 3], cases=6, dtypes=["float32", "float16"])
def test_right(gpuemu_case):
    assert gpuemu_case.x.shape == (gpuemu_case.dims["rows"], 3) and str(gpuemu_case.x.dtype) == gpuemu_case.dtype
    gpuemu_case.check(clip(gpuemu_case.x), np.maximum(gpuemu_case.x, 0))

@pytest.mark.gpuemu(x=gpuemu.Tensor["n"], cases=4, strategies=["all_pos"])
def test_wrong(gpuemu_case):
    gpuemu_case.check(gpuemu_case.x + np.float32(1), gpuemu_case.x)
'''


def run(folder, *options, env=None, plugins=()):
    wanted = [part for name in ("gpuemu.pytest_plugin", *plugins) for part in ("-p", name)]
    environment = {**os.environ, **(env or {}), "PYTHONPATH": str(ROOT / "python"), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run([sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *wanted, "--junitxml", folder / "out.xml", *options],
                          cwd=folder, capture_output=True, text=True, timeout=300, env=environment)
    found = {case.get("name"): next((kind for kind in ("failure", "error", "skipped") if case.find(kind) is not None), "pass") for case in tree.parse(folder / "out.xml").iter("testcase")}
    return done.stdout, found


@pytest.fixture
def drawn(tmp_path):
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_drawn.py").write_text(DRAWN)
    return tmp_path


def test_each_case_is_a_test_that_its_seed_brings_back(drawn):
    said, found = run(drawn)
    for dtype in ("float32", "float16"):  # Six cases of each, which are selected by its name.
        assert [found[f"test_right[{dtype}-case{i}]"] for i in range(6)] == ["pass"] * 6
    assert [found[f"test_wrong[case{i}]"] for i in range(4)] == ["failure"] * 4
    seed = re.search(r"gpuemu: --gpuemu-seed=(\d+)", said)[1]
    replay = re.search(r"replay: pytest '(test_drawn.py::test_wrong\[case0\])' --gpuemu-seed=(\d+)", said)
    assert replay[2] == seed and "values=all_pos" in said
    first = re.search(r"element 0: expected \S+", said)[0]
    again, found = run(drawn, replay[1], f"--gpuemu-seed={seed}")
    assert list(found) == ["test_wrong[case0]"] and first in again


def test_a_failure_is_the_tests_own_line_and_inputs_to_paste(tmp_path):
    (tmp_path / "test_small.py").write_text(
        "import gpuemu, pytest\n\n@pytest.mark.gpuemu(x=gpuemu.Tensor['n'], k=gpuemu.Tensor[3], cases=4, dtypes=['float32', 'int32'],\n"
        "                    dims={'n': [1, 200]})\ndef test_small(gpuemu_case):\n    gpuemu_case.check(gpuemu_case.x * 0 - 7, gpuemu_case.x)\n")
    said, found = run(tmp_path, "--gpuemu-seed=3")
    assert set(found.values()) == {"failure"} and sorted({name.split("[")[1].split("-")[0] for name in found}) == ["float32", "int32"]
    assert "pytest_plugin.py" not in said and "def check" not in said and "> " + "      gpuemu_case.check(" in said, said
    assert "gpuemu_case = <case 0: " in said
    pasted = re.findall(r"^import numpy as np\n(?:(?:\w+ = |# ).+\n)+", said, re.M)
    assert len(pasted) == 8, said
    for lines in pasted:
        made = {}
        exec(lines, made)
        assert made["k"].shape == (3,) and made["k"].dtype in ("float32", "int32")
        assert "x" in made or re.search(r"^# x: \d+ elements of \w+, gpuemu_case.x of the replay$", lines, re.M)
    assert any("x = np.array" in lines for lines in pasted) and any("# x: " in lines for lines in pasted), pasted


@pytest.mark.parametrize("mark, body, said", [
    ("cases=0", "pass", "cases is 0, expected an integer from 1"),
    ("dtypes='float32'", "pass", "dtypes is 'float32', expected a list of names"),
    ("strategies=['nope']", "pass", "unknown strategies nope"),
    ("cases=1", "gpuemu_case.check(np.ma.masked_array(gpuemu_case.x * 9, mask=True), gpuemu_case.x)", "the output is a masked array that masks"),
])
def test_what_would_check_nothing_is_no_pass(tmp_path, mark, body, said):
    (tmp_path / "test_drawn.py").write_text(
        f"import gpuemu, numpy as np, pytest\n@pytest.mark.gpuemu(x=gpuemu.Tensor['n'], {mark})\ndef test_it(gpuemu_case):\n    {body}\n")
    text, found = run(tmp_path)
    assert said in text and "pass" not in found.values() and "skipped" not in found.values()


def test_a_budget_bounds_the_cases_and_a_wrong_one_is_refused(drawn):
    _, found = run(drawn, "-k", "right", "--gpuemu-budget", "2")
    assert sorted(found) == [f"test_right[{dtype}-case{i}]" for dtype in ("float16", "float32") for i in range(2)]
    _, found = run(drawn, "-k", "right and float16")
    assert sorted(found) == [f"test_right[float16-case{i}]" for i in range(6)]
    wrong = subprocess.run([sys.executable, "-m", "pytest", "-p", "gpuemu.pytest_plugin", "--gpuemu-budget", "soon"], cwd=drawn, text=True,
                           capture_output=True, env={**os.environ, "PYTHONPATH": str(ROOT / "python")})
    assert wrong.returncode == 4 and "expected cases such as 50 or seconds such as 10s" in wrong.stdout + wrong.stderr


SLOW = '''
import gpuemu, pytest, time

@pytest.mark.gpuemu(x=gpuemu.Tensor["n"], cases=8)
def test_slow(gpuemu_case):
    time.sleep(0.4)

@pytest.mark.gpuemu(x=gpuemu.Tensor["n"], cases=8)
def test_quick(gpuemu_case):
    pass
'''


def test_a_budget_of_seconds_ends_each_test_by_itself(drawn):
    (drawn / "test_drawn.py").write_text(SLOW)
    said, found = run(drawn, "--gpuemu-budget=1s", "-rs")
    slow = [found[f"test_slow[case{i}]"] for i in range(8)]
    # Three of 0.4 s are more than one second; on a busy machine fewer are.
    assert slow == sorted(slow) and 1 <= slow.count("pass") <= 3 and set(slow) == {"pass", "skipped"}
    assert "--gpuemu-budget of 1 s is spent" in said and found["test_quick[case0]"] == "pass"


@pytest.mark.parametrize("budget", ["0", "0s", "-1", "1.5", "1m", "s", ""])
def test_a_budget_of_nothing_is_refused(drawn, budget):
    done = subprocess.run([sys.executable, "-m", "pytest", "-p", "gpuemu.pytest_plugin", f"--gpuemu-budget={budget}"], cwd=drawn, text=True,
                          capture_output=True, env={**os.environ, "PYTHONPATH": str(ROOT / "python")})
    assert done.returncode == 4 and f"--gpuemu-budget is '{budget}'" in done.stdout + done.stderr


def test_a_budget_of_seconds_ends_an_op_with_what_it_found(gpuemu):
    (gpuemu.project / "pytest.ini").write_text("[pytest]\n")
    file = gpuemu.project / "gpuemu.toml"
    file.write_text(re.sub(r"(?m)^cases = 64 ", "cases = 1000000 ", file.read_text()))
    assert gpuemu.run("test", "vector_add", "--cases", "1").returncode == 0  # Compiling does not count.
    said, found = run(gpuemu.project, "--gpuemu-budget=1s", "-rP", "-k", "vector_add", env=gpuemu.env)
    total = int(re.search(r"(\d+) of \1 cases, seed", said)[1])
    assert found["vector_add[float32]"] == "pass" and 0 < total < 1000000


def test_workers_of_xdist_draw_from_one_seed(drawn):
    pytest.importorskip("xdist")
    alone, _ = run(drawn, "--gpuemu-seed=5", "-k", "wrong")
    spread, found = run(drawn, "--gpuemu-seed=5", "-k", "wrong", "-n", "2", plugins=["xdist"])
    expected = [set(re.findall(r"E .*element 0: expected \S+", said)) for said in (alone, spread)]
    assert expected[0] == expected[1] and len(found) == 4


def test_ops_of_the_project_are_tests_by_dtype(gpuemu):
    (gpuemu.project / "pytest.ini").write_text("[pytest]\n")
    said, found = run(gpuemu.project, "--gpuemu-budget=4", "--gpuemu-seed=42", "-k", "vector_add or gelu or missing_tail", env=gpuemu.env)
    assert found["vector_add[float32]"] == "pass" and found["gelu[float16]"] == "pass"
    assert found["scale_missing_tail_mask[float32]"] == "failure" and "OutOfBounds" in said
    replay = re.search(r"replay: gpuemu (reproduce \d+ --op scale_missing_tail_mask)", said)[1]
    assert "OutOfBounds" in gpuemu.run(*replay.split(), "--format", "json").stdout
    listed, _ = run(gpuemu.project, "--collect-only", "-q", "--gpuemu-no-ops", env=gpuemu.env)
    assert "gelu" not in listed
