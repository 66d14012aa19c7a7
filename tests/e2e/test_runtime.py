"""gpuemu.runtime on the emulator, with the real library: devices, memory, tensors, streams, events."""
import copy
import os
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest

from conftest import BIN, ROOT

LIBRARY = BIN.parent / "lib" / "gpuemu" / "libgpuemu.so.1"
if not LIBRARY.exists():
    pytest.skip("this build has no libgpuemu.so", allow_module_level=True)
os.environ.setdefault("GPUEMU_LIBRARY", str(LIBRARY))

import gpuemu  # noqa: E402
from gpuemu import runtime  # noqa: E402


@pytest.fixture
def device():
    with runtime.Device("emulator", threads=2) as made:
        yield made
    made.close()


def child(code, **env):
    """What a Python process of its own prints."""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120,
                         env={**os.environ, "PYTHONPATH": str(ROOT / "python"), "GPUEMU_LIBRARY": str(LIBRARY), **env})
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout.strip()


# --- the library and devices


def test_importing_the_package_loads_neither_module_nor_library():
    assert child("import sys, gpuemu; print('gpuemu.runtime' in sys.modules)") == "False"
    said = child("import gpuemu.runtime as r; print('libgpuemu' in open('/proc/self/maps').read()); r.ops(); "
                 "print('libgpuemu' in open('/proc/self/maps').read())")
    assert said.split() == ["False", "True"]


def test_a_library_that_is_missing_or_lacks_a_function_is_named(tmp_path):
    code = "from gpuemu import runtime\ntry: runtime.ops()\nexcept runtime.UnsupportedError as e: print(e.code, e)"
    assert "/nowhere.so" in child(code, GPUEMU_LIBRARY="/nowhere.so")
    source, old = tmp_path / "old.c", tmp_path / "libgpuemu.so.1"
    source.write_text("unsigned gpuemu_abi_version(void) { return 1; }\nconst char* gpuemu_last_error(void) { return \"\"; }\n")
    subprocess.run(["cc", "-shared", "-fPIC", source, "-o", old], check=True)
    said = child(code, GPUEMU_LIBRARY=str(old))
    assert said.startswith("Unsupported ") and "gpuemu_version" in said and "interface 1" in said and gpuemu.__version__ in said


def test_versions_and_dtypes():
    told = runtime.versions()
    assert sorted(told) == ["abi", "cublas", "cuda_runtime", "cupti", "driver", "library", "package", "path"]
    assert told["package"] == gpuemu.__version__ and told["path"] == str(os.environ["GPUEMU_LIBRARY"]) and told["abi"] == 2
    assert len(runtime.dtypes()) == 13 and "bfloat16" in runtime.dtypes()


def test_devices_are_listed_and_opened_by_index(monkeypatch):
    monkeypatch.setenv("GPUEMU_EMULATED_DEVICES", "sm_75, sm_90")
    found = runtime.devices("emulator")
    assert [(one.index, one.architecture, one.backend) for one in found] == [(0, "sm_75", "emulator"), (1, "sm_90", "emulator")]
    with runtime.Device("emulator", 1) as one:
        assert one.info.architecture == "sm_90" and one.name == "emulator:1" and one.is_emulator and one.index == 1
    with pytest.raises(runtime.NotFoundError, match="emulator:2.*emulator:0, emulator:1"):
        runtime.Device("emulator", 2)
    with runtime.Device("emulator", arch="sm_86") as one:
        assert one.info.architecture == "sm_86"


@pytest.mark.parametrize("options, raises", [
    ({"backend": "abacus"}, runtime.InvalidArgumentError), ({"backend": 3}, TypeError), ({"backend": "emulator", "index": -1}, ValueError),
    ({"backend": "emulator", "arch": "sm_12"}, ValueError), ({"backend": "emulator", "checks": ["abacus"]}, ValueError),
    ({"backend": "emulator", "policy": {"strategy": "abacus"}}, ValueError), ({"backend": "emulator", "checks": "init"}, TypeError)])
def test_wrong_options_are_refused(options, raises):
    with pytest.raises(raises):
        runtime.Device(**options)


