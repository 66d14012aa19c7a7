"""Programs of several devices, memory pools, and calls that a capture forbids, by the driver API."""
import os
import subprocess
import sys
import textwrap

import pytest

from conftest import BIN

# Every program begins with this; inc(x) adds 1 to 32 integers.
BEGIN = '''
import ctypes as c

cuda = c.CDLL("libcuda.so.1")
P, S = c.c_void_p, c.c_size_t
PTX = b"""
.version 7.0
.target sm_70
.address_size 64
.visible .entry inc(.param .u64 x) {
  .reg .b32 %r<3>; .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [x]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd1, %rd1, %rd2;
  ld.global.u32 %r2, [%rd1]; add.u32 %r2, %r2, 1; st.global.u32 [%rd1], %r2; ret;
}
"""
contexts, functions, values = [], [], (c.c_int * 32)()


def check(code):
    assert code == 0, code


def made(call, *arguments):
    handle = P()
    check(call(c.byref(handle), *arguments))
    return handle


def use(device):
    check(cuda.cuCtxSetCurrent(contexts[device]))


def inc(device, memory):
    """Launches the kernel, and returns what waiting for it says."""
    use(device)
    check(cuda.cuLaunchKernel(functions[device], 1, 1, 1, 32, 1, 1, 0, None, (P * 1)(c.addressof(memory)), None))
    return cuda.cuCtxSynchronize()


check(cuda.cuInit(0))
count = c.c_int()
check(cuda.cuDeviceGetCount(c.byref(count)))
for device in range(count.value):
    contexts.append(made(cuda.cuDevicePrimaryCtxRetain, device))
    use(device)
    functions.append(made(cuda.cuModuleGetFunction, made(cuda.cuModuleLoadData, PTX), b"inc"))
'''


@pytest.fixture
def run(tmp_path):
    def run_program(text, *options):
        program = tmp_path / "program.py"
        program.write_text(BEGIN + textwrap.dedent(text))
        return subprocess.run([BIN / "gpuemu", "run", "--quiet", *options, "--", sys.executable, program], capture_output=True, text=True,
                              timeout=120, env=dict(os.environ))
    return run_program


def test_copies_and_fills_reach_the_memory_of_every_device(run):
    done = run("""
        use(0)
        first = made(cuda.cuMemAlloc_v2, S(128))
        use(1)
        second = made(cuda.cuMemAlloc_v2, S(128))
        stream = made(cuda.cuStreamCreate, 0)
        check(cuda.cuMemsetD32_v2(first, 7, S(32)))  # The current device is the second.
        check(cuda.cuMemcpyDtoD_v2(second, first, S(128)))
        assert inc(1, second) == 0
        check(cuda.cuMemcpyAsync(first, second, S(128), stream))
        check(cuda.cuMemcpyDtoHAsync_v2(values, first, S(128), stream))
        assert list(values) == [8] * 32
        check(cuda.cuMemcpyPeer(second, contexts[1], first, contexts[0], S(64)))
        check(cuda.cuMemsetD8_v2(first, 0, S(128)))
        check(cuda.cuMemcpyHtoD_v2(first, values, S(4)))
        check(cuda.cuMemcpy(P(c.addressof(values)), first, S(128)))
        assert list(values) == [8] + [0] * 31
        check(cuda.cuMemFree_v2(first))
    """, "--devices", "2")
    assert (done.returncode, done.stderr) == (0, "")


