"""A fault that loses the emulated device, as it loses a GPU: who owns the process replaces it."""
import os
import pathlib
import subprocess

import pytest

from conftest import BIN, ROOT
from projects import SCALE_PTX, TWO, kernel_op

STICKY = {"GPUEMU_EMULATOR_FAULTS": "sticky"}
RIGHT = SCALE_PTX.replace("FACTOR", TWO)
# Every thread reads and writes, those behind the end of the tensors too.
WILD = RIGHT.replace("@%p1 bra DONE;", "")
FILES = {"ref_twice.py": "def reference(x):\n    return 2.0 * x\n", "twice.ptx": RIGHT, "wild.ptx": WILD,
         "gpuemu.toml": '[runtime]\nbackend = "emulator"\nworkers = 1\n' + kernel_op("wild", "wild.ptx") + kernel_op("twice", "twice.ptx")}


def workers(own):
    names = {pid: pathlib.Path(f"/proc/{pid}/comm").read_text().strip() for pid in own.children(own.daemon_pid())}
    return {pid for pid, name in names.items() if name == "gpuemu-worker"}


@pytest.mark.parametrize("faults, replaced", [("continue", False), ("sticky", True)])
def test_the_daemon_replaces_the_worker_whose_device_is_lost(new_home, faults, replaced):
    own = new_home(FILES)
    own.env["GPUEMU_EMULATOR_FAULTS"] = faults
    own.start()
    right = own.run("test", "twice", "--cases", "4", "--seed", "1")
    assert right.returncode == 0, right.stdout + right.stderr
    before = workers(own)
    assert len(before) == 1
    wild = own.run("test", "wild", "--cases", "4", "--seed", "1")
    assert wild.returncode == 1 and "[OutOfBounds]" in wild.stdout, wild.stdout + wild.stderr
    again = own.run("test", "twice", "--cases", "4", "--seed", "2")
    assert again.returncode == 0, again.stdout + again.stderr
    assert (workers(own) != before) == replaced
    assert len(workers(own)) == 1


def test_a_python_program_gets_another_process(monkeypatch):
    gpuemu = pytest.importorskip("gpuemu")
    monkeypatch.setenv("GPUEMU_DEVICE", str(BIN / "gpuemu-device"))
    monkeypatch.setenv("GPUEMU_EMULATOR_FAULTS", "sticky")
    with gpuemu.Device() as device:
        module = device.load(WILD, "wild.ptx")
        x, y = device.allocate(4, "x"), device.allocate(4, "y")
        device.upload(x, bytes(4))
        first, lost = device.generation, device._process.pid
        report = device.launch(module, "scale", (1,), (32,), [int(x).to_bytes(8, "little"), int(y).to_bytes(8, "little"), b"\x01\0\0\0"])
        assert [finding.kind for finding in report.findings][0] == "out_of_bounds"
        with pytest.raises(gpuemu.DeviceLostError, match="allocate and fill it again"):
            device.download(x, 4)
        assert device.allocate(4) and device.generation == first + 1 and device._process.pid != lost


# Launches a graph whose memory was freed, then says whether its device still works.
OWNER = r"""
#include <gpuemu/op_call.h>
#include <stdio.h>
#include <string.h>
static int need(gpuemu_code code) {
  if (code != GPUEMU_OK) fprintf(stderr, "%s: %s\n", gpuemu_code_name(code), gpuemu_last_error());
  return code != GPUEMU_OK;
}
int main(int argc, char** argv) {
  int64_t shape = 16;
  int frees = argc > 1 && strcmp(argv[1], "wild") == 0;
  gpuemu_options options;
  gpuemu_context* context;
  gpuemu_graph graph;
  gpuemu_call call;
  gpuemu_code code;
  gpuemu_tensor in[1], out[1];
  memset(&options, 0, sizeof options);
  memset(&call, 0, sizeof call);
  options.struct_bytes = sizeof options;
  call.struct_bytes = sizeof call;
  options.backend = "emulator";
  in[0].dtype = out[0].dtype = GPUEMU_FLOAT32;
  in[0].rank = out[0].rank = 1;
  in[0].shape = out[0].shape = &shape;
  in[0].strides = out[0].strides = NULL;
  if (need(gpuemu_context_create(&options, &context)) || need(gpuemu_op_find(context, "relu", &call.op)) ||
      need(gpuemu_memory_allocate(context, 64, &in[0].data)) || need(gpuemu_memory_allocate(context, 64, &out[0].data)) ||
      need(gpuemu_stream_create(context, 0, 1, &call.stream)) || need(gpuemu_memory_fill(context, in[0].data, 0, 64, call.stream)))
    return 2;
  call.inputs = in;
  call.outputs = out;
  call.input_count = call.output_count = 1;
  if (need(gpuemu_op_call(context, &call)) || need(gpuemu_capture_begin(context, call.stream)) || need(gpuemu_op_call(context, &call)) ||
      need(gpuemu_capture_end(context, call.stream, &graph)) || (frees && need(gpuemu_memory_free(context, out[0].data))) ||
      need(gpuemu_graph_launch(context, graph, call.stream)))
    return 2;
  puts(gpuemu_code_name(gpuemu_stream_synchronize(context, call.stream)));
  code = gpuemu_stream_synchronize(context, call.stream);
  puts(code == GPUEMU_OK ? "works" : gpuemu_last_error());
  gpuemu_context_destroy(context);
  return code == GPUEMU_UNAVAILABLE ? 75 : 0;
}
"""


@pytest.fixture(scope="module")
def owner(tmp_path_factory):
    folder = tmp_path_factory.mktemp("owner")
    library = BIN.parent / "lib" / "gpuemu" / "libgpuemu.so.1"
    if not library.exists():
        pytest.skip("this build has no libgpuemu.so")
    (folder / "gpuemu").mkdir()
    (folder / "gpuemu" / "op_call.h").write_text((ROOT / "ops" / "capi" / "op_call.h").read_text())
    (folder / "owner.c").write_text(OWNER)
    subprocess.run(["cc", "-std=c99", "-Wall", "-Wextra", "-Werror", f"-I{folder}", folder / "owner.c", library,
                    f"-Wl,-rpath,{library.parent}", "-o", folder / "owner"], check=True)

    def run(what, **variables):
        done = subprocess.run([folder / "owner", what], capture_output=True, text=True, timeout=60, env={**os.environ, **variables})
        assert done.stderr == ""
        return done.returncode, done.stdout.splitlines()

    return run


def test_a_program_with_libgpuemu_is_told_and_its_next_process_works(owner):
    status, lines = owner("wild", **STICKY)
    assert status == 75 and lines[0] == "GPUEMU_LAUNCH"
    assert lines[1].startswith("emulated device 0 is lost after a fault (") and lines[1].endswith("start a new process for it")
    assert owner("right", **STICKY) == (0, ["GPUEMU_OK", "works"])
    assert owner("wild") == (0, ["GPUEMU_LAUNCH", "works"]), "without the variable the emulator goes on"
