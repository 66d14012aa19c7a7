"""The worker process of workers.WorkerPlace: runs bound programs on a device and keeps their values by number."""

from __future__ import annotations

import os
import pickle
import signal
import sys
from collections.abc import Callable
from typing import Any

import gpuemu.runtime.errors as errors
import gpuemu.runtime.registering as registering
from gpuemu.errors import DeviceError, KernelError
from gpuemu.program.local import LocalPlace


class Worker:
    """State of a worker: its device, values, programs and registrations."""

    def __init__(self, backend: str, index: str, arch: str) -> None:
        self.place = LocalPlace(backend, int(index), arch or None)
        self.values: dict[int, Any] = {}
        self.programs: dict[int, Any] = {}
        self.registered = registering.Followed()

    def answer(self, freed: list[tuple[str, int]], kind: str, *asked: Any) -> Any:
        """Frees what the client no longer uses, then handles a request and returns its answer."""
        for what, number in freed:
            (self.values if what == "value" else self.programs).pop(number, None)
        answers: dict[str, Callable[..., Any]] = {"get": self.get, "run": self.run, "count": lambda: len(self.values)}
        return answers[kind](*asked)

    def get(self, number: int) -> Any:
        """Returns a value."""
        return self.place.get(self.values[number])

    def run(self, number: int, content: Any, sources: dict[int, int], puts: dict[int, Any], outputs: dict[int, int], news: Any) -> None:
        """Runs a program and waits for it, so that a fault is reported for this run."""
        self.registered.follow(*news)
        for one, (array, dtype) in puts.items():
            self.values[one] = self.place.put(array, dtype)
        if content is not None:
            self.programs[number] = (*content, self.place.prepare(*content))
        graph, lowered, plan, program = self.programs[number]
        bound = (program, graph, lowered, plan, {vid: self.values[one] for vid, one in sources.items()})
        try:
            made = self.place.run(*bound, None)
            self.place.device.synchronize()
        except KernelError as problem:
            plain = KernelError(problem.findings)  # The client names the op, as it knows the lines of this run.
            plain.op_index = problem.op_index
            raise plain from None
        self.values.update({outputs[vid]: one for vid, one in made.items()})


def _sendable(problem: Exception) -> Exception:
    """The error itself if it can be pickled, else one with its text and, where possible, its type."""
    try:
        pickle.loads(pickle.dumps(problem))
        return problem
    except Exception:
        kind = type(problem) if isinstance(problem, DeviceError) else errors.UnsupportedError
        try:
            return kind(str(problem))
        except TypeError:
            return errors.UnsupportedError(f"{type(problem).__name__}: {problem}")


def main(backend: str, index: str, arch: str) -> None:
    """Answers requests until the client ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # The client handles Ctrl-C.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # Keeps prints of kernels and libraries out of the answers.

    def answer(kind: str, told: Any) -> None:
        pickle.dump((kind, told), answers)
        answers.flush()

    try:
        worker = Worker(backend, index, arch)
    except DeviceError as problem:
        return answer("error", _sendable(problem))
    answer("made", None)
    while True:
        try:
            asked = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        try:
            made = worker.answer(*asked)
        except Exception as problem:  # The client handles it.
            answer("error", _sendable(problem))
        else:
            answer("made", made)


if __name__ == "__main__":
    main(*sys.argv[1:])
