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
    DeviceError,
    DeviceLostError,
    InternalError,
    InvalidRequestError,
    KernelError,
    LaunchError,
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
    DeviceInfo,
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
from gpuemu.rng import SeededRng, derive_seed, generate_seed
from gpuemu.tolerances import ToleranceConfig, ToleranceProfile, calibrate_tolerance, get_recommended_tolerance
from gpuemu.validate import (
    FuzzConfig,
    SeededFuzzer,
    fuzz_dtypes,
    fuzz_dtypes_seeded,
    fuzz_layouts,
    fuzz_layouts_seeded,
    fuzz_shapes,
    fuzz_shapes_seeded,
    generate_random_tensor,
    validate,
    validate_op,
)

if TYPE_CHECKING:
    from gpuemu.aio import AsyncClient
    from gpuemu.device import Device
    from gpuemu.kernel import Kernel
    from gpuemu.numba_kernel import NumbaKernel, numba
    from gpuemu.triton_kernel import TritonKernel, triton

__version__ = "1.0.0"

__all__ = [
    "ArtifactNotFoundError", "AsyncClient", "BaselineComparison", "BaselineNotFoundError", "Client", "ClientError",
    "ConfigError", "ConnectionError", "DaemonStatus", "Device", "DeviceError", "DeviceInfo", "DeviceLostError",
    "Finding", "FuzzConfig", "FuzzResults", "InternalError", "InvalidRequestError", "JobStatus", "Kernel",
    "KernelError", "LaunchError", "MinimizeResult", "NotFoundError", "NumbaKernel", "OpNotFoundError", "OpReport",
    "ProtocolError", "PtxParseError", "ReferenceScriptError", "ReproduceResult", "ReproductionInfo", "SeededFuzzer",
    "SeededRng", "TestReport", "TimeoutError", "ToleranceConfig", "ToleranceProfile", "TritonKernel", "ValidationError",
    "ValidationResult", "calibrate_tolerance", "connect", "derive_seed", "fuzz_dtypes", "fuzz_dtypes_seeded",
    "fuzz_layouts", "fuzz_layouts_seeded", "fuzz_shapes", "fuzz_shapes_seeded", "generate_random_tensor",
    "generate_seed", "get_recommended_tolerance", "numba", "triton", "validate", "validate_op",
]  # fmt: skip
_LAZY = {
    "AsyncClient": "gpuemu.aio",
    "Device": "gpuemu.device",
    "Kernel": "gpuemu.kernel",
    "NumbaKernel": "gpuemu.numba_kernel",
    "TritonKernel": "gpuemu.triton_kernel",
    "numba": "gpuemu.numba_kernel",
    "triton": "gpuemu.triton_kernel",
}


def __getattr__(name: str) -> Any:
    """Imported at their first use: what they need is a third of the import's time."""
    if name in _LAZY:
        import importlib

        return getattr(importlib.import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'gpuemu' has no attribute '{name}'")
