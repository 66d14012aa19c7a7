"""Sequences of lazy ops whose operands, gradients and numbers are one value, or whose ops fail, on the host and on the emulator."""
import importlib.util
import random
import weakref

import numpy as np
import pytest

from test_programs import gpuemu, program, runtime
from gpuemu.program.local import LocalPlace
from gpuemu.program.places import HostPlace
from gpuemu.program.tape import TAPE

SEQUENCES = 40  # Takes about 1 s on the emulator.


@pytest.fixture(scope="module")
def emulator():
    with runtime.Device("emulator", threads=1) as made:
        yield made


@pytest.fixture(params=["numpy", "emulator"])
def place(request, monkeypatch):
    """New tensors are computed there. No op was written before, and none is pending."""
    monkeypatch.setattr(TAPE, "written", {})
    monkeypatch.setattr(TAPE, "pending", [])
    monkeypatch.setattr(TAPE, "failed", weakref.WeakSet())
    program.reset()
    if request.param == "numpy":
        program.set_backend("numpy")
    else:
        program.set_backend("emulator", local=True, device=request.getfixturevalue("emulator"))
    yield HostPlace if request.param == "numpy" else LocalPlace
    program.reset()


def leaf(*rows):
    return program.tensor(np.array(rows), requires_grad=True)


def gradients(*leaves):
    return [one.grad.data.tolist() for one in leaves]


def squared():
    x = leaf(3.0, 4.0)
    (x * x).sum().backward()
    assert gradients(x) == [[6.0, 8.0]]


def times_itself_detached():
    x = leaf(3.0, 4.0)
    (x * x.detach()).sum().backward()
    assert gradients(x) == [[3.0, 4.0]]


def begun_with_an_operand():
    x, c = leaf(3.0, 4.0), leaf(2.0, 5.0)
    (x * c).backward(c)
    assert gradients(x, c) == [[4.0, 25.0], [6.0, 20.0]]


@pytest.mark.parametrize("first", [squared, times_itself_detached, begun_with_an_operand])
def test_a_product_after_one_of_equal_values_has_the_gradients_of_its_operands(place, first):
    first()
    a, b = leaf(3.0, 2.0), leaf(5.0, 7.0)
    (a * b).backward(program.tensor(np.array([10.0, 1.0])))
    assert gradients(a, b) == [[50.0, 7.0], [30.0, 2.0]]
    a, c = leaf(3.0, 2.0), program.tensor(np.array([5.0, 7.0]))
    (a * c).backward(program.tensor(np.array([10.0, 1.0])))
    assert gradients(a) == [[50.0, 7.0]]


def test_a_matrix_product_after_a_square_has_the_gradients_of_its_operands(place):
    q, r, s = leaf([1.0, 2.0], [3.0, 4.0]), leaf([1.0, 0.0], [0.0, 1.0]), leaf([8.0, 12.0], [0.0, 1.0])
    (q @ q).sum().backward()
    (r @ s).sum().backward()
    assert gradients(q, r, s) == [[[7.0, 11.0], [9.0, 13.0]], [[20.0, 1.0]] * 2, [[1.0] * 2] * 2]


@pytest.mark.parametrize("loss", [program.mean, lambda x: program.mse_loss(x, np.array([[2.0]])), lambda x: program.cross_entropy(program.linear(x, np.array([[1.0], [3.0]])), np.array([1]))])
def test_a_gradient_that_begins_with_a_kept_number_is_not_repeated_with_it(place, loss):
    def gradient(factor):
        x = leaf([7.0])
        made = loss(x)
        (made if factor is None else made * factor).backward()
        return x.grad.item()

    once = gradient(None)
    assert once != 0.0 and [gradient(3.0), gradient(0.25), gradient(None)] == [once * 3.0, once * 0.25, once]


def fail_tanh(place, monkeypatch):
    """Lets every graph with a tanh fail as one whose kernel the device refuses."""
    run = place.run

    def refusing(self, prepared, graph, *rest):
        if any(one.kind == "tanh" for one in graph.nodes):
            raise gpuemu.DeviceError("tanh was refused", "Internal")
        return run(self, prepared, graph, *rest)

    monkeypatch.setattr(place, "run", refusing)


def read(one):
    try:
        return one.data.tolist()
    except gpuemu.DeviceError as problem:
        return problem.args[0]


def test_values_beside_a_failed_op_are_computed_after_one_of_them(place, monkeypatch):
    fail_tanh(place, monkeypatch)
    x = program.full((2,), 1.0)
    bad, double, triple = x.tanh(), x * 2.0, x * 3.0
    assert [read(one) for one in (double, triple, bad, double, bad)] == [[2.0] * 2, [3.0] * 2, "tanh was refused", [2.0] * 2, "tanh was refused"]


