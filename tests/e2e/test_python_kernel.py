"""gpuemu.Kernel: CUDA and PTX on arrays, on the emulator in a process of its own; wrong kernels, wrong calls, lost processes."""
import inspect
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

gpuemu = pytest.importorskip("gpuemu")
pytestmark = pytest.mark.usefixtures("device_program")
ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("GPUEMU_BIN", ROOT / "build/release/bin"))

ADD = r"""
extern "C" __global__ void add(const float* x, float* y, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += factor * x[i];
}
"""
ADD_LINE = next(i for i, line in enumerate(pathlib.Path(__file__).read_text().splitlines(), 1) if "y[i] += factor" in line)


@pytest.fixture(scope="module")
def add(device_program):
    return gpuemu.Kernel(ADD, "add")


def arrays(n=1000):
    return np.arange(n, dtype=np.float32), np.ones(n, np.float32)


def test_arrays_are_changed_in_place_and_inputs_are_not(add):
    x, y = arrays()
    add[4, 256](x, y, 1000, 2)
    assert np.array_equal(y, 1 + 2 * np.arange(1000)) and np.array_equal(x, np.arange(1000))
    part = np.ones(3000, np.float32)
    add[(4, 1), (256, 1, 1)](x, part[1000:2000], np.int32(1000), np.float32(2))
    assert np.array_equal(part[1000:2000], y) and np.all(part[:1000] == 1) and np.all(part[2000:] == 1)
    add[4, 256](x, x, 1000, 1.0)  # One buffer for both.
    assert np.array_equal(x, 2 * np.arange(1000))


@pytest.mark.parametrize("n, factor", [(np.int64(1000), np.int32(2)), (np.uint16(1000), np.float64(2)), (1000, np.float16(2)),
                                       (1000, np.uint8(2)), (np.int32(1000), 2)])
def test_a_number_means_its_value_whatever_its_type_is(add, n, factor):
    x, y = arrays()
    add[4, 256](x, y, n, factor)
    assert np.array_equal(y, 1 + 2 * x)


def test_a_bool_and_not_a_number_are_numbers_too(add):
    x, y = arrays()
    add[4, 256](x, y, 1000, True)
    add[4, 256](x, y, 1000, np.bool_(True))
    assert np.array_equal(y, 1 + 2 * x)
    add[4, 256](x, y, 1000, np.float64("nan"))
    assert np.isnan(y).all()
    add[4, 256](x, y, 1000, 0.1)  # Rounded, as in C.


def test_a_torch_tensor_is_changed_in_place(add):
    torch = pytest.importorskip("torch")
    x, y = torch.arange(1000, dtype=torch.float32), torch.ones(1000)
    add[4, 256](x, y, 1000, 2.0)
    assert torch.equal(y, 1 + 2 * torch.arange(1000))


def test_a_fault_names_the_line_of_the_python_file_and_the_parameter(add):
    x, y = arrays()
    with pytest.raises(gpuemu.KernelError) as caught:
        add[4, 256](x, y, 1001, 2.0)
    first = caught.value.findings[0]
    assert (first.kind, first.file, first.line) == ("out_of_bounds", __file__, ADD_LINE)
    assert (first.tensor, first.byte_offset, first.block, first.thread) == ("x", 4000, (3, 0, 0), (232, 0, 0))
    assert f"{__file__}:{ADD_LINE}\n    if (i < n) y[i] += factor * x[i];" in str(caught.value)
    assert np.all(y == 1)  # Nothing comes back from a kernel that went wrong.


def test_races_and_uninitialised_memory_are_found_and_checks_can_be_left_out():
    source = r"""__global__ void shift(float* y) {
      __shared__ float row[64];
      row[threadIdx.x] = threadIdx.x;
      y[threadIdx.x] = row[63 - threadIdx.x];
    }"""
    y = np.zeros(64, np.float32)
    with pytest.raises(gpuemu.KernelError, match="row"):
        gpuemu.Kernel(source, "shift")[1, 64](y)
    gpuemu.Kernel(source, "shift", checks=["memory"])[1, 64](y)


