"""`gpuemu explain`: whether a failing kernel is a wrong formula or lost precision, and where that begins."""
import json
import re

import pytest

KERNELS = r"""
extern "C" __global__ void variance(const float* x, float* y, int rows, int n) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0, squares = 0;
  for (int i = 0; i < n; ++i) {
    float v = x[row * n + i];
    sum += v;
    squares += v * v;
  }
  float mean = sum / n;
  y[row] = squares / n - mean * mean;  // cancels
}
extern "C" __global__ void softmax(const float* x, float* y, int rows, int n) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0;
  for (int i = 0; i < n; ++i) sum += expf(x[row * n + i]);  // overflows
  for (int i = 0; i < n; ++i) y[row * n + i] = expf(x[row * n + i]) / sum;
}
extern "C" __global__ void gelu(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 0.5f * x[i] * (1.0f + tanhf(0.7978846f * (x[i] + 0.044f * x[i] * x[i] * x[i])));
}
extern "C" __global__ void halve(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] / 3.0f;
}
extern "C" __global__ void edges(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] + (i > 0 ? x[i - 1] : 0.0f);  // forgets the right neighbour
}
"""

ROWS = ('dims = {{ rows = [3, 3], n = [64, 64] }}\ninputs = [{{ name = "x", shape = ["rows", "n"], dtype = "float32", '
        'range = [{low}, {high}] }}]\noutputs = [{{ name = "y", shape = [{out}], dtype = "float32" }}]\n')
FLAT = ('dims = {{ n = [40, 40] }}\ninputs = [{{ name = "x", shape = ["n"], dtype = "float32", '
        'range = [{low}, {high}] }}]\noutputs = [{{ name = "y", shape = ["n"], dtype = "float32" }}]\n')
OPS = {
    "variance": (ROWS.format(low=1000, high=1001, out='"rows"'), "x.var(axis=1)", "rows, n", "1e-4"),
    "softmax": (ROWS.format(low=95, high=110, out='"rows", "n"'),
                "(lambda e: e / e.sum(axis=1, keepdims=True))(np.exp(x - x.max(axis=1, keepdims=True)))", "rows, n", "1e-4"),
    "gelu": (FLAT.format(low=1, high=3), "0.5 * x * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x ** 3)))", "n", "1e-4"),
    "halve": (FLAT.format(low=1, high=3), "x / 3", "n", "1e-12"),
    "edges": (FLAT.format(low=1, high=3), "x + np.pad(x, (1, 0))[:-1] + np.pad(x, (0, 1))[1:]", "n", "1e-4"),
}


@pytest.fixture(scope="module")
def failing(new_home):
    """A project of which every op fails, and the seed of one failure of each."""
    files = {"kernels.cu": KERNELS}
    config = '[runtime]\nbackend = "emulator"\n[validation]\nstrategies = ["uniform10"]\ncases = 2\nseed = 5\n'
    for name, (schema, formula, sizes, tolerance) in OPS.items():
        files[f"ref_{name}.py"] = f"import numpy as np\n\n\ndef reference(x, **kwargs):\n    return {formula}\n"
        count = "rows" if "rows" in sizes else "n"
        args = ", ".join(f'"i32:{size}"' for size in sizes.split(", "))
        config += (f'[[ops]]\nname = "{name}"\nkernel = "{name}"\nreference = "ref_{name}.py"\n{schema}'
                   f'tolerances = {{ float32 = {{ atol = {tolerance}, rtol = 0.0 }} }}\n'
                   f'[[kernels]]\nname = "{name}"\nsource = "kernels.cu"\n[[kernels.launches]]\nentry = "{name}"\n'
                   f'grid = ["cdiv({count}, 32)"]\nblock = [32]\nargs = ["x", "y", {args}]\n')
    files["gpuemu.toml"] = config
    home = new_home(files)
    tested = home.run("test", "--cases", "2", "--seed", "5")
    assert tested.returncode == 1, tested.stdout + tested.stderr
    listed = json.loads(home.run("failures", "--limit", "100", "--format", "json").stdout)["results"]
    return home, {failure["op_name"]: failure["seed"] for failure in listed}


def explain(failing, op, *more):
    home, seeds = failing
    assert op in seeds, f"{op} did not fail"
    shown = home.run("explain", seeds[op], "--op", op, "--format", "json", *more)
    assert shown.returncode == 0, shown.stdout + shown.stderr
    return json.loads(shown.stdout)


def line_of(text):
    return 1 + next(i for i, line in enumerate(KERNELS.splitlines()) if text in line)


def test_a_variance_in_one_pass_is_numerical_and_begins_at_the_subtraction(failing):
    told = explain(failing, "variance")
    assert told["verdict"] == "numerical"
    assert told["divergence"]["kind"] == "cancels" and told["divergence"]["line"] == line_of("// cancels")
    assert abs(told["exact"] - told["reference"]) < 1e-6 < abs(told["computed"] - told["exact"])
    loads = [step for step in told["slice"] if step["kind"] == "load"]
    assert sum(step["count"] for step in loads) == 64
    assert "subtract the mean" in " ".join(told["sentences"])


def test_a_softmax_without_its_maximum_is_numerical_and_begins_where_it_overflows(failing):
    told = explain(failing, "softmax")
    assert told["verdict"] == "numerical"
    assert told["divergence"]["kind"] == "overflows"
    assert "subtract the maximum" in " ".join(told["sentences"])


