"""The published client package, unmodified from PyPI, works with this daemon: every call that it has. And programs
written for it work with the package of python/."""
import json
import os
import pathlib
import subprocess
import sys

import pytest

from projects import client_project

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGES = ["gpuemu==0.1.0", "numpy", "pynng"]


def published():
    """A Python that has the package: of build/published-venv, made from PyPI at the first run."""
    home = pathlib.Path(os.environ.get("GPUEMU_PUBLISHED_VENV", ROOT / "build/published-venv"))
    path = home / "bin/python"
    if not (path.exists() and subprocess.run([path, "-c", "import gpuemu"], capture_output=True).returncode == 0):
        subprocess.run([sys.executable, "-m", "venv", home], check=True, capture_output=True)
        pip = subprocess.run([path, "-m", "pip", "install", "-q", "--retries", "1", *PACKAGES],
                             capture_output=True, text=True, timeout=600)
        if pip.returncode != 0:
            pytest.skip(f"PyPI cannot be reached for {', '.join(PACKAGES)}: {pip.stderr.strip()[-300:]}")
    return path, {}


def ours():
    pytest.importorskip("pynng")
    return sys.executable, {"PYTHONPATH": str(ROOT / "python")}


@pytest.fixture(scope="module", params=[published, ours], ids=lambda make: make.__name__)
def saw(new_home, request):
    python, environment = request.param()
    home = new_home(client_project())
    home.start()
    inherited = {key: value for key, value in home.env.items() if key != "PYTHONPATH"}
    done = subprocess.run([python, ROOT / "tests/e2e/published_client.py", home.socket,
                           home.project / "twice.ptx"], capture_output=True,
                          text=True, timeout=300, env={**inherited, **environment}, cwd=home.home)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_it_connects(saw):
    assert saw["ping"]["protocol_version"] == 1


def test_every_kind_of_failure_arrives(saw):
    assert saw["right"] == saw["kwargs"] == []
    assert {name: saw[name][:1] for name in ("tolerance", "nan", "inf", "shape", "dtype")} == {
        "tolerance": ["ToleranceExceeded"], "nan": ["NaNDetected"], "inf": ["InfDetected"],
        "shape": ["ShapeMismatch"], "dtype": ["DTypeMismatch"]}
    assert saw["stats"] == [1, 1, 4]
    assert "Validation failed for 'scale'" in saw["context manager"]


def test_results_are_stored_listed_and_reproduced(saw):
    assert saw["stored"] == [False, True] and saw["failures"] == [True, 3]
    assert saw["reproduced"] == [77, [[1, 2], [3, 4]], "float32"]


def test_cases_are_drawn_and_judged_for_kernels_that_the_client_runs(saw):
    assert saw["case"] == [True, True, True] and saw["batch"] == 7
    assert saw["client side, right"] == [10, 10, 0]
    assert saw["client side, wrong"] == [1, 1, False]
    assert saw["client side, crash"] == [3, "ExecutionError"]


def test_the_daemon_fuzzes_reproduces_and_minimizes(saw):
    assert saw["fuzz"] == [3, 8, 8, True, ["ToleranceExceeded"]]
    assert saw["fuzz reproduced"] == [True, ["x"]]
    assert saw["minimized"] == [True, False, True]


def test_ptx_is_linted_as_each_kernel_of_the_project(saw):
    assert saw["lint"] == [2, True, ["kernel_name", "metrics", "passed"], True]


def test_errors_are_the_client_s_own(saw):
    assert "nothing" in saw["unknown op"] and "404" in saw["unknown seed"]


MODULES = ["gpuemu", "gpuemu.client", "gpuemu.rng", "gpuemu.tolerances", "gpuemu.validate",
           "gpuemu.frameworks", "gpuemu.frameworks.base"]
NO_API = {"T", "TYPE_CHECKING"}


def names_of(make):
    python, environment = make()
    clean = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run([python, ROOT / "tests/e2e/published_names.py", *MODULES], capture_output=True, text=True,
                          env={**clean, **environment})
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_every_public_name_is_there_and_takes_the_same_arguments():
    theirs, here = names_of(published), names_of(ours)
    missing = []
    for module, names in theirs.items():
        for name, value in names.items():
            if name in NO_API:
                continue
            mine = here[module].get(name)
            if mine is None:
                missing.append(f"{module}.{name}")
                continue
            calls = [(name, value["call"], mine["call"])]
            calls += [(f"{name}.{one}", call, mine["members"].get(one, "absent")) for one, call in value["members"].items()]
            missing += [f"{module}.{what}{wanted}: {got}" for what, wanted, got in calls
                        if got == "absent" or (wanted and (got or [])[:len(wanted)] != wanted)]
    assert len(theirs["gpuemu"]) > 25 and not missing, missing
