"""Random numbers of `cuda` devices: each has its own generator, separate from the CPU's, as on a GPU."""

from __future__ import annotations

import functools
import struct
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Generator as _Own

_STATE = struct.Struct("<QQ")  # The seed and the offset, which is what the state of a generator on a GPU consists of.
_STEP = 4  # A GPU's generator makes four numbers at a time, so that its offsets are multiples of it.
_MASK = (1 << 64) - 1


# By the address of torch's own object: operators get another Python object for it.
_made: weakref.WeakValueDictionary[int, Generator] = weakref.WeakValueDictionary()


class _Both(type(_Own)):  # type: ignore[misc]
    """Makes isinstance() accept torch's generators as instances of the class below."""

    def __instancecheck__(cls, made: object) -> bool:
        return isinstance(made, _Own)


class Generator(_Own, metaclass=_Both):  # type: ignore[misc]
    """A torch.Generator that can belong to a device `cuda`. Its state is a GPU's: a seed, and an offset that each operator which draws
    numbers advances. The numbers are those of a CPU generator that starts anew from the two."""

    index: int
    start: int
    offset: int

    def __new__(cls, device: Any = "cpu") -> Any:
        where = torch.device(device)
        if where.type != "cuda":
            return _Own(device=where)
        from gpuemu.torch.driver import driver

        made = super().__new__(cls, device="cpu")
        made.index = driver().device if where.index is None else where.index
        made.start, made.offset = _Own.initial_seed(made), 0
        _made[made._cdata] = made
        return made

    def __init__(self, device: Any = "cpu") -> None: ...

    def __reduce__(self) -> Any:
        return _unpickled, (self.index, self.start, self.offset)

    @property
    def device(self) -> torch.device:
        return torch.device("cuda", self.index)

    def manual_seed(self, seed: int) -> Generator:
        super().manual_seed(seed)
        self.start, self.offset = _Own.initial_seed(self), 0
        return self

    def seed(self) -> int:
        self.start, self.offset = super().seed(), 0
        return self.start

    def initial_seed(self) -> int:
        return self.start

    def get_offset(self) -> int:
        return self.offset

    def set_offset(self, offset: int) -> None:
        if offset % _STEP:
            raise RuntimeError(f"offset must be a multiple of {_STEP}")
        self.offset = offset & _MASK

    def get_state(self) -> torch.Tensor:
        return torch.frombuffer(bytearray(_STATE.pack(self.start, self.offset)), dtype=torch.uint8)

    def set_state(self, state: torch.Tensor) -> Generator:
        if state.dtype != torch.uint8 or state.device.type != "cpu":
            raise TypeError("RNG state must be a torch.ByteTensor")
        given = bytes(state.tolist())
        if len(given) not in (8, _STATE.size):
            raise RuntimeError(f"RNG state is wrong size: it has {len(given)} bytes, and a generator of cuda {_STATE.size}: seed and offset")
        start, offset = _STATE.unpack(given.ljust(_STATE.size, b"\0"))  # The seed alone means the beginning.
        self.set_offset(offset)
        self.start = start
        return self

    def graphsafe_get_state(self) -> Generator:
        return self.clone_state()

    def graphsafe_set_state(self, state: Generator) -> Generator:
        self.start, self.offset = state.start, state.offset
        return self

    def clone_state(self) -> Generator:
        return _unpickled(self.index, self.start, self.offset)

    def next_seed(self) -> int:
        """Returns a seed for the CPU generator of the next operator. It depends on seed and offset alone, so that a state which is
        set again gives the same numbers again."""
        mixed = (self.start + self.offset * 0x9E3779B97F4A7C15) & _MASK
        if self.offset:  # The first operator has the numbers of a CPU generator with this seed.
            mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
            mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _MASK
        self.offset = (self.offset + _STEP) & _MASK
        return mixed


def _unpickled(index: int, start: int, offset: int) -> Generator:
    made: Generator = Generator(torch.device("cuda", index))
    made.start, made.offset = start, offset
    return made


def position(generator: torch.Generator, device: int | None = None) -> None:
    """Makes the generator ready for an operator on `cuda`. Raises a GPU's error for a generator of the CPU, and for one of another
    device than `device`; None: any will do, as for most operators of a GPU."""
    own = _made.get(generator._cdata)
    if own is None:
        raise RuntimeError(f"Expected a 'cuda' device type for generator but found '{generator.device.type}'")
    if device is not None and own.index != device:
        raise RuntimeError(f"Expected a 'cuda:{device}' generator device but found '{own.device}'")
    _Own.manual_seed(own, own.next_seed())


@functools.cache
def default(device: int) -> Generator:
    """Returns the generator that operators on this device use by default."""
    made: Generator = Generator(torch.device("cuda", device))
    return made.manual_seed(torch.default_generator.initial_seed())


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
    _Own.manual_seed(torch.default_generator, default(device).next_seed())
    try:
        yield
    finally:
        torch.default_generator.set_state(before)
