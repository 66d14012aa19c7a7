"""Tests how the progress of a job is shown: with a bar of tqdm, a line without tqdm, or a function of the caller."""

import sys

import pytest

from gpuemu.client.progress import listener
from gpuemu.client.records import JobStatus

STEPS = [JobStatus(1, "running", 0, 8, 0), JobStatus(1, "running", 3, 8, 1), JobStatus(1, "done", 8, 8, 2)]


def told(capsys):
    tell = listener(True, "softmax")
    for step in STEPS:
        tell(step)
    return capsys.readouterr().err


def test_tqdm_draws_the_bar_when_it_is_installed(capsys):
    pytest.importorskip("tqdm")
    said = told(capsys)
    last = said.rstrip().split("\r")[-1]
    assert "softmax: 100%" in last and "8/8" in last and "failing=2" in last and said.endswith("\n")


def test_without_tqdm_there_is_one_line(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    assert told(capsys) == "\rsoftmax: 0/8, 0 failing\rsoftmax: 3/8, 1 failing\rsoftmax: 8/8, 2 failing\n"


def test_a_function_of_the_caller_is_told_and_nobody_without_one():
    seen = []
    assert listener(seen.append, "x")(STEPS[1]) is None and seen == [STEPS[1]]
    assert listener(None, "x") is None and listener(False, "x") is None
