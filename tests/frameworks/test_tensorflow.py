"""TensorFlow: conversions, graphs, gradients, and every call of an op in a block."""
import os

import numpy as np
import pytest

if not os.environ.get("GPUEMU_TEST_TENSORFLOW"):
    pytest.skip("set GPUEMU_TEST_TENSORFLOW=1: importing TensorFlow takes long", allow_module_level=True)
tf = pytest.importorskip("tensorflow")
import gpuemu  # noqa: E402
import ops  # noqa: E402
from gpuemu.frameworks import tensorflow as adapter  # noqa: E402

X = tf.constant([[1.0, -2.0, 3.0]])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "int8", "int64", "uint8", "bool"])
def test_every_dtype_goes_there_and_back(dtype):
    made = adapter.TensorFlowAdapter()
    tensor = tf.cast(tf.constant([0, 1, 2]), dtype)
    assert str(made.to_numpy(tensor).dtype) == dtype and made.get_dtype_name(tensor) == dtype
    back = made.from_numpy(made.to_numpy(tensor))
    assert back.dtype == tensor.dtype and bool(tf.reduce_all(back == tensor))


def test_calls_are_judged_eagerly_and_in_graphs(client):
    with adapter.validate_tensorflow(client, "scale", op="ops.double") as context:
        ops.double(X)
        graph = tf.function(lambda x: ops.double(x))
        graph(X)
        graph(X + 1)
    assert [one.passed for one in context["results"]] == [True] * 3
    with pytest.raises(gpuemu.ValidationError):
        with adapter.validate_tensorflow(client, "scale", op="ops.triple"):
            tf.function(lambda x: ops.triple(x))(X)


def test_outputs_and_gradients_of_a_block_are_judged(client):
    x = tf.Variable([1.0, 2.0])
    with adapter.validate_tensorflow(client, "scale", {"x": x}, check_gradient=True) as context:
        context["output"] = x * 2
    assert [one.passed for one in context["results"]] == [True, True]
    with pytest.raises(gpuemu.ValidationError):
        with adapter.validate_tensorflow(client, "scale", {"x": X}) as context:
            context["output"] = X


def test_ops_that_graphs_change_are_found():
    assert adapter.check_tf_function_safe(lambda x: x * 2, {"x": X}) and adapter.check_xla_compatible(lambda x: x * 2, {"x": X})
    assert not adapter.check_tf_function_safe(lambda x: x * (2 if tf.executing_eagerly() else 1), {"x": X})


def test_custom_gradients_are_compared_with_differences():
    x = {"x": tf.constant([1.0, 2.0, 3.0], dtype=tf.float64)}
    assert adapter.validate_custom_gradient(lambda x: x * x, lambda x: 2 * x, x)["gradient_ok"]
    told = adapter.validate_custom_gradient(lambda x: x * x, lambda x: x, x)
    assert not told["gradient_ok"] and "gradient of 'x'" in told["details"][0]
    assert adapter.check_backward(lambda x: x * x, lambda x: x**2, x)


def test_layers_and_drawn_cases_are_judged(client):
    assert adapter.check_keras_layer(tf.keras.layers.Lambda(lambda x: x * 2), (2, 3), client, "scale")
    assert not adapter.check_keras_layer(tf.keras.layers.Lambda(lambda x: x * 3), (2, 3), client, "scale")
    found = adapter.fuzz_tensorflow_op(client, "scale", lambda x: x * 2, iterations=1, seed=5)
    assert (found["total"], found["failed"]) == (1, 0)
    assert np.isfinite(found["passed"])
