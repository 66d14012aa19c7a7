"""`gpuemu debug`: looking into a failure, from scripts, from standard input and at a terminal."""
import json
import os
import pty
import re
import select
import subprocess
import termios
import time
from pathlib import Path

import pytest

from conftest import BIN

KERNELS = r"""
__device__ __noinline__ float twice(float v) {
  return v * 2.0f;
}
extern "C" __global__ void edges(const float* x, float* y, int n) {
  __shared__ float tile[64];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  tile[threadIdx.x] = i < n ? x[i] : 0.0f;
  __syncthreads();
  float left = threadIdx.x > 0 ? tile[threadIdx.x - 1] : 0.0f;
  float sum = tile[threadIdx.x] + left;
  if (i < n) {
    y[i] = twice(sum);
  }
}
extern "C" __global__ void halve(const float* x, float* y, int n) {
  int i = threadIdx.x;
  if (i < n) y[i] = x[i] * 0.5f;
}
extern "C" __global__ void enlarge(float* y, int n) {
  int i = threadIdx.x;
  if (i < n) y[i] = y[i] + 1.0f;
}
extern "C" __global__ void slow(const float* x, float* y, int n) {
  float v = x[threadIdx.x];
  for (int i = 0; i < 8000000; ++i) v = v * 0.5f + 1.0f;
  y[threadIdx.x] = v;
}
extern "C" __global__ void past(const float* x, float* y, int n) {
  int i = threadIdx.x;
  y[i] = x[i + 1];
}
"""
# The reference sums over the begin of a block as well: element 64 is wrong, and no other.
CONFIG = """
[runtime]
backend = "emulator"
[validation]
strategies = ["uniform10"]
cases = 1
seed = 5
[[ops]]
name = "edges"
kernel = "edges"
reference = "edges.py"
dims = { n = [70, 70] }
inputs = [{ name = "x", shape = ["n"], dtype = "float32", range = [1, 2] }]
outputs = [{ name = "y", shape = ["n"], dtype = "float32" }]
[[kernels]]
name = "edges"
source = "kernels.cu"
[[kernels.launches]]
entry = "edges"
grid = ["cdiv(n, 64)"]
block = [64]
args = ["x", "y", "i32:n"]
[[ops]]
name = "twice"
kernel = "twice"
reference = "twice.py"
dims = { n = [20, 20] }
inputs = [{ name = "x", shape = ["n"], dtype = "float32", range = [1, 2] }]
outputs = [{ name = "y", shape = ["n"], dtype = "float32" }]
[[kernels]]
name = "twice"
source = "kernels.cu"
[[kernels.launches]]
entry = "halve"
grid = [1]
block = [32]
args = ["x", "y", "i32:n"]
[[kernels.launches]]
entry = "enlarge"
grid = [1]
block = [32]
args = ["y", "i32:n"]
[[ops]]
name = "slow"
kernel = "slow"
reference = "twice.py"
dims = { n = [32, 32] }
inputs = [{ name = "x", shape = ["n"], dtype = "float32", range = [1, 2] }]
outputs = [{ name = "y", shape = ["n"], dtype = "float32" }]
[[kernels]]
name = "slow"
source = "kernels.cu"
[[kernels.launches]]
entry = "slow"
grid = [1]
block = [32]
args = ["x", "y", "i32:n"]
[[ops]]
name = "past"
kernel = "past"
reference = "past.py"
dims = { n = [32, 32] }
inputs = [{ name = "x", shape = ["n"], dtype = "float32", range = [1, 2] }]
outputs = [{ name = "y", shape = ["n"], dtype = "float32" }]
[[kernels]]
name = "past"
source = "kernels.cu"
[[kernels.launches]]
entry = "past"
grid = [1]
block = [32]
args = ["x", "y", "i32:n"]
"""
LINE = {text: number for number, text in enumerate(KERNELS.splitlines(), 1)}
SUM = LINE["  float sum = tile[threadIdx.x] + left;"]
STORE = LINE["    y[i] = twice(sum);"]
TWICE = LINE["  return v * 2.0f;"]


@pytest.fixture(scope="module")
def failing(new_home):
    home = new_home({
        "kernels.cu": KERNELS,
        "edges.py": "import numpy as np\n\n\ndef reference(x, **kwargs):\n    return 2 * (x + np.pad(x, (1, 0))[:-1])\n",
        "past.py": "import numpy as np\n\n\ndef reference(x, **kwargs):\n    return np.append(x[1:], 0)\n",
        "twice.py": "import numpy as np\n\n\ndef reference(x, **kwargs):\n    return np.where(np.arange(x.size) == 3, 0, x / 2 + 1)\n",
        "gpuemu.toml": CONFIG,
    })
    tested = home.run("test", "--cases", "1", "--seed", "5")
    assert tested.returncode == 1, tested.stdout + tested.stderr
    listed = json.loads(home.run("failures", "--format", "json").stdout)["results"]
    return home, {one["op_name"]: one["seed"] for one in listed}