def test_without_a_compiler_the_error_says_how_to_get_one(tmp_path):
    """A machine that has none: the program lies where no toolkit is beside it, and the usual folder is empty."""
    if not os.path.isdir("/usr/local/cuda") or os.geteuid() != 0:
        pytest.skip("needs the right to hide the toolkit")
    (tmp_path / "bin").mkdir()
    (tmp_path / "empty").mkdir()
    shutil.copy(BIN / "gpuemu-device", tmp_path / "bin/gpuemu-device")
    code = "import gpuemu\ntry:\n    gpuemu.Kernel('__global__ void k() {}', 'k')\nexcept gpuemu.DeviceError as error:\n    print(error)"
    command = f'mount --bind {tmp_path}/empty "$(readlink -f /usr/local/cuda)" && exec {sys.executable} -c "$CODE"'
    env = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "CODE": code, "PYTHONPATH": str(ROOT / "python"),
           "GPUEMU_DEVICE": str(tmp_path / "bin/gpuemu-device")}
    done = subprocess.run(["unshare", "-m", "sh", "-c", command], capture_output=True, text=True, timeout=60, env=env)
    if "unshare" in done.stderr:
        pytest.skip(done.stderr)
    assert "no CUDA compiler" in done.stdout and "pip install 'gpuemu[cuda]'" in done.stdout, done.stdout + done.stderr


def test_templates_files_ptx_and_dynamic_shared_memory(tmp_path):
    source = """template <typename T, int N> __global__ void fill(T* y) { extern __shared__ char buffer[];
      buffer[threadIdx.x] = N; y[threadIdx.x] = buffer[threadIdx.x]; }"""
    (tmp_path / "fill.cu").write_text(source)
    y = np.zeros(32, np.float64)
    kernel = gpuemu.Kernel(tmp_path / "fill.cu", "fill<double, 7>")
    kernel[1, 32, 64](y)
    assert np.all(y == 7) and kernel.report.thread_instructions > 0
    (tmp_path / "fill.ptx").write_text(kernel.ptx)
    y[:] = 0
    gpuemu.Kernel(str(tmp_path / "fill.ptx"))[1, 32, 64](y)
    assert np.all(y == 7)
    with pytest.raises(gpuemu.KernelError, match="shared"):
        kernel[1, 32, 16](y)


def test_half_types_structures_and_64_bit_numbers():
    source = """#include <cuda_fp16.h>
    struct Pair { int a; double b; };
    __global__ void mixed(__half* h, long long* out, Pair pair, long long big, bool flag, const float* none) {
      h[0] = __float2half(2.0f) * h[0];
      out[0] = big + pair.a + (long long)pair.b + flag + (none == nullptr);
    }"""
    h, out = np.array([1.5], np.float16), np.zeros(1, np.int64)
    pair = np.array([(3, 4.0)], np.dtype([("a", "i4"), ("b", "f8")], align=True))[0]
    gpuemu.Kernel(source, "mixed")[1, 1](h, out, pair.tobytes(), 2**40, True, None)
    assert h[0] == 3 and out[0] == 2**40 + 3 + 4 + 1 + 1


def test_printf_goes_to_the_output_and_a_profile_to_the_report(capsys, add):
    gpuemu.Kernel('__global__ void hello(int n) { printf("n is %d\\n", n); }')[1, 1](5)
    assert capsys.readouterr().out == "n is 5\n"
    add.launch(4, 256, (*arrays(), 1000, 1.0), profile=True)
    assert any(line["line"] == ADD_LINE and line["global_bytes"] == 3 * 4000 for line in add.report.profile)


