"""gpuemu run with programs of Triton and PyTorch, as they are written for a GPU."""
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

from conftest import BIN, ROOT

if importlib.util.find_spec("torch") is None or importlib.util.find_spec("triton") is None:
    pytest.skip("torch and triton are not both installed", allow_module_level=True)

PROGRAMS = pathlib.Path(__file__).with_name("triton_programs")


@pytest.fixture
def run(tmp_path):
    """Runs a program of triton_programs, or a file, below gpuemu run: the finished process and the report."""
    def run(program, *words, options=(), **rest):
        report = tmp_path / "report.json"
        command = [BIN / "gpuemu", "run", "--format", "json", "--output", report, *options, "--", sys.executable, PROGRAMS / program, *words]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=600, **rest)
        return done, json.loads(report.read_text()) if report.exists() else {}

    return run


def line_of(program, text):
    lines = (PROGRAMS / program).read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


def test_a_vector_is_added_by_an_unmodified_program(run):
    done, report = run("vector_add.py")
    assert done.returncode == 0 and done.stdout == "difference 0.0\n", done.stderr
    assert report["findings"] == [] and report["processes"][0]["launches"] == 1
    assert done.stderr.count("operators of PyTorch run on the CPU, in its arithmetic, and are not checked") == 1, done.stderr


def test_a_missing_mask_is_found_at_its_line_with_the_launch_and_the_tensor(run):
    done, report = run("vector_add.py", "unmasked")
    assert done.returncode == 1 and "CUDA error: an illegal memory access was encountered" in done.stderr
    (found,) = report["findings"]
    assert (found["kind"], found["kernel"]) == ("OutOfBounds", "unmasked_kernel")
    assert (pathlib.Path(found["file"]).name, found["line"]) == ("vector_add.py", line_of("vector_add.py", "# Without a mask"))
    assert found["host"]["call"] == "kernel[grid](...)"
    first = found["host"]["stack"][0]
    assert (first["function"], first["line"]) == ("added", line_of("vector_add.py", "kernel[lambda meta"))
    assert "of 'y_ptr', which has 4000 bytes" in found["message"] and found["allocation"]["bytes"] == 4000
    assert found["allocation"]["stack"][0]["line"] == line_of("vector_add.py", "x, y = torch.rand")


@pytest.mark.parametrize("program, printed", {"softmax.py": "right\n", "matmul.py": "right 32 3\n", "dropout.py": "right\n", "layer_norm.py": "right\n",
                                              "attention.py": "right\n"}.items())
def test_programs_in_the_style_of_the_tutorials_run_without_a_finding(run, program, printed):
    done, report = run(program)
    assert (done.returncode, done.stdout) == (0, printed), done.stderr[-3000:]
    assert [one for one in report["findings"] if one["severity"] != "note"] == []
    assert report["processes"][0]["launches"] >= 2


def test_work_that_several_threads_of_triton_do_is_a_note_and_on_demand_an_error(run):
    done, report = run("layer_norm.py")
    assert (done.returncode, {(one["kind"], one["severity"]) for one in report["findings"]}) == (0, {("ReplicaStore", "note")})
    done, report = run("layer_norm.py", options=["--checks", "+replicas"])
    assert (done.returncode, {(one["kind"], one["severity"]) for one in report["findings"]}) == (1, {("ReplicaStore", "error")})


def test_the_autotuner_takes_the_first_configuration_that_fits_and_restores_what_it_wrote(run):
    done, report = run("tuned.py")
    assert (done.returncode, done.stdout) == (0, "256 [1.0, inf] 1.0\n"), done.stderr[-3000:]
    assert done.stderr.count("the autotuner runs the first configuration that fits and no other") == 1, done.stderr
    done, _ = run("tuned.py", options=["--autotune", "all"])
    assert done.stdout == "256 [1.0, 1.0] 1.0\n" and "autotuner" not in done.stderr, done.stderr


def test_arguments_of_every_kind_reach_the_kernel(run):
    done, report = run("arguments.py")
    assert done.stdout.endswith("failed []\n"), done.stdout + done.stderr[-3000:]
    (found,) = report["findings"]  # Of the case that plants it.
    assert found["kind"] == "Trap" and "not positive" in found["message"]


