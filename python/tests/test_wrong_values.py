"""Tests values that would make a verdict meaningless: masked elements, coroutines, empty outputs, inputs that were changed
meanwhile."""

import inspect
import multiprocessing
import pickle
import re
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest

import gpuemu
from gpuemu import tensors
from gpuemu.check import judge
from gpuemu.client.records import ValidationResult
from gpuemu.device.places import Place

T = gpuemu.Tensor


def double(x):
    return x * 2


def checked(fn, reference=double, **options):
    def wrapped(x: T["n"]):
        return fn(x)

    return gpuemu.check(wrapped, reference, **{"seed": 1, "cases": 30, "name": "fn", **options})


def masked(array):
    return np.ma.masked_array(array, mask=True)


# --- masked arrays


def test_masked_elements_are_no_verdict():
    with pytest.raises(gpuemu.CheckError, match=r"the output is a masked array that masks \d+ of \d+ elements, .*\.filled\(value\)"):
        checked(lambda x: masked(x * 2 + 1))
    with pytest.raises(TypeError, match="the reference of 'fn' is a masked array"):
        checked(lambda x: x * 0 + 7, lambda x: masked(x * 2))
    with pytest.raises(TypeError, match="the reference is a masked array that masks 1 of 3"):
        judge.compare(np.ones(3), np.ma.masked_array(np.zeros(3), mask=[True, False, False]))
    with pytest.raises(TypeError, match="the output is a masked array"):
        judge.compare([masked(np.ones(3))], np.zeros((1, 3)))
    with pytest.raises(TypeError, match="output of reference_fn is a masked array"):
        gpuemu.calibrate_tolerance(masked, lambda x: x, [(4,)], n_samples=2)


def test_of_an_array_that_masks_nothing_the_data_counts():
    assert checked(lambda x: np.ma.masked_array(x * 2), lambda x: np.ma.masked_array(x * 2)).passed == 30
    with pytest.raises(gpuemu.CheckError, match="expected"):
        checked(lambda x: np.ma.masked_array(x * 3))
    structured = np.ma.masked_array(np.zeros(2, [("a", "f4"), ("b", "f4")]))
    assert type(tensors.as_array(structured)) is np.ndarray
    structured["b"] = np.ma.masked
    with pytest.raises(TypeError, match="masks 2 of 4"):
        tensors.as_array(structured)


def test_a_matrix_is_compared_as_an_array():
    result = judge.compare(np.ones((2, 3)).view(np.matrix), np.array([[1.0, 1, 1], [1, 1, 3]]).view(np.matrix))
    assert result.failures[0].index == 5 and "element 5 [1, 2]: expected 3, got 1" in result.failures[0].message


def test_masked_arrays_are_not_sent():
    client = gpuemu.Client("/nowhere", start=False)
    with pytest.raises(TypeError, match="the input 'x' is a masked array"):
        client.validate_op("scale", {"x": masked(np.ones(3))}, np.ones(3))
    with pytest.raises(TypeError, match="the output is a masked array"):
        client.validate_op("scale", {"x": np.ones(3)}, masked(np.ones(3)))
    with pytest.raises(TypeError, match="the output is None, expected an array"):
        client.validate_op("scale", {"x": np.ones(3)}, None)
    with pytest.raises(TypeError, match="the argument is a masked array"), gpuemu.validate(client, np.asarray, double) as model:
        model(masked(np.ones(3)))


# --- failures that keep their reason


def test_a_function_that_changes_its_input_is_judged_by_what_was_drawn():
    found = checked(lambda x: (x.fill(0), x)[1], raise_on_failure=False)
    text = str(gpuemu.CheckError(found))
    assert re.search(r"element \d+: expected \S+, got 0, .diff. ", text) and "'fn' changes its input 'x'" in text
    assert found.smallest.dims == {"n": 1} and found.smallest.inputs["x"][0] != 0
    assert checked(lambda x: np.multiply(x, 2, out=x)).passed == 30  # In place, and correct.


@pytest.mark.parametrize("layout", ["strided", "broadcast", "reversed"])
def test_in_every_layout(layout):
    found = checked(lambda x: (x.fill(0), x)[1], layouts=[layout], raise_on_failure=False)
    assert found.failures[0].failures and found.notes == ["'fn' changes its input 'x'"]


