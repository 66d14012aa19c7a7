"""Answers about kernels and their cases, as dataclasses; what runs of cases answer is in gpuemu.client.records, metrics of compiled
code in gpuemu.client.artifacts. Numbers that are not finite come as None.

Written by tools/make_protocol.py from common/protocol/tables/*.def; edit those and run it again.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from gpuemu.client import extras
from gpuemu.client.records import ValidationResult, Vote
from gpuemu.tensors import Array

Bytes = bytes  # Beside a member of that name.


@dataclass
class ExplainedValue:
    """A value as the kernel computed it and as it would be without rounding; bound: how far rounding may take it. name: of
    the register, "" where it has none."""

    name: str = ""  # "%f12"; "" where it has none.
    computed: float | None = None
    exact: float | None = None
    bound: float | None = None


@dataclass
class ExplainedStep:
    """An instruction that the value went through. visit: how often the thread had come there; count: values that the
    instruction gave to the element."""

    kind: str = ""  # "compute", "load", "store", "cancels", "absorbs", "overflows", "coarse", "amplifies" or "grows"
    instruction: str = ""
    file: str = ""
    line: int = 0
    ptx_line: int = 0
    block: list[int] = field(default_factory=list)
    thread: list[int] = field(default_factory=list)
    visit: int = 0  # How often the thread had come there.
    count: int = 0  # Values that the instruction gave to the element.
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
class CoveredLine:
    """A source line that has code, and how many threads executed it."""

    file: str = ""
    line: int = 0
    hits: int = 0


@dataclass
class BranchWay:
    """One way out of a branch of a line: branch and way count from 0, to_line is where it goes on (0: in another file)."""

    file: str = ""  # "": a line of the PTX, as in LineProfile.
    line: int = 0
    branch: int = 0  # Among the branches of the line, from 0.
    way: int = 0  # Its place among the branch's, from 0.
    to_line: int = 0  # Where it goes on, of the same file; 0 where that is another file.
    hits: int = 0  # Threads that went it.


@dataclass
class CalibrationRow:
    """The largest errors of passing cases of one strategy. bound_use: of the tolerance in force; 1 is the limit."""

    value_strategy: str = ""
    cases: int = 0
    max_abs: float | None = None
    max_rel: float | None = None
    max_ulp: int = 0
    bound_use: float | None = None  # Share of the tolerance in force; 1 is the limit.


@dataclass
class CalibratedDType:
    """A tolerance of twice the largest error that was seen. left_out: cases that fail."""

    dtype: str = ""
    cases: int = 0
    left_out: int = 0  # Cases that fail, so their errors are not the kernel's usual ones.
    atol: float = 0.0
    rtol: float = 0.0  # Twice the largest error that was seen, as a tolerance.
    is_exact: bool = False  # No error was seen.
    skipped_reason: str = ""  # As in OpTestReport.
    rows: list[CalibrationRow] = field(default_factory=list)
    state: str = ""  # "ran", "skipped", "stopped", "no_variant_fits", "runs_in_client" or "broken"


@dataclass
class ExportedTensor:
    """A tensor as the kernel sees it. strides: in elements; first_element: of the storage, where element 0 lies;
    base_offset_bytes: of the storage from an aligned address; edge: the magnitude from which infinity counts as the value."""

    name: str = ""
    role: str = ""  # "input", "output", "inout" or "scratch"
    dtype: str = ""
    shape: list[int] = field(default_factory=list)
    strides: list[int] = field(default_factory=list)  # How its elements lie in device memory.
    storage_elements: int = 0  # How many the strides reach over.
    first_element: int = 0  # Where in the storage element 0 lies.
    base_offset_bytes: int = 0  # How far the storage begins behind an aligned address.
    edge: float | None = None  # From this magnitude on infinity counts as the value.
    nan_policy: str = ""  # An output's own policy; empty: the case's applies.


@dataclass
class ExportedArg:
    """An argument: a tensor's address, or the bytes of a number."""

    text: str = ""  # As configured.
    tensor: str = ""  # "" for a number.
    bytes: Bytes = b""
    offset_bytes: int = 0  # Added to the tensor's address.


