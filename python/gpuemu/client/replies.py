"""Answers about kernels and their cases, as dataclasses; what runs of cases answer is in gpuemu.records, metrics of compiled code
in gpuemu.artifacts. Numbers that are not finite come as None."""

from __future__ import annotations

from dataclasses import dataclass, field

from gpuemu.client.records import ValidationResult, Vote
from gpuemu.tensors import Array

Bytes = bytes  # Beside a member of that name.


# --- where a wrong value comes from


@dataclass
class ExplainedValue:
    """A value as the kernel computed it and as it would be without rounding; bound: how far rounding may take it. name: of the
    register, "" where it has none."""

    name: str = ""
    computed: float | None = None
    exact: float | None = None
    bound: float | None = None


@dataclass
class ExplainedStep:
    """An instruction that the value went through. visit: how often the thread had come there; count: values that the
    instruction gave to the element."""

    kind: str = ""
    instruction: str = ""
    file: str = ""
    line: int = 0
    ptx_line: int = 0
    block: list[int] = field(default_factory=list)
    thread: list[int] = field(default_factory=list)
    visit: int = 0
    count: int = 0
    result: ExplainedValue = field(default_factory=ExplainedValue)
    operands: list[ExplainedValue] = field(default_factory=list)


@dataclass
class ExplainedOutput:
    """An output's elements by what is wrong with them."""

    name: str = ""
    elements: int = 0
    wrong: int = 0
    logic: int = 0
    numerical: int = 0
    rounding: int = 0


@dataclass
class ExplainResult:
    """Where the error of one element comes from. verdict: "logic", "numerical", "rounding", "passes" or "unknown"; sentences:
    what happened and what to do; divergence: where the error begins; slice: what the element is made of, the last
    instruction first; complete: False where the history was too long to keep."""

    seed: int = 0
    op_name: str = ""
    kernel: str = ""
    verdict: str = ""
    sentences: list[str] = field(default_factory=list)
    output: str = ""
    index: int = 0
    computed: float | None = None
    exact: float | None = None
    reference: float | None = None
    tolerance: float | None = None
    bound: float | None = None
    outputs: list[ExplainedOutput] = field(default_factory=list)
    divergence: ExplainedStep | None = None
    slice: list[ExplainedStep] = field(default_factory=list)
    other_decisions: int = 0
    first_other_decision: ExplainedStep | None = None
    complete: bool = True
    vote: Vote | None = None


# --- cases of kernels


@dataclass
class StoredCase:
    """A stored failure that is not run again. case: its verdict with repro_info; inputs: its arrays by name."""

    case: ValidationResult = field(default_factory=ValidationResult)
    inputs: dict[str, Array] = field(default_factory=dict)


@dataclass
class ExportedTensor:
    """A tensor as the kernel sees it. strides: in elements; first_element: of the storage, where element 0 lies;
    base_offset_bytes: of the storage from an aligned address; edge: the magnitude from which infinity counts as the value."""

    name: str = ""
    role: str = ""
    dtype: str = ""
    shape: list[int] = field(default_factory=list)
    strides: list[int] = field(default_factory=list)
    storage_elements: int = 0
    first_element: int = 0
    base_offset_bytes: int = 0
    edge: float | None = None


@dataclass
class ExportedArg:
    """An argument: a tensor's address, or the bytes of a number."""

    text: str = ""
    tensor: str = ""
    bytes: Bytes = b""


@dataclass
class ExportedLaunch:
    """One launch: the entry's name in the PTX, three sizes each."""

    entry: str = ""
    grid: list[int] = field(default_factory=list)
    block: list[int] = field(default_factory=list)
    cluster: list[int] = field(default_factory=list)
    shared_bytes: int = 0
    args: list[ExportedArg] = field(default_factory=list)


@dataclass
class ExportedCase:
    """A stored failure with everything that running it takes. expected, bounds: of each output, not rounded, and how far each
    element may lie from it."""

    result: ValidationResult = field(default_factory=ValidationResult)
    version: str = ""
    arch: str = ""
    kernel: str = ""
    ptx: str = ""
    sources: dict[str, str] = field(default_factory=dict)
    source: str = ""
    tensors: list[ExportedTensor] = field(default_factory=list)
    launches: list[ExportedLaunch] = field(default_factory=list)
    inputs: dict[str, Array] = field(default_factory=dict)
    expected: dict[str, Array] = field(default_factory=dict)
    bounds: dict[str, Array] = field(default_factory=dict)
    nan_policy: str = ""

    def placed(self) -> dict[str, Array]:
        """The inputs by name, in memory that is laid out as the kernel had it."""
        from gpuemu.generate import layouts

        found = {}
        for one in self.tensors:
            if one.name in self.inputs:
                layout = layouts.Layout(tuple(one.strides), one.first_element, one.storage_elements)
                found[one.name] = layouts.place(self.inputs[one.name], layout, one.base_offset_bytes)
        return found


@dataclass
class CoveredLine:
    """A source line that has code, and how many threads executed it."""

    file: str = ""
    line: int = 0
    hits: int = 0


