"""Tests that gpuemu.check takes the options of an op in gpuemu.toml and draws the cases of `gpuemu test`."""

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


def test_what_a_reference_multiplies_by_zero_may_be_a_number():
    def lower(x):
        return np.stack([np.where(np.arange(x.shape[1]) <= i, x[i], 0) for i in range(x.shape[0])])

    def by_product(x):
        return x * (np.arange(x.shape[1]) <= np.arange(x.shape[0])[:, None])

    assert not run(lower, by_product, raise_on_failure=True).failed
    assert kinds(run(lower, by_product, nan_policy="match")) == {"NaNDetected"}


def test_a_function_of_integers_is_given_no_nan():
    def largest(x):
        assert not np.isnan(x).any()
        return x.argmax(axis=1)

    assert not run(largest, lambda x: x.argmax(axis=1)).failed


def test_the_bound_is_the_computed_one_and_the_options_widen_it():
    def shifted(x):
        return (x + np.float32(1)) - np.float32(1)

    options = {"strategies": ["bits_uniform"], "dims": {"rows": (8, 64), "cols": (1, 1)}}
    strict = run(shifted, lambda x: x, strict=True, **options)
    assert kinds(strict) == {"ToleranceExceeded"} and strict.failed >= 50
    assert "judged by the bound alone, as `strict` demands" in strict.failures[0].failures[0].message
    for wider in ({"error_scale": "tanh"}, {"error_scale": lambda x: np.ones_like(x)}, {"tolerance": gpuemu.ToleranceConfig(1e-6, 1e-6)}):
        found = run(shifted, lambda x: x, strict=True, **options, **wider)  # As large as 1.
        assert not found.failed and not found.notes


def test_what_a_customary_test_accepts_passes_with_a_note_unless_strict():
    def shifted(x):
        return (x + np.float32(1)) - np.float32(1)

    found = run(shifted, lambda x: x, strategies=["bits_uniform"], dims={"rows": (8, 64), "cols": (1, 1)})
    assert not found.failed and "the defaults of torch.testing.assert_close, scaled by magnitude, accept that" in found.notes[0]
    assert kinds(run(lambda x: x * np.float32(1.0001), lambda x: x, strategies=["bits_uniform"])) == {"ToleranceExceeded"}


TINY = np.finfo(np.float32).smallest_normal


def flushed(x):
    """Sets subnormal numbers to zero, as some processors do."""
    return np.where(np.abs(x) < TINY, np.copysign(np.float32(0), x), x)


def leaky(x):
    return np.where(x >= 0, x, np.float32(0.01) * x)


def leaky_of_flushed(x):
    """Computes like XLA: the comparison flushes, the selection does not."""
    return np.where(flushed(x) >= 0, x, flushed(np.float32(0.01) * flushed(x)))


SMALL = {"strategies": ["tiny", "subnormal", "normal"], "cases": 30}


def test_subnormal_numbers_that_are_flushed_to_zero_are_a_note():
    for fn in (lambda x: flushed(leaky(flushed(x))), leaky_of_flushed):
        found = run(fn, leaky, **SMALL)
        assert not found.failed and any("subnormal numbers are taken as zero" in note for note in found.notes)
    assert not run(leaky, leaky, **SMALL).notes
    for stricter in ({"subnormal": "keep"}, {"strict": True}):
        assert kinds(run(lambda x: flushed(leaky(flushed(x))), leaky, **SMALL, **stricter)) == {"ToleranceExceeded"}
    assert not run(lambda x: flushed(leaky(flushed(x))), leaky, **SMALL, subnormal="ftz_ok").notes


def test_what_flushed_inputs_give_is_a_note_too():
    large = np.float32(1e30)
    for fn in (lambda x: x * large, lambda x: 1 / x, lambda x: np.log(np.abs(x)), lambda x: x / x, lambda x: x > 0):
        found = run(lambda x, fn=fn: fn(flushed(x)), fn, **SMALL)
        assert not found.failed, found.failures[0].failures
        assert found.notes and kinds(run(lambda x, fn=fn: fn(flushed(x)), fn, **SMALL, subnormal="keep"))


def test_flushing_excuses_nothing_else():
    for wrong in (lambda x: flushed(x * np.float32(0.5)), lambda x: 0 * x, lambda x: np.where(np.abs(x) < 16 * TINY, 0 * x, x)):
        assert kinds(run(wrong, lambda x: x, strategies=["tiny"], cases=30)) == {"ToleranceExceeded"}
    half = np.float16(2.0**-14)  # float16 subnormals are never flushed: they are as large as results of softmax.
    assert run(lambda x: np.where(np.abs(x) < half, 0 * x, x), lambda x: x, dtypes=["float16"], strategies=["subnormal"], cases=30).failed


def test_a_failure_tells_what_its_values_are_made_of():
    def wrong(x):
        assert x.size
        return -x

    found = run(wrong, lambda x: x, strategies=["row_specials"], cases=3)
    info = found.failures[0].repro_info
    case = {"base_seed": info.base_seed, "iteration": info.iteration, "value_strategy": info.value_strategy,
            "value_parameters": info.value_parameters, "inputs": [{"name": "x", "dtype": info.dtype, "shape": info.shape}]}  # fmt: skip
    drawn = []
    run(lambda x: drawn.append(x.copy()) or x, lambda x: x, strategies=["row_specials"], cases=1, only=info.iteration)
    from gpuemu.generate import values

    assert info.value_parameters and values.fill_input(case, "x").tobytes() == drawn[0].tobytes()


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
    """A user who knows how large errors may be must hear about larger ones."""
    def centred(x):
        return x - x.mean(1, keepdims=True)

    options = {"strategies": ["offset"], "dims": {"cols": (8, 64)}}
    assert not run(centred, centred, **options).failed
    assert kinds(run(centred, centred, error_scale="output", **options)) == {"ToleranceExceeded"}
