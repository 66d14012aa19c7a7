"""gpuemu: validation and fuzzing of GPU kernels, from Python.

    import gpuemu
    with gpuemu.Client() as client:
        print(client.run_tests(["softmax"]).failed)

NumPy is needed, and pynng where a client connects; other packages are used when they are there.
"""

from typing import TYPE_CHECKING, Any

from gpuemu.client import Client, connect
from gpuemu.errors import (
    ArtifactNotFoundError,
    BaselineNotFoundError,
    ClientError,
    ConfigError,
    ConnectionError,
    InternalError,
    InvalidRequestError,
    NotFoundError,
    OpNotFoundError,
    ProtocolError,
    PtxParseError,
    ReferenceScriptError,
    TimeoutError,
    ValidationError,
)
from gpuemu.records import (
    BaselineComparison,
    DaemonStatus,
    Device,
    Finding,
    FuzzResults,
    JobStatus,
    MinimizeResult,
    OpReport,
    ReproduceResult,
    ReproductionInfo,
    TestReport,
    ValidationResult,
)
from gpuemu.validation import validate_op

if TYPE_CHECKING:
    from gpuemu.aio import AsyncClient

__version__ = "1.0.0"

__all__ = [
    "ArtifactNotFoundError", "AsyncClient", "BaselineComparison", "BaselineNotFoundError", "Client", "ClientError",
    "ConfigError", "ConnectionError", "DaemonStatus", "Device", "Finding", "FuzzResults", "InternalError",
    "InvalidRequestError", "JobStatus", "MinimizeResult", "NotFoundError", "OpNotFoundError", "OpReport", "ProtocolError",
    "PtxParseError", "ReferenceScriptError", "ReproduceResult", "ReproductionInfo", "TestReport", "TimeoutError",
    "ValidationError", "ValidationResult", "connect", "validate_op",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """asyncio is a third of the import's time, and few programs want it."""
    if name == "AsyncClient":
        from gpuemu.aio import AsyncClient

        return AsyncClient
    raise AttributeError(f"module 'gpuemu' has no attribute '{name}'")
