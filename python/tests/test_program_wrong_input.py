"""Tests that gpuemu.program names a wrong argument in the statement that writes the op."""

import numpy as np
import pytest

from gpuemu import program
from gpuemu.program import DTypeError, GradError, GraphError, ShapeError


@pytest.fixture(autouse=True)
def on_the_host():
    program.reset()
    program.set_backend("numpy")
    yield
    program.reset()


def x():
    return program.ones(3, 4)


def backward(gradient):
    program.call("relu", [program.ones(3, requires_grad=True)], gradient=gradient).backward()


@pytest.mark.parametrize(("call", "error", "says"), [
    (lambda: program.set_backend(3), TypeError, "backend is of type int, expected a str"),
    (lambda: program.set_backend("emulator", arch=80), TypeError, "arch is of type int, expected a str"),
    (lambda: program.set_backend("emulator", device="x", local=True), TypeError, "device is 'x', expected an integer"),
    (lambda: program.connect(3), TypeError, "connect: address is of type int, expected the path of a socket"),
    (lambda: program.ones(2, dtype=None), DTypeError, "dtype is None, expected a name such as 'float32'"),
    (lambda: program.cast(x(), None), DTypeError, "dtype is None"),
    (lambda: program.ones(2, name=3), TypeError, "name is of type int, expected a str or None"),
    (lambda: program.ones(1 << 40, 1 << 40), ShapeError, "which has room for 1208925819614629174706176 elements"),
    (lambda: program.zeros(*[1] * 17), ShapeError, "which has 17 axes, expected 16 at most"),
    (lambda: program.tensor([[1], [1, 2]]), ShapeError, "the tensor: .* inhomogeneous shape"),
    (lambda: program.layernorm(x(), program.ones(4), program.ones(4), eps="a"), TypeError, "layernorm: eps is 'a', expected a number"),
    (lambda: program.rmsnorm(x(), program.ones(4), eps=None), TypeError, "rmsnorm: eps is None, expected a number"),
    (lambda: program.attention(x(), x(), x(), scale="a"), TypeError, "attention: scale is 'a', expected a number"),
    (lambda: program.dropout(x(), "a", seed=1), TypeError, "dropout: p is 'a', expected a number"),
    (lambda: program.softmax(program.ones()), ShapeError, "softmax: axis is -1, and x has no axes"),
    (lambda: program.call(3, [x()]), TypeError, "kind is of type int, expected the name of an op"),
    (lambda: program.call("relu", x()), TypeError, "relu: inputs is of type Tensor, expected a list of tensors"),
    (lambda: program.call("relu", [x()], 3), TypeError, "relu: attrs is of type int, expected a dict or None"),
    (lambda: program.call("relu", [x()], outputs=3), TypeError, r"relu: outputs is 3, expected a list of \(shape, dtype\)"),
    (lambda: program.call("relu", [x()], outputs=[(2, 2)]), DTypeError, "'2' is no dtype; expected float16"),
    (lambda: program.call("relu", [x()], outputs=[((2, 2), "float32")]), ShapeError, r"outputs= has float32\[2,2\] for y, expected float32\[3,4\]"),
    (lambda: program.call("relu", [x()], gradient=3), TypeError, "gradient is of type int, expected a function or None"),
    (lambda: backward(None), GradError, "backward: relu has no gradient; give call"),
    (lambda: backward(lambda grads, inputs, outputs: None), GradError, "the gradient of relu returns None, expected a list: a tensor or None for each input"),
    (lambda: backward(lambda grads, inputs, outputs: grads[0]), GradError, "the gradient of relu returns Tensor.*, expected a list"),
    (lambda: backward(lambda grads, inputs, outputs: []), GradError, "the gradient of relu returns 0 tensors, expected 1"),
])  # fmt: skip
def test_a_wrong_argument_is_named(call, error, says):
    with pytest.raises(error, match=says):
        call()


def test_outputs_that_are_what_the_op_infers_may_be_given():
    assert program.call("relu", [x()], outputs=[((3, 4), "float32")]).shape == (3, 4)
    index = program.tensor(np.array([0, 2]))
    assert program.call("embedding_bwd", [index, program.ones(2, 4)], outputs=[((3, 4), "float32")]).data.sum() == 8
    with pytest.raises(GraphError, match="the outputs do not follow from the inputs; give outputs="):
        program.call("embedding_bwd", [index, program.ones(2, 4)])


def test_a_missing_argument_is_told_with_the_name_of_the_function():
    x = program.ones(2)
    for call in (lambda: program.dropout(x), x.dropout):
        with pytest.raises(TypeError, match=r"^dropout\(\) missing 1 required keyword-only argument: 'seed'"):
            call()
