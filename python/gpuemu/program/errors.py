"""Errors of programs. Errors of devices are those of gpuemu.runtime."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import Any


class ProgramError(Exception):
    """A program is invalid or cannot be bound or run."""


class ShapeError(ProgramError, ValueError):
    """Shapes do not fit the op; raised by the statement that writes the op."""


class DTypeError(ProgramError, TypeError):
    """Dtypes do not fit the op; raised by the statement that writes the op."""


class GradError(ProgramError, RuntimeError):
    """A gradient does not exist."""


class GraphError(ProgramError, ValueError):
    """A graph is invalid: a name occurs twice, a value is from another graph, or a parameter is read after its update."""


class BindError(ProgramError, ValueError):
    """Storage does not fit the value that it is bound to, or a value has no storage."""


class BackendError(ProgramError, RuntimeError):
    """An op has tensors of two places, or a place does not support the request."""


class UnknownPassError(ProgramError, ValueError):
    """There is no pass of that name."""

    def __init__(self, name: str, known: Sequence[str]) -> None:
        super().__init__(f"unknown pass {name!r}: expected {', '.join(known)}")


class ProgramCheckError(ProgramError, AssertionError):
    """A checked program computes something wrong. `report` has all findings."""

    def __init__(self, report: Any) -> None:
        super().__init__(report.text())
        self.report = report

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.report,)


def unknown_op(op: str, known: Iterable[str], why: str = "") -> GraphError:
    """Returns the error for an op that does not exist. It gives the reason `why`, else suggests the closest known name."""
    close = difflib.get_close_matches(op, sorted(set(known)), n=1)
    meant = f"did you mean {close[0]!r}? gpuemu.runtime.ops() lists all" if close else "expected one of gpuemu.runtime.ops(), or of the gpuemu.program page"
    return GraphError(f"unknown op {op!r}: {why or meant}")