@pytest.mark.parametrize("op, mark", [("gelu", "0.044f"), ("edges", "right neighbour")])
def test_a_wrong_formula_is_logic_and_names_its_line(failing, op, mark):
    told = explain(failing, op)
    assert told["verdict"] == "logic"
    assert abs(told["exact"] - told["computed"]) < 1e-5 < abs(told["exact"] - told["reference"])
    assert line_of(mark) in {step["line"] for step in told["slice"]}
    assert told["outputs"][0]["logic"] == told["outputs"][0]["wrong"] > 0


def test_a_tolerance_below_the_last_place_is_rounding(failing):
    told = explain(failing, "halve")
    assert told["verdict"] == "rounding" and told["bound"] < 1e-6
    assert "allow more" in " ".join(told["sentences"])


def test_one_element_can_be_asked_for_and_text_says_the_same(failing):
    told = explain(failing, "edges", "--output", "y", "--index", "39")
    assert told["index"] == 39 and told["verdict"] == "passes"
    home, seeds = failing
    text = home.run("explain", seeds["variance"], "--op", "variance")
    assert text.returncode == 0 and ": numerical" in text.stdout and "kernels.cu:" in text.stdout
    assert home.run("explain", seeds["variance"], "--op", "variance", "--exit-code").returncode == 1


def test_wrong_choices_are_refused_with_what_there_is(failing):
    home, seeds = failing
    for more, words in [(("--output", "z"), "not a float output"), (("--output", "y", "--index", "40"), "40 elements"),
                        (("--index", "1"), "needs 'output'")]:
        refused = home.run("explain", seeds["edges"], "--op", "edges", *more)
        assert refused.returncode == 2 and words in refused.stderr, refused.stderr
    assert "failure" in home.run("explain", "12345").stderr


def test_what_cannot_be_told_of_a_case_is_told_of_no_element(new_home):
    """A race explains the values: no count says that they are of one kind or another."""
    kernel = ("extern \"C\" __global__ void turn(const float* x, float* y) {\n  __shared__ float s[64];\n  int t = threadIdx.x;\n"
              "  s[t] = x[t];\n  y[t] = s[63 - t] + 1.0f;\n}\n")
    home = new_home({"turn.cu": kernel, "turn.py": "def reference(x):\n    return x[::-1]\n",
                     "gpuemu.toml": '[[kernels]]\nname = "turn"\nsource = "turn.cu"\nreference = "turn.py"\n'
                                    'inputs = [{ name = "x", shape = [64], dtype = "float32" }]\noutputs = [{ name = "y", shape = [64], dtype = "float32" }]\n'
                                    'launches = [{ entry = "turn", grid = [1], block = [64], args = ["x", "y"] }]\n'})
    assert home.run("test", "--cases", 2, "--seed", 1).returncode == 1
    told = home.run("explain", "last").stdout
    assert re.match(r"\d+ turn: unknown\n  .*fix it first", told), told
    assert re.search(r"^y: \d+ of 64 elements wrong$", told, re.M), told


@pytest.mark.parametrize("op, step", [("gelu", "`gpuemu debug {seed}`"), ("variance", "then `gpuemu reproduce {seed}`"), ("halve", "`gpuemu calibrate halve`")])
def test_explain_and_reproduce_end_with_one_command_to_copy(failing, op, step):
    home, seeds = failing
    told = home.run("explain", seeds[op], "--op", op).stdout.splitlines()[-1]
    assert told.startswith("next: ") and step.format(seed=seeds[op]) in told, told
    again = home.run("reproduce", seeds[op], "--op", op).stdout.splitlines()[-1]
    assert again == f"next: `gpuemu explain {seeds[op]}`", again


def test_a_tie_that_goes_the_other_way_is_told_how_to_be_declared(new_home):
    kernel = ("extern \"C\" __global__ void last(const float* x, int* at, int n) {\n  int best = 0;\n"
              "  for (int i = 1; i < n; ++i) if (x[i] >= x[best]) best = i;\n  at[0] = best;\n}\n")
    config = ('[[kernels]]\nname = "last"\nsource = "last.cu"\nreference = "last.py"\nnan_policy = "any"\n'
              'inputs = [{ name = "x", shape = ["n"], dtype = "float32", range = [0.0, 1.0] }]\noutputs = [{ name = "at", shape = [1], dtype = "int32"MORE }]\n'
              'dims = { n = [1, 40] }\nlaunches = [{ entry = "last", grid = [1], block = [1], args = ["x", "at", "i32:n"] }]\n')
    home = new_home({"last.cu": kernel, "last.py": "def reference(x):\n    return [x.argmax()]\n", "gpuemu.toml": config.replace("MORE", "")})
    assert home.run("test", "--cases", 24, "--seed", 1).returncode == 1
    told = home.run("explain", "last").stdout
    assert 'declare \'at\' with `indices_of = "x"`' in told, told
    again = home.run("reproduce", "last").stdout
    assert "[ToleranceExceeded]" in again and "0 of 1 element" not in again, again
    (home.project / "gpuemu.toml").write_text(config.replace("MORE", ', indices_of = "x"'))
    assert home.run("test", "--cases", 24, "--seed", 1).returncode == 0
