"""Finds libgpuemu, loads it into this process once, and calls its functions."""

from __future__ import annotations

import ctypes
import functools
import json
import os
import pathlib
import sys
import threading
from typing import Any, NoReturn

import gpuemu
from gpuemu import installed
import gpuemu.runtime.errors as errors
import gpuemu.runtime.structs as structs

NAME = "libgpuemu.so.1"
ABI = 2  # Version of the header with the functions that this module uses.


class _State:
    """The state of the process."""

    lock = threading.Lock()
    loaded: Library | None = None
    forked = False


class OfThread(threading.local):
    """The state of each thread."""

    def __init__(self) -> None:
        self.devices: list[Any] = []  # The last one is current.


of_thread = OfThread()


def _refuse(why: str, *_: Any) -> Any:
    raise errors.UnsupportedError(why)


class Library:
    """The loaded library. Functions are attributes, by their C names."""

    def __init__(self, path: str) -> None:
        self.path = path
        try:
            self._loaded = ctypes.CDLL(path)
        except OSError as problem:
            # An installed package finds the library in the wheel or beside its command; this is neither.
            how = "" if os.path.sep in path else "; set GPUEMU_LIBRARY to its path, or install the wheel of gpuemu, which has it"
            raise errors.UnsupportedError(f"{path} cannot be loaded: {problem}{how}") from None
        for name, takes in structs.FUNCTIONS.items():
            setattr(self, name, self._bound(name, takes))
        self._lacks: set[str] = set()
        for name, takes in structs.LATER.items():
            try:
                setattr(self, name, self._bound(name, takes))
            except errors.UnsupportedError as problem:
                self._lacks.add(name)
                setattr(self, name, functools.partial(_refuse, str(problem)))

    def _bound(self, name: str, takes: list[Any]) -> Any:
        try:
            function = getattr(self._loaded, name)
        except AttributeError:
            raise errors.UnsupportedError(
                f"{self.path} has no function {name}: it is version {self._version()}, and this package, version {gpuemu.__version__}, "
                f"needs interface {ABI}") from None  # fmt: skip
        function.argtypes = takes
        function.restype = structs.RESULTS.get(name, ctypes.c_int)
        return function

    def has(self, name: str) -> bool:
        """True if it has a function of structs.LATER."""
        return name not in self._lacks

    def _version(self) -> str:
        try:
            number = self._loaded.gpuemu_abi_version
            number.restype = ctypes.c_uint32
            told = self._loaded.gpuemu_version if hasattr(self._loaded, "gpuemu_version") else None
            if told is not None:
                told.restype = ctypes.c_char_p
            return f"{told().decode() if told is not None else 'unknown'} with interface {number()}"
        except AttributeError:
            return "unknown"

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)

    def last_error(self) -> str:
        """Returns the error of this thread's last call that failed."""
        said: bytes = self.gpuemu_last_error()
        return said.decode("utf-8", "replace")

    def check(self, code: int) -> None:
        """Raises the error of a code; the device explains that of a faulting kernel."""
        if code != 0:
            raise errors.of_code(code, self.last_error())

    def json(self, function: Any, *arguments: Any) -> Any:
        """Returns the JSON text of a function, parsed."""
        return json.loads(self.text(function, *arguments))

    def text(self, function: Any, *arguments: Any) -> str:
        """Returns the text of a function with (to, room, bytes)."""
        room, needed = 4096, ctypes.c_size_t()
        while True:
            buffer = ctypes.create_string_buffer(room)
            code = function(*arguments, buffer, room, ctypes.byref(needed))
            if code != errors.RESOURCE_EXHAUSTED or needed.value <= room:
                self.check(code)
                return buffer.value.decode()
            room = needed.value


def find() -> str:
    """Returns the path of the library: $GPUEMU_LIBRARY, in this package, beside the gpuemu command, or where the system finds its
    name."""
    if named := os.environ.get("GPUEMU_LIBRARY"):
        return named
    places = [installed.NATIVE / "lib" / "gpuemu" / NAME]
    if command := installed.find_program():
        places.append(pathlib.Path(command).resolve().parent.parent / "lib" / "gpuemu" / NAME)
    return str(next((path for path in places if path.is_file()), NAME))


def refuse_forked() -> None:
    """Raises ForkedError in a child of a process that had loaded the library."""
    if _State.forked:
        raise errors.ForkedError("this process was forked from one that used a device: start it anew (multiprocessing: "
                                 "set_start_method(\"spawn\")), or use devices in one of the two alone")  # fmt: skip