@dataclass
class BranchWay:
    """One way out of a branch of a line: branch and way count from 0, to_line is where it goes on (0: in another file)."""

    file: str = ""
    line: int = 0
    branch: int = 0
    way: int = 0
    to_line: int = 0
    hits: int = 0


@dataclass
class KernelCoverage:
    """What cases reached of one kernel."""

    kernel: str = ""
    ops: list[str] = field(default_factory=list)
    seed: int = 0
    cases: int = 0
    failed: int = 0
    replayed: int = 0
    lines: list[CoveredLine] = field(default_factory=list)
    branches: list[BranchWay] = field(default_factory=list)
    blocks: int = 0
    blocks_total: int = 0
    edges: int = 0
    edges_total: int = 0
    incomplete: str = ""  # What ended the run early.


@dataclass
class CalibrationRow:
    """The largest errors of passing cases of one strategy. bound_use: of the tolerance in force; 1 is the limit."""

    value_strategy: str = ""
    cases: int = 0
    max_abs: float | None = 0.0
    max_rel: float | None = 0.0
    max_ulp: int = 0
    bound_use: float | None = 0.0


@dataclass
class CalibratedDType:
    """A tolerance of twice the largest error that was seen. left_out: cases that fail."""

    dtype: str = ""
    cases: int = 0
    left_out: int = 0
    atol: float = 0.0
    rtol: float = 0.0
    is_exact: bool = False
    skipped_reason: str = ""
    rows: list[CalibrationRow] = field(default_factory=list)


@dataclass
class Calibration:
    """How large a kernel's errors are where it is right, by dtype."""

    op_name: str = ""
    kernel: str = ""
    seed: int = 0
    backend: str = ""
    device: str = ""
    dtypes: list[CalibratedDType] = field(default_factory=list)
    incomplete: str = ""  # What ended the run early.


# --- mutants, and kernels side by side


@dataclass
class Mutant:
    """A kernel with one fault planted on purpose. status: "killed", "survived", "equivalent", "invalid" or "not_run"; what
    kills a survivor is in the members killing_*, when a search found it."""

    id: int = 0
    mutation: str = ""
    entry: str = ""
    file: str = ""
    line: int = 0
    ptx_line: int = 0
    before: str = ""
    after: str = ""
    status: str = ""
    cases: int = 0
    killed_by: str = ""
    killing_strategy: str = ""
    killing_shape_strategy: str = ""
    killing_dims: dict[str, int] = field(default_factory=dict)
    reason: str = ""


@dataclass
class MutationReport:
    """What an op's cases see of planted faults. score: killed / (killed + survived), None when no mutant was judged."""

    op_name: str = ""
    kernel: str = ""
    dtype: str = ""
    seed: int = 0
    cases: int = 0
    found: int = 0
    total: int = 0
    killed: int = 0
    survived: int = 0
    equivalent: int = 0
    invalid: int = 0
    not_run: int = 0
    score: float | None = None
    mutants: list[Mutant] = field(default_factory=list)
    duration_ms: int = 0
    incomplete: str = ""  # What ended the run early.


@dataclass
class KernelDifference:
    """One thing that two kernels do not share; lines of the PTX, 0 where there is none on that side."""

    kind: str = ""
    text: str = ""
    before_line: int = 0
    after_line: int = 0
    before_source: str = ""
    after_source: str = ""


@dataclass
class EntryDifference:
    """opcodes: how many more of each there are after. left_out: differences beyond those listed."""

    entry: str = ""
    verdict: str = ""
    opcodes: dict[str, int] = field(default_factory=dict)
    differences: list[KernelDifference] = field(default_factory=list)
    left_out: int = 0


@dataclass
class KernelComparison:
    """Two files of kernels. verdict: the gravest of the entries'."""

    before: str = ""
    after: str = ""
    verdict: str = ""
    entries: list[EntryDifference] = field(default_factory=list)


# --- what is proved of memory accesses


@dataclass
class AccessBounds:
    """One use of memory by one instruction. proved: it stays inside for all sizes and data; else reason says why that is not
    known. offset, extent: its first byte and the bytes of the tensor, as formulas."""

    kind: str = ""
    space: str = ""
    tensor: str = ""
    file: str = ""
    line: int = 0
    ptx_line: int = 0
    instruction: str = ""
    proved: bool = False
    reason: str = ""
    offset: str = ""
    extent: str = ""


@dataclass
class LaunchBounds:
    """A launch (from 1) of a kernel for one dtype. error: why it could not be looked at."""

    op_name: str = ""
    kernel: str = ""
    dtype: str = ""
    launch: int = 0
    entry: str = ""
    error: str = ""
    accesses: list[AccessBounds] = field(default_factory=list)


@dataclass
class BoundsReport:
    """Memory accesses of kernels: total, and proved to stay inside of their tensors."""

    launches: list[LaunchBounds] = field(default_factory=list)
    total: int = 0
    proved: int = 0
    duration_ms: int = 0
    incomplete: str = ""  # What ended the run early.
