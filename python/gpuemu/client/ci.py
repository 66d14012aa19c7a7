"""What a CI run answers, as dataclasses.

Written by tools/make_protocol.py from common/protocol/tables/*.def; edit those and run it again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from gpuemu.client import extras
from gpuemu.client.artifacts import ArtifactDiffs, LintResult
from gpuemu.client.records import Comparison, ValidationResult
from gpuemu.client.replies import CoveredLine


@dataclass
class CaseSample:
    """How large the error of one case is, for charts."""

    elements: int = 0  # Compared elements of its outputs.
    max_diff: float | None = 0.0
    error_use: float | None = 0.0  # Its largest error over the allowed bound; 1 is the limit.
    values: str = ""  # Its value strategy.
    passed: bool = False


@dataclass
class CiOp(extras.CiOp):
    """One op and dtype of a run. replayed: stored failures and corpus, among `cases`; error: why it could not be run."""

    op_name: str = ""
    dtype: str = ""
    kernel: str = ""  # The variant that ran.
    cases: int = 0
    passed: int = 0
    failed: int = 0
    replayed: int = 0  # Stored failures and corpus, among `cases`.
    cached: bool = False  # Nothing of it has changed since it passed with `cases` cases.
    skipped_reason: str = ""  # Why it is not for this machine: it runs in the client.
    error: str = ""  # Why it could not be run; the run is no success then.
    duration_ms: int = 0
    max_diff: float | None = 0.0
    worst_error_use: float | None = 0.0  # Largest error over its allowed bound; 1 is the limit.
    file: str = ""  # Where it is declared.
    line: int = 0
    proof: dict[str, Any] | None = None  # When a case passed.
    state: str = ""  # "ran", "skipped", "stopped", "no_variant_fits", "runs_in_client" or "broken"
    samples: list[CaseSample] = field(default_factory=list)  # Cases with comparable values, the first 512; none of scripts.


@dataclass
class ErrorMap(extras.ErrorMap):
    """Where in an output the errors are: `cells`, the largest |error| of each cell of a grid over its rows and columns, row
    by row, None where it is not finite; distribution: elements by decade of |error|."""

    op_name: str = ""
    output: str = ""
    seed: int = 0
    dtype: str = ""
    shape: list[int] = field(default_factory=list)
    rows: int = 0
    columns: int = 0  # The grid's; elements share a cell where there are more.
    cells: list[float | None] = field(default_factory=list)  # Largest |error| in each, row by row; not finite: null.
    distribution: dict[str, int] = field(default_factory=dict)  # Elements by decade of |error|: "1e-06", "0".
    bound: float | None = None  # What the element that exceeds its bound most may be off.


@dataclass
class TrendPoint:
    """A kernel's numbers at one time. label: the baseline that they are of, "" of an earlier run; instructions: of the
    machine code, of the PTX where there is none."""

    timestamp: int = 0
    label: str = ""  # The baseline that they are of; "" of an earlier run.
    registers: int = 0
    spill_bytes: int = 0
    stack_bytes: int = 0
    shared_bytes: int = 0
    instructions: int = 0  # In the machine code; where there is none, in the PTX.


@dataclass
class KernelTrend:
    """How a kernel's numbers for one architecture became what they are, oldest first. arch: "" where only the PTX was
    measured."""

    kernel_name: str = ""
    arch: str = ""  # `arch` is "" where only the PTX was measured.
    points: list[TrendPoint] = field(default_factory=list)  # Oldest first; the last one is of this run.


@dataclass
class CiSummary(extras.CiSummary):
    """What `gpuemu ci` prints. `total_tests` to `skipped` count cases and kernels; validation_results has all failures and
    the first 20,000 passing cases; worst: the errors of the first failing case; trends: of kernels that were measured
    before."""

    total_tests: int = 0
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    duration_ms: int = 0
    timestamp: int = 0
    validation_results: list[ValidationResult] = field(default_factory=list)
    lint_results: list[LintResult] = field(default_factory=list)
    artifact_diffs: ArtifactDiffs | None = None
    profile: str = ""  # "quick", "default" or "thorough"
    seed: int = 0  # Base seed of the cases.
    shard: int = 0
    shards: int = 0  # 2 and 8 of "2/8"; 0 when it is the whole.
    backend: str = ""
    device: str = ""
    ops: list[CiOp] = field(default_factory=list)
    kernels_cached: int = 0  # How many lint_results are kept measurements.
    regressions_pass: bool = False  # policies.fail_on_regression is off.
    result_diffs: list[Comparison] = field(default_factory=list)  # With a baseline: results, one per case.
    notes: list[str] = field(default_factory=list)  # What the reader should know: time ran out.
    coverage: list[CoveredLine] = field(default_factory=list)  # Where it was asked for, on a device that counts.
    worst: ErrorMap | None = None  # The first failing case with comparable values.
    trends: list[KernelTrend] = field(default_factory=list)  # Kernels that were measured before.
    incomplete: str = ""  # What ended the run early, "" when all was done.
    error: str = ""  # Why not all could be run: the daemon was stopped. "" when it could.
    execution: str = ""  # "local": kernels ran in the daemon, which has no workers; "" where workers ran them.