@dataclass
class ExportedLaunch:
    """One launch: the entry's name in the PTX, three sizes each."""

    entry: str = ""  # Name in the PTX.
    grid: list[int] = field(default_factory=list)
    block: list[int] = field(default_factory=list)  # Three each.
    cluster: list[int] = field(default_factory=list)  # Empty: what the kernel declares.
    shared_bytes: int = 0
    args: list[ExportedArg] = field(default_factory=list)


@dataclass
class Mutant:
    """A kernel with one fault planted on purpose. status: "killed", "survived", "equivalent", "invalid" or "not_run"; what
    kills a survivor is in the members killing_*, when a search found it."""

    id: int = 0  # Its place among all mutants of the kernel; the same in every run.
    mutation: str = ""  # "drop_barrier"; docs/guides/mutation.md has the list.
    entry: str = ""  # Its name in the PTX.
    file: str = ""  # The source's, when known.
    line: int = 0  # In it; 0 when not known.
    ptx_line: int = 0
    before: str = ""
    after: str = ""  # The instruction; `after` is "" when it was removed.
    status: str = ""  # "killed", "survived", "equivalent", "invalid" or "not_run"
    cases: int = 0  # How many ran until it was killed, or all.
    killed_by: str = ""  # The kind of the first finding.
    killing_strategy: str = ""
    killing_shape_strategy: str = ""
    killing_dims: dict[str, int] = field(default_factory=dict)
    reason: str = ""  # Why it is invalid, or what was tried.


@dataclass
class KernelDifference:
    """One thing that two kernels do not share; lines of the PTX, 0 where there is none on that side."""

    kind: str = ""  # "structural", "constant", "sync", "memory" or "predicate"
    text: str = ""  # One line for people.
    before_line: int = 0
    after_line: int = 0  # In the PTX; 0: on that side there is none.
    before_source: str = ""
    after_source: str = ""  # "kernel.cu:12", when known.


@dataclass
class EntryDifference:
    """opcodes: how many more of each there are after. left_out: differences beyond those listed."""

    entry: str = ""
    verdict: str = ""  # "none", "constant", "sync", "structural", "only before" or "only after"
    opcodes: dict[str, int] = field(default_factory=dict)  # After less before, those that differ.
    differences: list[KernelDifference] = field(default_factory=list)
    left_out: int = 0  # Differences beyond those listed.


@dataclass
class AccessBounds:
    """One use of memory by one instruction. proved: it stays inside for all sizes and data; else reason says why that is not
    known. offset, extent: its first byte and the bytes of the tensor, as formulas."""

    kind: str = ""  # "load", "store", "atomic", "copy to", "copy from", "access" or "call"
    space: str = ""  # "global", "shared", "local", "const" or "generic"
    tensor: str = ""  # Or a variable of the kernel; "" when not known.
    file: str = ""  # The source's, when known.
    line: int = 0  # In it; 0 when not known.
    ptx_line: int = 0
    instruction: str = ""
    proved: bool = False
    reason: str = ""  # Why not.
    offset: str = ""
    extent: str = ""  # First byte and bytes of the tensor, over dims and threads.


@dataclass
class LaunchBounds:
    """A launch (from 1) of a kernel for one dtype. error: why it could not be looked at."""

    op_name: str = ""
    kernel: str = ""
    dtype: str = ""
    launch: int = 0  # Its place in the kernel's launches, from 1.
    entry: str = ""  # Its name in the PTX.
    error: str = ""  # Why it could not be looked at.
    accesses: list[AccessBounds] = field(default_factory=list)


@dataclass
class StoredCase:
    """A stored failure that is not run again. case: its verdict with repro_info; inputs: its arrays by name."""

    case: ValidationResult = field(default_factory=ValidationResult)  # The case as JSON text; sent as an object in `case`.
    inputs: dict[str, Array] = field(default_factory=dict)


@dataclass
class KernelCoverage:
    """What cases reached of one kernel."""

    kernel: str = ""
    ops: list[str] = field(default_factory=list)  # The ops whose cases ran.
    seed: int = 0
    cases: int = 0
    failed: int = 0
    replayed: int = 0  # Cases of the corpus, among all.
    lines: list[CoveredLine] = field(default_factory=list)
    branches: list[BranchWay] = field(default_factory=list)
    blocks: int = 0
    blocks_total: int = 0
    edges: int = 0
    edges_total: int = 0
    incomplete: str = ""  # What ended the run early, "" when all was done.
    error: str = ""  # Why not all could be run: the daemon was stopped. "" when it could.
    execution: str = ""  # As in FuzzResults.


