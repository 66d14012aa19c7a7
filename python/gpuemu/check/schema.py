"""Reads the arguments and results of a Python function from its annotations.

    def scale(x: gpuemu.Tensor["rows", "cols"], factor: float = 2.0) -> gpuemu.Tensor["rows", "cols"]: ...
"""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from gpuemu import arguments

FRAMEWORKS = {"torch": "torch", "jax": "jax", "jaxlib": "jax", "tensorflow": "tensorflow", "numpy": "numpy"}
_DIM = re.compile(r"[^\W\d][\w.-]*")  # Rejects a number in quotes, or two names in one string: each would be one drawn size.
SIZES = (1, 32)  # Sizes of a dim without limits.


@dataclass(frozen=True)
class Tensor:
    """A tensor argument or result: Tensor["rows", "cols"], Tensor["n", 3], Tensor["n"].of("int32", range=(0, 9)).

    Equal names are equal sizes, numbers are fixed sizes. Can be used as typing.Annotated[torch.Tensor, gpuemu.Tensor["n"]].
    """

    dims: tuple[str | int, ...] = ("rows", "cols")
    dtype: str | None = None
    range: tuple[float, float] | None = None

    def __class_getitem__(cls, dims: Any) -> Tensor:
        return cls(dims if isinstance(dims, tuple) else (dims,))

    def __post_init__(self) -> None:
        for one in self.dims:
            if not isinstance(one, (str, int)):
                raise TypeError(f"{one!r} is no dim of a Tensor; write names and numbers, as in Tensor['rows', 3]")
            if isinstance(one, bool) or isinstance(one, str) and not _DIM.fullmatch(one):
                raise TypeError(f"{one!r} is no name of a dim; write each dim by itself, a size as a number: Tensor['rows', 3]")
            if isinstance(one, int) and one < 0:
                raise ValueError(f"a Tensor has no dim of {one} elements; expected names and numbers from 0")
        if self.dtype is not None:
            arguments.dtype(self.dtype, "the dtype of a Tensor")
        arguments.bounds(self.range, "the range of a Tensor")

    def of(self, dtype: str | None = None, *, range: tuple[float, float] | None = None) -> Tensor:
        """Returns the same tensor with its own dtype, or with a range for its values."""
        return replace(self, dtype=dtype or self.dtype, range=range or self.range)


@dataclass(frozen=True)
class Scalar:
    """A number argument, drawn between low and high; an integer if both are integers."""

    low: float
    high: float

    def __post_init__(self) -> None:
        arguments.bounds((self.low, self.high), "the range of a Scalar")


@dataclass
class Schema:
    """Tensors and scalars by argument, in order. dims: (least, largest) or the sizes to choose from, by name."""

    name: str
    tensors: dict[str, Tensor] = field(default_factory=dict)
    scalars: dict[str, Scalar] = field(default_factory=dict)
    dims: dict[str, Sequence[int]] = field(default_factory=dict)
    framework: str = "numpy"


def _annotations(fn: Callable[..., Any]) -> dict[str, Any]:
    """Returns the annotations with names resolved where possible; an annotation that cannot be resolved counts as missing."""
    try:
        return typing.get_type_hints(fn, include_extras=True)
    except Exception:  # A name that only type checkers know.
        return {key: one for key, one in getattr(fn, "__annotations__", {}).items() if not isinstance(one, str)}


def _tensor_of(hint: Any) -> Tensor | None:
    if isinstance(hint, Tensor):
        return hint
    if hint is Tensor:
        return Tensor()
    if typing.get_origin(hint) is typing.Annotated:
        base, *extras = typing.get_args(hint)
        return next((one for one in extras if isinstance(one, Tensor)), None) or _tensor_of(base)
    return Tensor() if _framework_of(hint) else None


def _framework_of(hint: Any) -> str | None:
    if typing.get_origin(hint) is typing.Annotated:
        return _framework_of(typing.get_args(hint)[0])
    origin = typing.get_origin(hint) or hint
    name, root = getattr(origin, "__name__", ""), str(getattr(origin, "__module__", "")).split(".")[0]
    return FRAMEWORKS.get(root) if name.lower() in ("tensor", "array", "ndarray", "variable") else None


_SCALARS: dict[Any, Scalar] = {float: Scalar(-4.0, 4.0), int: Scalar(0, 4), bool: Scalar(0, 1)}


def infer(fn: Callable[..., Any], *, name: str | None = None, dims: Mapping[str, Any] | None = None,
          inputs: Mapping[str, Tensor | Scalar] | None = None, framework: str | None = None) -> Schema:  # fmt: skip
    """Returns the schema of a function. Arguments that have a default and are not tensors keep the default. Arguments without an
    annotation are tensors [rows, cols]. `inputs` declares what annotations do not."""
    hints, given = _annotations(fn), dict(arguments.mapping(inputs or {}, "inputs"))
    for key, one in given.items():
        if not isinstance(one, (Tensor, Scalar)):
            raise TypeError(f"inputs['{key}'] is {one!r}, expected gpuemu.Tensor[...] or gpuemu.Scalar(low, high)")
    schema = Schema(str(name or getattr(fn, "__name__", type(fn).__name__)))
    for key, parameter in _parameters(fn, given).items():
        hint = hints.get(key)
        spec: Any = given.get(key) or _tensor_of(hint) or (None if parameter.default is not parameter.empty else _SCALARS.get(hint))
        if spec is None and parameter.default is parameter.empty:
            if hint is not None and hint is not Any:
                raise TypeError(f"argument '{key}' of '{schema.name}' is annotated {hint!r}: annotate it with gpuemu.Tensor[...], "
                                "float, int or bool, give it a default, or name it in inputs=")  # fmt: skip
            spec = Tensor()
        if isinstance(spec, Tensor):
            schema.tensors[key] = spec
            schema.framework = _framework_of(hint) or schema.framework
        elif spec is not None:
            schema.scalars[key] = spec
    if not schema.tensors:
        raise TypeError(f"'{schema.name}' takes no tensor: annotate one argument with gpuemu.Tensor[...]")
    names = [one for spec in schema.tensors.values() for one in spec.dims if isinstance(one, str)]
    missing = sorted(set(given) - set(schema.tensors) - set(schema.scalars))
    if missing:
        raise ValueError(f"inputs has {', '.join(missing)}, which '{schema.name}' does not take; it takes {', '.join(_parameters(fn, given))}")
    unknown = sorted(set(arguments.mapping(dims or {}, "dims")) - set(names))
    if unknown:
        raise ValueError(f"dims has {', '.join(unknown)}, which no tensor of '{schema.name}' has; they have {', '.join(names) or 'none'}")
    schema.dims = {one: arguments.sizes((dims or {}).get(one, SIZES), f"dims['{one}']") for one in names}
    schema.framework = framework or schema.framework
    return schema


def _parameters(fn: Callable[..., Any], given: Mapping[str, Any]) -> dict[str, inspect.Parameter]:
    try:
        found = inspect.signature(fn).parameters
    except (TypeError, ValueError):
        if not given:
            raise TypeError(f"{fn!r} does not say what it takes: name its arguments with inputs=") from None
        return {key: inspect.Parameter(key, inspect.Parameter.POSITIONAL_OR_KEYWORD) for key in given}
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    named = {key: one for key, one in found.items() if one.kind not in kinds}
    if len(named) < len(found):
        named.update({key: inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY) for key in given if key not in named})
    return named