def older_tritons():
    """Folders with the older versions of Triton that scripts/frameworks.sh installs beside the packages."""
    folder = pathlib.Path(sys.prefix) / "older-tritons"
    return sorted(folder.iterdir()) if folder.is_dir() else []


@pytest.mark.skipif(not older_tritons(), reason="no older version of Triton is installed: scripts/frameworks.sh --install")
@pytest.mark.parametrize("folder", older_tritons(), ids=lambda folder: folder.name)
@pytest.mark.parametrize("program, printed", {"vector_add.py": "difference 0.0\n", "softmax.py": "right\n", "matmul.py": "right 32 3\n", "layer_norm.py": "right\n",
                                              "attention.py": "right\n", "tuned.py": "256 [1.0, inf] 1.0\n"}.items())
def test_older_versions_of_triton_run_the_same_programs(run, folder, program, printed):
    done, report = run(program, env={**os.environ, "PYTHONPATH": str(folder)})
    assert (done.returncode, done.stdout) == (0, printed), done.stderr[-3000:]
    assert [one for one in report["findings"] if one["severity"] != "note"] == []


@pytest.mark.skipif(not older_tritons(), reason="no older version of Triton is installed: scripts/frameworks.sh --install")
@pytest.mark.parametrize("folder", older_tritons(), ids=lambda folder: folder.name)
def test_older_versions_of_triton_find_a_missing_mask_at_its_line(run, folder):
    done, report = run("vector_add.py", "unmasked", env={**os.environ, "PYTHONPATH": str(folder)})
    (found,) = report["findings"]
    assert (found["kind"], found["line"]) == ("OutOfBounds", line_of("vector_add.py", "# Without a mask"))
    assert re.search("of '(y_ptr|arg1)', which has 4000 bytes", found["message"])  # Triton 3.2 does not tell the parameter's name.


@pytest.mark.skipif(not older_tritons(), reason="no older version of Triton is installed: scripts/frameworks.sh --install")
@pytest.mark.parametrize("folder", older_tritons(), ids=lambda folder: folder.name)
def test_older_versions_of_triton_compile_for_arrays_of_numpy(folder, tmp_path):
    program = tmp_path / "arrays.py"
    program.write_text(ARRAYS)
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'python'}:{folder}", "GPUEMU_CLI": str(BIN / "gpuemu")}
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, timeout=600, env=environment)
    assert (done.returncode, done.stdout) == (0, f"{folder.name} 0.0\n"), done.stderr[-2000:]


ARRAYS = """
import gpuemu, numpy as np, triton, triton.language as tl

@triton.jit
def add(x, y, n, scale, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n) * scale + 1, mask=at < n)

x, y = np.arange(1000, dtype=np.float32), np.zeros(1000, np.float32)
gpuemu.triton(add)[(4,)](x, y, 1000, 0.5, BLOCK=256)
print(triton.__version__, abs(y - x / 2 - 1).max())
"""


@pytest.mark.parametrize("arch", ["sm_86", "sm_89", "sm_90"])
def test_other_architectures_run_what_triton_makes_for_them(run, arch):
    done, report = run("vector_add.py", options=["--arch", arch])
    assert (done.returncode, done.stdout) == (0, "difference 0.0\n"), done.stderr[-3000:]
    done, report = run("attention.py", options=["--arch", arch])
    assert (done.returncode, done.stdout) == (0, "right\n"), done.stderr[-3000:]


@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_descriptors_of_the_host_are_pointers_or_tensor_maps(run, arch):
    done, report = run("descriptors.py", options=["--arch", arch])
    assert done.stdout == "right\n", done.stderr
    assert done.returncode == 0 and report["findings"] == []


def test_gradients_streams_and_files_of_cuda_tensors(run):
    done, report = run("tensors.py")
    assert (done.returncode, done.stdout) == (0, "failed []\n"), done.stdout + done.stderr[-3000:]


