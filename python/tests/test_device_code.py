"""Tests that fused kernels compute each element with the code of the built-in kernels: both must change together."""
import pathlib
import re

import pytest

from gpuemu.program.ops import device_code

KERNELS = pathlib.Path(__file__).resolve().parents[2] / "kernels"
pytestmark = pytest.mark.skipif(not KERNELS.is_dir(), reason="the sources of the kernels are not here")
COPIED = {"_APPROX": "approx.cuh", "_GELU": "gelu/gelu.cu", "_SILU": "silu/silu.cu", "_SIGMOID": "sigmoid/sigmoid.cu",
          "_TANH": "tanh/tanh.cu",
          **{f"_{name}_BWD": "activation_bwd/activation_bwd.cu" for name in ("GELU", "SILU", "SIGMOID", "TANH")}}


def plain(code):
    """Returns the code without comments and white space."""
    return re.sub(r"\s+", "", re.sub(r"//[^\n]*", "", code))


@pytest.mark.parametrize("name", COPIED)
def test_the_code_of_a_fused_op_is_that_of_its_kernel(name):
    kernel = plain((KERNELS / COPIED[name]).read_text())
    parts = [part for part in re.split(r"(?m)^(?=__device__|struct |constexpr )", getattr(device_code, name)) if part.strip()]
    assert parts
    for part in parts:
        assert plain(part) in kernel, f"differs from kernels/{COPIED[name]}:\n{part}"