@pytest.mark.parametrize("args, said", [
    ((1000,), "takes 4 arguments .*add_param_0: u64.*, 1 are given"),
    ((*arrays(), "many", 1.0), "argument 2 of 'add' is of type str, its parameter is u32"),
    ((*arrays(), 3.5, 1.0), "argument 2 of 'add' is of type float, its parameter is u32"),
    ((*arrays(), 2**40, 1.0), "argument 2 of 'add' is 1099511627776, which does not fit into 4 bytes"),
    ((*arrays(), np.int64(2**40), 1.0), "argument 2 of 'add' is 1099511627776, which does not fit into 4 bytes"),
    ((*arrays(), np.float32(3), 1.0), "argument 2 of 'add' is of type float32, its parameter is u32"),
    ((*arrays(), 3, np.float64(0.1)), r"argument 3 of 'add' is .*0.1.*, which f32 cannot hold.*numpy.float32\(value\)"),
    ((*arrays(), 3, 2**24 + 1), "argument 3 of 'add' is 16777217, which f32 cannot hold: the nearest is 16777216"),
    ((*arrays(), 3, np.int32(2**24 + 1)), "argument 3 of 'add' is .*16777217.*, which f32 cannot hold"),
    ((*arrays(), 3, 1e300), "argument 3 of 'add' is 1e.300, which f32 cannot hold: the nearest is inf"),
    ((*arrays(), 3, 10**400), "which f32 cannot hold: the nearest is inf"),
    ((*arrays(), 3, np.complex64(1)), "argument 3 of 'add' is of type complex64, its parameter is f32"),
    ((arrays()[0], arrays()[1].astype(complex), 3, 1.0), None),
])
def test_wrong_arguments_are_refused_before_anything_runs(add, args, said):
    if said is None:  # Any element type: the kernel's pointers have none.
        add[1, 1](*args)
        return
    with pytest.raises(gpuemu.LaunchError, match=said):
        add[4, 256](*args)


def test_wrong_sizes_entries_files_and_sources_are_told(add, tmp_path):
    for size in ((0, 1), (1, (1, 2, 3, 4)), (1, -1), (1.5, 32), (10**11, 32)):
        with pytest.raises(gpuemu.LaunchError, match="expected one to three positive integers"):
            add[size](*arrays(), 1, 1.0)
    with pytest.raises(gpuemu.LaunchError, match=r"kernel\[grid, block\]"):
        add[4](*arrays(), 1, 1.0)
    with pytest.raises(gpuemu.LaunchError, match="2048x1x1.*not allowed"):
        add[1, 2048](*arrays(), 1, 1.0)
    with pytest.raises(gpuemu.LaunchError, match="there is no file"):
        gpuemu.Kernel(tmp_path / "none.cu")
    with pytest.raises(gpuemu.DeviceError, match="nothing"):
        gpuemu.Kernel(ADD, "nothing")
    two = ADD + ADD.replace("add(", "more(")
    with pytest.raises(gpuemu.LaunchError, match="no entry is named; .* has add, more"):
        gpuemu.Kernel(gpuemu.Kernel(two, "add").ptx.replace("\x00", ""))
    with pytest.raises(gpuemu.DeviceError, match=rf"{__file__}\({ADD_LINE}\).*error|error.*nix"):
        gpuemu.Kernel(inspect.cleandoc(ADD).replace("factor * x[i]", "nix"), "add")
    with pytest.raises(ValueError, match="'fast' is no architecture"):
        gpuemu.Device(arch="fast")
    with pytest.raises(gpuemu.DeviceError, match="quantum"):
        gpuemu.Device("quantum").allocate(4)
    read_only = np.ones(1000, np.float32)
    read_only.flags.writeable = False
    with pytest.raises(gpuemu.LaunchError, match="wrote to argument 'y', which is a read-only array"):
        add[4, 256](arrays()[0], read_only, 1000, 1.0)


