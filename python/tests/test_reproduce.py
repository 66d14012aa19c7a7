"""Tests that a stored failure has the same inputs in two runs of the daemon and in Python, generated from its seed."""

import base64
import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

from gpuemu.check import reproduce

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("GPUEMU_BIN", ROOT / "build/release/bin"))

CONFIG = """[validation]
cases = 24
seed = "18446744073709551557"
[[ops]]
name = "off by one"
reference = "plus.py"
kernel = "plus"
inputs = [{ name = "a", shape = ["m", "n"], range = [-2.5, 1e3] },
          { name = "b", shape = ["n"], dtype = "{dtype}" },
          { name = "index", shape = ["m"], dtype = "int32", range = [0, 9] }]
outputs = [{ name = "y", shape = ["m", "n"] }]
dims = { m = [1, 5], n = [1, 40] }
dtypes = ["float32", "float16", "bfloat16"]
[[kernels]]
name = "plus"
source = "plus.cu"
launches = [{ entry = "plus<{ctype}>", grid = 1, block = 1, args = ["a", "b", "index", "y", "i32:m", "i32:n"] }]
[[kernels]]
name = "update"
source = "update.cu"
reference = "update.py"
inputs = [{ name = "x", shape = ["n"] }]
outputs = [{ name = "x", inout = true, range = [3, 4] }]
dims = { n = [1, 9] }
launches = [{ entry = "update", grid = 1, block = 1, args = ["x", "i32:n"] }]
"""
KERNEL = """#include <cuda_bf16.h>
#include <cuda_fp16.h>
template <typename T> __global__ void plus(const T* a, const T* b, const int* index, T* y, int m, int n) {
  for (int i = 0; i < m * n; ++i) y[i] = T(float(a[i]) + float(b[i % n]) + float(index[i / n]) + 1.0f);
}
"""
UPDATE = 'extern "C" __global__ void update(float* x, int n) { for (int i = 0; i < n; ++i) x[i] += 1; }\n'


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A project of two wrong kernels; a separate daemon has stored its failures."""
    if not (BIN / "gpuemu").exists():
        pytest.skip(f"no {BIN}/gpuemu; build it or set GPUEMU_BIN")
    folder = tmp_path_factory.mktemp("r")
    files = {"gpuemu.toml": CONFIG, "plus.cu": KERNEL, "update.cu": UPDATE,
             "plus.py": "def reference(a, b, index):\n    return a + b + index[:, None]\n",
             "update.py": "def reference(x):\n    return x\n"}
    for name, text in files.items():
        (folder / name).write_text(text)
    own = {"HOME": str(folder), "GPUEMU_SOCKET": str(folder / "s"), "GPUEMU_DB": str(folder / "db"),
           "GPUEMU_CLI": str(BIN / "gpuemu"), "GPUEMU_CONFIG": str(folder / "gpuemu.toml")}
    before = {key: os.environ.get(key) for key in own}
    os.environ.update(own)
    done = subprocess.run([BIN / "gpuemu", "test"], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    yield folder
    subprocess.run([BIN / "gpuemu", "daemon", "stop"], cwd=folder, capture_output=True, check=False)
    for key, value in before.items():
        if value is None:
            os.environ.pop(key)
        else:
            os.environ[key] = value


def failures(folder):
    done = subprocess.run([BIN / "gpuemu", "failures", "--limit", "1000", "--format", "json"], cwd=folder,
                          capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["results"]


def test_every_strategy_and_dtype_gives_the_bytes_that_the_daemon_fed(project):
    settings = reproduce.settings_of()
    seen, wrong = set(), []
    for failure in failures(project):
        info = failure["repro_info"]
        kind = (failure["op_name"], info["value_strategy"], info["dtype"])
        if kind in seen:
            continue
        seen.add(kind)
        answer = reproduce.answer_of(failure["seed"], failure["op_name"])
        assert answer["inputs"] == reproduce.answer_of(failure["seed"], failure["op_name"])["inputs"]
        made = reproduce.case_inputs(answer, settings)
        assert set(made) == set(answer["inputs"])
        wrong += [(kind, name) for name, array in made.items()
                  if array.tobytes() != base64.b64decode(answer["inputs"][name]["data"])]
    assert len(seen) >= 20 and {op for op, _, _ in seen} == {"off by one", "update"}
    assert not wrong


def test_a_narrowed_case_keeps_its_scale(project):
    seed = next(f["seed"] for f in failures(project) if f["repro_info"]["value_strategy"] == "normal")
    command = [BIN / "gpuemu", "minimize", str(seed), "--strategy", "binary-search-values", "--format", "json"]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, check=True)
    small = json.loads(done.stdout.splitlines()[-1])["minimized_seed"]
    assert small != seed and reproduce.main([str(small)]) == 0


def test_ranges_are_those_of_the_file(project):
    settings = reproduce.settings_of()
    assert reproduce.ranges_of(settings, "off by one") == {"a": (-2.5, 1000.0), "index": (0.0, 9.0)}
    assert reproduce.ranges_of(settings, "update") == {"x": (3.0, 4.0)}


def test_the_command_prints_and_saves_the_inputs(project, tmp_path):
    seed = failures(project)[0]["seed"]
    command = [sys.executable, "-m", "gpuemu.reproduce", str(seed), "--save", str(tmp_path)]
    env = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    done = subprocess.run(command, cwd="/", env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "the daemon's bytes" in done.stdout and "NOT" not in done.stdout
    for name, array in reproduce.inputs(seed).items():
        assert np.load(tmp_path / f"{name}.npy").tobytes() == array.tobytes()


def test_other_bytes_are_told(project, capsys):
    answer = reproduce.answer_of(failures(project)[0]["seed"])
    made = reproduce.case_inputs(answer, reproduce.settings_of())
    name = next(iter(made))
    made[name] = made[name] + made[name].dtype.type(1)
    assert not reproduce._report(answer, made)
    assert "NOT the daemon's bytes" in capsys.readouterr().out


def test_a_seed_that_nobody_has_is_an_error(project, capsys):
    assert reproduce.main(["12345"]) == 2
    assert "12345" in capsys.readouterr().err


def test_a_missing_program_is_told(monkeypatch, capsys):
    monkeypatch.delenv("GPUEMU_CLI", raising=False)
    monkeypatch.setenv("PATH", "/nonexistent")
    assert reproduce.main(["1"]) == 2
    assert "GPUEMU_CLI" in capsys.readouterr().err
