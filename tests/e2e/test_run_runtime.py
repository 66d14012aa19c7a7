"""gpuemu nvcc and gpuemu run: programs of the CUDA runtime API, in the style of NVIDIA's samples, and their faulty twins."""
import concurrent.futures
import json
import pathlib
import re
import subprocess
import sys

import pytest

from conftest import BIN, cuda_tool

PROGRAMS = pathlib.Path(__file__).parent / "run/cuda"
GPUEMU = BIN / "gpuemu"
DRIVER = [f"-L{BIN.parent / 'lib/gpuemu/drop-in'}", "-lcuda"]
OPTIONS = {"threads": ["-default-stream", "per-thread"], "functions": ["--extended-lambda"], "linked": ["-rdc=true"], "graph_conditions": ["-rdc=true"],
           "pipelines": ["-std=c++17"], "virtual_memory": DRIVER, "stream_values": DRIVER, "tensor_map": ["--arch", "sm_90", "-std=c++17", *DRIVER],
           "clusters": ["--arch", "sm_90", "-std=c++17"], "partitions": ["-std=c++17"]}
# What a program needs of `gpuemu run`.
DEVICES = {"tensor_map": ["--arch", "sm_90"], "clusters": ["--arch", "sm_90"], "peers": ["--devices", "2"]}
RIGHT = sorted(path.stem for path in PROGRAMS.glob("*.cu"))
# What the twin of a program does wrong at its line with the comment "fault".
FAULTY = {"vector_add": "OutOfBounds", "streams": "StreamRace", "symbols": "InvalidFree", "cooperative": "UseAfterFree",
          "occupancy": "UncheckedError", "reduction": "DataRace", "pitched": "OutOfBounds", "pools": "Leak",
          "padding": "UninitializedRead", "histogram": "DataRace", "transpose": "OutOfBounds", "matmul": "DataRace", "scan": "UninitializedRead",
          "stencil": "OutOfBounds", "async_copy": "DataRace", "zero_copy": "UseAfterFree", "sparse": "InvalidFree", "search": "UninitializedRead",
          "functions": "Trap", "sort": "BarrierDivergence", "halves": "Misaligned", "tensor_cores": "UninitializedRead",
          "graph_nodes": "OutOfBounds", "graph_update": "UseAfterFree", "fork_join": "UninitializedRead", "texture": "UseAfterFree",
          "lookup": "UninitializedRead", "advice": "OutOfBounds", "convolution": "OutOfBounds", "nbody": "DataRace", "options": "OutOfBounds",
          "walsh": "DataRace", "mandelbrot": "StreamRace", "monte_carlo": "UninitializedRead", "life": "UseAfterFree",
          "distance": "BarrierDivergence", "linked": "OutOfBounds", "virtual_memory": "OutOfBounds", "stream_values": "StreamRace",
          "tensor_map": "OutOfBounds", "registered": "StreamRace", "pipelines": "DataRace",
          "volume": "UninitializedRead", "layers": "DeviceFault", "cubemap": "UninitializedRead", "surface_write": "OutOfBounds",
          "surfaces": "DataRace", "bindless": "DeviceFault", "bicubic": "UninitializedRead", "mipmap": "UninitializedRead",
          "graph_memory": "UseAfterFree", "graph_conditions": "OutOfBounds", "host_pools": "StreamRace", "managed": "StreamRace",
          "ordered_memory": "StreamRace", "partitions": "DataRace", "peers": "OutOfBounds", "staging": "StreamRace", "work_queue": "DataRace"}
# One program of each kind of call; nvcc takes seconds for each of the others, which run at night.
QUICK = {"async_copy", "cooperative", "errors", "graph_conditions", "graph_memory", "graph_update", "host_pools", "linked", "managed", "ordered_memory", "pools", "stream_values", "streams", "surfaces", "surface_write", "symbols",
         "tensor_cores", "tensor_map", "texture", "threads", "vector_add", "virtual_memory"}

pytestmark = pytest.mark.skipif(not cuda_tool("nvcc"), reason="no CUDA compiler: run scripts/setup.sh --tests")