def is_forked() -> bool:
    """True if closing and destructors must do nothing."""
    return _State.forked


def load() -> Library:
    """Returns the library of this process."""
    if _State.forked:
        refuse_forked()
    made = _State.loaded
    if made is not None:
        return made
    with _State.lock:
        if _State.loaded is None:
            _State.loaded = Library(find())
            os.register_at_fork(after_in_child=_after_fork)
        return _State.loaded


def _after_fork() -> None:
    _State.forked = True
    _State.lock = threading.Lock()


class Context:
    """A gpuemu_context, and how many threads are in calls with it: it is destroyed when none is."""

    def __init__(self, options: structs.Options, name: str) -> None:
        self.library, self.name = load(), name
        made = ctypes.c_void_p()
        self.library.check(self.library.gpuemu_context_create(ctypes.byref(options), ctypes.byref(made)))
        self._handle = made
        self._lock = threading.RLock()  # Destructors may call while the lock is held.
        self._changed = threading.Condition(self._lock)
        self._inside: list[None] = []  # One for each call. Appending and removing need no lock, which every op would pay for.
        self._held = 0
        self._is_destroyed = False
        self.is_closed = False

    def enter(self) -> ctypes.c_void_p:
        """Returns the handle, which stays valid until leave(). Raises ReleasedError when the device is closed."""
        if _State.forked:
            refuse_forked()
        self._inside.append(None)  # Before the look: close() waits until nobody is inside.
        if self.is_closed:
            self._refuse()
        return self._handle

    def leave(self) -> None:
        """Ends what enter() began."""
        self._inside.pop()
        if self.is_closed:
            with self._lock:
                self._changed.notify_all()

    def _refuse(self) -> NoReturn:
        self.leave()
        self._destroy_if_unused()  # It was not unused meanwhile.
        raise errors.ReleasedError(f"the device {self.name} is closed")

    def call(self, function: Any, *arguments: Any) -> int:
        """Returns the code of a function that takes the context first. enter() and leave() are inlined, because every free calls
        this."""
        if _State.forked:
            refuse_forked()
        inside = self._inside
        inside.append(None)
        if self.is_closed:
            self._refuse()
        try:
            code: int = function(self._handle, *arguments)
            return code
        finally:
            inside.pop()
            if self.is_closed:
                with self._lock:
                    self._changed.notify_all()

    def check(self, function: Any, *arguments: Any) -> None:
        """Like call(), but raises the error of the code."""
        handle = self.enter()
        try:
            code = function(handle, *arguments)
            if code != 0:
                raise errors.of_code(code, self.library.last_error())
        finally:
            self.leave()

    def text(self, function: Any, *arguments: Any) -> str:
        """Returns the text of a function."""
        handle = self.enter()
        try:
            return self.library.text(function, handle, *arguments)
        finally:
            self.leave()

    def close(self) -> bool:
        """Destroys the context when the last call has returned; returns False if it was already destroyed. Waits for all work."""
        if _State.forked:
            return False
        with self._lock:
            if self.is_closed:
                return False
            self.is_closed = True
            while self._inside:
                self._changed.wait()
            held = self._held
        if held:
            self.library.gpuemu_context_synchronize(self._handle)
        self._destroy_if_unused()
        return True

    def hold(self) -> None:
        """Keeps the context's memory for a user outside, including after close(), until let_go()."""
        with self._lock:
            self._held += 1

    def let_go(self) -> None:
        """Ends what hold() began."""
        with self._lock:
            self._held -= 1
        self._destroy_if_unused()

    def _destroy_if_unused(self) -> None:
        with self._lock:
            if not self.is_closed or self._held or self._inside or self._is_destroyed:
                return
            self._is_destroyed = True
        self.library.gpuemu_context_destroy(self._handle)

    def __del__(self, is_finalizing: Any = sys.is_finalizing) -> None:
        # A daemon thread that is in a call when the interpreter ends never returns from it.
        if hasattr(self, "is_closed") and not (is_finalizing() and self._inside):
            self.close()


class Unique:
    """An object that represents a resource of a device: it can be neither pickled nor copied."""

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(f"a {type(self).__name__} can be neither pickled nor copied: it belongs to a device of this process")

    def __copy__(self) -> Any:
        return self.__reduce_ex__(4)

    def __deepcopy__(self, memo: Any) -> Any:
        return self.__reduce_ex__(4)
