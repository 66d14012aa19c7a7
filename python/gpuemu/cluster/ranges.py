"""Divides a run into epochs, which are those of gpuemu, and epochs into chunks, which do not affect the results."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

_SIZES = (32, 32, 64, 64, 128, 128, 256, 256, 512, 512)
_LATER = 1024  # Cases of each epoch after the listed ones.
_BEGINS = tuple(sum(_SIZES[:i]) for i in range(len(_SIZES) + 1))
FIRST_FOLLOWING = 2  # Epochs before this one do not build on others.
CHUNK_LEAST = 16  # Smaller chunks cost more to send than they gain in balance.


def epoch_begin(epoch: int) -> int:
    """Returns the number of the first case of an epoch."""
    last = len(_SIZES)
    return _BEGINS[epoch] if epoch <= last else _BEGINS[last] + (epoch - last) * _LATER


def epoch_of(number: int) -> int:
    """Returns the epoch of a case."""
    last = len(_SIZES)
    if number >= _BEGINS[last]:
        return last + (number - _BEGINS[last]) // _LATER
    return next(epoch for epoch in range(last) if number < _BEGINS[epoch + 1])


@dataclass(frozen=True)
class Range:
    """Cases `first` to `last`, excluding `last`."""

    first: int
    last: int

    @property
    def count(self) -> int:
        return self.last - self.first

    def __str__(self) -> str:
        return f"{self.first}..{self.last - 1}"


def epochs(cases: int) -> Iterator[Range]:
    """Yields the epochs of a run of this many cases; the last one may be shortened."""
    epoch = 0
    while epoch_begin(epoch) < cases:
        yield Range(epoch_begin(epoch), min(epoch_begin(epoch + 1), cases))
        epoch += 1


def chunks(whole: Range, most: int, actors: int) -> list[Range]:
    """Divides an epoch into parts for this many actors, none of more than `most` cases."""
    size = min(most, max(CHUNK_LEAST, -(-whole.count // max(actors, 1))))
    return [Range(first, min(first + size, whole.last)) for first in range(whole.first, whole.last, size)]
