"""torch.cuda for the emulated device: the documented functions that a CPU build of torch lacks."""

from __future__ import annotations

import types
from typing import Any

import torch

import gpuemu.torch.generators as generators
import gpuemu.torch.memory as memory
import gpuemu.torch.pinned as pinned
import gpuemu.torch.streams as streams
from gpuemu.torch.driver import driver
from gpuemu.torch.streams import index_of

_BEFORE_OWN = 5  # Torch's own function for reading `cuda` storages has priority 20.
# CU_DEVICE_ATTRIBUTE_* of cuda.h.
_MAJOR, _MINOR = 75, 76
_PROPERTIES = {"multi_processor_count": 16, "warp_size": 10, "max_threads_per_multi_processor": 39, "max_threads_per_block": 1,
               "regs_per_multiprocessor": 82, "shared_memory_per_block": 8, "shared_memory_per_multiprocessor": 81,
               "shared_memory_per_block_optin": 97, "L2_cache_size": 38, "clock_rate": 13, "memory_clock_rate": 36,
               "memory_bus_width": 37, "major": _MAJOR, "minor": _MINOR, "is_integrated": 18, "pci_bus_id": 33, "pci_device_id": 34}  # fmt: skip


def get_device_capability(device: Any = None) -> tuple[int, int]:
    index = index_of(device)
    return driver().attribute(_MAJOR, index), driver().attribute(_MINOR, index)


def get_device_name(device: Any = None) -> str:
    return driver().name(index_of(device))


def get_device_properties(device: Any = None) -> types.SimpleNamespace:
    index = index_of(device)
    found = {name: driver().attribute(number, index) for name, number in _PROPERTIES.items()}
    before = driver().device
    driver().use(index)
    total = driver().memory()[1]
    driver().use(before)
    return types.SimpleNamespace(name=driver().name(index), total_memory=total, is_multi_gpu_board=False, gcnArchName="", **found)


def mem_get_info(device: Any = None) -> tuple[int, int]:
    with on_device(device):
        return driver().memory()


class on_device:
    """torch.cuda.device: makes a device the current one inside a block."""

    def __init__(self, device: Any) -> None:
        self.index = index_of(device) if device is not None and device != -1 else -1
        self.before = -1

    def __enter__(self) -> None:
        self.before = driver().device
        if self.index >= 0:
            driver().use(self.index)

    def __exit__(self, *_: object) -> None:
        driver().use(self.before)


class device_of(on_device):
    """torch.cuda.device_of: the device of a tensor."""

    def __init__(self, thing: Any) -> None:
        super().__init__(thing.get_device() if getattr(thing, "is_cuda", False) else None)


def set_device(device: Any) -> None:
    driver().use(index_of(device))


def synchronize(device: Any = None) -> None:
    with on_device(device):
        driver().wait()


def manual_seed(seed: int) -> None:
    generators.default(driver().device).manual_seed(int(seed))


def manual_seed_all(seed: int) -> None:
    for index in range(driver().count):
        generators.default(index).manual_seed(int(seed))


def get_rng_state(device: Any = "cuda") -> torch.Tensor:
    return generators.default(index_of(device)).get_state()


def set_rng_state(new_state: torch.Tensor, device: Any = "cuda") -> None:
    generators.default(index_of(device)).set_state(new_state.cpu())


def set_rng_state_all(new_states: list[torch.Tensor]) -> None:
    for index, state in enumerate(new_states):
        set_rng_state(state, index)


class _Counts(dict[str, int]):
    """What an allocator counts; 0 for what only torch's own has, such as its pools."""

    def __missing__(self, name: str) -> int:
        return 0


def memory_stats(device: Any = None) -> dict[str, int]:
    now, most = memory.statistics().now, memory.statistics().most
    counts = {f"{kind}.all.{which}": value for kind in ("allocated_bytes", "reserved_bytes", "active_bytes")
            for which, value in (("current", now), ("peak", most), ("allocated", most), ("freed", most - now))}  # fmt: skip
    return _Counts(counts, num_ooms=0, num_alloc_retries=0)


def reset_peak_memory_stats(device: Any = None) -> None:
    memory.statistics().most = memory.statistics().now


def _nothing(*_: Any, **__: Any) -> None:
    """Does nothing, because this device needs nothing done here."""


class _Nvtx:
    """torch.cuda.nvtx: ranges for a profiler, which do nothing."""

    mark = range_push = range_pop = range_start = range_end = staticmethod(_nothing)

    class range:
        def __init__(self, *_: Any, **__: Any) -> None: ...

        def __enter__(self) -> None: ...

        def __exit__(self, *_: object) -> None: ...


