"""PyTorch: tensors, the gradients of custom ops, and blocks in which every call of an op is judged."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from gpuemu import tensors
from gpuemu.client.client import Client
from gpuemu.errors import OpNotFoundError, ValidationError
from gpuemu.frameworks.base import FrameworkAdapter, GradientChecker, GradientReport
from gpuemu.frameworks.calls import Context, fuzz, replaced, tolerance_of
from gpuemu.tensors import Array

__all__ = ["FrameworkAdapter", "PyTorchAdapter", "ValidationError", "check_autograd", "check_backward", "cpu_copy", "fuzz_pytorch_op",
           "validate_custom_autograd_function", "validate_pytorch"]  # fmt: skip


class PyTorchAdapter(FrameworkAdapter):
    """torch.Tensor. CPU memory is shared in both directions where strides and writability allow it."""

    def __init__(self) -> None:
        self.torch = torch

    def to_numpy(self, tensor: Any) -> Array:
        return tensors.as_array(tensor)

    def from_numpy(self, arr: Array, like: Any = None) -> Any:
        if str(arr.dtype) == "bfloat16":
            made = torch.from_numpy(_usable(arr.view(np.uint16)).view(np.int16)).view(torch.bfloat16)
        else:
            made = torch.from_numpy(_usable(arr))
        return made if like is None else made.to(device=like.device, dtype=like.dtype)

    def requires_grad(self, tensor: Any) -> bool:
        return bool(getattr(tensor, "requires_grad", False))

    def compute_gradient(self, output: Any, inputs: dict[str, Any], grad_output: Any = None) -> dict[str, Any]:
        followed = {name: one for name, one in inputs.items() if self.requires_grad(one)}
        if not followed:
            return {}
        weights = torch.ones_like(output) if grad_output is None else grad_output
        found = torch.autograd.grad(output, list(followed.values()), weights, retain_graph=True, allow_unused=True)
        return {name: one for name, one in zip(followed, found) if one is not None}

    def vjp(self, func: Callable[..., Any], inputs: Mapping[str, Any], names: Sequence[str], cotangent: Array) -> dict[str, Array]:
        fresh = {name: one.detach().clone().requires_grad_(name in names) if isinstance(one, torch.Tensor) else one
                 for name, one in inputs.items()}  # fmt: skip
        output = func(**fresh)
        if not output.requires_grad:
            return {name: np.zeros(tuple(fresh[name].shape)) for name in names}
        weights = torch.from_numpy(np.ascontiguousarray(cotangent)).to(device=output.device, dtype=output.dtype)
        found = torch.autograd.grad(output, [fresh[name] for name in names], weights, allow_unused=True)
        zeros = {name: np.zeros(tuple(fresh[name].shape)) for name in names}
        return {name: zeros[name] if one is None else self.to_numpy(one).astype(np.float64) for name, one in zip(names, found)}

    def get_framework_name(self) -> str:
        return "pytorch"


def _usable(arr: Array) -> Array:
    """Copies an array if needed: torch accepts no negative strides and no read-only memory."""
    return arr if arr.flags.writeable and all(one >= 0 for one in arr.strides) else arr.copy()


def cpu_copy(model: Any, dtype: str) -> Any:
    """Returns a copy of a module on the CPU in `dtype`."""
    return copy.deepcopy(model).to("cpu", getattr(torch, dtype))


class _Calls(TorchDispatchMode):  # type: ignore[misc,unused-ignore]
    """Intercepts every call of one torch.library op in a block."""

    def __init__(self, name: str, seen: Callable[[Any, tuple[Any, ...], dict[str, Any], Any], None]) -> None:
        super().__init__()
        self.name, self.seen = name.replace(".", "::"), seen

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        output = func(*args, **(kwargs or {}))
        name = func._schema.name
        # A name without a namespace means a custom op: torch's own op would also be judged when a reference calls it.
        library, _, plain = name.rpartition("::")
        if name == self.name or (plain == self.name and library not in ("aten", "prims")):
            self.seen(func, args, kwargs or {}, output)
        return output


def _judge_library_call(context: Context) -> Callable[[Any, tuple[Any, ...], dict[str, Any], Any], None]:
    def seen(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
        names = [one.name for one in func._schema.arguments]
        given = {**dict(zip(names, args)), **kwargs}
        arrays = {key: one for key, one in given.items() if isinstance(one, torch.Tensor)}
        context.judge(arrays, output, **{key: one for key, one in given.items() if key not in arrays and one is not None})

    return seen


@contextlib.contextmanager
def validate_pytorch(client: Client, op_name: str, inputs: dict[str, Any] | None = None, check_backward: bool = False,
                     atol: float | None = None, rtol: float | None = None, *, op: str | None = None, **kwargs: Any,
                     ) -> Generator[Context, None, None]:  # fmt: skip
    """Judges an op's outputs by its reference in gpuemu.toml.

        with validate_pytorch(client, "softmax", {"x": x}) as ctx:
            ctx["output"] = my_softmax(x)

    Every call of a custom torch.library op of that name in the block is judged, too; op= gives another name
    ("mylib::fast_softmax", "aten::relu"), or any Python function ("package.module.function"). check_backward: the gradients of
    ["output"] are judged as the ops OP_grad_INPUT. atol, rtol: accept larger errors than the tolerance of gpuemu.toml. Raises
    ValidationError at the end of the block.
    """
    context = Context(client, op_name, kwargs, tolerance_of(atol, rtol))
    name = op or op_name
    with contextlib.ExitStack() as stack:
        if op is not None and "::" not in op and "." in op:
            stack.enter_context(replaced(op, lambda fn: _checked(fn, context)))
        else:
            stack.enter_context(_Calls(name, _judge_library_call(context)))
        yield context
    context.finish(inputs)
    if check_backward and context["output"] is not None:
        _judge_gradients(context, inputs or {})


def _checked(fn: Callable[..., Any], context: Context) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        output = fn(*args, **kwargs)
        context.judge_call(fn, args, kwargs, output)
        return output

    return call


def _judge_gradients(context: Context, inputs: dict[str, Any]) -> None:
    found = PyTorchAdapter().compute_gradient(context["output"], inputs)
    context["grad_inputs"] = found
    for name, gradient in found.items():
        op = f"{context.op_name}_grad_{name}"
        try:
            verdict = context.verdict(op, inputs, gradient, context.kwargs)
        except OpNotFoundError as problem:
            said = f"gradients are judged as ops of their own: add '{op}' to gpuemu.toml, or use check_autograd ({problem})"
            raise OpNotFoundError(said) from problem
        context["results"].append(verdict)
        context.insist(verdict)


def check_backward(op: Callable[..., Any], reference: Callable[..., Any], inputs: dict[str, Any], *, atol: float = 1e-5, rtol: float = 1e-4,
                   check_inputs: Sequence[str] | None = None) -> GradientReport:  # fmt: skip
    """Compares a custom op's backward with autograd of a reference, at the same point and in the same dtype."""
    return GradientChecker(PyTorchAdapter(), 0.0, atol, rtol).against(op, reference, inputs, check_inputs)