def test_a_missing_package_is_named_with_what_to_do(run, tmp_path):
    program = tmp_path / "missing.py"
    program.write_text("import importlib.util, sys\n"
                       "sys.path[:] = [one for one in sys.path if 'packages' not in one]\n"
                       "print(importlib.util.find_spec('triton'))\n"
                       "import torch\n")
    done, _ = run(program)
    assert done.returncode == 1 and done.stdout == "None\n"
    assert "ModuleNotFoundError: No module named 'torch' in " in done.stderr and "pip install torch --index-url" in done.stderr


def test_a_package_that_cannot_be_prepared_says_how_to_leave_it_as_it_is(run, tmp_path):
    (tmp_path / "triton").mkdir()
    (tmp_path / "triton/__init__.py").write_text("__version__ = '1.0'\n")
    program = tmp_path / "old.py"
    program.write_text("import triton\n")
    done, _ = run(program)
    assert done.returncode == 1 and "gpuemu cannot give triton 1.0 the emulated GPU" in done.stderr and "--no-triton" in done.stderr
    assert "gpuemu works with Triton 3.2 to 3.9; install one of them, for example pip install triton==3.5.1" in done.stderr
    assert run(program, options=["--no-triton"])[0].returncode == 0


def test_a_hidden_device_is_no_device(run, tmp_path):
    program = tmp_path / "hidden.py"
    program.write_text("import torch\nprint(torch.cuda.is_available(), torch.cuda.device_count())\n")
    assert run(program, env={**os.environ, "CUDA_VISIBLE_DEVICES": ""})[0].stdout == "False 0\n"


def pytest_run(tmp_path, *words):
    environment = {**os.environ, "GPUEMU_CLI": str(BIN / "gpuemu"), "PYTHONPATH": str(ROOT / "python")}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "gpuemu.check.pytest_plugin", PROGRAMS / "suite.py", *words]
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=600, cwd=tmp_path, env=environment)


@pytest.mark.parametrize("workers", [[], ["-n", "2"]], ids=["one process", "xdist"])
def test_tests_fail_with_what_was_found_while_they_ran(tmp_path, workers):
    if workers:
        pytest.importorskip("xdist")
    done = pytest_run(tmp_path, "--gpuemu", *workers)
    assert done.returncode == 1 and "2 failed, 4 passed" in done.stdout and "1 error" in done.stdout, done.stdout + done.stderr
    first, _, second = done.stdout.partition("_ test_a_part_of_a_block _")[2].partition("_ test_that_fails_by_itself _")
    if not workers:
        assert "gpuemu found:\nerror[OutOfBounds]: reads" in first
        assert "of its own" in second and "Captured gpuemu call" in second and "error[OutOfBounds]" in second
        assert "gpuemu found:\nerror[OutOfBounds]" in done.stdout.partition("_ ERROR at teardown of test_that_is_right _")[2]
    assert re.search(r"\ngpuemu: 3 OutOfBounds, 1 allowed in 1 kernel; slowest: \w+ \d+\.\d ms\n", done.stdout), done.stdout
    assert done.stdout.count("gpuemu: operators of PyTorch run on the CPU") >= 1, done.stdout


def test_without_the_option_nothing_changes_and_its_options_need_it(tmp_path):
    assert "--gpuemu-arch needs --gpuemu" in pytest_run(tmp_path, "--collect-only", "--gpuemu-arch", "sm_90").stderr
    assert "gpuemu run" not in pytest_run(tmp_path, "--collect-only", "-q").stderr


def test_without_preparation_torch_and_triton_are_as_they_are(run, tmp_path):
    program = tmp_path / "plain.py"
    program.write_text("import importlib.util\nassert importlib.util.find_spec('torch')\nimport torch\nprint(torch.cuda.is_available())\n")
    assert run(program, options=["--no-torch"])[0].stdout == "False\n"
    assert run(program)[0].stdout == "True\n"


def test_operators_of_liger_kernel_are_right_and_without_a_finding(run):
    pytest.importorskip("liger_kernel")
    done, report = run("liger.py")
    assert (done.returncode, done.stdout) == (0, "different []\n"), done.stdout + done.stderr[-3000:]
    assert [one for one in report["findings"] if one["severity"] != "note"] == [] and report["processes"][0]["launches"] >= 9


