"""gpuemu.Kernel sets __constant__ and __device__ variables before a launch."""
import numpy as np
import pytest

import gpuemu

pytestmark = pytest.mark.usefixtures("device_program")

SOURCE = """
__constant__ float weights[4];
namespace model { __device__ float scale = 1.0f; }
extern "C" __global__ void weigh(const float* x, float* y) {
  y[threadIdx.x] = model::scale * weights[threadIdx.x] * x[threadIdx.x];
}
"""


@pytest.fixture
def kernel():
    return gpuemu.Kernel(SOURCE)


def test_variables_get_arrays_and_scalars_and_keep_them(kernel):
    x, y, w = np.arange(4, dtype=np.float32), np.zeros(4, np.float32), np.float32([1, 2, 3, 4])
    kernel[1, 4](x, y, symbols={"weights": w})
    assert y.tolist() == [0, 2, 6, 12]
    kernel[1, 4](x, y, symbols={"model::scale": np.float32(0.5)})
    assert y.tolist() == [0, 1, 3, 6]


def test_a_constant_that_nothing_sets_is_a_finding(kernel):
    x, y = np.ones(4, np.float32), np.zeros(4, np.float32)
    with pytest.raises(gpuemu.KernelError, match="weights.*nothing sets all of it: pass symbols="):
        kernel[1, 4](x, y)
    with pytest.raises(gpuemu.KernelError, match="nothing sets all of it"):
        kernel[1, 4](x, y, symbols={"weights": np.ones(3, np.float32)})


@pytest.mark.parametrize("symbols, message", [
    ({"weight": np.ones(4, np.float32)}, "has no variable 'weight'; it has weights"),
    ({"weights": np.ones(5, np.float32)}, "has 16 bytes, its value has 20"),
    ({"weights": 0.5}, "is given a float, expected an array"),
])  # fmt: skip
def test_what_cannot_be_set_is_an_error(kernel, symbols, message):
    with pytest.raises((gpuemu.LaunchError, gpuemu.DeviceError), match=message):
        kernel[1, 4](np.ones(4, np.float32), np.zeros(4, np.float32), symbols=symbols)
