"""How often the compiler runs for kernels of one source, and that it ends with whoever waits for it."""
import json
import os
import pty
import select
import signal
import subprocess
import time

import pytest

from conftest import BIN, cuda_tool

NVCC = cuda_tool("nvcc")
needs_nvcc = pytest.mark.skipif(not NVCC, reason="no nvcc on this machine")

SOURCE = """template <int N> __global__ void scale(const float* x, float* y, int n) {
  GUARD
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = float(N) * x[i];
}
"""
PLAIN = """extern "C" __global__ void scale_{0}(const float* x, float* y, int n) {{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = {0}.0f * x[i];
}}
"""
KERNEL = """[[kernels]]
name = "scale_{0}"
source = "scale.cu"
reference = "times_{0}.py"
inputs = [{{ name = "x", shape = ["n"] }}]
outputs = [{{ name = "y", shape = ["n"] }}]
dims = {{ n = [1, 300] }}
launches = [{{ entry = "{1}", grid = "cdiv(n, 128)", block = 128, args = ["x", "y", "i32:n"] }}]
"""
MANY = 12
FEW = 4  # Each takes the disassembler half a second, whatever is in it.
BROKEN = 5
HANGING = "#!/bin/sh\necho $$ > {runs}\nsleep 600 &\nwait\n"
COUNTING = "#!/bin/sh\necho run >> {runs}\nexec {nvcc} \"$@\"\n"