def test_arrays_beyond_the_memory_are_refused_before_they_are_copied(tmp_path):
    """Arrays of a file that takes no room on the disk, and none of the memory as long as nobody reads it."""
    code = f"""if True:
    import resource, sys
    import numpy as np
    import gpuemu
    kernel = gpuemu.Kernel({ADD!r}, "add", device=gpuemu.Device(memory_limit_bytes=int(sys.argv[1])))
    x = np.memmap(sys.argv[3], np.float32, "r", shape=(int(sys.argv[2]),))
    try:
        kernel[1, 32](x, np.ones(8, np.float32), 8, 1.0)
    except gpuemu.LaunchError as refusal:
        print(refusal, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10)
    """
    with open(tmp_path / "sparse", "wb") as file:
        file.truncate(1 << 42)

    def run(limit, elements):
        done = subprocess.run([sys.executable, "-c", code, str(limit), str(elements), str(tmp_path / "sparse")], capture_output=True, text=True,
                              timeout=100, env={**os.environ, "PYTHONPATH": str(ROOT / "python")}, check=False)  # fmt: skip
        assert done.returncode == 0, done.stderr
        told, peak_mib = done.stdout.rsplit(maxsplit=1)
        assert int(peak_mib) < 1024, "it was copied"
        return told

    told = run(8 << 30, 1 << 31)
    assert "argument 'x' has 8589934592 bytes, all arrays of the call 8589934624, and the device has 8589934592" in told, told
    assert "memory_limit_bytes" in told
    told = run(1 << 20, 1 << 20)
    assert "argument 'x' has 4194304 bytes" in told and "the device has 1048576" in told, told
    told = run(1 << 50, 1 << 40)
    assert "argument 'x' has 4398046511104 bytes" in told and "of this machine's memory are needed" in told, told


def test_a_source_that_is_no_file_has_a_name_of_its_own_and_its_lines():
    source = "__global__ void second(float* y, int n) {" + "\n y[n] = 1;\n}"
    with pytest.raises(gpuemu.KernelError) as caught:
        gpuemu.Kernel(source)[1, 1](np.zeros(1, np.float32), 5)
    assert (caught.value.findings[0].file, caught.value.findings[0].line) == ("<source>", 2)
    assert ", <source>:2: " in str(caught.value)
    with pytest.raises(gpuemu.DeviceError, match=r"<source>\(2\): error.*nix"):
        gpuemu.Kernel(source.replace("= 1", "= nix"))


@pytest.mark.parametrize("dtype, said", [
    (">f4", "argument 'y' has dtype >f4, expected this machine's byte order"),
    ([("a", "<f4"), ("b", ">i4")], "argument 'y' has dtype .*, expected this machine's byte order"),
    (object, "argument 'y' has dtype object, whose elements are objects of Python"),
    ([("a", "f4"), ("b", "O")], "whose elements are objects of Python"),
    (np.longdouble, "argument 'y' has dtype float.*, a long double"),
    (np.clongdouble, "argument 'y' has dtype complex.*, a long double"),
    ([("a", "f4"), ("b", "g", (2,))], "a long double"),
    (np.float64, r"argument 'y' has dtype float64 with elements of 8 bytes, its parameter is float\*.*\.astype\('float32'\)"),
    (np.float16, r"float16 with elements of 2 bytes, its parameter is float\*"),
    *((kind, None) for kind in (np.float32, "?", "i1", "u1", "i4", "u8", "c8", "c16", "M8[ns]", "m8[s]", "S4", "U4", "V4", [("a", "f4"), ("b", "i4")])),
])  # fmt: skip
def test_elements_that_no_kernel_reads_are_refused(add, dtype, said):
    y = np.zeros(8, dtype)
    if said is None:  # Their bytes are the kernel's matter, and come back.
        before = y.copy()
        add[1, 32](np.ones(8, np.float32), y, 0, 1.0)
        assert np.array_equal(y, before)
        return
    with pytest.raises(gpuemu.LaunchError, match=said):
        add[1, 32](np.ones(8, np.float32), y, 8, 1.0)


def test_integers_of_another_size_and_arrays_for_numbers_are_refused(add):
    count = gpuemu.Kernel("__global__ void count(const unsigned int *__restrict__ x, long long y[]) { y[0] = x[0]; }", "count")
    total = np.zeros(1, np.int64)
    count[1, 1](np.full(1, 5, np.int32), total)
    assert total[0] == 5
    with pytest.raises(gpuemu.LaunchError, match=r"'x' has dtype int64 .* is unsigned int\*.*astype\('int32'\)"):
        count[1, 1](np.full(1, 5), total)
    with pytest.raises(gpuemu.LaunchError, match=r"argument 2 of 'add', 'n', is an array, its parameter is u32: .*\.item\(\)"):
        add[1, 32](*arrays(8), np.array(8), 1.0)
    with pytest.raises(gpuemu.LaunchError, match="argument 'x' is a masked array that masks 8 of 8"):
        add[1, 32](np.ma.masked_array(arrays(8)[0], mask=True), arrays(8)[1], 8, 1.0)