def test_kernels_of_every_device_use_managed_pinned_and_registered_memory(run):
    done = run("""
        buffer = c.create_string_buffer(8192)
        registered = P((c.addressof(buffer) + 4095) // 4096 * 4096)
        use(0)
        check(cuda.cuMemHostRegister_v2(registered, S(128), 0))
        for memory in (made(cuda.cuMemAllocManaged, S(128), 1), made(cuda.cuMemHostAlloc, S(128), 0), registered):
            for device in (0, 1, 1):
                assert inc(device, memory) == 0
            assert c.cast(memory, c.POINTER(c.c_int))[31] == 3
    """, "--devices", "2")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_kernel_uses_memory_of_a_peer_only_while_it_may(run):
    done = run("""
        use(0)
        early = made(cuda.cuMemAlloc_v2, S(128))
        check(cuda.cuMemsetD8_v2(early, 0, S(128)))
        can = c.c_int()
        check(cuda.cuDeviceCanAccessPeer(c.byref(can), 1, 0))
        assert can.value == 1
        check(cuda.cuDeviceCanAccessPeer(c.byref(can), 1, 1))
        assert can.value == 0
        use(1)
        check(cuda.cuCtxEnablePeerAccess(contexts[0], 0))
        assert cuda.cuCtxEnablePeerAccess(contexts[0], 0) == 704
        use(0)
        late = made(cuda.cuMemAlloc_v2, S(128))
        check(cuda.cuMemsetD8_v2(late, 0, S(128)))
        for memory in (early, late):
            assert (inc(1, memory), inc(0, memory)) == (0, 0)
            check(cuda.cuMemcpyDtoH_v2(values, memory, S(128)))
            assert list(values) == [2] * 32
        check(cuda.cuMemFree_v2(late))
        use(1)
        check(cuda.cuCtxDisablePeerAccess(contexts[0]))
        assert cuda.cuCtxDisablePeerAccess(contexts[0]) == 705
        print(inc(1, early), inc(0, early))
    """, "--devices", "2")
    assert done.stdout == "700 0\n", done.stderr
    assert done.returncode == 1 and done.stderr.count("error[") == 1 and "error[OutOfBounds]" in done.stderr


def test_memory_of_a_pool_is_open_to_the_devices_that_the_pool_names(run):
    done = run("""
        class Access(c.Structure):
            _fields_ = [("type", c.c_int), ("id", c.c_int), ("flags", c.c_int)]

        pool = made(cuda.cuDeviceGetDefaultMemPool, 0)
        use(0)
        early = made(cuda.cuMemAllocFromPoolAsync, S(128), pool, None)
        access, told = Access(1, 1, 3), c.c_int()
        check(cuda.cuMemPoolSetAccess(pool, c.byref(access), S(1)))
        check(cuda.cuMemPoolGetAccess(c.byref(told), pool, c.byref(access)))
        assert told.value == 3
        late = made(cuda.cuMemAllocFromPoolAsync, S(128), pool, None)
        for memory in (early, late):
            check(cuda.cuMemsetD8_v2(memory, 0, S(128)))
            assert (inc(1, memory), inc(0, memory)) == (0, 0)
        check(cuda.cuMemFreeAsync(late, None))
        access.flags = 0
        check(cuda.cuMemPoolSetAccess(pool, c.byref(access), S(1)))
        print(inc(1, early), inc(0, early))
        for flags, device, code in ((2, 1, 1), (0, 0, 1), (3, 7, 101)):
            assert cuda.cuMemPoolSetAccess(pool, c.byref(Access(1, device, flags)), S(1)) == code
    """, "--devices", "2")
    assert done.stdout == "700 0\n", done.stderr
    assert "of 'allocation 1', which is memory of device 0: its kernels alone can use it, until peer access is enabled\n" in done.stderr


