"""The C program of examples/embed trains the model that NumPy trains."""
import json
import subprocess
import sys
from xml.etree import ElementTree

import numpy as np
import pytest

from conftest import BIN, ROOT

INPUTS, OUTPUTS = 8, 4


class Numbers:
    """The generator of the C program."""

    def __init__(self):
        self.state = 1

    def array(self, shape, scale):
        values = []
        for _ in range(int(np.prod(shape))):
            self.state = (self.state * 1664525 + 1013904223) % 2**32
            values.append((np.float32(self.state >> 8) / np.float32(8388608) - np.float32(1)) * np.float32(scale))
        return np.array(values, np.float64).reshape(shape)


def losses(layers, width, batch, steps):
    numbers = Numbers()
    x, target = numbers.array((batch, INPUTS), 1), numbers.array((batch, OUTPUTS), 1)
    sizes = [INPUTS] + [width] * (layers - 1) + [OUTPUTS]
    parameters = [(numbers.array((out, into), 0.5), numbers.array((out,), 0.1)) for into, out in zip(sizes, sizes[1:])]
    found = []
    for step in range(steps):
        rate = float(np.float32(0.2) / (np.float32(1) + np.float32(0.005) * np.float32(step)))
        active, biased = [x], []
        for w, b in parameters:
            biased.append(active[-1] @ w.T + b)
            active.append(np.maximum(biased[-1], 0))
        found.append(np.mean((biased[-1] - target) ** 2))
        d = 2 * (biased[-1] - target) / target.size
        updated = []
        for i in reversed(range(layers)):
            w, b = parameters[i]
            updated.insert(0, (w - rate * d.T @ active[i], b - rate * d.sum(axis=0)))
            if i:
                d = (d @ w) * (biased[i - 1] > 0)
        parameters = updated
    return found


@pytest.fixture(scope="module")
def program():
    path = BIN.parent / "examples" / "gpuemu_example_mlp"
    assert path.exists(), f"{path} is not built"
    return str(path)


def run(program, *arguments):
    return subprocess.run([program, "--backend", "emulator", *arguments], capture_output=True, text=True, timeout=300)


@pytest.mark.slow
def test_a_captured_step_replayed_1000_times_with_a_changing_rate_trains_like_numpy(program):
    done = run(program, "--steps", "1001")
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    assert [int(step) for _, step, _ in lines] == list(range(0, 1001, 100))
    expected = losses(2, 16, 16, 1001)
    for _, step, loss in lines:
        assert float(loss) == pytest.approx(expected[int(step)], rel=2e-3), step
    assert float(lines[-1][2]) < 0.7 * float(lines[0][2])


def test_deeper_models_agree_too(program):
    done = run(program, "--steps", "12", "--layers", "4", "--width", "9", "--batch", "5")
    assert done.returncode == 0, done.stderr
    last = done.stdout.splitlines()[-1].split()
    assert last[1] == "11" and float(last[2]) == pytest.approx(losses(4, 9, 5, 12)[-1], rel=1e-4)


def test_wrong_use_is_answered(program):
    assert run(program, "--layers", "0").returncode == 2
    assert run(program, "--nonsense").returncode == 2
    done = subprocess.run([program, "--backend", "abacus"], capture_output=True, text=True)
    assert done.returncode == 1 and "abacus" in done.stderr


def insist_on_a_chrome_trace(trace):
    """What the published description of the Trace Event Format asks of complete events, counters and metadata, and what Perfetto
    drops with a note: events of one track that overlap in part."""
    assert set(trace) <= {"traceEvents", "displayTimeUnit", "otherData", "metadata"}
    assert trace["displayTimeUnit"] in ("ms", "ns")
    tracks, named = {}, set()
    for event in trace["traceEvents"]:
        assert isinstance(event["name"], str) and event["name"], event
        assert type(event["pid"]) is int, event
        if event["ph"] == "M":
            assert event["name"] in ("process_name", "thread_name") and isinstance(event["args"]["name"], str), event
            named.add(event["pid"])
            continue
        if event["ph"] == "C":
            assert event["ts"] >= 0 and event["args"] and all(type(value) in (int, float) for value in event["args"].values()), event
            continue
        assert event["ph"] == "X" and isinstance(event["cat"], str) and type(event["tid"]) is int, event
        assert event["tid"] >= 0 and event["ts"] >= 0 and event["dur"] >= 0 and isinstance(event.get("args", {}), dict), event
        tracks.setdefault((event["pid"], event["tid"]), []).append((event["ts"], -event["dur"], event["name"]))
    assert {process for process, _ in tracks} <= named, "a group of tracks without a name"
    for events in tracks.values():
        ends = []
        for begin, duration, name in sorted(events):
            while ends and ends[-1] <= begin:
                ends.pop()
            assert not ends or begin - duration <= ends[-1] + 1e-3, f"{name} ends after what it began in"  # Of 1 ns.
            ends.append(begin - duration)


def test_its_trace_has_every_level_and_becomes_a_picture(program, tmp_path):
    trace, picture = tmp_path / "mlp.json", tmp_path / "mlp.svg"
    done = run(program, "--layers", "3", "--steps", "4", "--trace", str(trace))
    assert done.returncode == 0, done.stderr
    written = json.loads(trace.read_text())
    insist_on_a_chrome_trace(written)
    events = [e for e in written["traceEvents"] if e["ph"] == "X"]
    named = {kind: [e["name"] for e in events if e["cat"] == kind] for kind in ("range", "op", "kernel")}
    assert named["range"].count("replay") == 3 and named["range"].count("step") == 1
    # The step after the warm-up, with one forward of its own and one while it is captured.
    assert named["range"].count("forward") == 2
    assert named["op"].count("gemm") == 3, "captured calls have no time"
    kernels = named["kernel"].count("gemm_naive_float32")
    assert kernels == 4 * 3, "kernels of replays are there"
    tool = [sys.executable, str(ROOT / "tools" / "trace_picture.py")]
    drawn = subprocess.run([*tool, str(trace), str(picture)], capture_output=True, text=True)
    assert drawn.returncode == 0, drawn.stderr
    titles = [title.text for title in ElementTree.parse(picture).iter("{http://www.w3.org/2000/svg}title")]
    assert len(titles) == len(events)
    assert sum(title.startswith("gemm_naive_float32: ") for title in titles) == kernels
    empty = tmp_path / "empty.json"
    empty.write_text('{"traceEvents": []}')
    refused = subprocess.run([*tool, str(empty), str(picture)], capture_output=True, text=True)
    assert refused.returncode == 1 and "nothing to draw" in refused.stderr


def printed(program, source):
    done = subprocess.run([program, source, "emulator"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_c_program_registers_prefers_and_replays_a_kernel(program, tmp_path):
    registered = program.replace("gpuemu_example_mlp", "gpuemu_example_registered")
    expected = "relu: packets, first supported\nrelu: mine, preferred\nfirst -62.5 last 499\n"
    assert printed(registered, "") == expected
    file = tmp_path / "my_relu.cu"
    file.write_text("""extern "C" __global__ void my_relu(const float* x, float* y, long long n) {
  long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] + 1;
}""")
    assert printed(registered, str(file)) == expected.replace("-62.5", "-499").replace("499\n", "500\n")
    file.write_text("no kernel")
    wrong = subprocess.run([registered, str(file), "emulator"], capture_output=True, text=True, timeout=120)
    assert wrong.returncode == 1 and "GPUEMU_COMPILE" in wrong.stderr
