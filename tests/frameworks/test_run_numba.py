"""gpuemu run with programs of Numba, as they are written for a GPU."""
import importlib.util
import json
import os
import pathlib
import subprocess
import sys

import pytest

from conftest import BIN, ROOT

PROGRAMS = pathlib.Path(__file__).with_name("numba_programs")
OF_TESTS = pathlib.Path(os.environ.get("GPUEMU_PTX_VENV", ROOT / "build/ptx-venv")) / "bin/python"  # Made by tests/ptx.
PYTHON = sys.executable if importlib.util.find_spec("numba_cuda") is not None else OF_TESTS

if not pathlib.Path(PYTHON).exists():
    pytest.skip("numba-cuda is not installed", allow_module_level=True)


def run(tmp_path, program, *options):
    """Runs a program of numba_programs below gpuemu run: the finished process and the report."""
    report = tmp_path / "report.json"
    command = [BIN / "gpuemu", "run", "--format", "json", "--output", report, *options, "--", PYTHON, PROGRAMS / program]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=600)
    return done, json.loads(report.read_text())


def line_of(program, comment):
    lines = (PROGRAMS / program).read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if line.endswith(f"# {comment}"))


def test_an_unmodified_program_uses_what_numba_has(tmp_path):
    done, report = run(tmp_path, "features.py")
    assert done.returncode == 0 and done.stdout.endswith("passed\n"), done.stdout + done.stderr[-3000:]
    assert report["findings"] == [] and report["unsupported"] == []
    assert "ok cooperative\n" in done.stdout  # Links the device runtime library.


def test_an_access_out_of_bounds_is_found_at_its_python_line_with_the_launch_and_the_allocation(tmp_path):
    done, report = run(tmp_path, "unguarded.py")
    assert done.returncode == 1 and "CUDA_ERROR_ILLEGAL_ADDRESS" in done.stderr
    found = report["findings"][0]
    assert found["kind"] == "OutOfBounds" and found["kernel"].startswith("__main__::add_one(Array<float")
    assert (pathlib.Path(found["file"]).name, found["line"]) == ("unguarded.py", line_of("unguarded.py", "fault"))
    assert found["host"]["call"] == "kernel[grid, block](...)"
    assert found["host"]["stack"][0] == {"function": "main", "file": str(PROGRAMS / "unguarded.py"), "line": line_of("unguarded.py", "launched")}
    assert found["allocation"]["stack"][0]["line"] in (line_of("unguarded.py", "allocated"), line_of("unguarded.py", "allocated") + 1)


def test_optimization_at_link_time_is_left_out_which_is_said_once(tmp_path):
    done, report = run(tmp_path, "link_time.py")
    assert done.returncode == 0 and done.stdout == "passed\n" and report["findings"] == report["unsupported"] == [], done.stderr[-3000:]
    assert done.stderr.count("kernels with lto=True are linked as PTX, without optimization at link time\n") == 1, done.stderr


def test_numba_that_is_left_as_it_is_links_intermediate_code_which_is_refused_by_name(tmp_path):
    done, report = run(tmp_path, "unguarded.py", "--no-numba")
    assert done.returncode == 1 and "gpuemu links PTX alone: <cudapy-ltoir> has none" in done.stderr
    assert report["unsupported"] == [{"call": "cuLinkAddData of machine code", "count": 1}]
