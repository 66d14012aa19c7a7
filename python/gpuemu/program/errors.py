"""What can be wrong with a program. Errors of devices are those of gpuemu.runtime."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import Any


class ProgramError(Exception):
    """A program cannot be written, bound or run as it stands."""


class ShapeError(ProgramError, ValueError):
    """Shapes that do not fit the op; raised where the op is written."""


class DTypeError(ProgramError, TypeError):
    """Dtypes that do not fit the op; raised where the op is written."""


class GradError(ProgramError, RuntimeError):
    """A gradient that does not exist."""


class GraphError(ProgramError, ValueError):
    """A graph that makes no sense: a name twice, a value of another graph, a parameter read after its update."""


class BindError(ProgramError, ValueError):
    """Storage that does not fit the value it is bound to, or a value without storage."""


class BackendError(ProgramError, RuntimeError):
    """Tensors of two places in one op, or a place that cannot do what is asked."""


class UnknownPassError(ProgramError, ValueError):
    """The name of a pass that does not exist."""

    def __init__(self, name: str, known: Sequence[str]) -> None:
        super().__init__(f"unknown pass {name!r}: expected {', '.join(known)}")


class ProgramCheckError(ProgramError, AssertionError):
    """A checked program computes something wrong. `report` has all that was found."""

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