def _refused(what: str, why: str) -> Any:
    def refuse(*_: Any, **__: Any) -> None:
        raise NotImplementedError(f"gpuemu: {what} is not there: {why}")

    return refuse


def _refused_class(what: str, why: str) -> Any:
    """Returns a class, because annotations of other packages use the name."""
    return type(what.rpartition(".")[2], (), {"__init__": _refused(what, why), "__module__": "torch.cuda"})


_GRAPHS = "CUDA graphs of torch operators cannot be captured, because the operators run on the CPU; run the code without the graph"
_ALLOCATOR = "each tensor is an allocation of the emulated device of its own, so that its bounds are known"
_SHARING = "each process has an emulated device of its own; send tensor.cpu() instead"
_NCCL = "each process has an emulated device of its own, which no other one reaches; use the backend gloo for tensors on the CPU"
_NAMES: dict[str, Any] = {
    "_lazy_init": _nothing, "init": _nothing, "is_available": lambda: driver().count > 0, "is_initialized": lambda: True,
    "device_count": lambda: driver().count, "current_device": lambda: driver().device, "set_device": set_device, "device": on_device,
    "device_of": device_of, "get_device_name": get_device_name, "get_device_capability": get_device_capability,
    "get_device_properties": get_device_properties, "mem_get_info": mem_get_info, "synchronize": synchronize,
    "current_stream": streams.current_stream, "default_stream": streams.default_stream, "Stream": streams.Stream, "stream": streams.stream_context,
    "StreamContext": streams.stream_context, "Event": streams.Event, "ExternalStream": streams.ExternalStream, "set_stream": streams.set_stream,
    "default_generators": generators.Defaults(), "empty_cache": _nothing, "ipc_collect": _nothing, "memory_allocated": lambda device=None: memory.statistics().now,
    "max_memory_allocated": lambda device=None: memory.statistics().most, "memory_reserved": lambda device=None: memory.statistics().now,
    "max_memory_reserved": lambda device=None: memory.statistics().most, "reset_peak_memory_stats": reset_peak_memory_stats,
    "reset_accumulated_memory_stats": _nothing, "memory_stats": memory_stats, "manual_seed": manual_seed, "manual_seed_all": manual_seed_all,
    "seed": lambda: manual_seed(torch.default_generator.initial_seed()), "seed_all": lambda: manual_seed_all(torch.default_generator.initial_seed()),
    "initial_seed": lambda: generators.default(driver().device).initial_seed(), "get_rng_state": get_rng_state, "set_rng_state": set_rng_state,
    "get_rng_state_all": lambda: [get_rng_state(index) for index in range(driver().count)],
    "set_rng_state_all": set_rng_state_all,
    "is_bf16_supported": lambda including_emulation=True: get_device_capability()[0] >= 8, "is_tf32_supported": lambda: get_device_capability()[0] >= 8,
    "nvtx": _Nvtx, "get_arch_list": lambda: ["sm_{}{}".format(*get_device_capability(index)) for index in range(driver().count)],
    "can_device_access_peer": lambda device, peer: device != peer, "is_current_stream_capturing": lambda: False, "_is_in_bad_fork": lambda: False,
    "_is_compiled": lambda: True, "CUDAGraph": _refused_class("torch.cuda.CUDAGraph", _GRAPHS), "graph": _refused_class("torch.cuda.graph", _GRAPHS),
    "make_graphed_callables": _refused("torch.cuda.make_graphed_callables", _GRAPHS),
    "CUDAPluggableAllocator": _refused_class("torch.cuda.CUDAPluggableAllocator", _ALLOCATOR),
}  # fmt: skip
# Functions of the compiled module that Triton and torch itself call.
_COMPILED: dict[str, Any] = {
    "_cuda_getCurrentRawStream": streams.raw_stream, "_cuda_getDeviceCount": lambda: driver().count, "_cuda_getDevice": lambda: driver().device,
    "_cuda_setDevice": set_device, "_cuda_isInBadFork": False, "_cuda_exchangeDevice": lambda index: _exchange(index),
    "_cuda_maybeExchangeDevice": lambda index: _exchange(index), "_cuda_synchronize": lambda: driver().wait(),
    "_get_accelerator": lambda check=None: torch.device("cuda"), "_accelerator_getAccelerator": lambda: torch.device("cuda") if driver().count else None,
    "_accelerator_getDeviceIndex": lambda: driver().device, "_accelerator_setDeviceIndex": lambda index: set_device(index),
    "_accelerator_exchangeDevice": lambda index: _exchange(index), "_accelerator_maybeExchangeDevice": lambda index: _exchange(index),
    "_accelerator_synchronizeDevice": lambda index: driver().wait(), "_accelerator_getStream": lambda index: streams.current_stream(index),
    "_accelerator_setStream": lambda stream: streams.set_stream(stream), "_accelerator_emptyCache": _nothing, "_accelerator_emptyHostCache": _nothing,
    "_accelerator_getMemoryInfo": lambda index: mem_get_info(index), "_accelerator_getDeviceStats": lambda index: memory_stats(index),
    "_accelerator_resetPeakStats": lambda index: reset_peak_memory_stats(index), "_accelerator_resetAccumulatedStats": _nothing,
    "_set_cudnn_enabled": _nothing,  # There is no cuDNN, so the setting has no effect.
}  # fmt: skip


