"""A device in a separate process (gpuemu-device): the emulator, or a GPU. A kernel that crashes that process does not crash
yours; the next request starts another one.

    device = gpuemu.Device()                  # the emulator as an sm_80
    address = device.allocate(1024, "x")
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import warnings
import weakref
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gpuemu import pipes
from gpuemu.device.places import Place
from gpuemu.errors import DeviceError, DeviceLostError

_NO_GENERATION = 0  # Generation of a module that is in no process.
_STATELESS = ("open", "compile")  # For these, "Unavailable" does not mean a lost device: the GPU or the compiler does not exist.


def program() -> str:
    """Returns the path of gpuemu-device: $GPUEMU_DEVICE, else beside the gpuemu command, else in PATH."""
    if found := pipes.find("gpuemu-device", "GPUEMU_DEVICE"):
        return found
    raise DeviceError("no gpuemu-device beside the gpuemu command or in PATH; set GPUEMU_DEVICE to the program")


@dataclass
class Report:
    """The result of a launch. `profile`: counts per source line, if requested and supported by the device."""

    findings: list[Place] = field(default_factory=list)
    printed: list[str] = field(default_factory=list)
    thread_instructions: int = 0
    elapsed_ns: int = 0
    profile: list[dict[str, Any]] = field(default_factory=list)


@dataclass
class Parameter:
    name: str
    bytes: int
    type: str  # PTX type: "u64", "f32"; "" for structures.


@dataclass
class Entry:
    """A kernel of a module, with its parameters in order."""

    name: str
    params: list[Parameter]
    static_shared_bytes: int = 0
    required_block: tuple[int, ...] = (0, 0, 0)
    max_block: tuple[int, ...] = (0, 0, 0)


@dataclass
class Module:
    """PTX that a device has loaded. `generation`: the process that loaded it; if that process has ended, the module is loaded
    again, and so is a copy or an unpickled module."""

    ptx: str
    name: str
    number: int
    entries: dict[str, Entry]
    generation: int
    source: str = ""  # Its CUDA C++ if known; it shows which constants the host has to set.
    unset: tuple[str, ...] = ()  # Constants that the host has not set.

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "number": 0, "generation": _NO_GENERATION}


class Address(int):
    """An address of a buffer, with the process that it belongs to: another process gives the same numbers to other buffers."""

    generation: int

    @classmethod
    def of(cls, address: int, generation: int) -> Address:
        made = cls(address)
        made.generation = generation
        return made


class Device:
    """backend: "emulator", "cuda" or "auto" (a GPU if one answers). index: which GPU, or which of the emulated devices of
    GPUEMU_EMULATED_DEVICES. arch: the architecture to emulate, "sm_80"; None: that of the device. memory_limit_bytes: for all
    buffers together. Thread-safe: it runs one request at a time."""

    def __init__(self, backend: str = "emulator", *, arch: str | None = None, index: int = 0, threads: int = 0,
                 memory_limit_bytes: int = 8 << 30) -> None:  # fmt: skip
        self.arch, self.memory_limit_bytes = arch, memory_limit_bytes
        self._wanted = {"backend": backend, "index": index, "sm": 0 if arch is None else _number(arch), "threads": threads,
                        "memory_limit_bytes": memory_limit_bytes}  # fmt: skip
        self._lock = threading.RLock()
        self._said: set[str] = set()  # Warnings of modules that were told.
        self._is_shared = False
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = 0
        self.generation = 0
        self._properties: dict[str, Any] = {}
        self._end: weakref.finalize[Any, Device] | None = None
        # Modules without references. The garbage collector may run in the middle of a request, so it only adds them here.
        self._dropped: deque[dict[str, Any]] = deque()

    @property
    def properties(self) -> dict[str, Any]:
        """Returns backend, name, sm, memory_bytes, memory_free_bytes, multiprocessors, driver_version, checks_bounds."""
        with self._lock:
            self._start()
            return dict(self._properties)

    def close(self) -> None:
        """Ends the process; buffers and modules are lost. The next request starts another one."""
        with self._lock:
            end, self._process = self._end, None
            if end is not None:
                end()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles the kind of the device: another process gets a new, empty device of that kind."""
        return _made_again, (self._wanted, self.arch, self._is_shared)

    def __copy__(self) -> Device:
        """Returns the device itself, because a process cannot be copied: copies of its users share it."""
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Device:
        return self

    def __enter__(self) -> Device:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- requests

    def _start(self) -> None:
        if self._process is not None and self._owner == os.getpid():
            return
        self._process = pipes.start(program())
        self._owner = os.getpid()
        self._end = weakref.finalize(self, pipes.end, self._process, self._owner)
        self.generation += 1
        try:
            self._properties = self._exchange({"request": "open", **self._wanted})[0]
        except BaseException:
            self.close()
            raise

    def _exchange(self, request: dict[str, Any], data: Any = b"") -> tuple[dict[str, Any], bytes]:
        process = self._process
        assert process is not None
        try:
            reply, data = pipes.exchange(process, request, data)
        except UnicodeEncodeError:
            raise DeviceError(f"'{request['request']}' has a text with a lone surrogate, which is no Unicode", "InvalidArgument") from None
        except pipes.BROKEN as problem:
            self.close()
            raise DeviceLostError(
                f"the device's process {_end_of(process)} during '{request['request']}': "
                "its buffers and modules are gone; the next launch starts another one"
            ) from problem
        except BaseException:
            process.kill()  # After Ctrl-C in the middle of an answer the stream cannot be used.
            self.close()
            raise
        if "error" not in reply:
            return reply, data
        told = reply["error"]
        if told["code"] == "Unavailable" and request["request"] not in _STATELESS:
            self.close()  # After a crash of a kernel the GPU answers nothing in that process.
            raise DeviceLostError(f"{told['message']}: its buffers and modules are gone; the next launch starts another process", told["code"])
        raise DeviceError(told["message"], told["code"])

    def _ask(self, request: str, data: Any = b"", **members: Any) -> tuple[dict[str, Any], bytes]:
        with self._lock:
            self._unload_dropped()
            self._insist([members.get("address", 0)])
            self._start()
            return self._exchange({"request": request, **members}, data)

    def _unload_dropped(self) -> None:
        while self._dropped:
            module = self._dropped.popleft()
            if self._process is not None and self._owner == os.getpid() and module["generation"] == self.generation:
                with contextlib.suppress(DeviceError):  # A version of gpuemu-device that lacks this request keeps the module.
                    self._exchange({"request": "unload", "module": module["number"]})

    def _insist(self, addresses: Iterable[int]) -> None:
        """Raises DeviceLostError if a buffer belongs to a process that has ended."""
        if any(isinstance(one, Address) and not self._has(one) for one in addresses):
            raise DeviceLostError("a buffer went with the process that had it, which ended meanwhile: allocate and fill it again")

    def _has(self, address: Address) -> bool:
        return self._process is not None and self._owner == os.getpid() and address.generation == self.generation

    def allocate(self, size: int, name: str = "buffer") -> Address:
        """Returns the address of `size` bytes with undefined content; findings use the name."""
        with self._lock:
            return Address.of(self._ask("allocate", bytes=size, name=name)[0]["address"], self.generation)

    def free(self, address: int) -> None:
        """Frees a buffer. Does nothing if its process has ended."""
        with self._lock:
            if not isinstance(address, Address) or self._has(address):
                self._ask("free", address=address)

    def upload(self, address: int, data: Any) -> None:
        """Writes `data`, bytes or a contiguous array, to the address."""
        self._ask("upload", memoryview(data).cast("B") if len(data) else b"", address=address)

    def download(self, address: int, size: int) -> bytes:
        """Returns `size` bytes at the address."""
        return self._ask("download", address=address, bytes=size)[1]

    def compile(self, path: str, source: str = "", *, flags: Sequence[str] = (), include_dirs: Sequence[str] = (),
                names: Sequence[str] = ()) -> tuple[str, dict[str, str]]:  # fmt: skip
        """Compiles CUDA C++ to PTX; returns it with the entry of every name ("scale", "softmax<float>"). Each content is compiled
        once."""
        made, _ = self._ask("compile", path=path, source=source, arch=self._arch(), flags=list(flags),
                            include_dirs=list(include_dirs), name_expressions=list(names), cache_folder=_cache())  # fmt: skip
        return made["ptx"], made["lowered"]

    def _arch(self) -> str:
        emulated = self.properties["backend"] != "cuda"
        return self.arch if emulated and self.arch is not None else f"sm_{self.properties['sm']}"

    def load(self, ptx: str, name: str = "module", source: str = "") -> Module:
        """Loads PTX. The module is unloaded when nothing refers to it."""
        with self._lock:
            made = self._load(ptx, name, source)
            for warning in made.get("warnings", ()):
                said = f"{name}: {warning}"
                if said not in self._said:  # Each kernel of a file may have the same.
                    warnings.warn(said, stacklevel=3)
                    self._said.add(said)
            entries = {
                key: Entry(key, [Parameter(**one) for one in entry["params"]], entry["static_shared_bytes"],
                           tuple(entry["required_block"]), tuple(entry["max_block"]))
                for key, entry in made["entries"].items()
            }  # fmt: skip
            module = Module(ptx, name, made["module"], entries, self.generation, source, tuple(made.get("unset", ())))
            self._unload_with(module)
            return module

    def _unload_with(self, module: Module) -> None:
        # The finalizer keeps the module's members, with the last number of the module.
        weakref.finalize(module, self._dropped.append, vars(module)).atexit = False

    def _load(self, ptx: str, name: str, source: str) -> dict[str, Any]:
        return self._ask("load", ptx.encode(), name=name, source=source)[0]

    def launch(self, module: Module, entry: str, grid: Sequence[int], block: Sequence[int], args: Sequence[bytes], *,
               shared_bytes: int = 0, timeout_ms: int = 30000, sanitize: Sequence[str] | None = None,
               profile: bool = False, buffers: Iterable[int] = (), symbols: Mapping[str, bytes] | None = None) -> Report:  # fmt: skip
        """Launches a kernel. `args`: the bytes of every parameter; `buffers`: the addresses among them; `symbols`: values for
        variables, set before the launch. Raises DeviceLostError if the process of a buffer has ended. The findings of a faulty
        kernel are in the report."""
        with self._lock:
            self._unload_dropped()
            self._insist(buffers)
            self._start()
            if module.generation != self.generation:
                if module.generation == _NO_GENERATION:
                    self._unload_with(module)
                module.number, module.generation = self._load(module.ptx, module.name, module.source)["module"], self.generation
            reply, _ = self._exchange(
                {"request": "launch", "module": module.number, "entry": entry, "grid": list(grid), "block": list(block),
                 "shared_bytes": shared_bytes, "timeout_ms": timeout_ms, "profile": profile,
                 "sanitize": None if sanitize is None else list(sanitize), "arg_bytes": [len(one) for one in args],
                 "symbols": [{"name": key, "bytes": len(value)} for key, value in (symbols or {}).items()]},
                b"".join([*args, *(symbols or {}).values()]),
            )  # fmt: skip
            if reply.get("lost"):
                self.close()  # The report is complete; everything else was lost with the GPU's context.
        places = [Place(**{**one, "block": tuple(one["block"]), "thread": tuple(one["thread"])}) for one in reply["findings"]]
        return Report(places, reply["printed"], reply["thread_instructions"], reply["elapsed_ns"], reply["profile"])


