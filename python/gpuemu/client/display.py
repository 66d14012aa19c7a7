"""Formats results for notebooks: tables in HTML, and plots of errors (matplotlib, loaded when needed). The records use this
module, so it does not import them: each function names the record that it takes."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from gpuemu import tensors
from gpuemu.client import plots
from gpuemu.client.words import counted

HEAT_ROWS = 256  # Most rows of a heat map; more would not be visible.


def _cell(value: Any) -> str:
    return html.escape(f"{value:.4g}" if isinstance(value, float) else str(value))


def _table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    top = "".join(f"<th>{_cell(one)}</th>" for one in head)
    body = "".join("<tr>" + "".join(f"<td>{_cell(one)}</td>" for one in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def _verdict(passed: bool, text: str) -> str:
    return f'<p><b style="color:{"#1a7f37" if passed else "#cf222e"}">{"PASS" if passed else "FAIL"}</b> {html.escape(text)}</p>'


def validation_html(result: Any) -> str:
    text = _verdict(result.passed, f"{result.op_name}, seed {result.seed}")
    if result.failures:
        text += _table(["finding", "message"], [(one.kind, one.message) for one in result.failures])
    if result.error_stats:
        text += _table(list(result.error_stats), [list(result.error_stats.values())])
    return text


def fuzz_html(found: Any) -> str:
    rows = [(one.seed, one.failures[0].kind if one.failures else "", one.failures[0].message if one.failures else "") for one in found.failures]
    text = _verdict(not found.failed, f"{found.passed} of {counted(found.total, 'case')}, seed {found.seed}")
    return text + (_table(["seed", "finding", "message"], rows) if rows else "")


def report_html(report: Any) -> str:
    rows = [(one.op_name, one.dtype, one.cases, one.passed, one.failed, one.max_diff, one.skipped_reason) for one in report.ops]
    text = _verdict(not report.failed, f"{report.passed} of {counted(report.total, 'case')} on {report.device or report.backend}, seed {report.seed}")
    return text + _table(["op", "dtype", "cases", "passed", "failed", "largest error", "skipped"], rows)


def check_html(found: Any) -> str:
    text = _verdict(not found.failures, f"{found.op_name}: {found.passed} of {counted(found.cases, 'case')}")
    if found.failures:
        text += validation_html(found.failures[0])
    if found.smallest is not None:
        text += f"<p>smallest case: {html.escape(found.smallest.describe())}<br>replay: <code>{html.escape(found.replay)}</code></p>"
    text += "".join(f"<p>{html.escape(one)}</p>" for one in found.notes)
    return text


def program_html(report: Any) -> str:
    """Formats a program's check: the findings in program order, then each op that was checked."""
    said = f"{report.ops_checked} of {report.ops_total} ops checked"
    text = _verdict(report.passed, said if report.ops_checked or report.findings else f"{said}: nothing was judged")
    if report.findings:
        text += _table(["op", "kernel", "output", "finding", "message", "written at"],
                       [(f"{one.index} {one.op}" if one.index >= 0 else "the replay", one.variant, one.output, one.kind, one.message, one.where)
                        for one in report.findings])  # fmt: skip
    if report.ops:
        text += _table(["op", "", "kernel", "largest error / bound"],
                       [(one.index, one.op, one.variant, "" if one.largest_error is None else one.largest_error) for one in report.ops])  # fmt: skip
    if report.unchecked:
        text += f"<p>not judged, without a reference: {_cell(', '.join(report.unchecked))}</p>"
    if report.reproducer:
        text += f"<p>again: <code>gpuemu reproduce {_cell(report.reproducer)}</code></p>"
    return text + "".join(f"<p>{_cell(one)}</p>" for one in report.notes)


def bisect_html(found: Any) -> str:
    """Formats a comparison of two sides: the first op that differs."""
    if found.index is None:
        return _verdict(True, "no op differs")
    values = [(found.a, found.a_value), (found.b, found.b_value)]
    return (_verdict(False, f"op {found.index}, {found.op}, differs in '{found.output}' by up to {found.max_diff:.4g}")
            + _table(["kernel", f"element {found.element}"], values))  # fmt: skip


def _bound_of(result: Any) -> float | None:
    """Returns the largest allowed error of the worst element, from the finding's message."""
    for failure in result.failures:
        said = re.search(r"> bound ([0-9.e+-]+)", failure.message)
        if said and float(said[1]) > 0:
            return float(said[1])
    return None


def plot(result: Any, actual: Any = None, expected: Any = None, bound: float | None = None) -> Any:
    """Draws the error of every element and a histogram of the errors, as a figure of matplotlib. The arrays are those compared in
    this process, or the given ones. bound: the largest allowed error, drawn in the histogram. Raises ValueError if there are no
    arrays."""
    figure_class = plots.figure_class()
    kept = result.compared or (None, None)
    actual, expected = (given if given is not None else one for given, one in zip((actual, expected), kept))
    if actual is None or expected is None:
        raise ValueError("this verdict came without the arrays: give them, as in result.plot(output, reference(x))")
    got, want = (np.asarray(tensors.as_array(one), dtype=np.float64) for one in (actual, expected))
    if got.shape != want.shape:
        raise ValueError(f"the output is {list(got.shape)}, the reference {list(want.shape)}: there is no error to plot")
    if bound is None:
        bound = _bound_of(result)
    if bound is not None and not (math.isfinite(bound) and bound > 0):
        raise ValueError(f"the bound is {bound}, expected a finite number above 0")
    with np.errstate(all="ignore"):
        error = np.abs(got - want)
    rows = error.reshape(-1, error.shape[-1]) if error.ndim > 1 else error.reshape(1, -1)
    figure = figure_class(figsize=(10, 4), layout="constrained")
    heat, histogram = figure.subplots(1, 2)
    image = heat.imshow(np.where(np.isfinite(rows), rows, np.nan)[:HEAT_ROWS], aspect="auto", interpolation="nearest", cmap="magma")
    figure.colorbar(image, ax=heat, label="|output - reference|")
    heat.set(title=f"{result.op_name}: error by element", xlabel="last axis", ylabel="other axes")
    finite = error[np.isfinite(error) & (error > 0)]
    if finite.size:
        histogram.hist(np.log10(finite), bins=50)
    left_out = error.size - finite.size
    histogram.set(title=f"{counted(finite.size, 'error')}, {left_out} zero or not finite", xlabel="log10 |output - reference|", ylabel="elements")
    if bound is not None:
        plots.draw_bound(histogram, math.log10(bound), label=f"bound {bound:.3g}")
    return figure