def test_undefined_values_are_found_where_an_operator_reads_them_and_padding_is_none(run):
    done, report = run("undefined.py", "padding")
    assert (done.returncode, report["findings"]) == (0, []), done.stderr
    assert done.stdout == "73536.0 796.0 792.0\n"
    done, report = run("undefined.py")
    (found,) = report["findings"]
    assert done.returncode == 1 and (found["kind"], found["kernel"], found["line"]) == ("UninitializedRead", "scale", line_of("undefined.py", "tl.load(x + at) * 2"))
    assert found["message"].startswith("reads byte offset 800 of 'x' (element 200) before anything was written there; ")
    assert found["message"].endswith(", and aten::max gives that to the host")
    assert found["other"]["host"]["stack"][0]["line"] == line_of("undefined.py", "# Read")
    _, report = run("undefined.py", "in place")
    (found,) = report["findings"]
    assert found["message"].endswith(", and aten::add_ gives that to the host") and found["other"]["host"]["stack"][0]["line"] == line_of("undefined.py", "# Changed")


ALONE = """
import gpuemu.torch
gpuemu.torch.install(arch="sm_90")
import torch, triton, triton.language as tl

@triton.jit
def outside(x, B: tl.constexpr):
    tl.store(x + tl.arange(0, B), 1.0)

x = torch.empty(20, device="cuda")
outside[(1,)](x, B=32)
print(torch.cuda.get_device_name(), triton.runtime.driver.active.get_current_target().arch)
gpuemu.torch.install("sm_90")
try:
    gpuemu.torch.install(arch="sm_80")
except RuntimeError as problem:
    print(problem)
"""


def test_a_program_can_install_the_device_itself(tmp_path):
    program = tmp_path / "alone.py"
    program.write_text(ALONE)
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "GPUEMU_CLI": str(BIN / "gpuemu")}
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, timeout=600, env=environment)
    first, second = done.stdout.splitlines()
    assert first == "gpuemu sm_90 90" and second.startswith("the emulated device is sm_90 and not sm_80"), done.stderr
    assert "error[OutOfBounds]: writes" in done.stderr and "kernel outside" in done.stderr and "alone.py:" in done.stderr


# Torch 2.9 and older have no such function.
OLD_TORCH = """
import torch
if hasattr(torch._C, "_ensureCUDADeviceGuardSet"):
    del torch._C._ensureCUDADeviceGuardSet
import gpuemu.torch
gpuemu.torch.install()
x = torch.ones(3, device="cuda", requires_grad=True)
(x * 2).sum().backward()
print(x.grad.tolist(), torch.cuda.current_device())
"""


def test_an_older_torch_gets_its_guard_from_code_that_is_compiled(tmp_path):
    program = tmp_path / "old.py"
    program.write_text(OLD_TORCH)
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "GPUEMU_CLI": str(BIN / "gpuemu")}
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, timeout=600, env=environment)
    assert (done.returncode, done.stdout) == (0, "[2.0, 2.0, 2.0] 0\n"), done.stderr[-2000:]


LATE = """
import torch, gpuemu.torch.memory
kept = [torch.ones(50 + i, device="cuda") for i in range(50)]
gpuemu.torch.memory._given = None  # As Python clears a module when it ends.
filled = [b"x" * size for size in range(30, 500) for _ in range(20)]
kept.clear()
gpuemu.torch.memory._given = {}
"""


def test_tensors_that_outlive_the_modules_of_python_are_freed_as_they_should(run, tmp_path):
    program = tmp_path / "late.py"
    program.write_text(LATE)
    done, report = run(program)
    assert done.returncode == 0 and report["findings"] == [], done.stderr


def test_the_device_can_be_taken_away_and_given_back(run):
    done, report = run("uninstalled.py")
    twos = "[2.0, 2.0, 2.0]"
    assert done.stdout == f"{twos} True\nFalse {twos}\nno device\n{twos} True\nFalse\n", done.stderr[-2000:]
    assert done.returncode == 0 and report["findings"] == []
