"""Runs the op of a reproducer alone, for `gpuemu reproduce FOLDER`. With --exit-code, 1: still wrong, 0: now right; 3: cannot run
here."""

from __future__ import annotations

import argparse
import contextlib
import json
import pathlib
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from gpuemu import runtime
from gpuemu.check.tolerances import ToleranceConfig
from gpuemu.errors import KernelError
import gpuemu.program.judging as judging
import gpuemu.program.shadow as shadow
from gpuemu.program.judging import Judgement
import gpuemu.program.ops.primitives as primitives
from gpuemu.program.report import ProgramFinding, of_places
from gpuemu.program.reproducer import CASE, STORED
from gpuemu.program.specs import Spec
import gpuemu.runtime.registering as registering
from gpuemu.tensors import Array

PASSES, FAILS, CANNOT_RUN = 0, 1, 3


def reproduce(folder: Any) -> list[ProgramFinding]:
    """Runs the op of a reproducer on the emulator; returns what is wrong. Raises the error of op_call if the op cannot run."""
    home = pathlib.Path(folder)
    case = _case_of(home)
    specs, outputs = ([Spec(tuple(one["shape"]), one["dtype"]) for one in case[side]] for side in ("inputs", "outputs"))
    inputs = [np.load(home / "inputs" / f"{one['name']}.npy") for one in case["inputs"]]
    known = {"index": 0, "node": 0, "op": case["op"], "variant": case["variant"], "where": str(home)}
    with _declared(case), runtime.Device(case["device"]["backend"], arch=case["device"]["arch"] if case["device"]["backend"] == "emulator" else None) as device:
        row = primitives.row(case["op"])  # Findings name memory by the op's operand names.
        given = [device.tensor(array, dtype=spec.dtype, name=name) for name, array, spec in zip(row.inputs, inputs, specs)]
        held = [one.numpy() for one in given]
        into = {output: given[at] for at, output in case["in_place"]}
        made = [into[j] if j in into else device.empty(spec.shape, spec.dtype, name=row.outputs[j]) for j, spec in enumerate(outputs)]
        schema, attrs = primitives.packed(case["op"], case["attrs"])
        variant = case["variant"] or None
        if "kernel" in case:
            variant = "of_reproducer"
            registering.register_described(case["op"], variant, case["kernel"], home / case["kernel"]["file"], device)
        runtime.op_call(case["op"], given, made, attrs if schema else None, schema_id=schema or None, variant=variant, device=device)
        try:
            device.synchronize()
            found = of_places(device.findings(), **known)
        except KernelError as problem:
            found = of_places(problem.findings, **known)
        got = [one.numpy() for one in made]
        if case.get("reference") == "shadow":
            exact = shadow.exact(device, case["op"], variant, case["attrs"], held, specs, outputs, {output: at for at, output in case["in_place"]})
            verdicts = judging.judged(case["op"], held, specs, got, outputs, case["attrs"], _tolerance_of(case), expected=exact)
        else:
            verdicts = _judged(home, case, held, specs, got, outputs)
    return found + [ProgramFinding(**known, output=one.name, vid=None, kind=failure["kind"], message=failure["message"], element=failure.get("index"),
                                   expected=failure.get("expected"), actual=failure.get("actual"))
                    for one in verdicts for failure in one.failures]  # fmt: skip


def _case_of(home: pathlib.Path) -> dict[str, Any]:
    try:
        case = json.loads((home / CASE).read_text(encoding="utf-8"))
    except ValueError as problem:
        raise ValueError(f"{home / CASE} is no JSON: {problem}") from None
    keys = ("op", "variant", "attrs", "inputs", "outputs", "in_place", "device")
    missing = [key for key in keys if not isinstance(case, dict) or key not in case]
    if missing:
        raise ValueError(f"{home / CASE} has no '{missing[0]}': expected what check() of a program wrote")
    return dict(case)


def _declared(case: Mapping[str, Any]) -> contextlib.AbstractContextManager[Any]:
    """Registers the op again if the program had registered it."""
    return registering.register_described_op(case["op"], case["declared"]) if "declared" in case else contextlib.nullcontext()


def _tolerance_of(case: Mapping[str, Any]) -> ToleranceConfig | None:
    return ToleranceConfig(**case["tolerance"]) if "tolerance" in case else None


def _judged(home: pathlib.Path, case: Mapping[str, Any], held: Sequence[Array], specs: Sequence[Spec], got: Sequence[Array],
            outputs: Sequence[Spec]) -> list[Judgement]:  # fmt: skip
    """Judges by the op's reference. Uses the stored outputs, if any, for an op that the program had registered, and after a
    bisection."""
    tolerance = _tolerance_of(case)
    if "declared" not in case and case.get("reference") != STORED:
        return judging.judged(case["op"], held, specs, got, outputs, case["attrs"], tolerance)
    expected, scales = ([home / part / f"{one['name']}.npy" for one in case["outputs"]] for part in ("expected", "scales"))
    if not all(path.exists() for path in expected):
        return []
    return judging.judged(case["op"], held, specs, got, outputs, case["attrs"], tolerance, expected=[np.load(path) for path in expected],
                          scales=[np.load(path) if path.exists() else None for path in scales])  # fmt: skip


def main(arguments: Sequence[str]) -> int:
    """Runs the command that the README of a reproducer names."""
    parser = argparse.ArgumentParser("gpuemu reproduce")
    parser.add_argument("folder", metavar="FOLDER")
    parser.add_argument("--exit-code", action="store_true")
    parser.add_argument("--format", choices=("text", "json"), default="text")
    chosen = parser.parse_args(arguments)
    try:
        found = reproduce(chosen.folder)
    except Exception as problem:  # Whatever the error, the op was not judged.
        print(f"gpuemu reproduce: cannot run {chosen.folder}: {type(problem).__name__}: {problem}", file=sys.stderr)
        return CANNOT_RUN
    if chosen.format == "json":
        print(json.dumps({"folder": str(chosen.folder), "passed": not found, "findings": [asdict(one) for one in found]}, sort_keys=True))
    else:
        for one in found:
            print(one.text())
        print("FAILED" if found else "passed")
    return FAILS if found and chosen.exit_code else PASSES


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
