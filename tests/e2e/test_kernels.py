"""Correct kernels that use what real ones use: the emulator must agree with NumPy and find nothing."""
import json
import pathlib
import shutil

import pytest

from conftest import cuda_tool
from projects import kernel_op

# Three ops of one template; the compiler refuses factors from 9 on.
TEMPLATE = """template <int Factor> __global__ void scale(const float* x, float* y, int n) {
  static_assert(Factor < 9, "too large");
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = Factor * x[i];
}
"""
KERNELS = pathlib.Path(__file__).resolve().parents[1] / "kernels"


@pytest.fixture
def kernels(gpuemu):
    shutil.rmtree(gpuemu.project)
    shutil.copytree(KERNELS, gpuemu.project)
    return gpuemu


def verdicts(installation):
    result = installation.run("test", "--format", "json", timeout=600)
    report = json.loads(result.stdout)
    failed = {op["op_name"]: op for op in report["ops"] if op["failed"] or not op["passed"]}
    return result, report, failed


def test_optimised_kernels_agree_with_numpy(kernels):
    result, report, failed = verdicts(kernels)
    assert len(report["ops"]) == 16 and not failed, failed
    assert result.returncode == 0, result.stderr


# Folders below tests/kernels and how many kernels each has.
@pytest.mark.parametrize("folder, count", [("functions", 20), ("fast", 8), pytest.param("blocks", 25, marks=pytest.mark.slow), ("matrices", 17),
                                           ("copies", 6), ("fp8", 3)])
def test_kernels_of_every_kind_agree_with_numpy(kernels, folder, count):
    kernels.project /= folder
    result, report, failed = verdicts(kernels)
    assert len(report["ops"]) == count and not failed, failed
    assert result.returncode == 0, result.stderr


def test_debug_kernels_agree_with_numpy(kernels):
    config = kernels.project / "gpuemu.toml"
    config.write_text(config.read_text().replace('"-lineinfo"', '"-G"'))
    result, report, failed = verdicts(kernels)
    assert len(report["ops"]) == 16 and not failed, failed
    assert result.returncode == 0, result.stderr


def templates(*factors):
    """A project with an op for each factor."""
    files = {"scale.cu": TEMPLATE, "gpuemu.toml": ""}
    for factor in factors:
        name = f"times{factor}"
        files[f"{name}.py"] = f"def reference(x):\n    return {factor} * x\n"
        op = kernel_op(name, "scale.cu", f"{name}.py")
        files["gpuemu.toml"] += op.replace('entry = "scale"', f'entry = "scale<{factor}>"')
    return files


@pytest.mark.skipif(not cuda_tool("nvcc"), reason="no CUDA compiler: run scripts/setup.sh --tests")
def test_a_template_that_does_not_compile_spoils_no_other(new_home):
    home = new_home(templates(2, 3, 9))
    run = home.run("test", "--cases", "4")
    assert run.returncode == 3 and "[PASS] times2" in run.stdout and "[PASS] times3" in run.stdout, run.stdout + run.stderr
    [broken] = [line for line in run.stdout.splitlines() if line.startswith("[ERROR]")]
    assert "times9" in broken and "too large" in broken