@dataclass
class Calibration:
    """How large a kernel's errors are where it is right, by dtype."""

    op_name: str = ""
    kernel: str = ""
    seed: int = 0
    backend: str = ""
    device: str = ""
    dtypes: list[CalibratedDType] = field(default_factory=list)
    incomplete: str = ""  # What ended the run early, "" when all was done.
    error: str = ""  # Why not all could be run: the daemon was stopped. "" when it could.
    execution: str = ""  # As in FuzzResults.


@dataclass
class ExportedCase(extras.ExportedCase):
    """A stored failure with everything that running it takes. expected, bounds: of each output, not rounded, and how far each
    element may lie from it."""

    result: ValidationResult = field(default_factory=ValidationResult)  # The failure as it is stored.
    version: str = ""
    arch: str = ""
    kernel: str = ""
    ptx: str = ""
    sources: dict[str, str] = field(default_factory=dict)  # File name to text; the kernel's own comes first in `source`.
    source: str = ""  # Key of `sources`; "" when there is none.
    tensors: list[ExportedTensor] = field(default_factory=list)
    launches: list[ExportedLaunch] = field(default_factory=list)
    inputs: dict[str, Array] = field(default_factory=dict)  # Packed.
    expected: dict[str, Array] = field(default_factory=dict)  # What the reference says, unrounded.
    bounds: dict[str, Array] = field(default_factory=dict)  # How far each element may lie from it.
    nan_policy: str = ""  # "match", "class" or "any"


@dataclass
class MutationReport:
    """What an op's cases see of planted faults. score: killed / (killed + survived), None when no mutant was judged."""

    op_name: str = ""
    kernel: str = ""
    dtype: str = ""
    seed: int = 0
    cases: int = 0  # Per mutant.
    found: int = 0  # Mutants that the kernel has, of which `total` were chosen.
    total: int = 0
    killed: int = 0
    survived: int = 0
    equivalent: int = 0
    invalid: int = 0
    not_run: int = 0
    score: float | None = None  # killed / (killed + survived); absent when both are 0.
    mutants: list[Mutant] = field(default_factory=list)
    duration_ms: int = 0
    incomplete: str = ""  # What ended the run early, "" when all was done.
    error: str = ""  # Why not all could be run: the daemon was stopped. "" when it could.
    execution: str = ""  # As in FuzzResults.


@dataclass
class KernelComparison:
    """Two files of kernels. verdict: the gravest of the entries'."""

    before: str = ""
    after: str = ""
    verdict: str = ""  # The gravest of the entries'.
    entries: list[EntryDifference] = field(default_factory=list)


@dataclass
class ExplainResult:
    """Where the error of one element comes from. verdict: "logic", "numerical", "rounding", "passes" or "unknown"; sentences:
    what happened and what to do; divergence: where the error begins; slice: what the element is made of, the last instruction
    first; complete: False where the history was too long to keep."""

    seed: int = 0
    op_name: str = ""
    kernel: str = ""
    verdict: str = ""  # "passes", "logic", "numerical", "rounding", "unknown" or "skipped"
    sentences: list[str] = field(default_factory=list)  # What happened and what to do, for people.
    output: str = ""
    index: int = 0
    computed: float | None = None
    exact: float | None = None
    reference: float | None = None
    tolerance: float | None = None  # Allowed distance from the reference.
    bound: float | None = None  # How far rounding may have taken the computed value from the exact one.
    outputs: list[ExplainedOutput] = field(default_factory=list)
    divergence: ExplainedStep | None = None  # Where the element's error begins.
    slice: list[ExplainedStep] = field(default_factory=list)  # What it is made of, the last instruction first.
    other_decisions: int = 0  # Branches that the exact values take otherwise.
    first_other_decision: ExplainedStep | None = None
    complete: bool = True  # False where the history was too long to keep.
    guess: str = ""  # As in OpTestReport, where the case fails.
    vote: Vote | None = None


