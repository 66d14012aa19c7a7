"""Typical mistakes of new users: edits of a correct project, the command to run, and the expected exit code."""
import dataclasses

KERNEL = """extern "C" __global__ void twice(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 2.0f * x[i];
}
"""
REFERENCE = "def reference(x):\n    return 2.0 * x\n"
CONFIG = """[validation]
cases = 4
seed = 1

[[ops]]
name = "twice"
kernel = "twice"
reference = "twice.py"
inputs = [{ name = "x", shape = ["n"], dtype = "float32" }]
outputs = [{ name = "y", shape = ["n"], dtype = "float32" }]
dims = { n = [1, 300] }

[[kernels]]
name = "twice"
source = "twice.cu"
launches = [{ entry = "twice", grid = ["cdiv(n, 128)"], block = ["128"], args = ["x", "y", "i32:n"] }]
"""
RIGHT = {"gpuemu.toml": CONFIG, "twice.cu": KERNEL, "twice.py": REFERENCE}


@dataclasses.dataclass
class Mistake:
    """One mistake. The message must point at `where`: a file and a line, an option, or a word of the command."""

    where: str
    swap: tuple[str, str] = ("", "")  # Text in gpuemu.toml and its replacement.
    files: dict[str, str | bytes | None] = dataclasses.field(default_factory=dict)  # None: a folder.
    words: str = "test"
    code: int = 2
    env: dict[str, str] = dataclasses.field(default_factory=dict)  # May contain {project} and {home}.


def config(where, old, new, **more):
    """A mistake in gpuemu.toml."""
    assert old in CONFIG, old
    return Mistake(where, (old, new), **more)


def kernel(where, old, new, code=3):
    """A mistake in the kernel."""
    assert old in KERNEL, old
    return Mistake(where, files={"twice.cu": KERNEL.replace(old, new)}, code=code)


def reference(where, text, code=3):
    """A mistake in the reference."""
    return Mistake(where, files={"twice.py": text}, code=code)


def command(where, words, code=2, **more):
    """A mistake on the command line."""
    return Mistake(where, words=words, code=code, **more)


