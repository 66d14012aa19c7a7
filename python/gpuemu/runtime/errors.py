"""Errors of devices of this process: one class for each code of the C interface."""

from __future__ import annotations

import json
from typing import Any

from gpuemu.device.places import Place
from gpuemu.errors import DeviceError, DeviceLostError, KernelError

__all__ = ["CaptureError", "CompileError", "DeviceError", "DeviceLostError", "DeviceTimeoutError", "ForkedError", "InvalidArgumentError", "NotFoundError",
           "OutOfMemoryError", "ReleasedError", "UnsupportedError"]  # fmt: skip


class _CodedError(DeviceError):
    """An error whose class determines the code."""

    of = ""

    def __init__(self, message: str, code: str = "") -> None:
        super().__init__(message, code or self.of)


class InvalidArgumentError(_CodedError, ValueError):
    """A wrong argument, shape, dtype, rank, address or attribute; the message names the operand or argument."""

    of = "InvalidArgument"


class ReleasedError(InvalidArgumentError):
    """A tensor, memory, stream, event, graph or device was used after it was freed or closed."""


class CaptureError(InvalidArgumentError):
    """An operation that cannot be captured. The capture has ended."""


class NotFoundError(_CodedError, LookupError):
    """There is no such op, variant, device or name; the message lists the existing ones."""

    of = "NotFound"


class UnsupportedError(_CodedError, NotImplementedError):
    """This device, library or variant does not support the request; for op_call: each variant with its reason."""

    of = "Unsupported"


class OutOfMemoryError(_CodedError, MemoryError):
    """The device has too little memory; the message has the requested, free and cached bytes, and the largest holders."""

    of = "ResourceExhausted"


class CompileError(_CodedError):
    """Source or PTX cannot be compiled; the message has line and column."""

    of = "Compile"


class DeviceTimeoutError(_CodedError, TimeoutError):
    """A kernel exceeded its time limit."""

    of = "Timeout"


class ForkedError(_CodedError, RuntimeError):
    """A device was used in a child of fork, which lacks the threads that do its work."""

    of = "Unavailable"


# By the numbers of the header: the class, or the code of a plain DeviceError.
_BY_NUMBER: dict[int, type[DeviceError] | str] = {
    1: InvalidArgumentError, 2: NotFoundError, 3: "Corruption", 4: UnsupportedError, 5: DeviceLostError, 6: DeviceTimeoutError,
    7: OutOfMemoryError, 8: "Io", 9: CompileError, 10: "Launch", 11: "Cancelled", 12: "Internal",
}  # fmt: skip
INVALID_ARGUMENT, RESOURCE_EXHAUSTED, LAUNCH = 1, 7, 10


def of_code(number: int, message: str) -> DeviceError:
    """Returns the exception for a code, except that of a faulting kernel."""
    kind = _BY_NUMBER.get(number, f"{number}")
    if isinstance(kind, str):
        return DeviceError(message, kind)
    return kind(message)


def of_faults(places: list[Place]) -> DeviceTimeoutError | KernelError:
    """Returns the exception of a wait that found these faults of kernels."""
    return DeviceTimeoutError(places[0].message) if places[0].kind == "timeout" else KernelError(places)


def places_of(text: str) -> list[Place]:
    """Parses findings of the library."""
    known = set(Place.__dataclass_fields__)

    def made(one: dict[str, Any]) -> Place:
        members: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in one.items() if key in known}
        return Place(**members)

    return [made(one) for one in json.loads(text)]
