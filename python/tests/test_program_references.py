"""Tests the references of gpuemu.program against those of the kernels, and its attributes against those of the library."""

import importlib.util
import pathlib

import numpy as np
import pytest

from gpuemu import op_attributes
from gpuemu.program.ops import primitives
from gpuemu.program.specs import Spec

ROOT = pathlib.Path(__file__).resolve().parents[2]
RNG = np.random.default_rng(5)


def normal(*shape):
    return RNG.normal(size=shape)


X, Y, W = normal(4, 6), normal(4, 6), normal(6)
TARGET = np.array([0, 5, -1, 6])
STEP = [normal(7), normal(7), normal(7), np.abs(normal(7)), np.array([0.01, 2.0, 3.0])]
STEPS = {"stride_rows": 2, "stride_columns": 1, "pad_rows": 1, "pad_columns": 0}
WINDOWS = {"kernel_rows": 3, "kernel_columns": 2, "stride_rows": 2, "stride_columns": 1}
# Shapes that do not follow from the inputs.
OUTPUTS = {"embedding_bwd": (6, 6), "gather_bwd": (2, 6, 3), "conv2d_bwd_x": (2, 3, 7, 6), "conv2d_bwd_w": (4, 3, 3, 2), "avg_pool2d_bwd": (2, 3, 7, 6)}
# op: file, inputs, attributes, further arguments of the kernel's reference
CASES = {
    "add": ("arithmetic/add", {"a": X, "b": Y}, {}),
    "sub": ("arithmetic/sub", {"a": X, "b": Y}, {}),
    "mul": ("arithmetic/mul", {"a": X, "b": Y}, {}),
    "div": ("arithmetic/div", {"a": X, "b": Y}, {}),
    "bias_add": ("bias_add/bias_add", {"x": X, "bias": W}, {}),
    "relu": ("relu/relu", {"x": np.append(X, [np.nan, np.inf, -0.0])}, {}),
    "relu_bwd": ("relu/relu_bwd", {"x": X, "dy": Y}, {}),
    "gelu": ("reference_scripts/gelu", {"x": np.append(X * 3, [-np.inf, np.inf, 0.0])}, {}),
    "silu": ("silu/silu", {"x": np.append(X * 9, [-np.inf, np.inf])}, {}),
    "sigmoid": ("sigmoid/sigmoid", {"x": np.append(X * 9, [-np.inf, np.inf, np.nan])}, {}),
    "tanh": ("tanh/tanh", {"x": X}, {}),
    "softmax": ("reference_scripts/softmax", {"x": X}, {}),
    "layernorm": ("reference_scripts/layernorm", {"x": X, "weight": W, "bias": W}, {"eps": 0.5}),
    "layernorm_bwd": ("layernorm/layernorm_bwd", {"x": X, "weight": W, "dy": Y}, {"eps": 0.5}),
    "rmsnorm": ("reference_scripts/rmsnorm", {"x": X, "weight": W}, {"eps": 0.5}),
    "gemm": ("gemm/gemm", {"a": X, "b": normal(3, 4)}, {"trans_a": 1, "trans_b": 1}),
    "linear_bwd": ("linear_bwd/linear_bwd", {"x": X, "w": normal(3, 6), "dy": normal(4, 3)}, {}),
    "reduce_sum": ("reduce/reduce_sum", {"x": X}, {"axis": 1}),
    "reduce_mean": ("reduce/reduce_mean", {"x": X}, {"axis": 1}),
    "reduce_max": ("reduce/reduce_max", {"x": X}, {"axis": 1}),
    "mse": ("mse/mse", {"x": X, "target": Y}, {}),
    "mse_grad": ("mse/mse_grad", {"x": X, "target": Y}, {}),
    "cross_entropy": ("cross_entropy/cross_entropy", {"x": X, "target": TARGET}, {}),
    "cross_entropy_grad": ("cross_entropy/cross_entropy_grad", {"x": X, "target": TARGET, "dloss": normal(4)}, {}),
    "attention": ("attention/attention", {"q": normal(2, 3, 4), "k": normal(2, 5, 4), "v": normal(2, 5, 2)}, {"causal": 1, "scale": 0.6}),
    "embedding_bwd": ("gather/embedding_bwd", {"index": TARGET, "dy": X}, {}),
    "gelu_bwd": ("activation_bwd/gelu_bwd", {"x": np.append(X * 3, [-np.inf, np.inf, np.nan, 0.0]), "dy": normal(28)}, {}),
    "silu_bwd": ("activation_bwd/silu_bwd", {"x": np.append(X * 9, [-np.inf, np.inf, np.nan, 0.0]), "dy": normal(28)}, {}),
    "sigmoid_bwd": ("activation_bwd/sigmoid_bwd", {"y": X, "dy": Y}, {}),
    "tanh_bwd": ("activation_bwd/tanh_bwd", {"y": X, "dy": Y}, {}),
    "softmax_bwd": ("softmax_bwd/softmax_bwd", {"y": X, "dy": Y}, {}),
    "rmsnorm_bwd": ("rmsnorm_bwd/rmsnorm_bwd", {"x": X, "weight": W, "dy": Y}, {"eps": 0.5}),
    "reduce_max_bwd": ("reduce_max_bwd/reduce_max_bwd", {"x": np.round(normal(2, 5, 3)), "dy": normal(2, 3)}, {"axis": 1}),
    "gather_bwd": ("gather_bwd/gather_bwd", {"index": TARGET, "dy": normal(2, 4, 3)}, {"axis": 1}),
    "attention_bwd": ("attention_bwd/attention_bwd", {"q": normal(2, 3, 4), "k": normal(2, 5, 4), "v": normal(2, 5, 2), "dy": normal(2, 3, 2)}, {"causal": 1, "scale": 0.6}),
    "conv2d": ("conv2d/conv2d", {"x": normal(2, 3, 7, 6), "w": normal(4, 3, 3, 2)}, STEPS),
    "conv2d_bwd_x": ("conv2d/conv2d_bwd_x", {"w": normal(4, 3, 3, 2), "dy": normal(2, 4, 4, 5)}, STEPS),
    "conv2d_bwd_w": ("conv2d/conv2d_bwd_w", {"x": normal(2, 3, 7, 6), "dy": normal(2, 4, 4, 5)}, STEPS),
    "max_pool2d": ("pool2d/max_pool2d", {"x": np.round(normal(2, 3, 7, 6))}, WINDOWS),
    "max_pool2d_bwd": ("pool2d/max_pool2d_bwd", {"x": np.round(normal(2, 3, 7, 6)), "dy": normal(2, 3, 3, 5)}, WINDOWS),
    "avg_pool2d": ("pool2d/avg_pool2d", {"x": normal(2, 3, 7, 6)}, WINDOWS),
    "avg_pool2d_bwd": ("pool2d/avg_pool2d_bwd", {"dy": normal(2, 3, 3, 5)}, WINDOWS),
    "dropout": ("dropout/dropout", {"x": W, "key": np.array([77, 3], np.uint64)}, {"p": 0.25}),
    "adam_step": ("adam_step/adam_step", dict(zip("pgmv", STEP), scalars=STEP[4]), {"beta1": 0.9, "beta2": 0.99, "eps": 1e-8, "decay": 0.01}),
    "sgd_step": ("sgd_step/sgd_step", dict(p=STEP[0], g=STEP[1], velocity=STEP[2], rate=np.array([0.1])), {"momentum": 0.9, "decay": 0.01}),
}  # fmt: skip
MORE = {"reduce_max_bwd": {}, "gather_bwd": {"length": 6}, "conv2d_bwd_x": {**STEPS, "rows": 7, "columns": 6},
        "conv2d_bwd_w": {**STEPS, "kernel_rows": 3, "kernel_columns": 2}, "avg_pool2d_bwd": {**WINDOWS, "rows": 7, "columns": 6},
        "reduce_sum": {}, "reduce_mean": {}, "reduce_max": {}, "embedding_bwd": {"rows": 6}, "dropout": {"drop": 2**30}}