_TORCH: dict[str, Any] = {"Generator": generators.Generator}
_STORAGES: dict[str, Any] = {"_share_cuda_": _refused("sharing a tensor of `cuda` with another process", _SHARING)}
# Freeing memory waits for all work, so a tensor need not know its streams.
_METHODS: dict[str, Any] = {"pin_memory": pinned.pin_memory, "is_pinned": pinned.is_pinned, "record_stream": lambda tensor, stream: None}


def _exchange(index: int) -> int:
    before = driver().device
    if index >= 0:
        driver().use(index)
    return before


def _restored(storage: Any, location: str) -> Any:
    """Moves a storage that torch.load reads for `cuda` to the device."""
    return memory.moved(storage, index_of(location)) if location.startswith("cuda") else None


def _init_process_group(backend: Any = None, *args: Any, **kwargs: Any) -> Any:
    """torch.distributed.init_process_group"""
    if "nccl" in str(backend).lower():
        raise NotImplementedError(f"gpuemu: NCCL is not there: {_NCCL}")
    from torch.distributed.distributed_c10d import init_process_group

    return init_process_group(backend, *args, **kwargs)


def _own(value: Any) -> Any:
    """Copies a function, so that each name has its own: torch keeps rules by function."""
    if not isinstance(value, types.FunctionType) or hasattr(value, "__wrapped__"):
        return value
    made = types.FunctionType(value.__code__, value.__globals__, value.__name__, value.__defaults__, value.__closure__)
    made.__kwdefaults__, made.__doc__ = value.__kwdefaults__, value.__doc__
    return made


def _set_attention(enabled: bool) -> None:
    """Turns torch's attention kernels on or off: a CUDA build of torch selects them by the device, without calling an
    operator."""
    if not torch.version.cuda:
        return
    for name in ("_set_sdp_use_flash", "_set_sdp_use_mem_efficient", "_set_sdp_use_cudnn"):
        if hasattr(torch._C, name):
            getattr(torch._C, name)(enabled)


def replace() -> list[tuple[Any, str, Any]]:
    """Installs the functions. Returns what they replaced: module, name, and the value or None."""
    replaced = []
    torch._C._set_cudnn_enabled(False)
    _set_attention(False)
    torch.serialization.register_package(_BEFORE_OWN, lambda storage: None, _restored)
    places = [(torch.cuda, _NAMES), (torch._C, _COMPILED), (torch, _TORCH), (torch.Tensor, _METHODS), (torch.UntypedStorage, _STORAGES)]
    places += pinned.factories()
    # torch.cuda.memory_summary() and its like call the functions of their own module.
    places.append((torch.cuda.memory, {name: value for name, value in _NAMES.items() if hasattr(torch.cuda.memory, name)}))
    if torch.distributed.is_available():
        places.append((torch.distributed, {"init_process_group": _init_process_group}))
    for module, names in places:
        for name, value in names.items():
            replaced.append((module, name, getattr(module, name, None)))
            setattr(module, name, _own(value))
    return replaced


def restore(replaced: list[tuple[Any, str, Any]]) -> None:
    """Undoes replace(); takes its result."""
    for module, name, value in reversed(replaced):
        if value is None:
            delattr(module, name)
        else:
            setattr(module, name, value)
    torch._C._set_cudnn_enabled(True)
    _set_attention(True)
    registry = torch.serialization._package_registry
    registry[:] = [one for one in registry if one[2] is not _restored]
