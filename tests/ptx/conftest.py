"""PTX as compilers emit it, against the census tool: what is compiled, with what, and what is left out where it cannot be."""
import fcntl
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("GPUEMU_BIN", ROOT / "build/release/bin"))
# Pinned: newer releases of these emit other PTX, and what they emit is the subject.
PACKAGES = ["triton==3.9.0", "numba-cuda==0.30.4", "nvidia-cuda-nvrtc==13.0.*", "nvidia-cuda-runtime==13.0.*", "numpy"]


@pytest.fixture(scope="session")
def census():
    """Runs gpuemu-ptx-census and gives the finished process."""
    program = BIN / "gpuemu-ptx-census"
    assert program.exists(), f"{program} is not built; GPUEMU_BIN names the folder"
    return lambda *args: subprocess.run([program, *map(str, args)], capture_output=True, text=True, timeout=300)


@pytest.fixture(scope="session")
def nvcc(nvcc_program):
    """Compiles one source to PTX; the caller gets the path."""
    def compile_to(folder, source, sm):
        made = folder / f"{source.stem}_sm{sm}.ptx"
        text = source.read_text()
        flags = [flag for line in text.splitlines() if line.startswith("// flags: ") for flag in line[10:].split()]
        command = [nvcc_program, "-std=c++17", "--expt-relaxed-constexpr", "-lineinfo", *flags, f"-arch=compute_{sm}",
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
    probe = [str(python), "-c", "import triton, numba.cuda, importlib.metadata; importlib.metadata.version('nvidia-cuda-runtime')"]
    home.parent.mkdir(parents=True, exist_ok=True)
    with open(f"{home}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # Several processes of pytest-xdist come here at once.
        if not (python.exists() and subprocess.run(probe, capture_output=True).returncode == 0):
            # Numba loads libcudart, which a machine without a toolkit has from this wheel alone.
            made = subprocess.run([sys.executable, "-m", "venv", str(home)], capture_output=True, text=True)
            if made.returncode != 0:
                pytest.skip(f"no virtual environment for Triton and Numba: {made.stderr.strip()[-300:]}")
            pip = subprocess.run([str(python), "-m", "pip", "install", "-q", "--retries", "1", *PACKAGES],
                                 capture_output=True, text=True, timeout=900)
            if pip.returncode != 0:
                pytest.skip(f"PyPI cannot be reached for {', '.join(PACKAGES)}: {pip.stderr.strip()[-300:]}")
    return python
