"""Checks arguments of callers. Errors say which argument is wrong, what was given and what was expected."""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gpuemu.tensors import DTYPES


def whole(value: Any, what: str, least: int | None = None, most: int | None = None) -> int:
    """Returns the value as an int; NumPy integers are accepted. TypeError for anything else, ValueError below `least` or above
    `most`."""
    if isinstance(value, bool):
        raise TypeError(f"{what} is {value!r}, expected an integer")
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{what} is {value!r}, expected an integer") from None
    if least is not None and number < least:
        raise ValueError(f"{what} is {number}, expected {least} or more")
    if most is not None and number > most:
        raise ValueError(f"{what} is {number}, expected {most} at most")
    return number


def seed(value: Any, what: str = "seed") -> int:
    """Returns the value as an integer that fits in 64 bits without a sign."""
    number = whole(value, what)
    if not 0 <= number < 1 << 64:
        raise ValueError(f"{what} is {number}, expected an integer from 0 to 2**64 - 1")
    return number


def bits64(value: Any, what: str = "seed") -> int:
    """Returns an integer of 64 bits, signed or unsigned, as the unsigned integer with the same bits, so that different seeds of
    one kind stay different."""
    number = whole(value, what)
    if not -(1 << 63) <= number < 1 << 64:
        raise ValueError(f"{what} is {number}, which 64 bits do not hold; expected -2**63 to 2**64 - 1")
    return number & ((1 << 64) - 1)


def names(value: Any, what: str, known: Sequence[str]) -> list[str]:
    """Returns a nonempty list of known names. TypeError for a single name, ValueError for unknown names."""
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise TypeError(f"{what} is {value!r}, expected a list of names, as in [{known[0]!r}]")
    found = list(value)
    unknown = [str(one) for one in found if one not in known]
    if unknown:
        raise ValueError(f"unknown {what} {', '.join(unknown)}; there are {', '.join(known)}")
    if not found:
        raise ValueError(f"{what} is empty")
    return found


def texts(value: Any, what: str) -> list[str]:
    """Returns a list of strings or paths. TypeError for a single string, which a list would split into its letters."""
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        raise TypeError(f"{what} is {value!r}, expected a list, as in [{value!r}]")
    found = [os.fspath(one) for one in value]
    if wrong := [one for one in found if not isinstance(one, str)]:
        raise TypeError(f"{what} has {wrong[0]!r}, expected texts")
    return found


def dtype(value: Any, what: str = "dtype") -> str:
    """Returns the protocol's name of a dtype."""
    name = str(value)
    if name not in DTYPES:
        raise ValueError(f"{what} is {value!r}, expected one of {', '.join(DTYPES)}")
    return name


def shape(value: Any, what: str = "shape") -> tuple[int, ...]:
    """Returns a tuple of sizes, none of them negative."""
    if not isinstance(value, (list, tuple)) and (isinstance(value, (str, bytes)) or not isinstance(value, Iterable)):
        raise TypeError(f"{what} is {value!r}, expected a list of sizes, as in [2, 3]")
    return tuple(one if type(one) is int and one >= 0 else whole(one, f"a size of {what}", 0) for one in value)


def bounds(value: Any, what: str = "range") -> tuple[float, float] | None:
    """Returns (low, high) with low <= high, or None."""
    if value is None:
        return None
    try:
        low, high = (float(one) for one in value)
    except (TypeError, ValueError):
        raise TypeError(f"{what} is {value!r}, expected two numbers (low, high)") from None
    if not low <= high or math.isinf(low) and low == high:
        raise ValueError(f"{what} is ({low:g}, {high:g}), expected low <= high")
    return low, high


def sizes(value: Any, what: str) -> tuple[int, ...]:
    """Returns the sizes of a dim: (least, largest), or a list to choose from. It is not empty and no size is negative."""
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        raise TypeError(f"{what} is {value!r}, expected (least, largest) or a list of sizes, as in (1, 64)")
    found = tuple(whole(one, f"a size of {what}", 0) for one in value)
    if not found:
        raise ValueError(f"{what} has no size to choose from")
    if isinstance(value, tuple) and len(found) == 2 and found[0] > found[1]:
        raise ValueError(f"{what} is {value!r}, expected (least, largest); to choose from the two write {list(found)}")
    return found


def mapping(value: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise TypeError(f"{what} is {value!r}, expected a dict by name")
    return value
