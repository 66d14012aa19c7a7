#!/usr/bin/env python3
"""Shows which NaN a device propagates when two operands are NaN: runs the same PTX with its operands in
either order, on the emulator and, if one answers, on a GPU.

    GPUEMU_LIBRARY=BUILD/lib/gpuemu/libgpuemu.so.1 python3 tools/nan_order.py     what each device gives
    python3 tools/nan_order.py --sass                                             what ptxas makes of it (needs ptxas and nvdisasm)

A device that chooses by the position of an operand gives different NaNs for add_ab and add_ba; one that
chooses by the value gives the same. If the SASS orders the operands differently from the PTX, the
position is that in the SASS.
"""
import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python"))
import numpy as np  # noqa: E402

PATTERNS = {"p1": 0x7FF8000000000001, "n2": 0xFFF8000000000002, "p3": 0x7FF8000000000003, "s4": 0x7FF0000000000004, "one": 0x3FF0000000000000,
            "inf": 0x7FF0000000000000, "-inf": 0xFFF0000000000000, "zero": 0}  # fmt: skip
CASES = [("p1", "n2", "one"), ("n2", "p1", "one"), ("p1", "p3", "one"), ("p3", "p1", "one"), ("n2", "one", "one"), ("one", "n2", "one"), ("s4", "n2", "one"),
         ("n2", "s4", "one"), ("inf", "-inf", "one"), ("-inf", "inf", "one"), ("zero", "inf", "one"), ("zero", "inf", "n2"), ("p1", "n2", "p3"),
         ("n2", "p1", "p3"), ("one", "one", "n2"), ("one", "p1", "n2"), ("one", "n2", "p1")]  # fmt: skip
OPS = {"add_ab": "add.f64 %y, %a, %b", "add_ba": "add.f64 %y, %b, %a", "sub_ab": "sub.f64 %y, %a, %b", "mul_ab": "mul.f64 %y, %a, %b",
       "mul_ba": "mul.f64 %y, %b, %a", "fma_abc": "fma.rn.f64 %y, %a, %b, %c", "fma_bac": "fma.rn.f64 %y, %b, %a, %c",
       "fma_cab": "fma.rn.f64 %y, %c, %a, %b"}  # fmt: skip
HEAD = ".version 7.0\n.target sm_75\n.address_size 64\n"
ENTRY = """.visible .entry {name}(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u64 py)
{{
  .reg .b64 %r<6>;
  .reg .b32 %t;
  .reg .f64 %a, %b, %c, %y;
  mov.u32 %t, %tid.x;
  mul.wide.u32 %r0, %t, 8;
  ld.param.u64 %r1, [pa];
  ld.param.u64 %r2, [pb];
  ld.param.u64 %r3, [pc];
  ld.param.u64 %r4, [py];
  add.u64 %r1, %r1, %r0;
  add.u64 %r2, %r2, %r0;
  add.u64 %r3, %r3, %r0;
  add.u64 %r4, %r4, %r0;
  ld.global.f64 %a, [%r1];
  ld.global.f64 %b, [%r2];
  ld.global.f64 %c, [%r3];
  {op};
  st.global.f64 [%r4], %y;
  ret;
}}
"""
PTX = HEAD + "".join(ENTRY.format(name=name, op=op) for name, op in OPS.items())


def results(device):
    """Returns bits by op, in the order of CASES."""
    from gpuemu import runtime

    rows = [np.array([PATTERNS[case[side]] for case in CASES], np.uint64) for side in range(3)]
    operands = [device.tensor(row) for row in rows]
    made = {}
    for name in OPS:
        y = device.zeros((len(CASES),), "uint64")
        with runtime.register_op(f"nan_{name}", ["a: T", "b: T", "c: T"], ["y: T"]), runtime.register_kernel(
                f"nan_{name}", "ptx", PTX, [runtime.Launch(name, 1, "y.count", ["a", "b", "c", "y"])], types={"T": ["uint64"]}):  # fmt: skip
            runtime.op_call(f"nan_{name}", operands, [y], device=device)
            made[name] = y.numpy().tolist()
    return made


def run():
    from gpuemu import runtime

    names = {bits: name for name, bits in PATTERNS.items()}
    names[PATTERNS["s4"] | 1 << 51] = "s4, quiet"
    by_device = {}
    for backend in ["emulator", *(["cuda"] if runtime.devices("cuda") else [])]:
        with runtime.Device(backend) as device:
            by_device[device.name] = results(device)
    print("| op | a, b, c | " + " | ".join(by_device) + " |\n| --- | --- |" + " --- |" * len(by_device))
    for name in OPS:
        for at, case in enumerate(CASES):
            told = [f"{made[name][at]:#018x} {names.get(made[name][at], '')}".strip() for made in by_device.values()]
            print(f"| {name} | {', '.join(case)} | {' | '.join(told)} |" + ("" if len(set(told)) == 1 else " differs"))


def sass():
    """Prints the code that ptxas makes for an H100: the operands of each double instruction, and the
    register from which each was loaded."""
    ptxas, disassembler = shutil.which("ptxas"), shutil.which("nvdisasm") or next(map(str, ROOT.glob("build/cuda/**/nvdisasm")), None)
    if ptxas is None or disassembler is None:
        sys.exit("nan_order: --sass needs ptxas and nvdisasm")
    with tempfile.TemporaryDirectory() as folder:
        text, made = pathlib.Path(folder, "nan.ptx"), pathlib.Path(folder, "nan.cubin")
        text.write_text(PTX)
        subprocess.run([ptxas, "-arch=sm_90", str(text), "-o", str(made)], check=True)
        told = subprocess.run([disassembler, "-c", str(made)], check=True, capture_output=True, text=True).stdout
    for name in OPS:
        body = told[told.index(f".text.{name}:") :].split("EXIT")[0]
        lines = re.findall(r"\b((?:LDG|DADD|DMUL|DFMA|LDC)\S* [^;]*);", body)
        print(f"{name}: {OPS[name]}\n  " + "\n  ".join(lines))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sass", action="store_true", help="print the machine code instead of running it")
    sass() if parser.parse_args().sass else run()