def each(names):
    return [pytest.param(name, marks=[] if name in QUICK else pytest.mark.slow) for name in names]


def compile_program(name, to, *more):
    done = subprocess.run([GPUEMU, "nvcc", "-g", *OPTIONS.get(name, []), *more, "-o", to, PROGRAMS / f"{name}.cu"],
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return to


class Built:
    """The executables by name, and those of the twins as (name, "faulty"). Each is compiled when a test asks for it, and the next one
    meanwhile: nvcc takes seconds."""

    def __init__(self, folder, pool):
        self.folder, self.pool, self.made = folder, pool, {}
        self.order = [*(name for name in RIGHT if name in QUICK), *((name, "faulty") for name in FAULTY if name in QUICK)]

    def start(self, key):
        if key not in self.made:
            name, more = (key[0], ["-DFAULTY"]) if isinstance(key, tuple) else (key, [])
            self.made[key] = self.pool.submit(compile_program, name, self.folder / "_".join([name, *more]), *more)
        return self.made[key]

    def __getitem__(self, key):
        mine = self.start(key)
        for following in self.order[self.order.index(key) + 1:][:1] if key in self.order else []:
            self.start(following)
        return mine.result()


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        yield Built(tmp_path_factory.mktemp("cuda"), pool)


def run(*words, **options):
    return subprocess.run([GPUEMU, "run", *words], capture_output=True, text=True, timeout=120, **options)


def report_of(program, tmp_path, *options):
    done = run("--format", "json", "--output", tmp_path / "report.json", *options, "--", program)
    return done, json.loads((tmp_path / "report.json").read_text())


def line_of(name, comment):
    lines = (PROGRAMS / f"{name}.cu").read_text().splitlines()
    (number,) = [at for at, text in enumerate(lines, 1) if text.endswith(f"// {comment}")]
    return number


@pytest.mark.parametrize("name", each(RIGHT))
def test_a_right_program_passes_without_a_finding(built, name):
    done = run("--checks", "+leak", *DEVICES.get(name, []), "--", built[name])
    assert done.returncode == 0 and done.stdout.endswith("passed\n"), done.stdout + done.stderr
    assert "gpuemu: 0 findings" in done.stderr, done.stderr


@pytest.mark.parametrize("name", each(FAULTY))
def test_the_mistake_of_a_faulty_twin_is_found_at_its_line(built, tmp_path, name):
    done, report = report_of(built[name, "faulty"], tmp_path, "--checks", "+leak", *DEVICES.get(name, []))
    assert done.returncode == 1
    line = line_of(name, "kernel" if name in ("streams", "stream_values") else "fault")
    places = [(one["kind"], pathlib.Path(end["file"]).name, end["line"])
              for one in report["findings"] for end in (one, one["other"]) if end]
    assert (FAULTY[name], f"{name}.cu", line) in places


@pytest.mark.parametrize("begin, kind, words", [(-4, "DeviceFault", "no index may be negative"),
                                                (1, "Misaligned", "a multiple of 16 bytes")])
def test_boxes_that_begin_where_a_gpu_stops_are_found(tmp_path, begin, kind, words):
    program = compile_program("tensor_map", tmp_path / "program", f"-DBEGIN={begin}")
    done, report = report_of(program, tmp_path, *DEVICES.get("tensor_map", []))
    assert done.returncode == 1
    assert [found["kind"] for found in report["findings"] if words in found["message"]] == [kind], report["findings"]


def test_findings_name_the_calls_of_the_runtime_and_their_lines(built, tmp_path):
    _, report = report_of(built["vector_add", "faulty"], tmp_path)
    found = report["findings"][0]
    assert found["kernel"].startswith("add(") and found["host"]["call"] == "<<<>>>"
    assert found["host"]["stack"][0]["line"] == line_of("vector_add", "launch")
    assert found["allocation"]["stack"][0]["function"] == "main"  # Not cudaMalloc<float> of cuda_runtime.h.
    _, report = report_of(built["cooperative", "faulty"], tmp_path)
    found = next(one for one in report["findings"] if one["kind"] == "UseAfterFree")
    assert found["host"]["call"] == "cudaLaunchCooperativeKernel"
    assert found["host"]["stack"][0]["line"] == line_of("cooperative", "launch")
    assert found["allocation"]["freed"][0]["line"] == line_of("cooperative", "freed")
    _, report = report_of(built["streams", "faulty"], tmp_path)
    found = next(one for one in report["findings"] if one["kind"] == "StreamRace" and one["kernel"])
    assert found["host"]["stack"][0]["line"] == line_of("streams", "fault") and "cudaStreamWaitEvent" in found["message"]
    _, report = report_of(built["symbols", "faulty"], tmp_path)
    (found,) = report["findings"]
    assert found["host"]["call"] == "cudaFree" and found["message"].startswith("cudaFree of 0x")


def test_an_optimised_program_still_names_the_lines_of_its_calls(tmp_path):
    program = compile_program("pitched", tmp_path / "pitched", "-O2", "-DFAULTY")
    _, report = report_of(program, tmp_path)
    (found,) = report["findings"]
    assert found["line"] == line_of("pitched", "fault")
    assert pathlib.Path(found["allocation"]["stack"][0]["file"]).name in ("pitched.cu", "program.h")


def test_relocatable_device_code_of_several_files_is_linked(tmp_path):
    (tmp_path / "one.cu").write_text("""
#include <cstdio>
__device__ int calls;
static __device__ int step() { return 2; }
template <typename T> __device__ __noinline__ T least(T a, T b) { return a < b ? a : b; }
__device__ __noinline__ int advance(int x) { ++calls; printf("one\\n"); return x + least(step(), 9); }
""")
    (tmp_path / "two.cu").write_text("""
#include <cstdio>
extern __device__ int calls;
extern __device__ int advance(int x);
static __device__ int step() { return 10; }
template <typename T> __device__ __noinline__ T least(T a, T b) { return a < b ? a : b; }
__global__ void run(int* x) {
  *x = advance(advance(*x)) + least(step(), 11) + 100 * calls;
  printf("two\\n");
}
int main() {
  int* x; int host = 1;
  cudaMalloc(&x, 4);
  cudaMemcpy(x, &host, 4, cudaMemcpyHostToDevice);
  run<<<1, 1>>>(x);
  cudaMemcpy(&host, x, 4, cudaMemcpyDeviceToHost);
  printf("%d %s\\n", host, cudaGetErrorName(cudaFree(x)));
}
""")
    done = subprocess.run([GPUEMU, "nvcc", "-rdc=true", "-o", tmp_path / "linked", tmp_path / "one.cu", tmp_path / "two.cu"],
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    done = run("--", tmp_path / "linked")
    assert (done.returncode, done.stdout) == (0, "one\none\ntwo\n215 cudaSuccess\n"), done.stdout + done.stderr
    assert "gpuemu: 0 findings" in done.stderr


UNREAD = """
#include <thread>
__global__ void one(int* x) { *x = 1; }
__global__ void two(int* x) { *x = 2; }
int main(int argc, char**) {
  one<<<1, 2048>>>(nullptr);
  %s
  two<<<1, 4096>>>(nullptr);
  return cudaGetLastError() == cudaSuccess;
}
"""


def test_an_error_that_nobody_reads_before_the_next_launch_fails_is_found_and_one_that_is_read_is_not(tmp_path):
    source = tmp_path / "unread.cu"
    for between, kinds in [("", ["UncheckedError"]), ("(void)cudaPeekAtLastError();", []),
                           ("std::thread([] { (void)cudaGetLastError(); }).join();", ["UncheckedError"])]:
        source.write_text(UNREAD % between)
        subprocess.run([GPUEMU, "nvcc", "-g", "-o", tmp_path / "unread", source], check=True, timeout=120)
        _, report = report_of(tmp_path / "unread", tmp_path)
        assert [one["kind"] for one in report["findings"]] == kinds, between
        if kinds:
            assert report["findings"][0]["kernel"] == "one(int*)" and report["findings"][0]["line"] == 6
    _, report = report_of(tmp_path / "unread", tmp_path, "--checks", "-api")
    assert report["findings"] == []


REFUSED = """
__global__ void one(int* x) { *x = 1; }
int main() {
  int* x;
  cudaMalloc(&x, sizeof *x);
  void* arguments[] = {&x};
  cudaLaunchConfig_t wide = {}, unknown = {};
  wide.gridDim = 1, wide.blockDim = 2048, unknown.gridDim = 1, unknown.blockDim = 1;
  const cudaError_t codes[] = {
      cudaLaunchKernel((const void*)one, 1, 2048, arguments, 0, 0), cudaLaunchKernel((const void*)one, 0, 32, arguments, 0, 0),
      cudaLaunchKernel((const void*)one, 1, 32, arguments, 1 << 20, 0), cudaLaunchKernel((const void*)one, 1, 32, arguments, size_t{1} << 32, 0),
      cudaLaunchKernel((const void*)main, 1, 32, arguments, 0, 0), cudaLaunchKernelExC(&wide, (const void*)one, arguments),
      cudaLaunchKernelExC(&unknown, (const void*)main, arguments), cudaLaunchKernelExC(nullptr, (const void*)one, arguments),
      cudaLaunchCooperativeKernel((const void*)one, 1000000, 32, arguments, 0, 0)};
  for (const cudaError_t code : codes) if (code == cudaSuccess) return 1;
  one<<<1, 1>>>(x);
  return cudaDeviceSynchronize();
}
"""


def test_every_launch_that_is_refused_is_counted_whatever_refuses_it(tmp_path):
    (tmp_path / "refused.cu").write_text(REFUSED)
    subprocess.run([GPUEMU, "nvcc", "-g", "-o", tmp_path / "refused", tmp_path / "refused.cu"], check=True, timeout=120)
    done, report = report_of(tmp_path / "refused", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [(one["launches"], one["rejected"]) for one in report["processes"]] == [(1, 9)], "six by the driver, three by the runtime library"


def test_our_runtime_wins_over_one_that_the_program_names(tmp_path):
    nvidia = pathlib.Path(cuda_tool("nvcc")).resolve().parent.parent
    folders = [one.parent for one in nvidia.glob("**/libcudart.so.13")] or [pathlib.Path("/usr/local/cuda/lib64")]
    program = compile_program("vector_add", tmp_path / "add", "-Xlinker", "--disable-new-dtags", "-Xlinker", f"-rpath={folders[0]}")
    assert str(folders[0]) in subprocess.run(["readelf", "-d", program], capture_output=True, text=True, check=True).stdout
    done = run("--", program)
    assert done.returncode == 0 and "0 findings in 1 kernel, 1 launch" in done.stderr, done.stdout + done.stderr


def test_without_gpuemu_run_the_program_finds_our_library_and_reports_at_its_end(built):
    done = subprocess.run([built["vector_add", "faulty"]], capture_output=True, text=True, timeout=120)
    assert "error[OutOfBounds]" in done.stderr and "1 finding in 1 kernel" in done.stderr


def test_nvcc_says_what_it_leaves_out_and_gives_nvccs_answers(tmp_path):
    version = subprocess.run([GPUEMU, "nvcc", "--version"], capture_output=True, text=True, timeout=60)
    assert version.returncode == 0 and "Cuda compiler driver" in version.stdout
    to = tmp_path / "add"
    done = subprocess.run([BIN / "gpuemu-nvcc", "-gencode", "arch=compute_80,code=sm_80", "-o", to, PROGRAMS / "vector_add.cu"],
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 0
    assert done.stderr == "gpuemu nvcc: leaves out machine code (sm_80) and keeps PTX, which runs\n"
    assert run("--", to).returncode == 0
    broken = tmp_path / "broken.cu"
    broken.write_text("int main() { return x; }\n")
    done = subprocess.run([GPUEMU, "nvcc", broken], capture_output=True, text=True, timeout=120)
    assert done.returncode != 0 and "broken.cu" in done.stderr
    lost = subprocess.run([GPUEMU, "nvcc", "--arch", "fast", broken], capture_output=True, text=True, timeout=60)
    assert lost.returncode == 2 and "expected an architecture such as sm_80" in lost.stderr


def test_a_program_is_built_for_the_architecture_that_is_asked_for(tmp_path):
    program = compile_program("vector_add", tmp_path / "add", "--arch", "sm_90")
    done = run("--arch", "sm_90", "--", program)
    assert done.returncode == 0 and done.stdout == "passed\n"
    done = run("--", program)
    assert done.returncode == 1 and "cudaErrorNoKernelImageForDevice" in done.stdout


@pytest.mark.slow
def test_cmake_takes_it_as_the_cuda_compiler(tmp_path):
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.18)\nproject(sample LANGUAGES CXX CUDA)\n"
        f"add_executable(sample {PROGRAMS}/vector_add.cu)\n")
    words = ["cmake", "-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_CUDA_COMPILER={BIN / 'gpuemu-nvcc'}"]
    made = subprocess.run(words, capture_output=True, text=True, timeout=180)
    assert made.returncode == 0, made.stdout + made.stderr
    built = subprocess.run(["cmake", "--build", tmp_path / "build"], capture_output=True, text=True, timeout=180)
    assert built.returncode == 0, built.stdout + built.stderr
    done = run("--", tmp_path / "build/sample")
    assert done.returncode == 0 and done.stdout == "passed\n" and "0 findings in 1 kernel" in done.stderr


def test_the_trace_names_calls_of_the_runtime(built, tmp_path):
    run("--trace", tmp_path / "trace.json", "--", built["vector_add"])
    names = re.findall(r'"name":\s*"([^"]*)"', (tmp_path / "trace.json").read_text())
    assert {"cudaMalloc", "cudaMemcpy", "<<<>>>", "cudaEventRecord"} <= set(names)
    assert not [name for name in names if name.startswith("cuMem")]


def link_with_12(name, to, *more):
    """A program whose host code is that of CUDA 12, which calls cudaLaunchKernel, with libcudart.so.12."""
    options = ["-c", "-g", "-lineinfo", "-gencode", "arch=compute_80,code=compute_80", "-Xcompiler", "-D__NV_LEGACY_LAUNCH"]
    source = name if isinstance(name, pathlib.Path) else PROGRAMS / f"{name}.cu"
    made = subprocess.run([cuda_tool("nvcc"), *options, *more, "-o", f"{to}.o", source], capture_output=True, text=True, timeout=120)
    assert made.returncode == 0, made.stderr
    folder = BIN.parent / "lib/gpuemu/drop-in"
    linked = subprocess.run(["g++", "-o", to, f"{to}.o", folder / "libcudart.so.12", f"-Wl,-rpath-link,{folder}", "-lpthread"],
                            capture_output=True, text=True, timeout=120)
    assert linked.returncode == 0, linked.stderr
    needed = subprocess.run(["readelf", "-d", to], capture_output=True, text=True, check=True).stdout
    assert "[libcudart.so.12]" in needed and "libcudart.so.13" not in needed
    return to


@pytest.mark.parametrize("name", ["vector_add", "symbols"])
def test_programs_of_cuda_12_run_with_their_own_runtime_library(tmp_path, name):
    done = run("--", link_with_12(name, tmp_path / name))
    assert done.returncode == 0 and done.stdout == "passed\n", done.stdout + done.stderr
    done, report = report_of(link_with_12(name, tmp_path / "faulty", "-DFAULTY"), tmp_path)
    assert done.returncode == 1
    assert (FAULTY[name], line_of(name, "fault")) in [(one["kind"], one["line"]) for one in report["findings"]]


def test_cuda_12_has_an_error_of_its_own_for_a_block_that_is_too_large(tmp_path):
    source = tmp_path / "large.cu"
    source.write_text("#include <cstdio>\n__global__ void one(int* x) { *x = 1; }\nint main() {\n  one<<<1, 2048>>>(nullptr);\n"
                      "  std::printf(\"%s\\n\", cudaGetErrorName(cudaGetLastError()));\n"
                      "  one<<<1, dim3(1, 1, 65)>>>(nullptr);\n  std::printf(\"%s\\n\", cudaGetErrorName(cudaGetLastError()));\n"
                      "  one<<<1, 32, 1 << 20>>>(nullptr);\n  std::printf(\"%s\\n\", cudaGetErrorName(cudaGetLastError()));\n}\n")
    done = run("--", link_with_12(source, tmp_path / "large"))
    assert done.stdout.split() == ["cudaErrorInvalidConfiguration", "cudaErrorInvalidConfiguration", "cudaErrorInvalidValue"], done.stdout + done.stderr
    made = subprocess.run([GPUEMU, "nvcc", "-o", tmp_path / "large13", source], capture_output=True, text=True, timeout=120)
    assert made.returncode == 0, made.stderr
    done = run("--", tmp_path / "large13")
    assert done.stdout.split() == ["cudaErrorInvalidValue"] * 3, done.stdout + done.stderr


FORMS_OF_12 = """
import ctypes, sys
runtime = ctypes.CDLL("libcudart.so.12")
guarded = lambda size: (ctypes.c_ubyte * (size + 64))(*[0xab] * (size + 64))
def call(name, *args):
    code = getattr(runtime, name)(*args)
    assert code == 0, (name, code)
version = ctypes.c_int()
call("cudaRuntimeGetVersion", ctypes.byref(version))
assert version.value == 12090, version
properties = guarded(1032)
call("cudaGetDeviceProperties_v2", properties, 0)
assert bytes(properties[:8]) == b"gpuemu s" and set(properties[1032:]) == {0xab}
major, minor = ctypes.c_int.from_buffer(properties, 360), ctypes.c_int.from_buffer(properties, 364)
assert (major.value, minor.value) == (8, 0), (major, minor)
x = ctypes.c_void_p()
call("cudaMallocManaged", ctypes.byref(x), ctypes.c_size_t(4096), 1)
attributes = guarded(24)
call("cudaPointerGetAttributes", attributes, x)
assert attributes[0] == 3 and set(attributes[24:]) == {0xab}
call("cudaMemAdvise", x, ctypes.c_size_t(4096), 3, 0)
call("cudaMemPrefetchAsync", x, ctypes.c_size_t(4096), -1, None)
graph, one, two, count = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_size_t(4)
call("cudaGraphCreate", ctypes.byref(graph), 0)
for node in one, two:
    call("cudaGraphAddEmptyNode", ctypes.byref(node), graph, None, ctypes.c_size_t(0))
call("cudaGraphAddDependencies", graph, ctypes.byref(one), ctypes.byref(two), ctypes.c_size_t(1))
found, to = (ctypes.c_void_p * 4)(), (ctypes.c_void_p * 4)()
call("cudaGraphGetEdges", graph, found, to, ctypes.byref(count))
assert (count.value, found[0], to[0]) == (1, one.value, two.value)
call("cudaThreadSynchronize")
assert hasattr(runtime, "__cudaGetKernel") and not hasattr(runtime, "__cudaLaunchKernel") and runtime.cudaLaunchCooperativeKernelMultiDevice(None, 0, 0) == 801
print("passed")
"""


def test_functions_have_the_forms_of_cuda_12_there():
    done = run("--", sys.executable, "-c", FORMS_OF_12)
    assert done.returncode == 0 and done.stdout == "passed\n", done.stdout + done.stderr
    assert "cudaLaunchCooperativeKernelMultiDevice is not supported" in done.stderr


def test_a_program_for_another_runtime_is_refused(tmp_path):
    library, source = tmp_path / "libcudart.so.11.0", tmp_path / "empty.c"
    source.write_text("int cudaFree(void* x) { return x != 0; }\n")
    subprocess.run(["gcc", "-shared", "-Wl,-soname,libcudart.so.11.0", "-o", library, source], check=True)
    source.write_text('__attribute__((section(".nvFatBinSegment"))) int here; int cudaFree(void*); int main(void) { return cudaFree(0); }\n')
    subprocess.run(["gcc", "-o", tmp_path / "old", source, library, f"-Wl,-rpath,{tmp_path}"], check=True)
    done = run("--", tmp_path / "old")
    assert done.returncode == 3 and "libcudart.so.11" in done.stderr and "CUDA 12 and 13" in done.stderr
