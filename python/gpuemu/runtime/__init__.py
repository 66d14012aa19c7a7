"""Devices of this process, without a daemon: memory, tensors, streams, graphs, and every op by one call. libgpuemu is loaded at
its first use.

    from gpuemu import runtime
    with runtime.Device("emulator") as device:
        x, y = runtime.tensor([[1.0, -2.0]]), runtime.empty((1, 2))
        runtime.op_call("relu", [x], [y])
        print(y.numpy())
"""

from gpuemu.runtime.available import devices, dtypes, versions
from gpuemu.runtime.calling import OpInfo, Schema, op_call, op_info, op_number, ops, pack, unpack
from gpuemu.runtime.current import current_device, empty, range, set_current_device, tensor, zeros
from gpuemu.runtime.device import Device
from gpuemu.runtime.errors import (
    CaptureError,
    CompileError,
    DeviceTimeoutError,
    ForkedError,
    InvalidArgumentError,
    NotFoundError,
    OutOfMemoryError,
    ReleasedError,
    UnsupportedError,
)
from gpuemu.runtime.graphs import Graph
from gpuemu.runtime.interop import as_tensor, from_dlpack, torch_stream
from gpuemu.runtime.memory import Memory, MemoryInfo, MemoryStatistics
from gpuemu.runtime.registering import Launch, Registration, register_kernel, register_op
from gpuemu.runtime.registrations import TensorSpec
from gpuemu.runtime.streams import Event, Stream
from gpuemu.runtime.tensors import Tensor
from gpuemu.runtime.watching import DispatchRecord, Policy, Statistics

__all__ = [
    "CaptureError", "CompileError", "Device", "DeviceTimeoutError", "DispatchRecord", "Event", "ForkedError", "Graph",
    "InvalidArgumentError", "Launch", "Memory", "MemoryInfo", "MemoryStatistics", "NotFoundError", "OpInfo", "OutOfMemoryError", "Policy",
    "Registration", "ReleasedError", "Schema", "Statistics", "Stream", "Tensor", "TensorSpec", "UnsupportedError", "as_tensor", "current_device", "devices", "dtypes",
    "empty", "from_dlpack", "op_call", "op_info", "op_number", "ops", "pack", "range", "register_kernel", "register_op", "set_current_device", "tensor", "torch_stream",
    "unpack", "versions", "zeros",
]  # fmt: skip
