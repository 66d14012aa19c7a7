"""Code shared by the benchmarks of `gpuemu`: the tool in a private home, processor times, and the loop
that starts a fresh python3 for every script.
"""
import collections
import json
import os
import pathlib
import random
import re
import resource
import shutil
import subprocess
import sys
import typing

ROOT = pathlib.Path(__file__).resolve().parent.parent

DRAW_INPUTS = '''
import base64, json, sys
import numpy as np
case = json.load(sys.stdin)
random = np.random.default_rng(int(case["kwargs"]["seed"]))
outputs = {}
for name, shape in json.loads(case["kwargs"]["shapes"]).items():
    array = random.standard_normal(shape).astype(np.float32)
    outputs[name] = {"shape": shape, "dtype": "float32",
                     "data": base64.b64encode(array.tobytes()).decode()}
json.dump({"outputs": outputs}, sys.stdout)
'''
COMPUTE_REFERENCE = '''
import base64, inspect, json, runpy, sys
import numpy as np
case = json.load(sys.stdin)
inputs = {name: np.frombuffer(base64.b64decode(one["data"]), one["dtype"]).reshape(one["shape"])
          .astype(np.float64) for name, one in case["inputs"].items()}
reference = runpy.run_path(case["kwargs"]["script"])["reference"]
inputs.update({"eps": 1e-5} if "eps" in inspect.signature(reference).parameters else {})
array = np.asarray(reference(**inputs)).astype(np.float32)
json.dump({"shape": list(array.shape), "dtype": "float32",
           "data": base64.b64encode(array.tobytes()).decode()}, sys.stdout)
'''


def correct_examples(folder, dims, checks=None):
    """Copies examples/ with only the ops of `dims`, in these ranges. `checks`: of the emulator; None for
    all."""
    shutil.copytree(ROOT / "examples", folder)
    text = (folder / "gpuemu.toml").read_text()
    kept = []
    for block in re.split(r"(?m)^(?=\[\[)", text):
        name = re.search(r'(?m)^name = "(\w+)"', block)[1]
        if block.startswith("[[") and name not in dims:
            continue
        if block.startswith("[[ops]]"):
            ranges = ", ".join(f"{dim} = [{low}, {high}]" for dim, (low, high) in dims[name].items())
            block, replaced = re.subn(r"(?m)^dims = .*$", f"dims = {{ {ranges} }}", block)
            assert replaced == 1, block
        if checks is not None:
            block = block.replace("[validation]\n", f"[validation]\nsanitize = {json.dumps(checks)}\n")
        kept.append(block)
    (folder / "gpuemu.toml").write_text("".join(kept))


def children_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def tree_seconds(process):
    """Returns the processor time of a process, its reaped children and its living descendants."""
    return sum(one.own + one.reaped for one in used_by(process).values())


class Used(typing.NamedTuple):
    """The processor time of a living process."""
    program: str
    parent: int
    own: float
    reaped: float  # The processor time of its children that have ended.


def used_by(process):
    """Returns the processor time of a process and its living descendants by their ids."""
    ticks = os.sysconf("SC_CLK_TCK")
    name, _, rest = pathlib.Path(f"/proc/{process}/stat").read_text().partition("(")[2].rpartition(")")
    fields = [int(one) for one in rest.split()[1:15]]
    found = {int(process): Used(name, fields[0], sum(fields[10:12]) / ticks, sum(fields[12:14]) / ticks)}
    for task in pathlib.Path(f"/proc/{process}/task").iterdir():
        for child in (task / "children").read_text().split():
            try:
                found.update(used_by(child))
            except (FileNotFoundError, ProcessLookupError):
                pass  # It ended meanwhile.
    return found


def seconds_between(before, after):
    """Returns the processor time that went by between two answers of used_by(), by the names of programs. What processes used
    that ended in between counts for the programs of those that are known."""
    seconds = collections.Counter()
    for process, now in after.items():
        was = before.get(process, Used(now.program, now.parent, 0, 0))
        seconds[now.program] += now.own - was.own
        ended = [one for number, one in before.items() if one.parent == process and number not in after]
        names = {one.program for one in ended}
        name = names.pop() if len(names) == 1 else "ended"
        seconds[name] += now.reaped - was.reaped - sum(one.own + one.reaped for one in ended)
    return +seconds


class Gpuemu:
    """The command line tool in a private home."""

    def __init__(self, programs, folder):
        self.program = str(pathlib.Path(programs).resolve() / "gpuemu")
        self.folder = folder / "project"
        self.environment = {name: value for name, value in os.environ.items()
                            if not name.startswith("GPUEMU_")}
        self.environment.update(HOME=str(folder), GPUEMU_SOCKET=str(folder / "socket/gpuemu.sock"),
                                GPUEMU_DB=str(folder / "db"))

    def run(self, *words):
        return subprocess.run([self.program, *words], cwd=self.folder, env=self.environment,
                              capture_output=True, text=True)

    def daemon(self):
        """Returns the daemon's process id; None if it does not run."""
        try:
            return json.loads(self.run("status", "--format", "json").stdout).get("pid")
        except ValueError:
            return None

    def stop(self):
        self.run("daemon", "stop")


def draw_size(low, high):
    """Draws small and large sizes equally often, like gpuemu."""
    return random.randint(low, low + ((high - low) >> random.randint(0, (high - low).bit_length())))


def run_script(script, document):
    done = subprocess.run([sys.executable, script], input=json.dumps(document), text=True,
                          capture_output=True, check=True)
    return json.loads(done.stdout)


class FreshProcesses:
    """Runs cases like other tools: one python3 draws the inputs and one computes the expected output,
    both with the stdin protocol of docs/reference/protocol.md."""

    def __init__(self, folder):
        self.folder = folder
        (folder / "draw_inputs.py").write_text(DRAW_INPUTS)
        (folder / "compute_reference.py").write_text(COMPUTE_REFERENCE)

    def run(self, op, dims, inputs):
        """Runs one case. `dims`: ranges by name; `inputs`: dims by name of the input."""
        sizes = {dim: draw_size(*limits) for dim, limits in dims.items()}
        shapes = {name: [sizes[dim] for dim in named.split()] for name, named in inputs.items()}
        drawn = run_script(self.folder / "draw_inputs.py",
                           {"inputs": {}, "kwargs": {"seed": "1", "shapes": json.dumps(shapes)}})
        run_script(self.folder / "compute_reference.py",
                   {"inputs": drawn["outputs"],
                    "kwargs": {"script": str(ROOT / f"examples/references/{op}.py")}})
