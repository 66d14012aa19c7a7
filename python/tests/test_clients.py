"""Tests that the blocking and the asyncio client have the same calls."""

import inspect

import pytest

pytest.importorskip("pynng")
import gpuemu  # noqa: E402

PUBLIC = [name for name, one in vars(gpuemu.Client).items() if callable(one) and not name.startswith("_")]


@pytest.mark.parametrize("name", PUBLIC)
def test_every_method_takes_the_same_arguments_and_is_a_coroutine(name):
    waiting = getattr(gpuemu.AsyncClient, name)
    assert inspect.signature(waiting) == inspect.signature(getattr(gpuemu.Client, name))
    assert inspect.iscoroutinefunction(waiting) == (name != "close")
    assert len(PUBLIC) > 20
