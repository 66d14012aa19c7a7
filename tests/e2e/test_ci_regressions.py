"""One repository in which a change has planted one regression of every class: the gate fails with exactly these."""
import json

import pytest

from conftest import cuda_tool
from test_lint import WIDE
from test_reports import SCHEMAS

KERNEL = """extern "C" __global__ void NAME(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  BODY
}
"""
GOOD = "if (i < n) y[i] = 2.0f * x[i];"
SHARED = "__shared__ float s[{}]; s[threadIdx.x] = x[i]; __syncthreads(); if (i < n) y[i] = s[threadIdx.x ^ 1];"
# Name -> what the change makes of the body, and the finding of its op.
WRONG = {
    "tolerance": ("if (i < n) y[i] = 2.1f * x[i];", "ToleranceExceeded"),
    "bounds": ("if (i <= n) y[i] = 2.0f * x[i];", "OutOfBounds"),
    "nans": ("if (i < n) y[i] = x[i] - x[i] + 2.0f * x[i] + (i == 0 ? nanf(\"\") : 0.0f);", "NaNDetected"),
}
# Name -> body before and after, the limit, and its violation; these kernels are measured and not run.
LIMITS = {
    "registers": (GOOD, "if (i < n) y[i] = tgammaf(x[i]) * erfcf(x[i + 1]);", "max_registers = 16", "ExcessiveRegisters"),
    "local": (GOOD, "float b[64] = {}; for (int k = 0; k < n; ++k) b[(int)x[k] & 63] += x[k]; if (i < n) y[i] = b[(int)x[i] & 63];",
              "max_registers = 255\nmax_local_memory = 0", "ExcessiveLocalMemory"),
    "required": ("if (i < n) y[i] = fmaf(x[i], x[i], 1.0f);", "if (i < n) y[i] = __fadd_rn(x[i], 1.0f);", 'required_patterns = ["^fma"]',
                 "MissingRequiredPattern"),
    "forbidden": (GOOD, "if (i < n) y[i] = x[i] / x[i + 1];", 'forbidden_patterns = ["^div"]', "ForbiddenPatternFound"),
    "shared": (SHARED.format(256), SHARED.format(4096), "max_shared_memory = 2048", "ExcessiveSharedMemory"),
    "instructions": (GOOD, "if (i < n) {\n#pragma unroll\n for (int k = 0; k < 64; ++k) y[i * 64 + k] = x[i + k]; }", "max_instructions = 60",
                     "ExcessiveInstructions"),
    "occupancy": (SHARED.format(256), SHARED.format(12000), "min_occupancy = 0.9", "LowOccupancy"),
    "spills": (None, None, "max_registers = 255\nmax_local_memory = 100000\nmax_spills = 0", "ExcessiveSpills"),
}
LAX = "if (i < n) y[i] = 2.0002f * x[i];"  # Within the tolerance of `worse`, and further from it than before.
OP = """
[[ops]]
name = "{0}"
kernel = "{0}"
reference = "twice.py"
inputs = [{{ name = "x", shape = ["n"] }}]
outputs = [{{ name = "y", shape = ["n"] }}]
dims = {{ n = [1, 300] }}
{1}
"""
LAUNCHED = """
[[kernels]]
name = "{0}"
source = "{0}.{2}"
launches = [{{ entry = "{0}", grid = ["cdiv(n, 256)"], block = ["256"], args = ["x", "y", "i32:n"] }}]
{1}
"""


def kernel(name, body):
    return KERNEL.replace("NAME", name).replace("BODY", body)


def files(changed):
    """The repository before or after the change."""
    made = {"twice.py": "def reference(x):\n    return 2.0 * x\n"}
    config = '[project]\nname = "shop"\n[validation]\nseed = 3\ncases = 12\n[runtime]\nbackend = "emulator"\ncompile_flags = ["-lineinfo"]\n'
    for name, (body, _) in WRONG.items():
        made[f"{name}.cu"] = kernel(name, body if changed else GOOD)
        config += OP.format(name, "") + LAUNCHED.format(name, "", "cu")
    for name, body in (("steady", GOOD), ("worse", LAX if changed else GOOD)):
        made[f"{name}.cu"] = kernel(name, body)
        config += OP.format(name, "tolerances = { float32 = { atol = 1.0, rtol = 1.0 } }") + LAUNCHED.format(name, "", "cu")
    for name, (before, after, limit, _) in LIMITS.items():
        is_ptx = before is None
        text = WIDE.replace("scale(", f"{name}(") if is_ptx else kernel(name, after if changed else before)
        if is_ptx and changed:
            text = text.replace(".param .u32 n)\n{", ".param .u32 n)\n.maxnreg 24\n{")
        made[f"{name}.{'ptx' if is_ptx else 'cu'}"] = text
        config += LAUNCHED.format(name, f"[kernels.artifact_checks]\n{limit}", "ptx" if is_ptx else "cu")
    # Grows within every limit.
    made["grown.cu"] = kernel("grown", "if (i < n) y[i] = cosf(x[i]) * sinf(x[i + 1]);" if changed else GOOD)
    config += LAUNCHED.format("grown", "[kernels.artifact_checks]\nmax_registers = 255\nmax_local_memory = 1000", "cu")
    made["gpuemu.toml"] = config
    return made


