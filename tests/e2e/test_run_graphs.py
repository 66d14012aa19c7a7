"""gpuemu run: kernels of graphs keep their call sites until the last run of a destroyed graph has ended."""
import sys

from test_run import document

PROGRAM = '''
import ctypes
cuda = ctypes.CDLL("libcuda.so.1")
PTX = b"""
.version 7.0
.target sm_70
.address_size 64
.visible .entry touch(.param .u64 x) {
  .reg .b32 %r<2>; .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [x]; mov.u32 %r1, 0;
LOOP: add.u32 %r1, %r1, 1; setp.lt.u32 %p, %r1, 20000; @%p bra LOOP;
  st.global.u32 [%rd1], %r1; ret;
}
""".replace(b".reg .b32", b".reg .pred %p; .reg .b32")
context, module, function, graph, node, made, stream, x = (ctypes.c_void_p() for _ in range(8))


class Node(ctypes.Structure):
    _fields_ = [("function", ctypes.c_void_p), *((name, ctypes.c_uint) for name in "abcdefg"), ("arguments", ctypes.c_void_p), ("extra", ctypes.c_void_p)]


def check(code):
    assert code == 0, code


check(cuda.cuInit(0))
check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
check(cuda.cuCtxSetCurrent(context))
check(cuda.cuModuleLoadData(ctypes.byref(module), PTX))
check(cuda.cuModuleGetFunction(ctypes.byref(function), module, b"touch"))
check(cuda.cuMemAlloc_v2(ctypes.byref(x), ctypes.c_size_t(64)))
check(cuda.cuStreamCreate(ctypes.byref(stream), 1))
outside = ctypes.c_void_p(x.value + 64)
arguments = (ctypes.c_void_p * 1)(ctypes.addressof(outside))
what = Node(function, 1, 1, 1, 1, 1, 1, 0, ctypes.addressof(arguments), None)
check(cuda.cuGraphCreate(ctypes.byref(graph), 0))
check(cuda.cuGraphAddKernelNode(ctypes.byref(node), graph, None, ctypes.c_size_t(0), ctypes.byref(what)))  # node
for turn in range(3):
    check(cuda.cuGraphInstantiateWithFlags(ctypes.byref(made), graph, ctypes.c_ulonglong(0)))
    for again in range(2):
        check(cuda.cuGraphLaunch(made, stream))
    check(cuda.cuGraphExecDestroy(made))
check(cuda.cuGraphDestroy(graph))
print(cuda.cuStreamSynchronize(stream))
'''


def test_a_graph_that_is_destroyed_while_it_runs_keeps_the_places_of_its_kernels(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    done, report = document("--", sys.executable, program)
    assert done.stdout == "700\n", done.stdout + done.stderr
    (found,) = report["findings"]
    assert (found["kind"], found["count"], report["processes"][0]["launches"]) == ("OutOfBounds", 6, 6)
    place = PROGRAM.splitlines().index(next(line for line in PROGRAM.splitlines() if line.endswith("# node"))) + 1
    assert found["host"]["stack"][0]["line"] == place and "of 'allocation 1', which has 64 bytes" in found["message"]
