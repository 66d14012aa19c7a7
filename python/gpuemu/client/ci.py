"""What a CI run answers, as dataclasses."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from gpuemu.client.artifacts import ArtifactDiffs, LintResult
from gpuemu.client.records import Comparison, ValidationResult
from gpuemu.client.replies import CoveredLine


@dataclass
class CiOp:
    """One op and dtype of a run. replayed: stored failures and corpus, among `cases`; error: why it could not be run."""

    op_name: str = ""
    dtype: str = ""
    kernel: str = ""
    cases: int = 0
    passed: int = 0
    failed: int = 0
    replayed: int = 0
    cached: bool = False
    skipped_reason: str = ""
    error: str = ""
    duration_ms: int = 0
    max_diff: float | None = 0.0
    worst_error_use: float | None = 0.0
    file: str = ""
    line: int = 0
    proof: dict[str, Any] | None = None  # How much the passing cases prove; docs/guides/evidence.md.


@dataclass
class ErrorMap:
    """Where in an output the errors are: `cells`, the largest |error| of each cell of a grid over its rows and columns, row by
    row, None where it is not finite; distribution: elements by decade of |error|."""

    op_name: str = ""
    output: str = ""
    seed: int = 0
    dtype: str = ""
    shape: list[int] = field(default_factory=list)
    rows: int = 0
    columns: int = 0
    cells: list[float | None] = field(default_factory=list)
    distribution: dict[str, int] = field(default_factory=dict)


@dataclass
class TrendPoint:
    """A kernel's numbers at one time. label: the baseline that they are of, "" of an earlier run; instructions: of the machine
    code, of the PTX where there is none."""

    timestamp: int = 0
    label: str = ""
    registers: int = 0
    spill_bytes: int = 0
    stack_bytes: int = 0
    shared_bytes: int = 0
    instructions: int = 0


@dataclass
class KernelTrend:
    """How a kernel's numbers for one architecture became what they are, oldest first. arch: "" where only the PTX was measured."""

    kernel_name: str = ""
    arch: str = ""
    points: list[TrendPoint] = field(default_factory=list)


@dataclass
class CiSummary:
    """What `gpuemu ci` prints. `total_tests` to `skipped` count cases and kernels; validation_results has all failures and the
    first 20,000 passing cases; worst: the errors of the first failing case; trends: of kernels that were measured before."""

    total_tests: int = 0
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    duration_ms: int = 0
    timestamp: int = 0
    validation_results: list[ValidationResult] = field(default_factory=list)
    lint_results: list[LintResult] = field(default_factory=list)
    artifact_diffs: ArtifactDiffs | None = None
    profile: str = ""
    seed: int = 0
    shard: int = 0
    shards: int = 0
    backend: str = ""
    device: str = ""
    ops: list[CiOp] = field(default_factory=list)
    kernels_cached: int = 0
    regressions_pass: bool = False
    result_diffs: list[Comparison] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    coverage: list[CoveredLine] = field(default_factory=list)
    worst: ErrorMap | None = None
    trends: list[KernelTrend] = field(default_factory=list)
    incomplete: str = ""  # What ended the run early.

    @property
    def broken(self) -> list[str]:
        """What could not be run or measured; a run is no success then."""
        return [f"{one.op_name} {one.dtype}: {one.error}" for one in self.ops if one.error] + [
            f"{one.kernel_name}: {one.error}" for one in self.lint_results if one.error
        ] + ([f"incomplete: {self.incomplete}"] if self.incomplete else [])