def debug(failing, script, op="edges", status=0):
    home, seeds = failing
    done = home.run("debug", seeds[op], "-c", script)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout if status == 0 else done.stderr


def test_failures_are_listed_loaded_and_shown(failing):
    home, seeds = failing
    done = home.run("debug", "-c", "list", "-c", f"load {seeds['edges']} edges; show")
    assert done.returncode == 0, done.stderr
    assert str(seeds["past"]) in done.stdout and "launches edges: grid (2, 1, 1), block (64, 1, 1)" in done.stdout
    assert "ToleranceExceeded" in done.stdout


def test_tensors_are_printed_in_slices_and_other_types(failing):
    said = debug(failing, "tensors; print x[0:2]; print x[-1]; print y.expected[64]; print x[0] as hex; print x[0] as i32")
    assert "input    x float32 [70], contiguous" in said and "output   y float32 [70], contiguous" in said
    first, bits, whole = (re.search(pattern, said)[1] for pattern in (r"x float32 \[2\]\n\[(\S+),", r"(0x[0-9a-f]{8})", r"x int32 \[\]\n(\d+)"))
    assert 1 <= float(first) <= 2 and int(bits, 16) == int(whole)


def test_a_replay_shows_what_is_wrong_and_only_that(failing):
    said = debug(failing, "replay; diff; diff y[62:67]; print y.error[63:66]")
    assert "y float32 [70]: 1 of 70 elements wrong, worst y[64] = " in said
    assert len(re.findall(r"\*[0-9.]+\*", said)) == 1, said
    error = re.search(r"y\.error float64 \[3\]\n\[(.*)\]", said)[1].split(", ")
    assert float(error[0]) < 1e-5 < 1 < float(error[1]) and float(error[2]) < 1e-5


def test_a_backend_that_is_not_there_cannot_run_anything(failing):
    if "cuda" in failing[0].run("devices").stdout:
        pytest.skip("this machine has a GPU")
    assert "cuda" in debug(failing, "replay cuda", status=3)


def test_the_stages_of_the_pipeline_are_gone_through_one_by_one(failing):
    said = debug(failing, "stages; stage; stage; stage tolerance; stage; stage 9; stage")
    assert re.search(r" 4 compare +1 found", said) and re.search(r"tolerance +1 found", said) and re.search(r"dtype +ok", said)
    assert re.search(r" 5 extras +ok", said) and "largest difference" in said
    assert "the case fails" in said and "n = 70" in said and "that was the last stage" in said
    assert "memory     1 found" in debug(failing, "stages", op="past") and "OutOfBounds" in debug(failing, "stage memory", op="past")
    assert "stages have the numbers 1 to 9" in debug(failing, "stage 10", status=2)


def test_code_debugger_and_page_list_the_same_stages(failing):
    root = Path(__file__).resolve().parents[2]
    table = re.findall(r'^GPUEMU_STAGE\((\w+), "([^"]+)", "([^"]+)"\)', (root / "common/protocol/tables/stages.def").read_text(), re.M)
    checks = re.findall(r'^GPUEMU_CASE_CHECK\(\w+, (\w+), "([^"]+)"', (root / "common/protocol/tables/stages.def").read_text(), re.M)
    assert len(table) == 9 and len(checks) == 13
    said, page = debug(failing, "stages"), (root / "docs/internals/validation.md").read_text()
    printed = [line for line in said.splitlines() if re.match(r"[ \d]\d [a-z]+ ", line)]
    for number, ((kind, name, sentence), line) in enumerate(zip(table, printed, strict=True), 1):
        assert line.startswith(f"{number:>2} {name} ") and line.endswith(sentence)
        assert f"| {name} | {sentence} | {', '.join(check for stage, check in checks if stage == kind)} |" in page


