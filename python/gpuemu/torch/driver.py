"""The emulated driver for tensors: memory, streams and events through the published driver API, with ctypes.

Device memory has the same address on the host, so that operators of torch can read and write it directly.
"""

from __future__ import annotations

import ctypes
import functools
import threading
from typing import Any

LIBRARY = "libcuda.so.1"
_POINTER = ctypes.c_uint64
_OUT_OF_MEMORY = 2
_NO_DEVICE = 100
_FAULTS_MOST = 1000  # Most errors that settle() clears: with --on-finding sticky every call fails.
_NO_CALL = "gpuemu.torch needs gpuemu's {library}; start the program with `gpuemu run -- python ...`"


class Driver:
    """The loaded library. Calls raise RuntimeError with CUDA's error text; thread-safe."""

    def __init__(self) -> None:
        try:
            self._library = ctypes.CDLL(LIBRARY)
        except OSError as problem:
            raise RuntimeError(_NO_CALL.format(library=LIBRARY) + f" ({problem})") from None
        self._contexts: dict[int, ctypes.c_void_p] = {}
        self._thread = threading.local()
        self._late = 0  # The error of a kernel that cuMemFree returned.
        self.count = 0
        self._library.gpuemu_host_uses_device_memory()
        self._library.gpuemu_next_released.restype = ctypes.c_void_p
        code = self.code("cuInit", 0)
        if code == _NO_DEVICE:  # CUDA_VISIBLE_DEVICES hides all devices.
            return
        if code:
            raise error_of(self.text(code), code)
        self.count = self._number("cuDeviceGetCount")

    def address_of(self, name: str) -> int:
        """Returns the address of a function of the library."""
        return ctypes.cast(getattr(self._library, name), ctypes.c_void_p).value or 0

    def next_released(self) -> int | None:
        """Returns the address of a DLPack structure that was released, each once; None if there is none."""
        found: int | None = self._library.gpuemu_next_released()
        return found

    def code(self, name: str, *args: Any) -> int:
        """Calls a function and returns its result code."""
        return int(getattr(self._library, name)(*args))

    def call(self, name: str, *args: Any) -> None:
        """Calls a function. Raises RuntimeError unless it succeeds."""
        code = self.code(name, *args)
        if code:
            raise error_of(self.text(code), code)

    def text(self, code: int) -> str:
        found = ctypes.c_char_p()
        self._library.cuGetErrorString(code, ctypes.byref(found))
        return (found.value or b"unknown error").decode()

    def _number(self, name: str, *args: Any) -> int:
        made = ctypes.c_int()
        self.call(name, ctypes.byref(made), *args)
        return made.value

    @property
    def version(self) -> tuple[int, int]:
        """Returns the version of CUDA: (13, 0)."""
        number = self._number("cuDriverGetVersion")
        return number // 1000, number % 1000 // 10

    @property
    def device(self) -> int:
        """Returns the current device of this thread."""
        return getattr(self._thread, "device", 0)

    def use(self, device: int) -> None:
        """Makes the primary context of a device this thread's current one."""
        if getattr(self._thread, "device", None) == device:
            return
        if not 0 <= device < self.count:
            raise error_of("invalid device ordinal", 101)
        if device not in self._contexts:
            context = ctypes.c_void_p()
            self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
            self._contexts[device] = context
        self.call("cuCtxSetCurrent", self._contexts[device])
        self._thread.device = device

    def allocate(self, size: int, device: int) -> int:
        """Allocates `size` bytes, which are undefined until written; returns the address."""
        before = self.device
        self.use(device)
        try:
            address = _POINTER()
            code = self.code("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(size))
            if code == _OUT_OF_MEMORY:
                raise _out_of_memory(size, device)
            if code:
                raise error_of(self.text(code), code)
            return address.value
        finally:
            self.use(before)

    def free(self, address: int) -> None:
        code = self.code("cuMemFree_v2", _POINTER(address))
        if code and not self._late:  # Another kernel failed; the next wait raises it, as freeing cannot.
            self._late = code

    def free_host(self, address: int) -> None:
        """Frees pinned memory."""
        code = self.code("cuMemFreeHost", ctypes.c_void_p(address))
        if code and not self._late:
            self._late = code

    def write(self, address: int, source: int, size: int) -> None:
        """Copies from the host. If source and address are equal, only marks the bytes as written by the host."""
        if size:
            self.use(self.device)
            self.call("cuMemcpyHtoD_v2", _POINTER(address), ctypes.c_void_p(source), ctypes.c_size_t(size))

    def copy(self, address: int, source: int, size: int) -> None:
        """Copies within the device; undefined bytes stay undefined."""
        self.use(self.device)
        self.call("cuMemcpyDtoD_v2", _POINTER(address), _POINTER(source), ctypes.c_size_t(size))

    def reads(self, what: str, tensor: Any) -> None:
        """Reports that an operator reads the elements of a tensor on the device. Values that a kernel computed from memory that
        was never written are findings."""
        if not self._library.gpuemu_keeps_undefined():
            return
        size, dims = tensor.element_size(), tensor.dim()
        numbers = ctypes.c_int64 * max(dims, 1)
        self._library.gpuemu_reads(what.encode(), _POINTER(tensor.data_ptr()), dims, numbers(*tensor.size()),
                                   numbers(*(stride * size for stride in tensor.stride())), ctypes.c_uint64(size))

    def wait(self) -> None:
        """Waits for all kernels of the current device. Raises the error of a failed kernel."""
        self.use(self.device)
        code = self.code("cuCtxSynchronize")
        code, self._late = self._late or int(self._library.gpuemu_release_error()) or code, 0
        if code:
            raise error_of(self.text(code), code)

    def settle(self) -> None:
        """Waits for all kernels of the current device, and clears their errors."""
        self.use(self.device)
        self._late = 0
        self._library.gpuemu_release_error()
        for _ in range(_FAULTS_MOST):
            if not self.code("cuCtxSynchronize"):
                return

    def attribute(self, attribute: int, device: int) -> int:
        return self._number("cuDeviceGetAttribute", attribute, device)

    def name(self, device: int) -> str:
        made = ctypes.create_string_buffer(256)
        self.call("cuDeviceGetName", made, len(made), device)
        return made.value.decode()

    def memory(self) -> tuple[int, int]:
        """Returns free and total bytes of the current device."""
        self.use(self.device)
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        self.call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
        return free.value, total.value

    def handle(self, name: str, *args: Any) -> int:
        """Creates a stream or an event."""
        self.use(self.device)
        made = ctypes.c_void_p()
        self.call(name, ctypes.byref(made), *args)
        return made.value or 0


def error_of(text: str, code: int) -> RuntimeError:
    """Returns the exception that torch raises for an error of CUDA."""
    import torch

    made: RuntimeError = getattr(torch, "AcceleratorError", RuntimeError)(f"CUDA error: {text}\n")
    if hasattr(made, "error_code"):
        made.error_code = code
    return made


def _out_of_memory(size: int, device: int) -> RuntimeError:
    import torch

    made: RuntimeError = torch.OutOfMemoryError(
        f"CUDA out of memory. Tried to allocate {size / 2**20:.2f} MiB on device {device} of gpuemu; `gpuemu run --memory SIZE` sets its memory")
    return made


@functools.cache
def driver() -> Driver:
    """Returns the driver of this process, started at the first call."""
    return Driver()
