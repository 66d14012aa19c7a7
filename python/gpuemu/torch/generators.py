"""Random numbers of `cuda` devices: a generator for each, apart from the CPU's, as on a GPU."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager

import torch


@functools.cache
def default(device: int) -> torch.Generator:
    """The generator that operators on this device use unless they are given one."""
    made = torch.Generator(device="cpu")
    made.manual_seed(torch.default_generator.initial_seed())
    return made


@contextmanager
def borrowed(device: int) -> Iterator[None]:
    """Lets operators that take no generator draw from the device's, in place of the CPU's."""
    before = torch.default_generator.get_state()
    torch.default_generator.set_state(default(device).get_state())
    try:
        yield
    finally:
        default(device).set_state(torch.default_generator.get_state())
        torch.default_generator.set_state(before)
