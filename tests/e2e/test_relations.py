"""Kernels without a reference, judged by relations; and kernels that get their result from elsewhere."""
import json
import pathlib
import shutil

import pytest

KERNELS = pathlib.Path(__file__).resolve().parent / "relations"
ROWS = {"inputs": '{ name = "x", shape = ["rows", "cols"] }', "outputs": '{ name = "y", shape = ["rows", "cols"] }',
        "dims": "rows = [1, 12], cols = [1, 40]", "args": '"x", "y", "i32:rows", "i32:cols"', "threads": "rows"}
REDUCED = {**ROWS, "outputs": '{ name = "y", shape = ["rows"] }', "more": 'accumulate = "cols"'}
TURNED = {**ROWS, "outputs": '{ name = "y", shape = ["cols", "rows"] }', "threads": "rows * cols"}
PRODUCT = {"inputs": '{ name = "a", shape = ["m", "k"] }, { name = "b", shape = ["k", "n"] }',
           "outputs": '{ name = "y", shape = ["m", "n"] }', "dims": "m = [1, 12], n = [1, 12], k = [1, 20]",
           "args": '"a", "b", "y", "i32:m", "i32:n", "i32:k"', "threads": "m * n", "more": 'accumulate = "k"'}
FLAT = {"inputs": '{ name = "x", shape = ["n"] }', "outputs": '{ name = "y", shape = ["n"] }', "dims": "n = [1, 300]",
        "args": '"x", "y", "i32:n"', "threads": "n"}
SCAN = {**FLAT, "threads": "1", "more": 'accumulate = "n"'}

# Name of the op: entry, what it takes, its invariants and relations, and what must be found: "" when it is correct.
OPS = {
    "softmax": ("softmax_right", ROWS, 'permutation_equivariant = [{ dim = "rows" }, { dim = "cols" }]\nconcat = { dim = "rows" }', ""),
    "no_maximum": ("softmax_no_maximum", ROWS, "shift_invariant = true", "relation shift_invariant"),
    "matmul": ("matmul_right", PRODUCT,
               'transpose_dual = true\nlinear = [{ input = "a" }, { input = "b" }]\npermutation_invariant = { dim = "k" }\n'
               'scale_equivariant = { input = "b" }\npad_invariant = { dim = "k" }', ""),
    "dropped_steps": ("matmul_tail", PRODUCT, "permutation_invariant = true", "relation permutation_invariant"),
    "dropped_steps_2": ("matmul_tail", PRODUCT, 'pad_invariant = { dim = "k" }', "relation pad_invariant"),
    "biased": ("matmul_bias", PRODUCT, "additive = true", "relation additive"),
    "biased_2": ("matmul_bias", PRODUCT, "linear = true", "relation linear"),
    "row_max": ("row_max_right", REDUCED, 'pad_invariant = { dim = "cols", fill = -1e300 }\nrow_independent = true\n'
                'permutation_invariant = true\nsubset_of_input = true', ""),
    "row_leak": ("row_max_leak", REDUCED, "row_independent = true", "relation row_independent"),
    "scan": ("scan_right", SCAN, 'causal = { dim = "n" }', ""),
    "scan_centred": ("scan_centred", SCAN, 'causal = { dim = "n" }', "relation causal"),
    "relu": ("relu_right", FLAT, 'config_invariant = [{ block = 64 }, { block = 256, grid = "min(n, 3)" }]\nin_place_equal = true\n'
             'written_once = true\ndeterministic = true', ""),
    "many_rows": ("row_max_few_rows", REDUCED, 'concat = { dim = "rows" }', "relation concat"),
    "overlap": ("relu_overlap", {**FLAT, "threads": "n"}, "written_once = true", "invariant written_once"),
    "block_assumed": ("relu_stride", FLAT, "config_invariant = { block = 32, grid = 1 }", "NotWritten"),
    "leaky": ("relu_leaky", FLAT, "sign = { kind = 'non_negative' }", "invariant sign"),
    "not_idempotent": ("relu_leaky", FLAT, "idempotent = true", "relation idempotent"),
    "threshold": ("relu_shifted", FLAT, "scale_equivariant = true", "relation scale_equivariant"),
    "in_place": ("difference", {**FLAT, "threads": "1"}, "in_place_equal = true", "relation in_place_equal"),
    "clipped": ("tanh_clipped", FLAT, "odd = true", "relation odd"),
    "transpose": ("transpose_right", TURNED, 'inverse_of = { op = "transpose" }', ""),
    "transpose_copy": ("transpose_copy", TURNED, 'inverse_of = { op = "transpose" }', "relation inverse_of"),
    "zeros": ("zeros", FLAT, "", "relation reads_inputs"),
    "by_shape": ("cached_by_shape", {**FLAT, "threads": "1"}, "", "relation reads_inputs"),
    "not_written": ("not_written", FLAT, "", "NotWritten"),
}
# Kernels of y = 2 x that cheat, against a reference, and what refuses them.
CHEATS = {
    "zeros": "ToleranceExceeded",
    "all_nan": "NaNDetected",
    "cached_by_shape": "StaleOutput",
    "cached_by_address": "StaleOutput",
    "workspace_not_reset": "ToleranceExceeded",
    "input_zeroing": "InputModified",
    "input_to_nan": "InputModified",
    "not_written": "NotWritten",
}


