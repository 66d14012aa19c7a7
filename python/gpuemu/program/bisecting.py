"""Finds the first op that two variants, two policies or two libraries compute differently."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpuemu import runtime
from gpuemu.errors import DeviceError
import gpuemu.program.checking as checking
import gpuemu.program.judging as judging
import gpuemu.program.ops.primitives as primitives
import gpuemu.program.reproducer as reproducer
from gpuemu.check.tolerances import ToleranceConfig
from gpuemu.program.executor import Executor
from gpuemu.program.judging import Judgement
from gpuemu.program.other_library import OtherLibrary
from gpuemu.program.report import ProgramFinding
from gpuemu.program.reproducer import STORED, WrongOp
from gpuemu.program.specs import wide
from gpuemu.runtime.issuers import told
from gpuemu.tensors import Array


@dataclass
class BisectReport:
    """The first op that differs; index None if none does. a, b: the kernels that ran; element: the flat index of the first
    element that differs by more than its bound, with exact in any bit; max_diff: of that output; reproducer: a folder like that
    of a check, which runs the op as side b and judges it by side a."""

    index: int | None = None
    op: str = ""
    output: str = ""
    a: str = ""
    b: str = ""
    element: int | None = None
    a_value: float | None = None
    b_value: float | None = None
    max_diff: float = 0.0
    reproducer: str | None = None

    def _repr_html_(self) -> str:
        from gpuemu.client.display import bisect_html

        return bisect_html(self)


class _Side:
    """How one side chooses kernels. library: the path of another libgpuemu; None: this one."""

    def __init__(self, variants: Mapping[str, str] | None, policy: Any, library: Any = None) -> None:
        self.variants, self.policy, self.library = dict(variants or {}), policy, library
        self.other: OtherLibrary | None = None

    def start(self, device: runtime.Device) -> None:
        """Starts the process of another library, if any."""
        if self.library is not None:
            self.other = OtherLibrary(self.library, device)

    def close(self) -> None:
        """Ends that process, if any."""
        if self.other is not None:
            self.other.close()

    def call(self, device: runtime.Device, one: Mapping[str, Any], inputs: Sequence[Any], outputs: Sequence[Any], index: int, where: str) -> str:
        """Runs an op and waits for it; returns the kernel that ran."""
        if self.other is not None:
            return self._call_other(self.other, one, inputs, outputs, index, where)
        schema, attrs = primitives.packed(one["op"], one["attrs"])
        before = device.policy
        if self.policy is not None:
            device.set_policy(self.policy)
        try:
            with device.dispatch_log(records_max=1) as log:
                runtime.op_call(one["op"], inputs, outputs, attrs if schema else None, schema_id=schema or None, variant=self.variants.get(one["op"]), device=device)
                variant = log.records[0].variant
            device.synchronize()
            return variant
        except DeviceError as problem:
            raise told(problem, one, index, where)
        finally:
            device.set_policy(before)


    def _call_other(self, other: OtherLibrary, one: Mapping[str, Any], inputs: Sequence[Any], outputs: Sequence[Any], index: int, where: str) -> str:
        try:
            variant, made = other.compute(one, [tensor.numpy() for tensor in inputs], inputs, outputs)
        except DeviceError as problem:
            raise told(problem, one, index, where)
        for tensor, array in zip(outputs, made):
            tensor.copy_from(array)
        return variant


def sides_of(variants: Any, libraries: Any, policies: Any) -> tuple[_Side, _Side]:
    """Returns both sides. Raises ValueError unless exactly one pair is given."""
    given = [one for one in (variants, libraries, policies) if one is not None]
    if len(given) != 1 or isinstance(given[0], (str, Mapping)) or len(given[0]) != 2:
        raise ValueError("bisect: expected exactly one pair: variants=({op: variant}, {op: variant}), policies=(a, b) or libraries=(a, b)")
    if libraries is not None:
        return _Side(None, None, libraries[0]), _Side(None, None, libraries[1])
    if variants is not None:
        for one in variants:
            if not isinstance(one, Mapping):
                raise TypeError(f"bisect: variants has a value of type {type(one).__name__}, expected two dicts from op to variant")
            for op in one:
                runtime.op_info(op)  # Raises NotFoundError for an unknown op.
        return _Side(variants[0], None), _Side(variants[1], None)
    return _Side(None, policies[0]), _Side(None, policies[1])


def bisect(executor: Executor, sides: tuple[_Side, _Side], inputs: Mapping[str, Any] | None, exact: bool) -> BisectReport:
    """Runs every op on both sides, with the values that side a has computed so far as inputs."""
    try:
        for side in sides:
            side.start(executor.device)
        return _bisect(executor, sides, inputs, exact)
    finally:
        for side in sides:
            side.close()


def _bisect(executor: Executor, sides: tuple[_Side, _Side], inputs: Mapping[str, Any] | None, exact: bool) -> BisectReport:
    checker, device = checking.Checker(executor, None, None), executor.device
    checker.copy_sources(inputs)
    for index, one in enumerate(executor.lowered):
        specs, outputs = ([checker.plan.specs[vid] for vid in one[side]] for side in ("inputs", "outputs"))
        given = [checker.content(vid).copy() for vid in one["inputs"]]
        where = executor._where[index]
        into = [checker.tensor(vid) for vid in one["outputs"]]
        a = sides[0].call(device, one, [checker.tensor(vid) for vid in one["inputs"]], into, index, where)
        for vid in one["outputs"]:
            checker.host.pop(checker.plan.storage(vid), None)
        other = [device.empty(spec.shape, spec.dtype) for spec in outputs]
        b = sides[1].call(device, one, [device.tensor(array, dtype=spec.dtype) for array, spec in zip(given, specs)], other, index, where)
        results = [(checker.content(vid), tensor.numpy()) for vid, tensor in zip(one["outputs"], other)]
        differing = _differing(one, given, specs, results, outputs, exact)
        if differing is not None:
            at, element = differing
            name = primitives.row(one["op"]).outputs[at]
            found = BisectReport(index, one["op"], name, a, b, element, *_values(*results[at], outputs[at].dtype, element))
            found.reproducer = _reproducer(found, checker, one, given, [wide(x, spec.dtype) for (x, _), spec in zip(results, outputs)], sides[1], exact)
            return found
    return BisectReport()


def _reproducer(found: BisectReport, checker: checking.Checker, one: dict[str, Any], given: Sequence[Array], expected: Sequence[Array], side: _Side,
                exact: bool) -> str | None:  # fmt: skip
    """Writes a folder that runs the op as side b and judges it by the values of side a; returns None if it cannot be written."""
    library = "" if side.library is None else f" with the library {side.library} (GPUEMU_LIBRARY)"
    message = f"element {found.element} is {found.b_value!r} by {found.b}{library} and {found.a_value!r} by {found.a}"
    where = checker.executor._where[found.index or 0]
    finding = ProgramFinding(found.index or 0, one["node"], one["op"], found.b, found.output, None, "ToleranceExceeded", message, found.element,
                             found.a_value, found.b_value, where=where)  # fmt: skip
    judgements = [Judgement(name, [], None, array, None) for name, array in zip(primitives.row(one["op"]).outputs, expected)]
    wrong = WrongOp(one, found.b, given, checker.plan, judgements, [finding], ToleranceConfig(0.0, 0.0) if exact else None, STORED)
    try:
        return reproducer.write(None, checker.report.seed, checker.device, wrong)
    except OSError:
        return None


def _differing(one: Mapping[str, Any], given: Sequence[Array], specs: Any, results: Sequence[tuple[Array, Array]], outputs: Any,
               exact: bool) -> tuple[int, int] | None:  # fmt: skip
    """Returns the first output of side b that differs from side a, and its first differing element."""
    if exact:
        return next(((i, _first_bit(x, y)) for i, (x, y) in enumerate(results) if x.tobytes() != y.tobytes()), None)
    expected = [wide(x, spec.dtype) for (x, _), spec in zip(results, outputs)]
    verdicts = judging.judged(one["op"], given, specs, [y for _, y in results], outputs, one["attrs"], expected=expected)
    for i, verdict in enumerate(verdicts):
        if verdict.failures:
            named = verdict.failures[0].get("index")
            return i, _first_bit(*results[i]) if named is None else int(named)
    return None


def _first_bit(x: Array, y: Array) -> int:
    """Returns the first element that differs in any bit."""
    size = x.dtype.itemsize
    differs = (x.reshape(-1).view(np.uint8).reshape(-1, size) != y.reshape(-1).view(np.uint8).reshape(-1, size)).any(axis=1)
    return int(differs.argmax())


def _values(x: Array, y: Array, dtype: str, element: int) -> tuple[float, float, float]:
    """Returns both values of an element, and the largest difference."""
    with np.errstate(all="ignore"):
        a, b = (np.asarray(wide(one, dtype), np.float64).reshape(-1) for one in (x, y))
        gaps = np.abs(a - b)
    return float(a[element]), float(b[element]), float(gaps[np.isfinite(gaps)].max(initial=0.0))
