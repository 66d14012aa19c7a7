"""gpuemu run: the start-up hook of Python, also in isolated interpreters, virtual environments and their children."""
import os
import subprocess
import sys
import textwrap

import pytest

from conftest import ROOT
from test_run import run

SHOW = "import sys; print(sum('gpuemu' in type(one).__module__ for one in sys.meta_path))"


@pytest.fixture(scope="module")
def venv(tmp_path_factory):
    """A virtual environment with the package, as a wheel installs it: the package and gpuemu-run.pth beside it."""
    folder = tmp_path_factory.mktemp("venv")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True, timeout=120)
    (packages,) = folder.glob("lib/python*/site-packages")
    (packages / "gpuemu").symlink_to(ROOT / "python/gpuemu")
    (packages / "gpuemu-run.pth").write_bytes((ROOT / "python/gpuemu-run.pth").read_bytes())
    return folder / "bin/python"


@pytest.mark.parametrize("words", [[], ["-I"], ["-E"], ["-I", "-B"]], ids=" ".join)
def test_every_python_of_an_environment_with_the_package_is_prepared_once(venv, words):
    done = run("--", venv, *words, "-c", SHOW)
    assert done.stdout == "1\n", done.stdout + done.stderr
    child = f"import subprocess, sys; subprocess.run([sys.executable, '-I', '-c', {SHOW!r}], check=True)"
    assert run("--", venv, *words, "-c", child).stdout == "1\n"


def test_nothing_is_prepared_without_gpuemu_run_and_no_framework_where_it_is_told_not_to(venv):
    plain = {key: value for key, value in os.environ.items() if key != "GPUEMU_RUN"}
    assert subprocess.run([venv, "-c", SHOW], capture_output=True, text=True, timeout=60, env=plain).stdout == "0\n"
    names = "import sys; print(*sorted(name for one in sys.meta_path for name in getattr(one, 'prepared', ())))"
    assert run("--", venv, "-I", "-c", names).stdout == "cuda.pathfinder numba.cuda torch triton\n"
    # Compilers that make machine code are no use to anybody here.
    assert run("--no-torch", "--no-triton", "--no-numba", "--", venv, "-I", "-c", names).stdout == "cuda.pathfinder\n"


def test_a_package_that_is_not_installed_is_missing_as_without_gpuemu(venv):
    done = run("--", venv, "-c", "import cuda.pathfinder")
    assert done.returncode == 1 and "ModuleNotFoundError: No module named 'cuda'" in done.stderr and "gpuemu" not in done.stderr.splitlines()[-2]


def test_an_environment_without_the_package_is_prepared_by_its_path(tmp_path):
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path], check=True, timeout=120)
    assert run("--", tmp_path / "bin/python", "-c", SHOW).stdout == "1\n"


def test_an_isolated_python_finds_the_driver(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent("""
        import ctypes
        cuda, name = ctypes.CDLL("libcuda.so.1"), ctypes.create_string_buffer(64)
        assert cuda.cuInit(0) == 0 and cuda.cuDeviceGetName(name, 64, 0) == 0
        print(name.value.decode())
    """))
    assert run("--arch", "sm_90", "--", sys.executable, "-I", program).stdout == "gpuemu sm_90\n"
