#!/usr/bin/env python3
"""Writes the files generated from the tables of words that C++, Python and the documentation share.

usage: tools/make_words.py [--check]
Reads common/config/{strategies,memory_layouts,error_scales,invariants}.def and common/numeric/dtype.def, which the compiler includes, too.
Writes python/gpuemu/dtypes_generated.py, python/gpuemu/generate/words_generated.py and the tables between
`<!-- generated: NAME (tools/make_words.py) -->` and `<!-- end of generated -->` of three pages. --check writes nothing
and exits with 1 when one of these files is not what the tables say. Needs nothing but Python's standard library.
"""
import pathlib
import re
import sys
import textwrap

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from protocol import macros  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
END = "<!-- end of generated -->"


def rows_of(path, macro):
    try:
        return macros.rows_of(ROOT / path, macro)
    except macros.RowError as problem:
        sys.exit(f"make_words.py: {problem}")


def names(values):
    """Returns a Python tuple on lines of 120 characters."""
    body = textwrap.wrap(", ".join(f'"{value}"' for value in values), 116, break_on_hyphens=False)
    return "(\n" + "".join(f"    {line}\n" for line in body[:-1]) + f"    {body[-1]},\n)  # fmt: skip\n"


def module(purpose, source, parts):
    head = f'"""{purpose}\n\nWritten by tools/make_words.py from {source}; edit that and run it again.\n"""\n\n'
    return head + "".join(parts)


def dtypes_module():
    rows = list(rows_of("common/numeric/dtype.def", "GPUEMU_DTYPE"))
    table = "".join(f'    "{name}": DTypeInfo("{short}", {size}, "{kind.lower()}"),\n' for _, name, short, _, size, kind in rows)
    return module(
        "The element types of tensors and what is known about each.", "common/numeric/dtype.def",
        ["from __future__ import annotations\n\nfrom typing import NamedTuple\n\n\n",
         'class DTypeInfo(NamedTuple):\n    """short: as in "f16"; size: in bytes; kind: float, signed, unsigned or bool."""\n\n',
         "    short: str\n    size: int\n    kind: str\n\n\n", f"TABLE = {{\n{table}}}\n", "DTYPES = tuple(TABLE)\n"])


def words_module(strategies, layouts):
    values = [row[1] for row in strategies if row[2] == "Values"]
    return module("Words of gpuemu.toml that Python takes, too.", "common/config/*.def",
                  [f"VALUE_STRATEGIES = {names(values)}", f"LAYOUTS = {names(row[1] for row in layouts)}"])


def cell(text):
    return text.replace("|", "\\|")


def table(header, rows):
    rule = "|" + "---|" * header.count("|", 1)
    return "\n".join([header, rule, *("| " + " | ".join([f"`{name}`", *map(cell, rest)]) + " |" for name, *rest in rows)])


def grouped(rows):
    """Combines rows with the same description, at the position of the first."""
    found = {}
    for _, name, description in rows:
        found.setdefault(description, []).append(name)
    return [("`, `".join(all_names), description) for description, all_names in found.items()]


def page(path, tables):
    text = (ROOT / path).read_text()
    for name, lines in tables.items():
        begin = f"<!-- generated: {name} (tools/make_words.py) -->"
        before, found, rest = text.partition(begin)
        old, ended, after = rest.partition(END)
        if not found or not ended:
            sys.exit(f"make_words.py: {path}: expected '{begin}' and behind it '{END}'")
        text = f"{before}{begin}\n{lines}\n{END}{after}"
    return text


def files():
    strategies = list(rows_of("common/config/strategies.def", "GPUEMU_STRATEGY"))
    layouts = list(rows_of("common/config/memory_layouts.def", "GPUEMU_MEMORY_LAYOUT"))
    scales = list(rows_of("common/config/error_scales.def", "GPUEMU_ERROR_SCALE"))
    invariants = list(rows_of("common/config/invariants.def", "GPUEMU_INVARIANT"))
    relations = list(rows_of("common/config/invariants.def", "GPUEMU_RELATION"))
    for _, name, numbers, texts, parameters, _ in invariants + relations:
        unnamed = [one for one in f"{numbers} {texts}".split() if f"`{one}`" not in parameters]
        if unnamed:
            sys.exit(f"make_words.py: invariants.def: {name}: its `parameters` do not name {', '.join(unnamed)}")
    drawn = {kind: [(row[1], row[5], row[6]) for row in strategies if row[2] == kind] for kind in ("Sizes", "Values")}
    return {
        "python/gpuemu/dtypes_generated.py": dtypes_module(),
        "python/gpuemu/generate/words_generated.py": words_module(strategies, layouts),
        "docs/reference/strategies.md": page("docs/reference/strategies.md", {
            "sizes": table("| sizes | | when |", drawn["Sizes"]), "values": table("| values | | when |", drawn["Values"]),
            "layouts": table("| layout | | when |", [row[1:] for row in layouts])}),
        "docs/guides/relations.md": page("docs/guides/relations.md", {
            "invariants": table("| name | parameters | property |", [(row[1], *row[4:]) for row in invariants]),
            "relations": table("| name | parameters | the further run, and what must hold |", [(row[1], *row[4:]) for row in relations])}),
        "docs/internals/validation.md": page("docs/internals/validation.md", {"error scales": table("| name | S |", grouped(scales))}),
    }


def main(arguments):
    if arguments not in ([], ["--check"]):
        sys.exit(__doc__)
    stale = []
    for path, text in files().items():
        if not (ROOT / path).exists() or (ROOT / path).read_text() != text:
            stale.append(path)
            if not arguments:
                (ROOT / path).write_text(text)
    for path in stale:
        print(f"{path}: " + ("differs from the tables; run tools/make_words.py" if arguments else "written"))
    sys.exit(1 if arguments and stale else 0)


if __name__ == "__main__":
    main(sys.argv[1:])
