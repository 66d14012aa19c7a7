"""gpuemu run: values that a kernel computes from memory that nothing wrote are findings where the host gets them, and nowhere else."""
import re
import sys

import pytest

from test_run import document, run

ENTRY = """
.version 7.8
.target sm_80
.address_size 64
.file 1 "k.cu"
.global .align 4 .b32 kept[32];
.visible .entry move(.param .u64 x, .param .u64 y) {
  .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .f32 %f<9>;
  mov.u32 %r1, %tid.x; mul.wide.u32 %rd3, %r1, 4;
  ld.param.u64 %rd1, [x]; add.u64 %rd1, %rd1, %rd3; ld.param.u64 %rd2, [y]; add.u64 %rd2, %rd2, %rd3;
  .loc 1 10 1
  ld.global.f32 %f1, [%rd1];
  .loc 1 11 1
  st.global.f32 [%rd2], %f1; ret;
}
.visible .entry scale(.param .u64 x, .param .u64 y) {
  .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .f32 %f<9>;
  mov.u32 %r1, %tid.x; mul.wide.u32 %rd3, %r1, 4;
  ld.param.u64 %rd1, [x]; add.u64 %rd1, %rd1, %rd3; ld.param.u64 %rd2, [y]; add.u64 %rd2, %rd2, %rd3;
  .loc 1 20 1
  ld.global.f32 %f1, [%rd1]; add.f32 %f1, %f1, %f1;
  .loc 1 21 1
  st.global.f32 [%rd2], %f1; ret;
}
.visible .entry through_shared(.param .u64 x, .param .u64 y) {
  .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .f32 %f<9>; .shared .align 4 .b8 tile[128];
  mov.u32 %r1, %tid.x; mul.wide.u32 %rd3, %r1, 4; shl.b32 %r2, %r1, 2; mov.u32 %r3, tile; add.u32 %r2, %r2, %r3;
  ld.param.u64 %rd1, [x]; add.u64 %rd1, %rd1, %rd3; ld.param.u64 %rd2, [y]; add.u64 %rd2, %rd2, %rd3;
  .loc 1 30 1
  ld.global.f32 %f1, [%rd1]; mul.f32 %f1, %f1, %f1; st.shared.f32 [%r2], %f1; bar.sync 0;
  ld.shared.f32 %f2, [%r2];
  .loc 1 31 1
  st.global.f32 [%rd2], %f2; ret;
}
.visible .entry pick(.param .u64 x, .param .u64 y) {
  .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p<3>;
  mov.u32 %r1, %tid.x; mul.wide.u32 %rd3, %r1, 4;
  ld.param.u64 %rd1, [x]; add.u64 %rd1, %rd1, %rd3; ld.param.u64 %rd2, [y]; add.u64 %rd2, %rd2, %rd3;
  .loc 1 40 1
  ld.global.u32 %r2, [%rd1]; setp.lt.u32 %p1, %r1, 16; selp.b32 %r3, %r2, %r1, %p1;
  st.global.u32 [%rd2], %r3; ret;
}
.visible .entry count(.param .u64 x, .param .u64 y) {
  .reg .b32 %r<9>; .reg .b64 %rd<9>;
  mov.u32 %r1, %tid.x; mul.wide.u32 %rd3, %r1, 4; ld.param.u64 %rd2, [y]; add.u64 %rd2, %rd2, %rd3;
  .loc 1 50 1
  red.global.add.u32 [%rd2], %r1; ret;
}
.visible .entry add_to(.param .u64 x, .param .u64 y) {
  .reg .b32 %r<9>; .reg .b64 %rd<9>;
  mov.u32 %r1, %tid.x; mul.wide.u32 %rd3, %r1, 4;
  ld.param.u64 %rd1, [x]; add.u64 %rd1, %rd1, %rd3; ld.param.u64 %rd2, [y]; add.u64 %rd2, %rd2, %rd3;
  .loc 1 60 1
  ld.global.u32 %r2, [%rd1]; red.global.add.u32 [%rd2], %r2; ret;
}
.visible .entry keep(.param .u64 x, .param .u64 y) {
  .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .f32 %f<9>;
  mov.u32 %r1, %tid.x; mul.wide.u32 %rd3, %r1, 4; ld.param.u64 %rd1, [x]; add.u64 %rd1, %rd1, %rd3;
  mov.u64 %rd2, kept; add.u64 %rd2, %rd2, %rd3;
  .loc 1 70 1
  ld.global.f32 %f1, [%rd1]; add.f32 %f1, %f1, %f1; st.global.f32 [%rd2], %f1; ret;
}
.visible .entry twice(.param .u64 x, .param .u64 y) {
  .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .f32 %f<9>;
  mov.u32 %r1, %tid.x; mul.wide.u32 %rd3, %r1, 4;
  ld.param.u64 %rd1, [x]; add.u64 %rd1, %rd1, %rd3; ld.param.u64 %rd2, [y]; add.u64 %rd2, %rd2, %rd3;
  ld.global.f32 %f1, [%rd1]; add.f32 %f1, %f1, %f1; st.global.f32 [%rd2], %f1; add.u64 %rd4, %rd2, 128;
  mov.u64 %rd5, %rd2; mov.u64 %rd2, %rd4; mov.f32 %f3, 0f3F800000; st.global.f32 [%rd5], %f3; ret;
}
.visible .entry branch(.param .u64 x, .param .u64 y) {
  .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p<3>;
  ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [y];
  .loc 1 80 1
  ld.global.u32 %r2, [%rd1]; setp.eq.u32 %p1, %r2, 5; @%p1 bra DONE;
  st.global.u32 [%rd2], 1;
DONE: ret;
}
"""

