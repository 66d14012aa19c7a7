"""Reports say why a case fails and who stands alone: kernel, reference, another kernel of the op; and which passing cases are fragile."""
import json
import xml.etree.ElementTree as ET

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
extern "C" __global__ void alternating(const float* x, float* y, int rows, int n) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0;
  for (int i = 0; i < n; ++i) sum += (i % 2 == 0 ? x[row * n + i] : -x[row * n + i]) * x[row * n + i];
  y[row] = sum;
}
extern "C" __global__ void overflows(const float* x, float* y, int rows, int n) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0;
  for (int i = 0; i < n; ++i) sum += expf(x[row * n + i]);
  for (int i = 0; i < n; ++i) y[row * n + i] = expf(x[row * n + i]) / sum;
}
extern "C" __global__ void weights(const float* x, float* y, int rows, int n) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float most = x[row * n], sum = 0;
  for (int i = 1; i < n; ++i) most = fmaxf(most, x[row * n + i]);
  for (int i = 0; i < n; ++i) sum += expf(x[row * n + i] - most);
  for (int i = 0; i < n; ++i) y[row * n + i] = expf(x[row * n + i] - most) / sum;
}
extern "C" __global__ void twice(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 2.0f * x[i];
}
extern "C" __global__ void nearly_twice(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 2.001f * x[i];  // the constant
}
extern "C" __global__ void thirds(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] / 3.0f;
}
// What fusing leaves of a product: nothing without it, the product's rounding error with it.
extern "C" __global__ void residue(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float product;
  asm volatile("{.reg .f32 p, q; mul.f32 p, %1, %1; mul.rn.f32 q, %1, %1; sub.f32 %0, p, q;}" : "=f"(product) : "f"(x[i]));
  y[i] = product;  // fused
}
"""

ROWS = ('dims = {{ rows = [3, 3], n = [64, 64] }}\ninputs = [{{ name = "x", shape = ["rows", "n"], dtype = "float32", '
        'range = [{low}, {high}] }}]\noutputs = [{{ name = "y", shape = [{out}], dtype = "float32" }}]\n')
FLAT = ('dims = { n = [40, 40] }\ninputs = [{ name = "x", shape = ["n"], dtype = "float32", '
        'range = [1.5, 3.0] }]\noutputs = [{ name = "y", shape = ["n"], dtype = "float32" }]\n')
BIG = FLAT.replace("40, 40", "200000, 200000")
WEIGHTS = ROWS.format(low=0, high=3, out='"rows", "n"') + 'invariants = { sums_to_one = true }\n'
SOFTMAX = "(lambda e: e / e.sum(axis=1, keepdims=True))(np.exp(x - x.max(axis=1, keepdims=True)))"

ALTERNATING = "(x[:, ::2] ** 2).sum(axis=1) - (x[:, 1::2] ** 2).sum(axis=1)"

# Name of the op: its schema, the reference's formula ("": none), kernels, the tolerance.
OPS = {
    "variance": (ROWS.format(low=1000, high=1001, out='"rows"'), "x.var(axis=1)", ["variance"], "1e-4"),
    "softmax_large": (ROWS.format(low=95, high=110, out='"rows", "n"'), SOFTMAX, ["overflows"], "1e-4"),
    "constant": (FLAT, "2 * x", ["nearly_twice"], "1e-5"),
    "thirds": (FLAT, "x / 3", ["thirds"], "1e-12"),
    # Two kernels: the policy takes the first, the other one has a voice.
    "kernel_is_wrong": (FLAT, "2 * x", ["nearly_twice", "twice"], "1e-5"),
    "reference_is_suspect": (FLAT, "2.1 * x", ["twice", "twice_again"], "1e-5"),
    "reference_breaks_sums": (WEIGHTS, f"1.01 * {SOFTMAX}", ["weights"], "1e-5"),
    "sums_lost": (ROWS.format(low=95, high=110, out='"rows", "n"') + "invariants = { non_negative = true, finite = true }\n", "",
                  ["overflows"], "1e-4"),
    "large": (BIG, "2 * x", ["nearly_twice"], "1e-5"),
    "fragile": (FLAT, "0 * x", ["residue"], "1e-12"),
    "sturdy": (FLAT, "2 * x", ["twice"], "1e-5"),
    # Both cancel: the one because of its inputs, the other because of its formula.
    "cancelling_sum": (ROWS.format(low=1000, high=1001, out='"rows"') + 'error_scale = "shadow"\n',
                       ALTERNATING, ["alternating"], ""),
    "undeclared_sum": (ROWS.format(low=1000, high=1001, out='"rows"'), ALTERNATING, ["alternating"], ""),
    "strict_sum": (ROWS.format(low=1000, high=1001, out='"rows"') + "strict = true\n", ALTERNATING, ["alternating"], ""),
    "cancelling_formula": (ROWS.format(low=1000, high=1001, out='"rows"') + 'error_scale = "shadow"\n', "x.var(axis=1)",
                           ["variance"], ""),
}
CODE = {"twice_again": "twice"}


def kernel_text(name, entry, schema):
    count, args = ("rows", '"i32:rows", "i32:n"') if '"rows"' in schema else ("n", '"i32:n"')
    return (f'[[kernels]]\nname = "{name}"\nsource = "kernels.cu"\n[[kernels.launches]]\nentry = "{entry}"\n'
            f'grid = ["cdiv({count}, 32)"]\nblock = [32]\nargs = ["x", "y", {args}]\n')


@pytest.fixture(scope="module")
def project(new_home):
    files = {"kernels.cu": KERNELS}
    config = '[runtime]\nbackend = "emulator"\n[validation]\nstrategies = ["uniform10"]\ncases = 2\nseed = 5\n'
    for op, (schema, formula, kernels, tolerance) in OPS.items():
        if formula:
            files[f"ref_{op}.py"] = f"import numpy as np\n\n\ndef reference(x, **kwargs):\n    return {formula}\n"
        names = ", ".join(f'"{op}_{kernel}"' for kernel in kernels)
        config += f'[[ops]]\nname = "{op}"\nkernel = [{names}]\n{schema}'
        config += f'tolerances = {{ float32 = {{ atol = {tolerance}, rtol = 0.0 }} }}\n' if tolerance else ""
        config += f'reference = "ref_{op}.py"\n' if formula else ""
        config += "".join(kernel_text(f"{op}_{kernel}", CODE.get(kernel, kernel), schema) for kernel in kernels)
    files["gpuemu.toml"] = config
    return new_home(files)


@pytest.fixture(scope="module")
def report(project):
    tested = project.run("test", "--format", "json", timeout=600)
    assert tested.returncode == 1, tested.stdout + tested.stderr
    return {op["op_name"]: op for op in json.loads(tested.stdout)["ops"]}


def diagnoses(op):
    return [finding["diagnosis"] for case in op["failures"] for finding in case["failures"] if "diagnosis" in finding]


def line_of(text):
    return 1 + next(i for i, line in enumerate(KERNELS.splitlines()) if text in line)


@pytest.mark.parametrize("op, verdict, alone", [("variance", "numerical", "kernel"), ("softmax_large", "numerical", "kernel"),
                                                ("constant", "logic", "reference"), ("thirds", "rounding", None)])
def test_the_first_case_of_each_finding_says_why_and_who_stands_alone(report, op, verdict, alone):
    found = diagnoses(report[op])
    kinds = {finding["kind"] for case in report[op]["failures"] for finding in case["failures"]}
    assert len(found) == len(kinds) >= 1, (kinds, found)
    assert found[0]["verdict"] == verdict, found
    assert found[0].get("vote", {}).get("alone") == alone, found


def test_the_note_names_instruction_line_thread_and_operands(report):
    found = diagnoses(report["variance"])[0]
    assert found["divergence"]["line"] == line_of("// cancels")
    for words in ["numerical: ", f"kernels.cu:{line_of('// cancels')}", " in thread (", " of block (", "exactly ", "vote: only the kernel is wrong"]:
        assert words in found["note"], found["note"]
    assert [side["name"] for side in found["vote"]["sides"]] == ["emulator", "exact", "reference"]
    assert f"kernels.cu:{line_of('// the constant')}" in diagnoses(report["constant"])[0]["note"]


def test_other_kernels_and_invariants_say_whose_formula_is_meant(report):
    vote = diagnoses(report["kernel_is_wrong"])[0]["vote"]
    assert vote["alone"] == "kernel" and "kernel kernel_is_wrong_twice matches the reference" in vote["sentence"], vote
    vote = diagnoses(report["reference_is_suspect"])[0]["vote"]
    assert vote["alone"] == "reference" and "suspect the reference" in vote["sentence"], vote
    vote = diagnoses(report["reference_breaks_sums"])[0]["vote"]
    assert vote["alone"] == "reference" and "violates sums_to_one" in vote["sentence"] and "the reference is wrong" in vote["sentence"], vote


def test_an_invariant_that_rounding_breaks_is_numerical(report):
    found = diagnoses(report["sums_lost"])
    assert report["sums_lost"]["no_reference"] and found and found[0]["verdict"] == "numerical", found
    assert "it begins with" in found[0]["note"], found


def test_an_op_without_a_scale_is_judged_by_what_its_inputs_allow(project, report):
    assert report["strict_sum"]["failed"] == 2 and "as `strict` demands" in report["strict_sum"]["failures"][0]["failures"][0]["message"]
    for op in ["cancelling_sum", "undeclared_sum"]:
        assert report[op]["failed"] == 0 and report[op]["relations"] == {"error_scale": 2} and report[op]["worst_error_use"] <= 1, report[op]
        assert any("the last place of its inputs moves that as much" in note for note in report[op]["notes"]), report[op]
    assert report["cancelling_formula"]["failed"] == 2 and diagnoses(report["cancelling_formula"])[0]["verdict"] == "numerical"


def test_a_large_case_is_left_out_and_says_so(report):
    found = diagnoses(report["large"])[0]
    assert found["verdict"] == "skipped" and "400000 elements" in found["note"] and "gpuemu explain" in found["note"], found


def test_what_is_left_unexplained_is_told_once(new_home):
    """The first 16 findings are explained; of those beyond one line says how many there are, and the rest say nothing."""
    ops = 20
    config = '[runtime]\nbackend = "emulator"\n[validation]\nstrategies = ["uniform10"]\ncases = 1\nseed = 5\n'
    for i in range(ops):
        config += f'[[ops]]\nname = "op{i}"\nkernel = "kernel{i}"\n{FLAT}reference = "ref.py"\n' + kernel_text(f"kernel{i}", "nearly_twice", FLAT)
    home = new_home({"kernels.cu": KERNELS, "gpuemu.toml": config, "ref.py": "def reference(x, **kwargs):\n    return 2 * x\n"})
    text = home.run("test", timeout=600).stdout
    assert text.count("[FAIL]") == ops, text
    assert text.count("other findings of this run were explained") == 1, text
    assert "16 other findings of this run were explained, this and 3 later ones were not; run `gpuemu explain " in text, text
    assert len([line for line in text.splitlines() if line.startswith("    why ")]) == 17, text


@pytest.mark.parametrize("op", ["constant", "variance"])
def test_a_reason_names_its_element_where_the_finding_names_another(project, report, op):
    case = report[op]["failures"][0]
    finding = next(one for one in case["failures"] if "diagnosis" in one)
    note = finding["diagnosis"]["note"]
    told = json.loads(project.run("explain", case["seed"], "--op", op, "--output", "y", "--index", finding["index"], "--format", "json").stdout)
    of_finding = f"(emulator {told['computed']:.9g}, " in note
    assert (" of 'y': " in note) != of_finding, (note, told["computed"])
    if op == "constant":
        assert note.startswith("logic: of element ") and finding["index"] == 0, note


def test_every_format_has_the_reason(project, report):
    text = project.run("test", "variance")
    assert text.returncode == 1 and "\n    why " in text.stdout and "numerical: " in text.stdout, text.stdout
    assert "why" not in text.stderr
    fuzzed = project.run("fuzz", "--op", "variance", "--iterations", "2")
    assert fuzzed.returncode == 1 and "    why " in fuzzed.stdout and "vote: only the kernel is wrong" in fuzzed.stdout, fuzzed.stdout
    told = project.run("explain", report["variance"]["failures"][0]["seed"], "--op", "variance")
    assert "Vote: only the kernel is wrong" in told.stdout, told.stdout


def test_documents_of_ci_have_the_reason(project):
    shown = project.run("ci", "--quick", "--report", "junit=junit.xml", "--report", "sarif=ci.sarif", "--report", "html=ci.html",
                        "--report", "pr-comment=comment.md", timeout=600)
    assert shown.returncode == 1, shown.stdout + shown.stderr
    assert "    why " in shown.stdout, shown.stdout
    suites = ET.parse(project.project / "junit.xml").getroot()
    messages = [one.get("message") for one in suites.iter("failure")]
    assert any("; why: numerical: " in message for message in messages), messages
    results = json.loads((project.project / "ci.sarif").read_text())["runs"][0]["results"]
    assert any("why: numerical: " in one["message"]["text"] for one in results), results
    assert "why: numerical: " in (project.project / "ci.html").read_text()
    comment = (project.project / "comment.md").read_text()
    assert "### Why they fail" in comment and "the formula is right, its arithmetic loses" in comment, comment


def test_explanations_say_the_same_in_python(project, report):
    import gpuemu
    with gpuemu.Client(str(project.socket)) as client:
        tested = client.run_tests(["variance"], cases=2, seed=5)
        finding = tested.ops[0].failures[0].failures[0]
        assert finding.diagnosis.verdict == "numerical" and finding.diagnosis.vote.alone == "kernel"
        assert finding.diagnosis.vote.sides[-1].name == "reference"
        told = client.explain(tested.ops[0].failures[0].seed, "variance")
        assert told.vote.alone == "kernel"


def test_a_passing_case_that_fusing_changes_is_fragile_and_names_its_line(project):
    tested = project.run("test", "fragile", "sturdy", "--fragile", "--format", "json", timeout=600)
    assert tested.returncode == 0, tested.stdout + tested.stderr
    ops = {op["op_name"]: op for op in json.loads(tested.stdout)["ops"]}
    settings = {one["setting"] for one in ops["fragile"]["fragile"]}
    assert "contraction always" in settings and not any("order" in one for one in settings), settings
    assert "ToleranceExceeded" in ops["fragile"]["fragile"][0]["message"]
    assert ops["fragile"]["fragile"][0]["divergence"]["line"] == line_of("asm volatile")
    assert ops["sturdy"]["fragile_checked"] == 2 and "fragile" not in ops["sturdy"]
    text = project.run("test", "fragile", "sturdy", "--fragile")
    assert "fragile: with contraction always 2 of 2 passing cases are wrong" in text.stdout, text.stdout
    assert "fragile: none of 2 passing cases" in text.stdout


def has_gpu(installation):
    return "cuda" in installation.run("devices").stdout


@pytest.mark.parametrize("backend", ["emulator", "cuda"])
def test_every_backend_of_the_machine_votes(project, new_home, backend):
    """On a machine with a GPU the emulator votes beside it, whichever of the two found the failure; elsewhere there are three sides."""
    gpu = has_gpu(project)
    if backend == "cuda" and not gpu:
        pytest.skip("no GPU answers here")
    files = {path.name: path.read_text() for path in project.project.iterdir() if path.suffix in (".cu", ".py", ".toml")}
    files["gpuemu.toml"] = files["gpuemu.toml"].replace('backend = "emulator"', f'backend = "{backend}"', 1)
    home = new_home(files)
    tested = home.run("test", "constant", "fragile", "--format", "json", timeout=600)
    report = {op["op_name"]: op for op in json.loads(tested.stdout)["ops"]}
    vote = diagnoses(report["constant"])[0]["vote"]
    others = {"emulator": "cuda", "cuda": "emulator"}
    sides = [backend, others[backend], "exact", "reference"] if gpu else ["emulator", "exact", "reference"]
    assert [side["name"] for side in vote["sides"]] == sides and vote["alone"] == "reference", vote
    if backend == "emulator":
        assert report["fragile"]["failed"] == 0, "the emulator does not fuse unless it is told to"
        return
    # The driver's compiler makes one instruction of a product and a difference, which the emulator does not.
    vote = diagnoses(report["fragile"])[0]["vote"]
    assert [side["name"] for side in vote["sides"]] == sides and vote["alone"] == "cuda", vote


GELU = """
extern "C" __global__ void gelu(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) { float v = x[i]; y[i] = 0.5f * v * (1.0f + tanhf(0.79788456f * (v + 0.044715f * v * v * v))); }
}
"""
GELU_CONFIG = """
[[kernels]]
name = "gelu"
source = "gelu.cu"
reference = "gelu.py"
inputs = [{ name = "x", shape = ["n"] }]
outputs = [{ name = "y", shape = ["n"] }]
dims = { n = [1, 5000] }
launches = [{ entry = "gelu", grid = "cdiv(n, 256)", block = 256, args = ["x", "y", "i32:n"] }]
"""


def test_a_warning_of_a_case_that_passes_calls_no_formula_wrong(new_home):
    """tanhf is cut off at 9, where 1 + tanh is not 0 yet."""
    formula = "0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x ** 3)))"
    home = new_home({"gpuemu.toml": GELU_CONFIG, "gelu.cu": GELU, "gelu.py": f"import numpy as np\n\n\ndef reference(x):\n    return {formula}\n"})
    tested = home.run("test", "--seed", 13268153873097533176)
    assert tested.returncode == 0, tested.stdout
    (warning,) = [line for line in tested.stdout.splitlines() if "warning: " in line]
    assert "'y' loses accuracy" in warning and "the kernel's formula is not the reference's there, by no more than that test accepts; run `gpuemu explain" in warning
    assert "higher precision would not help" not in warning and "is wrong" not in warning
