"""Memory of other packages on the emulator, and memory of the emulator in other packages: without a copy, and safe when either goes."""
import gc

import numpy as np
import pytest

from test_runtime import device, gpuemu, runtime  # noqa: F401


class Plain:
    """A package that knows DLPack of before versions."""

    def __init__(self, array, where=(1, 0)):
        self.array, self.where = array, where

    def __dlpack__(self, stream=None):
        return self.array.__dlpack__()

    def __dlpack_device__(self):
        return self.where


def test_numpy_arrays_are_used_in_place(device):
    x, y = np.array([-1, 2, -3], np.float32), np.zeros(3, np.float32)
    runtime.op_call("relu", [x], [y], device=device)
    device.synchronize()
    assert y.tolist() == [0, 2, 0]
    seen = runtime.as_tensor(y)
    assert (seen.address, seen.shape, seen.strides, seen.dtype, seen.is_readonly) == (y.ctypes.data, (3,), (1,), "float32", False)
    assert device.memory_statistics().adopted_bytes == 12 and device.memory_statistics().live == 0
    y[0] = 7
    assert seen.numpy().tolist() == [7, 2, 0]
    del seen
    gc.collect()
    assert device.memory_statistics().adopted_bytes == 0


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool"])
def test_every_dtype_goes_there_and_back_at_one_address(device, dtype):
    x = np.arange(24).reshape(2, 3, 4).astype(dtype)
    for source in (x, x.transpose(2, 0, 1), x[1], x[:, ::2], x[0, 0, 0:0]):
        there = runtime.from_dlpack(source)
        back = np.from_dlpack(there)
        assert there.dtype == dtype and there.shape == source.shape and np.array_equal(back, source)
        if source.size:
            assert back.ctypes.data == source.ctypes.data == there.address and back.strides == source.strides


def test_what_a_tensor_gives_away_stays_behind_free_close_and_the_tensor(device):
    tensor = device.tensor([1.0, 2.0, 3.0])
    seen = np.from_dlpack(tensor)
    assert seen.ctypes.data == tensor.address
    assert tensor.__dlpack_device__() == (1, 0) and not hasattr(tensor, "__cuda_array_interface__")
    tensor.free()
    del tensor
    gc.collect()
    assert seen.tolist() == [1, 2, 3]
    other = runtime.Device("emulator")
    kept = np.from_dlpack(other.tensor([4.0]))
    other.close()
    del other
    gc.collect()
    assert kept.tolist() == [4]


def test_what_nobody_takes_is_given_back(device):
    before = device.memory_statistics().live
    tensor = device.tensor([1.0])
    for version in (None, (1, 0)):
        tensor.__dlpack__(max_version=version)
    tensor.free()
    del tensor
    gc.collect()
    assert device.memory_statistics().live == before


def test_an_export_waits_and_counts_as_written(device):
    tensor = device.empty(3)
    seen = np.from_dlpack(tensor)
    seen = seen if seen.flags.writeable else None
    with device.stream() as stream:
        tensor.copy_from(np.array([1, -2, 3], np.float32), stream=stream)
        assert np.from_dlpack(tensor).tolist() == [1, -2, 3]
    empty = device.empty(3)
    np.from_dlpack(empty)
    out = device.empty(3)
    runtime.op_call("relu", [empty], [out])
    device.synchronize()  # Nothing that was never written decides anything.


def test_the_owner_lives_as_long_as_the_tensor_and_no_longer(device):
    dropped = []

    class Owner(np.ndarray):
        def __del__(self):
            dropped.append(1)

    x = np.zeros(4, np.float32).view(Owner)
    tensor = runtime.as_tensor(x)
    del x
    gc.collect()
    assert not dropped
    with runtime.Graph(device) as graph:
        runtime.op_call("relu", [tensor], [tensor])
    del tensor
    gc.collect()
    assert not dropped, "a graph uses it"
    graph.close()
    del graph
    gc.collect()
    assert dropped


def test_a_package_of_before_versions_and_read_only_memory(device):
    x = np.array([1, 2], np.float32)
    assert runtime.from_dlpack(Plain(x)).address == x.ctypes.data
    x.flags.writeable = False
    fixed = runtime.as_tensor(x)
    assert fixed.is_readonly and fixed[1:].is_readonly
    with pytest.raises(runtime.InvalidArgumentError, match="read-only"):
        runtime.op_call("relu", [fixed], [fixed])
    with pytest.raises(BufferError, match="read-only"):
        fixed.__dlpack__()
    assert not np.from_dlpack(fixed).flags.writeable


