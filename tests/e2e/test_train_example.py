"""examples/train_mlp.py: trains like NumPy in float64, and names a wrong kernel. On a GPU too, if there is one."""
import os
import pathlib
import re
import subprocess
import sys

import pytest

from gpuemu import runtime

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(params=["emulator", "cuda"])
def train(request):
    """Returns a function that runs the example with the given words."""
    if request.param == "cuda":
        try:
            found = runtime.devices("cuda")
        except runtime.UnsupportedError as problem:
            pytest.skip(str(problem))
        if not found:
            pytest.skip("no GPU")

    def run(*words):
        command = [sys.executable, ROOT / "examples" / "train_mlp.py", "--backend", request.param, *words]
        return subprocess.run(command, env={**os.environ, "PYTHONPATH": str(ROOT / "python")}, capture_output=True, text=True, timeout=300)

    return run


@pytest.mark.parametrize("optimizer, most", [("sgd", 1e-4), ("adam", 1e-3)])
def test_it_trains_like_float64(train, optimizer, most):
    done = train("--optimizer", optimizer, "--steps", "20", "--compare", "--check")
    assert done.returncode == 0, done.stdout + done.stderr
    lines = re.findall(r"^step +(\d+) +loss ([\d.e+-]+) +float64 ([\d.e+-]+)$", done.stdout, re.MULTILINE)
    assert [int(step) for step, _, _ in lines] == [1, 10, 20], done.stdout
    for _, loss, expected in lines:
        assert abs(float(loss) - float(expected)) <= most * float(expected)
    assert float(lines[-1][1]) < float(lines[0][1])


def test_a_planted_adam_step_is_named(train, tmp_path):
    wrong = ("--steps", "2", "--plant", "adam", "--save", tmp_path / "case")
    done = train(*wrong)
    assert done.returncode == 0 and "op 10, adam_step (planted), p_out: ToleranceExceeded" in done.stdout, done.stdout + done.stderr
    assert train(*wrong, "--optimizer", "sgd").returncode == 2
