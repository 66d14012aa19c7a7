"""The client for asyncio: the same calls, awaited.

    async with gpuemu.AsyncClient() as client:
        reports = await asyncio.gather(client.run_tests(["softmax"]), client.run_tests(["gelu"]))

A task that is cancelled while a job runs cancels the job in the daemon.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import os
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from gpuemu.client.calls import Call, Json
from gpuemu.client.client import AHEAD, WAIT_MS, job_result, lost_job, raised
from gpuemu.client.connection import Connection, default_socket
from gpuemu.client.sessions import AsyncSessionRequests
from gpuemu.client.tapes import AsyncTapeRequests
from gpuemu.client.progress import Progress, listener
from gpuemu.errors import ClientError, NotFoundError
from gpuemu.tensors import Array, owned
from . import calls, records

if TYPE_CHECKING:
    from . import artifacts, ci, replies

T = TypeVar("T")


class AsyncClient(AsyncSessionRequests, AsyncTapeRequests):
    """Like gpuemu.Client; every method but close is a coroutine."""

    def __init__(self, socket_path: str | None = None, timeout_ms: int = 30000, *, start: bool | None = None, share: bool = True) -> None:
        self.socket_path = default_socket() if socket_path is None else os.fspath(socket_path)
        self.connection = Connection(self.socket_path, timeout_ms, socket_path is None if start is None else start, share)
        self._cancelled: set[int] = set()

    async def __aenter__(self) -> AsyncClient:
        await self.ping()
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.connection.close()

    async def request(self, kind: str, **members: Any) -> Json:
        """Sends any request of the protocol; returns the reply unchanged. Raises the exception of an Error reply."""
        reply = await self._send({"type": kind, **members})
        return Call({"type": kind}, reply.get("type", ""), dict).result(reply)

    async def _send(self, request: Json) -> Json:
        # Dialling and starting a daemon block, so a thread does it while the loop runs on.
        await asyncio.to_thread(self.connection.open)
        # pynng may lose a cancellation that comes as an exchange ends. A separate task avoids that.
        exchange = asyncio.ensure_future(self.connection.ask_async(request))
        try:
            return await asyncio.shield(exchange)
        except asyncio.CancelledError:
            exchange.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
            exchange.cancel()
            raise

    async def _ask(self, call: Call[T]) -> T:
        return call.result(await self._send(call.request))

    async def _run(self, call: Call[T], progress: bool | Progress | None) -> T:
        await asyncio.to_thread(self.connection.open)
        if "jobs" not in self.connection.capabilities:
            return await self._ask(call)
        tell = listener(progress, str(call.request.get("op_name", call.request["type"])))
        job = await self._start(calls.job_started(call))
        seen = 0
        status = records.JobStatus(job)
        try:
            while status.state == "running":
                status = await self._ask(calls.job_status(job, WAIT_MS, seen))
                seen += len(status.log)
                if tell is not None:
                    tell(status)
        except NotFoundError:
            raise lost_job(job) from None
        except BaseException:
            await self._cancel(job)
            raise
        return job_result(call, status, job in self._cancelled)

    async def _start(self, call: Call[int]) -> int:
        """Starts a job. A cancellation meanwhile must not lose the number of the job."""
        starting = asyncio.ensure_future(self._ask(call))
        try:
            return await asyncio.shield(starting)
        except asyncio.CancelledError:
            with contextlib.suppress(ClientError):
                await self._cancel(await starting)
            raise

    async def _cancel(self, job: int) -> None:
        with contextlib.suppress(ClientError, asyncio.CancelledError):
            await self._ask(calls.job_cancel(job))

    async def job_status(self, job_id: int, wait_ms: int = 0, log_from: int = 0) -> records.JobStatus:
        return await self._ask(calls.job_status(job_id, wait_ms, log_from))

    async def cancel_job(self, job_id: int) -> None:
        self._cancelled.add(job_id)
        await self._ask(calls.job_cancel(job_id))

    async def ping(self) -> Json:
        return await self._ask(calls.ping())

    async def status(self) -> records.DaemonStatus:
        return await self._ask(calls.status())

    async def projects(self) -> replies.Projects:
        return await self._ask(calls.projects())

    async def set_default_project(self) -> None:
        await self._ask(calls.set_default_project())

    async def move_project(self, old: str, new: str) -> None:
        await self._ask(calls.move_project(old, new))

    async def forget_project(self, project: str) -> None:
        await self._ask(calls.forget_project(project))

    async def claim_storage(self, ops: Sequence[str] = (), *, everything: bool = False, dry_run: bool = False) -> replies.StorageClaimed:
        return await self._ask(calls.claim_storage(ops, everything, dry_run))

    async def storage_status(self) -> replies.StorageStatus:
        return await self._ask(calls.storage_status())

    async def prune_storage(self, *, passing: bool = False, failures: bool = False, artifacts: bool = False, runs: bool = False, op: str = "",
                            older_than: int | None = None, keep: int | None = None, bytes: int | None = None,
                            dry_run: bool = False) -> replies.StoragePruned:  # fmt: skip
        return await self._ask(calls.prune_storage(passing=passing, failures=failures, artifacts=artifacts, runs=runs, op=op, older_than=older_than,
                                             keep=keep, bytes=bytes, dry_run=dry_run))  # fmt: skip

    async def verify_storage(self) -> replies.StorageReport:
        return await self._ask(calls.verify_storage())

    async def compact_storage(self) -> replies.StorageCompacted:
        return await self._ask(calls.compact_storage())

    async def back_up_storage(self, path: str) -> None:
        await self._ask(calls.back_up_storage(path))

    async def devices(self) -> list[records.DeviceInfo]:
        return await self._ask(calls.devices())

    async def settings(self) -> dict[str, str]:
        return await self._ask(calls.settings())

    async def shutdown(self) -> None:
        await self._ask(calls.shutdown())
        self.close()

    async def validate_op(self, op_name: str, inputs: Mapping[str, Any], output: Any, **kwargs: Any) -> records.ValidationResult:
        return await self._ask(calls.validate(op_name, inputs, output, kwargs))

    async def submit_output(self, op_name: str, inputs: Mapping[str, Any], output: Any, seed: int, **kwargs: Any,
                            ) -> records.ValidationResult:  # fmt: skip
        return await self._ask(calls.validate(op_name, inputs, output, kwargs, seed))

    async def get_result(self, seed: int, op_name: str | None = None) -> records.ValidationResult | None:
        try:
            return await self._ask(calls.get_result(seed, op_name))
        except NotFoundError:
            return None

    async def list_results(self, limit: int = 100, op_name: str | None = None) -> list[records.ValidationResult]:
        return await self._ask(calls.listing("ListResults", limit, op_name))

    async def list_failures(self, limit: int = 20, op_name: str | None = None) -> list[records.ValidationResult]:
        return await self._ask(calls.listing("ListFailures", limit, op_name))

    async def delete_failures(self, seed: int | None = None, op_name: str | None = None, *, everything: bool = False) -> int:
        return await self._ask(calls.delete_failures(seed, op_name, everything))

    async def store_failure(self, seed: int, op: str, findings: Sequence[records.Finding], program_folder: str) -> None:
        await self._ask(calls.store_failure(seed, op, findings, program_folder))

    async def store_baseline(self, tag: str) -> None:
        await self._ask(calls.store_baseline(tag))

    async def compare_baseline(self, tag: str, *, same_cases: bool = False) -> records.BaselineComparison:
        return await self._ask(calls.compare_baseline(tag, same_cases))

    async def run_tests(self, ops: Sequence[str] = (), *, cases: int = 0, seed: int | None = None,
                        dtypes: Sequence[str] = (), strategies: Sequence[str] = (), fail_fast: bool = False,
                        fragile: bool = False, strict: bool = False, max_elements: int | None = None,
                        progress: bool | Progress | None = None) -> records.TestReport:  # fmt: skip
        options = {"fragile": fragile, "strict": strict, "max_elements": max_elements}
        return await self._run(calls.run_tests(ops, cases, seed, dtypes, strategies, fail_fast, options), progress)

    async def fuzz_op(self, op_name: str, seed: int | None = None, iterations: int = 100, fail_fast: bool = False,
                      batch_sizes: Sequence[int] | None = None, seq_lengths: Sequence[int] | None = None,
                      hidden_dims: Sequence[int] | None = None, dtypes: Sequence[str] | None = None,
                      layouts: Sequence[str] | None = None, *, strategies: Sequence[str] | None = None,
                      min_shape: Sequence[int] | None = None, max_shape: Sequence[int] | None = None, guided: bool = False,
                      max_elements: int | None = None, first_case: int | None = None,
                      corpus: Sequence[dict[str, Any]] | None = None, progress: bool | Progress | None = None,
                      ) -> records.FuzzResults:  # fmt: skip
        shapes = {"batch_sizes": batch_sizes, "seq_lengths": seq_lengths, "hidden_dims": hidden_dims}
        own = {"strategies": strategies and list(strategies), "min_shape": min_shape and list(min_shape),
               "max_shape": max_shape and list(max_shape)}  # fmt: skip
        beside = {"guided": guided, "max_elements": max_elements, "first_case": first_case,
                  "corpus": None if corpus is None else list(corpus)}  # fmt: skip
        return await self._run(calls.fuzz(op_name, seed, iterations, fail_fast, shapes, dtypes, layouts, own, beside), progress)

    async def reproduce(self, seed: int, op_name: str | None = None, *, profile: bool = False, details: bool = False,
                        ) -> records.ReproduceResult:  # fmt: skip
        return await self._ask(calls.reproduce(seed, op_name, profile, details))

    async def minimize(self, seed: int, strategy: str = "binary-search-dims", max_iters: int = 100,
                       op_name: str | None = None, *, progress: bool | Progress | None = None,
                       ) -> records.MinimizeResult:  # fmt: skip
        return await self._run(calls.minimize(seed, op_name, strategy, max_iters), progress)

    async def explain(self, seed: int, op_name: str | None = None, *, output: str | None = None,
                      index: int | None = None) -> replies.ExplainResult:  # fmt: skip
        return await self._ask(calls.explain(seed, op_name, output, index))

    async def get_case(self, op_name: str, seed: int) -> replies.StoredCase:
        return await self._ask(calls.get_case(op_name, seed))

    async def export_case(self, seed: int, op_name: str | None = None) -> replies.ExportedCase:
        return await self._ask(calls.export_case(seed, op_name))

    async def compare_kernels(self, before: str, after: str, arch: str | None = None) -> replies.KernelComparison:
        return await self._ask(calls.compare_kernels(os.path.abspath(before), os.path.abspath(after), arch))

    async def kernel_coverage(self, kernel: str, *, cases: int = 0, seed: int | None = None,
                              progress: bool | Progress | None = None) -> replies.KernelCoverage:  # fmt: skip
        return await self._run(calls.kernel_coverage(kernel, cases, seed), progress)

    async def calibrate(self, op_name: str, *, dtypes: Sequence[str] = (), cases: int = 0, seed: int | None = None,
                        progress: bool | Progress | None = None) -> replies.Calibration:  # fmt: skip
        return await self._run(calls.calibrate(op_name, dtypes, cases, seed), progress)

    async def mutate(self, op_name: str, *, kernel: str | None = None, dtype: str | None = None, cases: int = 0,
                     seed: int | None = None, mutants_max: int = 0, budget_ms: int = 0, mutations: Sequence[str] = (),
                     progress: bool | Progress | None = None) -> replies.MutationReport:  # fmt: skip
        limits = {"cases": cases, "seed": seed, "mutants_max": mutants_max, "budget_ms": budget_ms}
        return await self._run(calls.mutate(op_name, kernel, dtype, limits, mutations), progress)

    async def prove(self, op_name: str | None = None, *, kernel: str | None = None, dtype: str | None = None,
                    progress: bool | Progress | None = None) -> replies.BoundsReport:  # fmt: skip
        return await self._run(calls.prove(op_name, kernel, dtype), progress)

    async def inspect_kernels(self, kernels: Sequence[str] = (), *, files: Sequence[str] = (),
                              archs: Sequence[str] = (), threads: int = 0, dynamic_shared_bytes: int = 0,
                              progress: bool | Progress | None = None) -> list[artifacts.LintResult]:  # fmt: skip
        return await self._run(calls.inspect(kernels, [os.path.abspath(one) for one in files], archs, threads, dynamic_shared_bytes), progress)

    async def store_artifact(self, metrics: artifacts.ArtifactMetrics) -> None:
        await self._ask(calls.store_artifact(metrics))

    async def get_artifact(self, kernel_name: str, timestamp: int | None = None) -> artifacts.ArtifactMetrics:
        return await self._ask(calls.get_artifact(kernel_name, timestamp))

    async def list_artifacts(self, *, history: bool = False, kernel_name: str = "", limit: int | None = None) -> list[artifacts.ArtifactMetrics]:
        return await self._ask(calls.list_artifacts(history, kernel_name, limit))

    async def store_artifact_baseline(self, tag: str, kernels: Sequence[str] = ()) -> None:
        await self._ask(calls.store_artifact_baseline(tag, kernels))

    async def diff_artifact_baseline(self, tag: str, kernels: Sequence[str] = ()) -> artifacts.ArtifactDiffs:
        return await self._ask(calls.diff_artifact_baseline(tag, kernels))

    async def list_baselines(self) -> list[artifacts.BaselineInfo]:
        return await self._ask(calls.list_baselines())

    async def get_baseline(self, tag: str) -> artifacts.Baseline:
        return await self._ask(calls.get_baseline(tag))

    async def delete_baseline(self, tag: str) -> None:
        await self._ask(calls.delete_baseline(tag))

    async def run_ci(self, profile: str = "quick", *, baseline: str | None = None, seed: int | None = None,
                     shard: int = 0, shards: int = 0, budget_ms: int = 0, parallel_jobs: int = 0,
                     cached: bool = False, coverage: bool = False, snapshots: bool = False, max_elements: int | None = None,
                     progress: bool | Progress | None = None) -> ci.CiSummary:  # fmt: skip
        options = {"shard": shard, "shards": shards, "budget_ms": budget_ms, "parallel_jobs": parallel_jobs, "cached": cached, "coverage": coverage,
                   "snapshots": snapshots, "max_elements": max_elements}  # fmt: skip
        return await self._run(calls.run_ci(profile, baseline, seed, options), progress)

    async def get_ci_summary(self) -> ci.CiSummary:
        return await self._ask(calls.get_ci_summary())

    async def lint_kernel(self, ptx_content: str, kernel_name: str | None = None) -> list[Json]:
        return await self._ask(calls.lint(ptx_content, kernel_name))

    async def get_test_case(self, op_name: str, seed: int | None = None) -> records.TestCase:
        return await self._ask(calls.test_case(op_name, calls.case_config(seed, None, None)))

    async def get_test_batch(self, op_name: str, count: int = 10, seed: int | None = None, op_schema: Json | None = None,
                             dtypes: Sequence[str] | None = None) -> list[records.TestCase]:  # fmt: skip
        return await self._ask(calls.test_batch(op_name, calls.case_config(seed, dtypes, op_schema), count))

    async def fuzz_op_client_side(self, op_name: str, run_op: Callable[[dict[str, Array]], Any], iterations: int = 100,
                                  seed: int | None = None, fail_fast: bool = False, op_schema: Json | None = None,
                                  dtypes: Sequence[str] | None = None) -> records.FuzzResults:  # fmt: skip
        """Like that of Client; run_op may be a coroutine function. A plain function runs in the thread of the loop."""
        found = records.FuzzResults(seed=calls.fresh_seed() if seed is None else seed)
        ahead = 0 if fail_fast else AHEAD
        waiting: deque[asyncio.Future[records.ValidationResult]] = deque()
        try:
            for case in await self.get_test_batch(op_name, calls.cases_wanted(iterations), found.seed, op_schema, dtypes):
                waiting.append(await self._judged(op_name, run_op, case))
                if len(waiting) > ahead:
                    found.add(await waiting.popleft())
                if fail_fast and found.failed:
                    break
            while waiting:
                found.add(await waiting.popleft())
        finally:
            for one in waiting:  # After a cancellation no more verdicts are needed.
                one.cancel()
        return found

    async def _judged(self, op_name: str, run_op: Callable[[dict[str, Array]], Any], case: records.TestCase,
                      ) -> asyncio.Future[records.ValidationResult]:  # fmt: skip
        """Runs an op on a drawn case here; returns the verdict on its output."""
        try:
            output = run_op(owned(case["inputs"]))
            if inspect.isawaitable(output):
                output = await output
        except (Exception, SystemExit) as problem:  # Anything that the user's op raises is a failure of the op.
            verdict: asyncio.Future[records.ValidationResult] = asyncio.get_running_loop().create_future()
            verdict.set_result(raised(op_name, case["seed"], problem))
            return verdict
        return asyncio.ensure_future(self._ask(calls.validate(op_name, case["inputs"], output, {}, case["seed"], own=True)))
