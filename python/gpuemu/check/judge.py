"""Judges arrays without a daemon, through gpuemu-check, an installed program that contains the daemon's judge."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from gpuemu import pipes, tensors
from gpuemu.check import declaration
from gpuemu.check.declaration import Judging
from gpuemu.check.tolerances import ToleranceConfig
from gpuemu.client.records import ValidationResult
from gpuemu.errors import InternalError
from gpuemu.tensors import Array


def _refusal(message: str, code: str) -> Exception:
    """Converts an error about the op's text to an error about the arguments from which that text was made."""
    said = re.sub(r"^check\.toml:\d+:\d+: ops\[0\]\.", "", message.strip(), flags=re.MULTILINE)
    return ValueError(said) if code == "InvalidArgument" else InternalError(said)


PROGRAM = pipes.Helper("gpuemu-check", "GPUEMU_CHECK", _refusal)


def dtype_name(array: Array) -> str:
    """Returns the protocol's name of an array's dtype."""
    return str(array.dtype.newbyteorder("=")) if array.dtype.kind != "V" else str(array.dtype)


def is_float(array: Array) -> bool:
    """True if the array is subject to rounding: floats, including bfloat16."""
    return array.dtype.kind == "f" or dtype_name(array) == "bfloat16"


def comparable(array: Array, what: str) -> Array:
    """Returns the array in the byte order of this machine. Raises TypeError for a dtype that gpuemu does not have."""
    if dtype_name(array) in tensors.DTYPES:
        return array.astype(array.dtype.newbyteorder("=")) if array.dtype.byteorder == ">" else array
    if array.dtype.kind == "f":  # A long double is rounded to float64.
        return array.astype(np.float64)
    hint = "; compare .real and .imag" if array.dtype.kind == "c" else ""
    raise TypeError(f"the {what} is of {array.dtype}; floats, integers and bools can be compared{hint}")


def _expected(array: Array) -> Array:
    """Converts a reference: floats to float64, integers to 64 bits."""
    array = comparable(array, "reference")
    if is_float(array):
        return array.astype(np.float64)
    return array if array.dtype.kind == "b" or array.dtype == np.uint64 else array.astype(np.int64)


def array_of(given: Any, what: str) -> Array:
    """Returns an array that can be compared. Raises a TypeError that says what was given instead."""
    if given is None or isinstance(given, (str, bytes, dict)):
        raise TypeError(f"the {what} is {given!r:.80}, expected an array")
    try:
        made = tensors.as_array(given, what)
    except ValueError:  # Raised by NumPy when the parts have different shapes.
        raise TypeError(f"the {what} is of type {type(given).__name__} whose parts differ in shape, expected one array") from None
    if made.dtype == object and not made.shape and not hasattr(given, "dtype"):
        raise TypeError(f"the {what} is of type {type(given).__name__}, expected an array")
    return made


# Calls the reference with the named arrays: in a wider dtype if the flag is True, in their own dtypes if it is False.
Again = Callable[[dict[str, Array], bool], Any]


@dataclass(frozen=True)
class Judged:
    """The case that an output belongs to: seed and number of the case, the dtype under test, its dims, attrs and inputs."""

    seed: int = 0
    number: int = 0
    dtype: str = ""
    dims: Mapping[str, int] = field(default_factory=dict)
    attrs: Mapping[str, float] = field(default_factory=dict)
    inputs: Mapping[str, Array] = field(default_factory=dict)


