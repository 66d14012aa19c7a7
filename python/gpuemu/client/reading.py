"""Converts records of the protocol to dataclasses, by the type hints of their members."""

from __future__ import annotations

import base64
import dataclasses
import functools
import types
import typing
from typing import Any, TypeVar

import numpy as np

from gpuemu import tensors
from gpuemu.client.records import ValidationResult

T = TypeVar("T")


@functools.cache
def _hints(cls: Any) -> dict[str, Any]:
    return typing.get_type_hints(cls)


def _value(hint: Any, value: Any) -> Any:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return None if value is None else _value(next(one for one in arguments if one is not type(None)), value)
    if origin is np.ndarray:
        return tensors.decode(value)
    if origin is list:
        return [_value(arguments[0], one) for one in value]
    if origin is dict:
        return {key: _value(arguments[1], one) for key, one in value.items()}
    if hint is bytes:
        return base64.b64decode(value)
    if hint is ValidationResult:
        return ValidationResult.from_dict(value)
    return read(hint, value) if isinstance(hint, type) and dataclasses.is_dataclass(hint) else value


def read(cls: type[T], data: dict[str, Any]) -> T:
    """Creates a dataclass, and those in it, from the members that `data` has; tensors become arrays."""
    hints = _hints(cls)  # type: ignore[arg-type]
    return cls(**{name: _value(hint, data[name]) for name, hint in hints.items() if data.get(name) is not None})


def plain(record: Any) -> dict[str, Any]:
    """Converts a dataclass to the protocol's form: members that are None are left out."""
    return dataclasses.asdict(record, dict_factory=_without_none)


def _without_none(members: list[tuple[str, Any]]) -> dict[str, Any]:
    return {name: value for name, value in members if value is not None}
