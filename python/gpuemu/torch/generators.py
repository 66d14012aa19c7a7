"""Random numbers of `cuda` devices: a generator for each, apart from the CPU's, as on a GPU."""

from __future__ import annotations

import functools

import torch


@functools.cache
def default(device: int) -> torch.Generator:
    """The generator that operators on this device use unless they are given one."""
    made = torch.Generator(device="cpu")
    made.manual_seed(torch.default_generator.initial_seed())
    return made