def test_the_current_device_is_the_threads():
    shared = runtime.current_device()
    assert runtime.current_device() is shared
    seen = []
    with runtime.Device("emulator") as inner:
        assert runtime.current_device() is inner and runtime.empty(2).device is inner
        thread = threading.Thread(target=lambda: seen.append(runtime.current_device()))
        thread.start()
        thread.join()
        other = runtime.Device("emulator")
        runtime.set_current_device(other)
        assert runtime.current_device() is other
    assert seen == [shared] and runtime.current_device() is shared
    with pytest.raises(TypeError):
        runtime.set_current_device("emulator:0")


def test_closing_releases_what_it_has_and_may_be_done_twice(device):
    tensor, stream, event = runtime.zeros(4), device.stream(), device.event()
    device.close()
    device.close()
    assert device.is_closed and tensor.is_freed and stream.is_closed
    for use in (tensor.numpy, stream.synchronize, event.query, device.synchronize, device.memory, lambda: device.empty(3)):
        with pytest.raises(runtime.ReleasedError) as caught:
            use()
        assert caught.value.code == "InvalidArgument" and isinstance(caught.value, ValueError) and isinstance(caught.value, gpuemu.DeviceError)
    tensor.free()
    stream.close()
    event.close()


def test_nothing_is_pickled_or_copied(device):
    for one in (device, device.stream(), device.event(), runtime.Graph(device), runtime.empty(2), device.allocate(8), device.allocate(8, kind="pinned")):
        for use in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(TypeError):
                use(one)


# --- memory


def test_memory_of_each_kind(device):
    for kind in ("device", "pinned", "managed"):
        made = device.allocate(100, kind=kind, name="m")
        assert (made.nbytes, len(made), made.kind, made.name, made.is_freed, made.device) == (100, 100, kind, "m", False, device)
        assert made.address > 0
        made.free()
        made.free()
        assert made.is_freed
    first, second = device.allocate(0), device.allocate(0)
    assert first.address != second.address
    for wrong in ({"nbytes": -1}, {"nbytes": 4, "kind": "abacus"}):
        with pytest.raises(runtime.InvalidArgumentError):
            device.allocate(**wrong)
    for wrong in ({"nbytes": "4"}, {"nbytes": 4.5}, {"nbytes": 4, "name": 3}):
        with pytest.raises(TypeError):
            device.allocate(**wrong)


def test_pinned_memory_is_a_buffer_that_outlives_its_free(device):
    pinned = device.allocate(16, kind="pinned")
    view = memoryview(pinned)
    assert view.nbytes == 16 and not view.readonly
    numbers = np.frombuffer(pinned, np.float32)
    numbers[:] = [1, 2, 3, 4]
    pinned.free()
    assert pinned.is_freed and numbers.tolist() == [1, 2, 3, 4]
    del pinned, view
    assert numbers.sum() == 10
    del numbers
    assert device.memory_statistics().pinned_bytes == 0
    with pytest.raises(TypeError):
        memoryview(device.allocate(4))


def test_statistics_hold_their_invariants(device):
    before = device.memory_statistics()
    kept = [device.allocate(1000 * (number + 1), name=f"m{number}") for number in range(4)] + [device.allocate(10, kind="managed")]
    now = device.memory_statistics()
    assert now.requested_bytes == before.requested_bytes + 10_000 and now.managed_bytes == 10 and now.live == before.live + 5
    assert device.largest(2) == [("m3", 4000), ("m2", 3000)]
    del kept
    end = device.memory_statistics()
    assert end.live == end.allocations - end.frees == before.live
    assert end.requested_bytes <= end.allocated_bytes <= end.reserved_bytes and end.cached_bytes == end.reserved_bytes - end.allocated_bytes
    assert end.peak_requested_bytes == before.requested_bytes + 10_000 and end.peak_reserved_bytes >= end.reserved_bytes
    device.reset_peaks()
    assert device.memory_statistics().peak_requested_bytes == end.requested_bytes
    assert device.trim() == 0
    info = device.memory()
    assert 0 < info.free_bytes <= info.total_bytes


