"""Executors and replays with their checks, and the check of lazy tensors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gpuemu.program.bisecting as bisecting
import gpuemu.program.checking as checking
import gpuemu.runtime as runtime
from gpuemu.program.bisecting import BisectReport
from gpuemu.program.errors import BackendError, ProgramError
from gpuemu.program.executor import Executor as PlainExecutor
from gpuemu.program.executor import Replay as PlainReplay
from gpuemu.program.ir import IRGraph
from gpuemu.program.local import LocalPlace, tensor_of
from gpuemu.program.places import Place, insist_one
from gpuemu.program.report import ProgramReport
from gpuemu.program.tape import LOCK, graph_of, leaves_of, needed
from gpuemu.program.tensors import Tensor
from gpuemu.program.workers import WorkerPlace


class Executor(PlainExecutor):
    """A graph with storage on a device of this process. Parameters start as zeros; inputs and metas are set before a run. A run
    is one runtime.op_call for each lowered op."""

    def check(self, inputs: Mapping[str, Any] | None = None, *, reference: str = "numpy", tolerance: Any = None, stop_at_first: bool = True,
              save: Any = None) -> ProgramReport:  # fmt: skip
        """Runs op by op on separate storage and judges each op on the inputs that the device computed. The executor does not
        change. tolerance: a ToleranceConfig, or a dict of them by op; save: the folder of the reproducer."""
        with self._lock:
            return checking.checker_of(self, inputs, reference, tolerance, stop_at_first, save).report

    def bisect(self, *, variants: Any = None, libraries: Any = None, policies: Any = None, inputs: Mapping[str, Any] | None = None,
               exact: bool = False) -> BisectReport:  # fmt: skip
        """Returns the first op whose outputs differ beyond its bound (with exact, in any bit) between two sides: a pair of dicts
        from op to variant, or of policies. Every op runs on both sides, on the inputs that side a computed. The executor does not
        change."""
        with self._lock:
            return bisecting.bisect(self, bisecting.sides_of(variants, libraries, policies), inputs, exact)

    def capture(self, *, stream: Any = None) -> Replay:
        """Captures the calls as one piece of work. Nothing runs and no value changes."""
        with self._lock:
            self._is_captured = True
            return Replay(self, self._capture(stream))


class Replay(PlainReplay):
    """A captured run. It reads inputs and metas when it is launched."""

    def check(self, inputs: Mapping[str, Any] | None = None, *, reference: str = "numpy", tolerance: Any = None, stop_at_first: bool = True,
              save: Any = None) -> ProgramReport:  # fmt: skip
        """Like Executor.check, and also launches the captured graph once, whose values must be bit-identical to those computed op
        by op."""
        with self._executor._lock:
            return checking.check_replay(self, inputs, reference, tolerance, stop_at_first, save)


def check(*what: Any, inputs: Mapping[str, Any] | None = None, reference: str = "numpy", tolerance: Any = None, stop_at_first: bool = True,
          save: Any = None) -> ProgramReport:  # fmt: skip
    """Checks the pending ops of lazy tensors, an Executor, a Replay, or an IRGraph on the current device. For the last three,
    inputs may be the second argument, as in Executor.check."""
    options: dict[str, Any] = {"reference": reference, "tolerance": tolerance, "stop_at_first": stop_at_first, "save": save}
    if len(what) == 2 and inputs is None and isinstance(what[0], (Executor, Replay, IRGraph)) and isinstance(what[1], (Mapping, type(None))):
        inputs, what = what[1], what[:1]
    if len(what) == 1 and isinstance(what[0], (Executor, Replay)):
        return what[0].check(inputs, **options)
    if len(what) == 1 and isinstance(what[0], IRGraph):
        return Executor(what[0]).check(inputs, **options)
    if not what or not all(isinstance(one, Tensor) for one in what):
        raise TypeError("check: expected tensors, an Executor, a Replay or an IRGraph")
    with LOCK:
        lazies = [one._lazy for one in what]
        calls = needed(lazies)
        place = insist_one("check", [one.place for one in lazies])
        if not calls:
            raise ProgramError("check: the tensors are computed already; check them before they are read")
        leaves = leaves_of(calls)
        executor = Executor(graph_of(calls, leaves, [one for one in lazies if one.call is not None]), _device_of(place))
        for number, one in enumerate(leaves):
            if isinstance(place, LocalPlace):
                executor.bind(f"x{number}", tensor_of(one.held))
            else:
                executor.set(f"x{number}", place.get(one.held))
        return executor.check(**options)


def _device_of(place: Place) -> runtime.Device:
    """Returns the device of this process for checking tensors of a place, including those of a worker."""
    if isinstance(place, LocalPlace):
        return place.device
    if not isinstance(place, WorkerPlace):
        raise BackendError(f"check: the tensors are on {place.name}, which has no kernels to check: call set_backend(\"emulator\") first")
    local = place.local()
    assert isinstance(local, LocalPlace)
    return local.device
