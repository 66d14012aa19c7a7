"""Selects kernels, logs calls, and measures their times."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import pathlib
import tempfile
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import gpuemu.runtime.errors as errors
import gpuemu.runtime.library as library
from gpuemu.runtime.memory import MemoryStatistics


@dataclass(frozen=True)
class Policy:
    """strategy: "first_supported" or "best_performance"; prefer: op to variant, overrides the strategy."""

    strategy: str = "first_supported"
    prefer: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.strategy, str):
            raise TypeError(f"strategy is of type {type(self.strategy).__name__}, expected a str")
        if self.strategy not in ("first_supported", "best_performance"):
            raise errors.InvalidArgumentError(f"strategy is '{self.strategy}', expected \"first_supported\" or \"best_performance\"")
        if not isinstance(self.prefer, Mapping):
            raise TypeError(f"prefer is of type {type(self.prefer).__name__}, expected a dict of ops and their variants")
        for op, variant in self.prefer.items():
            if not isinstance(op, str) or not isinstance(variant, str):
                raise TypeError(f"prefer has {op!r}: {variant!r}, expected the names of an op and its variant")
        object.__setattr__(self, "prefer", dict(self.prefer))

    def __hash__(self) -> int:
        return hash(self.to_json())

    def to_json(self) -> str:
        """Returns JSON with sorted keys."""
        return json.dumps({"prefer": self.prefer, "strategy": self.strategy}, sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Policy:
        """Reads a policy from JSON. Raises InvalidArgumentError for an unknown strategy or key."""
        if not isinstance(text, str):
            raise TypeError(f"text is of type {type(text).__name__}, expected JSON")
        return cls._of(_read_json(text))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Policy:
        """Reads a policy from a .toml or .json file."""
        place = pathlib.Path(path)
        if place.suffix not in (".toml", ".json"):
            raise errors.InvalidArgumentError(f"{place}: expected a file that ends in .toml or .json")
        try:
            text = place.read_text(encoding="utf-8")
        except FileNotFoundError:
            raise errors.NotFoundError(f"no file {place}") from None
        except (OSError, UnicodeDecodeError) as problem:
            raise errors.InvalidArgumentError(f"{place} cannot be read as text: {problem}") from None
        if place.suffix == ".json":
            return cls.from_json(text)
        try:
            import tomllib
        except ModuleNotFoundError:  # Python 3.10.
            raise errors.UnsupportedError(f"{place}: reading TOML needs Python 3.11; Device.set_policy() reads the file, or keep it as JSON") from None
        try:
            return cls._of(tomllib.loads(text))
        except tomllib.TOMLDecodeError as problem:
            raise errors.InvalidArgumentError(f"{place}: {problem}") from None

    @classmethod
    def _of(cls, given: Any) -> Policy:
        if not isinstance(given, dict):
            raise errors.InvalidArgumentError(f"the policy is of type {type(given).__name__}, expected an object with strategy and prefer")
        for key in given:
            if key not in ("strategy", "prefer"):
                raise errors.InvalidArgumentError(f"the policy has the unknown key '{key}', expected strategy or prefer")
        try:
            return cls(**given)
        except TypeError as problem:
            raise errors.InvalidArgumentError(f"the policy: {problem}") from None


def _read_json(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as problem:
        raise errors.InvalidArgumentError(f"the policy is not JSON: {problem}") from None


def policy_text(policy: Any) -> str:
    """Returns the JSON of an argument of set_policy that is not a path."""
    if isinstance(policy, str):
        _read_json(policy)  # Reports the position of an error.
        return policy
    if isinstance(policy, Policy):
        return policy.to_json()
    if isinstance(policy, Mapping):
        return json.dumps(dict(policy))
    raise TypeError(f"policy is of type {type(policy).__name__}, expected a Policy, a dict, JSON text or a path")


@dataclass(frozen=True)
class DispatchRecord:
    """One call of an op. inputs, outputs: shapes. dtypes: by letter of the op's operands, as {"T": "float32"}. stream:
    Stream.handle. thread: threading.get_native_id(). microseconds: on the device, if the log records times."""

    sequence: int
    op: str
    variant: str
    why: str
    inputs: list[tuple[int, ...]]
    outputs: list[tuple[int, ...]]
    dtypes: dict[str, str]
    stream: int
    thread: int
    captured: bool
    microseconds: float | None


class DispatchLog(library.Unique):
    """Records each call inside the block: Device.dispatch_log()."""

    def __init__(self, device: Any, times: bool, records_max: int) -> None:
        self._device, self._times, self._max = device, times, records_max
        self._handle: int | None = None
        self._records: list[DispatchRecord] = []
        self._dropped = self._skipped = self._skipped_dropped = 0

    @property
    def records(self) -> list[DispatchRecord]:
        """The first records_max records, in the order of the calls."""
        self._read()
        return list(self._records)

    @property
    def dropped(self) -> int:
        """Number of calls after those."""
        self._read()
        return self._dropped

    def clear(self) -> None:
        """Clears the records."""
        self._records, self._dropped = [], 0
        if self._handle is not None:
            before = self._handle
            self._handle = self._start()
            self._device._check("gpuemu_log_stop", before)

    def _start(self) -> int:
        made = ctypes.c_uint64()
        self._device._check("gpuemu_log_start", 1 if self._times else 0, min(self._max, 2**32 - 1), ctypes.byref(made))
        return made.value

    def _read(self) -> None:
        if self._handle is None or self._device.is_closed:
            return
        told = self._device._json("gpuemu_log_json", self._handle)
        self._dropped = told["dropped"]

        def shapes(one: list[list[int]]) -> list[tuple[int, ...]]:
            return [tuple(shape) for shape in one]

        self._records = [DispatchRecord(**{**one, "inputs": shapes(one["inputs"]), "outputs": shapes(one["outputs"])}) for one in told["records"]]

    def __enter__(self) -> DispatchLog:
        if self._handle is not None:
            raise errors.InvalidArgumentError("the log is running already; make another one")
        self._handle = self._start()
        self._device._watchers_change(1)
        return self

    def __exit__(self, *raised: Any) -> None:
        if self._handle is None or self._device.is_closed or library.is_forked():
            return
        self._device._watchers_change(-1)
        self._read()
        handle, self._handle = self._handle, None
        self._device._check("gpuemu_log_stop", handle)


@dataclass(frozen=True)
class Statistics:
    """The calls of one name, in microseconds."""

    count: int = 0
    total_us: float = 0.0
    mean_us: float = 0.0
    min_us: float = 0.0
    max_us: float = 0.0


@dataclass(frozen=True)
class MemoryProfile:
    """Memory in a profile. by_name: bytes by name at the peak of requested memory."""

    begin: MemoryStatistics
    end: MemoryStatistics
    peak_requested_bytes: int
    peak_reserved_bytes: int
    allocations: int
    frees: int
    by_name: dict[str, int]


_profiled_lock = threading.Lock()
_profiled: list[Any] = []  # Devices inside of a profile's block.


def profiled_devices() -> list[Any]:
    """Returns the devices that a profile of this process is measuring."""
    with _profiled_lock:
        return [device for device in _profiled if not device.is_closed]


class Profile(library.Unique):
    """Times ops and ranges inside the block; a device has one profile at a time: Device.profile(). Afterwards: ops, ranges,
    kernels (by name), memory, notes (missing data and the reasons)."""

    def __init__(self, device: Any, counters: bool) -> None:
        self._device, self._counters = device, counters
        self._told: dict[str, Any] | None = None
        self._trace = ""
        self.ops: dict[str, Statistics] = {}
        self.ranges: dict[str, Statistics] = {}
        self.kernels: dict[str, Statistics] = {}
        self.memory: MemoryProfile | None = None
        self.notes: list[str] = []

    def range(self, name: str) -> Range:
        """Returns a range of this thread in the profile."""
        return Range(lambda: [self._device], name)

    def to_json(self) -> str:
        """Returns all counts, including those of kernels if counters were on."""
        return json.dumps(self._ended(), sort_keys=True)

    def save_trace(self, path: str | os.PathLike[str]) -> None:
        """Writes a Chrome trace for Perfetto, with a track for memory."""
        self._ended()
        pathlib.Path(path).write_text(self._trace, encoding="utf-8")

    def _ended(self) -> dict[str, Any]:
        if self._told is None:
            raise errors.InvalidArgumentError("the profile has not ended: read it behind its with block")
        return self._told

    def __enter__(self) -> Profile:
        self._device._drop_spares()  # Spares are not part of the measured block.
        try:
            self._device._check("gpuemu_profile_start", 1 if self._counters else 0)
        except errors.InvalidArgumentError as problem:
            if isinstance(problem, errors.ReleasedError):
                raise
            raise errors.InvalidArgumentError(f"{self._device.name} is profiled already; one profile at a time: leave the other block first") from None
        self._device._watchers_change(1)
        self._begin = self._device.memory_statistics()
        with _profiled_lock:
            _profiled.append(self._device)
        return self

    def __exit__(self, *raised: Any) -> None:
        if library.is_forked():
            return
        with _profiled_lock:
            _profiled.remove(self._device)
        if self._device.is_closed:
            return
        self._device._watchers_change(-1)
        with tempfile.TemporaryDirectory() as folder:
            trace = pathlib.Path(folder, "trace.json")
            self._device._check("gpuemu_profile_stop", os.fsencode(trace), None)
            self._trace = trace.read_text(encoding="utf-8")
        told = self._device._json("gpuemu_profile_json")
        end = self._device.memory_statistics()
        self.memory = MemoryProfile(begin=self._begin, end=end, **told["memory"])
        told["memory"] = {**told["memory"], "begin": vars(self._begin), "end": vars(end)}
        self.ops, self.ranges, self.kernels = (_by_name(told[part]) for part in ("ops", "ranges", "kernels"))
        self.notes, self._told = told["notes"], told


def _by_name(told: list[dict[str, Any]]) -> dict[str, Statistics]:
    return {
        one["name"]: Statistics(one.get("count", one.get("launches", 0)), one["total_us"], one["mean_us"], one["min_us"], one["max_us"])
        for one in told
    }


class Range(library.Unique):
    """A named range of a thread's time in the profiles of the devices that `devices` returns when the range begins; does nothing
    without a profile."""

    def __init__(self, devices: Callable[[], list[Any]], name: str) -> None:
        if not isinstance(name, str):
            raise TypeError(f"name is of type {type(name).__name__}, expected a str")
        self._devices, self._name = devices, name
        self._begun: list[contextlib.ExitStack] = []  # A range may be entered again inside itself.

    def __enter__(self) -> Range:
        with contextlib.ExitStack() as begun:
            for device in self._devices():
                device._context.call(device._library.gpuemu_range_begin, self._name.encode())
                begun.callback(_end_range, device)
            self._begun.append(begun.pop_all())
        return self

    def __exit__(self, *raised: Any) -> None:
        self._begun.pop().close()


def _end_range(device: Any) -> None:
    if not device.is_closed:
        device._context.call(device._library.gpuemu_range_end)
