"""Programs of the driver API run on the emulator when libcuda.so.1 of gpuemu is in front."""
import os
import pathlib
import re
import subprocess
import sys
import textwrap

import pytest

from conftest import BIN, ROOT

SOURCES = ROOT / "tests/e2e/run"
DROP_IN = BIN.parent / "lib/gpuemu/drop-in"


@pytest.fixture(scope="module")
def add(tmp_path_factory):
    """The C program of tests/e2e/run, linked with our libcuda.so.1 as with NVIDIA's."""
    program = tmp_path_factory.mktemp("run") / "add"
    done = subprocess.run(["gcc", "-g", "-Wall", "-o", program, SOURCES / "add.c", f"-L{DROP_IN}", "-lcuda"],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return program


def run(*command, **variables):
    return subprocess.run(command, capture_output=True, text=True, timeout=120,
                          env={**os.environ, "LD_LIBRARY_PATH": str(DROP_IN), **variables})


def test_a_right_program_runs_and_nothing_is_reported(add):
    done = run(add, "right")
    assert (done.returncode, done.stdout, done.stderr) == (0, "0 wrong\n", "")


def test_an_access_past_an_allocation_fails_the_next_call_that_waits_and_is_reported_at_the_end(add):
    done = run(add, "outside")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "synchronize gives 700, then 0\n0 wrong\n"  # Stores within bounds took effect.
    assert "error[OutOfBounds]: reads 4 bytes at byte offset 4000 of 'allocation 1', which has 4000 bytes" in done.stderr
    assert "scale.cu:7, kernel add, thread (232,0,0) of block (3,0,0)" in done.stderr
    assert re.search(r"in 1 kernel, 1 launch of 1 process\n$", done.stderr)


def test_a_second_free_is_refused_and_reported(add):
    done = run(add, "twice")
    assert done.stdout == "free gives 1\n"
    assert "error[InvalidFree]: cuMemFree of 0x" in done.stderr and "is freed already: 'allocation 1'" in done.stderr


def test_streams_and_events_keep_their_order(add):
    assert run(add, "stream").stdout == "0 wrong, took time: 1\n"


def test_a_captured_launch_runs_as_a_graph_and_a_wait_invalidates_a_capture(add):
    done = run(add, "graph")
    assert done.stdout == "synchronize while capturing gives 900\nend gives 901\n0 wrong\n", done.stderr


def test_wrong_calls_give_the_codes_of_the_driver(add):
    done = run(add, "wrong")
    assert done.stdout.split() == "block 1 grid 1 handle 400 name 400 copy 1 ipc 801 ipc 801".split()
    assert done.stderr.count("gpuemu: cuIpcGetMemHandle is not supported") == 1
    assert "error[OutOfBounds]: cuMemcpyDtoH of 4004 bytes at byte offset 0 of 'allocation 1', which has 4000 bytes" \
        in done.stderr


def test_calls_before_cuinit_and_without_a_context_say_so(add):
    assert run(add, "too_early").stdout == "before cuInit 3\nwithout context 201\n"


NOTHING = """
import ctypes
cuda = ctypes.CDLL("libcuda.so.1")
for name in NAMES:
    print(name, getattr(cuda, name)(*[ctypes.c_void_p()] * 8))
for name in ("cuMemHostAlloc", "cuEventRecordWithFlags"):  # With flags that there are not.
    print(name, getattr(cuda, name)(None, None, ctypes.c_uint(64)))
"""


def test_cuinit_is_wanted_before_arguments_are_looked_at():
    names = ["cuLaunchKernelEx", "cuGraphInstantiateWithParams", "cuGraphExecNodeSetParams", "cuCtxCreate_v3", "cuMemAlloc_v2", "cuStreamCreate",
             "cuModuleLoadData", "cuCtxSynchronize"]
    done = run(sys.executable, "-c", NOTHING.replace("NAMES", repr(names)))
    assert done.returncode == 0 and {line.split()[1] for line in done.stdout.splitlines()} == {"3"}, done.stdout + done.stderr


def test_no_visible_device_means_no_device(add):
    assert "CUDA_ERROR_NO_DEVICE" in run(add, "right", CUDA_VISIBLE_DEVICES="").stderr


def test_a_library_that_contains_nvidias_runtime_is_named_when_it_asks_for_its_tables():
    text = "import ctypes; cuda = ctypes.CDLL('libcuda.so.1'); print(cuda.cuGetExportTable(ctypes.byref(ctypes.c_void_p()), bytes(16)))"
    done = run(sys.executable, "-c", text)
    assert done.stdout == "801\n" and "contains NVIDIA's runtime library (cudart) and cannot run here" in done.stderr
    assert re.search(r"cuGetExportTable is not supported: \S+ asks for it", done.stderr)


CTYPES = """
    import ctypes, sys
    cuda = ctypes.CDLL("libcuda.so.1")
    def check(code):
        assert code == 0, code
    check(cuda.cuInit(0))
    version = ctypes.c_int()
    check(cuda.cuDriverGetVersion(ctypes.byref(version)))
    device, context = ctypes.c_int(), ctypes.c_void_p()
    check(cuda.cuDeviceGet(ctypes.byref(device), 0))
    name = ctypes.create_string_buffer(64)
    check(cuda.cuDeviceGetName(name, 64, device))
    check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
    check(cuda.cuCtxSetCurrent(context))
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    log = ctypes.create_string_buffer(512)
    options = (ctypes.c_int * 2)(5, 6)
    values = (ctypes.c_void_p * 2)(ctypes.addressof(log), 512)
    ptx = open(sys.argv[1]).read()
    assert cuda.cuModuleLoadDataEx(ctypes.byref(module), ptx.replace("add.f32", "add.f32 ,").encode(), 2, options, values) == 218
    print(log.value.decode())
    assert cuda.cuModuleLoadData(ctypes.byref(module), ptx.replace("sm_70", "sm_90").encode()) == 209
    assert cuda.cuModuleLoadData(ctypes.byref(module), ptx.replace(".version 7.0", ".version 99.0").encode()) == 222
    assert cuda.cuModuleLoadData(ctypes.byref(module), b"\\x7fELF\\x02\\x01\\x01") == 209
    check(cuda.cuModuleLoadData(ctypes.byref(module), ptx.encode()))
    check(cuda.cuModuleGetFunction(ctypes.byref(function), module, b"add"))
    N = 512
    floats = (ctypes.c_float * N)(*range(N))
    memory = [ctypes.c_uint64() for _ in range(3)]
    for one in memory:
        check(cuda.cuMemAlloc_v2(ctypes.byref(one), 4 * N))
        check(cuda.cuMemcpyHtoD_v2(one, floats, ctypes.c_size_t(4 * N)))
    arguments = [*memory, ctypes.c_uint32(N)]
    pointers = (ctypes.c_void_p * 4)(*(ctypes.addressof(one) for one in arguments))
    check(cuda.cuLaunchKernel(function, 2, 1, 1, 256, 1, 1, 0, None, pointers, None))
    check(cuda.cuMemcpyDtoH_v2(floats, memory[2], ctypes.c_size_t(4 * N)))
    print(version.value, name.value.decode(), list(floats) == [2.0 * i for i in range(N)])
    found, status = ctypes.c_void_p(), ctypes.c_int()
    def address(name, version, flags=0):
        check(cuda.cuGetProcAddress_v2(name, ctypes.byref(found), version, ctypes.c_uint64(flags), ctypes.byref(status)))
        return found.value, status.value
    of = lambda symbol: ctypes.cast(getattr(cuda, symbol), ctypes.c_void_p).value
    assert address(b"cuCtxGetDevice", 2000) == (of("cuCtxGetDevice"), 0)
    assert address(b"cuCtxGetDevice", 99000) == (of("cuCtxGetDevice_v2"), 0)
    assert address(b"cuMemAlloc", 12000) == (of("cuMemAlloc_v2"), 0)
    assert address(b"cuLaunchKernel", 12000, 2) == (of("cuLaunchKernel_ptsz"), 0)
    assert address(b"cuLaunchKernelEx", 11000) == (None, 2)
    assert address(b"cuNoSuchCall", 13000) == (None, 1)
"""


def ptx_of(folder):
    lines = re.findall(r'^    "(.*)"', (SOURCES / "driver.h").read_text(), re.M)
    path = folder / "add.ptx"
    path.write_text("".join(line.replace("\\n", "\n").replace('\\"', '"') for line in lines))
    return path


def test_a_ctypes_program_works_and_gets_functions_by_version(tmp_path):
    (tmp_path / "program.py").write_text(textwrap.dedent(CTYPES))
    done = run(sys.executable, tmp_path / "program.py", ptx_of(tmp_path))
    assert done.returncode == 0, done.stderr
    log, answer = done.stdout.splitlines()
    assert re.match(r"ptx:\d+:\d+: ", log) and answer == "13000 gpuemu sm_80 True"


def test_a_child_of_fork_has_no_devices_until_it_executes_a_program(tmp_path):
    (tmp_path / "program.py").write_text(textwrap.dedent("""
        import ctypes, os
        cuda = ctypes.CDLL("libcuda.so.1")
        assert cuda.cuInit(0) == 0
        child = os.fork()
        if child == 0:
            os._exit(cuda.cuInit(0) * 10 + cuda.cuCtxSynchronize())
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        """))
    assert run(sys.executable, tmp_path / "program.py").stdout == "33\n"


IMAGES = """
    import ctypes, struct, sys
    cuda = ctypes.CDLL("libcuda.so.1")
    context = ctypes.c_void_p()
    assert cuda.cuInit(0) == 0 and cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
    assert cuda.cuCtxSetCurrent(context) == 0
    ptx = open(sys.argv[1], "rb").read()
    def load(image):
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        code = cuda.cuModuleLoadData(ctypes.byref(module), image)
        return code or cuda.cuModuleGetFunction(ctypes.byref(function), module, b"add")
    def literals(text):  # An LZ4 block without matches.
        length = len(text) - 15
        return b"\\xf0" + b"\\xff" * (length // 255) + bytes([length % 255]) + text
    def entry(kind, sm, body, flags=0, unpacked=0):
        return struct.pack("<HHIQIIHHIIIQQQ", kind, 0x101, 64, len(body), len(body), 0, 0, 7, sm, 64, 0, flags, 0, unpacked) + body
    def container(*entries):
        body = b"".join(entries)
        return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body)) + body
    newer = ptx.replace(b"add(", b"newer(").replace(b"sm_70", b"sm_90")
    older = ptx.replace(b"add(", b"older(")
    machine = entry(2, 80, b"\\x7fELF machine code")
    print(load(container(machine, entry(1, 50, older), entry(1, 70, ptx), entry(1, 90, newer))),
          load(container(entry(1, 70, literals(ptx), 0x2000, len(ptx)))),
          load(container(machine)))
    good = container(entry(1, 70, literals(ptx), 0x2000, len(ptx)))
    damaged = [good[:16 + at] + struct.pack("<Q", value) + good[24 + at:] for at in (4, 8, 56) for value in (1, 1 << 40)]
    print({load(one) for one in damaged})
    linker, image, size = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_size_t()
    assert cuda.cuLinkCreate_v2(0, None, None, ctypes.byref(linker)) == 0
    for text in (ptx, older):
        assert cuda.cuLinkAddData_v2(linker, 1, text, ctypes.c_size_t(len(text)), b"part", 0, None, None) == 0
    assert cuda.cuLinkAddData_v2(linker, 0, b"cubin", ctypes.c_size_t(5), b"part", 0, None, None) == 801
    assert cuda.cuLinkComplete(linker, ctypes.byref(image), ctypes.byref(size)) == 0
    linked = ctypes.string_at(image, size.value)
    assert cuda.cuLinkDestroy(linker) == 0
    print(load(linked))
"""


def test_images_are_text_fat_binaries_with_ptx_and_what_the_linker_made(tmp_path):
    (tmp_path / "program.py").write_text(textwrap.dedent(IMAGES))
    done = run(sys.executable, tmp_path / "program.py", ptx_of(tmp_path))
    assert done.stdout.splitlines() == ["0 0 209", "{200}", "0"], done.stdout + done.stderr
    assert "build with -gencode arch=compute_80,code=compute_80" in done.stderr


TENSOR_MAPS = """
import ctypes
cuda = ctypes.CDLL("libcuda.so.1")
cuda.cuInit(0)
room = ctypes.create_string_buffer(256)
at = (ctypes.addressof(room) + 63) // 64 * 64
def encode(rank=2, kind=7, sizes=(64, 32), stride=256, box=(16, 8), swizzle=0, fill=0, address=0x10000):
    numbers = lambda type, values: (type * 5)(*values)
    return cuda.cuTensorMapEncodeTiled(
        ctypes.c_void_p(at), kind, rank, ctypes.c_void_p(address), numbers(ctypes.c_uint64, sizes), numbers(ctypes.c_uint64, [stride]),
        numbers(ctypes.c_uint32, box), numbers(ctypes.c_uint32, [1] * 5), 0, swizzle, 0, fill)
print(encode(), encode(swizzle=2), encode(fill=1), cuda.cuTensorMapReplaceAddress(ctypes.c_void_p(at), ctypes.c_void_p(0x20000)))
print(encode(rank=0), encode(rank=6), encode(stride=8), encode(box=(3, 8)), encode(box=(16, 257)), encode(swizzle=1), encode(address=8),
      encode(sizes=(0, 1)), encode(kind=2, fill=1), cuda.cuTensorMapReplaceAddress(ctypes.c_void_p(at), ctypes.c_void_p(3)))
"""


def test_tensor_maps_are_encoded_by_the_rules_of_the_header():
    done = run(sys.executable, "-c", TENSOR_MAPS)
    assert done.stdout.splitlines() == ["0 0 0 0", " ".join(["1"] * 10)], done.stderr