def test_a_reference_that_changes_its_input_changes_nothing_of_the_function():
    for dtype in ("float32", "int32", "bool"):
        with pytest.raises(gpuemu.CheckError):  # The function keeps an array that the reference clears.
            checked(lambda x: x.copy(), lambda x: (x.fill(0), x)[1], dtypes=[dtype])


def test_a_failure_that_does_not_come_again_keeps_its_text():
    calls = []

    def flaky(x):
        calls.append(1)
        return x * 2 + (len(calls) == 7)

    found = checked(flaky, raise_on_failure=False, fail_fast=False, strategies=["zeros"])
    text = str(gpuemu.CheckError(found))
    assert (found.failed, found.cases, found.smallest) == (1, 30, None)
    assert "got 1" in text and "does not fail again: 'fn' is not deterministic" in text and "smallest" not in text
    assert "not deterministic" in found._repr_html_()


def test_a_failure_keeps_the_arrays_that_were_wrong():
    buffer = np.zeros(1 << 10, np.float32)

    def reuses(x):
        buffer[: x.size] = x * 3
        return buffer[: x.size]

    found = checked(reuses, raise_on_failure=False)
    got, want = found.failures[0].compared
    assert np.allclose(got, want * 1.5)


def test_a_reference_that_takes_no_smaller_case_hides_no_failure():
    calls = []

    def triples(x):
        calls.append(1)
        return x * 3

    def needs_twenty(x):
        if calls and x.size < 20:
            raise ValueError("too few")
        return x * 2

    with pytest.raises(gpuemu.CheckError, match="smallest case: n=20"):
        checked(triples, needs_twenty, dims={"n": [32, 1, 19, 20, 21]}, only=3)  # A case of 21 elements.


def test_an_exception_of_any_kind_is_told():
    def raises(problem):
        def fn(x):
            raise problem

        found = checked(fn, raise_on_failure=False)
        return str(gpuemu.CheckError(found))

    class Mute(Exception):
        def __str__(self):
            raise RuntimeError

    assert r"ValueError: \udc80 text" in raises(ValueError("\udc80 text"))
    assert "Mute: (its text cannot be had: RuntimeError)" in raises(Mute())
    assert "SystemExit: 0" in raises(SystemExit(0))
    assert "(1000000 characters)" in raises(ValueError("a" * 10**6)) and len(raises(ValueError("a" * 10**6))) < 10000
    with pytest.raises(RuntimeError, match="the reference of 'fn' ended with SystemExit: 0"):
        checked(lambda x: x, lambda x: raises_exit())


def raises_exit():
    raise SystemExit(0)


def wrong_in_another_process():
    checked(lambda x: x * 3)


def test_errors_come_whole_out_of_other_processes():
    with pytest.raises(gpuemu.CheckError) as here:
        wrong_in_another_process()
    with ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as pool, pytest.raises(gpuemu.CheckError) as there:
        pool.submit(wrong_in_another_process).result()
    assert str(there.value) == str(here.value) and there.value.check.smallest.dims == here.value.check.smallest.dims
    kernel = gpuemu.KernelError([Place("race", "writes 'y'", "add", "/nowhere.cu", 3)])
    for error in (kernel, gpuemu.ValidationError(judge.compare(np.ones(3), np.zeros(3))), gpuemu.DeviceError("m", "Compile")):
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), str(again), repr(vars(again))) == (type(error), str(error), repr(vars(error)))


class Drawn(gpuemu.Client):
    """Returns two cases, and records what is submitted for them."""

    def __init__(self):
        self.seen = []

    def get_test_batch(self, *_):
        return [{"inputs": {"x": np.full(3, seed, np.float32)}, "seed": seed} for seed in (1, 2)]

    def submit_output(self, op_name, inputs, output, seed):
        return ValidationResult(bool(np.array_equal(output, 2 * inputs["x"])), seed, op_name)

    def _judged(self, pool, op_name, run_op, case):
        def ask(call):
            sent = call.request
            self.seen.append((sent["inputs"]["x"].packed.tolist(), sent["output"].packed.tolist()))
            return ValidationResult(True, 0, op_name)

        self._ask = ask
        return super()._judged(pool, op_name, run_op, case)