def test_what_cannot_be_written_back_writes_nothing_back():
    both = gpuemu.Kernel("__global__ void both(float* x, float* y, int n) { int i = threadIdx.x; if (i < n) { x[i] += 1; y[i] += 2; } }", "both")
    x, frozen = np.zeros(8, np.float32), np.zeros(8, np.float32)
    frozen.flags.writeable = False
    with pytest.raises(gpuemu.LaunchError, match="argument 'y', which is a read-only array"):
        both[1, 32](x, frozen, 8)
    assert not x.any()
    memory = np.zeros(16, np.float32)
    both[1, 32](memory[:8], memory[8:], 8)
    both[1, 32](memory[:8], memory[:8], 8)
    assert np.array_equal(memory, [4] * 8 + [2] * 8)


@pytest.mark.parametrize("options, kind, said", [
    ({"checks": "memory"}, TypeError, r"checks is 'memory', expected a list of names, as in \['memory'\]"),
    ({"checks": ["memry"]}, ValueError, "unknown checks memry; there are memory, init, race, sync"),
    ({"flags": "-O3"}, TypeError, "flags is '-O3', expected a list"),
    ({"include_dirs": "/tmp"}, TypeError, "include_dirs is '/tmp', expected a list"),
    ({"entry": 5}, gpuemu.LaunchError, "the entry is 5, expected a name"),
    ({"entry": "a\udc80"}, gpuemu.DeviceError, "'compile' has a text with a lone surrogate"),
    ({"source": ADD + "//\udc80"}, gpuemu.LaunchError, "the source has a lone surrogate"),
])
def test_wrong_options_of_a_kernel_are_told_and_end_no_device(add, options, kind, said):
    generation = add.device.generation
    with pytest.raises(kind, match=said):
        gpuemu.Kernel(**{"source": ADD, "entry": "add", **options})
    x, y = arrays(8)
    add[1, 32](x, y, 8, 1.0)
    assert add.device.generation == generation
    assert gpuemu.Kernel(ADD, "add", checks=[], include_dirs=[pathlib.Path("/tmp")]).checks == ()


def test_a_kernel_that_does_not_end_is_stopped():
    kernel = gpuemu.Kernel("__global__ void spin(volatile int* p) { while (*p == 0) {} }", "spin", timeout_ms=500)
    with pytest.raises(gpuemu.KernelError):
        kernel[1, 32](np.zeros(1, np.int32))


def test_a_lost_process_is_told_and_replaced(add):
    x, y = arrays()
    with gpuemu.Device() as device:
        kernel = gpuemu.Kernel(ADD, "add", device=device)
        os.kill(device._process.pid, signal.SIGKILL)
        with pytest.raises(gpuemu.DeviceLostError, match="was killed, probably .* out of memory .* the next launch starts another one"):
            kernel[4, 256](x, y, 1000, 1.0)
        kernel[4, 256](x, y, 1000, 1.0)
        assert y[5] == 6
        limited = gpuemu.Device(memory_limit_bytes=1 << 20)
        with pytest.raises(gpuemu.DeviceError, match="1048576|limit"):
            limited.allocate(2 << 20)


def test_a_buffer_of_a_process_that_ended_is_no_buffer_of_the_next():
    with gpuemu.Device() as device:
        kernel = gpuemu.Kernel(ADD, "add", device=device)
        kept = device.allocate(4000, "x")
        device.upload(kept, np.ones(1000, np.float32))
        device.close()  # As when a kernel of another thread ends the process.
        other = device.allocate(4000, "y")
        assert other.generation == kept.generation + 1
        words = [int(kept).to_bytes(8, "little"), int(other).to_bytes(8, "little"), bytes(4), bytes(4)]
        for use in (lambda: device.download(kept, 4000), lambda: device.upload(kept, bytes(4)),
                    lambda: device.launch(kernel.module, "add", (1,), (1,), words, buffers=[kept, other])):
            with pytest.raises(gpuemu.DeviceLostError, match="went with the process that had it"):
                use()
        device.free(kept)  # It is gone already.
        device.upload(other, bytes(4000))
        device.launch(kernel.module, "add", (1,), (1,), [words[1]] * 2 + words[2:], buffers=[other])


