"""Kernels that declare shapes and a reference only: those that are right are not flagged, and a fault of each kind that a judge of accuracy could take for rounding is found."""
import tomllib

import pytest

import suite

FOLDER = suite.HERE / "undeclared"
NAMES = suite.op_names(tomllib.loads((FOLDER / "gpuemu.toml").read_text()))
FAULTY = [name for name in NAMES if name.startswith("bad_")]
CORRECT = [name for name in NAMES if name not in FAULTY]


def run(names, cases, seeds, flags=(), contraction="auto"):
    with suite.Installation(FOLDER, "emulator", contraction=contraction) as installation:
        return [report for seed in seeds for report in installation.reports(names, cases, seed, flags)]


def failing(reports):
    return {one["op_name"]: one["failures"][0]["failures"][0]["message"] for one in reports if one["failed"]}


def check(cases, seeds, contraction="auto"):
    correct = run(CORRECT, cases, seeds, contraction=contraction)
    assert not [one for one in correct if one.get("skipped_reason") or one["cases"] == 0]
    assert not failing(correct)
    for seed in seeds:
        missed = set(FAULTY) - set(failing(run(FAULTY, suite.CASES, [seed], contraction=contraction)))
        assert not missed, f"base seed {seed}: {missed}"
    return correct


def test_nothing_declared_is_judged_by_what_the_inputs_allow(nvcc_program):
    check(8, [1])


@pytest.mark.parametrize("name, fault, cases, seed", [
    ("lion", "bad_lion_moves_at_zero", 16, 8),  # 0.9f m + 0.1f g where 0.9 m + 0.1 g is 0.
    ("causal", "bad_causal_one_beyond", 44, 7),  # Infinity with a small weight, beside keys that are masked.
    ("decode_in_parts", "bad_decode_parts_not_scaled", 4, 4),  # Two scores near 45,000 that tie.
    ("bins_of_floats", "bad_bins_shifted", 36, 4),  # One value at the end of a bin changes two counts.
    ("welford", "bad_variance_one_pass", 36, 9),  # Partial means of -10 to 10, whose last one is 0.
    ("layernorm_by_thread", "bad_layernorm_backward_one_pass", 44, 7),  # 298 equal terms that round the same way.
])
def test_what_no_formula_could_better_is_no_fault(nvcc_program, name, fault, cases, seed):
    assert list(failing(run([name, fault], cases, [seed]))) == [fault]


@pytest.mark.parametrize("name, cases, seed", [
    ("layernorm_by_thread", 59, 17),  # A row per thread, of which one has the mean 0.
    ("bytes_of_rows", 3, 5),  # A scale of 1.4 subnormal units, of which 1 is left.
    ("bytes_of_rows", 48, 3),
    ("bytes_of_rows", 64, 7),  # A scale of less than half a unit, which is 0 then.
])
def test_correct_kernels_that_were_flagged_once(nvcc_program, name, cases, seed):
    assert not failing(run([name], cases, [seed]))


def test_what_a_compiler_fuses_is_no_fault(nvcc_program):
    """Of one column `dy * w - mean(dy * w)` is 0, or what rounding the product leaves. A variance in one pass is none either way."""
    fused = run(["layernorm_backward", "layernorm_by_thread"], 64, [8], contraction="always")
    assert not failing(fused)
    assert any("products which the compiler fuses" in note for one in fused for note in one["notes"]), fused
    one_pass = [name for name in FAULTY if name.endswith("one_pass")]
    assert set(failing(run(one_pass, suite.CASES, [8], contraction="always"))) == set(one_pass)


@pytest.mark.slow
def test_ten_seeds_flag_nothing_and_find_all(nvcc_program):
    check(64, range(1, 11))


@pytest.mark.slow
def test_fused_as_on_a_gpu_nothing_more_is_flagged_and_no_less_found(nvcc_program):
    check(64, range(1, 4), "always")


def test_strict_fails_what_exceeds_the_bound_and_names_the_setting(nvcc_program):
    told = failing(run(["row_sum", "gemm"], 64, [1, 2], ["--strict"]))
    assert sorted(told) == ["gemm", "row_sum"]


def test_a_warning_names_the_line_and_passes(nvcc_program):
    report, half = sorted(run(["gelu_erf", "layernorm_half"], 24, [1]), key=lambda one: one["op_name"])
    assert (report["failed"], report["warned"]) == (0, 1)
    [case] = report["warnings"]
    assert case["passed"]
    [warning] = case["warnings"]
    assert "loses accuracy" in warning["message"] and "elements.cu:" in warning["diagnosis"]["note"]
    # What is kept in the op's own type between steps is no more than a note, which names its line.
    assert half["failed"] == 0 and any("rounds to float16 between steps at rows.cu:" in note for note in half["notes"]), half


def test_what_still_fails_names_the_setting_that_would_change_it(nvcc_program):
    [told] = failing(run(["bad_variance_one_pass"], 24, [1])).values()
    assert "`accumulate`" in told and "`tolerances`" in told
