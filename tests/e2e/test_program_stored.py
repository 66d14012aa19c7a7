"""What check() finds wrong in a program is stored through the daemon: listed by `gpuemu failures`, run by `gpuemu reproduce SEED`."""
import json
import shutil
import subprocess
import sys

import pytest

from conftest import BIN, ROOT

LIBRARY = BIN.parent / "lib" / "gpuemu" / "libgpuemu.so.1"

PROGRAM = '''
import json, sys
import numpy as np
from gpuemu import program, runtime

SOURCE = """extern "C" __global__ void twice(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = i == 2 ? 0.5f : 2.0f * x[i];
}"""
runtime.register_op("twice", ["x: T"], ["y: T"], infer=lambda x: [x], reference=lambda x: 2 * x, error_scale=lambda x: np.abs(2 * x))
runtime.register_kernel("twice", "plain", SOURCE, [runtime.Launch("twice", "cdiv(x.count, 64)", 64, ["x", "y", "i32:x.count"])], types={"T": ["float32"]})
g = program.IRGraph("stored")
g.output("y", g.op("twice", [g.relu(g.input("x", (4,)))]))
report = program.Executor(g, runtime.Device("emulator")).check({"x": [1.0, 2.0, 3.0, 4.0]}, save=sys.argv[1])
print(json.dumps({"stored": report.stored, "seed": report.seed, "notes": report.notes, "first": report.first.op, "text": report.text()}))
'''


def check(gpuemu, folder, **more):
    """Runs the program and returns what it says of its check."""
    env = {**gpuemu.env, "PYTHONPATH": str(ROOT / "python"), "GPUEMU_LIBRARY": str(LIBRARY), "GPUEMU_CHECK": str(BIN / "gpuemu-check"), **more}
    done = subprocess.run([sys.executable, "-c", PROGRAM, str(folder)], cwd=gpuemu.project, env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_wrong_op_is_stored_listed_and_run_again_without_its_program(gpuemu, tmp_path):
    told = check(gpuemu, tmp_path / "wrong")
    assert told["stored"] and told["first"] == "twice" and told["notes"] == [], told
    seed = str(told["seed"])
    listed = gpuemu.run("failures")
    assert seed in listed.stdout and "twice" in listed.stdout, listed.stdout + listed.stderr
    with gpuemu.client() as client:
        stored = [one for one in client.ask("ListFailures", limit=10)["results"] if one["op_name"] == "twice"]
    assert [one["kind"] for one in stored[0]["failures"]] == ["ToleranceExceeded"] and stored[0]["failures"][0]["index"] == 2
    assert stored[0]["repro_info"]["program_folder"] == str(tmp_path / "wrong")
    again = gpuemu.run("reproduce", seed, "--exit-code")
    assert again.returncode == 1 and "twice" in again.stdout and "ToleranceExceeded" in again.stdout, again.stdout + again.stderr
    assert json.loads(gpuemu.run("reproduce", seed, "--format", "json").stdout)["passed"] is False
    kernel = tmp_path / "wrong" / "kernel.cu"
    kernel.write_text(kernel.read_text().replace("i == 2 ? 0.5f : ", ""))
    repaired = gpuemu.run("reproduce", seed, "--exit-code")
    assert repaired.returncode == 0 and "passed" in repaired.stdout, repaired.stdout + repaired.stderr
    shutil.rmtree(tmp_path / "wrong")
    gone = gpuemu.run("reproduce", seed, "--exit-code")
    assert gone.returncode not in (0, 1) and "no longer exists" in gone.stderr, gone.stdout + gone.stderr


def test_a_check_does_not_fail_because_nothing_can_store_it(gpuemu, tmp_path):
    told = check(gpuemu, tmp_path / "wrong", GPUEMU_CLI=str(tmp_path / "nothing"))
    assert not told["stored"] and told["first"] == "twice" and "the failure is not stored: " in told["text"]
    assert (tmp_path / "wrong" / "case.json").is_file()


@pytest.mark.parametrize("change, said", [({"op_name": ""}, "op_name"), ({"failures": []}, "failures"), ({"program_folder": "here"}, "expected an absolute path")])
def test_a_failure_that_says_too_little_is_refused(gpuemu, change, said):
    gpuemu.start()
    whole = {"seed": 1, "op_name": "o", "failures": [{"kind": "DataRace", "message": "m"}], "program_folder": "/f"}
    reply = gpuemu.ask("StoreFailure", **{**whole, **change})
    assert reply["type"] == "Error" and reply["code"] == "InvalidRequest" and said in reply["message"]
    assert gpuemu.ask("StoreFailure", **whole) == {"type": "Ok"}
