"""What the frameworks have in common: conversions, and gradients checked by finite differences or against a reference."""

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
DIFFERENCES_MAX = 200  # Elements of an input that finite differences look at; each costs two calls.


class FrameworkAdapter(ABC):
    """The arrays and gradients of one framework."""

    @abstractmethod
    def to_numpy(self, tensor: Any) -> Array:
        """Without a copy where the memory is the CPU's; gradients are left behind."""

    @abstractmethod
    def from_numpy(self, arr: Array, like: Any = None) -> Any:
        """`like`: whose device and dtype it gets."""

    @abstractmethod
    def requires_grad(self, tensor: Any) -> bool:
        """Whether gradients with respect to it are followed."""

    @abstractmethod
    def compute_gradient(self, output: Any, inputs: dict[str, Any], grad_output: Any = None) -> dict[str, Any]:
        """Gradients of `output` by input."""

    @abstractmethod
    def vjp(self, func: Callable[..., Any], inputs: Mapping[str, Any], names: Sequence[str], cotangent: Array) -> dict[str, Array]:
        """The framework's own gradients of sum(cotangent * func(**inputs)) with respect to the named inputs."""

    def to_tensor_data(self, tensor: Any) -> dict[str, Any]:
        """The protocol's record of a tensor: shape, strides (in bytes), dtype, and its packed elements in base64."""
        return tensors.encode(self.to_numpy(tensor))

    def from_tensor_data(self, data: Mapping[str, Any], like: Any = None) -> Any:
        """The framework's tensor of such a record. `like`: whose device and dtype it gets."""
        return self.from_numpy(tensors.decode(dict(data)), like)

    def get_dtype_name(self, tensor: Any) -> str:
        """The protocol's name of a tensor's dtype."""
        return tensors.dtype_name(tensor)

    def is_available(self) -> bool:
        """Whether the framework can be used here."""
        return True

    def get_framework_name(self) -> str:
        """"torch", "jax", "tensorflow"; "unknown" of an adapter that does not say."""
        return "unknown"

    def is_floating(self, tensor: Any) -> bool:
        """Whether gradients make sense for a tensor's dtype."""
        return "float" in self.get_dtype_name(tensor)


BaseAdapter = FrameworkAdapter  # The name that the first programs used.


@dataclass
class GradientReport:
    """ok, and for each input the verdict on its gradient."""

    results: dict[str, ValidationResult] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Whether every gradient is right."""
        return all(one.passed for one in self.results.values())

    def __bool__(self) -> bool:
        return self.ok

    @property
    def details(self) -> list[str]:
        """What is wrong, a line each."""
        return [f"gradient of '{name}': {one.message}" for name, result in self.results.items() for one in result.failures]


class GradientChecker:
    """Compares what a framework says is the gradient with finite differences, or with that of a reference.

    The output is weighted with random numbers: the plain sum of a softmax, say, has no gradient at all.
    """

    def __init__(self, adapter: FrameworkAdapter, eps: float = 1e-4, atol: float = 1e-5, rtol: float = 1e-3, seed: int = 0) -> None:
        self.adapter, self.eps, self.seed = adapter, eps, seed
        self.tolerance = ToleranceConfig(atol, rtol)

    def check(self, func: Callable[..., Any], inputs: dict[str, Any], check_inputs: Sequence[str] | None = None) -> bool:
        """Whether the framework's gradients agree with finite differences."""
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
        """Against central differences in the inputs' own dtype; give float64 inputs for a sharp check."""
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
        """A central difference. Its step grows with the element, which a fixed one would not change where it is large."""
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
        # Subtracted before they are summed: what the element has no part in cancels without a rounding.
        return float(((outputs[0] - outputs[1]) * weights).sum()) / (steps[0] - steps[1])

    def against(self, func: Callable[..., Any], reference: Callable[..., Any], inputs: dict[str, Any],
                wanted: Sequence[str] | None = None) -> GradientReport:  # fmt: skip
        """Against the framework's gradient of a reference."""
        names = self._names(inputs, wanted)
        weights = self._cotangent(func, inputs)
        got, want = (self.adapter.vjp(one, inputs, names, weights) for one in (func, reference))
        return GradientReport({name: judge.compare(got[name], want[name], self.tolerance, op_name=f"gradient of {name}") for name in names})
