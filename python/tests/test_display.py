"""Tests how a notebook shows each kind of result, and the content of error plots."""

import builtins
import importlib.util

import numpy as np
import pytest

import gpuemu
from gpuemu.client.ci import CaseSample, CiOp, CiSummary, ErrorMap
from gpuemu.client.records import Finding, FuzzResults, OpReport, TestReport, ValidationResult
from gpuemu.program.bisecting import BisectReport
from gpuemu.program.report import CheckedOp, ProgramFinding, ProgramReport

WRONG = ValidationResult(False, 7, "a<b>", 0.5, 0.1, [Finding("ToleranceExceeded", "element 3 & more: <wrong>")], error_stats={"count": 4, "max_abs": 0.5})


def texts(page):
    """Returns the words between the tags after checking that every opened tag is closed."""
    from html.parser import HTMLParser

    class Reader(HTMLParser):
        def __init__(self):
            super().__init__()
            self.open, self.words = [], []

        def handle_starttag(self, tag, _):
            if tag != "br":
                self.open.append(tag)

        def handle_endtag(self, tag):
            assert self.open.pop() == tag, page

        def handle_data(self, data):
            self.words.append(data)

    reader = Reader()
    reader.feed(page)
    assert not reader.open, page
    return reader.words


def test_a_verdict_shows_findings_and_statistics_and_what_it_quotes_is_no_markup():
    words = texts(WRONG._repr_html_())
    assert words[0] == "FAIL" and " a<b>, seed 7" in words
    assert "element 3 & more: <wrong>" in words and "ToleranceExceeded" in words
    assert words.index("count") < words.index("max_abs") < words.index("4") < words.index("0.5")
    assert texts(ValidationResult(True, 1, "softmax")._repr_html_()) == ["PASS", " softmax, seed 1"]


def test_a_run_shows_its_failures_and_a_report_its_ops():
    words = texts(FuzzResults(seed=3, total=5, passed=4, failed=1, failures=[WRONG])._repr_html_())
    assert words[:2] == ["FAIL", " 4 of 5 cases, seed 3"] and words[-3:] == ["7", "ToleranceExceeded", "element 3 & more: <wrong>"]
    assert texts(FuzzResults(seed=3, total=5, passed=5)._repr_html_()) == ["PASS", " 5 of 5 cases, seed 3"]
    report = TestReport(seed=9, device="an emulator", total=3, passed=2, failed=1, ops=[OpReport("gelu", "float16", cases=3, passed=2, failed=1, max_diff=1e-9)])
    words = texts(report._repr_html_())
    assert words[:2] == ["FAIL", " 2 of 3 cases on an emulator, seed 9"] and words[-6:] == ["gelu", "float16", "3", "2", "1", "1e-09"]


def test_a_checked_program_shows_its_findings_in_order_and_each_op():
    wrong = ProgramFinding(1, 1, "adam_step", "<planted>", "p_out", 7, "ToleranceExceeded", "element 3: expected 1 & got 2", 3, 1.0, 2.0, where="a<b>.py:4")
    ops = [CheckedOp(0, "gemm", "tiled", 0.25), CheckedOp(1, "adam_step", "<planted>", 1e6), CheckedOp(2, "own", "plain", None)]
    report = ProgramReport(ops=ops, findings=[wrong], unchecked=["op 2, own"], ops_total=5, reproducer="a<b>", notes=["1 < 2"])
    words = texts(report._repr_html_())
    assert words[:2] == ["FAIL", " 2 of 5 ops checked"]
    at = words.index("1 adam_step")
    assert words[at : at + 6] == ["1 adam_step", "<planted>", "p_out", "ToleranceExceeded", "element 3: expected 1 & got 2", "a<b>.py:4"]
    assert words[-4:] == ["not judged, without a reference: op 2, own", "again: ", "gpuemu reproduce a<b>", "1 < 2"]
    assert [words[words.index(one) - 1 :][:3] for one in ("gemm", "adam_step", "own")] == [["0", "gemm", "tiled"], ["1", "adam_step", "<planted>"], ["2", "own", "plain"]]
    assert texts(ProgramReport(ops=ops[:1], ops_total=1)._repr_html_())[0] == "PASS"
    assert texts(ProgramReport(ops_total=0)._repr_html_()) == ["FAIL", " 0 of 0 ops checked: nothing was judged"]


def test_a_bisection_shows_both_sides_of_the_first_op_that_differs():
    assert texts(BisectReport()._repr_html_()) == ["PASS", " no op differs"]
    words = texts(BisectReport(3, "gemm", "c", "tiled", "<naive>", 5, 1.5, 2.0, 0.5)._repr_html_())
    assert words[:2] == ["FAIL", " op 3, gemm, differs in 'c' by up to 0.5"] and words[-4:] == ["tiled", "1.5", "<naive>", "2"]