def test_what_needs_a_copy_is_a_buffer_error_unless_it_is_asked_for(device):
    gpu = Plain(np.ones(2, np.float32), (2, 0))
    for take in (runtime.as_tensor, runtime.from_dlpack):
        with pytest.raises(BufferError, match="copy=True"):
            take(gpu)

    class Cuda:
        __cuda_array_interface__ = {"version": 3, "shape": (1,), "typestr": "<f4", "data": (4096, False)}

    with pytest.raises(BufferError, match="copy=True"):
        runtime.as_tensor(Cuda())
    x = np.array([1, 2], np.float32)
    copy = runtime.as_tensor(x, copy=True)
    x[0] = 9
    assert copy.numpy().tolist() == [1, 2] and copy.address != x.ctypes.data
    tensor = device.tensor([1.0])
    with pytest.raises(BufferError):
        tensor.__dlpack__(dl_device=(2, 0), copy=False)
    assert np.from_dlpack(Copying(tensor)).ctypes.data != tensor.address


class Copying:
    def __init__(self, tensor):
        self.tensor = tensor

    def __dlpack__(self, **how):
        return self.tensor.__dlpack__(copy=True)

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()


def test_what_no_device_has_is_refused(device):
    for wrong in (np.zeros(2, ">f4"), np.zeros(2, "complex64"), np.array([None]), np.zeros(2, "datetime64[s]")):
        with pytest.raises(runtime.InvalidArgumentError):
            runtime.as_tensor(wrong)
    with pytest.raises(TypeError):
        runtime.as_tensor(object())
    with pytest.raises(runtime.UnsupportedError):
        device.adopt_stream(1234)
    assert runtime.torch_stream(device) is device.current_stream()


def test_bounds_of_adopted_memory_are_checked_and_overlaps_are_found(device):
    whole = np.zeros(64, np.float32)
    part = runtime.as_tensor(whole[:16])
    beyond = """extern "C" __global__ void past(const float* x, float* y, int n) { if (threadIdx.x <= n) y[threadIdx.x] = x[threadIdx.x]; }"""
    launch = runtime.Launch("past", 1, 32, ["x", "y", "i32:x.count"])
    from gpuemu import KernelError

    with runtime.register_kernel("relu", "past", beyond, [launch], types={"T": ["float32"]}):
        runtime.op_call("relu", [part], [device.zeros(32)[:16]], variant="past")
        with pytest.raises(KernelError, match="adopted memory"):
            device.synchronize()
    both = runtime.as_tensor(whole[8:24])
    with pytest.raises(runtime.InvalidArgumentError, match="share memory"):
        runtime.op_call("relu", [part], [both])
    del part
    runtime.op_call("relu", [both], [both])
    device.synchronize()


@pytest.mark.parametrize("begin", [1, 2, 3])
def test_foreign_memory_may_begin_anywhere_and_its_races_are_found(device, begin):
    for count in (1, 2, 5, 100):
        given, taken = np.arange(count + 4, dtype=np.int8), np.full(count + 4, -1, np.int8)
        runtime.op_call("cast", [given[begin : begin + count]], [device.empty(count)])
        runtime.op_call("cast", [device.tensor(np.arange(count, dtype=np.float32))], [taken[begin : begin + count]])
        device.synchronize()
        assert taken[begin : begin + count].tolist() == list(range(count)) and (taken[:begin] == -1).all() and (taken[begin + count :] == -1).all()
    racy = 'extern "C" __global__ void racy(const signed char* x, signed char* y) { y[0] = (signed char)blockIdx.x; }'
    with runtime.register_op("all_to_one", ["x: T"], ["y: T"]), runtime.register_kernel("all_to_one", "racy", racy, [runtime.Launch("racy", 4, 1, ["x", "y"])], types={"T": ["int8"]}):
        runtime.op_call("all_to_one", [given[begin:]], [taken[begin : begin + 1]])
        with pytest.raises(gpuemu.KernelError) as raised:
            device.synchronize()
    assert [one.kind for one in raised.value.findings] == ["race_global"]


def test_a_loop_over_foreign_memory_grows_by_nothing(device):
    x, y = np.ones(100, np.float32), np.zeros(100, np.float32)
    for _ in range(300):
        runtime.op_call("relu", [x], [y])
        np.from_dlpack(runtime.as_tensor(y))
    device.synchronize()
    gc.collect()
    statistics = device.memory_statistics()
    assert statistics.adopted_bytes == 0 and statistics.live == 0
