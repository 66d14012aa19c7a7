"""Communicates with the daemon: requests, replies, and the shared memory for arrays. gpuemu.client.Client and the other names of
the published module are loaded at their first use."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpuemu.client.client import *

__all__ = ["HAS_PYNNG", "PROTOCOL_VERSION", "Client", "ClientError", "FuzzResults", "MinimizeResult", "ReproduceResult",
           "ReproductionInfo", "ValidationResult", "connect"]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'gpuemu.client' has no attribute '{name}'")
    return getattr(importlib.import_module("gpuemu.client.client"), name)
