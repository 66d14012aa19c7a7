"""The findings of a program's check."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from gpuemu.device.places import Place
from gpuemu.program.errors import ProgramCheckError

# Names in reports for the findings of a device (runtime/device/device_findings.def; a test compares them).
KINDS = {
    "out_of_bounds": "OutOfBounds", "misaligned": "Misaligned", "uninitialized": "UninitializedRead", "division_by_zero": "DivisionByZero",
    "race_shared": "DataRace", "race_warp": "DataRace", "race_global": "DataRace", "race_async": "DataRace",
    "barrier_divergence": "BarrierDivergence", "illegal_mask": "IllegalSync", "mbarrier": "IllegalSync", "deadlock": "Deadlock",
    "timeout": "Timeout", "stack_overflow": "StackOverflow", "illegal_address": "DeviceFault", "invalid_free": "DeviceFault",
    "invalid_texture": "DeviceFault", "invalid_metadata": "DeviceFault", "trap": "Trap", "assert": "Trap",
    "unsupported_instruction": "UnsupportedInstruction", "written_twice": "InvariantViolation",
}  # fmt: skip
REPLAY_DIFFERS = "ReplayDiffers"


@dataclass
class ProgramFinding:
    """One fault. index: of the lowered op, -1 for the whole replay; node: of the graph; output, vid: the value; element: flat
    index; where: file and line of the program that wrote the op."""

    index: int
    node: int
    op: str
    variant: str
    output: str
    vid: int | None
    kind: str
    message: str
    element: int | None = None
    expected: float | None = None
    actual: float | None = None
    source_file: str = ""
    source_line: int = 0
    where: str = ""

    def text(self) -> str:
        """Describes the fault in two or three lines."""
        named = f"op {self.index}, {self.op}" if self.index >= 0 else "the replay"
        lines = [f"{named}{f' ({self.variant})' if self.variant else ''}{f', {self.output}' if self.output else ''}: {self.kind}", f"  {self.message}"]
        if self.source_file:
            lines.append(f"  kernel: {self.source_file}:{self.source_line}")
        return "\n".join([*lines, *([f"  written at {self.where}"] if self.where else [])])


@dataclass
class CheckedOp:
    """One op that was run. largest_error: as a share of its bound; above 1 it is wrong. None if values were not compared."""

    index: int
    op: str
    variant: str
    largest_error: float | None


@dataclass
class ProgramReport:
    """findings: in program order; unchecked: ops that ran and have no reference; reproducer: a folder."""

    ops: list[CheckedOp] = field(default_factory=list)
    findings: list[ProgramFinding] = field(default_factory=list)
    unchecked: list[str] = field(default_factory=list)
    ops_total: int = 0
    reproducer: str | None = None
    seed: int = 0
    stored: bool = False
    notes: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """True if something was checked and nothing is wrong."""
        return not self.findings and self.ops_checked > 0

    @property
    def first(self) -> ProgramFinding | None:
        """The first finding in program order."""
        return self.findings[0] if self.findings else None

    @property
    def ops_checked(self) -> int:
        """Number of ops that were run and judged."""
        return len(self.ops) - len(self.unchecked)

    def text(self) -> str:
        """The report as lines."""
        lines = [f"{'passed' if self.passed else 'FAILED'}: {self.ops_checked} of {self.ops_total} ops checked"]
        lines += [one.text() for one in self.findings]
        if self.unchecked:
            lines.append(f"not judged, without a reference: {', '.join(self.unchecked)}")
        if self.reproducer:
            lines.append(f"reproducer: {self.reproducer}")
        return "\n".join([*lines, *(f"note: {one}" for one in self.notes)])

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        from gpuemu.client.display import program_html

        return program_html(self)

    def to_dict(self) -> dict[str, Any]:
        """Returns the whole report, for JSON."""
        whole = asdict(self)
        return {**whole, "passed": self.passed, "ops_checked": self.ops_checked, "first": whole["findings"][0] if self.findings else None}

    def raise_on_failure(self) -> None:
        """Raises ProgramCheckError if something is wrong, or nothing was checked."""
        if not self.passed:
            raise ProgramCheckError(self)


def of_places(places: Sequence[Place], **op: Any) -> list[ProgramFinding]:
    """Converts findings of a device, without its notes."""
    return [ProgramFinding(output="", vid=None, kind=KINDS.get(one.kind, "DeviceFault"), message=one.message, source_file=one.file,
                           source_line=one.line, **op) for one in places if not one.is_note]  # fmt: skip
