#!/usr/bin/env python3
"""Writes runtime/fidelity/forms.def, the instruction forms that tests compare: python3
tools/make_fidelity.py [--check]

"Recorded" are the forms that the conformance suite compares with results of a GPU
(tests/conformance/chip_*.def), "tested" those that are compared with the definitions of tests/ptx/isa
(tests/ptx/rows). --check writes nothing and exits with 1 when the file is outdated.
"""
import argparse
import pathlib
import re
import sys

TABLE = "runtime/fidelity/forms.def"
HEAD = """\
// The instruction forms that tests compare, as PTX writes them: made by tools/make_fidelity.py of
// tests/conformance/chip_forms.def, tests/conformance/chip_matrices.def and tests/ptx/rows.
//
// CHIP(sm, name)                the GPU of this architecture whose answers are recorded
// RECORDED_FORM(form, sm)       its recorded answers have this form
// TESTED_FORM(form)             tests compare it with its definition in the ISA
// clang-format off
"""
FOOT = "// clang-format on\n"
CHIP = re.compile(r"\bwhat an (?P<name>[\w ]+?)\s*(?://\s*)?\(sm_(?P<sm>\d+)")
GUARD = re.compile(r"^@!?%?\w+\s+")
LABEL = re.compile(r"^\w+\s*:\s*")
INSTRUCTION = re.compile(r"^[a-z][a-z0-9]*(\.[\w:]+)*(?=[\s(]|$)")


def instructions(text):
    """Yields the instruction forms in a piece of PTX: the text before the operands."""
    for statement in re.split(r"[;{}]", re.sub(r"\{[%\w, ]*\}", "v", text)):
        statement = LABEL.sub("", statement.strip())
        found = INSTRUCTION.match(GUARD.sub("", statement))
        if found:
            yield found[0]


def chip_of(path):
    """Returns the architecture and the name of the GPU that a table's results come from, read from its
    first comment."""
    found = CHIP.search(path.read_text())
    if not found:
        sys.exit(f"{path}: the first comment does not say 'what an NVIDIA ... (sm_NN': it names the GPU that answered")
    return int(found["sm"]), found["name"]


def recorded(root):
    """Returns the architecture of each recorded form, and the names of the GPUs."""
    forms, chips = {}, {}
    path = root / "tests/conformance/chip_forms.def"
    sm, name = chip_of(path)
    chips[sm] = name
    bodies = re.findall(r'^CHIP_FORM\(.*, "([^"]*)"\)$', path.read_text(), re.M)
    for body in bodies:
        forms.update(dict.fromkeys(instructions(body), sm))
    path = root / "tests/conformance/chip_matrices.def"
    sm, name = chip_of(path)
    chips[sm] = name
    products = re.findall(r'^CHIP_MMA\("([^"]*)"', path.read_text(), re.M)
    groups = re.findall(r'^CHIP_WGMMA\((\d+), (\d+), "(\w+)", "(\w+)", "(\w+)"', path.read_text(), re.M)
    forms.update(dict.fromkeys(products, sm))
    for n, k, d, a, b in groups:
        forms[f"wgmma.mma_async.sync.aligned.m64n{n}k{k}.{d}.{a}.{b}"] = sm
    if not bodies or not products or not groups:
        sys.exit("tests/conformance/chip_forms.def or chip_matrices.def has no rows of a kind: their form has changed")
    return forms, chips


def tested(root):
    """Returns the forms of the rows. A row without a text has the instruction as its name."""
    forms, paths = set(), sorted((root / "tests/ptx/rows").glob("*.ptxt"))
    if not paths:
        sys.exit("tests/ptx/rows has no files; write them with tests/ptx/make_rows.py")
    for path in paths:
        for row in re.split(r"^row ", path.read_text(), flags=re.M)[1:]:
            text = re.search(r"^text (.*)$", row, re.M)
            forms.update(instructions(text[1] if text else row.splitlines()[0]))
    return forms


def table(root):
    forms, chips = recorded(root)
    lines = [f'CHIP({sm}, "{name}")\n' for sm, name in sorted(chips.items())]
    lines += [f'RECORDED_FORM("{form}", {sm})\n' for form, sm in sorted(forms.items())]
    lines += [f'TESTED_FORM("{form}")\n' for form in sorted(tested(root) - set(forms))]
    return HEAD + "".join(lines) + FOOT


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing")
    check = parser.parse_args().check
    root = pathlib.Path(__file__).resolve().parents[1]
    path, text = root / TABLE, table(root)
    if not check:
        path.write_text(text)
    elif not path.exists() or path.read_text() != text:
        print(f"{TABLE}: differs from the tests; run tools/make_fidelity.py")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
