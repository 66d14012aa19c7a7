"""gpuemu.check takes the options of an op in gpuemu.toml and draws what `gpuemu test` draws."""

import numpy as np
import pytest

import gpuemu

X = gpuemu.Tensor["rows", "cols"]


def run(fn, reference, **options):
    return gpuemu.check(fn, reference, **{"inputs": {"x": X}, "cases": 60, "seed": 1, "raise_on_failure": False, "fail_fast": False, **options})


def kinds(found):
    return {one.kind for result in found.failures for one in result.failures}


def test_nan_and_infinity_are_drawn_by_default():
    seen = set()

    def look(x):
        seen.update(name for name, mask in (("nan", np.isnan(x)), ("inf", np.isposinf(x)), ("-inf", np.isneginf(x))) if mask.any())
        return x

    assert not run(look, lambda x: x).failed and seen == {"nan", "inf", "-inf"}
    seen.clear()
    assert not run(look, lambda x: x, strategies=["normal", "small_int"]).failed and not seen
    assert not run(look, lambda x: x, inputs={"x": X.of(range=(0.0, 1.0))}).failed and seen == {"nan", "inf"}


def test_nan_that_a_function_swallows_is_found_and_the_policy_is_an_option():
    def swallows(x):
        return np.fmax(x, np.float32(0))

    def relu(x):
        return np.maximum(x, 0)

    assert kinds(run(swallows, relu)) == {"NaNDetected"}
    assert not run(swallows, relu, nan_policy="any").failed
    assert not run(relu, relu).failed


def test_a_function_of_integers_is_given_no_nan():
    def largest(x):
        assert not np.isnan(x).any()
        return x.argmax(axis=1)

    assert not run(largest, lambda x: x.argmax(axis=1)).failed


def test_the_bound_is_the_computed_one_and_the_options_widen_it():
    def shifted(x):
        return (x + np.float32(1)) - np.float32(1)

    assert kinds(run(shifted, lambda x: x, strategies=["bits_uniform"])) == {"ToleranceExceeded"}
    assert not run(shifted, lambda x: x, strategies=["bits_uniform"], error_scale="tanh").failed  # As large as 1.
    assert not run(shifted, lambda x: x, strategies=["bits_uniform"], error_scale=lambda x: np.ones_like(x)).failed
    assert not run(shifted, lambda x: x, strategies=["bits_uniform"], tolerance=gpuemu.ToleranceConfig(1e-6, 1e-6)).failed


def test_exact_sums_and_invariants_are_judged():
    def total(x):
        return np.append(x.sum(axis=1)[1:], np.float32(1)) if len(x) > 1 else x.sum(axis=1)

    options = {"accumulate": "cols", "error_scale": "sum", "strategies": ["small_int"]}
    assert not run(lambda x: x.sum(axis=1), lambda x: x.sum(axis=1), **options).failed
    found = run(total, lambda x: x.sum(axis=1), **options)
    assert "all inputs are small whole numbers, so any order of adding is exact" in found.failures[0].failures[0].message

    def softmax(x):
        e = np.exp(x - x.max(-1, keepdims=True))
        return e / e.sum(-1, keepdims=True)

    wrong = run(lambda x: 2 * softmax(x), lambda x: 2 * softmax(x), strategies=["normal"], invariants={"sums_to_one": {"axis": -1}})
    assert kinds(wrong) == {"InvariantViolation"}


@pytest.mark.parametrize("options, said", [
    ({"error_scale": "gemm"}, "^error_scale: "), ({"accumulate": "rows +"}, "^accumulate: "), ({"accumulate": "depth"}, "depth"),
    ({"nan_policy": "ignore"}, "^nan_policy: 'ignore' is none of match, class, any$"), ({"invariants": {"sums_to_two": True}}, "sums_to_two"),
    ({"accumulate_dtype": "float31"}, "float31"), ({"subnormal": "flush"}, "subnormal"),
])  # fmt: skip
def test_wrong_options_are_told_as_those_of_gpuemu_toml(options, said):
    with pytest.raises(ValueError, match=said):
        run(lambda x: x, lambda x: x, **options)


def test_names_that_gpuemu_toml_lacks_are_no_obstacle():
    def odd(dtype: gpuemu.Tensor["größe", "dtype"], größe: gpuemu.Tensor["größe", 3]):
        assert dtype.shape[0] == größe.shape[0]
        return dtype * 2

    found = gpuemu.check(odd, lambda dtype, größe: dtype * 2, cases=20, seed=1, name='of "any"\nname', dims={"dtype": [5, 3]})
    assert found.passed == 20


def test_sizes_that_are_too_large_are_told_at_once():
    with pytest.raises(ValueError, match=r"'x' may be \[5000, 5000\]: a checked tensor has at most 16777216 elements"):
        run(lambda x: x, lambda x: x, dims={"rows": (1, 5000), "cols": (1, 5000)})


def sums(x):
    return x.sum(axis=1, dtype=x.dtype)


def product(a, b):
    return a @ b


def test_sums_pass_without_a_declaration():
    for fn in (sums, lambda x: np.log(np.exp(x - x.max(1, keepdims=True)).sum(1)) + x.max(1), lambda x: (x - x.mean(1, keepdims=True)) ** 2):
        found = run(fn, fn, dims={"cols": (1, 300)}, strategies=["normal", "uniform10", "offset", "bits_uniform", "small_int"])
        assert not found.failed, found.failures[0].failures
    pair = {"a": gpuemu.Tensor["m", "k"], "b": gpuemu.Tensor["k", "n"]}
    found = run(product, product, inputs=pair, dims={"k": (1, 300)}, strategies=["normal", "uniform10", "bits_uniform"])
    assert not found.failed, found.failures[0].failures


def test_what_the_precision_of_the_inputs_does_not_explain_fails():
    def in_one_pass(x):
        return (x * x).mean(1) - x.mean(1) ** 2

    def in_halves(x):
        total = np.zeros(len(x), np.float16)
        for column in x.T:
            total += column
        return total

    assert kinds(run(in_one_pass, lambda x: x.var(1), strategies=["offset"], dims={"cols": (8, 64)})) == {"ToleranceExceeded"}
    found = run(in_halves, lambda x: x.sum(1), dtypes=["float16"], strategies=["unit"], dims={"cols": (2000, 4000), "rows": (1, 2)}, cases=5)
    assert kinds(found) == {"ToleranceExceeded"}
    assert kinds(run(lambda x: sums(x) * np.float32(1.001), sums, strategies=["uniform10"])) == {"ToleranceExceeded"}


def test_a_declared_scale_is_the_last_word():
    """So that who knows how large errors may be is told of larger ones."""
    def centred(x):
        return x - x.mean(1, keepdims=True)

    options = {"strategies": ["offset"], "dims": {"cols": (8, 64)}}
    assert not run(centred, centred, **options).failed
    assert kinds(run(centred, centred, error_scale="output", **options)) == {"ToleranceExceeded"}
