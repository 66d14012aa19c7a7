#!/usr/bin/env python3
"""Writes docs/internals/same-bits.md: for each built-in op and dtype, how many elements of its outputs have the same bits on two devices.

    tools/same_bits.py --never never/*.json --always always/*.json [--because SUBJECT=REASON ...] >docs/internals/same-bits.md

The files are written by gpuemu-fidelity --json, in runs with --contraction never and always; several
files are parts of one run. Each difference needs a reason: it disappears without contraction, only the
bits of NaNs differ, or one is given with --because. If a reason is missing, nothing is written and the
exit code is 1.
"""
import argparse
import collections
import json
import pathlib
import shlex
import sys

FLOATS = ["float32", "float16", "bfloat16", "float64"]
OTHERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool"]
CONTRACTION = "the driver's compiler fuses products into sums where the rules of [fidelity.md](fidelity.md#contraction) do not; without contraction every bit agrees"
NAN = "bits of NaN"


class Wrong(Exception):
    """An error that the user has to correct."""


class Run:
    """The parts of one comparison."""

    def __init__(self, paths):
        self.sides, self.subjects = None, {}
        for path in paths:
            try:
                part = json.loads(pathlib.Path(path).read_text())
                sides = (part["left"], part["right"], part["cases"], part["seed"])
                subjects = {subject["subject"]: subject for subject in part["subjects"]}
            except (OSError, ValueError, KeyError, TypeError) as bad:
                raise Wrong(f"{path} is no result of gpuemu-fidelity --json: {bad}") from bad
            if part["problems"]:
                raise Wrong(f"{path}: not everything was compared: {part['problems'][0]}")
            if self.sides not in (None, sides):
                raise Wrong(f"{path}: {sides}, other files have {self.sides}; take parts of one comparison")
            self.sides = sides
            self.subjects.update(subjects)

    def counts(self, name):
        """Returns (elements, identical) of all outputs."""
        outputs = self.subjects[name]["outputs"]
        return sum(o["elements"] for o in outputs), sum(o["identical"] for o in outputs)

    def total(self):
        counts = [self.counts(name) for name in self.subjects]
        return sum(c[0] for c in counts), sum(c[1] for c in counts), sum(len(s["outputs"]) for s in self.subjects.values())


def share(elements, identical):
    """Returns the share as text, never rounded up to 100 %."""
    if elements == identical:
        return "100 %"
    return f"{min(100 * identical / elements, 99.999):.3f} %"


def split(name):
    project, op, dtype = name.split("/")
    return op if project == "builtin" else f"{project}/{op}", dtype


def reason(name, run, never, because):
    """Returns why a subject differs in a run."""
    if name in because:
        return because[name]
    subject = run.subjects[name]
    if subject["notes"]:
        raise Wrong(f"{name}: {subject['notes'][0]}")
    elements, identical = run.counts(name)
    if sum(o["nan_bits"] for o in subject["outputs"]) == elements - identical:
        return NAN
    if run is not never and name in never.subjects and len(set(never.counts(name))) == 1:
        return CONTRACTION
    first = next(o["first"] for o in subject["outputs"] if o["first"])
    raise Wrong(f"{name}: {elements - identical} of {elements} elements differ ({first}); find out why and say so with --because '{name}=...'")


def table(dtypes, never, always):
    """Returns one row for each op, with a cell for each dtype."""
    rows = collections.defaultdict(dict)
    for name in never.subjects:
        op, dtype = split(name)
        if dtype in dtypes:
            rows[op][dtype] = name
    lines = [f"| op | {' | '.join(dtypes)} |", f"| --- |{' --- |' * len(dtypes)}"]
    for op, cells in sorted(rows.items()):
        shown = []
        for dtype in dtypes:
            name = cells.get(dtype)
            if name is None:
                shown.append("")
                continue
            parts = [share(*run.counts(name)) for run in (never, always) if name in run.subjects]
            shown.append(f"{parts[0] if len(set(parts)) == 1 else ' / '.join(parts)} of {never.counts(name)[0]:,}")
        lines.append(f"| {op} | {' | '.join(shown)} |")
    return lines


def differences(never, always, because):
    lines = []
    for title, run in (("never", never), ("as shipped", always)):
        for name in sorted(run.subjects):
            elements, identical = run.counts(name)
            if elements == identical and not run.subjects[name]["notes"]:
                continue
            why = reason(name, run, never, because)
            op, dtype = split(name)
            ulps = max(o["max_ulp"] for o in run.subjects[name]["outputs"])
            lines.append(f"| {op} | {dtype} | {title} | {elements - identical:,} of {elements:,} | {ulps} | {why} |")
    return lines


def page(never, always, because):
    if not never.subjects:
        raise Wrong("no kernels in the files of --never")
    missing = set(always.subjects) ^ set(never.subjects)
    if missing:
        raise Wrong(f"{sorted(missing)[0]} and {len(missing) - 1} others are in one of the two runs alone")
    left, right = (side.partition(", contraction")[0] for side in never.sides[:2])
    cases, seed = never.sides[2:]
    elements, identical, outputs = never.total()
    shipped = always.total()
    differing = differences(never, always, because)
    lines = [
        "# The same bits, by op and dtype", "",
        f"The built-in kernels on {right} beside {left}: {cases} cases for each op and dtype, seed {seed},",
        f"{elements:,} elements of {outputs} outputs. With `--contraction never` {identical:,} are identical; as shipped, with the contraction of the",
        f"driver's compiler beside `--contraction always`, {shipped[1]:,} of {shipped[0]:,}. [fidelity.md](fidelity.md) says what these are.", "",
        "A cell has the share of identical elements and how many there are; two shares are those of `never` and as shipped. Where an op has several",
        "entries they are its variants and the ways it is called.", "",
        *table(FLOATS, never, always), "", *table(OTHERS, never, always), "",
        "## What differs, and why", "",
    ]
    if differing:
        lines += ["| op | dtype | contraction | elements | largest difference in ULP | reason |", "| --- | --- | --- | --- | --- | --- |", *differing]
    else:
        lines.append("Nothing: every element is identical, either way.")
    told = "".join(f" \\\n  --because {shlex.quote(f'{name}={why}')}" for name, why in because.items())
    lines += ["", "This page is made by `tools/same_bits.py` from the results of `gpuemu-fidelity`:", "", "<!-- skip: needs a GPU -->", "```sh",
              f"for how in never always; do build/release/bin/gpuemu-fidelity build/release/kernels/builtin --contraction $how --cases {cases} --json build/$how.json; done",
              "python3 tools/same_bits.py --never build/never.json --always build/always.json" + told + " \\",
              "  >docs/internals/same-bits.md", "```"]
    return "\n".join(lines) + "\n"


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--never", nargs="+", required=True, metavar="JSON")
    parser.add_argument("--always", nargs="+", required=True, metavar="JSON")
    parser.add_argument("--because", nargs="*", default=[], metavar="SUBJECT=REASON")
    given = parser.parse_args(arguments)
    for word in given.because:
        if not all(word.partition("=")):
            parser.error(f"--because '{word}': expected SUBJECT=REASON, as in builtin/softmax/float32=...")
    try:
        sys.stdout.write(page(Run(given.never), Run(given.always), dict(word.split("=", 1) for word in given.because)))
    except Wrong as wrong:
        print(f"same_bits: {wrong}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
