"""Tests that a caller's error is reported with the argument's name and the expected value, and that no wrong value is accepted as
something else."""

import numpy as np
import pytest

import gpuemu
from gpuemu.check import judge
from gpuemu.frameworks import calls
from gpuemu.generate import layouts, rng, values

X = np.ones((2, 3), np.float32)
T = gpuemu.Tensor


def same(x: T["r", "c"]):
    return x


def check(**options):
    return gpuemu.check(same, lambda x: x, **{"cases": 2, **options})


def fill(strategy="normal", **members):
    entry = {"name": "x", "dtype": "float32", "shape": [2, 3], "range": None, **members}
    return values.fill_input({"base_seed": 1, "iteration": 0, "value_strategy": strategy, "inputs": [entry]}, "x")


def generate(seed=1, distribution="normal", params=(0, 1), shape=(3,), dtype="float32"):
    return rng.generate(seed, 0, "x", distribution, params, shape, dtype)


def calibrate(**options):
    return gpuemu.calibrate_tolerance(np.exp, np.exp, **{"input_shapes": [(4,)], "n_samples": 2, **options})


WRONG = [
    (lambda: gpuemu.check(same, None), TypeError, "reference is None, expected a function"),
    (lambda: gpuemu.check(3, same), TypeError, "fn is 3, expected a function"),
    (lambda: check(cases=0), ValueError, "cases is 0, expected 1 or more"),
    (lambda: check(cases=-1), ValueError, "cases is -1, expected 1 or more"),
    (lambda: gpuemu.Client("/nowhere").fuzz_op("softmax", iterations=0), ValueError, "iterations is 0, expected 1 or more"),
    (lambda: gpuemu.Client("/nowhere").fuzz_op_client_side("softmax", same, iterations=0), ValueError, "iterations is 0, expected 1 or more"),
    (lambda: calls.fuzz(gpuemu.Client("/nowhere"), "softmax", same, same, {"iterations": 0, "seed": 1}), ValueError, "iterations is 0, expected 1 or more"),
    (lambda: check(cases="10"), TypeError, "cases is '10', expected an integer"),
    (lambda: check(cases=2.5), TypeError, "cases is 2.5, expected an integer"),
    (lambda: check(only=-1), ValueError, "only is -1"),
    (lambda: check(seed=1.5), TypeError, "seed is 1.5, expected an integer"),
    (lambda: check(dtypes="float32"), TypeError, "dtypes is 'float32', expected a list of names"),
    (lambda: check(dtypes=["float33"]), ValueError, "unknown dtypes float33; there are float16"),
    (lambda: check(dtypes=[]), ValueError, "dtypes is empty"),
    (lambda: check(strategies="normal"), TypeError, "strategies is 'normal', expected a list"),
    (lambda: check(strategies=[]), ValueError, "strategies is empty"),
    (lambda: check(layouts="strided"), TypeError, "layouts is 'strided', expected a list"),
    (lambda: check(dims={"r": 3}), TypeError, r"dims\['r'\] is 3, expected \(least, largest\) or a list"),
    (lambda: check(dims={"r": "ab"}), TypeError, r"dims\['r'\] is 'ab'"),
    (lambda: check(dims={"r": []}), ValueError, r"dims\['r'\] has no size"),
    (lambda: check(dims={"r": (-3, 5)}), ValueError, r"a size of dims\['r'\] is -3, expected 0 or more"),
    (lambda: check(dims={"r": (1.5, 2)}), TypeError, r"a size of dims\['r'\] is 1.5, expected an integer"),
    (lambda: check(dims={"r": (9, 2)}), ValueError, r"dims\['r'\] is \(9, 2\), expected \(least, largest\); to choose .* \[9, 2\]"),
    (lambda: check(cases=True), TypeError, "cases is True, expected an integer"),
    (lambda: check(seed=2**70), ValueError, r"seed is 1180591620717411303424, which 64 bits do not hold"),
    (lambda: check(seed=-(2**63) - 1), ValueError, "seed is -9223372036854775809, which 64 bits do not hold"),
    (lambda: check(dims={"r": (1, 2**70)}, seed=1), ValueError, "'x' may be .* at most 16777216 elements"),
    (lambda: check(dims=["r"]), TypeError, r"dims is \['r'\], expected a dict by name"),
    (lambda: check(tolerance=0.1), TypeError, r"tolerance is 0.1, expected gpuemu.ToleranceConfig\(atol, rtol\)"),
    (lambda: check(inputs={"z": T["n"]}), ValueError, "inputs has z, which 'same' does not take; it takes x"),
    (lambda: check(inputs={"x": "n"}), TypeError, r"inputs\['x'\] is 'n', expected gpuemu.Tensor"),
    (lambda: check(framework="keras"), ValueError, "'keras' is no framework"),
    (lambda: gpuemu.check(same, lambda x: None), TypeError, "the reference of 'same' gave None, expected an array"),
    (lambda: gpuemu.check(lambda x: None, same), gpuemu.CheckError, "TypeError: the output is None, expected an array"),
    (lambda: T[1.5], TypeError, "1.5 is no dim of a Tensor"),
    (lambda: T["n", "3"], TypeError, "'3' is no name of a dim; .* Tensor\\['rows', 3\\]"),
    (lambda: T["n, m"], TypeError, "'n, m' is no name of a dim"),
    (lambda: T[""], TypeError, "'' is no name of a dim"),
    (lambda: T[True], TypeError, "True is no name of a dim"),
    (lambda: gpuemu.Scalar(3, 1), ValueError, r"the range of a Scalar is \(3, 1\), expected low <= high"),
    (lambda: gpuemu.Scalar("a", 1), TypeError, "the range of a Scalar is .*, expected two numbers"),
    (lambda: T[-1], ValueError, "no dim of -1 elements"),
    (lambda: T["n"].of("floaty"), ValueError, "the dtype of a Tensor is 'floaty', expected one of float16"),
    (lambda: T["n"].of(range=3), TypeError, r"the range of a Tensor is 3, expected two numbers \(low, high\)"),
    (lambda: T["n"].of(range=(3, 1)), ValueError, r"is \(3, 1\), expected low <= high"),
    (lambda: T["n"].of(range=(float("nan"), 1)), ValueError, "expected low <= high"),
    (lambda: fill("nope"), ValueError, "unknown strategy nope; there are bits_uniform"),
    (lambda: fill(dtype="floaty"), ValueError, "the dtype of 'x' is 'floaty'"),
    (lambda: fill(shape=[-1]), ValueError, "a size of the shape of 'x' is -1"),
    (lambda: fill(shape=3), TypeError, "the shape of 'x' is 3, expected a list of sizes"),
    (lambda: fill(range=[3, 1]), ValueError, "the range of 'x' is"),
    (lambda: generate(seed=-1), ValueError, "base_seed is -1, expected an integer from 0 to 2"),
    (lambda: generate(seed=1 << 64), ValueError, "base_seed is 18446744073709551616"),
    (lambda: generate(seed="1"), TypeError, "base_seed is '1', expected an integer"),
    (lambda: generate(distribution="gauss"), ValueError, "'gauss' is unknown, expected uniform"),
    (lambda: generate(params=(0,)), ValueError, "expected two numbers"),
    (lambda: generate(distribution="integer", params=(5, 1)), ValueError, "expected the lower one first"),
    (lambda: generate(distribution="special", params=(0, 0.5)), ValueError, "picks from 0 rows"),
    (lambda: generate(shape=[-3]), ValueError, "a size of shape is -3"),
    (lambda: generate(dtype="floaty"), ValueError, "dtype is 'floaty'"),
    (lambda: rng.Stream(1, 0, "x").below(0), ValueError, "n is 0, expected 1 or more"),
    (lambda: rng.Stream(1, 0, "x").integer(5, 1), ValueError, "no integer from 5 to 1"),
    (lambda: rng.Stream(1, 0, "x").choice([]), ValueError, "cannot choose from nothing"),
    (lambda: gpuemu.SeededRng("a"), TypeError, "seed is 'a', expected an integer"),
    (lambda: gpuemu.SeededRng(1).fill(2, "float32"), TypeError, "shape is 2, expected a list of sizes"),
    (lambda: gpuemu.SeededRng(1).randn(-2), ValueError, "a size of shape is -2"),
    (lambda: gpuemu.derive_seed("a", "b"), TypeError, "seed is 'a'"),
    (lambda: gpuemu.FuzzConfig("a"), TypeError, "the seed of a FuzzConfig is 'a'"),
    (lambda: gpuemu.FuzzConfig(1, batch_sizes=["x"]), TypeError, "a size of batch_sizes of a FuzzConfig is 'x', expected an integer"),
    (lambda: gpuemu.FuzzConfig(1, seq_lengths=[-1]), ValueError, "a size of seq_lengths of a FuzzConfig is -1"),
    (lambda: gpuemu.FuzzConfig(1, hidden_dims=5), TypeError, "hidden_dims of a FuzzConfig is 5, expected a list of sizes"),
    (lambda: gpuemu.FuzzConfig(1, edge_cases=[3]), TypeError, "a shape of edge_cases of a FuzzConfig is 3"),
    (lambda: gpuemu.FuzzConfig(1, edge_cases="ab"), TypeError, "edge_cases of a FuzzConfig is 'ab', expected a list of shapes"),
    (lambda: gpuemu.FuzzConfig(1, dtypes="float32"), TypeError, "dtypes of a FuzzConfig is 'float32', expected a list"),
    (lambda: list(gpuemu.fuzz_dtypes("float32")), TypeError, "dtypes is 'float32', expected a list"),
    (lambda: next(gpuemu.fuzz_dtypes_seeded(1, "float32")), TypeError, "dtypes is 'float32', expected a list"),
    (lambda: gpuemu.SeededFuzzer(5), TypeError, "config is 5, expected gpuemu.FuzzConfig"),
    (lambda: gpuemu.generate_random_tensor(1, 2), TypeError, "shape is 2"),
    (lambda: judge.compare(None, X), TypeError, "the output is None, expected an array"),
    (lambda: judge.compare(X, "a"), TypeError, "the reference is 'a', expected an array"),
    (lambda: judge.compare(X, X, 0.5), TypeError, "tolerance is 0.5"),
    (lambda: gpuemu.ToleranceConfig("a", 0), TypeError, "atol is 'a', expected a number"),
    (lambda: gpuemu.ToleranceConfig(0, None), TypeError, "rtol is None, expected a number"),
    (lambda: gpuemu.calibrate_tolerance(None, np.exp, [(4,)]), TypeError, "is None, expected a function"),
    (lambda: calibrate(input_shapes=[]), ValueError, "input_shapes is empty"),
    (lambda: calibrate(input_shapes=[4]), TypeError, "a shape of input_shapes is 4"),
    (lambda: calibrate(n_samples=2.5), TypeError, "n_samples is 2.5, expected an integer"),
    (lambda: calibrate(input_shapes=[(0,)]), ValueError, "every output is empty"),
    (lambda: calibrate(safety_margin=-1), ValueError, "safety_margin is -1, expected 1 or more"),
    (lambda: calibrate(percentile=101), ValueError, "percentile is 101"),
    (lambda: calibrate(dtype="floaty"), ValueError, "dtype is 'floaty'"),
    (lambda: gpuemu.Client(5), TypeError, "not int"),
    (lambda: gpuemu.Client("/nowhere", timeout_ms="a"), TypeError, "timeout_ms is 'a', expected an integer"),
    (lambda: gpuemu.Client("/nowhere", timeout_ms=0), ValueError, "timeout_ms is 0, expected 1 or more"),
    (lambda: gpuemu.Client("/nowhere", timeout_ms=2**40), ValueError, "timeout_ms is 1099511627776, expected 2147483647 at most"),
    (lambda: gpuemu.Client("/tmp/\udc80", start=False).ping(), gpuemu.ConnectionError, "no socket can have this name"),
    (lambda: gpuemu.Client("/tmp/" + "a" * 300, start=False).ping(), gpuemu.ConnectionError, "Cannot connect to daemon"),
    (lambda: gpuemu.Client("/nowhere", start=False).run_tests("scale"), TypeError, r"ops is 'scale', expected a list, as in \['scale'\]"),
    (lambda: gpuemu.Kernel(None), gpuemu.LaunchError, "the source is None, expected CUDA C"),
    (lambda: gpuemu.Kernel(" "), gpuemu.LaunchError, "the source is empty"),
    (lambda: gpuemu.Kernel("/no/such.cu"), gpuemu.LaunchError, "there is no file '/no/such.cu'"),
    (lambda: gpuemu.Device(arch=80), ValueError, "80 is no architecture; expected one such as sm_80"),
    (lambda: layouts.place([1, 2, 3], layouts.contiguous((2,))), ValueError, "elements 0 to 2 are used of a storage of 2"),
]


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_a_wrong_argument_is_named(number):
    call, kind, said = WRONG[number]
    with pytest.raises(kind, match=said):
        call()


def test_hypothesis_strategies_say_what_they_take():
    strategies = pytest.importorskip("gpuemu.strategies")
    from hypothesis import given, settings

    def drawn(strategy):
        @settings(database=None, max_examples=1)
        @given(strategy)
        def run(x):
            pass

        run()

    with pytest.raises(ValueError, match="kinds is 'q', expected letters among f"):
        strategies.dtypes("q")
    for wrong, kind, said in ((strategies.tensors(dtype="floaty"), ValueError, "dtype is 'floaty'"), (strategies.tensors(shape=3), TypeError, "shape is 3"),
                              (strategies.tensors(strategies=["x"]), ValueError, "unknown strategy x")):  # fmt: skip
        with pytest.raises(kind, match=said):
            drawn(wrong)
