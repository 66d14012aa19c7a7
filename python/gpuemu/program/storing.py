"""Stores what a check found through the daemon, so that `gpuemu failures` lists it and `gpuemu reproduce SEED` runs it."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence

import gpuemu
from gpuemu.client.records import Finding
from gpuemu.program.report import ProgramFinding


def store(seed: int, found: Sequence[ProgramFinding], folder: str) -> str:
    """Why the failure could not be stored; "" where it was. Starts a daemon where none answers."""
    try:
        with gpuemu.Client() as client:
            client.store_failure(seed, found[0].op, [_finding(one) for one in found], os.path.abspath(folder))
        return ""
    except (gpuemu.ClientError, ImportError, OSError) as problem:
        return f"the failure is not stored: {problem}"


def _finding(one: ProgramFinding) -> Finding:
    numbers = [None if value is None or not math.isfinite(value) else value for value in (one.expected, one.actual)]
    return Finding(one.kind, one.message, one.element, *numbers, one.output, one.source_file, one.source_line)
