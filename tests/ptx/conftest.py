"""PTX as compilers emit it, against the census tool: what is compiled, with what, and what is left out where it cannot be."""
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("GPUEMU_BIN", ROOT / "build/release/bin"))
# Pinned: newer releases of these emit other PTX, and what they emit is the subject.
PACKAGES = ["triton==3.9.0", "numba-cuda==0.30.4", "nvidia-cuda-nvrtc==13.0.*", "numpy"]


def pytest_addoption(parser):
    try:
        parser.addoption("--slow", action="store_true", help="run the tests marked slow too")
    except ValueError:
        pass  # tests/e2e has added it in this run.


def pytest_configure(config):
    config.addinivalue_line("markers", "slow: takes long; runs with --slow (scripts/nightly.sh)")


def pytest_collection_modifyitems(config, items):
    if config.getoption("--slow"):
        return
    for item in items:
        if item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.skip(reason="slow: runs with --slow (scripts/nightly.sh)"))


@pytest.fixture(scope="session")
def census():
    """Runs gpuemu-ptx-census and gives the finished process."""
    program = BIN / "gpuemu-ptx-census"
    assert program.exists(), f"{program} is not built; GPUEMU_BIN names the folder"
    return lambda *args: subprocess.run([program, *map(str, args)], capture_output=True, text=True, timeout=300)


@pytest.fixture(scope="session")
def nvcc():
    """Compiles one source to PTX; the caller gets the path."""
    candidates = [pathlib.Path(os.environ.get("CUDA_HOME", "/nowhere")) / "bin/nvcc",
                  pathlib.Path(shutil.which("nvcc") or "/nowhere"), pathlib.Path("/usr/local/cuda/bin/nvcc"),
                  *sorted((ROOT / "build/cuda").rglob("bin/nvcc"))]
    found = next((path for path in candidates if path.exists()), None)
    if found is None:
        pytest.skip("no nvcc in CUDA_HOME, PATH, /usr/local/cuda or build/cuda: run scripts/setup.sh")

    def compile_to(folder, source, sm):
        made = folder / f"{source.stem}_sm{sm}.ptx"
        text = source.read_text()
        flags = [flag for line in text.splitlines() if line.startswith("// flags: ") for flag in line[10:].split()]
        command = [found, "-std=c++17", "--expt-relaxed-constexpr", "-lineinfo", *flags, f"-arch=compute_{sm}",
                   "-I", ROOT, "-ptx", source, "-o", made]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, f"{source.name} for sm_{sm}: {done.stderr[-2000:]}"
        return made

    return compile_to


@pytest.fixture(scope="session")
def compilers():
    """A Python that has Triton and Numba: of build/ptx-venv, made from PyPI at the first run."""
    home = pathlib.Path(os.environ.get("GPUEMU_PTX_VENV", ROOT / "build/ptx-venv"))
    python = home / "bin/python"
    probe = [str(python), "-c", "import triton, numba.cuda"]
    if not (python.exists() and subprocess.run(probe, capture_output=True).returncode == 0):
        made = subprocess.run([sys.executable, "-m", "venv", str(home)], capture_output=True, text=True)
        if made.returncode != 0:
            pytest.skip(f"no virtual environment for Triton and Numba: {made.stderr.strip()[-300:]}")
        pip = subprocess.run([str(python), "-m", "pip", "install", "-q", "--retries", "1", *PACKAGES],
                             capture_output=True, text=True, timeout=900)
        if pip.returncode != 0:
            pytest.skip(f"PyPI cannot be reached for {', '.join(PACKAGES)}: {pip.stderr.strip()[-300:]}")
    return python
