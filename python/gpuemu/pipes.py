"""Runs programs of gpuemu that answer one request at a time over standard input and output: gpuemu-device, gpuemu-check."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import shutil
import struct
import subprocess
import threading
import weakref
from collections.abc import Callable
from typing import Any

from gpuemu import installed
from gpuemu.errors import InternalError

_HEAD = struct.Struct("<IQ")  # Size of the JSON and size of the data, in bytes.
BROKEN = (OSError, ValueError, struct.error)  # Raised by exchange() when the program has ended.


def find(name: str, variable: str) -> str | None:
    """Returns the path of a program: that of an environment variable, else beside the gpuemu command, else in PATH."""
    candidates = [os.environ.get(variable)]
    if beside := installed.find_program():
        candidates.append(str(pathlib.Path(beside).resolve().parent / name))
    candidates.append(shutil.which(name))
    return next((one for one in candidates if one and os.access(one, os.X_OK)), None)


def _built(name: str) -> str | None:
    """Returns the path of the program built from the source tree with this package."""
    path = pathlib.Path(__file__).resolve().parents[2] / "build/release/bin" / name
    return str(path) if os.access(path, os.X_OK) else None


def start(path: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=installed.environment())


def exchange(process: subprocess.Popen[bytes], request: dict[str, Any], data: Any = b"") -> tuple[dict[str, Any], bytes]:
    """Sends a request; returns the reply's JSON and data. Raises UnicodeEncodeError for text with a lone surrogate, before
    anything is sent, and an exception of BROKEN when the program has ended."""
    assert process.stdin is not None and process.stdout is not None
    text = json.dumps(request, ensure_ascii=False).encode()
    process.stdin.write(_HEAD.pack(len(text), len(data)) + text)
    process.stdin.write(data)
    process.stdin.flush()
    json_bytes, data_bytes = _HEAD.unpack(process.stdout.read(_HEAD.size))
    return json.loads(process.stdout.read(json_bytes)), process.stdout.read(data_bytes)


def end(process: subprocess.Popen[bytes], owner: int) -> None:
    """Ends a program in the process that started it, not in a fork of that process."""
    if owner != os.getpid():
        return
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()
    try:
        process.wait(timeout=5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


class Helper:
    """A program that keeps no state between requests: started at the first one, and again after it has ended. Threads may share
    it. wrong: creates the exception for a rejected request."""

    def __init__(self, name: str, variable: str, wrong: Callable[[str, str], Exception]) -> None:
        self.name, self.variable, self.wrong = name, variable, wrong
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = 0
        self._end: weakref.finalize[Any, Helper] | None = None

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._owner != os.getpid():
            path = find(self.name, self.variable) or _built(self.name)
            if path is None:
                raise InternalError(f"no {self.name} beside the gpuemu command or in PATH; set {self.variable} to the program")
            self._process, self._owner = start(path), os.getpid()
            self._end = weakref.finalize(self, end, self._process, self._owner)
        return self._process

    def _close(self) -> None:
        ending, self._process = self._end, None
        if ending is not None:
            ending()

    def ask(self, request: dict[str, Any], data: Any = b"") -> tuple[dict[str, Any], bytes]:
        """Returns the answer. Raises InternalError if the program ends meanwhile."""
        with self._lock:
            process = self._running()
            try:
                reply, answer = exchange(process, request, data)
            except UnicodeEncodeError:
                raise self.wrong("a text has a lone surrogate, which is no Unicode", "InvalidArgument") from None
            except BROKEN as problem:
                self._close()
                raise InternalError(f"{self.name} ended (status {process.returncode}) during '{request['request']}'") from problem
            except BaseException:
                process.kill()  # After Ctrl-C in the middle of an answer the stream cannot be used.
                self._close()
                raise
        if "error" in reply:
            raise self.wrong(reply["error"]["message"], reply["error"]["code"])
        return reply, answer
