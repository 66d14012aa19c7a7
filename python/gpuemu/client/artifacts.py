"""Metrics of compiled code, their limits and baselines, as dataclasses.

Written by tools/make_protocol.py from common/protocol/tables/*.def; edit those and run it again.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from gpuemu.client.records import ValidationResult


@dataclass
class EntryParam:
    """A kernel's parameter. type: as in the PTX, "u64" or "f32", of a structure "b8"."""

    name: str = ""  # As in the PTX.
    type: str = ""  # "u64", "f32"; of a struct "b8".
    bytes: int = 0


@dataclass
class PtxMetrics:
    """What the parsed PTX of one entry says. Dicts count by name: registers by type, loads and stores by "space.bytes"."""

    entry: str = ""  # Its name in the PTX.
    target: str = ""  # "sm_80", as the module says.
    source_file: str = ""
    source_line: int = 0  # First line of its code, 0 when unknown.
    registers: dict[str, int] = field(default_factory=dict)  # Virtual ones, by type: "f32".
    instructions: int = 0
    classes: dict[str, int] = field(default_factory=dict)  # Instructions by class: "arithmetic".
    loads: dict[str, int] = field(default_factory=dict)
    stores: dict[str, int] = field(default_factory=dict)  # By space and bytes per thread: "global.16".
    special_functions: dict[str, int] = field(default_factory=dict)  # By spelling: "ex2.approx.ftz.f32".
    barriers: int = 0
    atomics: int = 0
    tensor_ops: int = 0
    ftz: int = 0
    approx: int = 0
    branches: int = 0  # Conditional ones.
    divergent_branches: int = 0  # Branches whose condition may differ inside a warp.
    loops: int = 0
    loop_depth: int = 0
    back_edges: int = 0
    shared_bytes: int = 0  # Declared; dynamic shared memory comes with the launch.
    local_bytes: int = 0
    const_bytes: int = 0
    dynamic_shared: bool = False
    constants: dict[str, int] = field(default_factory=dict)  # Floating-point literals of the code.
    params: list[EntryParam] = field(default_factory=list)


@dataclass
class Occupancy:
    """Of one multiprocessor. fraction: warps / warps_max; limiter: what there is too little of."""

    threads: int = 0  # Per block, of the launch that is meant.
    dynamic_shared_bytes: int = 0
    blocks: int = 0  # Per multiprocessor.
    warps: int = 0
    warps_max: int = 0
    fraction: float = 0.0  # warps / warps_max
    limiter: str = ""  # "registers", "shared memory", "warps" or "blocks"


@dataclass
class CompiledMetrics:
    """What ptxas made of one entry for one architecture. sass_instructions: 0 where it was not disassembled; sass_control:
    how often it branches, loops, calls and ends."""

    arch: str = ""  # "sm_80"
    registers: int = 0
    stack_bytes: int = 0
    spill_store_bytes: int = 0
    spill_load_bytes: int = 0
    barriers: int = 0
    shared_bytes: int = 0
    constant_bytes: dict[str, int] = field(default_factory=dict)  # By bank.
    occupancy: Occupancy | None = None
    sass_instructions: int = 0  # 0 when it was not disassembled.
    sass_classes: dict[str, int] = field(default_factory=dict)
    sass_control: dict[str, int] = field(default_factory=dict)  # "branches", "loops", "calls", "predicated exits", ...


@dataclass
class ArtifactMetrics:
    """Metrics of one kernel. The first numbers are counted line by line over the text of the PTX
    (docs/reference/protocol.md); `ptx` and `compiled` are of the parsed kernel and of machine code, where they were
    measured."""

    kernel_name: str = ""
    register_count: int = 0
    spill_count: int = 0
    local_memory_bytes: int = 0
    shared_memory_bytes: int = 0
    instruction_count: int = 0
    patterns_found: list[str] = field(default_factory=list)
    source: str = "Ptx"  # "Ptx", "Sass" or "Both"
    timestamp: int = 0
    last_seen: int = 0  # When the same was measured last, in seconds since 1970; 0: once.
    ptx_content: str | None = None
    ptx: PtxMetrics | None = None
    compiled: list[CompiledMetrics] = field(default_factory=list)
    user: str = ""  # In lists of a daemon that several users share: who stored it.
    project: str = ""  # In lists of stored metrics: the id of the project that they belong to.


@dataclass
class LintViolation:
    """A limit that a kernel breaks. check: its key in gpuemu.toml; arch: "" when it is about the PTX."""

    kind: str = ""
    message: str = ""
    actual: int | None = None
    threshold: int | None = None  # Absent for patterns and for occupancy.
    check: str = ""  # The key of gpuemu.toml: "max_registers".
    arch: str = ""  # "" when it is about the PTX.
    value: float | None = None
    limit: float | None = None
    source_file: str = ""
    source_line: int = 0


@dataclass
class LintResult:
    """One kernel against its limits. error: why nothing could be measured; `passed` is False then."""

    kernel_name: str = ""
    passed: bool = True
    metrics: ArtifactMetrics = field(default_factory=ArtifactMetrics)
    violations: list[LintViolation] = field(default_factory=list)
    timestamp: int = 0
    source: str = ""  # The file that was looked at.
    not_checked: list[str] = field(default_factory=list)  # Checks that could not be made, and why.
    error: str = ""  # Why nothing could be measured; then passed is false.


@dataclass
class MetricChange:
    """A number that is not what it was. verdict: "regression", "improvement", "warning" or "change"."""

    metric: str = ""
    arch: str = ""  # `arch` is "" for numbers of the PTX.
    before: float = 0.0
    after: float = 0.0
    percent: float | None = None  # Absent where it was 0.
    verdict: str = ""  # "regression", "improvement", "warning" or "change"


@dataclass
class ArtifactDiff:
    """A kernel beside its baseline; deltas are now less before."""

    kernel_name: str = ""
    baseline: ArtifactMetrics | None = None
    current: ArtifactMetrics = field(default_factory=ArtifactMetrics)
    register_delta: int = 0
    spill_delta: int = 0
    local_memory_delta: int = 0
    instruction_delta: int = 0
    is_regression: bool = False
    changes: list[MetricChange] = field(default_factory=list)
    constants: list[str] = field(default_factory=list)  # "0.5 is gone", "0.25 is new (2 times)"


@dataclass
class ArtifactDiffs:
    """All measured kernels beside a baseline. missing: kernels of the baseline that are not measured now."""

    baseline_tag: str = ""
    has_regressions: bool = False
    diffs: list[ArtifactDiff] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)  # Kernels of the baseline that are not measured now.


@dataclass
class BaselineInfo:
    """A tag and how many results and kernels it holds."""

    tag: str = ""
    results: int = 0
    artifacts: int = 0
    project: str = ""  # The id of the project that it belongs to.
    user: str = ""  # Who stored it, where several users share the daemon.


@dataclass
class Baseline:
    """A baseline as a whole."""

    schema_version: int = 1
    tag: str = ""
    results: list[ValidationResult] = field(default_factory=list)
    artifacts: list[ArtifactMetrics] = field(default_factory=list)
