"""Replies of the daemon as dataclasses. Members added by a newer daemon are ignored; missing members get their defaults."""

from __future__ import annotations

import base64
import dataclasses
import types
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypedDict, TypeVar

from gpuemu import tensors
from gpuemu.tensors import Array

T = TypeVar("T")


def build(cls: type[T], data: dict[str, Any], **changed: Any) -> T:
    """Creates a dataclass from the members that `data` has; `changed` gives converted members."""
    names = {one.name for one in dataclasses.fields(cls)}  # type: ignore[arg-type]
    return cls(**{**{key: value for key, value in data.items() if key in names}, **changed})


@dataclass
class VoteSide:
    """The value that one source gives: "emulator", "cuda", "exact" (the kernel without rounding), "kernel NAME" (another kernel
    of the op), "reference"."""

    name: str = ""
    value: float | None = None


@dataclass
class Vote:
    """Which source disagrees with the others about a wrong element. alone: "kernel", "reference", "cuda", "emulator"; "none" if
    no two agree."""

    alone: str = ""
    sentence: str = ""
    sides: list[VoteSide] = field(default_factory=list)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Vote:
        return build(cls, data, sides=[build(VoteSide, one) for one in data.get("sides") or []])


@dataclass
class Diagnosis:
    """The cause of a finding. verdict: as in an ExplainResult, or "skipped"; divergence: the members of an ExplainedStep."""

    verdict: str = ""
    note: str = ""
    divergence: dict[str, Any] | None = None
    vote: Vote | None = None

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Diagnosis:
        return build(cls, data, vote=Vote.from_dict(data["vote"]) if data.get("vote") else None)


@dataclass
class Finding:
    """One fault. Also readable like a dict: finding["message"]. diagnosis: in reports, only for the first finding of its kind."""

    kind: str = ""
    message: str = ""
    index: int | None = None  # flat, row-major
    expected: float | None = None
    actual: float | None = None
    output: str = ""
    source_file: str = ""
    source_line: int = 0
    diagnosis: Diagnosis | None = None

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Finding:
        return build(cls, data, diagnosis=Diagnosis.from_dict(data["diagnosis"]) if data.get("diagnosis") else None)

    def __getitem__(self, name: str) -> Any:
        if name not in self.__dict__:
            raise KeyError(name)
        return self.__dict__[name]

    def get(self, name: str, default: Any = None) -> Any:
        """Like that of a dict."""
        return self.__dict__.get(name, default)


@dataclass
class ReproductionInfo:
    """The data needed to reproduce a failure. The members from base_seed on are for kernels that the daemon runs."""

    seed: int = 0
    shape: list[int] = field(default_factory=list)
    strides: list[int] = field(default_factory=list)
    dtype: str = "float32"
    layout: str = "Contiguous"
    fuzz_config: dict[str, Any] | None = None
    input_snapshot: bytes | None = None
    base_seed: int | None = None
    iteration: int | None = None
    dims: dict[str, int] = field(default_factory=dict)
    attrs: dict[str, float] = field(default_factory=dict)
    value_strategy: str = ""
    value_scale: float | None = None  # Factor by which minimization multiplied the values.
    value_parameters: list[float] = field(default_factory=list)  # Parameters of the strategy in addition to the seed.
    kernel: str = ""
    layout_name: str = ""  # "broadcast" or "reversed"; `layout` calls both Strided.
    input_strides: dict[str, list[int]] = field(default_factory=dict)  # Strides of such a layout, by input.
    program_folder: str = ""  # Folder that `gpuemu reproduce` runs, for a failure of a program's check.

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> ReproductionInfo:
        snapshot = data.get("input_snapshot")
        return build(cls, data, input_snapshot=base64.b64decode(snapshot) if snapshot else None)


