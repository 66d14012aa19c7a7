"""Tensors with strides as arguments of gpuemu.Kernel: PyTorch's views are of one storage, JAX's arrays cannot be changed."""
import numpy as np
import pytest

gpuemu = pytest.importorskip("gpuemu")
pytestmark = pytest.mark.usefixtures("device_program")
DOUBLE = r"""
extern "C" __global__ void twice(const T* x, T* y, int m, int n, long long x0, long long x1, long long y0, long long y1) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < m * n) y[i / n * y0 + i % n * y1] = x[i / n * x0 + i % n * x1] + x[i / n * x0 + i % n * x1];
}
"""
VIEWS = {
    "transposed": lambda x: x.t(),
    "steps": lambda x: x[1::2, 2::3],
    "a slice of columns": lambda x: x[:, 3:7],
    "expanded": lambda x: x[2:3].expand(5, 12),
    "unfolded": lambda x: x.reshape(-1).unfold(0, 6, 2),
    "chunk": lambda x: x.chunk(3, dim=1)[1],
    "as_strided": lambda x: x.as_strided((3, 4), (7, 2), 5),
}  # fmt: skip


@pytest.fixture(scope="module")
def twice(device_program):
    made = {}

    def run(x, y, kind="float"):
        kernel = made.setdefault(kind, gpuemu.Kernel(f"#include <cuda_bf16.h>\n#define T {kind}\n{DOUBLE}", "twice"))
        m, n = x.shape
        kernel[-(-m * n // 64), 64](x, y, m, n, *x.stride(), *y.stride())

    return run


@pytest.mark.parametrize("name", VIEWS)
def test_views_of_pytorch_are_read_where_they_lie(twice, name):
    torch = pytest.importorskip("torch")
    storage = torch.arange(96.0).reshape(8, 12)
    x, y = VIEWS[name](storage), torch.zeros(60, 60)
    part = y[1 : 1 + x.shape[0], 3 : 3 + 2 * x.shape[1] : 2]
    twice(x, part)
    assert torch.equal(part, 2 * x) and torch.equal(storage, torch.arange(96.0).reshape(8, 12))
    assert y.sum() == part.sum()


def test_queries_and_keys_of_one_tensor_are_one_memory(twice):
    torch = pytest.importorskip("torch")
    packed = torch.arange(5 * 3 * 4.0).reshape(5, 3, 4)
    query, _, value = packed.unbind(1)
    before = packed.clone()
    twice(query, value)
    assert torch.equal(packed[:, 2], 2 * before[:, 0]) and torch.equal(packed[:, :2], before[:, :2])
    shared = torch.zeros(4, 4)
    twice(torch.ones(4, 2), shared[:, 2:])
    array = shared.numpy()  # The same memory, by the name of another framework.
    kernel = gpuemu.Kernel("__global__ void copy(const float* x, float* y) { y[threadIdx.x * 4] = x[threadIdx.x * 4 + 2]; }", "copy")
    kernel[1, 4](array, shared)
    assert shared.tolist() == [[2, 0, 2, 2]] * 4


def test_types_that_numpy_lacks_gradients_and_what_is_no_memory(twice):
    torch = pytest.importorskip("torch")
    x, y = torch.arange(12.0).to(torch.bfloat16).reshape(3, 4).t(), torch.zeros(3, 4, dtype=torch.bfloat16).t()
    twice(x, y, "__nv_bfloat16")
    assert torch.equal(y, 2 * x)
    weight = torch.ones(4, 4, requires_grad=True)
    twice(torch.ones(4, 4), weight.t())
    assert weight.sum() == 32
    empty = torch.zeros(0, 4)
    with pytest.raises(gpuemu.KernelError, match="has 0 bytes"):
        twice(torch.ones(1, 4), empty)
    for wrong, said in ((torch.ones(4, 4).to_sparse(), "a tensor of layout torch.sparse_coo, expected a dense one"),
                        (torch.ones(4, 4, dtype=torch.complex64).conj().imag, "resolve_neg"),
                        (torch.ones(4, 4, dtype=torch.complex64).conj(), "resolve_conj"),
                        (torch.ones(4, 4, device="meta"), "on 'meta'|without memory")):  # fmt: skip
        with pytest.raises(gpuemu.LaunchError, match=said):
            gpuemu.Kernel("__global__ void none(float2* x) {}", "none")[1, 1](wrong)


def test_arrays_of_jax_are_read_and_not_changed():
    jax = pytest.importorskip("jax")
    x, y = jax.numpy.arange(24.0).reshape(4, 6).T, np.zeros((6, 4), np.float32)
    kernel = gpuemu.Kernel("__global__ void copy(const float* x, float* y) { y[threadIdx.x] = x[threadIdx.x]; }", "copy")
    kernel[1, 24](x, y)
    assert np.array_equal(y, np.asarray(x))
    with pytest.raises(gpuemu.LaunchError, match="wrote to argument 'y', a ArrayImpl that cannot be changed in place"):
        kernel[1, 24](y + 1, x)
    assert np.array_equal(y, np.asarray(x))