def test_memory_that_is_out_names_who_has_it():
    with runtime.Device("emulator", memory_limit_bytes=1 << 20) as small:
        kept = small.allocate(600_000, name="weights")
        with pytest.raises(runtime.OutOfMemoryError) as caught:
            small.empty((200_000,))
        said = str(caught.value)
        assert all(word in said for word in ("800000", "free", "cached", "'weights' 600000")), said
        assert isinstance(caught.value, MemoryError) and caught.value.code == "ResourceExhausted"
        kept.free()
        small.empty((200_000,))


# --- tensors


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool"])
def test_content_there_and_back(device, dtype):
    array = np.arange(24).reshape(2, 3, 4).astype(dtype)
    made = runtime.tensor(array, name="x")
    assert (made.shape, made.strides, made.dtype, made.rank, made.size) == ((2, 3, 4), (12, 4, 1), dtype, 3, 24)
    assert made.nbytes == array.nbytes and made.is_contiguous and not made.is_readonly and made.name == "x" and made.kind == "device"
    back = made.numpy()
    assert back.dtype == array.dtype and (back == array).all() and back.flags.owndata and back.flags.writeable


def test_bfloat16_is_bits_until_ml_dtypes_is_imported():
    code = ("import numpy as np, sys; from gpuemu import runtime\n"
            "x = runtime.Device('emulator').tensor(np.array([0x3f80, 0x4000], np.uint16), dtype='bfloat16')\n"
            "print(x.dtype, x.numpy().dtype, x.numpy().tolist())\n"
            "import ml_dtypes; print(x.numpy().dtype, x.numpy().tolist())")
    assert child(code).splitlines() == ["bfloat16 uint16 [16256, 16384]", "bfloat16 [1.0, 2.0]"]


def test_numbers_of_python_become_what_is_usual(device):
    assert [runtime.tensor(one).dtype for one in ([1.5], [1, 2], [True], 3.0)] == ["float32", "int64", "bool", "float32"]
    assert runtime.tensor([1, 2], dtype="float16").numpy().tolist() == [1, 2]
    assert runtime.tensor(np.array([1.0, 2.0], ">f8")).numpy().tolist() == [1, 2]
    assert runtime.tensor(5).shape == () and runtime.tensor([[]]).shape == (1, 0)


@pytest.mark.parametrize("wrong, raises", [
    (lambda: runtime.empty("23"), TypeError), (lambda: runtime.empty((2, 1.5)), TypeError), (lambda: runtime.empty((2, -1)), ValueError),
    (lambda: runtime.empty((1,) * 17), ValueError), (lambda: runtime.empty(2, "float8"), ValueError), (lambda: runtime.empty(2, np.float32), TypeError),
    (lambda: runtime.tensor([1j]), ValueError), (lambda: runtime.tensor(["a"]), ValueError), (lambda: runtime.tensor([[1], [1, 2]]), ValueError),
    (lambda: runtime.tensor(None), TypeError), (lambda: runtime.empty((2, 2), strides=(1,)), ValueError), (lambda: runtime.empty(2, strides=(-1,)), ValueError)])
def test_wrong_tensors_are_refused(device, wrong, raises):
    with pytest.raises(raises):
        wrong()


def test_views_share_their_memory(device):
    array = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    made = runtime.tensor(array)
    for view, want in [(made[1], array[1]), (made[:, 1:, ::2], array[:, 1:, ::2]), (made[..., -1], array[..., -1]), (made[1, 2, 3], array[1, 2, 3]),
                       (made[:, ::-1], array[:, ::-1]), (made.transpose(2, 0, 1), array.transpose(2, 0, 1)), (made.transpose(), array.T),
                       (made.view((4, -1)), array.reshape(4, -1)), (made[0:0], array[0:0])]:
        assert view.shape == want.shape and (view.numpy() == want).all()
    made[0].fill(0)
    assert made.numpy()[0].sum() == 0 and made.numpy()[1].sum() == array[1].sum()
    made[:, :, 1].copy_from(np.full((2, 3), 7, np.float32))
    assert (made.numpy()[:, :, 1] == 7).all() and made.numpy()[1, 0, 0] == 12
    made.transpose()[1].fill(0)
    assert (made.numpy()[:, :, 1] == 0).all()
    for wrong in (lambda: made[2], lambda: made.view(5), lambda: made.transpose(0, 0, 1), lambda: made.transpose().view(24), lambda: made[0, 0, 0, 0]):
        with pytest.raises(runtime.InvalidArgumentError):
            wrong()
    with pytest.raises(TypeError):
        made["a"]
    view = made[0]
    made.free()
    assert view.is_freed
    with pytest.raises(runtime.ReleasedError, match="freed"):
        view.numpy()


