"""Writes an op as the text of a gpuemu.toml: the tensors of a Python function, and the options for judging its outputs."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gpuemu import tensors
from gpuemu.check.schema import Schema
from gpuemu.check.tolerances import ToleranceConfig

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LARGEST = 1e308  # Largest limit of a range in gpuemu.toml.
_REFERENCE = "function.py"  # An op must name a reference; nobody opens this file.


@dataclass(frozen=True)
class Judging:
    """Options for judging outputs: the keys of [[ops]] in gpuemu.toml, explained in docs/reference/config.md, with the defaults
    of ops that have a kernel. tolerance: replaces the computed bound. accumulate: an expression of dims, or a number."""

    tolerance: ToleranceConfig | None = None
    accumulate: str | int | None = None
    accumulate_dtype: str | None = None
    error_scale: str | None = None
    nan_policy: str | None = None
    subnormal: str | None = None
    strict: bool | None = None
    exact: bool | None = None
    invariants: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.tolerance is not None and not isinstance(self.tolerance, ToleranceConfig):
            raise TypeError(f"tolerance is {self.tolerance!r}, expected gpuemu.ToleranceConfig(atol, rtol)")

    def lines(self) -> list[str]:
        """Returns the lines of the op's table."""
        keys = {"accumulate": None if self.accumulate is None else str(self.accumulate), "accumulate_dtype": self.accumulate_dtype,
                "error_scale": self.error_scale, "nan_policy": self.nan_policy, "subnormal": self.subnormal, "strict": self.strict,
                "exact": self.exact}  # fmt: skip
        limit = "auto" if self.tolerance is None else {"atol": float(self.tolerance.atol), "rtol": float(self.tolerance.rtol)}
        return [*(f"{key} = {_toml(value)}" for key, value in keys.items() if value is not None),
                f"tolerances = {_toml(dict.fromkeys(tensors.DTYPES, limit))}",
                f"invariants = {_toml(dict(self.invariants))}"]  # fmt: skip


def _toml(value: Any) -> str:
    """Returns a value in the syntax of gpuemu.toml, on one line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, str):
        return json.dumps(value).replace("\x7f", "\\u007f")
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{json.dumps(str(key))} = {_toml(one)}" for key, one in value.items()) + "}"
    if isinstance(value, Sequence):
        return "[" + ", ".join(_toml(one) for one in value) + "]"
    raise TypeError(f"{value!r:.80} cannot be written into gpuemu.toml: expected numbers, texts, lists and tables")


class Declaration:
    """A schema as an op. gpuemu.toml allows fewer names than Python: `tensors` and `dims` map each Python name to its name
    there."""

    def __init__(self, schema: Schema, dtypes: Sequence[str], judging: Judging) -> None:
        self.tensors = {name: _legal(name, f"tensor{i}") for i, name in enumerate(schema.tensors)}
        taken = set(self.tensors.values())
        self.dims = {name: f"dim{i}" if name in taken else _legal(name, f"dim{i}") for i, name in enumerate(schema.dims)}
        inputs = [{"name": self.tensors[name], "shape": [self.dims[one] if isinstance(one, str) else one for one in spec.dims],
                   **({"dtype": spec.dtype} if spec.dtype else {}), **({"range": _range(spec.range)} if spec.range else {})}
                  for name, spec in schema.tensors.items()]  # fmt: skip
        dims = {self.dims[name]: _sizes(choices) for name, choices in schema.dims.items()}
        self.text = op_text(schema.name, judging, [f"dtypes = {_toml(list(dtypes))}", f"inputs = {_toml(inputs)}", f"dims = {_toml(dims)}"])


def op_text(name: str, judging: Judging, lines: Sequence[str] = ()) -> str:
    """Returns a gpuemu.toml with one op."""
    return "\n".join(["[[ops]]", f"name = {_toml(re.sub(r'[^ -~]', '_', name) or 'op')}", f"reference = {_toml(_REFERENCE)}", *lines, *judging.lines(), ""])


def _legal(name: str, otherwise: str) -> str:
    return name if _NAME.fullmatch(name) and name != "dtype" else otherwise


def _range(bounds: tuple[float, float]) -> list[float]:
    return [min(max(float(one), -_LARGEST), _LARGEST) for one in bounds]


def _sizes(choices: Sequence[int]) -> list[int]:
    """Returns the choices as gpuemu.toml needs them. It reads a list of two sizes as a range, so two descending sizes are written
    as three."""
    sizes = [int(one) for one in choices]
    return [*sizes, sizes[0]] if len(sizes) == 2 and sizes[0] > sizes[1] else sizes
