"""Planted faults: the emulator finds each of them, at its line and thread, and nothing in the corrected twin.

Every kernel of the .cu files here has a comment in front of it. "run:" says how it is launched, as gpuemu-fault-runner takes it.
"expect:" begins with the kind of the finding; thread, block (x of each), tensor, offset and count are what it must say, text what its
message must contain ("~" for blanks). The finding's line is the one marked FAULT, the second line of a pair the one marked OTHER; file
names the header that has the marks. Compiled with -DFIXED the same kernel is correct. Kernels of correct*.cu are always.
"""
import os
import pathlib
import re
import subprocess

import pytest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BIN = pathlib.Path(os.environ.get("GPUEMU_BIN", ROOT / "build/release/bin"))
ALL = "memory,init,race,sync"
FIELDS = ["kind", "file", "line", "other", "block", "thread", "tensor", "offset", "count", "message", "order", "seed"]
ORDERS = {"in_order", "reverse", "random", "priorities", "far_ahead", "one_block", "split_warps"}


def pairs(text):
    return dict(item.split("=", 1) for item in text.split())


def read_kernels(path):
    """(name, launch, expectation or None) of every kernel in the file."""
    lines = path.read_text().splitlines()
    for at, line in enumerate(lines):
        found = re.match(r"// run: (\w+) (.*)", line)
        if not found:
            continue
        launch, expect, end = pairs(found[2]), None, at
        if (wanted := re.match(r"// expect: (\w+) ?(.*)", lines[at + 1])):
            expect = {"kind": wanted[1], **pairs(wanted[2])}
            end = next(i for i in range(at, len(lines)) if lines[i] == "}")
            marked = (HERE / expect["file"]).read_text().splitlines() if "file" in expect else lines[:end]
            for number in range(0 if "file" in expect else at, len(marked)):
                if "// FAULT" in marked[number]:
                    expect["line"] = number + 1
                if "// OTHER" in marked[number]:
                    expect["other"] = number + 1
        yield found[1], launch, expect


FAULTS = [(path, *kernel) for path in sorted(HERE.glob("*.cu")) if not path.stem.startswith("correct") for kernel in read_kernels(path)]
CORRECT = [(path, *kernel) for path in sorted(HERE.glob("correct*.cu")) for kernel in read_kernels(path)]


@pytest.fixture(scope="session")
def compiled(nvcc_program, tmp_path_factory):
    """PTX of a source, plain or FIXED, compiled once."""
    folder, made = tmp_path_factory.mktemp("faults"), {}

    def compile_once(source, fixed):
        if (source, fixed) not in made:
            made[source, fixed] = folder / f"{source.stem}{'_fixed' if fixed else ''}.ptx"
            command = [nvcc_program, "-std=c++17", "-lineinfo", "-arch=compute_80", "-w", "-ptx", source, "-o", made[source, fixed]]
            done = subprocess.run(command + ["-DFIXED"] * fixed, capture_output=True, text=True, timeout=600)
            assert done.returncode == 0, done.stderr[-2000:]
        return made[source, fixed]

    return compile_once


def run(ptx, entry, launch, sanitize=ALL, orders=0):
    """Findings of one launch, and of so many more in each other order of execution."""
    command = [BIN / "gpuemu-fault-runner", ptx, entry, launch["grid"], launch["block"], launch.get("shared", "0"), sanitize,
               *re.split(r",(?=[a-z])", launch["args"])]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env={**os.environ, "FAULT_ORDERS": str(orders)})
    assert done.returncode == 0, done.stderr
    return [dict(zip(FIELDS, line.split("\t"))) for line in done.stdout.splitlines()]


def first(place):
    return place.split(",")[0]


def fits(finding, expect):
    """Which instruction of a racing pair comes second depends on the order of the warps."""
    lines = [finding["line"], finding["other"]] if "other" in expect else [finding["line"]]
    wanted = [str(expect[key]) for key in ("line", "other") if key in expect]
    return (sorted(lines) == sorted(wanted) or not wanted) \
        and all(finding[key] == expect[key] for key in ("tensor", "offset", "count") if key in expect) \
        and all(first(finding[key]) == expect[key] for key in ("thread", "block") if key in expect) \
        and expect.get("text", "").replace("~", " ") in finding["message"]


@pytest.mark.parametrize("source, name, launch, expect", FAULTS, ids=[f"{f[0].stem}-{f[1]}" for f in FAULTS])
def test_a_planted_fault_is_found_at_its_place(compiled, source, name, launch, expect):
    findings = run(compiled(source, False), name, launch)
    right = [f for f in findings if f["kind"] == expect["kind"] and fits(f, expect)]
    assert right, (expect, findings)
    assert all(pathlib.Path(f["file"]).name == expect.get("file", source.name) for f in findings)


@pytest.mark.parametrize("source, name, launch, expect", FAULTS, ids=[f"{f[0].stem}-{f[1]}" for f in FAULTS])
def test_the_corrected_kernel_has_no_finding(compiled, source, name, launch, expect):
    assert run(compiled(source, True), name, launch) == []


@pytest.mark.parametrize("source, name, launch, expect", CORRECT, ids=[c[1] for c in CORRECT])
def test_a_correct_kernel_has_no_finding(compiled, source, name, launch, expect):
    assert run(compiled(source, False), name, launch) == []


@pytest.mark.parametrize("source, name, launch, expect", [f for f in FAULTS if f[0].stem == "sync"],
                         ids=[f[1] for f in FAULTS if f[0].stem == "sync"])
def test_what_is_wrong_about_waiting_is_found_in_every_order(compiled, source, name, launch, expect):
    right = [f for f in run(compiled(source, False), name, launch, orders=2) if f["kind"] == expect["kind"]]
    assert {(f["order"], f["seed"]) for f in right} >= {(order, seed) for order in ORDERS - {"in_order"} for seed in "01"}


@pytest.mark.parametrize("source, name, launch, expect", CORRECT, ids=[c[1] for c in CORRECT])
def test_a_correct_kernel_has_no_finding_in_any_order(compiled, source, name, launch, expect):
    assert run(compiled(source, False), name, launch, orders=8 if source.stem == "correct_sync" else 1) == []


@pytest.mark.parametrize("check, kernel", [("race_shared", "between_warps"), ("race_global", "lost_update"),
                                           ("init", "shared_unwritten"), ("division", "division"),
                                           ("sync", "shuffle_mask")])
def test_a_check_alone_finds_its_fault_and_no_check_finds_none(compiled, check, kernel):
    source, name, launch, expect = next(f for f in FAULTS if f[1] == kernel)
    assert [f["kind"] for f in run(compiled(source, False), name, launch, check)][:1] == [expect["kind"]]
    assert run(compiled(source, False), name, launch, "none") == []
