"""gpuemu.check and `gpuemu test` agree on kernels that declare only shapes and a reference."""
import importlib.util
import inspect
import tomllib

import numpy as np
import pytest

import suite

gpuemu = pytest.importorskip("gpuemu")
pytestmark = pytest.mark.usefixtures("device_program")
FOLDER = suite.HERE / "undeclared"
SETTINGS = tomllib.loads((FOLDER / "gpuemu.toml").read_text())
KERNELS = {one["name"]: one for one in SETTINGS["kernels"] if one["source"] == "steps.cu"}
SEEDS = (1, 2)


def reference_of(kernel):
    spec = importlib.util.spec_from_file_location(kernel["name"], FOLDER / kernel["reference"])
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.reference


def value(expression, dims):
    return eval(str(expression), {"cdiv": lambda a, b: -(-a // b)}, dims)  # noqa: S307 (of the suite's own gpuemu.toml)


def dims_of(kernel, arrays):
    dims = {}
    for spec in kernel["inputs"]:
        dims.update((name, size) for name, size in zip(spec["shape"], arrays[spec["name"]].shape) if isinstance(name, str))
    return dims


def function_of(kernel, output):
    """A Python function that runs the kernel and returns one of its outputs."""
    [launch] = kernel["launches"]
    made = gpuemu.Kernel(FOLDER / kernel["source"], launch["entry"])

    def call(**inputs):
        dims = dims_of(kernel, inputs)
        arrays = {one["name"]: np.full([value(size, dims) for size in one["shape"]], np.nan, np.float32) for one in kernel["outputs"]}
        arguments = [{**inputs, **arrays}[one] if ":" not in one else np.int32(value(one.partition(":")[2], dims)) for one in launch["args"]]
        sizes = [tuple(value(size, dims) for size in launch[key]) for key in ("grid", "block")]
        made[(*sizes, value(launch.get("shared", 0), dims))](*arguments)
        return arrays[output]

    return call


def tensor_of(spec):
    bounds = spec.get("range")
    # Python cannot express a bound that depends on a dim; the smallest one is valid for all sizes.
    return gpuemu.Tensor(tuple(spec["shape"]), spec.get("dtype"), bounds and (bounds[0], bounds[0] if isinstance(bounds[1], str) else bounds[1]))


def checked(name, seed):
    """The first finding of gpuemu.check in any output; "" when there is none."""
    kernel = KERNELS[name]
    whole = reference_of(kernel)
    for number, output in enumerate(one["name"] for one in kernel["outputs"]):

        def reference(**inputs):
            told = whole(**inputs)
            return told[output] if isinstance(told, dict) else told[number] if isinstance(told, tuple) else told

        found = gpuemu.check(function_of(kernel, output), reference, inputs={one["name"]: tensor_of(one) for one in kernel["inputs"]},
                             dims=kernel["dims"], cases=suite.CASES, seed=seed, name=name, raise_on_failure=False)
        assert inspect.isfunction(whole) and found.compared
        if found.failed:
            return f"{output}, case {found.failures[0].repro_info}: {found.failures[0].failures[0].message}"
    return ""


@pytest.mark.parametrize("seed", [pytest.param(seed, marks=[] if seed == SEEDS[0] else pytest.mark.slow) for seed in SEEDS])
def test_the_daemon_and_gpuemu_check_flag_the_same_kernels(nvcc_program, seed):
    assert len(KERNELS) == 16
    with suite.Installation(FOLDER, "emulator") as installation:
        daemon = {one.op: bool(one.failures) for one in installation.test(list(KERNELS), suite.CASES, seed)[0]}
    own = {name: checked(name, seed) for name in KERNELS}
    assert {name: bool(told) for name, told in own.items()} == daemon, own
    assert daemon == {name: name.startswith("bad_") for name in KERNELS}