def _end_of(process: subprocess.Popen[bytes]) -> str:
    if process.returncode == -signal.SIGKILL:
        return ("was killed, probably because this machine was out of memory (pass smaller arrays, or end what else uses memory; "
                "gpuemu.Device(memory_limit_bytes=...) refuses what would be too much),")  # fmt: skip
    return f"ended (status {process.returncode})"


def _number(arch: str) -> int:
    digits = str(arch).removeprefix("sm_").rstrip("af")
    if not isinstance(arch, str) or not digits.isdigit():
        raise ValueError(f"{arch!r} is no architecture; expected one such as sm_80 or sm_90")
    return int(digits)


def _cache() -> str:
    return os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "gpuemu")


_devices: dict[tuple[str, str], Device] = {}
_devices_lock = threading.Lock()


def shared_device(backend: str = "emulator", arch: str = "sm_80") -> Device:
    """Returns the shared device of this process for a backend and an architecture."""
    with _devices_lock:
        if (backend, arch) not in _devices:
            _devices[backend, arch] = Device(backend, arch=arch)
            _devices[backend, arch]._is_shared = True
        return _devices[backend, arch]


def _made_again(wanted: dict[str, Any], arch: str | None, is_shared: bool) -> Device:
    """Recreates a device for pickle."""
    if is_shared and arch is not None:
        return shared_device(wanted["backend"], arch)
    return Device(wanted["backend"], arch=arch, index=wanted["index"], threads=wanted["threads"], memory_limit_bytes=wanted["memory_limit_bytes"])
