"""gpuemu run with tinygrad's CUDA backend and its PTX renderer."""
import importlib.util
import json
import os
import subprocess
import sys

import pytest

from conftest import BIN

if importlib.util.find_spec("tinygrad") is None:
    pytest.skip("tinygrad is not installed", allow_module_level=True)

PROGRAM = """
import numpy as np
from tinygrad import Device, Tensor, TinyJit, dtypes

assert Device.DEFAULT.startswith("CUDA"), Device.DEFAULT
a, b = (np.random.default_rng(n).standard_normal((32, 48), dtype=np.float32) for n in range(2))
x, y = Tensor(a), Tensor(b)
np.testing.assert_allclose((x @ y.T).numpy(), a @ b.T, rtol=1e-4, atol=1e-4)
np.testing.assert_allclose(x.softmax(axis=1).sum(axis=1).numpy(), np.ones(32), rtol=1e-5)
np.testing.assert_array_equal(Tensor(np.arange(1000)).reshape(10, 100).sum(axis=0).numpy(), np.arange(1000).reshape(10, 100).sum(axis=0))
np.testing.assert_allclose(x.cast(dtypes.half).exp().numpy(), np.exp(a.astype(np.float16)), rtol=4e-3)
(x * x).sum().backward()
np.testing.assert_allclose(x.grad.numpy(), 2 * a, rtol=1e-6)
np.testing.assert_allclose((x.pad(((1, 1), (0, 0)))[1:-1] - x).numpy(), np.zeros_like(a))


@TinyJit
def step(one):
    return (one * 2 + 1).realize()


for turn in range(4):
    np.testing.assert_allclose(step(Tensor(a + turn).realize()).numpy(), (a + turn) * 2 + 1, rtol=1e-6)
print("right")
"""


def test_tensors_of_tinygrad_are_computed_without_a_finding(tmp_path):
    program, report = tmp_path / "program.py", tmp_path / "report.json"
    program.write_text(PROGRAM)
    done = subprocess.run([BIN / "gpuemu", "run", "--format", "json", "--output", report, "--", sys.executable, program], capture_output=True, text=True,
                          timeout=600, env={**os.environ, "DEV": "CUDA:PTX", "XDG_CACHE_HOME": str(tmp_path)})  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "right\n"), done.stdout + done.stderr[-3000:]
    found = json.loads(report.read_text())
    assert found["findings"] == [] and found["processes"][0]["launches"] >= 10
