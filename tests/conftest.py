"""What every folder of tests shares: the option --slow, where the binaries are, the process of gpuemu.Kernel and the CUDA compiler."""
import os
import pathlib
import shutil
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[1]
BIN = pathlib.Path(os.environ.get("GPUEMU_BIN", ROOT / "build/release/bin"))
# pytest rewrites 30,000 lines before the first test, in each of its processes; what came of it is kept. Nothing that a test starts
# inherits this.
sys.pycache_prefix, sys.dont_write_bytecode = str(ROOT / "build" / "pycache"), False


def pytest_addoption(parser):
    parser.addoption("--slow", action="store_true", help="run the tests marked slow too")


def pytest_configure(config):
    # The programs under test start the first python3 of the PATH hundreds of times. One that stands for another, as pyenv's do,
    # costs more each time than all that the script behind it does.
    if sys.prefix != sys.base_prefix:
        os.environ["PATH"] = f"{pathlib.Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    # What scripts/setup.sh fetched from PyPI is in no PATH, where pages, examples and exported cases look for it.
    if not shutil.which("nvcc") and (nvcc := find_nvcc()):
        os.environ["PATH"] += os.pathsep + str(nvcc.parent)
    config.addinivalue_line("markers", "slow: takes long; runs with --slow (scripts/nightly.sh)")


# These take longest. They begin first, so that none of them runs alone at the end.
LONGEST = ("test_init_kernels", "test_ci", "test_docs", "test_incomplete", "test_lint", "test_gates", "test_quality", "test_undeclared",
           "test_damage", "test_compile_together", "test_sizes", "test_ci_gaps", "test_storage", "test_hostile_folders",
           "test_shared_daemon", "test_kernels", "test_bad_input", "test_program_passes", "test_mutate", "test_runtime_registering",
           "test_ci_regressions", "test_builtin", "test_lint_agrees", "test_types")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    place = {name: number for number, name in enumerate(LONGEST)}
    items.sort(key=lambda item: place.get(item.path.stem, len(LONGEST)))
    if config.getoption("--slow"):
        return
    for item in items:
        if item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.skip(reason="slow: runs with --slow (scripts/nightly.sh)"))


@pytest.fixture(scope="module")
def device_program():
    """The process behind gpuemu.Kernel is the one that was built."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GPUEMU_DEVICE", str(BIN / "gpuemu-device"))
        yield


def find_nvcc():
    candidates = [pathlib.Path(os.environ.get("CUDA_HOME", "/nowhere")) / "bin/nvcc",
                  pathlib.Path(shutil.which("nvcc") or "/nowhere"), pathlib.Path("/usr/local/cuda/bin/nvcc"),
                  *sorted((ROOT / "build/cuda").rglob("bin/nvcc"))]
    return next((path for path in candidates if path.exists()), None)


@pytest.fixture(scope="session")
def nvcc_program():
    """The path of nvcc; without one the test is skipped."""
    found = find_nvcc()
    if found is None:
        pytest.skip("no nvcc in CUDA_HOME, PATH, /usr/local/cuda or build/cuda: run scripts/setup.sh")
    return found