@dataclass
class BoundsReport:
    """Memory accesses of kernels: total, and proved to stay inside of their tensors."""

    launches: list[LaunchBounds] = field(default_factory=list)
    total: int = 0
    proved: int = 0  # Accesses of all launches.
    duration_ms: int = 0
    incomplete: str = ""  # What ended the run early, "" when all was done.
    error: str = ""  # Why not all could be run: the daemon was stopped. "" when it could.


@dataclass
class Projects:
    """The projects that the daemon knows. default: the id of that which requests mean that name none."""

    default: str = ""  # The project of requests that name none.
    projects: list[ProjectInfo] = field(default_factory=list)


@dataclass
class StoredOfProject:
    """What is stored of one project, counted. artifacts: kernels with metrics; artifact_history: earlier metrics of them;
    runs: of gpuemu ci, in trends; bytes: of all records, as stored; bytes_by_kind: the same, by kind; user: whose, where
    several users share the daemon."""

    id: str = ""
    name: str = ""
    path: str = ""  # Its gpuemu.toml; "" where it has none.
    passing: int = 0  # Results that pass.
    failures: int = 0
    artifacts: int = 0  # Kernels with metrics.
    artifact_history: int = 0  # Earlier metrics of kernels.
    baselines: int = 0  # Tags.
    corpus: int = 0  # Entries.
    runs: int = 0  # CI runs in trends.
    bytes: int = 0  # Keys and values of all its records.
    bytes_by_kind: dict[str, int] = field(default_factory=dict)  # Bytes of each kind of record, where the request asks for them.
    user: str = ""  # Owner of the records, on a daemon that several users share.


@dataclass
class PrunedRecords:
    """How many records of each kind were deleted."""

    passing: int = 0
    failures: int = 0
    artifacts: int = 0
    runs: int = 0


@dataclass
class FileProblem:
    """What is wrong with a file of the database, or with one of its indexes."""

    name: str = ""
    problem: str = ""


@dataclass
class StorageClaimed:
    """How many records a project has taken, or would take."""

    dry_run: bool = False
    results: int = 0
    failures: int = 0
    baselines: int = 0
    artifacts: int = 0
    corpus: int = 0


@dataclass
class StorageStatus:
    """What the database holds. pruned: records deleted by pruning, by kind, of the projects that are listed; last_prune:
    seconds since 1970, 0 for never; damaged: a record could not be read."""

    path: str = ""  # The folder.
    schema_version: int = 0
    bytes_on_disk: int = 0  # All files in the folder.
    pruned: dict[str, int] = field(default_factory=dict)  # By kind, of the projects that are listed.
    damaged: bool = False
    projects: list[StoredOfProject] = field(default_factory=list)
    last_prune: int = 0  # Seconds since 1970; 0: never.


@dataclass
class StoragePruned:
    """What pruning has deleted, or would delete. bytes_freed: of the records, as stored."""

    dry_run: bool = False
    removed: PrunedRecords = field(default_factory=PrunedRecords)
    bytes_freed: int = 0  # Keys and values of what went.


@dataclass
class StorageReport:
    """Whether everything that was acknowledged can be read. expected, readable: records by kind; files: what is wrong with
    which."""

    state: str = ""  # "whole", "damaged" or "repaired"
    expected: dict[str, int] = field(default_factory=dict)  # Records by kind.
    readable: dict[str, int] = field(default_factory=dict)
    lost: int = 0  # Records that cannot be read.
    files: list[FileProblem] = field(default_factory=list)
    kept_as: str = ""  # Where the damaged folder is kept.


@dataclass
class StorageCompacted:
    """What compacting has given back to the disk."""

    bytes_freed: int = 0
    bytes_on_disk: int = 0  # All files in the folder now.


@dataclass
class ProjectInfo:
    """A project that the daemon knows, with what is stored of it. path: its gpuemu.toml, "" where it has none; ops: how many
    it has, 0 where its file cannot be read; bytes: about, on disk; last_used: seconds since 1970."""

    id: str = ""
    path: str = ""  # Its gpuemu.toml with links resolved; "" where it has none.
    name: str = ""  # For people; need not be unique.
    open: bool = False
    ops: int = 0  # 0 where its file cannot be read.
    results: int = 0
    failures: int = 0
    bytes: int = 0  # About, on disk.
    last_used: int = 0  # Seconds since 1970.
    user: str = ""  # Owner of the records, on a daemon that several users share.
