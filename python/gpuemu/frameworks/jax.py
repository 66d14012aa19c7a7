"""JAX: arrays, transformations, and blocks in which every call of an op is judged, including traced calls."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from gpuemu import tensors
from gpuemu.check import judge
from gpuemu.check.tolerances import ToleranceConfig
from gpuemu.client.client import Client
from gpuemu.errors import ValidationError
from gpuemu.frameworks.base import FrameworkAdapter, GradientChecker, GradientReport
from gpuemu.frameworks.calls import Context, fuzz, named_arguments, replaced, tolerance_of
from gpuemu.tensors import Array

__all__ = ["FrameworkAdapter", "JAXAdapter", "JaxAdapter", "ValidationError", "check_backward", "check_grad_safe", "check_jit_safe", "check_pmap_compatible",
           "check_vmap_compatible", "fuzz_jax_op", "validate_jax", "validate_jax_primitive"]  # fmt: skip


class JAXAdapter(FrameworkAdapter):
    """jax.Array. Arrays of XLA's CPU backend are read without a copy."""

    def __init__(self) -> None:
        self.jax, self.jnp = jax, jnp

    def to_numpy(self, tensor: Any) -> Array:
        return tensors.as_array(tensor)

    def from_numpy(self, arr: Array, like: Any = None) -> Any:
        return jnp.asarray(arr, dtype=None if like is None else like.dtype)

    def requires_grad(self, tensor: Any) -> bool:
        return bool(jnp.issubdtype(tensor.dtype, jnp.floating))

    def compute_gradient(self, output_fn: Any, inputs: dict[str, Any], argnums: Any = None) -> dict[str, Any]:  # type: ignore[override,unused-ignore]
        """Returns gradients of a function, as JAX has them: of the sum of `output_fn(**inputs)`, with respect to the inputs at
        the positions `argnums`, by default all of a floating-point dtype."""
        names = [name for name, one in inputs.items() if self.requires_grad(one)]
        if argnums is not None:
            names = [list(inputs)[i] for i in (argnums if isinstance(argnums, (tuple, list)) else (argnums,))]
        fixed = {name: one for name, one in inputs.items() if name not in names}
        made, back = jax.vjp(lambda followed: output_fn(**followed, **fixed), {name: inputs[name] for name in names})
        gradients: dict[str, Any] = back(jnp.ones_like(made))[0]
        return gradients

    def vjp(self, func: Callable[..., Any], inputs: Mapping[str, Any], names: Sequence[str], cotangent: Array) -> dict[str, Array]:
        fixed = {name: one for name, one in inputs.items() if name not in names}
        made, back = jax.vjp(lambda followed: func(**followed, **fixed), {name: inputs[name] for name in names})
        found = back(jnp.asarray(cotangent, dtype=made.dtype))[0]
        return {name: self.to_numpy(one).astype(np.float64) for name, one in found.items()}

    def get_framework_name(self) -> str:
        return "jax"


JaxAdapter = JAXAdapter  # The name that the first programs used.


def _traced(values: Mapping[str, Any]) -> bool:
    return any(isinstance(one, jax.core.Tracer) for one in values.values())


def _checked(fn: Callable[..., Any], context: Context) -> Callable[..., Any]:
    """Judges traced calls when the compiled program runs: once for each run, and under vmap for each element."""

    def call(*args: Any, **kwargs: Any) -> Any:
        output = fn(*args, **kwargs)
        arrays, rest = named_arguments(fn, args, kwargs)
        if _traced({**arrays, "": output}):
            jax.debug.callback(lambda given, made: _judged(context, given, made, rest), arrays, output)
        else:
            context.judge(arrays, output, **rest)
        return output

    return call


def _judged(context: Context, arrays: Mapping[str, Any], output: Any, rest: Mapping[str, Any]) -> None:
    context.judge({name: np.asarray(one) for name, one in arrays.items()}, np.asarray(output), **rest)


@contextlib.contextmanager
def validate_jax(client: Client, op_name: str, inputs: dict[str, Any] | None = None, atol: float | None = None, rtol: float | None = None,
                 *, op: str | None = None, **kwargs: Any) -> Generator[Context, None, None]:  # fmt: skip
    """Judges an op's outputs by its reference in gpuemu.toml: ctx["output"], or with op="package.module.function" every call of
    that function in the block, including those inside jit, vmap and grad. atol, rtol: accept larger errors than the tolerance of
    gpuemu.toml. Raises ValidationError at the end of the block."""
    context = Context(client, op_name, kwargs, tolerance_of(atol, rtol))
    with replaced(op, lambda fn: _checked(fn, context)) if op else contextlib.nullcontext():
        yield context
        jax.effects_barrier()
    context.finish(inputs)


def _same(actual: Any, expected: Any, atol: float, rtol: float) -> bool:
    return judge.compare(actual, expected, ToleranceConfig(atol, rtol)).passed


def check_vmap_compatible(op: Callable[..., Any], inputs: dict[str, Any], batch_axis: int = 0, rtol: float = 1e-5, atol: float = 1e-5) -> bool:
    """True if vmap gives the same results as calling the op for one element after another."""
    size = next(iter(inputs.values())).shape[batch_axis]
    try:
        at_once = jax.vmap(lambda given: op(**given), in_axes=batch_axis)(inputs)
    except Exception:  # An op that cannot be mapped is incompatible, whatever it raises.
        return False
    single = [op(**{name: jnp.take(one, i, axis=batch_axis) for name, one in inputs.items()}) for i in range(size)]
    return _same(at_once, jnp.stack(single), atol, rtol)