def test_a_value_that_another_one_needed_is_computed_after_a_failed_op(place, monkeypatch):
    fail_tanh(place, monkeypatch)
    x = program.full((2,), 1.0)
    double = x * 2.0
    more, bad = double + 1.0, x.tanh()
    assert [read(one) for one in (more, double, bad)] == [[3.0] * 2, [2.0] * 2, "tanh was refused"]
    assert read(double * more) == [6.0] * 2


def test_reading_a_computed_value_raises_no_error_of_another_one(place, monkeypatch):
    fail_tanh(place, monkeypatch)
    x = program.full((2,), 1.0)
    double = x * 2.0
    double.data
    bad, worse = x.tanh(), double.tanh()
    assert [read(one) for one in (double, x)] == [[2.0] * 2, [1.0] * 2] and [read(one) for one in (bad, worse)] == ["tanh was refused"] * 2


def test_a_tape_is_empty_after_an_op_was_dropped_and_the_others_were_read(place):
    x = program.ones(3)
    y = x * 2.0
    x - 1.0
    assert y.data.tolist() == [2.0] * 3 and not TAPE.pending


def test_the_graph_of_a_computed_tensor_only_copies_it(place):
    x = program.ones(3)
    y = x + 1.0
    y.data
    for one in (x, y):
        graph = one.graph()
        assert [node.kind for node in graph.nodes] == ["copy_saved"] and [value.shape for value in graph.values] == [(3,)] * 2


def test_equal_functions_of_two_files_are_told_with_their_own(place, tmp_path):
    def loaded(name, source):
        path = tmp_path / name
        path.write_text(source)
        spec = importlib.util.spec_from_file_location(name, path)
        module = importlib.util.module_from_spec(spec)
        exec(compile(source, str(path), "exec"), module.__dict__)
        return module.double

    x = program.ones(3)
    sources = {"a.py": "def double(x):\n    return x * 2.0\n", "b.py": "def double(x):\n    return x * 2.0\n", "c.py": "def double(x):\n\n    return x * 2.0\n"}
    for name, source in sources.items():
        loaded(name, source)(x).data
        assert TAPE.last.graph.nodes[0].where == f"{tmp_path / name}:{2 + (name == 'c.py')}"
    assert len(TAPE.plans) == 1


class Known:
    """A value and its gradient by NumPy. A value that cannot be computed is NaN, and so is all that needs it."""

    def __init__(self, value, needs=False, parents=(), back=None):
        self.value, self.needs, self.parents, self.back, self.grad = np.asarray(value), needs, parents, back, None

    def backward(self, dy):
        """Adds a product to the gradient of each leaf for each way to it: slow, but with nothing to remember."""
        if self.back is None:
            self.grad = dy if self.grad is None else self.grad + dy
            return
        for one, made in zip(self.parents, self.back(dy)):
            if one.needs:
                one.backward(made)


# For each op: a lazy call, its value, and the gradients of its operands.
OPS = {
    "add": (lambda a, b: a + b, lambda a, b: a + b, lambda dy, y, a, b: (dy, dy)),
    "sub": (lambda a, b: a - b, lambda a, b: a - b, lambda dy, y, a, b: (dy, -dy)),
    "mul": (lambda a, b: a * b, lambda a, b: a * b, lambda dy, y, a, b: (dy * b, dy * a)),
    "matmul": (lambda a, b: a @ b, lambda a, b: a @ b, lambda dy, y, a, b: (dy @ b.T, a.T @ dy)),
    "mse": (program.mse_loss, lambda a, b: ((a - b) ** 2).mean(), lambda dy, y, a, b: (dy * 2 * (a - b) / a.size, dy * 2 * (b - a) / a.size)),
    "tanh": (program.tanh, np.tanh, lambda dy, y, a: (dy * (1 - y * y),)),
    "sigmoid": (program.sigmoid, lambda a: 1 / (1 + np.exp(-a)), lambda dy, y, a: (dy * y * (1 - y),)),
    "neg": (lambda a: -a, lambda a: -a, lambda dy, y, a: (-dy,)),
    "relu": (program.relu, lambda a: np.maximum(a, 0), lambda dy, y, a: (dy * (a > 0) + 0 * a,)),
    "sum": (program.sum, np.sum, lambda dy, y, a: (dy + np.zeros(a.shape),)),
    "mean": (program.mean, np.mean, lambda dy, y, a: (dy / a.size + np.zeros(a.shape),)),
    "double": (lambda a: a * 2.0, lambda a: a * 2, lambda dy, y, a: (dy * 2,)),
    "once": (lambda a: 1.0 * a, lambda a: a, lambda dy, y, a: (dy,)),
    "halve": (lambda a: a / 2.0, lambda a: a / 2, lambda dy, y, a: (dy / 2,)),
    "more": (lambda a: a + 1.0, lambda a: a + 1, lambda dy, y, a: (dy,)),
}