def op_text(name, entry, form, invariants, reference=""):
    launch = f'{{ entry = "{entry}", grid = "cdiv({form["threads"]}, 128)", block = 128, args = [{form["args"]}] }}'
    if form["threads"] == "1":
        launch = launch.replace("cdiv(1, 128)", "1").replace("block = 128", "block = 1")
    return f"""
[[kernels]]
name = "{name}"
source = "relations.cu"
launches = [{launch}]
inputs = [{form["inputs"]}]
outputs = [{form["outputs"]}]
dims = {{ {form["dims"]} }}
{form.get("more", "")}
{f'reference = "{reference}"' if reference else ""}
[kernels.invariants]
{invariants}
"""


def install(gpuemu, text):
    for file in KERNELS.iterdir():
        shutil.copy(file, gpuemu.project)
    (gpuemu.project / "twice.py").write_text("def reference(x):\n    return 2.0 * x\n")
    (gpuemu.project / "gpuemu.toml").write_text('[runtime]\nbackend = "emulator"\n[validation]\nseed = 5\ncases = 24\n' + text)
    return gpuemu


def report_of(gpuemu):
    result = gpuemu.run("test", "--format", "json", timeout=600)
    return result, {op["op_name"]: op for op in json.loads(result.stdout)["ops"]}


def words_of(op):
    return [f"[{failure['kind']}] {failure['message']}" for case in op["failures"] for failure in case["failures"]]


def test_kernels_are_judged_without_a_reference(gpuemu):
    install(gpuemu, "".join(op_text(name, entry, form, invariants) for name, (entry, form, invariants, _) in OPS.items()))
    result, ops = report_of(gpuemu)
    assert result.returncode == 1, result.stderr
    for name, (_, _, invariants, expected) in OPS.items():
        op, words = ops[name], words_of(ops[name])
        if expected:
            assert op["failed"] and any(expected in text for text in words), (name, op.get("relations"), words[:3])
            continue
        assert op["failed"] == 0 and op["passed"] == 24, (name, words[:3])
        assert op["no_reference"] and "no reference was compared" in op["notes"][0], name
        declared = {line.split(" = ")[0] for line in invariants.splitlines()} - {"subset_of_input"}
        if name != "row_max":  # Whose outputs are too few to tell a constant from a coincidence.
            declared.add("reads_inputs")
        assert declared <= set(op["relations"]), (name, op["relations"])
    # Inferred from the names.
    assert {"row_independent", "shift_invariant"} <= set(ops["softmax"]["relations"])
    assert {"row_independent", "additive"} <= set(ops["matmul"]["relations"])


def test_a_finding_names_relation_change_place_and_values_and_comes_again(gpuemu):
    entry, form, invariants, _ = OPS["row_leak"]
    install(gpuemu, op_text("row_leak", entry, form, invariants))
    _, ops = report_of(gpuemu)
    case = next(case for case in ops["row_leak"]["failures"] if case["failures"][0]["kind"] == "RelationViolation")
    failure = case["failures"][0]
    assert "relation row_independent" in failure["message"] and "slices along 'rows'" in failure["message"]
    assert failure["index"] is not None and failure["expected"] != failure["actual"]
    again = gpuemu.run("reproduce", str(case["seed"]), "--format", "json", "--exit-code")
    assert again.returncode == 1, again.stderr
    told = [{name: value for name, value in one.items() if name != "diagnosis"} for one in case["failures"]]
    assert json.loads(again.stdout)["result"]["failures"] == told
    assert failure["diagnosis"]["verdict"] == "logic", failure["diagnosis"]
    text = gpuemu.run("test", "row_leak")
    assert "no reference was compared" in text.stdout and "relations, by cases:" in text.stdout


def test_results_from_elsewhere_are_refused(gpuemu):
    text = "".join(op_text(name, name, {**FLAT, "threads": "n" if "cached" not in name and "reset" not in name else "1"}, "",
                           "twice.py") for name in [*CHEATS, "twice"])
    install(gpuemu, text)
    _, ops = report_of(gpuemu)
    assert ops["twice"]["failed"] == 0
    for name, kind in CHEATS.items():
        assert any(text.startswith(f"[{kind}]") for text in words_of(ops[name])), (name, words_of(ops[name])[:4])


def test_a_relation_that_no_case_can_check_is_told(gpuemu):
    # Of one element only, and that infinite, the negated input has nothing outside of the range.
    form = {**FLAT, "inputs": '{ name = "x", shape = ["n"], range = [1.0, 2.0] }', "dims": "n = [2, 300]"}
    install(gpuemu, op_text("relu_1", "relu_right", form, "odd = true\nreads_inputs = false"))
    result, ops = report_of(gpuemu)
    assert result.returncode == 0, result.stdout
    assert "odd" in ops["relu_1"]["notes"][1] and "relations" not in ops["relu_1"]


def test_wrong_values_of_a_kernel_without_inputs_are_named_and_not_the_launch_before(gpuemu):
    numbers = {**FLAT, "args": '"y", "i32:n"'}
    install(gpuemu, op_text("numbers", "numbers_from_thread", numbers, "", "numbers.py"))
    (gpuemu.project / "numbers.py").write_text("import numpy as np\n\n\ndef reference(n, x):\n    return 3.0 * np.arange(n)\n")
    _, ops = report_of(gpuemu)
    words = words_of(ops["numbers"])
    assert words and all(text.startswith("[ToleranceExceeded]") for text in words), words[:4]