@pytest.mark.skipif(not importlib.util.find_spec("matplotlib"), reason="no matplotlib: scripts/setup.sh --tests installs it")
def test_a_plot_has_the_error_of_each_element_and_how_often_each_size_occurs(tmp_path):
    expected = np.zeros((3, 4))
    actual = expected.copy()
    actual[1, 2], actual[2, 0], actual[0, 0] = 0.5, -8.0, np.nan
    figure = WRONG.plot(actual, expected)
    heat, histogram = figure.axes[:2]
    shown = np.ma.filled(heat.images[0].get_array(), -1.0)
    assert shown.shape == (3, 4) and shown[1, 2] == 0.5 and shown[2, 0] == 8 and not shown[0, 0] > 0 and shown[1, 1] == 0
    assert sum(bar.get_height() for bar in histogram.patches) == 2 and "2 errors, 10 zero or not finite" in histogram.get_title()
    assert "a<b>" in heat.get_title()
    figure.savefig(tmp_path / "plot.png")
    assert (tmp_path / "plot.png").stat().st_size > 5000
    assert gpuemu.ValidationResult(op_name="x").plot(np.ones(3), np.ones(3)).axes  # No error at all.
    with pytest.raises(ValueError, match=r"the output is \[3\], the reference \[4\]"):
        WRONG.plot(np.ones(3), np.ones(4))


needs_matplotlib = pytest.mark.skipif(not importlib.util.find_spec("matplotlib"), reason="no matplotlib: scripts/setup.sh --tests installs it")


def lines_at(axes):
    """Returns where dashed lines cross the axes, with their labels in the legend."""
    return [(float(line.get_xdata()[0]), float(line.get_ydata()[0]), line.get_label()) for line in axes.lines if line.get_linestyle() == "--"]


@needs_matplotlib
def test_a_bound_is_drawn_among_the_errors():
    figure = WRONG.plot(np.array([0.5, 8.0]), np.zeros(2), bound=0.01)
    assert lines_at(figure.axes[1]) == [(-2.0, 0.0, "bound 0.01")]
    assert lines_at(WRONG.plot(np.ones(2), np.zeros(2)).axes[1]) == []
    with pytest.raises(ValueError, match="the bound is 0"):
        WRONG.plot(np.ones(2), np.zeros(2), bound=0)


@needs_matplotlib
def test_an_error_map_is_drawn_with_its_distribution_and_the_bound():
    found = ErrorMap("softmax", "y", 7, "float32", [4, 64], 2, 2, [0.0, 0.5, None, 2.0], {"0": 100, "1e-01": 3, "1e+00": 5, "not finite": 2}, 0.25)
    heat, histogram = found.plot().axes[:2]
    shown = np.ma.filled(heat.images[0].get_array(), -1.0)
    assert shown.shape == (2, 2) and shown[0, 1] == 0.5 and not shown[1, 0] > 0 and list(heat.images[0].get_extent()) == [-0.5, 63.5, 3.5, -0.5]
    assert sorted((bar.get_x(), bar.get_height()) for bar in histogram.patches) == [(0.1, 3), (1.0, 5)]
    assert "8 errors, 102 zero or not finite" in histogram.get_title() and lines_at(histogram) == [(0.25, 0.0, "bound 0.25")]
    with pytest.raises(ValueError, match="none of its elements"):
        ErrorMap("softmax", "y").plot()


@needs_matplotlib
def test_an_op_of_a_run_is_drawn_by_size_and_strategy_with_the_bound_at_one():
    samples = [CaseSample(64, 0.1, 3.0, "unit", False), CaseSample(1, 0.0, 0.0, "zeros", True), CaseSample(8, 0.0, 0.5, "unit", True)]
    op = CiOp("gelu", "float16", cases=3, passed=2, failed=1, samples=samples)
    by_size, by_strategy = op.plot().axes
    passing, failing = (np.asarray(one.get_offsets()).tolist() for one in by_size.collections)
    assert failing == [[64.0, 3.0]] and passing == [[1.0, 1e-6], [8.0, 0.5]]
    assert [text.get_text() for text in by_strategy.get_yticklabels()] == ["unit", "zeros"]
    assert lines_at(by_size) == [(0.0, 1.0, "bound 1")] and lines_at(by_strategy) == [(1.0, 0.0, "bound 1")]
    summary = CiSummary(ops=[CiOp("relu", "float32", cases=1, passed=1), op])
    assert "gelu float16: 1 of 3" in summary.plot().axes[0].get_title()
    for wanted, why in (("relu", "no case has outputs"), ("swish", "the run has no op 'swish': it has relu, gelu")):
        with pytest.raises(ValueError, match=why):
            summary.plot(wanted)


def test_without_matplotlib_a_plot_says_what_to_install(monkeypatch):
    found = builtins.__import__

    def refuse(name, *args, **kwargs):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return found(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", refuse)
    for plot in (lambda: WRONG.plot(np.ones(3), np.zeros(3)), ErrorMap().plot, CiOp().plot):
        with pytest.raises(ImportError, match="pip install matplotlib"):
            plot()
