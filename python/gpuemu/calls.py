"""Every request of the protocol as a value: what is sent, and what becomes of the reply. No socket in here, so the
blocking and the asyncio client share it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from gpuemu import records, tensors
from gpuemu.errors import ProtocolError, of_reply

T = TypeVar("T")
Json = dict[str, Any]

STRATEGIES = {"binary-search-dims": "BinarySearchDims", "binary-search-values": "BinarySearchValues"}


@dataclass(frozen=True)
class Call(Generic[T]):
    """`answers`: the type of the reply. `stream`: it may run as a job, whose result is that reply."""

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


def fresh_seed() -> int:
    return time.time_ns() & 0xFFFFFFFFFFFFFFFF


def ping() -> Call[Json]:
    return _call("Pong", lambda r: {k: v for k, v in r.items() if k != "type"}, "Ping")


def status() -> Call[records.DaemonStatus]:
    return _call("DaemonStatus", records.DaemonStatus.from_dict, "DaemonStatus")


def devices() -> Call[list[records.DeviceInfo]]:
    return _call("Devices", lambda r: [records.build(records.DeviceInfo, one) for one in r["devices"]], "Devices")


def settings() -> Call[dict[str, str]]:
    return _call("ConfigShow", lambda r: {one["key"]: one["value"] for one in r["settings"]}, "ConfigShow")


def shutdown() -> Call[None]:
    return _call("Ok", _nothing, "Shutdown")


def validate(op: str, inputs: Mapping[str, Any], output: Any, kwargs: Mapping[str, Any], seed: int | None = None,
             ) -> Call[records.ValidationResult]:  # fmt: skip
    """ValidateOp, with a seed SubmitOutput."""
    return _call(
        "ValidationResult" if seed is None else "SubmitResult",
        lambda r: records.ValidationResult.from_dict(r["result"]),
        "ValidateOp" if seed is None else "SubmitOutput",
        op_name=op,
        inputs={name: tensors.encode(value) for name, value in inputs.items()},
        output=tensors.encode(output),
        seed=seed,
        kwargs={name: str(value) for name, value in kwargs.items()},
    )


def get_result(seed: int, op: str | None) -> Call[records.ValidationResult]:
    return _call("ValidationResult", lambda r: records.ValidationResult.from_dict(r["result"]), "GetResult", seed=seed,
                 op_name=op)  # fmt: skip


def listing(kind: str, limit: int, op: str | None) -> Call[list[records.ValidationResult]]:
    """`kind`: ListResults or ListFailures."""
    return _call("Results", lambda r: records.results(r["results"]), kind, limit=limit, op_name=op)


def store_baseline(tag: str) -> Call[None]:
    return _call("Ok", _nothing, "StoreBaseline", tag=tag)


def compare_baseline(tag: str) -> Call[records.BaselineComparison]:
    return _call("BaselineComparison", records.BaselineComparison.from_dict, "CompareBaseline", tag=tag)


def run_tests(ops: Sequence[str], cases: int, seed: int | None, dtypes: Sequence[str], strategies: Sequence[str],
              fail_fast: bool) -> Call[records.TestReport]:  # fmt: skip
    return _call("TestReport", records.TestReport.from_dict, "RunTests", stream=True, ops=list(ops), cases=cases,
                 seed=seed, dtypes=list(dtypes), strategies=list(strategies), fail_fast=fail_fast)  # fmt: skip


def shape_options(small: bool, **lists: Sequence[int] | None) -> Json:
    """The sizes that clients have always asked for: those of single cases are smaller than those of a fuzz run."""
    options: Json = {
        "batch_sizes": [1, 2, 4, 8] if small else [1, 2, 4, 8, 16, 32],
        "seq_lengths": [64, 128, 256] if small else [64, 128, 256, 512, 1024],
        "hidden_dims": [256, 512] if small else [256, 512, 768, 1024],
        "edge_cases": [[1], [1, 1]] if small else [[1], [1, 1], [1, 1, 1]],
    }
    return {**options, **{name: list(sizes) for name, sizes in lists.items() if sizes}}


def fuzz(op: str, seed: int | None, iterations: int, fail_fast: bool, shapes: Mapping[str, Sequence[int] | None],
         dtypes: Sequence[str] | None, layouts: Sequence[str] | None, own: Mapping[str, Any],
         ) -> Call[records.FuzzResults]:  # fmt: skip
    """With lists of sizes, or for ops with an op script, the clients' generator draws; `own` (strategies, min_shape,
    max_shape) is for kernels and gpuemu's generator."""
    seed = fresh_seed() if seed is None else seed
    common = {"op_name": op, "iterations": iterations, "fail_fast": fail_fast}
    given = {name: value for name, value in own.items() if value}
    if given:
        if any(shapes.values()):
            raise ValueError(f"sizes ({', '.join(n for n, v in shapes.items() if v)}) and {', '.join(given)} exclude each "
                             "other: the former are of ops with an op script, the latter of kernels")  # fmt: skip
        config = {"iterations": iterations, "seed": seed, "dtypes": list(dtypes or []), "layouts": list(layouts or []), **given}
        members = {**common, "config": config}
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


def reproduce(seed: int, op: str | None, profile: bool) -> Call[records.ReproduceResult]:
    return _call("ReproduceResult", records.ReproduceResult.from_dict, "Reproduce", seed=seed, op_name=op,
                 profile=profile or None)  # fmt: skip


def minimize(seed: int, op: str | None, strategy: str, max_iters: int) -> Call[records.MinimizeResult]:
    if strategy not in STRATEGIES:
        raise ValueError(f"unknown strategy '{strategy}'; there are {', '.join(STRATEGIES)}")
    return _call("MinimizeResult", records.MinimizeResult.from_dict, "Minimize", stream=True, seed=seed, op_name=op,
                 strategy=STRATEGIES[strategy], max_iters=max_iters)  # fmt: skip


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


def job_status(job: int, wait_ms: int, log_from: int) -> Call[records.JobStatus]:
    return _call("JobStatus", lambda r: records.build(records.JobStatus, r), "JobStatus", job_id=job, wait_ms=wait_ms,
                 log_from=log_from)  # fmt: skip


def job_cancel(job: int) -> Call[None]:
    return _call("Ok", _nothing, "JobCancel", job_id=job)


def job_started(call: Call[Any]) -> Call[int]:
    """The same request as a job; gives its number."""
    return Call({**call.request, "stream": True}, "JobStarted", lambda r: int(r["job_id"]))