class Sequence:
    """Does the same with tensors and with NumPy, and compares what is read. Each entry of `pool` is a tensor and its Known."""

    def __init__(self, choices, numbers, size, fails):
        self.choices, self.numbers, self.size, self.fails = choices, numbers, size, fails
        self.pool = []
        self.add_leaf()

    def add_leaf(self):
        value, needs = self.numbers.uniform(-1, 1, (self.size, self.size)), self.choices.random() < 0.8
        self.pool.append((program.tensor(value, requires_grad=needs), Known(value, needs)))

    def like(self, shape):
        return self.choices.choice([one for one in self.pool if one[0].shape == shape])

    def write(self):
        name = self.choices.choice(list(OPS))
        written, value, back = OPS[name]
        chosen = [self.choices.choice(self.pool)]
        if name in ("add", "sub", "mul", "matmul", "mse"):
            chosen.append(self.like(chosen[0][0].shape))
        if name == "matmul" and not chosen[0][0].shape:
            return
        arrays = [known.value for _, known in chosen]
        y = np.asarray(value(*arrays)) * (np.nan if name == "tanh" and self.fails else 1.0)
        if np.abs(y).max() > 100:
            return
        parents = [known for _, known in chosen]
        known = Known(y, any(one.needs for one in parents), parents, lambda dy: back(dy, y, *arrays))
        self.pool.append((written(*[tensor for tensor, _ in chosen]), known))

    def detach(self):
        tensor, known = self.choices.choice(self.pool)
        self.pool.append((tensor.detach(), Known(known.value)))

    def backward(self):
        losses = [one for one in self.pool if not one[0].shape]
        tensor, known = self.choices.choice(losses if losses and self.choices.random() < 0.7 else self.pool)
        if not known.needs:
            return
        how = self.choices.choice(["ones", "ones", "a value", "itself"])
        with_tensor, with_known = (tensor, known) if how == "itself" else self.like(tensor.shape)
        tensor.backward(None if how == "ones" else with_tensor)
        known.backward(np.ones(tensor.shape) if how == "ones" else with_known.value)

    def assign(self):
        tensor, known = self.choices.choice(self.pool)
        if known.back is None:
            other, by = self.like(tensor.shape)
            tensor.assign(other)
            known.value = by.value

    def zero(self):
        tensor, known = self.choices.choice(self.pool)
        tensor.zero_grad()
        known.grad = None

    def graph(self):
        self.choices.choice(self.pool)[0].graph()

    def compare(self):
        tensor, known = self.choices.choice(self.pool)
        self.same(tensor, known)

    def same(self, tensor, known):
        compared(tensor, known.value)
        assert (tensor.grad is None) == (known.grad is None)
        if known.grad is not None:
            compared(tensor.grad, known.grad)

    def run(self, steps):
        doing = [self.write] * 12 + [self.backward] * 4 + [self.compare] * 2 + [self.add_leaf, self.detach, self.assign, self.zero, self.graph]
        for _ in range(steps):
            self.choices.choice(doing)()
            if len(self.pool) > 7:
                self.pool.pop(self.choices.randrange(len(self.pool)))
        for one in self.pool:
            self.same(*one)


def compared(tensor, value):
    if np.isnan(value).any():
        with pytest.raises(gpuemu.DeviceError, match="tanh was refused"):
            tensor.data
    else:
        np.testing.assert_allclose(tensor.data, value, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("fails", [False, True])
def test_random_sequences_have_the_values_and_gradients_of_numpy(place, monkeypatch, fails):
    if fails:
        fail_tanh(place, monkeypatch)
    for seed in range(SEQUENCES):
        for one in (TAPE.written, TAPE.pending, TAPE.failed):  # Nothing is left of the sequence before.
            one.clear()
        for step in range(3):  # The same ops, with new data.
            try:
                Sequence(random.Random(seed), np.random.default_rng([seed, step]), 1 + seed % 2, fails).run(40)
            except Exception as problem:
                raise AssertionError(f"sequence {seed}, step {step}") from problem
