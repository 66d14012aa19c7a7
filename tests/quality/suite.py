"""Runs the projects of this folder with a private daemon and says which planted faults were found and which correct kernels were flagged."""
import atexit
import base64
import dataclasses
import json
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "python"))
BIN = pathlib.Path(os.environ.get("GPUEMU_BIN", ROOT / "build/release/bin"))
CASES = 24


@dataclasses.dataclass
class Fault:
    """One kernel of faulty/: what must find it."""
    name: str
    number: int  # of its class
    kinds: list[str]
    cases: int = CASES
    twin: bool = True  # compiled with -DFIXED it is right
    slow: bool = False
    only: str = ""  # the one backend that can see it
    weak: str = ""  # why not every run finds it
    missed: str = ""  # why nothing finds it
    luck: bool = False  # a gap that chance closes now and then
    memory: bool = False  # what it answers depends on the calls before, so that a case by itself need not fail again
    smallest: int | None = None  # product of the sizes of the smallest case that fails
    lint: bool = False  # found in the compiled code, not by running it


@dataclasses.dataclass
class Failure:
    """One failing case."""
    number: int  # from 1
    kinds: list[str]
    seed: int
    message: str
    places: set[tuple[str, int]]  # source files and lines that the findings name


@dataclasses.dataclass
class Outcome:
    """What one run of one op in one dtype came to."""
    op: str
    dtype: str
    cases: int
    failed: int
    error: str  # why it did not run
    failures: list[Failure]  # in the order of the cases

    def first_of(self, kinds):
        """The first failing case with a finding of these kinds; of any when there are none."""
        return next((f for f in self.failures if not kinds or set(f.kinds) & set(kinds)), None)


class Places:
    """Folders for installations, used again by later ones: compilers' output is kept by the path of its source."""

    def __init__(self):
        self.lock, self.free, self.made = threading.Lock(), [], 0
        self.root = None

    def take(self):
        with self.lock:
            if self.root is None:
                self.root = pathlib.Path(tempfile.mkdtemp(prefix="gpuemu-quality-"))
                atexit.register(shutil.rmtree, self.root, ignore_errors=True)
            if self.free:
                return self.free.pop()
            self.made += 1
            (self.root / f"compiled-{self.made}").mkdir()
            return self.root / str(self.made), self.root / f"compiled-{self.made}"

    def give_back(self, place):
        shutil.rmtree(place[0], ignore_errors=True)
        with self.lock:
            self.free.append(place)


PLACES = Places()


class Installation:
    """A home, a socket, a database and a copy of one project, with all of the folder `tree` that it is in; the daemon ends with the `with` block."""

    def __init__(self, project, backend, flags=(), tree=None, undeclared=False, contraction="auto"):
        self.place = PLACES.take()
        self.folder, compiled = self.place
        tree = tree or project
        self.project = self.folder / "project" / project.relative_to(tree)
        shutil.copytree(tree, self.folder / "project")
        config = self.project / "gpuemu.toml"
        text = config.read_text()
        if backend == "cuda":  # A GPU does not see that a kernel will never end: each such case takes this long.
            text = text.replace("case_timeout_ms = 60000", "case_timeout_ms = 3000")
        for flag in flags:
            assert "compile_flags = [" in text, f"{project}/gpuemu.toml has no compile_flags to add {flag} to"
            text = text.replace("compile_flags = [", f'compile_flags = ["{flag}", ')
        if contraction != "auto":
            text = text.replace("[runtime]\n", f'[runtime]\ncontraction = "{contraction}"\n')
        if undeclared:
            text = without_declarations(text)
            for path in self.project.glob("references/*.py"):
                path.write_text(without_scale(path.read_text()))
        config.write_text(text)
        self.settings = tomllib.loads(text)
        (self.folder / "home").mkdir()
        (self.folder / "db.cache").symlink_to(compiled)
        self.env = {**os.environ, "HOME": str(self.folder / "home"), "GPUEMU_SOCKET": str(self.folder / "socket"),
                    "GPUEMU_DB": str(self.folder / "db"), "GPUEMU_BACKEND": backend}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.run("daemon", "stop", "--now")  # A daemon that outlives its place would serve the next project in it.
        PLACES.give_back(self.place)

    def run(self, *args, timeout=3600):
        return subprocess.run([str(BIN / "gpuemu"), *map(str, args)], cwd=self.project, env=self.env, text=True, timeout=timeout,
                              stdin=subprocess.DEVNULL, capture_output=True)

    def dtype_count(self, op):
        """Cases of an op count through its dtypes in turn."""
        default = self.settings.get("validation", {}).get("dtypes", ["float32"])
        table = next(t for key in ("ops", "kernels") for t in self.settings.get(key, []) if t["name"] == op)
        return len(table.get("dtypes", default))

    def report(self, ops, cases, seed, flags=()):
        """What `gpuemu test` says in JSON."""
        done = self.run("test", *ops, "--cases", cases, "--seed", seed, "--format", "json", *flags)
        if done.returncode not in (0, 1, 3) or not done.stdout.startswith("{"):
            raise RuntimeError(f"gpuemu test ended with {done.returncode}: {done.stderr[-3000:]}{done.stdout[-1000:]}")
        report = json.loads(done.stdout)
        if "ops" not in report:
            raise RuntimeError(f"gpuemu test: {done.stdout[:3000]}")
        return report

    def reports(self, ops, cases, seed, flags=()):
        """The same, of each op and dtype."""
        return self.report(ops, cases, seed, flags)["ops"]

    def test(self, ops, cases, seed, flags=()):
        """(outcomes, device)"""
        report = self.report(ops, cases, seed, flags)
        return [self.outcome(one) for one in report["ops"]], f"{report['backend']}: {report['device']}"

    def outcome(self, one):
        count = self.dtype_count(one["op_name"])
        failures = [failure_of(result, count) for result in one["failures"]]
        return Outcome(one["op_name"], one["dtype"], one["cases"], one["failed"], one.get("skipped_reason") or "",
                       sorted(failures, key=lambda failure: failure.number))

    def lint(self, kernel):
        """What the limits on compiled code say of a kernel."""
        return self.run("lint", "--kernel", kernel, "--format", "json").stderr

    def minimize(self, op, seed):
        """(product of the sizes of the smallest case that was found, trials, its kinds)"""
        done = self.run("minimize", seed, "--op", op, "--format", "json")
        answer = json.loads(done.stdout.splitlines()[-1])
        return math.prod(answer["minimized_dims"].values()), answer["trials"], {f["kind"] for f in answer["result"]["failures"]}

    def settings_shown(self):
        """Every setting by its key, as gpuemu.reproduce takes them."""
        lines = self.run("config", "show").stdout.splitlines()
        return dict(line.split(" = ", 1) for line in lines if " = " in line)

    def replay(self, op, failure, settings):
        """Why the stored case does not come back: "" when it has the same kinds of finding, and Python makes the same bytes of its inputs."""
        from gpuemu.check import reproduce
        done = self.run("reproduce", failure.seed, "--op", op, "--format", "json")
        if done.returncode != 0:
            return f"{op}: gpuemu reproduce {failure.seed} ended with {done.returncode}: {done.stderr[-500:]}"
        answer = json.loads(done.stdout)
        kinds = list(dict.fromkeys(f["kind"] for f in answer["result"]["failures"]))
        if kinds != failure.kinds:
            return f"{op}: case {failure.seed} had {failure.kinds}, run again it has {kinds}"
        for name, made in reproduce.case_inputs(answer, settings).items():
            if made.tobytes() != base64.b64decode(answer["inputs"][name]["data"]):
                return f"{op}: Python makes other bytes of input {name} of case {failure.seed} than the daemon"
        return ""


