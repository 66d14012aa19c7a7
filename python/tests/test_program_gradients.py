"""Tests gradients of every function of gpuemu.program against finite differences in float64."""

import numpy as np
import pytest

from gpuemu import program

STEP = 1e-6


@pytest.fixture(autouse=True)
def on_the_host():
    program.reset()
    program.set_backend("numpy")
    yield
    program.reset()


def drawn(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


A, B = drawn(3, 4, seed=1), drawn(3, 4, seed=2)
IMAGE, WEIGHTS = drawn(2, 3, 5, 6, seed=3), drawn(4, 3, 3, 2, seed=4)
INDEX = np.array([2, 0, 2, -1, 5])
CASES = {
    "add": (lambda a, b: a + b, [A, B[0]]),
    "sub": (lambda a, b: a - b, [A[:, :1], B]),
    "mul": (lambda a, b: a * b, [A, B]),
    "mul broadcasts both": (lambda a, b: a * b, [A[:, :1], B[:1]]),
    "mul by a scalar": (lambda a, b: a * b, [A, np.array(1.5)]),
    "div": (lambda a, b: a / b, [A, np.abs(B) + 1.0]),
    "numbers": (lambda a: 2.0 * a - a / 4.0 + (1.0 - a) * 3, [A]),
    "array on the left": (lambda a: B * a, [A]),
    "neg": (lambda a: -a, [A]),
    "matmul": (lambda a, b: a @ b, [A, B.T.copy()]),
    "transpose": (lambda a: program.transpose(a) * B.T.copy(), [A]),
    "linear": (program.linear, [A, B, drawn(3)]),
    "linear without b": (program.linear, [A, B]),
    "linear of three axes": (program.linear, [drawn(2, 3, 4), B, drawn(3)]),
    "relu": (program.relu, [A]),
    "gelu": (program.gelu, [np.concatenate([A, [[0.0, 1e-3, -6.0, 7.0]]])]),
    "silu": (program.silu, [A * 3]),
    "sigmoid": (program.sigmoid, [A * 3]),
    "tanh": (program.tanh, [A]),
    "softmax": (lambda a: program.softmax(a) * B, [A]),
    "softmax of the first axis": (lambda a: program.softmax(a, axis=0) * B, [A]),
    "softmax of a middle axis": (lambda a: program.softmax(a, axis=1) * drawn(2, 3, 4, seed=9), [drawn(2, 3, 4)]),
    "sum": (lambda a: a.sum() * 2.0, [A]),
    "sum of an axis": (lambda a: a.sum(axis=0) * B[0], [A]),
    "sum of two axes": (lambda a: a.sum(axis=(0, 2)) * B[:, 0], [drawn(2, 3, 4)]),
    "sum keeps": (lambda a: a.sum(axis=1, keepdims=True) * B, [A]),
    "mean": (lambda a: a.mean(), [A]),
    "mean of an axis": (lambda a: a.mean(axis=-1) * B[:, 0], [A]),
    "max": (lambda a: a.max() * 3.0, [A]),
    "max of an axis": (lambda a: a.max(axis=0) * B[0], [A]),
    "max keeps": (lambda a: a.max(axis=1, keepdims=True) * B, [drawn(3, 4, seed=7)]),
    "mse_loss": (program.mse_loss, [A, B]),
    "cross_entropy": (lambda a: program.cross_entropy(a, np.array([1, 3, -1])), [A]),
    "layernorm": (lambda x, w, b: program.layernorm(x, w, b) * B, [A, drawn(4), drawn(4, seed=5)]),
    "rmsnorm": (lambda x, w: program.rmsnorm(x, w) * B, [A, drawn(4)]),
    "rmsnorm of three axes": (lambda x, w: program.rmsnorm(x, w, eps=0.5) * 2.0, [drawn(2, 3, 4), drawn(4)]),
    "conv2d": (program.conv2d, [IMAGE, WEIGHTS, drawn(4)]),
    "conv2d with stride and padding": (lambda x, w: program.conv2d(x, w, stride=(2, 1), padding=(1, 2)), [IMAGE, WEIGHTS]),
    "max_pool2d": (lambda x: program.max_pool2d(x, 2), [IMAGE]),
    "max_pool2d that overlaps": (lambda x: program.max_pool2d(x, (3, 2), stride=1), [IMAGE]),
    "avg_pool2d": (lambda x: program.avg_pool2d(x, (2, 3)), [IMAGE]),
    "avg_pool2d that overlaps": (lambda x: program.avg_pool2d(x, 3, stride=1), [IMAGE]),
    "attention": (program.attention, [drawn(2, 3, 4), drawn(2, 5, 4, seed=1), drawn(2, 5, 2, seed=2)]),
    "attention causal": (lambda q, k, v: program.attention(q, k, v, causal=True, scale=0.7), [A, drawn(5, 4), drawn(5, 2)]),
    "embedding": (lambda t: program.embedding(t, INDEX), [A]),
    "gather": (lambda t: program.gather(t, INDEX), [drawn(4, 3)]),
    "gather of an axis": (lambda t: program.gather(t, INDEX.reshape(1, 5), axis=1), [drawn(2, 4, 3)]),
    "dropout": (lambda a: program.dropout(a, 0.3, seed=7), [A]),
    "reshape": (lambda a: a.reshape(2, -1) * drawn(2, 6), [A]),
    "cast": (lambda a: a.cast("float64") * 2.0, [A]),
}  # fmt: skip


def value(function, arrays, weights):
    made = function(*(program.tensor(one) for one in arrays)).numpy()
    return float((made * weights).sum())


@pytest.mark.parametrize("name", CASES)
def test_a_gradient_follows_finite_differences(name):
    function, arrays = CASES[name]
    tensors = [program.tensor(one, requires_grad=True) for one in arrays]
    y = function(*tensors)
    weights = drawn(*y.shape, seed=11)
    y.backward(weights)
    for index, (one, tensor) in enumerate(zip(arrays, tensors)):
        expected = np.zeros(one.shape)
        for at in np.ndindex(one.shape):
            ends = []
            for step in (STEP, -STEP):
                moved = [other.copy() for other in arrays]
                moved[index][at] += step
                ends.append(value(function, moved, weights))
            expected[at] = (ends[0] - ends[1]) / (2 * STEP)
        got = tensor.grad.numpy()
        assert got.dtype == np.float64 and got.shape == one.shape
        np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-8 * max(1.0, np.abs(expected).max()))


