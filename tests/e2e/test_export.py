"""Exported cases: a folder that runs without gpuemu's daemon, whatever its names are."""
import json
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

from conftest import BIN, ROOT


def failure_of(gpuemu, op, cases=12):
    gpuemu.run("test", op, "--seed", "3", "--cases", cases)
    found = json.loads(gpuemu.run("failures", "--limit", "100", "--op", op, "--format", "json").stdout)["results"]
    assert found
    return found[-1]


def export(gpuemu, seed, folder, *more):
    result = gpuemu.run("export", seed, "--output", folder, *more)
    assert result.returncode == 0, result.stdout + result.stderr
    return gpuemu.project / folder


def run_python(gpuemu, folder, *more):
    env = {"PATH": f"{BIN}:{os.environ['PATH']}", "HOME": str(gpuemu.home), "PYTHONPATH": str(ROOT / "python")}
    return subprocess.run([sys.executable, "run.py", *more], cwd=folder, env=env, text=True, capture_output=True, timeout=120)


@pytest.mark.parametrize("op, said", [
    ("scale_missing_tail_mask", "out_of_bounds"), ("reduce_missing_sync", "FAIL: race_"), ("rowmax_wrong_identity", "FAIL: y[")])
def test_the_python_program_shows_the_fault_and_passes_with_the_right_kernel(gpuemu, op, said):
    folder = export(gpuemu, failure_of(gpuemu, op)["seed"], "bug")
    gpuemu.stop()  # No daemon is needed from here on.
    wrong = run_python(gpuemu, folder, "--device", "emulator")
    assert wrong.returncode == 1 and said in wrong.stdout, wrong.stdout + wrong.stderr
    assert not gpuemu.socket.exists()
    # The same case with the outputs as expected must pass: the bounds are not simply refused.
    case = json.loads((folder / "case.json").read_text())
    assert [one["role"] for one in case["tensors"]] == ["input", "output"]
    if op != "rowmax_wrong_identity":
        return
    source = folder / "kernel" / f"{op}.cu"
    source.write_text(source.read_text().replace("float largest = 0.0f;", "float largest = -INFINITY;"))
    nvcc = shutil.which("nvcc")
    done = subprocess.run([nvcc, "-ptx", "-arch=sm_80", source.name, "-o", "../kernel.ptx"], cwd=source.parent, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    right = run_python(gpuemu, folder, "--device", "emulator")
    assert right.returncode == 0 and "PASS" in right.stdout, right.stdout + right.stderr


def test_a_launch_that_the_device_refuses_is_told_and_is_no_traceback(gpuemu):
    config = gpuemu.project / "gpuemu.toml"
    text = config.read_text()
    launch = 'block = ["256"], args = ["a", "b", "y", "i32:n"]'
    assert launch in text
    config.write_text(text.replace(launch, 'shared = "1000000", ' + launch))
    failure = failure_of(gpuemu, "vector_add", cases=2)
    assert failure["failures"][0]["kind"] == "LaunchError"
    folder = export(gpuemu, failure["seed"], "bug")
    gpuemu.stop()
    refused = run_python(gpuemu, folder, "--device", "emulator")
    assert refused.returncode == 1 and refused.stdout.splitlines()[-1].startswith("FAIL: "), refused.stdout + refused.stderr
    assert "shared" in refused.stdout and "Traceback" not in refused.stderr


def test_without_the_program_of_the_emulator_there_is_nothing_to_run_on(gpuemu):
    folder = export(gpuemu, failure_of(gpuemu, "scale_missing_tail_mask")["seed"], "bug")
    env = {"PATH": "/usr/bin:/bin", "HOME": str(gpuemu.home), "PYTHONPATH": str(ROOT / "python"), "GPUEMU_DEVICE": "/nowhere/gpuemu-device"}
    done = subprocess.run([sys.executable, "run.py", "--device", "emulator"], cwd=folder, env=env, text=True, capture_output=True, timeout=120)
    assert done.returncode == 3 and "no emulator here" in done.stderr and "Traceback" not in done.stderr, done.stderr


def test_the_cpp_program_builds_and_says_what_it_lacks(gpuemu):
    folder = export(gpuemu, failure_of(gpuemu, "scale_missing_tail_mask")["seed"], "bug")
    built = subprocess.run(["make", "run"], cwd=folder, capture_output=True, text=True,
                           env={**os.environ, "CXXFLAGS": ""}, timeout=300)
    assert built.returncode == 0, built.stdout + built.stderr
    done = subprocess.run(["./run"], cwd=folder, capture_output=True, text=True, timeout=60)
    assert done.returncode in (1, 3), done.stdout + done.stderr
    if done.returncode == 3:
        assert "no GPU here" in done.stderr


def test_expected_outputs_are_those_of_the_reference(gpuemu):
    failure = failure_of(gpuemu, "scale_missing_tail_mask")
    folder = export(gpuemu, failure["seed"], "bug")
    x = np.load(folder / "inputs" / "00_x.npy")
    expected = np.load(folder / "expected" / "01_y.npy")
    bounds = np.load(folder / "bounds" / "01_y.npy")
    assert x.dtype == np.float32 and expected.dtype == bounds.dtype == np.float64
    with np.errstate(invalid="ignore"):
        assert np.array_equal(expected, x.astype(np.float64) * failure["repro_info"]["attrs"]["factor"], equal_nan=True)
    assert (bounds >= 0).all()


def test_a_folder_that_is_there_is_left_alone(gpuemu):
    seed = failure_of(gpuemu, "scale_missing_tail_mask")["seed"]
    folder = gpuemu.project / "bug"
    folder.mkdir()
    (folder / "mine.txt").write_text("mine")
    refused = gpuemu.run("export", seed, "--output", "bug")
    assert refused.returncode == 2 and "--force" in refused.stderr
    assert [one.name for one in folder.iterdir()] == ["mine.txt"]
    export(gpuemu, seed, "bug", "--force")
    assert (folder / "mine.txt").read_text() == "mine" and (folder / "run.py").is_file()
    outside = gpuemu.project / "outside"
    outside.mkdir()
    shutil.rmtree(folder / "inputs")
    (folder / "inputs").symlink_to(outside)
    assert gpuemu.run("export", seed, "--output", "bug", "--force").returncode == 2
    assert not list(outside.iterdir())


def test_nothing_is_written_for_a_seed_that_is_none(gpuemu):
    result = gpuemu.run("export", "12345", "--output", "bug")
    assert result.returncode == 2 and not (gpuemu.project / "bug").exists()


def test_minimized_cases_with_inputs_of_their_own_are_exported_with_those(gpuemu):
    seed = failure_of(gpuemu, "rowmax_wrong_identity")["seed"]
    small = json.loads(gpuemu.run("minimize", seed, "--max-iters", "200", "--format", "json").stdout)
    folder = export(gpuemu, small["minimized_seed"], "bug")
    done = run_python(gpuemu, folder, "--device", "emulator")
    assert done.returncode == 1, done.stdout + done.stderr
    case = json.loads((folder / "case.json").read_text())
    assert case["seed"] == str(small["minimized_seed"])
