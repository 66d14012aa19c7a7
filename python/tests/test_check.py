"""Property tests of Python functions: tests that faults are found, made smaller and reproduced."""

from typing import Annotated

import numpy as np
import pytest

import gpuemu
from gpuemu.check import schema


def double(x: gpuemu.Tensor["rows", "cols"]):
    return x * x.dtype.type(2)


def loses_a_tail(x: gpuemu.Tensor["rows", "cols"]):
    made = double(x)
    made[:, 8:] = 0
    return made


def test_a_right_function_passes_every_case_of_every_dtype():
    found = gpuemu.check(double, lambda x: 2 * x, cases=150, seed=1, dtypes=["float32", "float16", "float64", "int32"])
    assert (found.cases, found.passed, found.failed) == (150, 150, 0)


def test_a_failure_is_made_small_and_comes_back_by_its_number():
    with pytest.raises(gpuemu.CheckError) as caught:
        gpuemu.check(loses_a_tail, lambda x: 2 * x, seed=3)
    found = caught.value.check
    assert found.smallest.dims == {"rows": 1, "cols": 9}
    assert np.count_nonzero(found.smallest.inputs["x"]) == 1 and found.smallest.inputs["x"][0, 8] != 0
    number = found.failures[0].repro_info.iteration
    assert f"seed=3, only={number}" in str(caught.value) and "cols=9" in str(caught.value)
    again = gpuemu.check(loses_a_tail, lambda x: 2 * x, seed=3, only=number, raise_on_failure=False)
    assert again.failures[0].seed == found.failures[0].seed and again.failures[0].max_diff == found.failures[0].max_diff


@pytest.mark.parametrize(("cases", "said"), [(1, "1 of 1 case fails"), (2, "2 of 2 cases fail")])
def test_the_failing_cases_are_counted_in_words_that_agree(cases, said):
    with pytest.raises(gpuemu.CheckError) as caught:
        gpuemu.check(lambda x: x + 1, lambda x: x, inputs={"x": gpuemu.Tensor["n"]}, dims={"n": [4]}, cases=cases, seed=1, fail_fast=False)
    assert f"\n  {said}\n" in str(caught.value)
    html = caught.value.check._repr_html_()
    assert f": 0 of {said[5:].rsplit(' ', 1)[0]}<" in html


def test_a_reference_of_nothing_but_nan_is_noted():
    broken = gpuemu.check(lambda x: x * np.nan, lambda x: x * np.nan, inputs={"x": gpuemu.Tensor["n"]}, cases=10, seed=1)
    assert broken.passed == 10 and "nothing was compared with a number" in broken.notes[0]
    assert gpuemu.check(lambda x: x, lambda x: x, inputs={"x": gpuemu.Tensor["n"]}, cases=10, seed=1).notes == []


def test_an_exception_is_a_finding():
    def refuses(x: gpuemu.Tensor["n"]):
        if x.size > 4:
            raise RuntimeError("too many")
        return x

    found = gpuemu.check(refuses, lambda x: x, seed=1, raise_on_failure=False)
    assert found.failures[0].failures[0].kind == "ExecutionError" and found.smallest.dims == {"n": 5}


def test_the_same_seed_draws_the_same_cases_and_another_one_others():
    def seen(seed):
        drawn = []
        gpuemu.check(lambda x: drawn.append(x.copy()) or x, lambda x: x, cases=5, seed=seed)
        return [one.tobytes() for one in drawn]

    assert seen(9) == seen(9) != seen(10)
    assert seen(-1) == seen(2**64 - 1) == seen(np.int64(-1))
    with pytest.raises(ValueError, match="only is -1"):
        gpuemu.check(double, lambda x: 2 * x, only=-1)


def test_annotations_say_shapes_dtypes_ranges_and_numbers():
    shapes = set()

    def gather(table: gpuemu.Tensor["rows", 4], index: gpuemu.Tensor["n"].of("int64", range=(0, 0)), gain: float,
               bias: int, mode: str = "fast"):
        shapes.add((table.shape[1], index.dtype.name, mode, isinstance(bias, int), -4 <= gain <= 4))
        return table[index] * gain + bias

    found = gpuemu.check(gather, lambda table, index, gain, bias: table[index] * gain + bias, cases=40, dtypes=["float64"], seed=2)
    assert found.passed == 40 and shapes == {(4, "int64", "fast", True, True)}