@dataclass
class ValidationResult:
    """The verdict on one case. error_stats: count, num_exceeding, max_abs, mean_abs, p50_abs, p90_abs, p99_abs, max_rel,
    mean_rel, max_ulp, mean_ulp and, when it is not 0, mean_signed_ulp; None when no values were compared. warnings: problems of a
    result that passed."""

    passed: bool = False
    seed: int = 0
    op_name: str = ""
    max_diff: float | None = 0.0
    max_rel_diff: float | None = 0.0
    failures: list[Finding] = field(default_factory=list)
    timestamp: int = 0
    duration_ms: int = 0
    repro_info: ReproductionInfo | None = None
    error_stats: dict[str, Any] | None = None
    warnings: list[Finding] = field(default_factory=list)
    passes_now: bool = False  # In lists of failures: the same case passed later.
    project: str = ""  # In lists of stored results: the id of the result's project.
    user: str = ""  # In lists of a daemon that several users share: the user who stored it.
    flushed: bool = False  # For gpuemu.check: subnormal numbers flushed to zero are accepted.
    # (output, reference) of a failed comparison in this process.
    compared: tuple[Array, Array] | None = field(default=None, repr=False, compare=False)

    def _repr_html_(self) -> str:
        from gpuemu.client.display import validation_html

        return validation_html(self)

    def plot(self, actual: Any = None, expected: Any = None, bound: float | None = None) -> Any:
        """Plots the error of every element and a histogram of the errors, as a figure of matplotlib. The arrays are those
        compared in this process, or the given ones; bound: the largest allowed error, drawn in the histogram."""
        from gpuemu.client.display import plot

        return plot(self, actual, expected, bound)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> ValidationResult:
        info = data.get("repro_info")
        return build(
            cls,
            data,
            failures=[Finding.from_dict(one) for one in data.get("failures") or []],
            warnings=[Finding.from_dict(one) for one in data.get("warnings") or []],
            repro_info=ReproductionInfo.from_dict(info) if info else None,
        )


def results(data: list[dict[str, Any]] | None) -> list[ValidationResult]:
    return [ValidationResult.from_dict(one) for one in data or []]