def test_the_daemon_gets_the_inputs_that_were_drawn():
    client = Drawn()
    client.fuzz_op_client_side("scale", lambda inputs: np.multiply(inputs["x"], 0, out=inputs["x"]), iterations=2, seed=1)
    assert client.seen == [([1.0] * 3, [0.0] * 3), ([2.0] * 3, [0.0] * 3)]
    left = Drawn().fuzz_op_client_side("scale", lambda inputs: raises_exit(), iterations=2, seed=1)
    assert left.failed == 2 and "SystemExit" in left.failures[0].failures[0].message


def test_a_model_that_changes_its_input_is_judged_by_what_it_was_given():
    client = gpuemu.Client("/nowhere", start=False)
    with pytest.raises(gpuemu.ValidationError), gpuemu.validate(client, lambda x: (x.fill(0), x)[1], double) as model:
        model(np.ones(3, np.float32))
    with gpuemu.validate(client, lambda x: np.multiply(x, 2, out=x), double) as model:
        assert model(np.ones(3, np.float32))[0] == 2

    class Module:
        """The parts of torch's hooks that validate uses."""

        def __init__(self):
            self.hooks = {}

        def __call__(self, *args, **kwargs):
            self.hooks["before"](self, args, kwargs)
            output = args[0].__imul__(0)
            self.hooks["after"](self, args, kwargs, output)
            return output

        def register_forward_pre_hook(self, hook, with_kwargs):
            return self.register("before", hook)

        def register_forward_hook(self, hook, with_kwargs):
            return self.register("after", hook)

        def register(self, when, hook):
            self.hooks[when] = hook
            return self

        def remove(self):
            self.hooks.clear()

    module = Module()
    with pytest.raises(gpuemu.ValidationError), gpuemu.validate(client, module, double):
        module(np.ones(3, np.float32))
    assert not module.hooks


# --- checks of nothing


@pytest.mark.parametrize("fn, reference, options", [
    (lambda x: (), lambda x: (), {}),
    (lambda x: x[:0], lambda x: x[:0], {}),
    (lambda x: x * 99, double, {"dims": {"n": (0, 0)}}),
])
def test_a_check_that_compares_nothing_is_an_error(fn, reference, options):
    with pytest.raises(ValueError, match="no output element of 'fn' was compared in any of 30 cases"):
        checked(fn, reference, **options)
    with pytest.raises(ValueError, match="no output element"):
        checked(fn, reference, **options, raise_on_failure=False)
    assert checked(fn, reference, **options, only=0).passed == 1


def test_empty_cases_among_others_are_none():
    found = checked(double, dims={"n": [0, 1, 7]})
    assert found.passed == 30 and found.compared > 0
    with pytest.warns(UserWarning, match="no element was compared: the outputs of all 1 calls"):
        with gpuemu.validate(gpuemu.Client("/nowhere", start=False), lambda x: x[:0], lambda x: x[:0]) as model:
            model(np.ones(3))


async def later(x):
    return x * 2


def one_by_one(x):
    yield from x


def test_coroutines_and_generators_are_told():
    plain = "call gpuemu.check with a plain function"
    for fn, kind in ((later, "coroutine"), (one_by_one, "generator")):
        with pytest.raises(TypeError, match=f"fn '{fn.__name__}' returns a {kind}; {plain}"):
            gpuemu.check(fn, double, inputs={"x": T["n"]})
        with pytest.raises(TypeError, match=f"reference '{fn.__name__}' returns a {kind}; {plain}"):
            checked(double, fn)
        with pytest.raises(TypeError, match=f"fn returned a {kind}; {plain}"):
            checked(lambda x, fn=fn: fn(x))
        with pytest.raises(TypeError, match=f"the reference of 'fn' returned a {kind}; {plain}"):
            checked(double, lambda x, fn=fn: fn(x))


def test_a_coroutine_that_is_refused_is_closed():
    made = later(np.ones(3))
    with pytest.raises(TypeError, match="the output is of type coroutine, expected an array"):
        judge.compare(made, np.ones(3))
    assert inspect.getcoroutinestate(made) == inspect.CORO_CLOSED
    for wrong in (map(abs, [1]), {1}, object(), (np.ones(2), np.ones(3))):
        with pytest.raises(TypeError, match=f"the output is of type {type(wrong).__name__}"):
            judge.compare(wrong, np.ones(3))
