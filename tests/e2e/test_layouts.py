"""Strided and transposed tensors are real memory, and only where the kernel is told the strides."""
import json

import pytest

CONFIG = """[validation]
cases = 40
seed = 5
[[ops]]
name = "negate"
reference = "negate.py"
kernel = "negate"
inputs = [{{ name = "x", shape = ["m", "n"] }}]
outputs = [{{ name = "y", shape = ["m", "n"] }}]
dims = {{ m = [2, 9], n = [2, 40] }}
{more}
[[kernels]]
name = "negate"
source = "negate.cu"
launches = [{{ entry = "negate", grid = "m", block = 32, args = [{args}] }}]
"""
STRIDED = """extern "C" __global__ void negate(const float* x, float* y, int n, long long x0, long long x1,
                                   long long y0) {
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    y[blockIdx.x * y0 + i] = -x[blockIdx.x * x0 + i * x1];
}
"""
ARGS = '"x", "y", "i32:n", "i64:stride(x, 0)", "i64:stride(x, -1)", "i64:stride(y, 0)"'
PACKED = """extern "C" __global__ void negate(const float* x, float* y, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) y[blockIdx.x * n + i] = -x[blockIdx.x * n + i];
}
"""


@pytest.fixture
def project(gpuemu):
    def make(kernel, args, more=""):
        folder = gpuemu.project.parent / "strides"
        folder.mkdir()
        (folder / "gpuemu.toml").write_text(CONFIG.format(args=args, more=more))
        (folder / "negate.cu").write_text(kernel)
        (folder / "negate.py").write_text("def reference(x):\n    return -x\n")
        gpuemu.project = folder
        return gpuemu
    return make


def layouts_of_failures(gpuemu):
    report = json.loads(gpuemu.run("failures", "--limit", "1000", "--format", "json").stdout)
    return [failure["repro_info"]["layout"] for failure in report["results"]]


def test_a_kernel_that_uses_its_strides_passes(project):
    result = project(STRIDED, ARGS).run("test")
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize("mistake", ["i * x1", "blockIdx.x * x0", "blockIdx.x * y0"])
def test_a_kernel_that_ignores_a_stride_fails_where_the_memory_is_not_contiguous(project, mistake):
    packed = {"i * x1": "i", "blockIdx.x * x0": "blockIdx.x * n", "blockIdx.x * y0": "blockIdx.x * n"}
    gpuemu = project(STRIDED.replace(mistake, packed[mistake]), ARGS)
    assert gpuemu.run("test").returncode == 1
    layouts = layouts_of_failures(gpuemu)
    assert len(layouts) >= 4
    # y is told one of its strides only, so its rows may be apart but never its elements.
    expected = {"Strided"} if mistake == "blockIdx.x * y0" else {"Strided", "Transposed"}
    assert set(layouts) == expected


def test_a_kernel_without_strides_sees_contiguous_memory_only(project):
    result = project(PACKED, '"x", "y", "i32:n"').run("test")
    assert result.returncode == 0, result.stdout + result.stderr


def test_a_layout_that_no_tensor_can_have_is_a_configuration_error(project):
    gpuemu = project(PACKED, '"x", "y", "i32:n"', 'layouts = ["contiguous", "transposed"]')
    result = gpuemu.run("test")
    assert result.returncode == 2
    assert "gpuemu.toml:11:26: ops[0].layouts[1]" in result.stderr and "stride(x, 0)" in result.stderr
