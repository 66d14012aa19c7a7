"""The daemon of the machine that started the run: it stores the results in the project."""

from __future__ import annotations

import collections
import json
import os
import pathlib
import secrets
import subprocess
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from gpuemu import installed
from gpuemu.client import calls
from gpuemu.client.client import Client
from gpuemu.client.connection import default_socket, program
from gpuemu.errors import ConfigError, ConnectionError

BATCHES_MAX = 8  # Most batches of results that wait to be stored.
_START_SECONDS = 60


def _started(file: pathlib.Path, socket: str) -> None:
    words = [program(), "--config", str(file), "daemon", "start", "--background"]
    try:
        done = subprocess.run(words, env={**installed.environment(), "GPUEMU_SOCKET": socket}, cwd=file.parent, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, check=False, timeout=_START_SECONDS)  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise ConnectionError(f"the daemon could not be started: {problem}") from problem
    if done.returncode != 0:
        raise ConnectionError(f"the daemon could not be started: {(done.stderr or done.stdout).strip()}")


def ops_of(file: pathlib.Path) -> list[dict[str, Any]]:
    """Returns the ops of a gpuemu.toml, each with name, dtypes and execution_mode. Raises ConfigError."""
    words = [program(), "--config", str(file), "ops", "--format", "json"]
    done = subprocess.run(words, env=installed.environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ConfigError((done.stderr or done.stdout).strip())
    return list(json.loads(done.stdout)["ops"])


def _whole(reply: dict[str, Any]) -> dict[str, Any]:
    return reply


class Head:
    """A connection to that daemon. Starts one if none runs, unless `socket` names a daemon."""

    def __init__(self, file: pathlib.Path, socket: str | None = None) -> None:
        self.client = Client(socket or default_socket(), start=False, share=False)
        try:
            self.client.connection.open()
        except ConnectionError:
            if socket is not None:
                raise
            _started(file, self.client.socket_path)
            self.client.connection.open()
        self.client.connection.project = str(file)
        if "ranges" not in self.client.connection.capabilities:
            raise ConnectionError("the daemon is of an earlier version, which shares no runs: gpuemu daemon stop, then try again")
        self._threads = ThreadPoolExecutor(1, "gpuemu-cluster-store")
        self._storing: collections.deque[Future[Any]] = collections.deque()

    def close(self) -> None:
        self._threads.shutdown()
        self.client.close()

    def __enter__(self) -> Head:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def backend(self) -> str:
        return self.client.status().backend

    def seed(self) -> int:
        """Returns validation.seed of the project, else a new random seed."""
        said = self.client.settings().get("validation.seed", "")
        return int(said) if said.isdigit() else secrets.randbits(64)

    def corpus(self, op: str) -> list[dict[str, Any]]:
        """Returns the corpus with which a guided run of the op begins."""
        return list(self.client.request("GetCorpus", op_name=op)["entries"])

    def store(self, results: list[dict[str, Any]]) -> None:
        """Stores results in the order of the calls, without waiting. Raises the error of an earlier call."""
        if not results:
            return
        self._storing.append(self._threads.submit(self.client.request, "StoreResults", results=results))
        while self._storing and (self._storing[0].done() or len(self._storing) > BATCHES_MAX):
            self._storing.popleft().result()

    def stored(self) -> None:
        """Waits until everything is stored."""
        while self._storing:
            self._storing.popleft().result()

    def finish(self, kind: str, answers: str, **members: Any) -> dict[str, Any]:
        """Sends FinishFuzz or FinishTests."""
        return self.client._run(calls.Call({"type": kind, **members}, answers, _whole, stream=True), None)


def settings_for(backend: str) -> dict[str, str]:
    """Returns the environment of the nodes' daemons: the variables that select the devices here."""
    kept = {name: os.environ[name] for name in ("GPUEMU_EMULATED_DEVICES",) if os.environ.get(name)}
    return {**kept, "GPUEMU_BACKEND": backend}
