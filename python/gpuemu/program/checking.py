"""Runs a program op by op, with separate storage for each value, and judges every op on the inputs that the device had
computed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from gpuemu import runtime
from gpuemu.check.tolerances import ToleranceConfig
import gpuemu.program.judging as judging
import gpuemu.program.ops.primitives as primitives
import gpuemu.program.reproducer as reproducer
import gpuemu.program.shadow as shadow
import gpuemu.program.storing as storing
from gpuemu.errors import DeviceError, DeviceLostError, KernelError
from gpuemu.program.errors import BindError
from gpuemu.program.executor import Executor, Replay, insist_on_names
from gpuemu.program.judging import Judgement
from gpuemu.program.other_library import OtherLibrary, ProcessEnded
from gpuemu.program.reproducer import WrongOp
from gpuemu.program.report import REPLAY_DIFFERS, CheckedOp, ProgramFinding, ProgramReport, of_places
from gpuemu.program.specs import wide
from gpuemu.runtime.issuers import told
from gpuemu.runtime.tensors import Tensor
from gpuemu.tensors import Array

REFERENCES = ("numpy", "shadow")
FAULT = "DeviceFault"
NO_VALUES = ("Deadlock", "Timeout", "Trap")  # After these findings the outputs are meaningless.


def runs_apart(device: runtime.Device) -> bool:
    """True if ops are checked in a separate process: on a GPU, because a fault makes the device unusable."""
    return not device.is_emulator


class Checker:
    """One check of one executor. `values`: the storage of each root, separate from the executor's; `host`: the contents known on
    the host."""

    def __init__(self, executor: Executor, tolerance: Any, save: Any, reference: str = "numpy") -> None:
        self.reference, self.follows = reference, shadow.emulator_like(executor.device) if reference == "shadow" else None
        self.executor, self.device, self.plan = executor, executor.device, executor.plan
        self.tolerance, self.save = tolerance, save
        self.values: dict[int, Tensor] = {}
        self.host: dict[int, Array] = {}
        self.apart: OtherLibrary | None = None
        self.report = ProgramReport(ops_total=len(executor.lowered), seed=int.from_bytes(os.urandom(8), "little"))
        if tolerance is not None and not isinstance(tolerance, (ToleranceConfig, Mapping)):
            raise TypeError(f"tolerance is {tolerance!r}, expected a gpuemu.ToleranceConfig or a dict of them by op")
        for op, one in tolerance.items() if isinstance(tolerance, Mapping) else ():
            primitives.row(op)  # Raises for an unknown op.
            if not isinstance(one, ToleranceConfig):
                raise TypeError(f"tolerance of {op} is {one!r}, expected a gpuemu.ToleranceConfig")
        if not (save is None or isinstance(save, (str, os.PathLike))):
            raise TypeError(f"save is of type {type(save).__name__}, expected the path of a folder")

    def copy_sources(self, inputs: Mapping[str, Any] | None) -> None:
        """Copies the values of the executor, or the given ones. Raises BindError for a value that was never set."""
        insist_on_names(inputs)
        names = {name: self.executor._vid(name) for name in inputs or {}}
        missing = self.executor._missing - set(names.values())
        if missing:
            raise BindError(f"{', '.join(sorted(self.plan.names[vid] for vid in missing))}: never set nor bound; give inputs, set() or bind()")
        for vid, root in list(self.executor._storage.roots.items()):
            if self.plan.roles[vid] == "constant":
                self.values[vid] = root
            elif self.plan.roles[vid] in ("input", "parameter", "meta"):
                self.values[vid] = self.device.empty(root.shape, root.dtype, name=self.plan.names.get(vid, ""))
                if vid not in names.values():
                    self.values[vid].copy_from(root)
        for name, vid in names.items():
            self.tensor(vid).copy_from(self.executor._content(name, vid, inputs[name]))  # type: ignore[index]

    def tensor(self, vid: int) -> Tensor:
        """Returns the storage of a value, created at the first use."""
        root = self.plan.storage(vid)
        if root not in self.values:
            spec = self.plan.specs[root]
            self.values[root] = self.device.empty(spec.shape, spec.dtype, name=self.plan.names.get(root) or f"%{root}")
        return self.values[root] if root == vid else self.values[root].view(self.plan.specs[vid].shape)

    def content(self, vid: int) -> Array:
        """Returns the content of a value on the device."""
        root = self.plan.storage(vid)
        if root not in self.host:
            self.host[root] = self.tensor(root).numpy()
        return self.host[root].reshape(self.plan.specs[vid].shape)

    def run(self, stop_at_first: bool) -> None:
        """Runs all ops in order."""
        last = {self.plan.storage(vid): index for index, one in enumerate(self.executor.lowered) for vid in one["inputs"]}
        for index, one in enumerate(self.executor.lowered):
            found = self._op(index, one)
            self.report.findings += found
            if found and self.report.reproducer is None:
                self._reproducer(index, one, found)
            if found and stop_at_first:
                return
            for root in {self.plan.storage(vid) for vid in one["inputs"]}:
                if last[root] == index and self.plan.roles[root] == "workspace":
                    self.values.pop(root, None)
                    self.host.pop(root, None)

    def _op(self, index: int, one: dict[str, Any]) -> list[ProgramFinding]:
        self.inputs = [self.content(vid).copy() for vid in one["inputs"]]
        known: dict[str, Any] = {"index": index, "node": one["node"], "op": one["op"], "where": self.executor._where[index]}
        variant, found = self._call(one, known)
        for vid in one["outputs"]:
            self.host.pop(self.plan.storage(vid), None)
        self.judgements: list[Judgement] = []
        if self.reference == "numpy" and primitives.row(one["op"]).reference is None:
            self.report.unchecked.append(f"op {index}, {one['op']}")
        elif not any(one.kind in NO_VALUES for one in found) and not (found and runs_apart(self.device)):
            self.judgements = self._judge(one, variant)
            for vid, judgement in zip(one["outputs"], self.judgements):
                found += [ProgramFinding(**known, variant=variant, output=judgement.name, vid=vid, kind=failure["kind"], message=failure["message"],
                                         element=failure.get("index"), expected=failure.get("expected"), actual=failure.get("actual"))
                          for failure in judgement.failures]  # fmt: skip
        shares = [judgement.share for judgement in self.judgements if judgement.share is not None]
        self.report.ops.append(CheckedOp(index, one["op"], variant, max(shares, default=None)))
        return found

    def _call(self, one: dict[str, Any], known: dict[str, Any]) -> tuple[str, list[ProgramFinding]]:
        schema, attrs = primitives.packed(one["op"], one["attrs"])
        inputs, outputs = ([self.tensor(vid) for vid in one[side]] for side in ("inputs", "outputs"))
        if runs_apart(self.device):
            return self._call_apart(one, known)
        self.device.findings()
        with self.executor._with_policy(), self.device.dispatch_log(records_max=1) as log:
            try:
                runtime.op_call(one["op"], inputs, outputs, attrs if schema else None, schema_id=schema or None, device=self.device)
            except DeviceError as problem:
                raise told(problem, one, known["index"], known["where"])
            variant = log.records[0].variant if log.records else ""
        try:
            self.device.synchronize()
        except KernelError as problem:
            return variant, of_places(problem.findings, variant=variant, **known)
        return variant, of_places(self.device.findings(), variant=variant, **known)

    def _call_apart(self, one: dict[str, Any], known: dict[str, Any]) -> tuple[str, list[ProgramFinding]]:
        """Runs the op in a separate process, so that a fault loses that process's device and not the caller's."""
        specs, outputs = ([self.plan.specs[vid] for vid in one[side]] for side in ("inputs", "outputs"))
        try:
            if self.apart is None:
                self.apart = OtherLibrary(runtime.versions()["path"], self.device)
            with self.executor._with_policy():
                policy = self.device.policy.to_json()
            variant, made = self.apart.compute(one, self.inputs, specs, outputs, policy)
        except (KernelError, DeviceLostError, ProcessEnded) as problem:
            self._end_apart()
            seen = of_places(problem.findings if isinstance(problem, KernelError) else [], variant="", **known)
            return "", seen or [ProgramFinding(**known, variant="", output="", vid=None, kind=FAULT, message=str(problem))]
        except DeviceError as problem:
            raise told(problem, one, known["index"], known["where"])
        for vid, array in zip(one["outputs"], made):
            root = self.plan.storage(vid)
            self.host[root] = array.reshape(self.plan.specs[root].shape)
            self.tensor(root).copy_from(self.host[root])
        return variant, []

    def close(self) -> None:
        """Ends the separate process and closes the emulator used with a GPU, if there are any."""
        if self.follows is not None and self.follows is not self.device:
            self.follows.close()
        self._end_apart()

    def _end_apart(self) -> None:
        apart, self.apart = self.apart, None
        if apart is not None:
            apart.close()

    def _judge(self, one: dict[str, Any], variant: str) -> list[Judgement]:
        specs, outputs = ([self.plan.specs[vid] for vid in one[side]] for side in ("inputs", "outputs"))
        expected = None
        if self.follows is not None:
            expected = shadow.exact(self.follows, one["op"], variant, one["attrs"], self.inputs, specs, outputs, shadow.in_place(one, self.plan.storage))
        return judging.judged(one["op"], self.inputs, specs, [self.content(vid) for vid in one["outputs"]], outputs, one["attrs"],
                              self._tolerance_of(one["op"]), expected=expected)  # fmt: skip

    def _tolerance_of(self, op: str) -> ToleranceConfig | None:
        return self.tolerance.get(op) if isinstance(self.tolerance, Mapping) else self.tolerance

    def _reproducer(self, index: int, one: dict[str, Any], found: list[ProgramFinding]) -> None:
        """Writes a folder with only this op. The check does not fail if the folder cannot be written."""
        variant = self.report.ops[-1].variant
        wrong = WrongOp(one, variant, self.inputs, self.plan, self.judgements, found, self._tolerance_of(one["op"]), self.reference)
        try:
            self.report.reproducer = reproducer.write(self.save, self.report.seed, self.device, wrong)
        except OSError as problem:
            self.report.notes.append(f"the reproducer could not be written: {problem}")
            return
        why = storing.store(self.report.seed, found, self.report.reproducer)
        self.report.stored = not why
        self.report.notes += [why] if why else []


def checker_of(executor: Executor, inputs: Mapping[str, Any] | None, reference: str, tolerance: Any, stop_at_first: bool, save: Any) -> Checker:
    """Runs the check and returns it with the computed values."""
    if reference not in REFERENCES:
        raise ValueError(f"unknown reference '{reference}'; there are {', '.join(REFERENCES)}")
    checker = Checker(executor, tolerance, save, reference)
    try:
        checker.copy_sources(inputs)
        checker.run(stop_at_first)
    finally:
        checker.close()
    return checker


def check_replay(replay: Replay, inputs: Mapping[str, Any] | None, reference: str, tolerance: Any, stop_at_first: bool, save: Any) -> ProgramReport:
    """Like check(), and also launches the captured graph once: its values must be bit-identical to those computed op by op."""
    executor = replay._executor
    checker = checker_of(executor, inputs, reference, tolerance, stop_at_first, save)
    report = checker.report
    if report.findings and (stop_at_first or runs_apart(executor.device)):
        return report
    roots = {vid: root for vid, root in executor._storage.roots.items() if executor.plan.roles[vid] in ("input", "meta", "parameter", "output")}
    before = {vid: executor.device.tensor(root) for vid, root in roots.items()}
    try:
        for name in inputs or {}:
            executor.set(name, (inputs or {})[name])
        replay._graph.launch()
        try:
            executor.device.synchronize()
        except KernelError as problem:
            # Faults of the ops themselves are already reported at their op.
            if not report.findings:
                report.findings += of_places(problem.findings, index=-1, node=-1, op="", variant="", where="the replay")
        executor.device.findings()
        for vid, root in roots.items():
            if vid in checker.values and executor.plan.roles[vid] in ("parameter", "output"):
                report.findings += _difference(executor, vid, root.numpy(), checker.content(vid))
    finally:
        for vid, root in roots.items():
            root.copy_from(before[vid])
    return report


def _difference(executor: Executor, vid: int, got: Array, want: Array) -> list[ProgramFinding]:
    same = (got.reshape(-1).view("uint8") == want.reshape(-1).view("uint8")).reshape(got.size, -1).all(axis=1) if got.size else None
    if same is None or same.all() or (runs_apart(executor.device) and _is_close(got, want, executor.plan.specs[vid].dtype)):
        return []
    element, name = int((~same).argmax()), executor.plan.names.get(vid, f"%{vid}")
    values = [float(one.reshape(-1)[element]) for one in (want, got)]
    return [ProgramFinding(-1, -1, "", "", name, vid, REPLAY_DIFFERS, f"element {element} of '{name}' is {values[1]!r} after the replay and {values[0]!r} op by op "
                           f"({int((~same).sum())} of {got.size} elements)", element, values[0], values[1])]  # fmt: skip


def _is_close(got: Array, want: Array, dtype: str) -> bool:
    """True if the values differ by no more than torch.testing.assert_close allows. During a capture a library may sum in another
    order."""
    rtol = {"float16": 1e-3, "bfloat16": 1.6e-2, "float32": 1.3e-6, "float64": 1e-7}.get(dtype, 0.0)
    return bool(np.allclose(wide(got, dtype), wide(want, dtype), rtol=rtol, atol=1e-5 if rtol else 0.0, equal_nan=True))