PROGRAM = """
import ctypes
from ctypes import byref, c_size_t, c_void_p

cuda = ctypes.CDLL("libcuda.so.1")
HOST = (ctypes.c_uint32 * 64)(*range(64))
SIZE = 128


def check(code):
    assert code == 0, code


def memory(written=0):
    made = c_void_p()
    check(cuda.cuMemAlloc_v2(byref(made), c_size_t(256)))
    if written:
        check(cuda.cuMemcpyHtoD_v2(made, HOST, c_size_t(written)))
    return made


def launch(name, *given, stream=None):
    function = c_void_p()
    check(cuda.cuModuleGetFunction(byref(function), module, name.encode()))
    arguments = (c_void_p * len(given))(*[ctypes.addressof(one) for one in given])
    check(cuda.cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, arguments, None))


def read(source, size=SIZE):
    check(cuda.cuMemcpyDtoH_v2(HOST, source, c_size_t(size)))


def copy(to, source):
    check(cuda.cuMemcpyDtoD_v2(to, source, c_size_t(SIZE)))


context, module = c_void_p(), c_void_p()
check(cuda.cuInit(0))
check(cuda.cuDevicePrimaryCtxRetain(byref(context), 0))
check(cuda.cuCtxSetCurrent(context))
check(cuda.cuModuleLoadData(byref(module), PTX))
x, y, z = memory(), memory(), memory()
"""


def found_in(tmp_path, text, *options):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.replace("PTX", repr(ENTRY.encode()), 1) + text)
    done, report = document(*options, "--", sys.executable, program)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    assert {one["kind"] for one in report["findings"]} <= {"UninitializedRead"}, report["findings"]
    return report["findings"]


