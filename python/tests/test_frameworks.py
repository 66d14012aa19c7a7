"""Tests the code shared by the frameworks, with arrays of NumPy and a client that needs no daemon."""

import numpy as np
import pytest

from gpuemu.check.judge import compare
from gpuemu.check.tolerances import ToleranceConfig
from gpuemu.frameworks.base import FrameworkAdapter, GradientChecker
from gpuemu.frameworks.calls import fuzz, tolerance_of


class Plain(FrameworkAdapter):
    """Computes gradients of sum(x * x)."""

    def to_numpy(self, tensor):
        return np.asarray(tensor)

    def from_numpy(self, arr, like=None):
        return arr

    def requires_grad(self, tensor):
        return True

    def compute_gradient(self, output, inputs, grad_output=None):
        return {}

    def vjp(self, func, inputs, names, cotangent):
        return {name: 2 * inputs[name].astype(np.float64) * cotangent for name in names}


def test_an_adapter_makes_the_record_of_a_tensor_and_reads_it():
    from gpuemu.frameworks import BaseAdapter

    assert BaseAdapter is FrameworkAdapter
    for array in (np.arange(6, dtype=np.float32).reshape(2, 3).T, np.array(3, np.int64), np.zeros((0, 2), np.bool_)):
        told = Plain().to_tensor_data(array)
        assert told["shape"] == list(array.shape) and told["dtype"] == array.dtype.name
        back = Plain().from_tensor_data(told)
        assert back.dtype == array.dtype and (back == array).all() and back.shape == array.shape


@pytest.mark.parametrize("dtype, largest", [(np.float16, 100), (np.float32, 1e7), (np.float64, 1e7)])
def test_differences_are_taken_where_a_fixed_step_would_be_rounded_away(dtype, largest):
    x = {"x": np.array([0, 0.5, 3, largest], dtype)}
    checker = GradientChecker(Plain(), 1e-4, 1e-2, 1e-2)
    square = lambda x: np.square(x.astype(np.float64))  # noqa: E731
    assert checker.check(square, x)
    assert not checker.check(lambda x: 2 * square(x), x)


class Drawn:
    """A client whose case i is an array of i + 1 elements; its reference doubles them."""

    def __init__(self):
        self.judged = 0

    def get_test_batch(self, op_name, count, seed):
        return [{"seed": seed + i, "inputs": {"x": np.ones(i + 1)}} for i in range(count)]

    def _ask(self, call):
        self.judged += 1
        sent = call.request
        tolerance = None if sent.get("atol") is None else ToleranceConfig(sent["atol"], sent["rtol"])
        return compare(sent["output"].packed, 2 * sent["inputs"]["x"].packed, tolerance, op_name=sent["op_name"], seed=sent["seed"])


def fuzzed(run, extra=lambda inputs: [], fail_fast=False, rtol=None):
    client = Drawn()
    options = {"iterations": 4, "seed": 7, "fail_fast": fail_fast, "tolerance": tolerance_of(None, rtol)}
    return fuzz(client, "scale", run, extra, options), client.judged


def test_a_forgiven_case_does_not_end_a_run_that_stops_at_the_first_failure():
    found, judged = fuzzed(lambda inputs: 2.01 * inputs["x"], fail_fast=True, rtol=0.1)
    assert (found["total"], found["passed"], found["failed"], judged) == (4, 4, 0, 4)
    found, judged = fuzzed(lambda inputs: 2.01 * inputs["x"], fail_fast=True, rtol=0.001)
    assert (found["total"], found["failed"], len(found["forward_failures"]), judged) == (1, 1, 1, 1)


def test_a_wrong_gradient_fails_its_case_and_names_it():
    odd = lambda inputs: ["first", "second"] if inputs["x"].size % 2 == 0 else []  # noqa: E731
    found, _ = fuzzed(lambda inputs: 2 * inputs["x"], odd)
    assert (found["total"], found["passed"], found["failed"], found["forward_failures"]) == (4, 2, 2, [])
    assert [(one["case"], one["message"]) for one in found["backward_failures"]] == [(1, "first"), (1, "second"), (3, "first"), (3, "second")]
    assert fuzzed(lambda inputs: 2 * inputs["x"], odd, fail_fast=True)[0]["total"] == 2

    def raises(inputs):
        raise RuntimeError("no gradient")

    found, _ = fuzzed(lambda inputs: 2 * inputs["x"], raises)
    assert found["failed"] == 4 and found["backward_failures"][0] == {"case": 0, "message": "RuntimeError: no gradient"}
    found, _ = fuzzed(raises, raises)
    assert found["failed"] == 4 and found["backward_failures"] == []  # There is no output to differentiate.