def without_declarations(text):
    """The configuration without what it says of sums and errors; how a NaN spreads it still says."""
    sums = re.compile(r'^accumulate = .*\n', re.MULTILINE)
    parts = re.split(r'^(?=\[\[)', text, flags=re.MULTILINE)
    for i, part in enumerate(parts):
        if sums.search(part) and "nan_policy" not in part:
            parts[i] = sums.sub('nan_policy = "class"\n', part)
    return re.sub(r'^(accumulate|accumulate_dtype|error_scale) = .*\n', "", "".join(parts), flags=re.MULTILINE)


def without_scale(text):
    """A reference without its error_scale()."""
    return re.sub(r"^def error_scale\(.*\n(?:(?:[ \t].*)?\n)*", "", text, flags=re.MULTILINE)


def op_names(settings):
    """An op's kernels have no outputs of their own, or it takes them from there."""
    own = [op["name"] for op in settings.get("ops", [])]
    used = {name for op in settings.get("ops", []) for name in ([op["kernel"]] if isinstance(op["kernel"], str) else op["kernel"])}
    return own + [kernel["name"] for kernel in settings.get("kernels", []) if kernel["name"] not in used]


def failure_of(result, dtype_count):
    info, findings = result["repro_info"], result["failures"]
    return Failure(
        number=info["iteration"] // dtype_count + 1, kinds=list(dict.fromkeys(f["kind"] for f in findings)), seed=result["seed"],
        message=f"case {result['seed']}, {info['value_strategy']}, {info['dims']}: [{findings[0]['kind']}] {findings[0]['message']}",
        places={(pathlib.Path(f["source_file"]).name, f["source_line"]) for f in findings if f.get("source_line")})


def read_faults(folder=HERE / "faulty"):
    return [Fault(name=name, number=row.pop("class"), **row) for name, row in tomllib.loads((folder / "expected.toml").read_text()).items()]


def read_classes(readme=HERE / "README.md"):
    """Number -> name, from the table of the page."""
    rows = [line.split("|") for line in readme.read_text().splitlines() if line.startswith("| ")]
    return {int(row[1]): row[2].strip() for row in rows if row[1].strip().isdigit()}


def marked_lines(folder):
    """Op -> {(file, line)} of the comments `// FAULT op`."""
    places = {}
    for path in sorted(folder.glob("*.cu")):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if "// FAULT " in line:
                for op in line.split("// FAULT ")[1].split():
                    places.setdefault(op, set()).add((path.name, number))
    return places


def upper_limit(failures, cases, confidence=0.95):
    """The largest rate at which `failures` or fewer of `cases` still come with probability 1 - confidence (Clopper and Pearson)."""
    if cases == 0:
        return 1.0
    low, high = failures / cases, 1.0
    for _ in range(100):
        rate = (low + high) / 2
        if at_most(failures, cases, rate) > 1 - confidence:
            low = rate
        else:
            high = rate
    return high


def at_most(failures, cases, rate):
    """Probability of at most `failures` of `cases`."""
    if rate >= 1:
        return 1.0 if failures >= cases else 0.0
    if rate <= 0:
        return 1.0
    return sum(math.exp(math.lgamma(cases + 1) - math.lgamma(k + 1) - math.lgamma(cases - k + 1)
                        + k * math.log(rate) + (cases - k) * math.log1p(-rate)) for k in range(failures + 1))
