"""Writes one wrong op as a folder: its inputs, what was expected, and how to run it again."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gpuemu.check.tolerances import ToleranceConfig
from gpuemu.errors import DeviceError
from gpuemu.program.judging import Judgement
import gpuemu.program.ops.primitives as primitives
from gpuemu.program.plan import BindingPlan
from gpuemu.program.report import ProgramFinding
import gpuemu.runtime.calling as calling
import gpuemu.runtime.registrations as registrations
from gpuemu.tensors import Array

if TYPE_CHECKING:
    from gpuemu import runtime

CASE = "case.json"
STORED = "stored"  # The reference of a case whose op is judged by the values in expected/.
README = """# {op}: {kind}

{message}

This folder has what one op of a program computed wrong: `{case}` says which op, kernel and attributes, `inputs/` what it got,
`expected/` what its reference says in float64.{kernel} This runs that op alone and says what it does now:

    gpuemu reproduce {folder} --exit-code

Exit code 1: still wrong, 0: right now, 3: cannot run here. It needs Python 3 with NumPy.
"""


def default_folder(seed: int) -> pathlib.Path:
    """Returns the folder of a reproducer without save=: in the folder of the daemon's database, else in the working directory."""
    return pathlib.Path(os.environ.get("GPUEMU_DB") or ".") / f"program-{seed}"


@dataclass
class WrongOp:
    """A lowered op that a check found wrong: the kernel that ran, its inputs in their own dtypes, and the judgements."""

    one: dict[str, Any]
    variant: str
    inputs: Sequence[Array]
    plan: BindingPlan
    judgements: Sequence[Judgement]
    found: Sequence[ProgramFinding]
    tolerance: ToleranceConfig | None = None
    reference: str = "numpy"

    def case(self, seed: int, device: runtime.Device) -> dict[str, Any]:
        """The content of case.json, without the kernel."""
        one, row, plan = self.one, primitives.row(self.one["op"]), self.plan
        operands = [[{"name": name, "shape": list(plan.specs[vid].shape), "dtype": plan.specs[vid].dtype} for name, vid in zip(names, one[side])]
                    for side, names in (("inputs", row.inputs), ("outputs", row.outputs))]  # fmt: skip
        shared = [[i, j] for i, given in enumerate(one["inputs"]) for j, made in enumerate(one["outputs"]) if plan.storage(given) == plan.storage(made)]
        made = {"op": one["op"], "variant": self.variant, "attrs": one["attrs"], "seed": seed, "inputs": operands[0], "outputs": operands[1],
                "in_place": shared, "device": {"backend": device.backend, "arch": device.info.architecture},
                "findings": [asdict(finding) for finding in self.found]}  # fmt: skip
        if self.reference != "numpy":
            made["reference"] = self.reference
        if self.tolerance is not None:
            made["tolerance"] = {"atol": float(self.tolerance.atol), "rtol": float(self.tolerance.rtol)}
        entry = registrations.op_named(one["op"])
        if entry is not None:
            made["declared"] = entry.described
        return made


def write(save: Any, seed: int, device: runtime.Device, wrong: WrongOp) -> str:
    """Writes the folder and returns its path. Raises OSError."""
    folder = pathlib.Path(save) if save is not None else default_folder(seed)
    case = wrong.case(seed, device)
    for part in ("inputs", "expected"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    for told, array in zip(case["inputs"], wrong.inputs):
        np.save(folder / "inputs" / f"{told['name']}.npy", array.view(np.uint16) if array.dtype.name == "bfloat16" else array)
    for one in wrong.judgements:
        np.save(folder / "expected" / f"{one.name}.npy", one.expected)
    if "declared" in case:
        _write_scales(folder, wrong.judgements)
    kernel = _write_kernel(folder, device, case["op"], wrong.variant)
    if kernel is not None:
        case["kernel"] = kernel
    (folder / CASE).write_text(json.dumps(case, indent=1, sort_keys=True) + "\n")
    first = wrong.found[0]
    (folder / "README.md").write_text(README.format(op=case["op"], kind=first.kind, message=first.message, case=CASE, folder=folder,
                                                         kernel=f" `{kernel['file']}` is the kernel, which is run as it is there." if kernel else
                                                         " `kernel.ptx` is the built-in kernel that ran; that of the installed library is run." if (folder / "kernel.ptx").exists() else ""))
    return str(folder)


def _write_scales(folder: pathlib.Path, judgements: Sequence[Judgement]) -> None:
    """Stores the error scales of a registered op: a function of the program computes them, which the reproducer does not have."""
    for one in judgements:
        if one.scale is not None:
            (folder / "scales").mkdir(exist_ok=True)
            np.save(folder / "scales" / f"{one.name}.npy", one.scale)


def _write_kernel(folder: pathlib.Path, device: runtime.Device, op: str, variant: str) -> dict[str, Any] | None:
    """Writes the source of the kernel, and for a registered kernel the data to register it again. The text of a built-in kernel
    is only for reading."""
    entry = registrations.kernel_named(device, op, variant)
    if entry is None:
        with contextlib.suppress(DeviceError):  # A library of NVIDIA has no text, and a kernel that did not start has no name.
            (folder / "kernel.ptx").write_text(calling.variant_source(op, variant, device))
        return None
    described = dict(entry.described)
    source = described.pop("source")
    text = registrations.source_text(source)
    name = "kernel.ptx" if text.lstrip().startswith((".version", "//")) and ".version" in text and ".entry" in text else "kernel.cu"
    (folder / name).write_text(text)
    return {"file": name, **described}
