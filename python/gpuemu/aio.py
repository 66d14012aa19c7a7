"""The client for asyncio: the same calls, awaited.

    async with gpuemu.AsyncClient() as client:
        reports = await asyncio.gather(client.run_tests(["softmax"]), client.run_tests(["gelu"]))

A task that is cancelled while a job runs cancels the job in the daemon.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from gpuemu import calls, records
from gpuemu.calls import Call, Json
from gpuemu.client import WAIT_MS, Progress, job_reply, listener
from gpuemu.connection import Connection, default_socket
from gpuemu.errors import ClientError, NotFoundError

T = TypeVar("T")


class AsyncClient:
    """As gpuemu.Client; every method is a coroutine."""

    def __init__(self, socket_path: str | None = None, timeout_ms: int = 30000, *, start: bool | None = None) -> None:
        self.socket_path = default_socket() if socket_path is None else str(socket_path)
        self.connection = Connection(self.socket_path, timeout_ms, socket_path is None if start is None else start)

    async def __aenter__(self) -> AsyncClient:
        await self.ping()
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.connection.close()

    async def _send(self, request: Json) -> Json:
        # Dialling, and starting a daemon, block; the loop goes on meanwhile.
        await asyncio.to_thread(self.connection.open)
        # pynng may lose a cancellation that comes as an exchange ends; a task of its own leaves that to us.
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
        try:
            while True:
                status = await self._ask(calls.job_status(job, WAIT_MS, seen))
                seen += len(status.log)
                if tell is not None:
                    tell(status)
                if status.state != "running":
                    return call.result(job_reply(status))
        except BaseException:
            await self._cancel(job)
            raise

    async def _start(self, call: Call[int]) -> int:
        """A cancellation while the daemon starts the job must not lose its number."""
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

    async def ping(self) -> Json:
        return await self._ask(calls.ping())

    async def status(self) -> records.DaemonStatus:
        return await self._ask(calls.status())

    async def devices(self) -> list[records.DeviceInfo]:
        return await self._ask(calls.devices())

    async def settings(self) -> dict[str, str]:
        return await self._ask(calls.settings())

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

    async def store_baseline(self, tag: str) -> None:
        await self._ask(calls.store_baseline(tag))

    async def compare_baseline(self, tag: str) -> records.BaselineComparison:
        return await self._ask(calls.compare_baseline(tag))

    async def run_tests(self, ops: Sequence[str] = (), *, cases: int = 0, seed: int | None = None,
                        dtypes: Sequence[str] = (), strategies: Sequence[str] = (), fail_fast: bool = False,
                        progress: bool | Progress | None = None) -> records.TestReport:  # fmt: skip
        return await self._run(calls.run_tests(ops, cases, seed, dtypes, strategies, fail_fast), progress)

    async def fuzz_op(self, op_name: str, seed: int | None = None, iterations: int = 100, fail_fast: bool = False, *,
                      dtypes: Sequence[str] | None = None, layouts: Sequence[str] | None = None,
                      strategies: Sequence[str] | None = None, progress: bool | Progress | None = None,
                      ) -> records.FuzzResults:  # fmt: skip
        own = {"strategies": strategies and list(strategies)}
        return await self._run(calls.fuzz(op_name, seed, iterations, fail_fast, {}, dtypes, layouts, own), progress)

    async def reproduce(self, seed: int, op_name: str | None = None, *, profile: bool = False) -> records.ReproduceResult:
        return await self._ask(calls.reproduce(seed, op_name, profile))

    async def minimize(self, seed: int, strategy: str = "binary-search-dims", max_iters: int = 100,
                       op_name: str | None = None, *, progress: bool | Progress | None = None,
                       ) -> records.MinimizeResult:  # fmt: skip
        return await self._run(calls.minimize(seed, op_name, strategy, max_iters), progress)
