"""TensorFlow: tensors, gradients, graphs, and blocks in which every call of an op is judged."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from gpuemu import tensors
from gpuemu.check import judge
from gpuemu.check.tolerances import ToleranceConfig
from gpuemu.client.client import Client
from gpuemu.errors import ValidationError
from gpuemu.frameworks.base import FrameworkAdapter, GradientChecker, GradientReport
from gpuemu.frameworks.calls import Context, fuzz, named_arguments, replaced, tolerance_of
from gpuemu.tensors import Array

__all__ = ["FrameworkAdapter", "TensorFlowAdapter", "ValidationError", "check_backward", "check_keras_layer", "check_tf_function_safe",
           "check_xla_compatible", "fuzz_tensorflow_op", "validate_custom_gradient", "validate_tensorflow"]  # fmt: skip


class TensorFlowAdapter(FrameworkAdapter):
    """tf.Tensor and tf.Variable. Eager tensors on the CPU are read without a copy."""

    def __init__(self) -> None:
        self.tf = tf

    def to_numpy(self, tensor: Any) -> Array:
        return tensors.as_array(tensor)

    def from_numpy(self, arr: Array, like: Any = None) -> Any:
        made = tf.convert_to_tensor(arr)
        return made if like is None else tf.cast(made, like.dtype)

    def requires_grad(self, tensor: Any) -> bool:
        return isinstance(tensor, tf.Variable)

    def compute_gradient(self, tape: Any, output: Any, inputs: dict[str, Any]) -> dict[str, Any]:  # type: ignore[override]
        """Returns gradients with respect to tf.Variables, from the tape that recorded `output`."""
        followed = {name: one for name, one in inputs.items() if self.requires_grad(one)}
        found = tape.gradient(output, list(followed.values())) if followed else []
        return {name: one for name, one in zip(followed, found) if one is not None}

    def vjp(self, func: Callable[..., Any], inputs: Mapping[str, Any], names: Sequence[str], cotangent: Array) -> dict[str, Array]:
        with tf.GradientTape() as tape:
            given = {name: tf.convert_to_tensor(one) for name, one in inputs.items()}
            for name in names:
                tape.watch(given[name])
            output = func(**given)
        found = tape.gradient(output, [given[name] for name in names], tf.cast(tf.convert_to_tensor(cotangent), output.dtype))
        return {name: np.zeros(tuple(given[name].shape)) if one is None else tf.convert_to_tensor(one).numpy().astype(np.float64)
                for name, one in zip(names, found)}  # fmt: skip

    def get_framework_name(self) -> str:
        return "tensorflow"


def _checked(fn: Callable[..., Any], context: Context) -> Callable[..., Any]:
    """Judges calls inside a tf.function each time the graph runs."""

    def call(*args: Any, **kwargs: Any) -> Any:
        output = fn(*args, **kwargs)
        arrays, rest = named_arguments(fn, args, kwargs)
        if tf.executing_eagerly():
            context.judge(arrays, output, **rest)
            return output
        names = list(arrays)

        def judged(made: Any, *given: Any) -> Any:
            context.judge({name: one.numpy() for name, one in zip(names, given)}, made.numpy(), **rest)
            return made

        kept = tf.py_function(judged, [output, *(tf.convert_to_tensor(arrays[name]) for name in names)], output.dtype)
        kept.set_shape(output.shape)
        return kept

    return call


@contextlib.contextmanager
def validate_tensorflow(client: Client, op_name: str, inputs: dict[str, Any] | None = None, check_gradient: bool = False,
                        atol: float | None = None, rtol: float | None = None, *, op: str | None = None, **kwargs: Any,
                        ) -> Generator[Context, None, None]:  # fmt: skip
    """Judges an op's outputs by its reference in gpuemu.toml: ctx["output"], or with op="package.module.function" every call of
    that function in the block, including those inside tf.function. check_gradient: ctx["tape"] watches the inputs, and the
    gradients of ["output"] are judged as the ops OP_grad_INPUT. atol, rtol: accept larger errors than the tolerance of
    gpuemu.toml. Raises ValidationError at the end of the block."""
    context = Context(client, op_name, kwargs, tolerance_of(atol, rtol))
    with contextlib.ExitStack() as stack:
        if op:
            stack.enter_context(replaced(op, lambda fn: _checked(fn, context)))
        tape = stack.enter_context(tf.GradientTape(persistent=True)) if check_gradient else None
        if tape is not None:
            context["tape"] = tape
            for one in (inputs or {}).values():
                tape.watch(one)
        yield context
    context.finish(inputs)
    if tape is not None and context["output"] is not None:
        _judge_gradients(context, tape, inputs or {})


def _judge_gradients(context: Context, tape: Any, inputs: Mapping[str, Any]) -> None:
    found = {name: tape.gradient(context["output"], one) for name, one in inputs.items()}
    context["grad_inputs"] = {name: one for name, one in found.items() if one is not None}
    for name, gradient in context["grad_inputs"].items():
        verdict = context.verdict(f"{context.op_name}_grad_{name}", inputs, gradient, context.kwargs)
        context["results"].append(verdict)
        context.insist(verdict)


def check_keras_layer(layer: Any, input_shape: Sequence[int], client: Client, op_name: str, atol: float | None = None, rtol: float | None = None,
                      **kwargs: Any) -> bool:  # fmt: skip
    """True if a layer's output for random input agrees with the op's reference, and its gradients exist and are finite."""
    x = tf.convert_to_tensor(np.random.default_rng(0).standard_normal(tuple(input_shape)).astype(np.float32))
    with tf.GradientTape() as tape:
        tape.watch(x)
        output = layer(x)
    verdict = Context(client, op_name, kwargs, tolerance_of(atol, rtol)).judge({"x": x}, output)
    gradients = [one for one in tape.gradient(output, [x, *layer.trainable_variables]) if one is not None]
    return verdict.passed and bool(gradients) and all(bool(np.isfinite(tf.convert_to_tensor(one).numpy()).all()) for one in gradients)


def _same_when(compile_it: Callable[[Callable[..., Any]], Any], op: Callable[..., Any], inputs: dict[str, Any], rtol: float, atol: float) -> bool:
    try:
        compiled = compile_it(lambda given: op(**given))(inputs)
    except Exception:  # Whatever tracing or compiling raises, it is incompatible.
        return False
    return judge.compare(compiled, op(**inputs), ToleranceConfig(atol, rtol)).passed


def check_tf_function_safe(op: Callable[..., Any], inputs: dict[str, Any], rtol: float = 1e-6, atol: float = 1e-6) -> bool:
    """True if the traced op gives the same results as the eager op."""
    return _same_when(tf.function, op, inputs, rtol, atol)


def check_xla_compatible(op: Callable[..., Any], inputs: dict[str, Any], rtol: float = 1e-5, atol: float = 1e-5) -> bool:
    """True if XLA compiles the op and gives the same results."""
    return _same_when(lambda fn: tf.function(fn, jit_compile=True), op, inputs, rtol, atol)


def check_backward(op: Callable[..., Any], reference: Callable[..., Any], inputs: dict[str, Any], *, atol: float = 1e-5, rtol: float = 1e-4,
                   check_inputs: Sequence[str] | None = None) -> GradientReport:  # fmt: skip
    """Compares a custom gradient with that of a reference."""
    return GradientChecker(TensorFlowAdapter(), 0.0, atol, rtol).against(op, reference, inputs, check_inputs)


def validate_custom_gradient(func: Callable[..., Any], gradient_func: Callable[..., Any], inputs: dict[str, Any], eps: float = 1e-4,
                             atol: float = 1e-4, rtol: float = 1e-3) -> dict[str, Any]:  # fmt: skip
    """Compares `gradient_func(**inputs)`, which returns a gradient of sum(func(**inputs)), several or a dict of them, with finite
    differences."""
    given = gradient_func(**inputs)
    names = [name for name, one in inputs.items() if tf.convert_to_tensor(one).dtype.is_floating]
    by_name = given if isinstance(given, dict) else dict(zip(names, given if isinstance(given, (tuple, list)) else [given]))

    class Given(TensorFlowAdapter):
        def vjp(self, func: Callable[..., Any], inputs: Mapping[str, Any], names: Sequence[str], cotangent: Array) -> dict[str, Array]:
            return {name: np.asarray(by_name[name], dtype=np.float64) for name in names}

    class Plain(GradientChecker):
        def _cotangent(self, func: Callable[..., Any], inputs: Mapping[str, Any]) -> Array:
            return np.ones(self.adapter.to_numpy(func(**inputs)).shape)

    report = Plain(Given(), eps, atol, rtol).differences(func, inputs, [name for name in names if name in by_name])
    return {"gradient_ok": report.ok, "details": report.details}


def fuzz_tensorflow_op(client: Client, op_name: str, run_op: Callable[..., Any], iterations: int = 100, seed: int | None = None,
                       fail_fast: bool = False, check_gradient: bool = False, check_xla: bool = False, atol: float | None = None,
                       rtol: float | None = None) -> dict[str, Any]:  # fmt: skip
    """Draws cases, runs `run_op(**inputs)` and judges the outputs; optionally checks gradients and XLA of each."""

    def moved(inputs: dict[str, Any]) -> dict[str, Any]:
        return {name: tf.convert_to_tensor(one) for name, one in inputs.items()}

    def further(inputs: dict[str, Any]) -> list[str]:
        said = [] if not check_xla or check_xla_compatible(run_op, moved(inputs), 1e-4, 1e-5) else ["XLA gives something else"]
        wide = {name: tf.cast(one, tf.float64) if one.dtype.is_floating else one for name, one in moved(inputs).items()}
        if check_gradient and any(one.dtype.is_floating for one in wide.values()):
            said += GradientChecker(TensorFlowAdapter(), 1e-4, 1e-5, 1e-3).differences(run_op, wide).details
        return said

    tolerance = tolerance_of(atol, rtol)
    options = {"iterations": iterations, "seed": seed, "fail_fast": fail_fast, "tolerance": tolerance}
    found = fuzz(client, op_name, lambda inputs: run_op(**moved(inputs)), further, options)
    return {**found, "gradient_failures": found["backward_failures"]}