def check_jit_safe(op: Callable[..., Any], inputs: dict[str, Any], rtol: float = 1e-6, atol: float = 1e-6) -> bool:
    """True if the compiled op gives the same results as the op run step by step."""
    try:
        compiled = jax.jit(lambda given: op(**given))(inputs)
    except Exception:  # For example, Python control flow on traced values.
        return False
    with jax.disable_jit():
        return _same(compiled, op(**inputs), atol, rtol)


def check_pmap_compatible(op: Callable[..., Any], inputs: dict[str, Any], axis_name: str = "batch") -> bool:
    """True if the op runs on each device on its part of axis 0; with one device, True if it can be mapped at all."""
    devices = jax.local_device_count()
    parts = {name: jnp.reshape(one[: one.shape[0] // devices * devices], (devices, -1, *one.shape[1:])) for name, one in inputs.items()}
    try:
        made = jax.pmap(lambda given: op(**given), axis_name=axis_name)(parts)
    except Exception:  # Whatever it raises, it cannot be mapped.
        return False
    single = jnp.stack([op(**{name: one[i] for name, one in parts.items()}) for i in range(devices)])
    return _same(made, single, 1e-5, 1e-5)


def check_grad_safe(op: Callable[..., Any], inputs: dict[str, Any], argnums: int | tuple[int, ...] = 0) -> bool:
    """True if gradients exist and are finite."""
    names = list(inputs)
    try:
        gradients = jax.grad(lambda *args: op(**dict(zip(names, args))).sum(), argnums=argnums)(*inputs.values())
    except Exception:  # Not differentiable.
        return False
    return all(bool(jnp.isfinite(one).all()) for one in jax.tree_util.tree_leaves(gradients))


def check_backward(op: Callable[..., Any], reference: Callable[..., Any], inputs: dict[str, Any], *, atol: float = 1e-5, rtol: float = 1e-4,
                   check_inputs: Sequence[str] | None = None) -> GradientReport:  # fmt: skip
    """Compares a custom gradient (custom_vjp, custom_jvp) with that of a reference."""
    return GradientChecker(JAXAdapter(), 0.0, atol, rtol).against(op, reference, inputs, check_inputs)


def validate_jax_primitive(primitive_name: str, impl: Callable[..., Any], inputs: dict[str, Any], expected_output: Any, check_jvp: bool = True,
                           check_vmap: bool = True, rtol: float = 1e-5, atol: float = 1e-5) -> dict[str, Any]:  # fmt: skip
    """Checks the output, the JVP rule (against finite differences), and the batching rule of a primitive."""
    told: dict[str, Any] = {"primitive": primitive_name, "forward_ok": True, "jvp_ok": True, "vmap_ok": True, "details": []}
    verdict = judge.compare(impl(**inputs), expected_output, ToleranceConfig(atol, rtol), op_name=primitive_name)
    told["forward_ok"] = verdict.passed
    told["details"] += [f"forward: {one.message}" for one in verdict.failures]
    if check_jvp:
        _check_jvp(impl, inputs, told)
    if check_vmap:
        stacked = {name: jnp.stack([one, one]) for name, one in inputs.items()}
        told["vmap_ok"] = check_vmap_compatible(impl, stacked, 0, rtol, atol)
        told["details"] += [] if told["vmap_ok"] else ["vmap gives something else than single calls"]
    return told


def _check_jvp(impl: Callable[..., Any], inputs: dict[str, Any], told: dict[str, Any]) -> None:
    drawn = np.random.default_rng(0)
    tangents = {name: jnp.asarray(drawn.standard_normal(one.shape), dtype=one.dtype) for name, one in inputs.items()}
    try:
        _, found = jax.jvp(lambda given: impl(**given), (inputs,), (tangents,))
    except Exception as problem:  # There is no rule, or it does not fit.
        told["jvp_ok"] = False
        told["details"].append(f"jvp: {type(problem).__name__}: {problem}")
        return
    unit = max(float(jnp.finfo(one.dtype).eps) for one in inputs.values())
    step = unit ** (1 / 3)
    ahead, behind = (np.asarray(impl(**{name: one + sign * step * tangents[name] for name, one in inputs.items()}), dtype=np.float64)
                     for sign in (1.0, -1.0))  # fmt: skip
    limit = ToleranceConfig(64 * unit / step * max(1.0, float(np.abs(ahead).max(initial=0.0))), 64 * unit / step)
    verdict = judge.compare(np.asarray(found, dtype=np.float64), (ahead - behind) / (2 * step), limit, op_name="jvp")
    told["jvp_ok"] = verdict.passed
    told["details"] += [f"jvp: {one.message}" for one in verdict.failures]


def fuzz_jax_op(client: Client, op_name: str, run_op: Callable[..., Any], iterations: int = 100, seed: int | None = None, fail_fast: bool = False,
                check_vmap: bool = False, check_jit: bool = False, atol: float | None = None, rtol: float | None = None,
                ) -> dict[str, Any]:  # fmt: skip
    """Draws cases, runs `run_op(**inputs)` and judges the outputs; optionally checks vmap and jit of each."""

    def moved(inputs: dict[str, Any]) -> dict[str, Any]:
        return {name: jnp.asarray(one) for name, one in inputs.items()}

    def transformed(inputs: dict[str, Any]) -> list[str]:
        said = []
        if check_jit and not check_jit_safe(run_op, moved(inputs), 1e-4, 1e-5):
            said.append("jit gives something else")
        if check_vmap and not check_vmap_compatible(run_op, moved(inputs)):
            said.append("vmap gives something else")
        return said

    tolerance = tolerance_of(atol, rtol)
    options = {"iterations": iterations, "seed": seed, "fail_fast": fail_fast, "tolerance": tolerance}
    found = fuzz(client, op_name, lambda inputs: run_op(**moved(inputs)), transformed, options)
    return {**found, "transform_failures": found["backward_failures"]}