def verdict(op: str, case: Judged, output: Array, reference: Array, scale: Array | None = None,
            again: Again | None = None) -> dict[str, Any]:  # fmt: skip
    """Judges an output with the daemon's judge and returns the ValidationResult of docs/reference/protocol.md. op: the text of a
    gpuemu.toml; scale: how large errors may be, one per element; again: the reference, for other inputs. Without `again` no error
    is attributed to the precision of the inputs, and none to masked or flushed values."""
    got, want = comparable(output, "output"), _expected(reference)
    given = {name: comparable(one, f"input '{name}'") for name, one in case.inputs.items()}
    parts = [*given.values(), got, want, *([] if scale is None else [np.broadcast_to(scale, want.shape).astype(np.float64)])]
    request = {"request": "judge", "op": op, "seed": case.seed, "case": case.number, "dtype": case.dtype or dtype_name(got),
               "dims": dict(case.dims), "attrs": {name: float(one) for name, one in case.attrs.items()},
               "inputs": [{"name": name, **_described(one)} for name, one in given.items()],
               "output": _described(got), "reference": _described(want), "scale": scale is not None}  # fmt: skip
    changed: list[Array] = []
    while True:
        reply, data = PROGRAM.ask({**request, "changed": len(changed)}, b"".join(one.tobytes() for one in [*parts, *changed]))
        if not reply.get("wanted") or again is None:
            result: dict[str, Any] = reply["result"]
            return {**result, "flushed": reply.get("flushed", False)}
        changed.append(_changed_reference(again, given, data, want, wide=not reply.get("narrow")))


def _changed_reference(again: Again, like: Mapping[str, Array], data: bytes, want: Array, *, wide: bool) -> Array:
    """Calls the reference with the changed inputs, which are in `data`. If that fails, returns the original reference, which
    excuses no error."""
    inputs, at = {}, 0
    for name, one in like.items():
        inputs[name] = np.frombuffer(data, np.uint8, one.nbytes, at).view(one.dtype).reshape(one.shape).copy()
        at += one.nbytes
    try:
        made = _expected(array_of(again(inputs, wide), "reference"))
    except Exception:  # The reference accepted the inputs themselves, so failing on nearby inputs decides nothing.
        return want
    if not wide and made.dtype.kind == want.dtype.kind == "f":
        made = made.astype(want.dtype)
    return made if (made.shape, made.dtype) == (want.shape, want.dtype) else want


def _described(array: Array) -> dict[str, Any]:
    return {"dtype": dtype_name(array), "shape": list(array.shape)}


def compare(actual: Any, expected: Any, tolerance: ToleranceConfig | None = None, *, op_name: str = "op", seed: int = 0,
            inputs: Mapping[str, Any] | None = None, judging: Judging | None = None,
            again: Again | None = None) -> ValidationResult:  # fmt: skip
    """Judges `actual` with the daemon's judge, without a daemon. `expected` may have a wider dtype: its values are compared.
    judging: the op's options; without a tolerance in them errors may be as large as rounding explains. inputs: the inputs of
    `actual`, which determine that size; again: the reference as a function of such inputs, as in verdict()."""
    judging = judging or Judging()
    if tolerance is not None:
        judging = replace(judging, tolerance=tolerance)
    got, want = array_of(actual, "output"), array_of(expected, "reference")
    given = {name: array_of(one, f"input '{name}'") for name, one in (inputs or {}).items()}
    made = verdict(declaration.op_text(op_name, judging), Judged(inputs=given), got, want, again=again)
    return result_of(made, op_name, seed, got, want)


def result_of(made: dict[str, Any], op_name: str, seed: int, got: Array, want: Array) -> ValidationResult:
    """Converts a verdict to a result of this process."""
    result = ValidationResult.from_dict({**made, "op_name": op_name, "seed": seed, "timestamp": int(time.time())})
    result.compared = None if result.passed else (got, want)
    return result


def float64_inputs(reference: Callable[..., Any], inputs: Mapping[str, Any], wide: bool = True) -> Any:
    """Calls `reference` with copies of the inputs, which it may change. Float inputs become float64 if `wide`; the others keep
    their dtype."""
    arrays = {name: array_of(one, f"input '{name}'") for name, one in inputs.items()}
    with np.errstate(all="ignore"):  # NaN and infinity are drawn on purpose.
        return reference(**{name: one.astype(np.float64) if wide and is_float(one) else one.copy() for name, one in arrays.items()})