def test_a_view_keeps_its_memory(device):
    view = runtime.tensor(np.arange(6, dtype=np.float32))[2:]
    assert view.numpy().tolist() == [2, 3, 4, 5]


def test_copies_take_the_same_shape_and_dtype_and_leave_the_source(device):
    made, source = runtime.zeros((2, 2)), np.ones((2, 2), np.float32)
    made.copy_from(source)
    source[:] = 9
    assert (made.numpy() == 1).all()
    other = runtime.empty((2, 2))
    other.copy_from(made)
    assert (other.numpy() == 1).all()
    second = runtime.Device("emulator").zeros((2, 2))
    second.copy_from(made)
    assert (second.numpy() == 1).all()
    made.copy_from([[1.0, 2.0], [3.0, 4.0]])
    for wrong in (np.ones((2, 3), np.float32), np.ones((2, 2)), runtime.zeros(4)):
        with pytest.raises(runtime.InvalidArgumentError):
            made.copy_from(wrong)
    for wrong in (256, -1):
        with pytest.raises(runtime.InvalidArgumentError):
            made.fill(wrong)
    with pytest.raises(TypeError):
        made.fill(1.5)


def test_numpy_reads_memory_of_the_emulator_without_a_copy(device):
    made = runtime.tensor(np.arange(6, dtype=np.float32).reshape(2, 3))
    seen = np.asarray(made[:, ::2])
    assert seen.tolist() == [[0, 2], [3, 5]] and seen.ctypes.data == made.address and not seen.flags.writeable
    made.fill(0)
    device.synchronize()
    assert seen.sum() == 0 and np.asarray(made, np.float64).dtype == np.float64 and np.asarray(runtime.zeros((0, 3))).shape == (0, 3)
    made.copy_from(np.ones((2, 3), np.float32))
    device.synchronize()
    made.free()
    assert seen.tolist() == [[1, 1], [1, 1]], "an array keeps the memory behind free()"
    with pytest.raises(runtime.ReleasedError):
        np.asarray(made)
    pinned = runtime.zeros(3, kind="pinned")
    np.asarray(pinned)[:] = [1, 2, 3]
    assert pinned.numpy().tolist() == [1, 2, 3]
    unwritten, y = runtime.empty(3), runtime.empty(3)
    runtime.op_call("relu", [unwritten], [y])
    with pytest.raises(gpuemu.KernelError):
        np.asarray(y)


def test_what_the_host_sees_stays_behind_close():
    code = """
import numpy as np
from gpuemu import runtime
device = runtime.Device("emulator")
pinned, x = device.allocate(1 << 24, kind="pinned"), device.tensor(np.ones(1 << 22, np.float32))
view, seen = np.frombuffer(pinned, np.uint8), np.asarray(x)
view[:] = 7
device.close()
assert pinned.is_freed and x.is_freed
del pinned, x
print(int(view.sum()) // 7 == 1 << 24, seen.sum() == 1 << 22)
del view, seen
print(device._context._is_destroyed)
"""
    assert child(code).splitlines() == ["True True", "True"]


# --- streams and events