# Another daemon, which the test stops.
OTHER = {"GPUEMU_SOCKET": "{home}/other.sock", "GPUEMU_DB": "{home}/other"}
X = '{ name = "x", shape = ["n"], dtype = "float32" }'
Y = '{ name = "y", shape = ["n"], dtype = "float32" }'
GROUPS = {
    "config": {
        "misspelt key": config("gpuemu.toml:7", "kernel = ", "kernle = "),
        "misspelt reference": config("gpuemu.toml:8", "reference =", "refrence ="),
        "misspelt section": config("gpuemu.toml:1", "[validation]", "[validaton]"),
        "op instead of ops": config("gpuemu.toml:5", "[[ops]]", "[[op]]"),
        "one pair of brackets": config("gpuemu.toml:5", "[[ops]]", "[ops]"),
        "number in quotes": config("gpuemu.toml:2", "cases = 4", 'cases = "4"'),
        "no cases": config("gpuemu.toml:2", "cases = 4", "cases = 0"),
        "negative seed": config("gpuemu.toml:3", "seed = 1", "seed = -1"),
        "name without quotes": config("gpuemu.toml:6", '"twice"\nkernel', "twice\nkernel"),
        "quote not closed": config("gpuemu.toml:8", '"twice.py"', '"twice.py'),
        "bracket not closed": config("gpuemu.toml:11", "[1, 300]", "[1, 300"),
        "key twice": config("gpuemu.toml:3", "seed = 1", "cases = 1"),
        "op twice": config("gpuemu.toml:14", "[[kernels]]", '[[ops]]\nname = "twice"\nreference = "twice.py"\n[[kernels]]'),
        "unknown dtype": config("gpuemu.toml:9", X, X.replace("float32", "flaot32")),
        "complex dtype": config("gpuemu.toml:9", X, X.replace("float32", "complex64")),
        "unknown dtype of all ops": config("gpuemu.toml:2", "cases = 4", 'dtypes = ["fp64x"]'),
        "undefined dim": config("gpuemu.toml:9", X, X.replace('"n"', '"m"')),
        "no dims": config("gpuemu.toml:9", "dims = { n = [1, 300] }", ""),
        "dims turned round": config("gpuemu.toml:11", "[1, 300]", "[300, 1]"),
        "dims as text": config("gpuemu.toml:11", "[1, 300]", '"1..300"'),
        "no outputs": config("gpuemu.toml:5", f"outputs = [{Y}]\n", ""),
        "empty outputs": config("gpuemu.toml:10", f"[{Y}]", "[]"),
        "output without shape": config("gpuemu.toml:10", Y, '{ name = "y" }'),
        "output without name": config("gpuemu.toml:10", Y, '{ shape = ["n"] }'),
        "tensor as text": config("gpuemu.toml:9", f"[{X}]", '["x"]'),
        "output named as an input": config("gpuemu.toml:10", Y, Y.replace('"y"', '"x"')),
        "range turned round": config("gpuemu.toml:9", X, X.replace(" }", ", range = [1, -1] }")),
        "reference that does not exist": config("gpuemu.toml:8", '"twice.py"', '"refs/twice.py"'),
        "reference is a folder": config("gpuemu.toml:8", '"twice.py"', '"refs"', files={"refs": None}),
        "reference is the kernel": config("gpuemu.toml:8", '"twice.py"', '"twice.cu"'),
        "neither kernel nor reference": config("gpuemu.toml:5", 'kernel = "twice"\nreference = "twice.py"\n', ""),
        "source that does not exist": config("gpuemu.toml:15", '"twice.cu"', '"kernels/twice.cu"'),
        "source is a folder": config("gpuemu.toml:15", '"twice.cu"', '"kernels.cu"', files={"kernels.cu": None}),
        "source is C++": config("gpuemu.toml:15", '"twice.cu"', '"twice.cpp"', files={"twice.cpp": KERNEL}),
        "source is Python": config("gpuemu.toml:7", '"twice.cu"', '"twice.py"'),
        "unknown built-in kernel": config("gpuemu.toml:15", '"twice.cu"', '"builtin:sofmax"'),
        "unknown kernel": config("gpuemu.toml:7", 'kernel = "twice"', 'kernel = "twise"'),
        "no launches": config("gpuemu.toml:7", "launches = [{", "# launches = [{"),
        "launch without grid": config("gpuemu.toml:16", 'grid = ["cdiv(n, 128)"], ', ""),
        "launch without args": config("twice", ', args = ["x", "y", "i32:n"]', "", code=1),
        "unknown tensor among the args": config("gpuemu.toml:16", '"x", "y", "i32:n"', '"x", "z", "i32:n"'),
        "dim without a type among the args": config("gpuemu.toml:16", '"i32:n"', '"n"'),
        "C type among the args": config("gpuemu.toml:16", '"i32:n"', '"int:n"'),
        "block too large": config("gpuemu.toml:16", '["128"]', '["2048"]'),
        "list in quotes": config("gpuemu.toml:11", "[1, 300]", '"[1, 300]"'),
        "ends of a dim": config("gpuemu.toml:11", "[1, 300]", "{ min = 1, max = 300 }"),
        "attr without a table": config("gpuemu.toml:12", "\n[[kernels]]", "attrs = { a = 0.5 }\n[[kernels]]"),
        "tolerance in quotes": config("gpuemu.toml:12", "\n[[kernels]]", 'tolerances = { float32 = "1e-3" }\n[[kernels]]'),
        "tolerances without a table": config("gpuemu.toml:12", "\n[[kernels]]", "tolerances = 1e-3\n[[kernels]]"),
        "tolerance as elsewhere": config("gpuemu.toml:12", "\n[[kernels]]", "tolerances = { float32 = { abs = 1e-3, rel = 1e-3 } }\n[[kernels]]"),
        "invariants as a list": config("gpuemu.toml:12", "\n[[kernels]]", 'invariants = ["non_negative"]\n[[kernels]]'),
        "type of a template": config("gpuemu.toml:9", X, X.replace("float32", "T")),
        "requirement that nothing meets": config("gpuemu.toml:12", "dims = { n = [1, 300] }", 'dims = { n = [1, 300] }\nrequire = "n > 400"'),
        "distinct without a range": config("gpuemu.toml:9", X, X.replace(" }", ", distinct = true }")),
        "ends of a range": config("gpuemu.toml:9", X, X.replace(" }", ", min = 0, max = 1 }")),
        "shape without brackets": config("gpuemu.toml:9", X, X.replace('["n"]', '"n, n"')),
        "sizes in one text": config("gpuemu.toml:16", '["128"]', '"128, 1"'),
        "variable of CUDA": config("gpuemu.toml:16", '["128"]', '["blockDim.x"]'),
        "division of Python": config("gpuemu.toml:16", '"cdiv(n, 128)"', '"(n + 127) // 128"'),
        "number without its type": config("gpuemu.toml:16", '"i32:n"', "4"),
        "type behind the argument": config("gpuemu.toml:16", '"i32:n"', '"n:i32"'),
        "launch without a list": config("gpuemu.toml:16", "launches = [{ entry", "launches = { entry",
                                        files={"gpuemu.toml": CONFIG.replace("launches = [{", "launches = {").replace("}]\n", "}\n")
                                               .replace('"float32" }\n', '"float32" }]\n')}),
        "dtype of a framework": config("gpuemu.toml:9", X, X.replace("float32", "torch.float32")),
        "set as in mathematics": config("gpuemu.toml:11", "n = [1, 300]", "n = {1, 2, 4}"),
        "begins with what it cannot hold": config("gpuemu.toml:10", Y, Y.replace('"float32"', '"int32", init = 0.5')),
        "argument without quotes": config("gpuemu.toml:16", '"i32:n"', "n"),
        "null pointer as in C++": config("gpuemu.toml:16", '"x", "y"', '"nullptr", "y"'),
        "dtype without quotes": config("gpuemu.toml:16", 'source = "twice.cu"', 'source = "twice.cu"\nsupports = "dtype == float32"'),
        "unknown function": config("gpuemu.toml:16", '"cdiv(n, 128)"', '"ceil(n / 128)"'),
        "parenthesis not closed": config("gpuemu.toml:16", '"cdiv(n, 128)"', '"cdiv(n, 128"'),
        "comma forgotten": config("gpuemu.toml:16", '"cdiv(n, 128)"', '"cdiv(n 128)"'),
        "negative tolerance": config("gpuemu.toml:12", "\n[[kernels]]", "tolerances = { float32 = -1 }\n[[kernels]]"),
        "tolerance of an unknown dtype": config("gpuemu.toml:12", "\n[[kernels]]", "tolerances = { float31 = 1e-3 }\n[[kernels]]"),
        "misspelt invariant": config("gpuemu.toml:12", "\n[[kernels]]", "invariants = { non_negativ = true }\n[[kernels]]"),
        "misspelt nan_policy": config("gpuemu.toml:12", "\n[[kernels]]", 'nan_policy = "ignore"\n[[kernels]]'),
        "unknown strategy": config("gpuemu.toml:2", "cases = 4", 'strategies = ["gaussian"]'),
        "unknown check": config("gpuemu.toml:2", "cases = 4", 'sanitize = ["memcheck"]'),
        "unknown backend": config("gpuemu.toml:2", "[validation]", '[runtime]\nbackend = "gpu"\n[validation]'),
        "unknown architecture": config("gpuemu.toml:2", "[validation]", '[runtime]\narch = "sm80"\n[validation]'),
        "Python that does not exist": config("[runtime].python", "[validation]", '[runtime]\npython = "/nowhere/python3"\n[validation]',
                                           code=3, env=OTHER),
        "size in other letters": config("gpuemu.toml:16", '"cdiv(n, 128)"', '"cdiv(N, 128)"'),
        "args in one text": config("gpuemu.toml:16", '["x", "y", "i32:n"]', '"x, y, i32:n"'),
        "real number for a dim": config("gpuemu.toml:11", "[1, 300]", "[1.0, 300.0]"),
        "no value of a dim": config("gpuemu.toml:11", "[1, 300]", "[]"),
        "multiple without a range": config("gpuemu.toml:11", "[1, 300]", "{ multiple_of = 32 }"),
        "no multiple in the range": config("gpuemu.toml:11", "[1, 300]", "{ range = [1, 16], multiple_of = 32 }"),
        "misspelt rule of a dim": config("gpuemu.toml:11", "[1, 300]", "{ range = [1, 64], powers_of_two = true }"),
        "shape without quotes": config("gpuemu.toml:9", X, X.replace('["n"]', "[n]")),
        "negative shape": config("gpuemu.toml:9", X, X.replace('["n"]', "[-1]")),
        "several dtypes of a tensor": config("gpuemu.toml:9", X, X.replace('"float32"', '["float32", "float16"]')),
        "range in quotes": config("gpuemu.toml:9", X, X.replace(" }", ', range = "[-1, 1]" }')),
        "one end of a range": config("gpuemu.toml:9", X, X.replace(" }", ", range = [1] }")),
        "inputs without a list": config("gpuemu.toml:9", f"inputs = [{X}]", f"inputs = {X}"),
        "name with a blank": config("gpuemu.toml:9", X, X.replace('"x"', '"x 1"')),
        "and of Python": config("gpuemu.toml:12", "\n[[kernels]]", 'require = "n > 4 and n < 9"\n[[kernels]]'),
        "one equals sign": config("gpuemu.toml:12", "\n[[kernels]]", 'require = "n = 4"\n[[kernels]]'),
        "power of Python": config("gpuemu.toml:12", "\n[[kernels]]", 'require = "n ** 2 < 900"\n[[kernels]]'),
        "two comparisons at once": config("gpuemu.toml:12", "\n[[kernels]]", 'require = "4 < n < 9"\n[[kernels]]'),
        "accumulate is true": config("gpuemu.toml:12", "\n[[kernels]]", "accumulate = true\n[[kernels]]"),
        "accumulate of an unknown size": config("gpuemu.toml:12", "\n[[kernels]]", 'accumulate = "k"\n[[kernels]]'),
        "attr that is not declared": config("gpuemu.toml:16", '"i32:n"]', '"i32:n", "f32:alpha"]'),
        "layout of another tool": config("gpuemu.toml:12", "\n[[kernels]]", 'layouts = ["row_major"]\n[[kernels]]'),
        "bytes with a unit": config("gpuemu.toml:16", 'block = ["128"]', 'block = ["128"], shared = "48 KB"'),
        "memory with a unit": config("gpuemu.toml:2", "[validation]", '[runtime]\nmemory_limit_mb = "4GB"\n[validation]'),
        "time with a unit": config("gpuemu.toml:2", "[validation]", '[runtime]\ncase_timeout_ms = "30s"\n[validation]'),
        "folder without a list": config("gpuemu.toml:2", "[validation]", '[runtime]\ninclude_dirs = "include"\n[validation]'),
        "folder of headers that does not exist": config("gpuemu.toml:2", "[validation]", '[runtime]\ninclude_dirs = ["include"]\n[validation]', code=0),
        "flag that no compiler has": config("compile_flags", "[validation]", '[runtime]\ncompile_flags = ["--bananas"]\n[validation]', code=3),
        "shared memory below zero": config("launch 1 shared", 'block = ["128"]', 'block = ["128"], shared = "-1"', code=3),
        "more blocks than a grid has": config("launch 1 grid", '"cdiv(n, 128)"', '"n * 99999999999"', code=3),
        "no-break space": config("gpuemu.toml:3", "seed = 1", "seed\u00a0= 1"),
        "workers without number": config("gpuemu.toml:2", "[validation]", '[runtime]\nworkers = "many"\n[validation]'),
        "file of UTF-16": Mistake("gpuemu.toml:1", files={"gpuemu.toml": CONFIG.encode("utf-16")}),
        "table twice": config("gpuemu.toml:5", "[[ops]]", "[validation]\ncases = 8\n[[ops]]"),
        "entry as a launch": config("twice.cu", 'entry = "twice"', 'entry = "twice<<<1, 128>>>"', code=3),
        "file instead of a kernel": config("gpuemu.toml:7", 'kernel = "twice"', 'kernel = "twice.cu"'),
        "reference as a module": config("gpuemu.toml:8", '"twice.py"', '"twice:reference"'),
        "path of Windows": config("gpuemu.toml:15", '"twice.cu"', '"kernels\\twice.cu"'),
        "quotes of a text program": config("gpuemu.toml:6", 'name = "twice"', "name = \u201ctwice\u201d"),
        "seed that is a word": config("gpuemu.toml:3", "seed = 1", 'seed = "random"'),
        "tensor that no kernel gets": config("twice", '"x", "y", "i32:n"', '"x", "i32:n"', code=1),
        "four axes of a grid": config("gpuemu.toml:16", '["cdiv(n, 128)"]', '["cdiv(n, 128)", "1", "1", "1"]'),
        "tolerances of all in the wrong place": config("gpuemu.toml:1", "[validation]", "[tolerances]\nfloat32 = 1e-4\n[validation]"),
        "empty file": Mistake("gpuemu.toml", files={"gpuemu.toml": ""}),
        "no file": Mistake("PROJECT", files={"gpuemu.toml": b"remove"}),
        "file is a folder": Mistake("gpuemu.toml", files={"gpuemu.toml": None}),
        "file is JSON": Mistake("gpuemu.toml:1", files={"gpuemu.toml": '{ "ops": [] }\n'}),
        "file is not UTF-8": Mistake("gpuemu.toml:1", files={"gpuemu.toml": b"# \xff\xfe\n"}),
        "several at once": config("gpuemu.toml:7", "kernel = \"twice\"\nreference = \"twice.py\"", "kernle = \"twice\"\nrefrence = \"twice.py\"",
                                  words="config check"),
    },
    "kernel": {
        "semicolon forgotten": kernel("twice.cu(4)", "x[i];", "x[i]"),
        "undefined name": kernel("twice.cu(3)", "2.0f", "factor"),
        "missing header": kernel("twice.cu:1", 'extern "C"', '#include "tiles.h"\nextern "C"'),
        "host code in the kernel": kernel("twice.cu(3)", "if (i < n)", 'std::printf("here");\n  if (i < n)'),
        "half without its header": Mistake("twice.cu(1)", code=3, swap=('entry = "twice"', 'entry = "twice<4>"'),
                                           files={"twice.cu": "template <int N> __global__ void twice(half* x) { x[N] = x[0]; }\n"}),
        "no __global__": kernel("twice.cu", "__global__ ", ""),
        "empty source": Mistake("twice.cu", files={"twice.cu": ""}, code=3),
        "misspelt entry": config("twise", 'entry = "twice"', 'entry = "twise"', code=3),
        "template without arguments": Mistake("twice.cu", files={"twice.cu": KERNEL.replace('extern "C"', "template <typename T>").replace("float*", "T*")},
                                              code=3),
        "too few arguments": config("twice", ', "i32:n"]', "]", code=1),
        "too many arguments": config("twice", '"i32:n"]', '"i32:n", "i32:n"]', code=1),
        "argument too wide": config("twice", '"i32:n"', '"i64:n"', code=1),
        "CUDA in a .ptx": config("twice.ptx:1", '"twice.cu"', '"twice.ptx"', files={"twice.ptx": KERNEL}, code=3),
        "limit forgotten": kernel("twice.cu:3", "if (i < n) ", "", code=1),
        "output never written": kernel("y", "y[i] = 2.0f * x[i];", "return;", code=1),
        "grid of zero blocks": config("grid 0x1x1", '"cdiv(n, 128)"', '"n / 128"', code=1),
    },
    "reference": {
        "takes no argument": reference("twice", "def reference():\n    return 0\n"),
        "takes one too many": reference("twice.py", "def reference(x, y):\n    return x + y\n"),
        "calls the input otherwise": reference("twice.py", "def reference(a):\n    return 2.0 * a\n"),
        "calls the function otherwise": reference("twice.py", "def twice(x):\n    return 2.0 * x\n"),
        "function that does not exist": config("twice.py", '"twice.py"', '"twice.py:twise"', code=3),
        "returns nothing": reference("twice.py", "def reference(x):\n    2.0 * x\n"),
        "returns text": reference("twice.py", "def reference(x):\n    return 'twice x'\n"),
        "returns two outputs": reference("twice.py", "def reference(x):\n    return 2.0 * x, x\n"),
        "returns another shape": reference("twice", "def reference(x):\n    return 2.0 * x[:-1]\n"),
        "returns a scalar": reference("twice", "def reference(x):\n    return (2.0 * x).sum()\n"),
        "raises": reference("twice.py", "def reference(x):\n    return 2.0 * x[n]\n"),
        "changes its input": reference("twice.py", "def reference(x):\n    x *= 2.0\n    return x\n"),
        "indentation": reference("twice.py", "def reference(x):\nreturn 2.0 * x\n"),
        "package that is not installed": reference("twice.py", "import torhc\n\ndef reference(x):\n    return 2.0 * x\n"),
        "leaves the process": reference("twice.py", "import sys\n\ndef reference(x):\n    sys.exit('bye')\n"),
    },
    "command": {
        "misspelt command": command("tets", "tets"),
        "command of another tool": command("run", "run"),
        "no command": command("gpuemu", ""),
        "misspelt option": command("--quik", "test --quik"),
        "format as an option": command("--json", "test --json"),
        "report as an option": command("--html", "ci --html page.html"),
        "op as an option": command("--op", "test --op twice"),
        "option of another command": command("--iterations", "test --iterations 4"),
        "unknown op": command("twise", "test twise"),
        "file instead of an op": command("twice.cu", "test twice.cu"),
        "unknown op to fuzz": command("twise", "fuzz twise"),
        "option without its value": command("--seed", "test --seed"),
        "text for a number": command("--cases", "test --cases many"),
        "zero cases": command("--cases", "test --cases 0"),
        "unknown format": command("--format", "test --format yaml"),
        "format of another command": command("--format", "test --format junit"),
        "seed forgotten": command("reproduce", "reproduce"),
        "seed that is no number": command("0x12", "reproduce 0x12"),
        "seed of nothing": command("123", "minimize 12345678901234567890"),
        "last of nothing": command("no failure", "explain last", code=3, env=OTHER),
        "config that does not exist": command("nowhere.toml", "test --config nowhere.toml"),
        "config is a folder": command("refs", "test --config refs", files={"refs": None}),
        "unknown kernel to lint": command("twise", "lint -k twise"),
        "file to lint does not exist": command("nothing.cu", "lint nothing.cu"),
        "unknown baseline": command("main", "diff --baseline main"),
        "baseline forgotten": command("--baseline", "diff"),
        "mutate without an op": command("OP", "mutate"),
        "coverage of an unknown kernel": command("twise", "coverage twise"),
        "calibrate of an unknown op": command("twise", "calibrate twise"),
        "report of an unknown format": command("--format", "ci --format pdf"),
        "report into a folder that does not exist": command("out/report.json", "ci --quick --output out/report.json", code=3),
        "report into a folder": command("refs", "ci --quick --output refs", code=3, files={"refs": None}),
        "unwritable folder": command("/proc/report.json", "coverage --output /proc/report.json", code=3),
        "init over a project": command("gpuemu.toml", "init"),
        "init where a file is": command("twice.cu", "init -t twice.cu", code=3),
        "unknown framework": command("--framework", "init --framework keras -t new"),
        "unknown shell": command("tcsh", "completion tcsh"),
        "daemon stopped twice": command("daemon", "daemon stop", code=0, env=OTHER),
        "folder instead of an op": command(".", "test ."),
        "ops with a comma": command("twice,other", "test twice,other"),
        "pattern of ops": command("tw*", "test tw*"),
        "key of pytest": command("-k", "test -k twice"),
        "jobs of make": command("-j", "test -j 4"),
        "seed below zero": command("--seed", "test --seed -1"),
        "cases with a unit": command("--cases", "test --cases 10k"),
        "source of init as a word": command("twice.cu", "init twice.cu", code=3),
        "op instead of a seed": command("twice", "reproduce twice"),
        "kind of finding instead of a seed": command("OutOfBounds", "explain OutOfBounds"),
        "file of a report as a word": command("out.html", "report out.html"),
        "tag of diff as a word": command("--baseline main", "diff main"),
        "number of failures as a word": command("--limit", "failures 5"),
        "several formats": command("junit,sarif", "ci --format junit,sarif"),
        "no iterations": command("--iterations", "fuzz twice --iterations 0"),
        "source to mutate": command("twice.cu", "mutate twice.cu"),
        "daemon restarted": command("restart", "daemon restart"),
        "archive that is none": command("twice.cu", "open twice.cu"),
        "archive that does not exist": command("nothing.gpuemu", "open nothing.gpuemu"),
        "source to run": command("./twice.cu", "run ./twice.cu", code=126),
        "setting as an option": command("--backend", "test --backend cuda"),
        "kernel that lint never measured": command("twise", "artifacts twise"),
        "socket path too long": command("GPUEMU_SOCKET", "test", env={"GPUEMU_SOCKET": "/tmp/" + "s" * 120}),
        "database where a file is": command("twice.cu", "failures", code=3,
                                            env={"GPUEMU_DB": "{project}/twice.cu", "GPUEMU_SOCKET": "{home}/other.sock"}),
        "socket in a folder that cannot be made": command("/proc/x", "failures", code=3,
                                                          env={"GPUEMU_SOCKET": "/proc/x/gpuemu.sock", "GPUEMU_DB": "{home}/other"}),
    },
}