FAKE = """#!{python}
import json, struct, sys
def reply(**members):
    text = json.dumps(members).encode()
    sys.stdout.buffer.write(struct.pack("<IQ", len(text), 0) + text)
    sys.stdout.buffer.flush()
lost = False
while head := sys.stdin.buffer.read(12):
    text, data = struct.unpack("<IQ", head)
    asked = json.loads(sys.stdin.buffer.read(text))["request"]
    sys.stdin.buffer.read(data)
    if asked == "compile":
        reply(error={{"code": "Unavailable", "message": "no compiler"}})
    elif lost or asked == "upload":
        lost = True
        reply(error={{"code": "Unavailable", "message": "the CUDA device is lost after a fault"}})
    elif asked == "launch":
        lost = True
        reply(findings=[], printed=[], thread_instructions=0, elapsed_ns=0, profile=[], lost=True)
    else:
        reply(backend="cuda", sm=90, address=256, module=1, entries={{}})
"""


def test_a_gpu_that_a_kernel_took_down_is_had_again_in_another_process(tmp_path, monkeypatch):
    """A process that answers as that of a GPU does."""
    fake = tmp_path / "gpuemu-device"
    fake.write_text(FAKE.format(python=sys.executable))
    fake.chmod(0o755)
    monkeypatch.setenv("GPUEMU_DEVICE", str(fake))
    with gpuemu.Device("cuda") as device:
        with pytest.raises(gpuemu.DeviceError, match="no compiler") as caught:
            device.compile("a.cu", "")
        assert not isinstance(caught.value, gpuemu.DeviceLostError) and device.generation == 1
        address = device.allocate(4)
        with pytest.raises(gpuemu.DeviceLostError, match="lost after a fault: its buffers and modules are gone"):
            device.upload(address, b"1234")
        module = device.load("")
        assert device.generation == 2
        device.launch(module, "wrong", (1,), (1,), [])  # The report says that the GPU is gone.
        device.launch(module, "wrong", (1,), (1,), [])
        assert device.generation == 3 and device.allocate(4) == 256


def test_a_kernel_that_nobody_has_is_unloaded():
    def answers(number):
        with pytest.raises(gpuemu.DeviceError) as caught:
            device._ask("launch", module=number, entry="none", grid=[1], block=[1], arg_bytes=[])
        return str(caught.value)

    with gpuemu.Device() as device:
        kept, dropped = gpuemu.Kernel(ADD, "add", device=device), gpuemu.Kernel(ADD, "add", device=device)
        numbers = [kept.module.number, dropped.module.number]
        assert "no entry 'none'" in answers(numbers[1]) or "none" in answers(numbers[1])
        before = answers(numbers[1])
        del dropped
        assert answers(numbers[1]) != before and answers(numbers[0]).replace(str(numbers[0]), "") == before.replace(str(numbers[1]), "")
        x, y = arrays()
        kept[4, 256](x, y, 1000, 1.0)
        device.close()
        kept[4, 256](x, y, 1000, 1.0)  # Loaded again in another process, and not unloaded there.
        kept[4, 256](x, y, 1000, 1.0)
        assert np.array_equal(y, 1 + 3 * x)


def test_a_device_ends_with_its_last_user_and_there_is_one_for_all():
    device = gpuemu.Device()
    device.allocate(4)
    process = device._process
    del device
    assert process.wait(timeout=60) == 0
    from gpuemu.device import device as devices

    made = devices.Device
    shared = devices.shared_device()
    devices.Device = None  # It would be called.
    try:
        assert devices.shared_device() is shared
    finally:
        devices.Device = made


def test_no_memory_is_lost_over_many_launches_and_threads_share_a_kernel(add):
    free = add.device.properties["memory_free_bytes"]
    wrong = []

    def work(number):
        x = np.full(1000, number, np.float32)
        for _ in range(10):
            y = np.zeros(1000, np.float32)
            add[4, 256](x, y, 1000, 1.0)
            if not np.array_equal(x, y):
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and add.device.properties["memory_free_bytes"] == free
