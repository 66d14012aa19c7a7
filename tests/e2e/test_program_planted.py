"""Wrong kernels that a program registers from outside: each is named by check() at its op and nowhere else, and its reproducer fails until it
is repaired."""
import os
import subprocess

import numpy as np
import pytest

from conftest import BIN, ROOT
from test_programs import device, program, runtime  # noqa: F401

ENV = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
ROWS, COLUMNS = 3, 70  # No multiple of a block: a kernel without a guard leaves its tensors.

ADAM = """extern "C" __global__ void k(const float* p, const float* g, const float* m, const float* v, const float* scalars, float* p_out, float* m_out,
    float* v_out, int n, float beta1, float beta2, float eps, float decay) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float mean = beta1 * m[i] + (1 - beta1) * g[i], square = beta2 * v[i] + (1 - beta2) * g[i] * g[i];
  p_out[i] = p[i] - scalars[0] * (mean * scalars[1] / (sqrtf(square * scalars[CORRECTION]) + eps) + decay * p[i]);
  m_out[i] = mean;
  v_out[i] = square;
}"""
SUM = """extern "C" __global__ void k(const float* x, float* y, int columns) {
  __shared__ float total;
  if (threadIdx.x == 0) total = 0;
  __syncthreads();
  for (int i = threadIdx.x; i < columns; i += blockDim.x) ADD;
  __syncthreads();
  if (threadIdx.x == 0) y[blockIdx.x] = total;
}"""
RELU = """extern "C" __global__ void k(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  GUARD
  y[i] = x[i] > 0 ? x[i] : 0;
}"""
MISTAKES = {  # Op: source, launch, what is wrong, what is right, and the finding that names it.
    "adam_step": (ADAM, runtime.Launch("k", "cdiv(p.count, 64)", 64, ["p", "g", "m", "v", "scalars", "p_out", "m_out", "v_out", "i32:p.count", "f32:beta1",
                                                                     "f32:beta2", "f32:eps", "f32:decay"]),
                  ("CORRECTION", "1", "2"), "ToleranceExceeded"),
    "reduce_sum": (SUM, runtime.Launch("k", "y.count", 64, ["x", "y", "i32:x.shape[-1]"]),
                   ("ADD", "total += x[blockIdx.x * columns + i]", "atomicAdd(&total, x[blockIdx.x * columns + i])"), "DataRace"),
    "relu": (RELU, runtime.Launch("k", "cdiv(x.count, 64)", 64, ["x", "y", "i32:x.count"]), ("GUARD", "", "if (i >= n) return;"), "OutOfBounds"),
}  # fmt: skip


def step():
    """relu, reduce_sum and adam_step, twice each, among other ops."""
    g = program.IRGraph("step")
    x, scalars = g.input("x", (ROWS, COLUMNS)), g.meta("scalars", (3,))
    w, m, v = (g.parameter(name, (ROWS,)) for name in "wmv")
    w2, m2, v2 = (g.parameter(name, (ROWS,)) for name in ("w2", "m2", "v2"))
    sums = g.sum(g.relu(g.add(g.relu(x), x)), axis=1)
    g.output("total", g.sum(g.mul(sums, sums), axis=0))
    g.adam_step(w, sums, m, v, scalars)
    g.adam_step(w2, g.add(sums, sums), m2, v2, scalars)
    return g


@pytest.mark.parametrize("op", MISTAKES)
def test_a_wrong_kernel_is_named_at_its_op_and_nowhere_else(device, tmp_path, op):  # noqa: F811
    source, launch, (mark, wrong, right), kind = MISTAKES[op]
    data = {"x": np.random.default_rng(0).normal(size=(ROWS, COLUMNS)).astype(np.float32), "scalars": program.adam_scalars(3, 1e-2)}
    executor = program.Executor(step(), device)
    assert executor.check(data).passed
    with runtime.register_kernel(op, "planted", source.replace(mark, wrong), [launch], types={"T": ["float32"]}, priority=10):
        every = executor.check(data, stop_at_first=False, save=tmp_path / "every")
        found = executor.check(data, save=tmp_path / "found")
    assert {one.op for one in every.findings} == {op}, every.text()
    first = next(index for index, one in enumerate(executor.lowered) if one["op"] == op)
    assert (found.first.index, found.first.op, found.first.variant, found.first.kind) == (first, op, "planted", kind)
    assert "test_program_planted.py" in found.first.where

    def again():
        return subprocess.run([BIN / "gpuemu", "reproduce", tmp_path / "found", "--exit-code"], capture_output=True, text=True, timeout=300, env=ENV)

    ran = again()
    assert ran.returncode == 1, ran.stdout + ran.stderr
    (tmp_path / "found" / "kernel.cu").write_text(source.replace(mark, right))
    ran = again()
    assert ran.returncode == 0, ran.stdout + ran.stderr
