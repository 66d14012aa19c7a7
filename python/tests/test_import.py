"""Tests the cost of importing the package, and that every name is available nevertheless."""

import ast
import importlib
import inspect
import json
import os
import pathlib
import pickle
import resource
import subprocess
import sys

import gpuemu

ROOT = pathlib.Path(__file__).resolve().parents[2]
ENV = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
LOADED = "; import sys, json; print(json.dumps(sorted({one.split('.')[0] for one in sys.modules})))"
HEAVY = {"torch", "jax", "jaxlib", "tensorflow", "scipy", "matplotlib", "pynng", "ml_dtypes", "tqdm", "pytest", "hypothesis",
         "tomlkit", "triton", "numba", "asyncio"}  # fmt: skip


def loaded(code):
    """Returns the packages that are loaded after the code, except those of a bare interpreter."""
    found = [set(json.loads(subprocess.run([sys.executable, "-c", text + LOADED], env=ENV, capture_output=True, text=True, check=True).stdout))
             for text in (code, "pass")]
    return found[0] - found[1]


def spent(code, rounds=5):
    """Returns the processor time of a fresh interpreter in seconds, the minimum of several."""
    found = []
    for _ in range(rounds):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", code], env=ENV, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        found.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(found)


def test_importing_loads_no_other_package_and_a_client_only_numpy():
    assert not loaded("import gpuemu") & (HEAVY | {"numpy"})
    used = loaded("import gpuemu; gpuemu.Client, gpuemu.check, gpuemu.Kernel, gpuemu.calibrate_tolerance, gpuemu.values")
    assert "numpy" in used and not used & HEAVY


def test_importing_costs_a_fraction_of_numpy_and_a_client_not_much_more_than_numpy():
    nothing, numpy = spent("pass"), spent("import numpy")
    assert spent("import gpuemu") - nothing < 0.5 * (numpy - nothing)
    assert spent("import gpuemu; gpuemu.Client") - nothing < 2 * (numpy - nothing)


def test_every_public_name_is_in_the_table_and_where_it_says():
    own = {"get_jax_adapter", "get_pytorch_adapter", "get_tensorflow_adapter"}
    assert set(gpuemu.__all__) == set(gpuemu._HOMES) | own and len(gpuemu.__all__) == len(set(gpuemu.__all__))
    for name, home in gpuemu._HOMES.items():
        assert getattr(gpuemu, name) is getattr(importlib.import_module(f"gpuemu.{home}"), name)
    assert set(gpuemu.__all__) <= set(dir(gpuemu))


def test_modules_are_attributes_of_the_package():
    code = "import gpuemu; print(*(f'{one}={getattr(gpuemu, one).__name__}' for one in sorted(gpuemu._MODULES) if one != 'strategies'))"
    said = subprocess.run([sys.executable, "-c", code], env=ENV, capture_output=True, text=True, check=True).stdout.split()
    assert said == sorted(f"{one}=gpuemu.{home}" for one, home in gpuemu._MODULES.items() if one != "strategies")


# Modules that programs import, of the first release and of the documentation, each with one of its names.
PATHS = {
    "artifacts": "ArtifactMetrics", "ci": "CiSummary", "client": "Client", "device": "Device", "errors": "ClientError",
    "frameworks": "adapter", "frameworks.base": "FrameworkAdapter", "installed": "examples", "judge": "compare", "layouts": "place",
    "legacy": "case", "on_ray": "check", "op_attributes": "gemm", "pytest_plugin": "pytest_configure", "records": "TestReport",
    "replies": "ExplainResult", "reproduce": "inputs", "rng": "Stream", "strategies": "tensors", "tolerances": "ToleranceConfig",
    "validate": "validate_op", "values": "fill_input",
}  # fmt: skip


def test_modules_that_moved_into_rooms_are_imported_by_their_public_paths():
    for path, name in PATHS.items():
        code = f"from gpuemu.{path} import {name} as one; import gpuemu.{path}, sys; assert one is getattr(sys.modules['gpuemu.{path}'], '{name}')"
        done = subprocess.run([sys.executable, "-c", code], env=ENV, capture_output=True, text=True)
        assert done.returncode == 0 or "pip install" in done.stderr, path + done.stderr
    from gpuemu.generate import values
    from gpuemu.values import fill_input

    assert fill_input is values.fill_input and sys.modules["gpuemu.values"] is values


def test_no_module_needs_its_user():
    """Imports in functions and for type checkers count, too: modules that import each other in a circle have no order."""
    package = ROOT / "python/gpuemu"
    names = {path: ".".join(("gpuemu", *path.relative_to(package).with_suffix("").parts)).removesuffix(".__init__") for path in package.rglob("*.py")}
    modules, needs = set(names.values()), {}
    for path, module in names.items():
        needs[module] = set()
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                needs[module] |= {one.name for one in node.names} & modules
            elif isinstance(node, ast.ImportFrom):
                home = module if path.name == "__init__.py" else module.rpartition(".")[0]
                base = node.module or "" if not node.level else home + (f".{node.module}" if node.module else "")
                inner = {f"{base}.{one.name}" for one in node.names} & modules
                needs[module] |= inner or {base} & modules
    del needs["gpuemu"]  # It names every module, and is loaded before any of them.
    while leaves := {module for module, used in needs.items() if not used & needs.keys()}:
        needs = {module: used for module, used in needs.items() if module not in leaves}
    assert not needs, needs


def test_check_and_validate_are_functions_whatever_is_imported_first():
    for first in ("import gpuemu.validate", "from gpuemu.validate import validate_op", "import gpuemu.check.blocks",
                  "from gpuemu import rng", "import gpuemu; gpuemu.validate_op", "from gpuemu.validate import *",
                  "from gpuemu.check import judge", "from gpuemu.check.checking import Op", "import gpuemu.judge"):
        code = f"{first}; import gpuemu; print(gpuemu.validate.__name__, gpuemu.check.__name__, callable(gpuemu.validate), callable(gpuemu.check))"
        done = subprocess.run([sys.executable, "-c", code], env=ENV, capture_output=True, text=True)
        assert done.stdout.split() == ["validate", "check", "True", "True"], first + done.stderr
    module = sys.modules["gpuemu.validate"]
    from gpuemu.check import blocks

    assert module.__all__ == blocks.__all__ and all(getattr(module, one) is getattr(blocks, one) for one in module.__all__)
    assert inspect.ismodule(module) and not hasattr(module, "no_such_name")
    import gpuemu.validate as bound  # Python imports the attribute of the package with that name: the function.

    assert all(getattr(bound, one) is getattr(blocks, one) for one in module.__all__ if one != "validate")


def test_names_survive_pickling_and_wrong_ones_are_told():
    config = gpuemu.FuzzConfig(7)
    assert pickle.loads(pickle.dumps(config)) == config
    try:
        gpuemu.no_such_name
    except AttributeError as problem:
        assert "no attribute 'no_such_name'" in str(problem)
    else:
        raise AssertionError("there is no such name")