def test_a_finding_says_whose_memory_an_address_is(run):
    done = run("""
        inc(0, P(0))
        inc(0, P(64))
        inc(0, P((c.addressof(values) + 63) // 64 * 64))
        inc(0, P(0x10000000))
    """)
    other = run("""
        use(1)
        memory = made(cuda.cuMemAlloc_v2, S(128))
        inc(0, memory)
    """, "--devices", "2")
    assert "which is in 'allocation 1', memory of device 1: its kernels alone can use it, until peer access is enabled\n" in other.stderr
    found = [line for line in done.stderr.splitlines() if line.startswith("error[")]
    owners = [", which is a null pointer", "at 0x40, which is an offset from a null pointer",
              ", which is memory of the host that is neither pinned, registered nor managed", "at 0x10000000, which belongs to no allocation"]
    # All are at one line of one kernel: one finding, by its first occurrence.
    assert len(found) == 1 and found[0].endswith(owners[0]), done.stderr
    for text, owner in zip(("P(64)", "P((c.addressof(values) + 63) // 64 * 64)", "P(0x10000000)"), owners[1:]):
        stderr = run(f"inc(0, {text})").stderr
        assert owner + "\n" in stderr, stderr


def test_calls_that_may_wait_invalidate_a_capture_unless_its_mode_allows_them(run):
    done = run("""
        import threading
        other = made(cuda.cuMemAlloc_v2, S(128))
        stream, graph = made(cuda.cuStreamCreate, 1), P()

        def calls(mode, exchanged=None):
            check(cuda.cuStreamBeginCapture_v2(stream, mode))
            code = []

            def allocate():
                if exchanged is not None:
                    check(cuda.cuThreadExchangeStreamCaptureMode(c.byref(c.c_int(exchanged))))
                use(0)
                code.append(cuda.cuMemAlloc_v2(c.byref(P()), S(128)))

            if exchanged is None:
                allocate()
            else:
                thread = threading.Thread(target=allocate)
                thread.start()
                thread.join()
            return code[0], cuda.cuStreamEndCapture(stream, c.byref(graph))

        assert calls(0) == (900, 901)
        assert calls(1) == (900, 901)
        assert calls(2) == (0, 0)
        assert calls(0, exchanged=0) == (900, 901)  # Of another thread.
        assert calls(0, exchanged=1) == (0, 0)
        assert calls(1, exchanged=0) == (0, 0)
        check(cuda.cuStreamBeginCapture_v2(stream, 0))
        assert cuda.cuMemFree_v2(other) == 900
        assert cuda.cuMemAllocAsync(c.byref(P()), S(128), stream) == 901
        assert cuda.cuStreamEndCapture(stream, c.byref(graph)) == 901
        check(cuda.cuMemFree_v2(other))
    """)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_pool_tells_what_it_holds_and_held_at_most(run):
    done = run("""
        pool = made(cuda.cuDeviceGetDefaultMemPool, 0)

        def attribute(number, of=pool):
            value = c.c_uint64()
            check(cuda.cuMemPoolGetAttribute(of, number, c.byref(value)))
            return value.value

        assert [attribute(number) for number in range(1, 9)] == [1, 1, 1, 0, 0, 0, 0, 0]
        memory = made(cuda.cuMemAllocAsync, S(4000), None)
        more = made(cuda.cuMemAllocFromPoolAsync, S(1000), pool, None)
        assert (attribute(7), attribute(8)) == (5000, 5000)
        handle = P()
        check(cuda.cuPointerGetAttribute(c.byref(handle), 17, memory))
        assert handle.value == pool.value
        check(cuda.cuMemFreeAsync(memory, None))
        assert (attribute(7), attribute(8)) == (1000, 5000)
        zero, flag = c.c_uint64(0), c.c_int(0)
        check(cuda.cuMemPoolSetAttribute(pool, 8, c.byref(zero)))
        assert (attribute(6), attribute(8)) == (5000, 1000)
        check(cuda.cuMemPoolSetAttribute(pool, 2, c.byref(flag)))
        assert attribute(2) == 0
        for number, value in ((7, 0), (8, 5), (9, 0)):
            assert cuda.cuMemPoolSetAttribute(pool, number, c.byref(c.c_uint64(value))) == 1
        check(cuda.cuMemFreeAsync(more, None))
    """)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_host_reads_its_own_memory_behind_synchronous_calls_and_attaches_it(run):
    done = run("""
        managed, pinned = made(cuda.cuMemAllocManaged, S(128), 1), made(cuda.cuMemHostAlloc, S(128), 0)
        device = made(cuda.cuMemAlloc_v2, S(128))
        for round in range(200):
            check(cuda.cuMemsetD32_v2(device, round, S(32)))
            check(cuda.cuMemcpy(managed, device, S(128)))
            assert c.cast(managed, c.POINTER(c.c_int))[31] == round
            check(cuda.cuMemsetD32_v2(pinned, round + 1, S(32)))
            assert c.cast(pinned, c.POINTER(c.c_int))[31] == round + 1
        stream = made(cuda.cuStreamCreate, 1)
        for bytes, flags in ((0, 4), (128, 1), (0, 2)):
            check(cuda.cuStreamAttachMemAsync(stream, managed, S(bytes), flags))
        for of, memory, bytes, flags in ((stream, managed, 64, 4), (stream, device, 0, 4), (None, managed, 0, 4), (stream, managed, 0, 3)):
            assert cuda.cuStreamAttachMemAsync(of, memory, S(bytes), flags) == 1
    """)
    assert (done.returncode, done.stderr) == (0, "")


