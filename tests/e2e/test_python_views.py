"""Arrays with strides as arguments of kernels: the kernel gets the caller's strides and must see the caller's storage."""
import sys
import warnings

import numpy as np
import pytest

gpuemu = pytest.importorskip("gpuemu")
pytestmark = pytest.mark.usefixtures("device_program")

DOUBLE = r"""
extern "C" __global__ void twice(const float* x, float* y, int m, int n, long long x0, long long x1, long long y0, long long y1) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < m * n) y[i / n * y0 + i % n * y1] = 2 * x[i / n * x0 + i % n * x1];
}
"""


@pytest.fixture(scope="module")
def twice(device_program):
    kernel = gpuemu.Kernel(DOUBLE, "twice")

    def run(x, y, kernel=kernel):
        m, n = x.shape
        kernel[-(-m * n // 64) or 1, 64](x, y, m, n, *(one // 4 for one in (*x.strides, *y.strides)))

    run.source = DOUBLE
    return run


def numbers(*shape):
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


VIEWS = {
    "transposed": lambda: numbers(5, 7).T,
    "of a cube": lambda: numbers(3, 5, 7)[:, 2, :],
    "steps": lambda: numbers(20, 21)[1::3, 2::5],
    "backwards": lambda: numbers(6, 8)[::-1, ::-2],
    "backwards within": lambda: numbers(9, 9)[7:2:-1, 1:8],
    "broadcast": lambda: np.broadcast_to(numbers(1, 7), (5, 7)),
    "one element for all": lambda: np.broadcast_to(np.float32(3), (4, 4)),
    "overlapping windows": lambda: np.lib.stride_tricks.sliding_window_view(numbers(12), 5),
    "as_strided": lambda: np.lib.stride_tricks.as_strided(numbers(40)[8:], (3, 4), (40, 8)),
    "from the middle": lambda: numbers(10, 10)[4:7, 3:8],
    "one row": lambda: numbers(4, 9)[3:],
    "Fortran": lambda: np.asfortranarray(numbers(4, 9)),
    "of a field": lambda: np.zeros((4, 3), [("a", "i4"), ("b", "f4")])["b"],
    "of bytes": lambda: np.frombuffer(numbers(4, 6).tobytes(), np.float32).reshape(4, 6)[1:, ::2],
    "read only": lambda: frozen(numbers(4, 6))[:, ::2],
}  # fmt: skip


def frozen(array):
    array.flags.writeable = False
    return array


@pytest.mark.parametrize("name", VIEWS)
def test_a_kernel_reads_the_elements_that_the_strides_say(twice, name):
    x = VIEWS[name]()
    before, y = x.copy(), np.zeros(x.shape, np.float32)
    twice(x, y)
    assert np.array_equal(y, 2 * before) and np.array_equal(x, before)


@pytest.mark.parametrize("name", [name for name in VIEWS if VIEWS[name]().flags.writeable])
def test_a_kernel_writes_the_elements_of_a_view_and_no_others(twice, name):
    y = VIEWS[name]()
    root = y
    while isinstance(root.base, np.ndarray):
        root = root.base
    x, before, storage = numbers(*y.shape) + 100, y.copy(), root.tobytes()
    twice(x, y)
    assert np.array_equal(y, 2 * x)
    y[...] = before
    assert root.tobytes() == storage


def test_what_lies_between_and_around_the_elements_of_an_output_stays(twice):
    storage = np.full((12, 20), -1, np.float32)
    y = storage[2:10:2, 15:3:-3]
    twice(numbers(*y.shape), y)
    assert np.array_equal(y, 2 * numbers(*y.shape))
    y[...] = -1
    assert (storage == -1).all()


def test_two_views_of_one_storage_are_one_memory(twice):
    storage = numbers(8, 6)
    before = storage.copy()
    twice(storage[:, :3], storage[:, 3:])  # Halves of each row.
    assert np.array_equal(storage[:, 3:], 2 * before[:, :3]) and np.array_equal(storage[:, :3], before[:, :3])
    shift = gpuemu.Kernel("__global__ void shift(const float* from, float* to, int n) { for (int i = 0; i < n; ++i) to[i] = from[i] + 1; }", "shift")
    line = np.zeros(9, np.float32)
    shift[1, 1](line[:-1], line[1:], 8)  # Each element is the one in front of it, which was written just before.
    assert np.array_equal(line, np.arange(9))
    line[:] = 0
    shift[1, 1](line, line[1:], 8)
    assert np.array_equal(line, np.arange(9))
    fixed = line.view()
    fixed.flags.writeable = False
    shift[1, 1](fixed[:-1], line[1:], 8)  # Only the other argument is written.
    assert np.array_equal(line, np.arange(9))
    with pytest.raises(gpuemu.LaunchError, match="wrote to argument 'to', which is a read-only array"):
        shift[1, 1](np.ones(8, np.float32), fixed, 8)


def test_views_side_by_side_race_when_they_overlap():
    """Different storages would hide it."""
    fill = gpuemu.Kernel("__global__ void fill(float* a, float* b) { if (threadIdx.x < 32) a[threadIdx.x] = 1; else b[threadIdx.x - 32] = 2; }", "fill")
    memory = np.zeros(64, np.float32)
    fill[1, 64](memory[:32], memory[32:])
    assert np.array_equal(memory, np.repeat(np.float32([1, 2]), 32))
    with pytest.raises(gpuemu.KernelError, match="a, b"):
        fill[1, 64](memory[:32], memory[16:48])
    copies = np.broadcast_to(np.zeros((1, 32), np.float32), (2, 32)).copy()
    same = np.lib.stride_tricks.as_strided(copies, (2, 32), (0, 4))
    with pytest.raises(gpuemu.KernelError):
        fill[1, 64](same[0], same[1])


def test_accesses_outside_of_a_view_are_found_and_those_between_its_elements_are_as_on_a_gpu(twice):
    text = "__global__ void read(const float* x, float* y, int at) { y[0] = x[at]; }"
    read, lenient = gpuemu.Kernel(text, "read"), gpuemu.Kernel(text, "read", bounds="storage")
    storage, y = numbers(100), np.zeros(1, np.float32)
    view = storage[40:60:2]
    for at in (0, 17, 18):
        read[1, 1](view, y, at)
        assert y[0] == 40 + at
    hint = "'x' is a view of a storage of 400 bytes, all of which bounds=\"storage\" lets the kernel use"
    for at in (-1, 19, 20):
        with pytest.raises(gpuemu.KernelError, match=f"'x', which has 76 bytes.*{hint}"):
            read[1, 1](view, y, at)
    for at in (-40, 59, 1):
        lenient[1, 1](view, y, at)
        assert y[0] == 40 + at
    for at in (-41, 60):
        with pytest.raises(gpuemu.KernelError, match="'x', which has 400 bytes.*; 'x' begins at byte 160 of it, with strides of .8. bytes") as caught:
            lenient[1, 1](view, y, at)
        assert caught.value.findings[0].tensor == "x" and "bounds=" not in str(caught.value)
    with pytest.raises(ValueError, match="bounds is 'none', expected one of view, storage"):
        gpuemu.Kernel(twice.source, "twice", bounds="none")


def test_a_kernel_that_ignores_the_length_of_a_view_is_found():
    """The first rows of a larger matrix, and a batch in the middle of one: the storage has what lies behind them."""
    copy = gpuemu.Kernel("__global__ void copy(const float* x, float* y, int n) { if (threadIdx.x <= n) y[threadIdx.x] = x[threadIdx.x]; }", "copy")
    matrix, out = numbers(8, 4), np.zeros(64, np.float32)
    for part in (matrix[:2], matrix[3:5], matrix[::-1][6:][::-1]):
        with pytest.raises(gpuemu.KernelError, match=f"'x', which has {part.nbytes} bytes"):
            copy[1, 64](part, out, part.size)
        copy[1, 64](part, out, part.size - 1)
        assert np.array_equal(out[: part.size], part.reshape(-1))


def test_writes_between_the_elements_of_a_view_come_back_with_a_warning():
    text = "__global__ void fill(float* y, int n) { if (threadIdx.x < n) y[threadIdx.x] = 1; }"
    fill, lenient = gpuemu.Kernel(text, "fill"), gpuemu.Kernel(text, "fill", bounds="storage")
    storage = np.zeros(20, np.float32)
    with pytest.warns(UserWarning, match="changed 8 bytes of the storage of 'y' that are of no element of it"):
        fill[1, 32](storage[4:14:2], 9)  # Takes no notice of the step.
    assert np.array_equal(storage, [0] * 4 + [1] * 9 + [0] * 7)
    storage[:] = 0
    with pytest.raises(gpuemu.KernelError, match="'y', which has 36 bytes"):
        fill[1, 32](storage[4:14:2], 10)
    assert not storage.any()
    with pytest.warns(UserWarning, match="changed 10 bytes of the storage of 'y' that are of no element of it"):
        lenient[1, 32](storage[4:14:2], 10)
    assert np.array_equal(storage, [0] * 4 + [1] * 10 + [0] * 6)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fill[1, 32](storage[10:], 10)
        fill[1, 32](storage, 20)


def test_arrays_without_axes_and_without_elements(twice):
    fill = gpuemu.Kernel("__global__ void fill(float* y, int n) { if (threadIdx.x < n) y[threadIdx.x] = 5; }", "fill")
    storage = np.zeros(4, np.float32)
    fill[1, 32](storage[2:3].reshape(()), 1)
    assert np.array_equal(storage, [0, 0, 5, 0])
    alone = np.array(1, np.float32)
    fill[1, 32](alone, 1)
    assert alone == 5
    fill[1, 32](storage[2:2], 0)
    twice(storage.reshape(2, 2)[:, 2:], storage.reshape(2, 2)[2:])
    with pytest.raises(gpuemu.KernelError, match="'y', which has 0 bytes"):
        fill[1, 32](storage[2:2], 1)


def test_of_a_storage_that_is_large_only_what_the_view_spans_goes_to_the_device(tmp_path):
    """A file that is larger than the machine's memory."""
    fill = gpuemu.Kernel("__global__ void fill(float* y, int n) { if (threadIdx.x < n) y[threadIdx.x * 2] = 5; }", "fill")
    path = tmp_path / "large"
    with open(path, "wb") as file:
        file.truncate(1 << 40)
    mapped = np.memmap(path, np.float32, "r+")
    fill[1, 32](mapped[1 << 35 : (1 << 35) + 64 : 2], 32)
    assert mapped[(1 << 35) - 2 : (1 << 35) + 4].tolist() == [0, 0, 5, 0, 5, 0]
    mapped.flush()
    fixed = np.memmap(path, np.float32, "r")
    with pytest.raises(gpuemu.LaunchError, match="read-only"):
        fill[1, 32](fixed[:64], 32)


@pytest.mark.parametrize("layout, offset", [("padded", 0), ("transposed", 4), ("stepped", 12), ("broadcast", 0)])
def test_placed_arrays_end_with_their_storage(twice, layout, offset):
    from gpuemu.generate import layouts

    made = {"padded": layouts.padded((3, 5), 2), "transposed": layouts.transposed((3, 5)), "stepped": layouts.stepped((3, 5), 2),
            "broadcast": layouts.broadcast((3, 5), 0)}[layout]  # fmt: skip
    x, y = layouts.place(numbers(3, 5), made, offset), np.zeros((3, 5), np.float32)
    twice(x, y)
    assert np.array_equal(y, 2 * x)
    read = gpuemu.Kernel("__global__ void read(const float* x, float* y, int at) { y[0] = x[at]; }", "read")
    last = sum((size - 1) * stride for size, stride in zip(x.shape, x.strides)) // x.itemsize
    read[1, 1](x, y, last)
    with pytest.raises(gpuemu.KernelError, match="of 'x'"):
        read[1, 1](x, y, last + 1)
    lenient = gpuemu.Kernel("__global__ void read(const float* x, float* y, int at) { y[0] = x[at]; }", "read", bounds="storage")
    lenient[1, 1](x, y, made.elements - 1)
    with pytest.raises(gpuemu.KernelError, match="of 'x'"):
        lenient[1, 1](x, y, made.elements)


CUPY = """
import ctypes
import types

import numpy

uint8 = numpy.uint8


class ndarray:
    # Memory of this process stands for that of a GPU.
    def __init__(self, shape, dtype=numpy.float32, memptr=None, *, kept=None, base=None):
        if memptr is not None:
            kept = numpy.frombuffer((ctypes.c_uint8 * memptr.mem.size).from_address(memptr.mem.ptr + memptr.offset), dtype).reshape(shape)
        self.kept, self.base = kept, base
        self.shape, self.dtype, self.device = kept.shape, kept.dtype, types.SimpleNamespace(id=0)

    @property
    def __cuda_array_interface__(self):
        told = self.kept.__array_interface__
        return {**{key: told[key] for key in ("shape", "typestr", "data", "strides")}, "version": 3, "stream": 1}

    def get(self):
        return self.kept.copy()

    def set(self, array):
        if not self.kept.flags.c_contiguous:
            raise RuntimeError("Cannot set to non-contiguous array")
        self.kept[...] = array

    def __array__(self, *_, **__):
        raise TypeError("Implicit conversion to a NumPy array is not allowed. Please use `.get()`")

    def __getitem__(self, where):
        return ndarray(None, kept=self.kept[where], base=self if self.base is None else self.base)


class UnownedMemory:
    def __init__(self, ptr, size, owner):
        self.ptr, self.size, self.owner = ptr, size, owner


class MemoryPointer:
    def __init__(self, mem, offset):
        self.mem, self.offset = mem, offset


cuda = types.SimpleNamespace(UnownedMemory=UnownedMemory, MemoryPointer=MemoryPointer)


def asarray(value):
    return ndarray(None, kept=numpy.array(value))
"""


def test_arrays_of_cupy_are_their_storage(twice, tmp_path, monkeypatch):
    """A stand-in with what CuPy has and refuses, because CuPy makes no array without a GPU."""
    (tmp_path / "cupy.py").write_text(CUPY)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "cupy", raising=False)
    import cupy

    kernel = gpuemu.Kernel(DOUBLE, "twice")
    x, y = cupy.asarray(numbers(6, 8)), cupy.asarray(np.zeros((9, 12), np.float32))
    turned, part = x[::-1, 1::2], y[1:7, 10:2:-2]
    kernel[1, 64](turned, part, 6, 4, -8, 2, 12, -2)
    expected = np.zeros((9, 12), np.float32)
    expected[1:7, 10:2:-2] = 2 * numbers(6, 8)[::-1, 1::2]
    assert np.array_equal(y.get(), expected)
    kernel[1, 64](y[:, :6], y[:, 6:], 9, 6, 12, 1, 12, 1)  # Two views of one storage.
    expected[:, 6:] = 2 * expected[:, :6]
    assert np.array_equal(y.get(), expected)
    monkeypatch.delitem(sys.modules, "cupy")
