"""Random numbers of `cuda` devices: each has its own generator, separate from the CPU's, as on a GPU."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Generator as _Own


class _Both(type(_Own)):  # type: ignore[misc]
    """Makes isinstance() accept torch's generators as instances of the class below."""

    def __instancecheck__(cls, made: object) -> bool:
        return isinstance(made, _Own)


class Generator(_Own, metaclass=_Both):  # type: ignore[misc]
    """A torch.Generator that can belong to a device `cuda`. Its numbers are those of a CPU generator."""

    index: int

    def __new__(cls, device: Any = "cpu") -> Any:
        where = torch.device(device)
        if where.type != "cuda":
            return _Own(device=where)
        from gpuemu.torch.driver import driver

        made = super().__new__(cls, device="cpu")
        made.index = driver().device if where.index is None else where.index
        return made

    def __init__(self, device: Any = "cpu") -> None: ...

    @property
    def device(self) -> torch.device:
        return torch.device("cuda", self.index)

    def clone_state(self) -> Generator:
        made: Generator = Generator(self.device)
        made.set_state(self.get_state())
        return made


@functools.cache
def default(device: int) -> torch.Generator:
    """Returns the generator that operators on this device use by default."""
    made: torch.Generator = Generator(torch.device("cuda", device))
    made.manual_seed(torch.default_generator.initial_seed())
    return made


class Defaults(Sequence[torch.Generator]):
    """torch.cuda.default_generators: the default generator of each device."""

    def __len__(self) -> int:
        from gpuemu.torch.driver import driver

        return driver().count

    def __getitem__(self, device: Any) -> Any:
        return default(range(len(self))[device])


@contextmanager
def borrowed(device: int) -> Iterator[None]:
    """Makes operators that take no generator draw from the device's instead of the CPU's."""
    before = torch.default_generator.get_state()
    torch.default_generator.set_state(default(device).get_state())
    try:
        yield
    finally:
        default(device).set_state(torch.default_generator.get_state())
        torch.default_generator.set_state(before)