@dataclass
class FuzzResults:
    """The result of a fuzz run: `total` counts the cases that ran; `failures` are in order."""

    seed: int = 0
    total: int = 0
    passed: int = 0
    failed: int = 0
    failures: list[ValidationResult] = field(default_factory=list)
    proofs: list[dict[str, Any]] = field(default_factory=list)  # One per dtype; docs/guides/evidence.md.
    search: dict[str, Any] | None = None  # What a guided run reached.
    error: str = ""  # Why some cases could not be run.
    incomplete: str = ""  # What ended the run early.
    cases_complete: int | None = None  # Cases that ran and are counted; set when a guided run ended early.
    notes: list[str] = field(default_factory=list)  # Gaps of the verdict, such as sizes that no case had.
    warned: int = 0  # Cases that passed with a warning.
    warnings: list[ValidationResult] = field(default_factory=list)  # The first of these cases.
    execution: str = ""  # "local" if kernels ran in the daemon, because it has no workers.

    def add(self, verdict: ValidationResult) -> None:
        """Adds one case to the counts."""
        self.total += 1
        self.passed += verdict.passed
        if not verdict.passed:
            self.failed += 1
            self.failures.append(verdict)

    def _repr_html_(self) -> str:
        from gpuemu.client.display import fuzz_html

        return fuzz_html(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> FuzzResults:
        return build(cls, data, failures=results(data.get("failures")), warnings=results(data.get("warnings")))


@dataclass
class ReproduceResult:
    """A failure that was run again: the new verdict, the exact inputs, and with profile=True the counts of each source line.
    `rerun` is False if nothing could be run and the result is the stored one."""

    result: ValidationResult
    inputs: dict[str, Array]
    profile: list[dict[str, Any]] | None = None
    printed: list[str] = field(default_factory=list)
    rerun: bool = True
    error_map: dict[str, Any] | None = None  # Set with details=True, as are ptx and launches; see docs/reference/protocol.md.
    ptx: str = ""
    launches: list[dict[str, Any]] = field(default_factory=list)
    guess: str = ""  # As in OpReport, if the case fails.

    def plot(self) -> Any:
        """Plots where the errors of the case are and how large, with the bound, as a figure of matplotlib. Raises ValueError if
        the case was run without details=True or had no comparable values."""
        from gpuemu.client import plots

        if not self.error_map:
            raise ValueError("no error map to plot: call reproduce(seed, details=True) on a case whose outputs have the expected shape and dtype")
        return plots.error_map_figure(types.SimpleNamespace(**{"bound": None, **self.error_map}))

    @classmethod
    def from_dict(cls, data: dict[str, Any], decode_tensor_fn: Callable[[dict[str, Any]], Array] = tensors.decode) -> ReproduceResult:
        inputs = {name: decode_tensor_fn(one) for name, one in (data.get("inputs") or {}).items()}
        return cls(ValidationResult.from_dict(data.get("result") or {}), inputs, data.get("profile"), data.get("printed") or [],
                   data.get("rerun", True), data.get("error_map"), data.get("ptx") or "", data.get("launches") or [],
                   data.get("guess") or "")  # fmt: skip


@dataclass
class MinimizeResult:
    """The smaller case; minimized_seed is the original one when nothing smaller fails."""

    original_seed: int
    minimized_seed: int
    minimized_shape: list[int]
    result: ValidationResult
    original_shape: list[int] = field(default_factory=list)
    original_dims: dict[str, int] = field(default_factory=dict)
    minimized_dims: dict[str, int] = field(default_factory=dict)
    trials: int | None = None
    simplified: list[str] = field(default_factory=list)
    input_elements: int = 0
    nonzero_elements: int = 0
    notes: list[str] = field(default_factory=list)  # For example that some runs of it do not fail.
    guess: str = ""  # As in OpReport.
    incomplete: str = ""  # What ended the search early.
    error: str = ""  # Why not everything could be run: the daemon was stopped.
    execution: str = ""  # "local" if kernels ran in the daemon, because it has no workers.

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> MinimizeResult:
        return build(cls, data, result=ValidationResult.from_dict(data.get("result") or {}))


@dataclass
class OpReport:
    """The result for one op and dtype of a test run."""

    op_name: str = ""
    dtype: str = ""
    kernel: str = ""
    cases: int = 0
    passed: int = 0
    failed: int = 0
    skipped_reason: str = ""
    duration_ms: int = 0
    cases_per_second: float = 0.0
    failures: list[ValidationResult] = field(default_factory=list)
    warned: int = 0  # Cases that passed with a warning.
    warnings: list[ValidationResult] = field(default_factory=list)
    max_diff: float | None = None
    worst_error_use: float | None = None
    strategies: dict[str, int] = field(default_factory=dict)  # Cases per value strategy.
    relations: dict[str, int] = field(default_factory=dict)  # Cases in which each relation was checked.
    no_reference: bool = False
    unjudged: bool = False
    notes: list[str] = field(default_factory=list)  # What the verdict is based on.
    proof: dict[str, Any] | None = None  # The confidence that the passing cases give; docs/guides/evidence.md.
    fragile: list[dict[str, Any]] = field(default_factory=list)  # seed, setting, message, divergence; with fragile=True.
    fragile_checked: int = 0  # Passing cases that also ran with other settings.
    reference_failed: bool = False  # The reference failed for every case; skipped_reason gives the error.
    not_run: int = 0  # Cases left out because the run ended.
    state: str = ""  # "broken", "stopped", "no_variant_fits", ...: why there is no verdict. Empty when the op ran.
    guess: str = ""  # What to check before believing the failures, if `gpuemu init` guessed how the op is launched.


@dataclass
class TestReport:
    """The report that `gpuemu test` prints."""

    __test__ = False  # Keeps pytest from collecting the class as a test.

    seed: int = 0
    backend: str = ""
    device: str = ""
    total: int = 0
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    duration_ms: int = 0
    ops: list[OpReport] = field(default_factory=list)
    incomplete: str = ""  # What ended the run early.
    error: str = ""  # Why not everything could be run: the daemon was stopped.
    execution: str = ""  # "local" if kernels ran in the daemon, because it has no workers.

    @property
    def broken(self) -> list[str]:
        """Ops that could not be run; the run has then failed."""
        return [f"{one.op_name} {one.dtype}: {one.skipped_reason[7:]}" for one in self.ops if one.skipped_reason.startswith("error: ")]

    def _repr_html_(self) -> str:
        from gpuemu.client.display import report_html

        return report_html(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> TestReport:
        ops = [build(OpReport, one, failures=results(one.get("failures")), warnings=results(one.get("warnings"))) for one in data.get("ops") or []]
        return build(cls, data, ops=ops)


@dataclass
class Comparison:
    """One stored result compared with its baseline."""

    op_name: str = ""
    seed: int = 0
    current_max_diff: float | None = None
    baseline_max_diff: float | None = None
    current_passed: bool = False
    baseline_passed: bool = False
    relative_change: float | None = None
    is_regression: bool = False


@dataclass
class BaselineComparison:
    baseline_tag: str = ""
    comparisons: list[Comparison] = field(default_factory=list)
    has_regressions: bool = False
    unmatched: int = 0  # Current results without a counterpart, when the same cases are compared.
    baseline_unmatched: int = 0

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> BaselineComparison:
        return build(cls, data, comparisons=[build(Comparison, one) for one in data.get("comparisons") or []])


@dataclass
class DeviceInfo:
    name: str = ""
    backend: str = ""
    architecture: str = ""
    memory_bytes: int = 0
    multiprocessors: int = 0
    index: int = 0  # among the devices of its backend
    memory_free_bytes: int = 0
    shared_bytes_per_block: int = 0
    shared_bytes_per_multiprocessor: int = 0
    registers_per_block: int = 0
    registers_per_multiprocessor: int = 0
    threads_per_multiprocessor: int = 0
    driver_version: str = ""
    runtime_version: str = ""
    dtypes: list[str] = field(default_factory=list)
    note: str = ""


@dataclass
class RemoteWorkerInfo:
    """A worker on another machine. state: "idle", "busy", or "lost" for a while after its connection ended; attempts: kernel runs
    given to the worker; lost: runs that it did not answer; connected: the start of the connection, in seconds since 1970."""

    worker_id: str = ""
    host: str = ""
    state: str = ""
    attempts: int = 0
    lost: int = 0
    connected: int = 0
    pid: int = 0
    version: str = ""
    device: DeviceInfo | None = None

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> RemoteWorkerInfo:
        device = data.get("device")
        return build(cls, data, device=build(DeviceInfo, device) if device else None)


@dataclass
class DaemonStatus:
    version: str = ""
    backend: str = ""
    socket_path: str = ""
    config_path: str = ""
    storage_path: str = ""
    pid: int = 0
    uptime_secs: int = 0
    workers: int = 0
    jobs_running: int = 0
    requests_served: int = 0
    devices: list[DeviceInfo] = field(default_factory=list)
    start_settings: dict[str, str] = field(default_factory=dict)
    build: str = ""
    projects: int = 0  # Number of open projects.
    notes: list[str] = field(default_factory=list)
    damage: str = ""  # Known damage to the database.
    remote_workers: list[RemoteWorkerInfo] = field(default_factory=list)
    execution: str = ""  # Where kernels run: "workers"; "local" or "remote" with --no-workers.

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> DaemonStatus:
        return build(cls, data, devices=[build(DeviceInfo, one) for one in data.get("devices") or []],
                     remote_workers=[RemoteWorkerInfo.from_dict(one) for one in data.get("remote_workers") or []])  # fmt: skip


@dataclass
class JobStatus:
    """The progress of a job. `state`: running, done, cancelled or failed."""

    job_id: int = 0
    state: str = "running"
    done: int = 0
    total: int = 0
    failures: int = 0
    rate: float = 0.0  # cases per second
    seconds_left: float = 0.0
    log: list[str] = field(default_factory=list)
    result: dict[str, Any] | None = None
    events: list[dict[str, Any]] = field(default_factory=list)  # The requested events; docs/reference/protocol.md.
    lines: list[dict[str, Any]] = field(default_factory=list)  # The log with the kind of each line, if requested.
    code: str | None = None  # Why it failed: "Stopped" if the daemon was stopped.


class TestCase(TypedDict):
    """A case for an op that the client runs; a dict for compatibility."""

    seed: int
    inputs: dict[str, Array]
    shape: list[int]
    dtype: str
    layout: str


def test_case(data: dict[str, Any]) -> TestCase:
    return {
        "seed": data.get("seed", 0),
        "inputs": {name: tensors.decode(one) for name, one in (data.get("inputs") or {}).items()},
        "shape": data.get("shape", []),
        "dtype": data.get("dtype", "float32"),
        "layout": data.get("layout", "contiguous"),
    }
