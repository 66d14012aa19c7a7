"""gpuemu run: graphs that are destroyed while they run, and graphs as text."""
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


DRAW = PROGRAM.partition("for turn in range")[0] + '''
child, nested, fill, path = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p(), sys.argv[1].encode()


class Fill(ctypes.Structure):
    _fields_ = [("address", ctypes.c_uint64), ("pitch", ctypes.c_size_t), ("value", ctypes.c_uint), ("element", ctypes.c_uint),
                ("width", ctypes.c_size_t), ("height", ctypes.c_size_t)]


zeros = Fill(x.value, 0, 3, 4, 16, 1)
check(cuda.cuGraphCreate(ctypes.byref(child), 0))
check(cuda.cuGraphAddMemsetNode(ctypes.byref(fill), child, None, ctypes.c_size_t(0), ctypes.byref(zeros), context))
check(cuda.cuGraphAddChildGraphNode(ctypes.byref(nested), graph, ctypes.byref(node), ctypes.c_size_t(1), child))
check(cuda.cuGraphDebugDotPrint(graph, path + b".short", 0))
check(cuda.cuGraphDebugDotPrint(graph, path, 1))
print(cuda.cuGraphDebugDotPrint(graph, b"/nonexistent/graph.dot", 0), cuda.cuGraphDebugDotPrint(graph, path, 1 << 30),
      cuda.cuGraphDebugDotPrint(graph, None, 0))
'''


def test_a_graph_is_written_as_text_for_graphviz(tmp_path):
    program, path = tmp_path / "program.py", tmp_path / "graph.dot"
    program.write_text("import sys\n" + DRAW)
    done, report = document("--", sys.executable, program, path)
    assert (done.stdout, report["unsupported"]) == ("304 1 1\n", []), done.stderr
    text = path.read_text()
    assert text.startswith("digraph dot {") and text.count("{") == text.count("}") and text.count("->") == 1
    assert '"graph_node_0" -> "graph_node_1";' in text and "touch\\ngrid (1,1,1), block (1,1,1), 0 bytes of dynamic shared memory" in text
    assert 'subgraph "cluster_graph_1"' in text and "MEMSET\\n16 x 1 of 4 bytes, value 0x3" in text and "node handle 0x" in text
    short = tmp_path.joinpath("graph.dot.short").read_text()
    assert '"0\\ntouch"' in short and '"0\\nMEMSET"' in short and "handle" not in short