def test_every_function_has_a_case():
    from gpuemu.program.functions import NAMES

    assert {name.split()[0] for name in CASES} | {"numbers", "array"} >= set(NAMES)


def test_relu_at_zero_has_gradient_zero_and_the_first_of_equal_maxima_gets_all():
    x = program.tensor([0.0, -0.0, 2.0], requires_grad=True)
    program.relu(x).backward()
    assert x.grad.numpy().tolist() == [0.0, 0.0, 1.0]
    y = program.tensor([[1.0, 3.0, 3.0], [5.0, 5.0, 5.0]], requires_grad=True)
    y.max(axis=1).backward()
    assert y.grad.numpy().tolist() == [[0, 1, 0], [1, 0, 0]]
    z = program.tensor([[1.0, 1.0], [1.0, 1.0]], requires_grad=True)
    z.max().backward()
    assert z.grad.numpy().tolist() == [[1, 0], [0, 0]]
    image = program.ones(1, 1, 2, 2, requires_grad=True)
    program.max_pool2d(image, 2).backward()
    assert image.grad.numpy().reshape(-1).tolist() == [1, 0, 0, 0]


def test_backward_adds_and_begins_with_ones():
    x = program.tensor([1.0, 2.0], requires_grad=True)
    y = x * 3.0
    y.backward()
    y.backward()
    assert x.grad.numpy().tolist() == [6.0, 6.0]
    x.zero_grad()
    assert x.grad is None
    (x * x + x).backward()
    assert x.grad.numpy().tolist() == [3.0, 5.0]
    assert not x.grad.requires_grad


def test_a_value_used_twice_gets_both_gradients():
    x = program.tensor([2.0], requires_grad=True)
    h = x * 3.0
    (h * h + h).backward()
    assert x.grad.item() == 3.0 * (2 * 6.0 + 1)


def test_what_has_no_gradient_says_so():
    plain = program.ones(2)
    with pytest.raises(program.GradError, match="requires no gradient"):
        plain.sum().backward()
    x = program.ones(2, requires_grad=True)
    with program.no_grad():
        assert not (x * 2.0).requires_grad
    assert not x.detach().requires_grad
    with pytest.raises(program.ShapeError, match=r"\[3\], expected \[2\]"):
        (x * 2.0).backward(np.ones(3))
    with pytest.raises(program.DTypeError, match="int64"):
        program.tensor([1, 2], requires_grad=True)
    y = program.call("relu", [x])
    with pytest.raises(program.GradError, match="backward: relu has no gradient"):
        y.backward()
    assert x.grad is None


def test_the_gradient_of_a_maximum_of_many_equal_elements_goes_to_the_first():
    x = program.zeros(3, 5000, requires_grad=True)
    x.max().backward()
    assert np.flatnonzero(x.grad.numpy()).tolist() == [0]
    x.zero_grad()
    x.max(axis=0, keepdims=True).backward()
    assert np.flatnonzero(x.grad.numpy()).tolist() == list(range(5000))


def test_an_op_of_ones_own_gradient():
    x = program.tensor([-1.0, 2.0], requires_grad=True)
    y = program.call("relu", [x], gradient=lambda grads, inputs, outputs: [grads[0] * outputs[0]])
    y.backward()
    assert x.grad.numpy().tolist() == [0.0, 2.0]
    wrong = program.call("relu", [x], gradient=lambda grads, inputs, outputs: [])
    with pytest.raises(program.GradError, match="returns 0 tensors, expected 1"):
        wrong.backward()


def test_dropout_drops_the_same_elements_on_the_way_back():
    x = program.ones(1000, requires_grad=True)
    y = program.dropout(x, 0.25, seed=3)
    y.backward()
    assert np.array_equal(y.numpy(), x.grad.numpy())
    assert 650 < np.count_nonzero(y.numpy()) < 850
    assert np.array_equal(program.dropout(x, 0.25, seed=3).numpy(), y.numpy())
    assert not np.array_equal(program.dropout(x, 0.25, seed=4).numpy(), y.numpy())
