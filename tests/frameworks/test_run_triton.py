"""gpuemu run with programs of Triton and PyTorch, as they are written for a GPU."""
import importlib.util
import json
import pathlib
import subprocess
import sys

import pytest

from conftest import BIN

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


def test_a_missing_mask_is_found_at_its_line_with_the_launch_and_the_tensor(run):
    done, report = run("vector_add.py", "unmasked")
    assert done.returncode == 1 and "CUDA error: an illegal memory access was encountered" in done.stderr
    (found,) = report["findings"]
    assert (found["kind"], found["kernel"]) == ("OutOfBounds", "unmasked_kernel")
    assert (pathlib.Path(found["file"]).name, found["line"]) == ("vector_add.py", line_of("vector_add.py", "# Without a mask"))
    assert found["host"]["call"] == "kernel[grid](...)"
    first = found["host"]["stack"][0]
    assert (first["function"], first["line"]) == ("added", line_of("vector_add.py", "kernel[lambda meta"))
    assert found["allocation"]["bytes"] == 4000
    assert found["allocation"]["stack"][0]["line"] == line_of("vector_add.py", "x, y = torch.rand")


def test_without_preparation_torch_and_triton_are_as_they_are(run, tmp_path):
    program = tmp_path / "plain.py"
    program.write_text("import torch\nprint(torch.cuda.is_available())\n")
    assert run(program, options=["--no-torch"])[0].stdout == "False\n"
    assert run(program)[0].stdout == "True\n"
