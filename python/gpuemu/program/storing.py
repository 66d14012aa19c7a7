"""Stores the findings of a check through the daemon, so that `gpuemu failures` lists them and `gpuemu reproduce SEED` runs the
reproducer."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence

import gpuemu
from gpuemu.client.records import Finding
from gpuemu.program.report import ProgramFinding


def store(seed: int, found: Sequence[ProgramFinding], folder: str) -> str:
    """Stores the failure. Returns why that failed, "" if it succeeded. Starts a daemon if none answers."""
    try:
        with gpuemu.Client() as client:
            client.store_failure(seed, found[0].op, [_finding(one) for one in found], os.path.abspath(folder))
        return ""
    except (gpuemu.ClientError, ImportError, OSError) as problem:
        return f"the failure is not stored: {problem}"


def _finding(one: ProgramFinding) -> Finding:
    return Finding(kind=one.kind, message=one.message, index=one.element, expected=_number(one.expected), actual=_number(one.actual),
                   output=one.output, source_file=one.source_file, source_line=one.source_line)


def _number(value: float | None) -> float | None:
    """Returns the value; None for NaN and infinity, which JSON cannot represent."""
    return value if value is not None and math.isfinite(value) else None