def script(name):
    folder = ROOT if name.startswith("reference_scripts/") else ROOT / "kernels"
    spec = importlib.util.spec_from_file_location(name.replace("/", "_"), folder / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def listed(made, op):
    return list(made.values()) if isinstance(made, dict) else [made]


def computed(op, inputs, attrs, function):
    specs = [Spec(one.shape, str(one.dtype)) for one in inputs.values()]
    wide = [Spec(OUTPUTS[op], "float64")] if op in OUTPUTS else primitives.infer(op, specs if op not in ("adam_step", "sgd_step") else like_kernel(specs), attrs)
    case = primitives.Case(op, list(inputs.values()), specs, wide, attrs)
    return function(case)


def like_kernel(specs):
    return [*specs[:-1], Spec(specs[-1].shape, "float32")]


@pytest.mark.parametrize("op", CASES)
def test_a_reference_and_its_scale_are_those_of_the_kernel(op):
    name, inputs, given = CASES[op]
    attrs = primitives.attributes(op, given)
    theirs = script(name)
    arguments = {**inputs, **({} if op in MORE else given), **MORE.get(op, {})}
    with np.errstate(all="ignore"):
        for function, row in ((theirs.reference, primitives.PRIMITIVES[op].reference), (theirs.error_scale, primitives.PRIMITIVES[op].scale)):
            for ours, expected in zip(computed(op, inputs, attrs, row), listed(function(**arguments), op), strict=True):
                np.testing.assert_allclose(np.abs(ours) if function is theirs.error_scale else ours, expected, rtol=1e-12, atol=1e-300, equal_nan=True)


def test_gather_takes_zero_where_the_index_names_nothing():
    x, index = np.arange(12).reshape(2, 3, 2), np.array([[2, -1], [3, 0]])
    made = primitives.compute("gather", [x, index], [Spec(x.shape, "int64"), Spec(index.shape, "int64")], [Spec((2, 2, 2, 2), "int64")], {"axis": 1})[0]
    assert made[0].tolist() == [[[4, 5], [0, 0]], [[0, 0], [0, 1]]]


def test_every_row_has_the_attributes_of_the_library():
    for op in primitives.PRIMITIVES:
        made = getattr(op_attributes, op, None)
        assert primitives.packed(op, primitives.attributes(op, {})) == ((0, b"") if made is None else made())
    with pytest.raises(Exception, match="gemm has no attribute 'trans'; it has trans_a, trans_b, tf32"):
        primitives.attributes("gemm", {"trans": 1})