@pytest.mark.parametrize("script, words", [
    ("prnt x", ["no command 'prnt'", "print"]),
    ("print z", ["no tensor 'z'", "x, y"]),
    ("print x[70]", ["index 70 of axis 0, which has 70 elements"]),
    ("print x[", ["a ']' is missing"]),
    ("print y", ["`replay`", "y.expected"]),
    ("print x as float17", ["unknown type 'float17'"]),
    ("print x as f64", ["same size"]),
    ("diff x", ["'x' is not an output"]),
    ("load", ["the seed is missing"]),
    ("load 1", ["1"]),
    ("stage speed", ["no stage 'speed'"]),
    ("replay metal", ["unknown backend 'metal'", "emulator|cuda"]),
    ("step", ["no launch is stopped", "`start`"]),
    ("break 1", ["line 1 has no code; the nearest lines with code are"]),
    ("break nowhere", ["no function 'nowhere'", "edges"]),
    ("break 8 lane 3", ["'lane': expected `block X,Y,Z` or `thread X,Y,Z`"]),
    ("watch y", ["not a single element", "[70]"]),
    ("delete 9", ["no breakpoint or watchpoint 9"]),
    ("start; registers %nothing", ["no register '%nothing'; did you mean one of"]),
    ("start; shared pile[0]", ["no variable 'pile'", "tile"]),
    ("start; thread 64", ["no thread (64,0,0)"]),
    ("quit now", ["'now' is one word too many", "usage: quit"]),
])
def test_what_is_typed_wrong_is_named_and_ends_a_script(failing, script, words):
    said = debug(failing, script + "; list", status=2)
    assert all(word in said for word in words), said


def test_a_launch_stops_at_a_line_for_one_thread_and_goes_on_from_there(failing):
    said = debug(failing, f"break {SUM} block 1 thread 3; run; where; thread; stepi; print %r1; threads; continue")
    assert "breakpoint 1: line " in said and f"kernels.cu:{SUM} in thread (3,0,0) of block (1,0,0)" in said
    assert f"{SUM}    float sum = tile[threadIdx.x] + left;" in said
    assert "lane 3 of warp 0" in said and "block (1,0,0)" in said and "warp 1, threads from (32,0,0)" in said
    assert "1 of 70 elements wrong" in said.split("launch 1 of 1, edges")[1]


def test_steps_go_from_line_to_line_into_functions_and_over_them(failing):
    into = debug(failing, f"break {STORE} block 0 thread 0; run; step; step; where; finish; quit")
    assert f"kernels.cu:{TWICE} in thread (0,0,0)" in into and "in _Z5twicef, 1 call deep" in into, into
    over = debug(failing, f"break {STORE} block 0 thread 0; run; next; where; quit")
    assert f"kernels.cu:{TWICE} " not in over and "0 calls deep" in over


def test_shared_memory_and_lanes_show_what_the_reference_would_have_seen(failing):
    script = f"print x[64:68]; break {SUM} block 1 thread 0; run; shared; shared tile[0:4]; params; quit"
    said = debug(failing, script)
    rows = re.findall(r"^\[(.*)\]$", said, re.M)
    assert rows[0] == rows[1], said  # The tile of block 1 begins with x[64].
    assert "tile 256 bytes at 0, of f32" in said and "the tensor x" in said and "= 70, from i32:n" in said


def test_registers_hold_typed_values_in_every_lane(failing):
    said = debug(failing, "break twice block 0 thread 5; run; stepi 2; registers; lanes %f1; lanes %f1 as hex; quit")
    assert re.search(r"^%\w+ +f32 +[0-9.]+$", said, re.M), said
    lanes = re.findall(r"\b\d+: ([0-9.]+)", said.split("as f32; lanes")[1])
    assert len(lanes) >= 32 and float(lanes[0]) >= 1, said
    assert len(re.findall(r"\d+: 0x[0-9a-f]{8} ", said)) == 32


def test_a_watched_element_tells_who_stored_it(failing):
    said = debug(failing, "watch y[64]; run; print y[64]; breakpoints; continue")
    told = re.search(r"watchpoint 1: y\[64\] = (\S+), was ([^;]+); stored by thread \((\d+),0,0\) of block \((\d),0,0\), st\.global", said)
    assert told and told[3] == "0" and told[4] == "1", said
    assert re.search(r"y float32 \[\]\n" + re.escape(told[1]) + r"\n", said) and "stores to y[64], met once" in said


def test_a_finding_stops_the_launch_or_is_told_at_its_end(failing):
    said = debug(failing, "run", op="past")
    assert "out_of_bounds" in said and "kernels.cu" in said


def test_a_launch_can_begin_anew_and_another_case_be_loaded_while_it_is_stopped(failing):
    home, seeds = failing
    said = debug(failing, f"start; run; start; load {seeds['past']}; tensors; start; quit")
    assert said.count("the launch begins") == 3 and said.count("the launch was ended") == 2, said
    assert "x float32 [32]" in said