def test_equal_names_are_equal_sizes_and_choices_are_kept():
    def product(a: Annotated[np.ndarray, gpuemu.Tensor["m", "k"]], b: Annotated[np.ndarray, gpuemu.Tensor["k", "n"]]):
        assert a.shape[1] == b.shape[0] and b.shape[1] in (3, 5)
        return a @ b

    found = gpuemu.check(product, lambda a, b: a @ b, cases=30, seed=4, dims={"n": [5, 3, 5], "m": (1, 8)}, dtypes=["float64"],
                         strategies=["normal", "small_int"])
    assert found.passed == 30


def test_what_cannot_be_inferred_is_said():
    def takes(x: gpuemu.Tensor["n"], how: dict):
        return x

    with pytest.raises(TypeError, match="'how'"):
        gpuemu.check(takes, lambda x: x)
    with pytest.raises(ValueError, match="dims has m"):
        gpuemu.check(double, lambda x: x, dims={"m": (1, 2)})
    with pytest.raises(ValueError, match="unknown strategies no_such"):
        gpuemu.check(double, lambda x: x, strategies=["no_such"])
    assert schema.infer(lambda x: x).tensors == {"x": gpuemu.Tensor()}


def test_layouts_are_real_strides_and_what_needs_one_is_found_in_it():
    seen = set()

    def flat_is_row_major(x: gpuemu.Tensor["rows", "cols"]):
        packed = x.strides == (x.shape[1] * x.itemsize, x.itemsize)
        seen.add("packed" if packed else "0" if 0 in x.strides else "-" if min(x.strides) < 0 else "^" if x.strides[0] < x.strides[1] else "+")
        rows, cols = x.shape
        return np.lib.stride_tricks.as_strided(x, x.shape, (cols * x.itemsize, x.itemsize)) if x.strides[0] > cols * x.itemsize else x

    kinds = ["contiguous", "strided", "transposed", "broadcast", "reversed"]
    dims = {"rows": (3, 20), "cols": (3, 20)}
    found = gpuemu.check(flat_is_row_major, lambda x: x, layouts=kinds, cases=60, seed=2, dims=dims, raise_on_failure=False, fail_fast=False)
    assert seen == {"packed", "0", "-", "^", "+"} and 0 < found.failed < 60
    assert found.smallest.layout == "strided" and "layout=strided" in found.smallest.describe()
    again = gpuemu.check(flat_is_row_major, lambda x: x, layouts=kinds, only=found.failures[0].repro_info.iteration, seed=2, dims=dims,
                         raise_on_failure=False)
    assert again.failures[0].seed == found.failures[0].seed
    with pytest.raises(ValueError, match="unknown layouts diagonal; there are contiguous, strided"):
        gpuemu.check(flat_is_row_major, lambda x: x, layouts=["diagonal"])
    with pytest.raises(ValueError, match="layouts is empty"):
        gpuemu.check(flat_is_row_major, lambda x: x, layouts=[])


def test_an_op_is_called_like_its_function_and_checks_itself():
    @gpuemu.op(lambda x: np.maximum(x, 0), dims={"cols": (1, 5)}, cases=20)
    def relu(x: gpuemu.Tensor["rows", "cols"]):
        """Of x."""
        return np.maximum(x, x.dtype.type(0))

    assert relu(np.float32(-1)) == 0 and relu.__doc__ == "Of x."
    assert relu.check(seed=1).passed == 20 and relu.check(seed=1, cases=3).passed == 3


def test_results_show_themselves_in_a_notebook():
    found = gpuemu.check(loses_a_tail, lambda x: 2 * x, seed=3, raise_on_failure=False)
    page = found._repr_html_()
    assert "FAIL" in page and "ToleranceExceeded" in page and "cols=9" in page and "<table>" in page
    pytest.importorskip("matplotlib")
    figure = found.failures[0].plot()
    assert [axes.get_xlabel() for axes in figure.axes][:2] == ["last axis", "log10 |output - reference|"]
    assert [line.get_label().split()[0] for line in figure.axes[1].lines] == ["bound"], "what the finding says it may be off"
    with pytest.raises(ValueError, match="without the arrays"):
        gpuemu.ValidationResult(op_name="x").plot()

