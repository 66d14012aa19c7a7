"""Describes every request of the protocol: the message, and how its reply is read. No socket is used here, so the blocking and
the asyncio client share it."""

from __future__ import annotations

import dataclasses
import importlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from gpuemu import arguments, tensors
from gpuemu.errors import ProtocolError, of_reply
from . import records

if TYPE_CHECKING:
    from . import artifacts, ci, replies
    from gpuemu.check.tolerances import ToleranceConfig

T = TypeVar("T")
Json = dict[str, Any]

PROFILES = ("quick", "default", "thorough")
STRATEGIES = {"binary-search-dims": "BinarySearchDims", "binary-search-values": "BinarySearchValues"}


@dataclass(frozen=True)
class Call(Generic[T]):
    """One request. `request`: the message of the protocol, with arrays as tensors.Outgoing. `answers`: the type of the reply.
    `stream`: it may run as a job whose result is that reply."""

    request: Json
    answers: str
    parse: Callable[[Json], T]
    stream: bool = False

    def result(self, reply: Json) -> T:
        """Raises the exception of an Error reply."""
        if reply.get("type") == "Error":
            raise of_reply(reply.get("code", ""), reply.get("message", "Unknown error"))
        if reply.get("type") != self.answers:
            raise ProtocolError(f"{self.request['type']} was answered with {reply.get('type')!r}, not {self.answers}")
        return self.parse(reply)


def _call(answers: str, parse: Callable[[Json], T], kind: str, *, stream: bool = False, **members: Any) -> Call[T]:
    return Call({"type": kind, **{k: v for k, v in members.items() if v is not None}}, answers, parse, stream)


def _nothing(_: Json) -> None:
    return None


def _body(reply: Json) -> Json:
    return {name: value for name, value in reply.items() if name != "type"}


def fresh_seed() -> int:
    return time.time_ns() & 0xFFFFFFFFFFFFFFFF


def ping() -> Call[Json]:
    return _call("Pong", _body, "Ping")


def status() -> Call[records.DaemonStatus]:
    return _call("DaemonStatus", records.DaemonStatus.from_dict, "DaemonStatus")


def projects() -> Call[replies.Projects]:
    return _call("Projects", _reader("replies", "Projects"), "Projects")


def set_default_project() -> Call[None]:
    return _call("Ok", _nothing, "SetDefaultProject")


def move_project(old: str, new: str) -> Call[None]:
    return _call("Ok", _nothing, "MoveProject", old=old, new=new)


def forget_project(project: str) -> Call[None]:
    return _call("Ok", _nothing, "ForgetProject", id=project)


def claim_storage(ops: Sequence[str], everything: bool, dry_run: bool) -> Call[replies.StorageClaimed]:
    return _call("StorageClaimed", _reader("replies", "StorageClaimed"), "StorageClaim", ops=list(ops), all=everything,
                 dry_run=dry_run)  # fmt: skip


def storage_status() -> Call[replies.StorageStatus]:
    return _call("StorageStatus", _reader("replies", "StorageStatus"), "StorageStatus")


def prune_storage(**options: Any) -> Call[replies.StoragePruned]:
    return _call("StoragePruned", _reader("replies", "StoragePruned"), "StoragePrune", **options)


def verify_storage() -> Call[replies.StorageReport]:
    return _call("StorageReport", _reader("replies", "StorageReport"), "StorageVerify")


def compact_storage() -> Call[replies.StorageCompacted]:
    return _call("StorageCompacted", _reader("replies", "StorageCompacted"), "StorageCompact")


def back_up_storage(path: str) -> Call[None]:
    return _call("Ok", _nothing, "StorageBackup", path=path)


_WISHES = ("weight", "session_class", "memory_limit_mb", "queue_max", "time_limit_s", "lease_ms")