def test_streams_and_events_order_work(device):
    one, two = device.stream(priority=-1), device.stream(non_blocking=True)
    x, y = runtime.empty(1000), runtime.empty(1000)
    with one:
        assert device.current_stream() is one
        x.copy_from(np.full(1000, -2, np.float32))
        runtime.op_call("relu", [x], [y])
    assert device.current_stream() is device.default_stream
    done = one.record()
    two.wait(done)
    z = runtime.empty(1000)
    runtime.op_call("vector_add", [x, y], [z], stream=two)
    assert z.numpy().tolist() == [-2.0] * 1000
    assert two.query() and done.query() and device.event().query()
    later = two.record()
    later.synchronize()
    assert done.elapsed_ms(later) >= 0
    with pytest.raises(runtime.InvalidArgumentError):
        device.event().elapsed_ms(later)
    with pytest.raises(runtime.UnsupportedError):
        one.native
    with pytest.raises(runtime.UnsupportedError):
        device.adopt_stream(1234)
    with pytest.raises(runtime.InvalidArgumentError, match="same device object"):
        runtime.op_call("relu", [x], [y], stream=runtime.Device("emulator").stream())
    with pytest.raises(TypeError):
        runtime.op_call("relu", [x], [y], stream="one")
    one.close()
    one.close()
    with pytest.raises(runtime.ReleasedError):
        runtime.op_call("relu", [x], [y], stream=one)
    with pytest.raises(runtime.InvalidArgumentError):
        device.default_stream.close()


def test_pinned_memory_is_written_and_read_as_bytes(device):
    memory = device.allocate(4, kind="pinned")
    seen = memoryview(memory)
    assert (seen.format, seen.itemsize, seen.readonly) == ("B", 1, False)
    seen[:] = b"\x01\x02\x03\x04"
    memory[0] = 9
    assert (memory[0], list(memory), bytes(memory[1:3]), bytes(memory)) == (9, [9, 2, 3, 4], b"\x02\x03", b"\x09\x02\x03\x04")
    assert np.frombuffer(memory, np.uint16).shape == (2,)
    for refused in (memoryview, bytes, lambda one: one[0]):
        with pytest.raises(TypeError):
            refused(device.allocate(4))


@pytest.mark.parametrize(("call", "error"), [
    (lambda one: one.allocate(1 << 70), runtime.OutOfMemoryError), (lambda one: one.stream(priority="high"), TypeError),
    (lambda one: one.stream(priority=1 << 40), runtime.InvalidArgumentError), (lambda _: runtime.Device("emulator", threads=1 << 32), runtime.InvalidArgumentError),
    (lambda _: runtime.Device("emulator", schedule_seed=1 << 64), runtime.InvalidArgumentError),
    (lambda one: one.zeros(3)[np.array([0, 1])], TypeError), (lambda one: one.trim(1 << 64), runtime.InvalidArgumentError),
])  # fmt: skip
def test_numbers_that_c_does_not_hold_are_refused(device, call, error):
    with pytest.raises(error):
        call(device)


@pytest.mark.parametrize(("call", "raises", "says"), [
    (lambda one: runtime.op_call("relu", [], [], device=3), TypeError, "device is of type int"),
    (lambda one: runtime.unpack("rmsnorm", 2 * 256 + 1, "1234"), TypeError, "data is of type str"),
    (lambda one: runtime.unpack("rmsnorm", "1", b"1234"), TypeError, "schema_id is of type str"),
    (lambda one: runtime.Graph(3), TypeError, "device is of type int"),
])  # fmt: skip
def test_what_is_of_another_type_is_a_type_error(device, call, raises, says):
    with pytest.raises(raises, match=says):
        call(device)


def test_a_policy_that_is_no_text_is_refused(tmp_path):
    (tmp_path / "policy.json").write_bytes(b"\xff\xfe{}")
    (tmp_path / "policy.toml").mkdir()
    for name in ("policy.json", "policy.toml"):
        with pytest.raises(runtime.InvalidArgumentError, match=name):
            runtime.Policy.load(tmp_path / name)


def test_findings_name_memory_without_a_name_by_what_is_in_it(device):
    source = "extern \"C\" __global__ void k(const float* x, float* y) { y[threadIdx.x] = x[threadIdx.x]; }"
    with runtime.register_kernel("relu", "past", source, [runtime.Launch("k", 1, 32, ["x", "y"])], types={"T": ["float32"]}):
        runtime.op_call("relu", [device.zeros((2, 3))], [device.empty((2, 3), name="result")], variant="past")
        with pytest.raises(gpuemu.KernelError, match=r"'float32\[2, 3\]', which has 24 bytes") as raised:
            device.synchronize()
    assert {one.tensor for one in raised.value.findings} == {"float32[2, 3]", "result"}
    assert device.zeros((2, 3)).name == ""
