"""Runs the loops of values.py and rng.py as machine code, from the installed library libgpuemu-draws.so. It gives the same bits
as NumPy, which is used if the library is missing."""

from __future__ import annotations

import ctypes
import math
import os
import pathlib
from collections.abc import Sequence

import numpy as np

from gpuemu import installed
from gpuemu.tensors import Array

NAME = "libgpuemu-draws.so"
VERSION = 1  # Version of struct gpuemu_draws in common/rng/draws.h.
EXACT = 1 << 53
DISTRIBUTIONS = ("uniform", "normal", "log_uniform", "integer")
_PAIR = ctypes.c_uint64 * 2


class Draws(ctypes.Structure):
    """struct gpuemu_draws."""

    _fields_ = [
        ("state", _PAIR), ("distribution", ctypes.c_char_p), ("dtype", ctypes.c_char_p), ("first", ctypes.c_double),
        ("second", ctypes.c_double), ("factor", ctypes.c_double), ("fold", ctypes.c_int64), ("scale", ctypes.c_double),
        ("least", ctypes.c_double), ("most", ctypes.c_double), ("table", ctypes.c_void_p), ("special", ctypes.c_void_p),
        ("special_rows", ctypes.c_uint64), ("special_state", _PAIR), ("probability", ctypes.c_double),
    ]  # fmt: skip


class Library:
    """A loaded libgpuemu-draws.so. Raises OSError for another file or another version."""

    def __init__(self, path: str) -> None:
        self.path = path
        loaded = ctypes.CDLL(path)
        try:
            self._draw, version = loaded.gpuemu_draw, loaded.gpuemu_draws_version
        except AttributeError as problem:
            raise OSError(f"{path} is not {NAME}: {problem}") from problem
        version.restype = ctypes.c_uint32
        if version() != VERSION:
            raise OSError(f"{path} has version {version()}, expected {VERSION}")
        self._draw.argtypes, self._draw.restype = (ctypes.POINTER(Draws), ctypes.c_void_p, ctypes.c_uint64), ctypes.c_int

    def draw(self, wanted: Draws, made: Array) -> bool:
        """Fills a packed array. Returns False if the library cannot draw these values."""
        return bool(self._draw(ctypes.byref(wanted), made.ctypes.data, made.size) == 0)


def candidates() -> list[str]:
    """Returns the possible paths of the library: in this installation, else beside the folder of the gpuemu command."""
    found = [installed.NATIVE / "lib" / NAME]
    if beside := installed.find_program():
        found.append(pathlib.Path(beside).resolve().parent.parent / "lib" / NAME)
    return [str(one) for one in found if one.is_file()]


_library: Library | None = None
_searched = False


def library() -> Library | None:
    """Returns the library, loaded at the first call; None if it is not found or $GPUEMU_NATIVE_DRAWS is 0."""
    global _library, _searched
    if not _searched:
        _searched = True
        if os.environ.get("GPUEMU_NATIVE_DRAWS") != "0":
            for path in candidates():
                try:
                    _library = Library(path)
                    break
                except OSError:  # Built for another version of gpuemu; NumPy gives the same bits.
                    continue
    return _library


def can_draw(distribution: str, params: Sequence[float]) -> bool:
    """True if the draws fit into float64 without loss; 64-bit integers do not."""
    if distribution not in DISTRIBUTIONS or library() is None:
        return False
    return all(math.isfinite(one) for one in params) and (distribution != "integer" or all(abs(one) <= EXACT for one in params))


def draw(state: tuple[int, int], distribution: str, params: Sequence[float], dtype: str, made: Array, *, factor: float = 1.0,
         fold: int = 0, scale: float = 1.0, inside: tuple[float, float] = (-math.inf, math.inf), table: Array | None = None,
         special: Array | None = None, special_state: tuple[int, int] = (0, 1), probability: float = 0.0) -> bool:  # fmt: skip
    """Fills `made` with draws: multiplied by `factor`, folded (1: magnitudes, -1: negative magnitudes), scaled, clamped to
    `inside` and rounded, or as rows of `table`, one for each integer from the first of `params` on; then rows of `special`
    replace some. Returns False without changing anything if the library cannot do this. REQUIRES: can_draw; tables have the dtype
    of `made`."""
    loaded = library()
    if loaded is None:
        return False
    tables = [None if one is None else np.ascontiguousarray(one, dtype=made.dtype) for one in (table, special)]
    wanted = Draws(
        _PAIR(*state), distribution.encode(), dtype.encode(), float(params[0]), float(params[1]), factor, fold, scale, *inside,
        *(None if one is None else one.ctypes.data for one in tables), 0 if special is None else len(special), _PAIR(*special_state),
        probability,
    )  # fmt: skip
    return loaded.draw(wanted, made)