@pytest.fixture(scope="module")
def changed(new_home):
    home = new_home(files(False))
    before = home.run("ci", "--format", "json")
    assert before.returncode == 0, before.stdout + before.stderr
    assert home.run("baseline", "save", "main", "--file", "main.json").returncode == 0
    for name, text in files(True).items():
        (home.project / name).write_text(text)
    return home


def test_without_a_baseline_exactly_the_wrong_and_the_limits_are_found(changed):
    run = changed.run("ci", "--format", "json")
    summary = json.loads(run.stdout)
    assert run.returncode == 1, run.stderr
    assert {op["op_name"] for op in summary["ops"] if op["failed"]} == set(WRONG)
    for name, (_, kind) in WRONG.items():
        kinds = {one["failures"][0]["kind"] for one in summary["validation_results"] if one["op_name"] == name and not one["passed"]}
        assert kind in kinds, (name, kinds)
    assert summary["artifact_diffs"] is None and not summary.get("result_diffs")


@pytest.mark.skipif(not cuda_tool("ptxas"), reason="no ptxas in CUDA_HOME, PATH, /usr/local/cuda or build/cuda: run scripts/setup.sh")
def test_every_limit_is_broken_by_its_kernel_alone(changed):
    summary = json.loads(changed.run("ci", "--no-cache", "--format", "json").stdout)
    broken = {(one["kernel_name"], found["kind"]) for one in summary["lint_results"] for found in one["violations"]}
    assert broken == {(name, kind) for name, (_, _, _, kind) in LIMITS.items()}
    assert not any(one.get("error") for one in summary["lint_results"])


@pytest.mark.skipif(not cuda_tool("ptxas"), reason="no ptxas in CUDA_HOME, PATH, /usr/local/cuda or build/cuda: run scripts/setup.sh")
def test_against_the_baseline_what_grew_and_what_got_worse_is_found_too(changed):
    run = changed.run("ci", "--file", "main.json", "--format", "json", "--report", "sarif=out.sarif", "--report", "junit=out.xml")
    summary = json.loads(run.stdout)
    assert run.returncode == 1
    grown = {one["kernel_name"] for one in summary["artifact_diffs"]["diffs"] if one["is_regression"]}
    assert {"grown", "registers", "local", "spills"} <= grown <= {"grown", *LIMITS, *WRONG}
    assert {one["op_name"] for one in summary["result_diffs"] if one["is_regression"]} == {"worse", *WRONG}
    # The documents say the same as the summary.
    rules = {one["ruleId"] for one in json.loads((changed.project / "out.sarif").read_text())["runs"][0]["results"]}
    assert {f"lint/{kind}" for _, _, _, kind in LIMITS.values()} | {f"validation/{kind}" for _, kind in WRONG.values()} <= rules
    assert "lint/Regression" in rules
    etree = pytest.importorskip("lxml.etree")
    root = etree.fromstring((changed.project / "out.xml").read_bytes())
    etree.XMLSchema(etree.parse(str(SCHEMAS / "junit.xsd"))).assertValid(root)
    failed = {case.get("name") for case in root.iter("testcase") if case.find("failure") is not None}
    assert failed == {"grown", "worse", *LIMITS, *WRONG} | grown


def test_with_everything_put_right_again_the_gate_opens(changed):
    for name, text in files(False).items():
        (changed.project / name).write_text(text)
    run = changed.run("ci", "--file", "main.json", "--format", "json")
    assert run.returncode == 0, run.stdout + run.stderr
    summary = json.loads(run.stdout)
    # What has failed meanwhile is not taken from what was known of the very same kernel before.
    assert {op["op_name"] for op in summary["ops"] if not op.get("cached")} >= set(WRONG)
