"""gpuemu.check draws the cases that `gpuemu test` draws, and gives the daemon's verdicts on them."""
import json

import numpy as np
import pytest

check = pytest.importorskip("gpuemu")

KERNELS = {
    "swallows": ("x[i] != x[i] ? 0.0f : x[i] + x[i]", lambda x: np.where(np.isnan(x), np.float32(0), x + x)),
    "saturates": ("fminf(fmaxf(x[i] + x[i], -3.4028235e38f), 3.4028235e38f) + (x[i] != x[i] ? x[i] : 0.0f)",
                  lambda x: np.where(np.isnan(x), x, np.clip(x + x, -np.float32(3.4028235e38), np.float32(3.4028235e38)))),
    "scales": ("x[i] * 2.02f", lambda x: x * np.float32(2.02)),
    "right": ("x[i] + x[i]", lambda x: x + x),
}
PROJECT = """
[[kernels]]
name = "{name}"
source = "{name}.cu"
reference = "double.py"
inputs = [{{ name = "x", shape = ["rows", "cols"] }}]
outputs = [{{ name = "y", shape = ["rows", "cols"] }}]
dims = {{ rows = [1, 20], cols = [1, 70] }}
launches = [{{ entry = "{name}", grid = ["cdiv(rows * cols, 128)"], block = [128], args = ["x", "y", "i32:rows * cols"] }}]
"""
CASES = 8
# Of the default ones those that read no numbers from a kernel, which a Python function does not have.
STRATEGIES = ["bits_uniform", "normal", "special", "one_nan", "one_inf", "small_int"]

OF_NUMBERS = {3, 17}  # thresholds, judge/cases/order.cc


@pytest.fixture
def project(gpuemu):
    for path in gpuemu.project.iterdir():
        if path.name != "gpuemu.toml" and path.is_file():
            path.unlink()
    (gpuemu.project / "gpuemu.toml").write_text(f"[validation]\nstrategies = {json.dumps(STRATEGIES)}\n" + "".join(PROJECT.format(name=name) for name in KERNELS))
    (gpuemu.project / "double.py").write_text("def reference(x):\n    return x + x\n")
    for name, (formula, _) in KERNELS.items():
        (gpuemu.project / f"{name}.cu").write_text(
            f'extern "C" __global__ void {name}(const float* x, float* y, int n) {{\n'
            f"  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) y[i] = {formula};\n}}\n")
    return gpuemu


def test_the_same_cases_fail_for_the_same_reasons(project):
    for seed in (3, 4, 5):
        done = project.run("test", *KERNELS, "--cases", CASES, "--seed", seed, "--format", "json")
        assert done.returncode == 1, done.stdout + done.stderr
        daemon = {op["op_name"]: op for op in json.loads(done.stdout)["ops"]}
        for name, (_, function) in KERNELS.items():
            found = check.check(lambda x: function(x), lambda x: x + x, inputs={"x": check.Tensor["rows", "cols"]}, cases=CASES, seed=seed, strategies=STRATEGIES,
                                dims={"rows": (1, 20), "cols": (1, 70)}, name=name, fail_fast=False, raise_on_failure=False)

            def told(failures):
                # Of a function no numbers are known: where the kernel's are drawn, it has other cases.
                return {one["iteration"]: (one["dims"], one["value_strategy"], *one["kinds"]) for one in failures
                        if one["iteration"] not in OF_NUMBERS}

            own = told({"iteration": one.repro_info.iteration, "dims": one.repro_info.dims, "value_strategy": one.repro_info.value_strategy,
                        "kinds": [(each.kind, each.index, each.message) for each in one.failures]} for one in found.failures)
            theirs = told({**one["repro_info"], "kinds": [(each["kind"], each.get("index"), each["message"]) for each in one["failures"]]}
                          for one in daemon[name]["failures"])
            assert own == theirs, name
            assert (name == "right") == (not own)


def gelu(x: check.Tensor["rows", "cols"]):
    inner = np.float32(0.7978846) * (x + np.float32(0.044715) * x * x * x)
    return np.float32(0.5) * x * (np.float32(1) + np.tanh(inner))


def off_gelu(x: check.Tensor["rows", "cols"]):
    return gelu(x) * np.float32(1.001)


def exact_gelu(x):
    return 0.5 * x * (1 + np.tanh(0.7978845608028654 * (x + 0.044715 * x**3)))


def test_what_a_customary_test_accepts_is_a_warning():
    """1 + tanh(x) cancels, which no change of the inputs explains."""
    found = check.check(gelu, exact_gelu, cases=60, seed=1, raise_on_failure=False)
    assert found.failed == 0 and any("assert_close" in note for note in found.notes), found
    assert check.check(off_gelu, exact_gelu, cases=60, seed=1, raise_on_failure=False).failed > 0
