"""One process on a node: it has its own daemon with one lane, and runs ranges of cases one after the other."""

from __future__ import annotations

import contextlib
import os
import pathlib
import shutil
import subprocess
import tempfile
import time
from typing import Any

from gpuemu import installed
from gpuemu.client import calls
from gpuemu.client.client import Client
from gpuemu.cluster.project import unpacked
from gpuemu.errors import ClientError, ConnectionError, IncompleteError, InternalError, LimitExceededError, TimeoutError

START_SECONDS = 60.0
KEPT_MAX = 4096  # Passing results that stay in the memory of a node: deleting them takes as long as running dozens of cases.
_MEMORY = "/dev/shm"
# Settings of the user's daemon, which the private one must not take over.
_NOT_OURS = ("GPUEMU_SOCKET", "GPUEMU_DB", "GPUEMU_CONFIG", "GPUEMU_TOKEN_FILE")
_REPLIES = {"FuzzOp": "FuzzResults", "RunTests": "TestReport"}


def daemon_program() -> str:
    """Returns the path of gpuemu-daemon beside the gpuemu command. Raises ConnectionError if it is not found."""
    command = installed.find_program()
    beside = [os.path.dirname(one) for one in (command, os.path.realpath(command))] if command else []
    found = shutil.which("gpuemu-daemon", path=os.pathsep.join([*beside, os.environ.get("PATH", os.defpath)]))
    if not found:
        raise ConnectionError("found no gpuemu-daemon on this node: install the wheel of gpuemu there, or set GPUEMU_CLI to the path of its gpuemu")
    return found


def relocated(value: Any, old: str, new: str) -> Any:
    """Returns the value with the folder `old` replaced by `new` in all strings."""
    if isinstance(value, str):
        return value.replace(old, new) if old in value else value
    if isinstance(value, list):
        return [relocated(one, old, new) for one in value]
    if isinstance(value, dict):
        return {name: relocated(one, old, new) for name, one in value.items()}
    return value


class Runner:
    """`settings`: environment variables. `home`: the project's folder on the machine that started the run, for the paths in
    findings. `package`: the project's files as a zip file; None if they are in the working directory."""

    def __init__(self, settings: dict[str, str], home: str, package: bytes | None = None) -> None:
        memory = _MEMORY if os.access(_MEMORY, os.W_OK) else None
        self.folder = tempfile.mkdtemp(prefix="gpuemu-cluster-", dir=memory)
        self.home, self.project = home, os.path.realpath(os.getcwd())
        if package is not None:
            self.project = os.path.join(self.folder, "project")
            unpacked(package, self.project)
        self.log = open(os.path.join(self.folder, "start.log"), "w+b")
        self.daemon = self._start(settings)
        self.client = Client(os.path.join(self.folder, "gpuemu.sock"), start=False, share=False)
        self._kept = 0
        self._wait()

    def _start(self, settings: dict[str, str]) -> subprocess.Popen[bytes]:
        environment = {name: value for name, value in installed.environment().items() if name not in _NOT_OURS}
        words = [daemon_program(), "--private", self.folder, "--config", os.path.join(self.project, "gpuemu.toml")]
        return subprocess.Popen(words, env={**environment, **settings}, cwd=self.project, stdin=subprocess.DEVNULL,
                                stdout=self.log, stderr=self.log)  # fmt: skip

    def _wait(self) -> None:
        end = time.monotonic() + START_SECONDS
        while not pathlib.Path(self.client.socket_path).exists():
            if self.daemon.poll() is not None or time.monotonic() > end:
                self.log.seek(0)
                said = self.log.read().decode(errors="replace").strip()
                self._leave_nothing()
                raise ConnectionError(f"the daemon of this node did not start: {said or 'it said nothing'}")
            time.sleep(0.02)
        self.client.request("Ping")

    def hello(self) -> int:
        """Returns the id of its process, once it answers requests."""
        return os.getpid()

    def run(self, request: dict[str, Any], shared: dict[str, Any] | None = None) -> dict[str, Any]:
        """Returns the reply to a FuzzOp or RunTests, including Error replies; `shared`: more members of the request. Raises if
        the daemon is gone."""
        try:
            call = calls.Call({**request, **(shared or {})}, _REPLIES[request["type"]], dict, stream=True)
            reply = self.client._run(call, None)
        except (ConnectionError, TimeoutError, IncompleteError, InternalError, LimitExceededError):
            self._leave_nothing()
            raise
        except ClientError as problem:
            return {"type": "Error", "code": problem.code, "message": relocated(str(problem), self.project, self.home)}
        self._forget(reply)
        return dict(reply if self.project == self.home else relocated(reply, self.project, self.home))

    def _forget(self, reply: dict[str, Any]) -> None:
        """Deletes the results here, because they are stored elsewhere: passing ones once there are many, and failures, whose
        inputs may be large, at once."""
        self._kept += reply.get("total", 0)
        if self._kept < KEPT_MAX and not reply.get("failed", 0):
            return
        with contextlib.suppress(ClientError):
            self.client.prune_storage(passing=True, failures=True)
            self._kept = 0

    def _leave_nothing(self) -> None:
        """Kills the daemon and removes its folder, which a killed daemon leaves behind. The process cannot be used afterwards."""
        self.daemon.kill()
        self.daemon.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def close(self) -> None:
        """Ends the daemon, which removes its folder."""
        self.client.close()
        self.daemon.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.daemon.wait(5)
        self.log.close()
