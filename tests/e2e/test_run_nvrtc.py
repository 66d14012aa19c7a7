"""libnvrtc of gpuemu run: what a program compiles to machine code is PTX, with lines, that runs."""
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

from conftest import BIN, ROOT

PROGRAM = pathlib.Path(__file__).parent / "run/compile_nvrtc.py"


def folder_of_nvrtc():
    compiler = shutil.which("nvcc")
    toolkits = [ROOT / "build/cuda/nvidia/cu13", *([pathlib.Path(compiler).resolve().parents[1]] if compiler else []), pathlib.Path("/usr/local/cuda")]
    return next((str(found.parent) for toolkit in toolkits for found in toolkit.glob("lib*/libnvrtc.so.13")), None)


FOLDER = folder_of_nvrtc()
needs_nvrtc = pytest.mark.skipif(FOLDER is None, reason="no libnvrtc.so.13")


def run(*words, **environment):
    env = {**os.environ, "LD_LIBRARY_PATH": FOLDER or "", **environment}
    return subprocess.run([BIN / "gpuemu", "run", "--", sys.executable, PROGRAM, *words], capture_output=True, text=True, timeout=120, env=env)


@needs_nvrtc
@pytest.mark.parametrize("how, name", [("machine code", "CUBIN"), ("two words", "CUBIN"), ("text", "PTX"), ("link time", "LTOIR")])
def test_what_a_program_asks_nvrtc_for_is_made_and_runs(how, name):
    done = run(how)
    assert (done.returncode, done.stdout) == (0, f"{name} 198.0\n"), done.stdout + done.stderr
    assert "0 findings in 1 kernel, 1 launch" in done.stderr and "not supported" not in done.stderr


@needs_nvrtc
def test_nvidias_library_finds_its_built_in_functions_beside_it():
    done = run("text", LD_LIBRARY_PATH="", GPUEMU_RUN_NVRTC=FOLDER)
    assert (done.returncode, done.stdout) == (0, "PTX 198.0\n"), done.stdout + done.stderr


@needs_nvrtc
def test_a_finding_names_the_line_of_the_source_that_nvrtc_got():
    done = run("machine code", "outside")
    assert (done.returncode, done.stdout) == (1, "CUBIN 700\n"), done.stderr
    assert "error[OutOfBounds]: writes 4 bytes" in done.stderr and "fill.cu:3, kernel fill" in done.stderr, done.stderr


@needs_nvrtc
def test_nvrtcs_own_errors_reach_the_program():
    done = run("wrong")
    assert done.returncode == 3 and "NVRTC_ERROR_INVALID_OPTION" in done.stdout and "no-such-option" in done.stdout, done.stdout + done.stderr


@pytest.mark.skipif(any(pathlib.Path(folder, "libnvrtc.so.13").exists() for folder in ("/usr/local/cuda/lib64", "/usr/lib/x86_64-linux-gnu")),
                    reason="this machine has a libnvrtc.so.13 that cannot be hidden")  # fmt: skip
def test_without_nvidias_library_it_says_what_to_install_and_where_it_looked(tmp_path):
    done = run("text", LD_LIBRARY_PATH=str(tmp_path), PATH="/usr/bin:/bin", CUDA_HOME="", CUDA_PATH="")
    assert done.returncode == 4 and done.stdout == "no program 11\n", done.stdout + done.stderr
    assert "gpuemu: cannot find NVIDIA's libnvrtc.so.13" in done.stderr and "pip install nvidia-cuda-nvrtc" in done.stderr
    assert done.stderr.count(f"\n  {tmp_path}\n") == 1 and done.stderr.count("cannot find") == 1