def test_every_launch_of_a_case_can_be_stopped_in(failing):
    said = debug(failing, "break enlarge; watch y[3]; run; continue; where; continue; continue; breakpoints", op="twice")
    stores = re.findall(r"watchpoint 2: y\[3\] = (\S+), was ([^;]+); stored by thread \(3,0,0\)", said)
    assert len(stores) == 2 and stores[0] == (stores[1][1], "never written"), said
    assert float(stores[1][0]) == pytest.approx(float(stores[0][0]) + 1, rel=1e-6)
    assert "launch 2 of 2" in said and "1 of 20 elements wrong, worst y[3]" in said
    assert "breakpoint 1: enlarge, met once" in said and "stores to y[3], met 2 times" in said


def test_standard_input_is_a_script(failing):
    home, seeds = failing
    def run(text):
        return subprocess.run([str(BIN / "gpuemu"), "debug", str(seeds["edges"])], cwd=home.project, env=home.env,
                              input=text, text=True, capture_output=True, timeout=120)
    done = run("# what there is\ntensors\n\nhelp print; replay\nstart\n")
    assert done.returncode == 0 and "1 of 70 elements wrong" in done.stdout and "print TENSOR" in done.stdout, done
    broken = run("tensors\nnonsense\nreplay\n")
    assert broken.returncode == 2 and "x float32" in broken.stdout and "no command 'nonsense'" in broken.stderr
    assert "elements wrong" not in broken.stdout


class Terminal:
    """A person at a terminal."""

    def __init__(self, home, *args):
        self.main, side = pty.openpty()
        self.process = subprocess.Popen([str(BIN / "gpuemu"), "debug", *map(str, args)], cwd=home.project, stdin=side,
                                        stdout=side, stderr=side, env={**home.env, "TERM": "xterm"}, start_new_session=True,
                                        preexec_fn=lambda: __import__("fcntl").ioctl(side, __import__("termios").TIOCSCTTY, 0))
        os.close(side)
        self.seen = ""

    def type(self, text, at_prompt=True):
        """Before the prompt the terminal itself would take some keys: the prompt is waited for."""
        end = time.monotonic() + 60
        while at_prompt and termios.tcgetattr(self.main)[3] & termios.ICANON and time.monotonic() < end:
            time.sleep(0.02)
        os.write(self.main, text.encode())

    def until(self, pattern, seconds=60):
        """What came until the pattern did, without control sequences."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", self.seen).replace("\r", "")
            if found := re.search(pattern, plain):
                self.seen = ""
                return plain[:found.end()]
            if select.select([self.main], [], [], 0.2)[0]:
                try:
                    self.seen += os.read(self.main, 4096).decode(errors="replace")
                except OSError:
                    break
        raise AssertionError(f"{pattern!r} did not come; there was {self.seen!r}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        os.close(self.main)

    def end(self):
        return self.process.wait(60)


def test_a_terminal_edits_completes_remembers_and_survives_mistakes(failing):
    home, seeds = failing
    with Terminal(home, seeds["edges"]) as person:
        person.until("gpuemu> ")
        person.type("tenxors\x02\x02\x02\x08s\n")  # Three letters back, the x goes, an s comes.
        person.until(r"input +x float32 \[70\]")
        person.type("nonsense\n")
        person.until("error: no command 'nonsense'")
        person.type("rep\t\n")
        person.until("1 of 70 elements wrong")
        person.type("print y.ex\t\x08[64]\n")
        person.until(r"y\.expected float64 \[\]")
        person.type("s\t")  # Several begin so: they are listed.
        person.until(r"shared .*stages .*stepi")
        person.type("\x15quit\n")
        assert person.end() == 0
    history = home.home / ".gpuemu" / "debug_history"
    assert "replay" in history.read_text() and history.stat().st_mode & 0o077 == 0
    with Terminal(home) as again:
        again.until("gpuemu> ")
        again.type("\x10\x10\n")  # The line before `quit` of the session before.
        again.until("no case is loaded")
        again.type("\x04")
        assert again.end() == 0


def test_ctrl_c_at_a_terminal_drops_the_line_and_ends_no_session(failing):
    home, seeds = failing
    with Terminal(home, seeds["edges"]) as person:
        person.until("gpuemu> ")
        person.type("print nonsense\x03")
        person.until(r"\^C")
        person.type("tensors\n")
        assert "no tensor" not in person.until("output +y")
        person.type("quit\n")
        assert person.end() == 0


def test_ctrl_c_stops_a_running_launch(failing):
    home, seeds = failing
    with Terminal(home, seeds["slow"]) as person:
        person.until("gpuemu> ")
        person.type("run\n")
        person.until(r"run\n")
        time.sleep(0.1)  # The launch takes more than ten times as long.
        person.type("\x03", at_prompt=False)
        person.until(r"interrupted\nstopped at .*kernels.cu:\d+ in thread \(0,0,0\)")
        person.type("print y[0]\n")
        person.until(r"y float32 \[\]")
        person.type("quit\n")
        assert person.end() == 0
