"""Code shared by the frameworks: conversions, and gradients checked by finite differences or against a reference."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gpuemu import tensors
from gpuemu.check import judge
from gpuemu.check.tolerances import ToleranceConfig
from gpuemu.client.records import ValidationResult
from gpuemu.generate import recipes
from gpuemu.tensors import Array

UNITS = {name: unit for name, (_, _, _, unit) in recipes.FLOATS.items()}  # The distance of neighbours at 1.
DIFFERENCES_MAX = 200  # Elements of an input that finite differences examine; each costs two calls.


class FrameworkAdapter(ABC):
    """The interface to the arrays and gradients of one framework."""

    @abstractmethod
    def to_numpy(self, tensor: Any) -> Array:
        """Converts a tensor to NumPy, without a copy if it is in CPU memory; drops gradients."""

    @abstractmethod
    def from_numpy(self, arr: Array, like: Any = None) -> Any:
        """Converts an array of NumPy. `like`: a tensor whose device and dtype the result gets."""

    @abstractmethod
    def requires_grad(self, tensor: Any) -> bool:
        """True if gradients with respect to the tensor are tracked."""

    @abstractmethod
    def compute_gradient(self, output: Any, inputs: dict[str, Any], grad_output: Any = None) -> dict[str, Any]:
        """Returns the gradients of `output` by input."""

    @abstractmethod
    def vjp(self, func: Callable[..., Any], inputs: Mapping[str, Any], names: Sequence[str], cotangent: Array) -> dict[str, Array]:
        """Returns the framework's gradients of sum(cotangent * func(**inputs)) with respect to the named inputs."""

    def to_tensor_data(self, tensor: Any) -> dict[str, Any]:
        """Returns the protocol's record of a tensor: shape, strides (in bytes), dtype, and its packed elements in base64."""
        return tensors.encode(self.to_numpy(tensor))

    def from_tensor_data(self, data: Mapping[str, Any], like: Any = None) -> Any:
        """Returns the framework's tensor for such a record. `like`: a tensor whose device and dtype the result gets."""
        return self.from_numpy(tensors.decode(dict(data)), like)

    def get_dtype_name(self, tensor: Any) -> str:
        """Returns the protocol's name of a tensor's dtype."""
        return tensors.dtype_name(tensor)

    def is_available(self) -> bool:
        """True if the framework can be used here."""
        return True

    def get_framework_name(self) -> str:
        """Returns the name of the framework: "torch", "jax", "tensorflow"; "unknown" for an adapter that sets none."""
        return "unknown"

    def is_floating(self, tensor: Any) -> bool:
        """True if gradients make sense for a tensor's dtype."""
        return "float" in self.get_dtype_name(tensor)


BaseAdapter = FrameworkAdapter  # The name that the first programs used.


@dataclass
class GradientReport:
    """The result of a gradient check: ok, and for each input the verdict on its gradient."""

    results: dict[str, ValidationResult] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """True if every gradient is right."""
        return all(one.passed for one in self.results.values())

    def __bool__(self) -> bool:
        return self.ok

    @property
    def details(self) -> list[str]:
        """Returns one line for each fault."""
        return [f"gradient of '{name}': {one.message}" for name, result in self.results.items() for one in result.failures]


class GradientChecker:
    """Compares the gradient that a framework computes with finite differences, or with the gradient of a reference.

    The output is weighted with random numbers, because the plain sum of a softmax, for example, has a gradient of zero.
    """

    def __init__(self, adapter: FrameworkAdapter, eps: float = 1e-4, atol: float = 1e-5, rtol: float = 1e-3, seed: int = 0) -> None:
        self.adapter, self.eps, self.seed = adapter, eps, seed
        self.tolerance = ToleranceConfig(atol, rtol)

    def check(self, func: Callable[..., Any], inputs: dict[str, Any], check_inputs: Sequence[str] | None = None) -> bool:
        """True if the framework's gradients agree with finite differences."""
        return self.differences(func, inputs, check_inputs).ok

    def _names(self, inputs: Mapping[str, Any], wanted: Sequence[str] | None) -> list[str]:
        names = list(wanted) if wanted is not None else [key for key, one in inputs.items() if self.adapter.is_floating(one)]
        if not names:
            raise ValueError("no input is of a floating-point dtype: there is no gradient to check")
        return names

    def _cotangent(self, func: Callable[..., Any], inputs: Mapping[str, Any]) -> Array:
        output = self.adapter.to_numpy(func(**inputs))
        weights: Array = np.asarray(np.random.default_rng(self.seed).uniform(0.5, 1.5, output.shape))
        weights[np.arange(output.size).reshape(output.shape) % 2 == 1] *= -1
        return weights

    def differences(self, func: Callable[..., Any], inputs: dict[str, Any], wanted: Sequence[str] | None = None) -> GradientReport:
        """Compares with central differences in the inputs' own dtype; float64 inputs make the check sharp."""
        report = GradientReport()
        names = self._names(inputs, wanted)
        weights = self._cotangent(func, inputs)
        analytic = self.adapter.vjp(func, inputs, names, weights)
        drawn = np.random.default_rng(self.seed)
        for name in names:
            base = np.array(self.adapter.to_numpy(inputs[name]))
            places = np.arange(base.size)
            if base.size > DIFFERENCES_MAX:
                places = np.sort(drawn.choice(base.size, DIFFERENCES_MAX, replace=False))
            numeric = np.array([self._slope(func, inputs, name, base, int(place), weights) for place in places])
            got = np.asarray(analytic[name], dtype=np.float64).reshape(-1)[places]
            report.results[name] = judge.compare(got, numeric, self.tolerance, op_name=f"gradient of {name}")
        return report

    def _slope(self, func: Callable[..., Any], inputs: dict[str, Any], name: str, base: Array, place: int, weights: Array) -> float:
        """Returns a central difference. The step grows with the element, because a fixed step would not change a large one."""
        outputs, steps = [], []
        size = abs(float(base.reshape(-1)[place]))
        unit = UNITS.get(judge.dtype_name(base), 0.0)
        step = max(self.eps * max(1.0, size), 4 * unit * size)
        for sign in (1.0, -1.0):
            moved = base.copy()
            moved.reshape(-1)[place] += base.dtype.type(sign * step)
            steps.append(float(moved.reshape(-1)[place]))
            output = self.adapter.to_numpy(func(**{**inputs, name: self.adapter.from_numpy(moved, like=inputs[name])}))
            outputs.append(output.astype(np.float64))
        # Subtracting before summing cancels values that do not depend on the element, without a rounding error.
        return float(((outputs[0] - outputs[1]) * weights).sum()) / (steps[0] - steps[1])

    def against(self, func: Callable[..., Any], reference: Callable[..., Any], inputs: dict[str, Any],
                wanted: Sequence[str] | None = None) -> GradientReport:  # fmt: skip
        """Compares with the framework's gradient of a reference."""
        names = self._names(inputs, wanted)
        weights = self._cotangent(func, inputs)
        got, want = (self.adapter.vjp(one, inputs, names, weights) for one in (func, reference))
        return GradientReport({name: judge.compare(got[name], want[name], self.tolerance, op_name=f"gradient of {name}") for name in names})