class Project:
    """Kernels that are entries of one source, and a compiler that is counted."""

    def __init__(self, new_home, source, entry="scale<{0}>", compiler=COUNTING, kernels=MANY):
        files = {f"times_{i}.py": f"def reference(x):\n    return {i}.0 * x\n" for i in range(1, kernels + 1)}
        files["gpuemu.toml"] = "".join(KERNEL.format(i, entry.format(i)) for i in range(1, kernels + 1))
        files["scale.cu"] = source
        self.home = new_home(files)
        toolkit = self.home.home / "toolkit"
        self.runs_file = self.home.home / "runs"
        for folder in ("bin", "lib64"):
            (toolkit / folder).mkdir(parents=True)
        (toolkit / "lib64/libnvrtc.so.13").touch()  # Cannot be loaded, so that nvcc is what runs.
        nvcc = toolkit / "bin/nvcc"
        nvcc.write_text(compiler.format(runs=self.runs_file, nvcc=NVCC))
        nvcc.chmod(0o755)
        self.home.env["GPUEMU_CUDA_HOME"] = str(toolkit)

    def test(self, *args):
        self.runs_file.write_text("")
        done = self.home.run("test", "--seed", "1", "--cases", "2", "--format", "json", *args)
        assert done.stdout, done.stderr
        ops = json.loads(done.stdout)["ops"]
        return {op["op_name"]: op for op in ops}, len(self.runs_file.read_text().split())

    def runs_of(self, *command):
        """Runs of the compiler that a command takes, which is to find nothing."""
        self.runs_file.write_text("")
        done = self.home.run(*command)
        assert done.returncode == 0, done.stdout + done.stderr
        return len(self.runs_file.read_text().split())

    def hanging_compiler(self):
        """The process of one that has begun."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            if self.runs_file.exists() and self.runs_file.read_text().endswith("\n"):
                return int(self.runs_file.read_text())
            time.sleep(0.05)
        raise AssertionError("no compiler was started")


def is_gone(group):
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return True
    return False


def ends(group):
    deadline = time.monotonic() + 20
    while not is_gone(group) and time.monotonic() < deadline:
        time.sleep(0.05)
    return is_gone(group)


@needs_nvcc
def test_plain_entries_of_one_source_are_compiled_once(new_home):
    project = Project(new_home, "".join(PLAIN.format(i) for i in range(1, MANY + 1)), "scale_{0}")
    ops, runs = project.test()
    assert runs == 1 and len(ops) == MANY
    assert all(op["passed"] == 2 for op in ops.values()), ops


@needs_nvcc
def test_instantiations_of_one_source_are_compiled_together_and_found_again_one_by_one(new_home):
    project = Project(new_home, SOURCE.replace("GUARD", ""))
    ops, runs = project.test()
    assert runs == 1 and len(ops) == MANY
    assert all(op["passed"] == 2 for op in ops.values()), ops
    assert project.test("scale_3")[1] == 0


@pytest.mark.slow
@needs_nvcc
def test_a_gate_and_a_lint_and_a_fuzz_run_compile_a_source_once(new_home):
    project = Project(new_home, SOURCE.replace("GUARD", ""), kernels=FEW)
    assert project.runs_of("ci", "--quick", "--seed", "1") == 1
    assert project.runs_of("lint") == 0 and project.runs_of("fuzz", "-i", "2", "--seed", "1") == 0
    for command in (["fuzz", "-i", "2", "--seed", "1"], ["lint"]):
        other = Project(new_home, SOURCE.replace("GUARD", "__threadfence();" if command[0] == "lint" else "__syncthreads();"), kernels=FEW)
        assert other.runs_of(*command) == 1, command


@needs_nvcc
def test_a_kernel_measures_the_same_whatever_was_compiled_with_it(new_home):
    text = SOURCE.replace("GUARD", "__shared__ float kept[N * 32]; kept[threadIdx.x % 32] = x[0]; __syncthreads();")
    text = text.replace("* x[i]", "* x[i] + kept[i % 32]")
    together = Project(new_home, text, kernels=FEW)
    assert together.runs_of("lint") == 1
    alone = Project(new_home, text, kernels=FEW)
    assert alone.runs_of("lint", "--kernel", "scale_3") == 1
    third = {}
    for project in (together, alone):
        [result] = json.loads(project.home.run("lint", "--kernel", "scale_3", "--format", "json").stdout)
        del result["metrics"]["timestamp"], result["metrics"]["ptx"]["source_file"]
        third[project] = result["metrics"]
    assert third[together] == third[alone]


@needs_nvcc
def test_many_kernels_of_a_few_sources_take_a_run_for_each_source(new_home):
    project = Project(new_home, "".join(PLAIN.format(i) for i in range(1, FEW + 1)), "scale_{0}", kernels=FEW)
    toml = project.home.project / "gpuemu.toml"
    second = "".join(PLAIN.format(i).replace("scale_", "other_") for i in range(1, FEW + 1))
    (project.home.project / "other.cu").write_text(second)
    toml.write_text(toml.read_text() + toml.read_text().replace("scale_", "other_").replace("scale.cu", "other.cu"))
    assert project.runs_of("ci", "--quick", "--seed", "1") == 2


@pytest.mark.slow
@needs_nvcc
def test_an_instantiation_that_does_not_compile_is_the_problem_of_its_own_kernel(new_home):
    guard = f'static_assert(N != {BROKEN}, "not this one");'
    project = Project(new_home, SOURCE.replace("GUARD", guard))
    ops, runs = project.test()
    bad = ops.pop(f"scale_{BROKEN}")
    assert f"instantiating 'scale<{BROKEN}>'" in bad["skipped_reason"]
    assert "scale.cu(2): error" in bad["skipped_reason"] and "not this one" in bad["skipped_reason"]
    assert all(op["passed"] == 2 for op in ops.values()), ops
    assert runs < MANY


@needs_nvcc
def test_a_source_that_does_not_compile_is_tried_once_for_all_of_its_kernels(new_home):
    project = Project(new_home, SOURCE.replace("GUARD", "undeclared();") + "int broken = nowhere;\n")
    ops, runs = project.test()
    assert runs == 2  # With the entries and without them.
    assert all("scale.cu(6): error" in op["skipped_reason"] for op in ops.values()), ops


def test_the_compiler_of_a_client_that_is_interrupted_ends_and_its_progress_is_shown(new_home):
    project = Project(new_home, SOURCE.replace("GUARD", ""), compiler=HANGING)
    project.home.start()
    ours, theirs = pty.openpty()
    client = subprocess.Popen([str(BIN / "gpuemu"), "test"], cwd=project.home.project,
                              env={**project.home.env, "TERM": "xterm"}, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=theirs)
    os.close(theirs)
    compiler = project.hanging_compiler()
    shown = b""
    while b"of 12 kernels" not in shown:
        assert select.select([ours], [], [], 60)[0], shown
        shown += os.read(ours, 4096)
    assert b"compiling 1 of 12 kernels" in shown
    client.send_signal(signal.SIGINT)
    assert ends(compiler)
    client.wait(timeout=60)
    os.close(ours)


def test_a_daemon_that_stops_does_not_wait_for_its_compilers(new_home):
    project = Project(new_home, SOURCE.replace("GUARD", ""), compiler=HANGING)
    project.home.start()
    client = subprocess.Popen([str(BIN / "gpuemu"), "test"], cwd=project.home.project, env=project.home.env,
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    compiler = project.hanging_compiler()
    stopped = project.home.run("daemon", "stop", timeout=60)
    assert stopped.returncode == 0, stopped.stderr
    assert ends(compiler)
    client.wait(timeout=60)