CLEAN = {
    "nothing is read": "launch('scale', x, y)",
    "only what is defined is read": "x = memory(64); launch('scale', x, y); read(y, 64)",
    "what is moved may go anywhere": "launch('move', x, y); copy(z, y); launch('move', z, x); read(x)",
    "what nobody wrote may be copied": "read(x); copy(y, x); read(y)",
    "it is overwritten by a kernel": "launch('scale', x, y); launch('move', memory(256), y); read(y)",
    "it is overwritten by a copy": "launch('scale', x, y); copy(y, memory(256)); read(y)",
    "it is overwritten by an upload": "launch('scale', x, y); check(cuda.cuMemcpyHtoD_v2(y, HOST, c_size_t(256))); read(y)",
    "it is overwritten by a fill": "launch('scale', x, y); check(cuda.cuMemsetD8_v2(y, 0, c_size_t(256))); read(y)",
    "it is replaced by what nobody wrote": "launch('scale', x, y); copy(y, x); read(y)",
    "what is overwritten in the same kernel": "launch('twice', x, y); read(y)",
    "shared memory of scratch": "launch('through_shared', x, y)",
    "a selection that picks what is defined": "x = memory(64); launch('pick', x, y); read(y)",
    "a counter that nobody reads": "launch('count', x, y)",
    "a variable that nobody reads": "launch('keep', x, y)",
    "memory that is freed and given out again": "launch('scale', x, y); check(cuda.cuMemFree_v2(y)); read(memory(128))",
}


@pytest.mark.parametrize("name", CLEAN)
def test_values_that_the_host_never_gets_are_no_findings(tmp_path, name):
    assert found_in(tmp_path, CLEAN[name]) == []


# The line of the load and the host's call.
FAULTY = {
    "scaled": ("launch('scale', x, y); read(y)", 20, "cuMemcpyDtoH"),
    "in part": ("x = memory(64); launch('scale', x, y); read(y)", 20, "cuMemcpyDtoH"),
    "one byte": ("launch('scale', x, y); read(c_void_p(y.value + 3), 1)", 20, "cuMemcpyDtoH"),
    "copied on the device": ("launch('scale', x, y); copy(z, y); read(z)", 20, "cuMemcpyDtoH"),
    "moved by a kernel": ("launch('scale', x, y); launch('move', y, z); read(z)", 20, "cuMemcpyDtoH"),
    "scaled again": ("launch('scale', x, y); launch('scale', y, z); read(z)", 20, "cuMemcpyDtoH"),
    "moved first": ("launch('move', x, y); launch('scale', y, z); read(z)", 20, "cuMemcpyDtoH"),
    "through shared memory": ("launch('through_shared', x, y); read(y)", 30, "cuMemcpyDtoH"),
    "selected": ("launch('pick', x, y); read(y)", 40, "cuMemcpyDtoH"),
    "counted": ("launch('count', x, y); read(y)", 50, "cuMemcpyDtoH"),
    "counted twice": ("launch('count', x, y); launch('count', x, y); read(y)", 50, "cuMemcpyDtoH"),
    "added by an atomic": ("y = memory(256); launch('add_to', x, y); read(y)", 60, "cuMemcpyDtoH"),
    "in a variable": ("launch('keep', x, y); v, n = c_void_p(), c_size_t(); "
                      "check(cuda.cuModuleGetGlobal_v2(byref(v), byref(n), module, b'kept')); read(v)", 70, "cuMemcpyDtoH"),
    "by rows": ("""launch('scale', x, y)
class Copy(ctypes.Structure):
    _fields_ = [(f'f{i}', ctypes.c_size_t) for i in range(16)]
check(cuda.cuMemcpy2D_v2(byref(Copy(0, 0, 2, 0, y.value, 0, 64, 0, 0, 1, ctypes.addressof(HOST), 0, 0, 64, 16, 2))))
""", 20, "cuMemcpy2D"),
    "without waiting": ("""stream = c_void_p(); check(cuda.cuStreamCreate(byref(stream), 0))
host = c_void_p(); check(cuda.cuMemAllocHost_v2(byref(host), c_size_t(256)))
launch('scale', x, y, stream=stream); check(cuda.cuMemcpyDtoHAsync_v2(host, y, c_size_t(128), stream))
check(cuda.cuStreamSynchronize(stream))
""", 20, "cuMemcpyDtoHAsync"),
    "to pinned memory": ("host = c_void_p(); check(cuda.cuMemAllocHost_v2(byref(host), c_size_t(256))); launch('scale', x, y); "
                         "check(cuda.cuMemcpy(host, y, c_size_t(128))); check(cuda.cuCtxSynchronize())", 20, "cuMemcpy"),
}


