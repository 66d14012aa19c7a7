"""gpuemu.runtime on a GPU: memory and streams of other packages, managed memory, kernels of one's own. Needs NumPy; with torch more
is tested.

    GPUEMU_LIBRARY=build/release/lib/gpuemu/libgpuemu.so.1 PYTHONPATH=python python3 -m pytest -q tests/gpu/runtime_gpu_test.py tests/e2e/test_train_example.py
"""
import gc

import numpy as np
import pytest

runtime = pytest.importorskip("gpuemu.runtime")
try:
    found = runtime.devices("cuda")
except runtime.UnsupportedError as problem:
    pytest.skip(str(problem), allow_module_level=True)
if not found:
    pytest.skip("no GPU", allow_module_level=True)


@pytest.fixture
def device():
    with runtime.Device("cuda") as made:
        yield made
    made.close()


class CudaArray:
    """Memory of a GPU that some package owns, with its own stream."""

    def __init__(self, tensor):
        self.tensor = tensor
        self.__cuda_array_interface__ = tensor.__cuda_array_interface__


def test_memory_goes_there_and_back_at_one_address(device):
    tensor = device.tensor(np.arange(6, dtype=np.float32).reshape(2, 3))
    assert tensor.__dlpack_device__() == (2, 0)
    for back in (runtime.from_dlpack(Opaque(tensor)), runtime.as_tensor(CudaArray(tensor))):
        assert (back.address, back.shape, back.strides) == (tensor.address, (2, 3), (3, 1))
        runtime.op_call("relu", [back], [back])
        assert back.numpy().tolist() == [[0, 1, 2], [3, 4, 5]]
    with pytest.raises(BufferError, match="copy=True"):
        runtime.as_tensor(np.zeros(2, np.float32))
    with pytest.raises(TypeError, match="numpy"):
        np.asarray(tensor)


class Opaque:
    """Hides that it is a Tensor."""

    def __init__(self, tensor):
        self.tensor = tensor

    def __dlpack__(self, **how):
        return self.tensor.__dlpack__(**how)

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()


def test_what_was_given_away_stays(device):
    tensor = device.tensor([1.0, 2.0])
    back = runtime.from_dlpack(Opaque(tensor))
    tensor.free()
    del tensor
    gc.collect()
    other = device.zeros(2)
    assert back.numpy().tolist() == [1, 2] and other.address != back.address


def test_managed_memory_has_one_address_for_host_and_device(device):
    x = device.empty(4, kind="managed")
    assert x.__dlpack_device__() == (13, 0)
    seen = np.asarray(x)
    seen[:] = [-1, 2, -3, 4]
    runtime.op_call("relu", [x], [x])
    device.synchronize()
    assert seen.tolist() == [0, 2, 0, 4] and device.memory_statistics().managed_bytes == 16
    assert x.numpy().tolist() == [0, 2, 0, 4]


def test_a_foreign_stream_is_adopted_and_not_destroyed(device):
    own = device.stream(non_blocking=True)
    with runtime.Device("cuda") as other:
        adopted = other.adopt_stream(own.native)
        x = other.tensor([-1.0, 5.0], stream=adopted)
        runtime.op_call("relu", [x], [x], stream=adopted)
        assert x.numpy().tolist() == [0, 5]
        adopted.close()
        other.close()
    own.synchronize()
    with pytest.raises(TypeError):
        device.adopt_stream("stream")


SCALE = """extern "C" __global__ void twice(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 2 * x[i];
}"""


def test_a_kernel_of_the_caller_is_chosen_and_replayed(device):
    launch = runtime.Launch("twice", "cdiv(x.count, 128)", 128, ["x", "y", "i32:x.count"])
    with runtime.register_kernel("relu", "twice", SCALE, [launch], types={"T": ["float32"]}, priority=1):
        x, y = device.tensor(np.arange(1000, dtype=np.float32)), device.empty(1000)
        with runtime.Graph(device) as graph:
            runtime.op_call("relu", [x], [y])
    graph.launch()
    assert y.numpy()[999] == 1998


def test_torch_tensors_and_its_stream(device):
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("torch has no GPU")
    with torch.cuda.stream(torch.cuda.Stream()):
        x = torch.tensor([-1.0, 2.0], device="cuda")
        y = torch.empty_like(x)
        runtime.op_call("relu", [x], [y], device=device, stream=runtime.torch_stream(device))
        assert y.cpu().tolist() == [0, 2]
    assert torch.from_dlpack(device.tensor([3.0])).cpu().tolist() == [3]