def _members(wishes: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the requested properties of a session under their names in the protocol. Raises TypeError for unknown ones."""
    unknown = sorted(set(wishes) - set(_WISHES))
    if unknown:
        raise TypeError(f"a session has no {', '.join(unknown)}; it has {', '.join(_WISHES)}")
    return {"class" if name == "session_class" else name: value for name, value in wishes.items()}


def open_session(name: str, wishes: Mapping[str, Any]) -> Call[Json]:
    return _call("SessionOpened", _body, "OpenSession", name=name, **_members(wishes))


def close_session(session: str | None, name: str | None) -> Call[None]:
    return _call("Ok", _nothing, "CloseSession", session=session, name=name)


def set_session(session: str | None, name: str | None, wishes: Mapping[str, Any]) -> Call[Json]:
    return _call("SessionInfo", _body, "SetSession", session=session, name=name, **_members(wishes))


def sessions() -> Call[list[Json]]:
    return _call("Sessions", lambda r: r["sessions"], "ListSessions")


def submit_tape(entries: Sequence[Mapping[str, Any]]) -> Call[Json]:
    return _call("TapeAccepted", _body, "SubmitTape", entries=list(entries))


def tape_status(wait_ms: int | None) -> Call[Json]:
    return _call("TapeStatus", _body, "TapeStatus", wait_ms=wait_ms)


def fetch_tensor(name: str) -> Call[tensors.Array]:
    return _call("Tensor", lambda r: tensors.decode(r["tensor"]), "FetchTensor", id=name)


def trace(session: str | None, layers: Sequence[str]) -> Call[Json]:
    return _call("Trace", lambda r: r["trace"], "GetTrace", name=session, layers=list(layers) or None)


def config_values() -> Call[dict[str, str]]:
    return _call("ConfigShow", lambda r: {one["key"]: one["value"] for one in r["settings"]}, "ConfigShow")


def top() -> Call[Json]:
    return _call("Top", _body, "Top")


def jobs() -> Call[list[Json]]:
    return _call("Jobs", lambda r: r["jobs"], "JobList")


def devices() -> Call[list[records.DeviceInfo]]:
    return _call("Devices", lambda r: [records.build(records.DeviceInfo, one) for one in r["devices"]], "Devices")


def settings() -> Call[dict[str, str]]:
    return _call("ConfigShow", lambda r: {one["key"]: one["value"] for one in r["settings"]}, "ConfigShow")


def shutdown() -> Call[None]:
    return _call("Ok", _nothing, "Shutdown")


def validate(op: str, inputs: Mapping[str, Any], output: Any, kwargs: Mapping[str, Any], seed: int | None = None, *,
             own: bool = False, tolerance: ToleranceConfig | None = None) -> Call[records.ValidationResult]:  # fmt: skip
    """ValidateOp; with a seed, SubmitOutput. own: copies the arrays, because they may change before they are sent. tolerance: an
    output that exceeds the op's own tolerance passes within this one."""
    return _call(
        "ValidationResult" if seed is None else "SubmitResult",
        lambda r: records.ValidationResult.from_dict(r["result"]),
        "ValidateOp" if seed is None else "SubmitOutput",
        op_name=op,
        inputs={name: tensors.outgoing(value, own=own, what=f"input '{name}'") for name, value in inputs.items()},
        output=tensors.outgoing(output, own=own, what="output"),
        seed=seed,
        kwargs={name: str(value) for name, value in kwargs.items()},
        atol=None if tolerance is None else float(tolerance.atol),
        rtol=None if tolerance is None else float(tolerance.rtol),
    )


def get_result(seed: int, op: str | None) -> Call[records.ValidationResult]:
    return _call("ValidationResult", lambda r: records.ValidationResult.from_dict(r["result"]), "GetResult", seed=seed,
                 op_name=op)  # fmt: skip


def listing(kind: str, limit: int, op: str | None) -> Call[list[records.ValidationResult]]:
    """Lists results. `kind`: ListResults or ListFailures."""
    return _call("Results", lambda r: records.results(r["results"]), kind, limit=limit, op_name=op)


def store_failure(seed: int, op: str, findings: Sequence[records.Finding], program_folder: str) -> Call[None]:
    failures = [{name: value for name, value in dataclasses.asdict(one).items() if name != "diagnosis"} for one in findings]
    return _call("Ok", _nothing, "StoreFailure", seed=seed, op_name=op, failures=failures, program_folder=program_folder)


def store_baseline(tag: str) -> Call[None]:
    return _call("Ok", _nothing, "StoreBaseline", tag=tag)


def compare_baseline(tag: str, same_cases: bool) -> Call[records.BaselineComparison]:
    return _call("BaselineComparison", records.BaselineComparison.from_dict, "CompareBaseline", tag=tag,
                 same_cases=same_cases or None)  # fmt: skip


def run_tests(ops: Sequence[str], cases: int, seed: int | None, dtypes: Sequence[str], strategies: Sequence[str], fail_fast: bool,
              options: Mapping[str, Any]) -> Call[records.TestReport]:  # fmt: skip
    """RunTests. `options`: fragile, strict, max_elements."""
    lists = {name: arguments.texts(given, name) for name, given in (("ops", ops), ("dtypes", dtypes), ("strategies", strategies))}
    return _call("TestReport", records.TestReport.from_dict, "RunTests", stream=True, cases=cases, seed=seed, fail_fast=fail_fast,
                 **{name: one or None for name, one in options.items()}, **lists)  # fmt: skip


def shape_options(small: bool, **lists: Sequence[int] | None) -> Json:
    """Returns the sizes that clients have always used: smaller ones for single cases than for a fuzz run."""
    options: Json = {
        "batch_sizes": [1, 2, 4, 8] if small else [1, 2, 4, 8, 16, 32],
        "seq_lengths": [64, 128, 256] if small else [64, 128, 256, 512, 1024],
        "hidden_dims": [256, 512] if small else [256, 512, 768, 1024],
        "edge_cases": [[1], [1, 1]] if small else [[1], [1, 1], [1, 1, 1]],
    }
    return {**options, **{name: list(sizes) for name, sizes in lists.items() if sizes}}


def fuzz(op: str, seed: int | None, iterations: int, fail_fast: bool, shapes: Mapping[str, Sequence[int] | None],
         dtypes: Sequence[str] | None, layouts: Sequence[str] | None, own: Mapping[str, Any],
         beside: Mapping[str, Any]) -> Call[records.FuzzResults]:  # fmt: skip
    """FuzzOp. With lists of sizes, or for ops with an op script, the clients' generator draws the cases; `own` (strategies,
    min_shape, max_shape) and `beside` (guided, max_elements, first_case, corpus) are for kernels and gpuemu's generator."""
    seed = fresh_seed() if seed is None else seed
    common = {"op_name": op, "iterations": cases_wanted(iterations), "fail_fast": fail_fast}
    given = {name: value for name, value in own.items() if value}
    wanted = {name: value for name, value in beside.items() if value is not None and value is not False}
    kernels = [*given, *wanted]
    if kernels:
        if any(shapes.values()):
            raise ValueError(f"sizes ({', '.join(n for n, v in shapes.items() if v)}) and {', '.join(kernels)} exclude each "
                             "other: the former are of ops with an op script, the latter of kernels")  # fmt: skip
        config = {"iterations": iterations, "seed": seed, "dtypes": list(dtypes or []), "layouts": list(layouts or []), **given}
        members = {**common, "config": config, **wanted}
    else:
        config = {
            "seed": seed,
            "shape_options": shape_options(False, **shapes),
            "dtypes": list(dtypes or ["float32", "float16"]),
            "layouts": list(layouts or ["Contiguous", "Strided", "Transposed"]),
        }
        members = {**common, "fuzz_config": config}
    return _call("FuzzResults", records.FuzzResults.from_dict, "FuzzOp", stream=True, **members)


def delete_failures(seed: int | None, op: str | None, everything: bool) -> Call[int]:
    return _call("FailuresDeleted", lambda r: int(r["count"]), "DeleteFailures", seed=seed, op_name=op,
                 all=everything or None)  # fmt: skip


def reproduce(seed: int, op: str | None, profile: bool, details: bool) -> Call[records.ReproduceResult]:
    return _call("ReproduceResult", records.ReproduceResult.from_dict, "Reproduce", seed=seed, op_name=op,
                 profile=profile or None, details=details or None)  # fmt: skip


def minimize(seed: int, op: str | None, strategy: str, max_iters: int) -> Call[records.MinimizeResult]:
    if strategy not in STRATEGIES:
        raise ValueError(f"unknown strategy '{strategy}'; there are {', '.join(STRATEGIES)}")
    return _call("MinimizeResult", records.MinimizeResult.from_dict, "Minimize", stream=True, seed=seed, op_name=op,
                 strategy=STRATEGIES[strategy], max_iters=max_iters)  # fmt: skip


def cases_wanted(iterations: int) -> int:
    """Rejects a run of no cases, which would find nothing and look like success."""
    return arguments.whole(iterations, "iterations", 1)


def case_config(seed: int | None, dtypes: Sequence[str] | None, op_schema: Json | None) -> Json:
    config: Json = {
        "seed": fresh_seed() if seed is None else seed,
        "shape_options": shape_options(True),
        "dtypes": list(dtypes or ["float32", "float16"]),
        "layouts": ["Contiguous", "Strided"],
    }
    return config if op_schema is None else {**config, "op_schema": op_schema}


def test_case(op: str, config: Json) -> Call[records.TestCase]:
    return _call("TestCase", records.test_case, "GetTestCase", op_name=op, fuzz_config=config)


def test_batch(op: str, config: Json, count: int) -> Call[list[records.TestCase]]:
    return _call("TestBatch", lambda r: [records.test_case(one) for one in r["cases"]], "GetTestBatch", op_name=op,
                 fuzz_config=config, count=count)  # fmt: skip


def lint(ptx: str, kernel: str | None) -> Call[list[Json]]:
    return _call("LintResults", lambda r: list(r["results"]), "LintKernel", kernel_name=kernel, ptx_content=ptx)


def _reader(module: str, name: str) -> Callable[[Json], Any]:
    """Returns the reader of a dataclass. Its module is loaded when the first such reply arrives, because most programs never get
    one."""

    def parse(reply: Json) -> Any:
        from gpuemu.client.reading import read

        return read(getattr(importlib.import_module(f"gpuemu.client.{module}"), name), reply)

    return parse


def _list_reader(module: str, name: str, member: str) -> Callable[[Json], list[Any]]:
    return lambda reply: [_reader(module, name)(one) for one in reply[member]]


def explain(seed: int, op: str | None, output: str | None, index: int | None) -> Call[replies.ExplainResult]:
    return _call("ExplainResult", _reader("replies", "ExplainResult"), "Explain", seed=seed, op_name=op, output=output, index=index)


def get_case(op: str, seed: int) -> Call[replies.StoredCase]:
    return _call("Case", _reader("replies", "StoredCase"), "GetCase", op_name=op, seed=seed)


def export_case(seed: int, op: str | None) -> Call[replies.ExportedCase]:
    return _call("ExportedCase", _reader("replies", "ExportedCase"), "ExportCase", seed=seed, op_name=op)


def kernel_coverage(kernel: str, cases: int, seed: int | None) -> Call[replies.KernelCoverage]:
    return _call("KernelCoverage", _reader("replies", "KernelCoverage"), "KernelCoverage", stream=True, kernel=kernel,
                 cases=cases, seed=seed)  # fmt: skip


def calibrate(op: str, dtypes: Sequence[str], cases: int, seed: int | None) -> Call[replies.Calibration]:
    return _call("Calibration", _reader("replies", "Calibration"), "Calibrate", stream=True, op_name=op, dtypes=list(dtypes),
                 cases=cases, seed=seed)  # fmt: skip


def mutate(op: str, kernel: str | None, dtype: str | None, limits: Mapping[str, int | None], mutations: Sequence[str],
           ) -> Call[replies.MutationReport]:  # fmt: skip
    """Mutate. `limits`: cases, seed, mutants_max, budget_ms."""
    return _call("MutationReport", _reader("replies", "MutationReport"), "Mutate", stream=True, op_name=op, kernel=kernel,
                 dtype=dtype, mutations=list(mutations), **limits)  # fmt: skip


def prove(op: str | None, kernel: str | None, dtype: str | None) -> Call[replies.BoundsReport]:
    return _call("BoundsReport", _reader("replies", "BoundsReport"), "Prove", stream=True, op_name=op, kernel=kernel, dtype=dtype)


def compare_kernels(before: str, after: str, arch: str | None) -> Call[replies.KernelComparison]:
    return _call("KernelComparison", _reader("replies", "KernelComparison"), "CompareKernels", before=before, after=after, arch=arch)


def inspect(kernels: Sequence[str], files: Sequence[str], archs: Sequence[str], threads: int, shared_bytes: int,
            ) -> Call[list[artifacts.LintResult]]:  # fmt: skip
    return _call("LintResults", _list_reader("artifacts", "LintResult", "results"), "Inspect", stream=True, kernels=list(kernels),
                 files=list(files), archs=list(archs), threads=threads, dynamic_shared_bytes=shared_bytes)  # fmt: skip


def store_artifact(metrics: artifacts.ArtifactMetrics) -> Call[None]:
    """StoreArtifact with only the measured values: optional records of the protocol that are None are left out."""
    from gpuemu.client.reading import plain

    return _call("Ok", _nothing, "StoreArtifact", kernel_name=metrics.kernel_name, metrics=plain(metrics))


def get_artifact(kernel: str, timestamp: int | None) -> Call[artifacts.ArtifactMetrics]:
    return _call("ArtifactMetricsResult", _reader("artifacts", "ArtifactMetrics"), "GetArtifact", kernel_name=kernel, timestamp=timestamp)


def list_artifacts(history: bool, kernel: str, limit: int | None) -> Call[list[artifacts.ArtifactMetrics]]:
    return _call("ArtifactList", _list_reader("artifacts", "ArtifactMetrics", "artifacts"), "ListArtifacts", history=history, kernel_name=kernel,
                 limit=limit)  # fmt: skip


def store_artifact_baseline(tag: str, kernels: Sequence[str]) -> Call[None]:
    return _call("Ok", _nothing, "StoreArtifactBaseline", tag=tag, kernels=list(kernels) or None)


def diff_artifact_baseline(tag: str, kernels: Sequence[str]) -> Call[artifacts.ArtifactDiffs]:
    return _call("ArtifactDiffs", _reader("artifacts", "ArtifactDiffs"), "DiffArtifactBaseline", tag=tag,
                 kernels=list(kernels) or None)  # fmt: skip


def list_baselines() -> Call[list[artifacts.BaselineInfo]]:
    return _call("BaselineList", _list_reader("artifacts", "BaselineInfo", "baselines"), "ListBaselines")


def get_baseline(tag: str) -> Call[artifacts.Baseline]:
    return _call("Baseline", _reader("artifacts", "Baseline"), "GetBaseline", tag=tag)


def delete_baseline(tag: str) -> Call[None]:
    return _call("Ok", _nothing, "DeleteBaseline", tag=tag)


def run_ci(profile: str, baseline: str | None, seed: int | None, options: Mapping[str, Any]) -> Call[ci.CiSummary]:
    """RunCi. `options`: shard, shards, budget_ms, parallel_jobs, cached, coverage, snapshots, max_elements."""
    if profile not in PROFILES:
        raise ValueError(f"unknown profile '{profile}'; there are {', '.join(PROFILES)}")
    return _call("CiRunComplete", _reader("ci", "CiSummary"), "RunCi", stream=True, quick=profile == "quick", profile=profile,
                 baseline=baseline, seed=seed, **options)  # fmt: skip


def get_ci_summary() -> Call[ci.CiSummary]:
    return _call("CiRunComplete", _reader("ci", "CiSummary"), "GetCiSummary")


def job_status(job: int, wait_ms: int, log_from: int) -> Call[records.JobStatus]:
    return _call("JobStatus", lambda r: records.build(records.JobStatus, r), "JobStatus", job_id=job, wait_ms=wait_ms,
                 log_from=log_from)  # fmt: skip


def job_cancel(job: int) -> Call[None]:
    return _call("Ok", _nothing, "JobCancel", job_id=job)


def job_started(call: Call[Any]) -> Call[int]:
    """Starts the same request as a job; returns its number."""
    return Call({**call.request, "stream": True}, "JobStarted", lambda r: int(r["job_id"]))