def test_an_update_with_another_number_of_nodes_changes_the_topology(run):
    done = run("""
        class Fill(c.Structure):
            _fields_ = [("to", c.c_uint64), ("pitch", S), ("value", c.c_uint), ("element", c.c_uint), ("width", S), ("height", S)]

        memory = made(cuda.cuMemAlloc_v2, S(128))
        fill = Fill(memory.value, 0, 1, 4, 32, 1)

        def graph(*kinds):
            one = made(cuda.cuGraphCreate, 0)
            for kind in kinds:
                if kind == "empty":
                    made(cuda.cuGraphAddEmptyNode, one, None, S(0))
                else:
                    made(cuda.cuGraphAddMemsetNode, one, None, S(0), c.byref(fill), contexts[0])
            return one

        class Result(c.Structure):
            _fields_ = [("result", c.c_int), ("node", P), ("from_node", P)]

        launchable = made(cuda.cuGraphInstantiateWithFlags, graph("empty", "fill"), c.c_uint64(0))

        def update(*kinds):
            told = Result()
            return cuda.cuGraphExecUpdate_v2(launchable, graph(*kinds), c.byref(told)), told.result

        assert update("fill") == (910, 2)
        assert update("fill", "empty") == (910, 3)
        assert update("empty", "fill") == (0, 0)
    """)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_context_is_made_with_parameters_that_name_nothing(run):
    done = run("""
        class Parameters(c.Structure):
            _fields_ = [("affinity", P), ("count", c.c_int), ("graphics", P)]

        made(cuda.cuCtxCreate_v4, c.byref(Parameters()), 0, 0)
        made(cuda.cuCtxCreate_v4, None, 0, 0)
        assert cuda.cuCtxCreate_v4(c.byref(P()), c.byref(Parameters(None, 0, P(64))), 0, 0) == 801
    """)
    assert (done.returncode, done.stderr) == (0, "gpuemu: cuCtxCreate for graphics is not supported\n")


def test_a_stream_keeps_its_hints_and_gives_them_to_another(run):
    done = run("""
        first, second = made(cuda.cuStreamCreate, 1), made(cuda.cuStreamCreate, 1)

        def policy(stream, value=None):
            bytes = (c.c_int * 16)(value or 0)
            check((cuda.cuStreamGetAttribute if value is None else cuda.cuStreamSetAttribute)(stream, 3, bytes))
            return bytes[0]

        policy(first, 2)
        assert (policy(first), policy(second), policy(None)) == (2, 1, 1)  # 1 is CU_SYNC_POLICY_AUTO.
        check(cuda.cuStreamCopyAttributes(second, first))
        assert policy(second) == 2
        assert cuda.cuStreamSetAttribute(first, 3, None) == 1
    """)
    assert (done.returncode, done.stderr) == (0, "")