@pytest.mark.parametrize("name", FAULTY)
def test_values_that_the_host_gets_are_found_at_the_load_and_the_copy(tmp_path, name):
    text, line, call = FAULTY[name]
    (found,) = found_in(tmp_path, text)
    assert (found["file"], found["line"]) == ("k.cu", line), found
    assert found["message"].endswith(f", and {call} gives that to the host"), found["message"]
    assert found["host"]["call"] == "cuLaunchKernel" and found["other"]["host"]["call"] == call
    assert found["host"]["stack"][0]["function"] == "launch"
    assert found["other"]["host"]["stack"][0]["file"].endswith("program.py")
    assert found_in(tmp_path, text, "--checks", "-init") == []


def test_the_finding_names_what_was_read_where_it_was_stored_and_both_calls(tmp_path):
    (found,) = found_in(tmp_path, "launch('scale', x, y)\nread(y)")
    assert found["message"] == ("reads byte offset 0 of 'allocation 1' (element 0) before anything was written there; what it gives is stored in "
                                "st.global.f32 [%rd2], %f1 at k.cu:21, and cuMemcpyDtoH gives that to the host")
    assert (found["kernel"], found["count"], found["allocation"]["name"]) == ("scale", 32, "allocation 1")
    assert (found["other"]["file"], found["other"]["line"]) == ("k.cu", 21)
    done = run("--", sys.executable, tmp_path / "program.py")
    last = len((tmp_path / "program.py").read_text().splitlines())
    assert re.search(rf"  launched at .*\n\s+\S*program.py:{last - 1} \(<module>\)\n"
                     rf"  read at .*\n\s+\S*program.py:{last} \(<module>\)\n", done.stderr), done.stderr


def test_a_value_that_a_kernel_stores_to_memory_of_the_host_is_found_at_once(tmp_path):
    allocate = "host = c_void_p(); check(cuda.cuMemAllocHost_v2(byref(host), c_size_t(256))); "
    (found,) = found_in(tmp_path, allocate + "launch('scale', x, host); check(cuda.cuCtxSynchronize())")
    assert found["line"] == 20 and "stored to memory of the host" in found["message"]
    assert found_in(tmp_path, allocate + "launch('move', x, host); check(cuda.cuCtxSynchronize())") == []


def test_a_captured_copy_is_checked_each_time_it_runs(tmp_path):
    (found,) = found_in(tmp_path, """
stream, graph, runs = c_void_p(), c_void_p(), c_void_p()
check(cuda.cuStreamCreate(byref(stream), 0))
check(cuda.cuStreamBeginCapture_v2(stream, 0))
launch('scale', x, y, stream=stream)
check(cuda.cuMemcpyDtoHAsync_v2(HOST, y, c_size_t(128), stream))
check(cuda.cuStreamEndCapture(stream, byref(graph)))
check(cuda.cuGraphInstantiateWithFlags(byref(runs), graph, ctypes.c_uint64(0)))
for size in (256, 0):
    if size:
        check(cuda.cuMemcpyHtoD_v2(x, HOST, c_size_t(size)))
    check(cuda.cuGraphLaunch(runs, stream))
    check(cuda.cuStreamSynchronize(stream))
    copy(x, z)
""")
    assert found["line"] == 20 and found["other"]["host"]["call"] == "cuMemcpyDtoHAsync"


def test_a_branch_on_what_nothing_wrote_is_found_without_a_copy(tmp_path):
    (found,) = found_in(tmp_path, "launch('branch', x, y); check(cuda.cuCtxSynchronize())")
    assert found["line"] == 80 and "decides a branch" in found["message"]
    (found,) = found_in(tmp_path, "launch('scale', x, y); launch('branch', y, z); check(cuda.cuCtxSynchronize())")
    assert found["line"] == 80 and "which was computed from memory that nothing wrote" in found["message"]
