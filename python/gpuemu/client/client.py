"""The blocking client of gpuemu-daemon.

    with gpuemu.Client() as client:                       # starts the daemon when none runs
        report = client.run_tests(progress=print)         # what `gpuemu test` does
        verdict = client.validate_op("softmax", {"x": x}, y)

Threads may share a client. Runs of many cases (run_tests, fuzz_op, minimize) have no time limit: they are jobs of the daemon that
the client polls until they end, and Ctrl-C cancels them. timeout_ms limits everything else.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout
from typing import TYPE_CHECKING, Any, TypeVar

from gpuemu.client.calls import Call, Json
from gpuemu.client.connection import PROTOCOL_VERSION, Connection, default_socket
from gpuemu.client.progress import Progress, listener
from gpuemu.client.records import FuzzResults, MinimizeResult, ReproduceResult, ReproductionInfo, ValidationResult
from gpuemu.client.sessions import SessionRequests
from gpuemu.client.tapes import TapeRequests
from gpuemu.errors import ClientError, ConnectionError, IncompleteError, NotFoundError, told
from gpuemu.tensors import Array, owned
from . import calls, records

if TYPE_CHECKING:
    from . import artifacts, ci, replies
    from gpuemu.check.tolerances import ToleranceConfig

__all__ = ["HAS_PYNNG", "PROTOCOL_VERSION", "Client", "ClientError", "FuzzResults", "MinimizeResult", "ReproduceResult",
           "ReproductionInfo", "ValidationResult", "connect"]  # fmt: skip

HAS_PYNNG = importlib.util.find_spec("pynng") is not None
T = TypeVar("T")
AHEAD = 7  # Cases of fuzz_op_client_side that wait for the daemon while the op runs the next one.
WAIT_MS = 500  # How long the daemon waits for a job to end before it reports its progress.


def job_reply(status: records.JobStatus) -> Json:
    """Returns the reply of a job that ended; a cancelled one has partial results."""
    if status.result is None:
        raise ClientError(f"job {status.job_id} ended as '{status.state}' without a result")
    return status.result


def job_result(call: Call[T], status: records.JobStatus, cancelled_here: bool) -> T:
    """Returns the result of a job that ended. Raises IncompleteError when it ended before its work was done and this client did
    not cancel it."""
    result = call.result(job_reply(status))
    if status.code not in ("Stopped", "LimitExceeded") and (status.state != "cancelled" or cancelled_here):
        return result
    why = getattr(result, "incomplete", "") or "the daemon ended it early"
    raise IncompleteError(f"{call.request['type']} is incomplete: {why}", result)


def lost_job(job: int) -> ConnectionError:
    """Returns the error for a job that the daemon does not have: it is not the daemon that started the job."""
    return ConnectionError(f"job {job} is lost: the daemon was stopped or started anew; what it had found is kept")


class Client(SessionRequests, TapeRequests):
    """A client of one daemon.

    socket_path: the daemon's socket; by default $GPUEMU_SOCKET, else ~/.gpuemu/gpuemu.sock.
    timeout_ms: how long a request may take.
    start: whether a daemon is started when none answers; by default only for the default socket.
    share: False never sends large arrays through shared memory, but as text.
    """

    def __init__(self, socket_path: str | None = None, timeout_ms: int = 30000, *, start: bool | None = None, share: bool = True) -> None:
        self.socket_path = default_socket() if socket_path is None else os.fspath(socket_path)
        self.timeout_ms = timeout_ms
        self.connection = Connection(self.socket_path, timeout_ms, socket_path is None if start is None else start, share)
        self._cancelled: set[int] = set()

    def close(self) -> None:
        """Closes the connection; the daemon keeps running. The next request opens it again."""
        self.connection.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- requests of any kind

    def request(self, kind: str, **members: Any) -> Json:
        """Sends any request of the protocol; returns the reply unchanged. Raises the exception of an Error reply."""
        reply = self.connection.ask({"type": kind, **members})
        return Call({"type": kind}, reply.get("type", ""), dict).result(reply)

    def _ask(self, call: Call[T]) -> T:
        return call.result(self.connection.ask(call.request))

    def _run(self, call: Call[T], progress: bool | Progress | None) -> T:
        """Sends a request as a job if the daemon supports jobs."""
        self.connection.open()
        if "jobs" not in self.connection.capabilities:
            return self._ask(call)
        tell = listener(progress, str(call.request.get("op_name", call.request["type"])))
        job = self._start(calls.job_started(call))
        seen = 0
        status = records.JobStatus(job)
        try:
            while status.state == "running":
                status = self._ask(calls.job_status(job, WAIT_MS, seen))
                seen += len(status.log)
                if tell is not None:
                    tell(status)
        except NotFoundError:
            raise lost_job(job) from None
        except BaseException:  # After Ctrl-C, or when a callback raises, nobody waits for the job.
            self._cancel(job)
            raise
        return job_result(call, status, job in self._cancelled)

    def _start(self, call: Call[int]) -> int:
        """Starts a job, in a thread: a Ctrl-C meanwhile must not lose the number of the job."""
        answer: Future[int] = Future()

        def ask() -> None:
            try:
                answer.set_result(self._ask(call))
            except BaseException as problem:
                answer.set_exception(problem)

        threading.Thread(target=ask, daemon=True).start()
        try:
            return answer.result()
        except BaseException:
            with contextlib.suppress(ClientError, OSError, FutureTimeout):
                self._cancel(answer.result(self.timeout_ms / 1000))
            raise

    def _cancel(self, job: int) -> None:
        with contextlib.suppress(ClientError):  # The job has ended, or the daemon is gone.
            self._ask(calls.job_cancel(job))

    def job_status(self, job_id: int, wait_ms: int = 0, log_from: int = 0) -> records.JobStatus:
        """Returns the progress of a job after waiting up to wait_ms (at most 10,000) for it to end. log_from: skips that many
        lines of its log."""
        return self._ask(calls.job_status(job_id, wait_ms, log_from))

    def cancel_job(self, job_id: int) -> None:
        """Ends a job, from a progress callback or another thread. The job's caller gets the results until then."""
        self._cancelled.add(job_id)
        self._ask(calls.job_cancel(job_id))

    # --- the daemon

    def ping(self) -> Json:
        """Returns version, protocol_version, uptime_secs, capabilities, devices."""
        return self._ask(calls.ping())

    def status(self) -> records.DaemonStatus:
        """Returns what the daemon runs, where, since when, and with which project."""
        return self._ask(calls.status())

    def projects(self) -> replies.Projects:
        """Returns the projects that the daemon knows, and the default."""
        return self._ask(calls.projects())

    def set_default_project(self) -> None:
        """Makes this client's project the default for requests that name none."""
        self._ask(calls.set_default_project())

    def move_project(self, old: str, new: str) -> None:
        """Moves the stored data of a project, by id or path, to another gpuemu.toml. Raises ProjectNotFoundError."""
        self._ask(calls.move_project(old, new))

    def forget_project(self, project: str) -> None:
        """Deletes all stored data of a project, by id or path. Raises ProjectNotFoundError."""
        self._ask(calls.forget_project(project))

    def claim_storage(self, ops: Sequence[str] = (), *, everything: bool = False, dry_run: bool = False) -> replies.StorageClaimed:
        """Takes over data stored before the daemon had projects: of this project's ops and kernels, of these ops, or
        everything."""
        return self._ask(calls.claim_storage(ops, everything, dry_run))

    def storage_status(self) -> replies.StorageStatus:
        """Returns counts of the stored data of this project."""
        return self._ask(calls.storage_status())

    def prune_storage(self, *, passing: bool = False, failures: bool = False, artifacts: bool = False, runs: bool = False, op: str = "",
                      older_than: int | None = None, keep: int | None = None, bytes: int | None = None,
                      dry_run: bool = False) -> replies.StoragePruned:  # fmt: skip
        """Deletes old records of this project, never baselines; without arguments, those beyond the limits of retention.
        older_than: in seconds; keep: keeps this many of the newest of each kind; bytes: deletes the oldest first until no more
        than this is left."""
        return self._ask(calls.prune_storage(passing=passing, failures=failures, artifacts=artifacts, runs=runs, op=op, older_than=older_than,
                                             keep=keep, bytes=bytes, dry_run=dry_run))  # fmt: skip

    def verify_storage(self) -> replies.StorageReport:
        """Checks every file, checksum, record and index entry of the database."""
        return self._ask(calls.verify_storage())

    def compact_storage(self) -> replies.StorageCompacted:
        """Returns unused bytes of the database to the disk."""
        return self._ask(calls.compact_storage())

    def back_up_storage(self, path: str) -> None:
        """Copies the database to a new folder, given by an absolute path, while others continue to write."""
        self._ask(calls.back_up_storage(path))

    def devices(self) -> list[records.DeviceInfo]:
        """Returns the devices of the daemon."""
        return self._ask(calls.devices())

    def settings(self) -> dict[str, str]:
        """Returns every setting of gpuemu.toml by its key."""
        return self._ask(calls.settings())

    def shutdown(self) -> None:
        """Ends the daemon after it has finished its running work."""
        self._ask(calls.shutdown())
        self.close()

    # --- judging outputs

    def validate_op(self, op_name: str, inputs: Mapping[str, Any], output: Any, **kwargs: Any) -> records.ValidationResult:
        """Compares `output` with the op's reference. Arrays may come from NumPy, torch or jax; kwargs go to the reference as
        text. A wrong output is a result with passed == False, not an exception."""
        return self._ask(calls.validate(op_name, inputs, output, kwargs))

    def submit_output(self, op_name: str, inputs: Mapping[str, Any], output: Any, seed: int, **kwargs: Any,
                      ) -> records.ValidationResult:  # fmt: skip
        """Like validate_op, for a case of get_test_case or get_test_batch: the result is stored under its seed."""
        return self._ask(calls.validate(op_name, inputs, output, kwargs, seed))

    # --- stored results

    def get_result(self, seed: int, op_name: str | None = None) -> records.ValidationResult | None:
        """Returns the stored result of a seed; None if it does not exist."""
        try:
            return self._ask(calls.get_result(seed, op_name))
        except NotFoundError:
            return None

    def list_results(self, limit: int = 100, op_name: str | None = None) -> list[records.ValidationResult]:
        """Returns stored results, the newest first."""
        return self._ask(calls.listing("ListResults", limit, op_name))

    def list_failures(self, limit: int = 20, op_name: str | None = None) -> list[records.ValidationResult]:
        """Returns stored failures, the newest first."""
        return self._ask(calls.listing("ListFailures", limit, op_name))

    def delete_failures(self, seed: int | None = None, op_name: str | None = None, *, everything: bool = False) -> int:
        """Deletes stored failures and their inputs: of a seed, of an op, or all. Returns how many."""
        return self._ask(calls.delete_failures(seed, op_name, everything))

    def store_failure(self, seed: int, op: str, findings: Sequence[records.Finding], program_folder: str) -> None:
        """Stores a failure that a check of a program found: `gpuemu failures` lists it, and `gpuemu reproduce SEED` runs the
        folder, which is given by an absolute path."""
        self._ask(calls.store_failure(seed, op, findings, program_folder))

    def store_baseline(self, tag: str) -> None:
        """Keeps all stored results under a tag."""
        self._ask(calls.store_baseline(tag))

    def compare_baseline(self, tag: str, *, same_cases: bool = False) -> records.BaselineComparison:
        """Compares the stored results with those of a tag. same_cases: each only with the result of the same op and seed."""
        return self._ask(calls.compare_baseline(tag, same_cases))

    # --- kernels that the daemon runs

    def run_tests(self, ops: Sequence[str] = (), *, cases: int = 0, seed: int | None = None, dtypes: Sequence[str] = (),
                  strategies: Sequence[str] = (), fail_fast: bool = False, fragile: bool = False, strict: bool = False,
                  max_elements: int | None = None, progress: bool | Progress | None = None) -> records.TestReport:  # fmt: skip
        """Does the work of `gpuemu test`: all ops when none is named; cases 0 means validation.cases of gpuemu.toml. fragile:
        also runs passing cases with products and sums fused differently and with threads in other orders. strict, max_elements:
        override those keys of gpuemu.toml for all ops."""
        options = {"fragile": fragile, "strict": strict, "max_elements": max_elements}
        return self._run(calls.run_tests(ops, cases, seed, dtypes, strategies, fail_fast, options), progress)

    def fuzz_op(self, op_name: str, seed: int | None = None, iterations: int = 100, fail_fast: bool = False,
                batch_sizes: Sequence[int] | None = None, seq_lengths: Sequence[int] | None = None,
                hidden_dims: Sequence[int] | None = None, dtypes: Sequence[str] | None = None,
                layouts: Sequence[str] | None = None, *, strategies: Sequence[str] | None = None,
                min_shape: Sequence[int] | None = None, max_shape: Sequence[int] | None = None, guided: bool = False,
                max_elements: int | None = None, first_case: int | None = None,
                corpus: Sequence[dict[str, Any]] | None = None, progress: bool | Progress | None = None,
                ) -> records.FuzzResults:  # fmt: skip
        """Runs many cases of one op. The lists of sizes are for ops with an op script; strategies, min_shape and max_shape (of
        the first output) and max_elements (of the largest tensor) are for kernels. guided: generates cases where coverage grows
        (emulator). first_case: the number of the first case, for a range of a longer run; corpus: cases of `search["features"]`
        of earlier results, used in place of the stored corpus."""
        shapes = {"batch_sizes": batch_sizes, "seq_lengths": seq_lengths, "hidden_dims": hidden_dims}
        own = {"strategies": strategies and list(strategies), "min_shape": min_shape and list(min_shape),
               "max_shape": max_shape and list(max_shape)}  # fmt: skip
        beside = {"guided": guided, "max_elements": max_elements, "first_case": first_case,
                  "corpus": None if corpus is None else list(corpus)}  # fmt: skip
        return self._run(calls.fuzz(op_name, seed, iterations, fail_fast, shapes, dtypes, layouts, own, beside), progress)

    def reproduce(self, seed: int, op_name: str | None = None, *, profile: bool = False, details: bool = False,
                  ) -> records.ReproduceResult:  # fmt: skip
        """Runs a stored failure again and returns its exact inputs. profile: includes counts for each source line (emulator).
        details: includes the error map, the kernel's PTX and its launches."""
        return self._ask(calls.reproduce(seed, op_name, profile, details))

    def minimize(self, seed: int, strategy: str = "binary-search-dims", max_iters: int = 100, op_name: str | None = None,
                 *, progress: bool | Progress | None = None) -> records.MinimizeResult:  # fmt: skip
        """Finds a smaller case that fails in the same way; strategy "binary-search-dims" or "binary-search-values"."""
        return self._run(calls.minimize(seed, op_name, strategy, max_iters), progress)

    def explain(self, seed: int, op_name: str | None = None, *, output: str | None = None, index: int | None = None,
                ) -> replies.ExplainResult:  # fmt: skip
        """Finds the origin of the error of a kernel's stored failure. output, index: the element (flat, row-major); by default
        the worst one. NotFoundError: no such failure; InvalidRequestError: it is not a kernel's failure, or the output has no
        such element."""
        return self._ask(calls.explain(seed, op_name, output, index))

    def get_case(self, op_name: str, seed: int) -> replies.StoredCase:
        """Returns a stored case with its inputs; nothing is run."""
        return self._ask(calls.get_case(op_name, seed))

    def export_case(self, seed: int, op_name: str | None = None) -> replies.ExportedCase:
        """Returns a stored failure with everything needed to run it: sources, PTX, launches, arrays."""
        return self._ask(calls.export_case(seed, op_name))

    def compare_kernels(self, before: str, after: str, arch: str | None = None) -> replies.KernelComparison:
        """Compares the behaviour of two kernel files, .ptx or .cu. arch: the target for compiling .cu files, "sm_80"."""
        return self._ask(calls.compare_kernels(os.path.abspath(before), os.path.abspath(after), arch))

    def kernel_coverage(self, kernel: str, *, cases: int = 0, seed: int | None = None,
                        progress: bool | Progress | None = None) -> replies.KernelCoverage:  # fmt: skip
        """Returns the lines and branches of a kernel that generated cases reach; cases 0 means validation.cases of
        gpuemu.toml."""
        return self._run(calls.kernel_coverage(kernel, cases, seed), progress)

    def calibrate(self, op_name: str, *, dtypes: Sequence[str] = (), cases: int = 0, seed: int | None = None,
                  progress: bool | Progress | None = None) -> replies.Calibration:  # fmt: skip
        """Measures the errors of a kernel that is known to be right and returns a tolerance of twice that size; cases 0 means 256
        for each dtype."""
        return self._run(calls.calibrate(op_name, dtypes, cases, seed), progress)

    def mutate(self, op_name: str, *, kernel: str | None = None, dtype: str | None = None, cases: int = 0,
               seed: int | None = None, mutants_max: int = 0, budget_ms: int = 0, mutations: Sequence[str] = (),
               progress: bool | Progress | None = None) -> replies.MutationReport:  # fmt: skip
        """Plants faults in an op's kernel and counts those that its cases find. cases: for each mutant; mutants_max 0: all;
        budget_ms: no mutant starts later; mutations: names of docs/guides/mutation.md."""
        limits = {"cases": cases, "seed": seed, "mutants_max": mutants_max, "budget_ms": budget_ms}
        return self._run(calls.mutate(op_name, kernel, dtype, limits, mutations), progress)

    def prove(self, op_name: str | None = None, *, kernel: str | None = None, dtype: str | None = None,
              progress: bool | Progress | None = None) -> replies.BoundsReport:  # fmt: skip
        """Returns the memory accesses of kernels that provably stay inside their tensors for all sizes and data; without an op,
        of all ops that have a kernel."""
        return self._run(calls.prove(op_name, kernel, dtype), progress)

    def inspect_kernels(self, kernels: Sequence[str] = (), *, files: Sequence[str] = (), archs: Sequence[str] = (),
                        threads: int = 0, dynamic_shared_bytes: int = 0, progress: bool | Progress | None = None,
                        ) -> list[artifacts.LintResult]:  # fmt: skip
        """Does the work of `gpuemu lint`: measures kernels of gpuemu.toml, or .ptx and .cu files, for architectures such as
        "sm_80", and checks them against their limits. threads and dynamic_shared_bytes: of a block, for the occupancy."""
        return self._run(calls.inspect(kernels, [os.path.abspath(one) for one in files], archs, threads, dynamic_shared_bytes), progress)

    def store_artifact(self, metrics: artifacts.ArtifactMetrics) -> None:
        """Stores metrics under metrics.kernel_name."""
        self._ask(calls.store_artifact(metrics))

    def get_artifact(self, kernel_name: str, timestamp: int | None = None) -> artifacts.ArtifactMetrics:
        """Returns the stored metrics of a kernel: the newest, or those that were current at a time in seconds since 1970. Raises
        ArtifactNotFoundError."""
        return self._ask(calls.get_artifact(kernel_name, timestamp))

    def list_artifacts(self, *, history: bool = False, kernel_name: str = "", limit: int | None = None) -> list[artifacts.ArtifactMetrics]:
        """Returns the newest stored metrics of each kernel, ordered by name; with `history`, all metrics, the newest first."""
        return self._ask(calls.list_artifacts(history, kernel_name, limit))

    def store_artifact_baseline(self, tag: str, kernels: Sequence[str] = ()) -> None:
        """Keeps stored metrics under a tag: those of `kernels`, by default all."""
        self._ask(calls.store_artifact_baseline(tag, kernels))

    def diff_artifact_baseline(self, tag: str, kernels: Sequence[str] = ()) -> artifacts.ArtifactDiffs:
        """Compares the current metrics with those of a tag. Raises BaselineNotFoundError."""
        return self._ask(calls.diff_artifact_baseline(tag, kernels))

    def list_baselines(self) -> list[artifacts.BaselineInfo]:
        """Returns the tags and how much each holds."""
        return self._ask(calls.list_baselines())

    def get_baseline(self, tag: str) -> artifacts.Baseline:
        """Returns the content of a tag. Raises BaselineNotFoundError."""
        return self._ask(calls.get_baseline(tag))

    def delete_baseline(self, tag: str) -> None:
        """Deletes a tag. Raises BaselineNotFoundError."""
        self._ask(calls.delete_baseline(tag))

    def run_ci(self, profile: str = "quick", *, baseline: str | None = None, seed: int | None = None, shard: int = 0,
               shards: int = 0, budget_ms: int = 0, parallel_jobs: int = 0, cached: bool = False,
               coverage: bool = False, snapshots: bool = False, max_elements: int | None = None,
               progress: bool | Progress | None = None) -> ci.CiSummary:  # fmt: skip
        """Does the work of `gpuemu ci`: profile "quick", "default" or "thorough". shard of shards: runs only that part, counted
        from 1; budget_ms: continues until this time is spent; cached: leaves out unchanged ops that passed before; coverage:
        counts source lines; snapshots: includes the inputs of failing cases; max_elements: of the largest tensor of a case."""
        options = {"shard": shard, "shards": shards, "budget_ms": budget_ms, "parallel_jobs": parallel_jobs, "cached": cached,
                   "coverage": coverage, "snapshots": snapshots, "max_elements": max_elements}  # fmt: skip
        return self._run(calls.run_ci(profile, baseline, seed, options), progress)

    def get_ci_summary(self) -> ci.CiSummary:
        """Returns the summary of the last CI run. Raises NotFoundError before the first one."""
        return self._ask(calls.get_ci_summary())

    def lint_kernel(self, ptx_content: str, kernel_name: str | None = None) -> list[Json]:
        """Returns the metrics of PTX, and the thresholds of gpuemu.toml that it exceeds."""
        return self._ask(calls.lint(ptx_content, kernel_name))

    # --- kernels that you run

    def get_test_case(self, op_name: str, seed: int | None = None) -> records.TestCase:
        """Returns a drawn case for an op that you run: a dict of seed, inputs, shape, dtype, layout."""
        return self._ask(calls.test_case(op_name, calls.case_config(seed, None, None)))

    def get_test_batch(self, op_name: str, count: int = 10, seed: int | None = None, op_schema: Json | None = None,
                       dtypes: Sequence[str] | None = None) -> list[records.TestCase]:  # fmt: skip
        """Returns `count` cases. op_schema gives the shapes of an operator: {"name", "dims": [{"name", "candidates"}], "inputs":
        [{"name", "dims"}], "output": {"name", "dims"}}."""
        return self._ask(calls.test_batch(op_name, calls.case_config(seed, dtypes, op_schema), count))

    def fuzz_op_client_side(self, op_name: str, run_op: Callable[[dict[str, Array]], Any], iterations: int = 100,
                            seed: int | None = None, fail_fast: bool = False, op_schema: Json | None = None,
                            dtypes: Sequence[str] | None = None) -> records.FuzzResults:  # fmt: skip
        """Draws cases, calls `run_op` with the inputs of each and judges its output. An exception of run_op is a failure of kind
        ExecutionError. The op runs in this thread, one case after the other; meanwhile the daemon judges earlier cases, unless
        fail_fast is set."""
        found = records.FuzzResults(seed=calls.fresh_seed() if seed is None else seed)
        cases = self.get_test_batch(op_name, calls.cases_wanted(iterations), found.seed, op_schema, dtypes)
        # While the daemon judges some cases, the op runs the next ones; with fail_fast, cases run one after the other.
        ahead = 0 if fail_fast else AHEAD
        waiting: deque[Future[ValidationResult]] = deque()
        with ThreadPoolExecutor(ahead + 1, "gpuemu-judge") as pool:
            for case in cases:
                waiting.append(self._judged(pool, op_name, run_op, case))
                if len(waiting) > ahead:
                    found.add(waiting.popleft().result())
                if fail_fast and found.failed:
                    break
            while waiting:
                found.add(waiting.popleft().result())
        return found

    def _judged(self, pool: ThreadPoolExecutor, op_name: str, run_op: Callable[[dict[str, Array]], Any], case: records.TestCase,
                ) -> Future[ValidationResult]:  # fmt: skip
        """Runs an op on a drawn case here; a thread of the pool has its output judged."""
        verdict: Future[ValidationResult] = Future()
        try:
            output = run_op(owned(case["inputs"]))
        except (Exception, SystemExit) as problem:  # Anything that the user's op raises is a failure of the op.
            verdict.set_result(raised(op_name, case["seed"], problem))
            return verdict
        return pool.submit(self._ask, calls.validate(op_name, case["inputs"], output, {}, case["seed"], own=True))


def raised(op_name: str, seed: int, problem: BaseException) -> ValidationResult:
    """Returns the verdict on an op that raised."""
    said = records.Finding("ExecutionError", told(problem))
    return ValidationResult(False, seed, op_name, float("inf"), float("inf"), [said], int(time.time()))


def judge_case(client: Client, op_name: str, run_op: Callable[[dict[str, Array]], Any], case: records.TestCase,
               tolerance: ToleranceConfig | None = None) -> ValidationResult:  # fmt: skip
    """Runs an op on a drawn case and returns the daemon's verdict on its output. tolerance: accepts larger errors than that of
    gpuemu.toml."""
    try:
        output = run_op(owned(case["inputs"]))
    except (Exception, SystemExit) as problem:  # Anything that the user's op raises is a failure of the op.
        return raised(op_name, case["seed"], problem)
    return client._ask(calls.validate(op_name, case["inputs"], output, {}, case["seed"], tolerance=tolerance))


def connect(socket_path: str | None = None, timeout_ms: int = 30000, *, start: bool = True) -> Client:
    """Returns a connected client. start=False: connects only to a running daemon."""
    client = Client(socket_path, timeout_ms, start=start)
    client.ping()
    return client
