#!/usr/bin/env python3
"""Writes docs/reference/python-api.md, the reference of the Python package, from its docstrings.

  tools/python_api.py [--check]      --check: exit code 1 when the page is not what the docstrings say
"""
import dataclasses
import importlib
import inspect
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/reference/python-api.md"
sys.path.insert(0, str(ROOT / "python"))
# The modules in the order of the page; None: everything that the package itself exports.
MODULES = [("gpuemu", None),
           ("gpuemu.replies", ["ExplainResult", "ExplainedStep", "ExplainedValue", "StoredCase", "ExportedCase", "KernelCoverage", "Calibration",
                               "MutationReport", "Mutant", "KernelComparison", "BoundsReport", "LaunchBounds", "AccessBounds"]),
           ("gpuemu.artifacts", ["ArtifactMetrics", "LintResult", "LintViolation", "ArtifactDiffs", "ArtifactDiff", "Baseline", "BaselineInfo"]),
           ("gpuemu.ci", ["CiSummary", "CiOp", "ErrorMap", "KernelTrend", "TrendPoint"]), ("gpuemu.judge", ["compare", "verdict"]), ("gpuemu.legacy", ["case"]),
           ("gpuemu.values", ["fill_input"]), ("gpuemu.layouts", ["Layout", "place", "drawn", "base_offset", "contiguous", "padded", "stepped", "transposed", "broadcast", "backwards"]),
           ("gpuemu.rng", ["Stream", "generate", "draw", "case_seed", "derive_state"]),
           ("gpuemu.program", None),
           ("gpuemu.on_ray", ["check"]),
           ("gpuemu.cluster", ["fuzz", "test", "ClusterFuzzResults", "ClusterTestReport", "Node"]),
           ("gpuemu.tolerances", ["CalibratedTolerance", "Evidence", "compare_tolerances", "write_tolerance"]),
           ("gpuemu.runtime", None),
           ("gpuemu.frameworks.base", ["FrameworkAdapter", "GradientChecker", "GradientReport"])]

# Modules whose classes are bases of classes that users know.
PARTS = {"gpuemu.client.extras", "gpuemu.runtime.allocations", "gpuemu.runtime.device_calls"}


class Raw(str):
    """A value that is printed without quotes."""

    def __repr__(self):
        return str(self)


def signature(value):
    try:
        found = inspect.signature(value)
    except (TypeError, ValueError):
        return "(...)"

    def plain(hint):
        return Raw(hint) if isinstance(hint, str) else hint

    shown = [one.replace(annotation=plain(one.annotation)) for one in found.parameters.values()]
    said = str(found.replace(parameters=shown, return_annotation=plain(found.return_annotation)))
    # A value printed with its address would differ in every run.
    return re.sub(r"<function (\w+) at 0x\w+>", r"\1", said).replace("gpuemu.records.", "").replace("gpuemu.", "")


def members(cls):
    """Yields public methods and properties that the class itself defines and documents, or inherits from
    one of our classes."""
    extras = [base for base in cls.__mro__[1:] if base.__module__ in PARTS]
    for name, value in (pair for one in [*extras, cls] for pair in vars(one).items()):
        if name.startswith("_"):
            continue
        plain = value.__func__ if isinstance(value, (classmethod, staticmethod)) else value
        if inspect.isfunction(plain):
            yield f"`{name}{signature(plain)}`", inspect.getdoc(plain)
        elif isinstance(plain, property):
            yield f"`{name}`", inspect.getdoc(plain)


def described(name, value):
    """Returns the lines of one name."""
    own = not inspect.isclass(value) or dataclasses.is_dataclass(value) or "__init__" in vars(value)
    lines = [f"### {name}", "", f"`{name}{signature(value) if own else ''}`", ""]
    text = inspect.getdoc(value)
    if text and not text.startswith(f"{name}("):
        lines += ["```text", *text.splitlines(), "```", ""]
    if inspect.isclass(value):
        found = [f"- {call}" + (f": {' '.join(said.split(chr(10) * 2)[0].split())}" if said else "") for call, said in members(value)]
        lines += [*found, ""] if found else []
    return lines


def page():
    lines = ["# Python reference", "", "Made from the docstrings by `tools/python_api.py`; [python.md](../guides/python.md) shows how the parts are used.", ""]
    for module, names in MODULES:
        holder = importlib.import_module(module)
        lines += [f"## {module}", ""]
        for name in names or sorted(holder.__all__):
            lines += described(name, getattr(holder, name))
    return "\n".join(lines).rstrip() + "\n"


def main():
    made = page()
    if "--check" in sys.argv[1:]:
        if not PAGE.exists() or PAGE.read_text() != made:
            sys.exit(f"{PAGE.relative_to(ROOT)} is not what the docstrings say: run tools/python_api.py")
        return
    PAGE.write_text(made)


if __name__ == "__main__":
    main()