def check_autograd(op: Callable[..., Any], inputs: dict[str, Any], eps: float = 1e-4, atol: float = 1e-5, rtol: float = 1e-3,
                   check_inputs: Sequence[str] | None = None) -> bool:  # fmt: skip
    """True if a custom op's backward agrees with finite differences, which are sharp for float64 inputs."""
    names = check_inputs if check_inputs is not None else [key for key, one in inputs.items() if one.requires_grad] or None
    return GradientChecker(PyTorchAdapter(), *_fitting(inputs, eps, atol, rtol)).check(op, inputs, names)


def _fitting(inputs: Mapping[str, Any], eps: float, atol: float, rtol: float) -> tuple[float, float, float]:
    """Returns step and tolerances. In float32 and smaller types finite differences are no more exact than the rounding error
    divided by the step."""
    kinds = [one.dtype for one in inputs.values() if isinstance(one, torch.Tensor) and one.is_floating_point()]
    unit = max((float(torch.finfo(kind).eps) for kind in kinds), default=2.0**-52)
    if unit < 1e-10:
        return eps, atol, rtol
    step = max(eps, unit ** (1 / 3))
    return step, max(atol, 16 * unit / step), max(rtol, 16 * unit / step)


def validate_custom_autograd_function(func_class: Any, inputs: dict[str, Any], eps: float = 1e-4, atol: float = 1e-5, rtol: float = 1e-3,
                                      ) -> dict[str, Any]:  # fmt: skip
    """Checks that the forward of a torch.autograd.Function runs and that its backward agrees with finite differences."""
    told: dict[str, Any] = {"forward_ok": True, "backward_ok": True, "details": []}

    def op(**given: Any) -> Any:
        return func_class.apply(*given.values())

    try:
        op(**inputs)
    except Exception as problem:  # Anything that the forward raises is a failure of the function.
        return {"forward_ok": False, "backward_ok": False, "details": [f"Forward failed: {problem}"]}
    try:
        report = GradientChecker(PyTorchAdapter(), *_fitting(inputs, eps, atol, rtol)).differences(op, inputs)
        told["backward_ok"], told["details"] = report.ok, report.details
    except Exception as problem:  # The backward pass may raise anything, too.
        told["backward_ok"], told["details"] = False, [f"Gradient check failed: {problem}"]
    return told


def fuzz_pytorch_op(client: Client, op_name: str, run_op: Callable[[dict[str, Any]], Any], iterations: int = 100, seed: int | None = None,
                    fail_fast: bool = False, check_backward: bool = False, atol: float | None = None, rtol: float | None = None,
                    ) -> dict[str, Any]:  # fmt: skip
    """Draws cases for an op that this process runs, on a GPU if there is one, and judges the outputs."""
    place = "cuda" if torch.cuda.is_available() else "cpu"
    adapter = PyTorchAdapter()

    def moved(inputs: dict[str, Any]) -> dict[str, Any]:
        return {name: adapter.from_numpy(one).to(place) for name, one in inputs.items()}

    def backward(inputs: dict[str, Any]) -> list[str]:
        wide = {name: one.double() if one.is_floating_point() else one for name, one in moved(inputs).items()} if check_backward else {}
        if not any(one.is_floating_point() for one in wide.values()):
            return []
        return GradientChecker(adapter, 1e-4, 1e-5, 1e-3).differences(lambda **given: run_op(given), wide).details

    tolerance = tolerance_of(atol, rtol)
    options = {"iterations": iterations, "seed": seed, "fail_fast": fail_fast, "tolerance": tolerance}
    return fuzz(client, op_name, lambda inputs: run_op(moved(inputs)), backward, options)
