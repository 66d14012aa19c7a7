"""Draws the figures of the report of `gpuemu ci`, in matplotlib. The records use this module, so it does not import them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gpuemu.client.words import some_fail

_LEAST, _MOST = 1e-6, 1e12  # Errors are drawn as shares of the bound; those beyond these limits, at the edges.


def figure_class() -> Any:
    """Returns matplotlib's Figure, which needs no display. Raises an ImportError that says what to install."""
    try:
        from matplotlib.figure import Figure
    except ImportError as problem:
        raise ImportError("plots need the package matplotlib: pip install matplotlib") from problem
    return Figure


def draw_bound(axes: Any, bound: float, vertical: bool = True, label: str = "") -> None:
    """Draws a dashed line with an entry in the legend."""
    line = axes.axvline if vertical else axes.axhline
    line(bound, color="black", linestyle="--", linewidth=1.5, label=label or f"bound {bound:.3g}")
    axes.legend(fontsize="small")


def _decades(distribution: dict[str, int]) -> dict[int, int]:
    return {int(name[2:]): count for name, count in distribution.items() if name.startswith("1e")}


def _histogram(axes: Any, found: Any) -> None:
    decades = _decades(found.distribution)
    if decades:
        left = [10.0**one for one in decades]
        axes.bar(left, list(decades.values()), width=[9 * one for one in left], align="edge", edgecolor="white")
        axes.set_xscale("log")
    others = sum(found.distribution.values()) - sum(decades.values())
    if found.bound is not None and found.bound > 0 and math.isfinite(found.bound):
        draw_bound(axes, found.bound)
    axes.set(title=f"{sum(decades.values())} errors, {others} zero or not finite", xlabel="|output - reference|", ylabel="elements")


def error_map_figure(found: Any) -> Any:
    """Draws an ErrorMap: where the errors are, and how large."""
    figure = figure_class()(figsize=(10, 4), layout="constrained")
    if len(found.cells) != found.rows * found.columns or not found.cells:
        raise ValueError(f"output '{found.output}' has no error to plot: none of its elements was compared")
    cells = np.array([math.nan if one is None else one for one in found.cells], dtype=np.float64).reshape(found.rows, found.columns)
    heat, histogram = figure.subplots(1, 2)
    columns = found.shape[-1] if found.shape else 1
    rows = math.prod(found.shape[:-1])
    image = heat.imshow(np.where(np.isfinite(cells), cells, np.nan), aspect="auto", interpolation="nearest", cmap="magma",
                        extent=(-0.5, columns - 0.5, rows - 0.5, -0.5))  # fmt: skip
    figure.colorbar(image, ax=heat, label="largest |output - reference| in each cell")
    heat.set(title=f"{found.op_name}: error of {found.output}, seed {found.seed}", xlabel="last axis", ylabel="other axes")
    _histogram(histogram, found)
    return figure


def _share(sample: Any) -> float:
    use = sample.error_use
    return _MOST if use is None or math.isnan(use) else min(max(use, _LEAST), _MOST)


def op_figure(op: Any) -> Any:
    """Draws a CiOp: its cases by size and by value strategy."""
    figure = figure_class()(figsize=(11, 5), layout="constrained")
    if not op.samples:
        raise ValueError(f"op '{op.op_name}' has no error to plot: no case has outputs of the expected shape and dtype")
    by_size, by_strategy = figure.subplots(1, 2)
    names = sorted({one.values for one in op.samples})
    for passed, style in ((True, {"marker": "o", "facecolors": "none", "edgecolors": "tab:blue", "label": "passing"}),
                          (False, {"marker": "o", "color": "tab:red", "label": "failing"})):  # fmt: skip
        some = [one for one in op.samples if one.passed == passed]
        if some:
            shares = [_share(one) for one in some]
            by_size.scatter([max(1, one.elements) for one in some], shares, **style)
            by_strategy.scatter(shares, [names.index(one.values) for one in some], **style)
    by_size.set(xscale="log", yscale="log", title=f"{op.op_name} {op.dtype}: {some_fail(op.failed, op.cases)}", xlabel="elements",
                ylabel="error / allowed error")  # fmt: skip
    by_strategy.set(xscale="log", xlabel="error / allowed error", title="by value strategy")
    by_strategy.set_yticks(range(len(names)), names, fontsize="small")
    draw_bound(by_size, 1.0, vertical=False)
    draw_bound(by_strategy, 1.0)
    return figure
