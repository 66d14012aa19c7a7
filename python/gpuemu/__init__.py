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
    from gpuemu.checking import CheckError, CheckResult, Op, check, op
    from gpuemu.device import Device
    from gpuemu.kernel import Kernel
    from gpuemu.numba_kernel import NumbaKernel, numba
    from gpuemu.schema import Scalar, Tensor
    from gpuemu.triton_kernel import TritonKernel, triton

__version__ = "1.0.0"

__all__ = [
    "ArtifactNotFoundError", "AsyncClient", "BaselineComparison", "BaselineNotFoundError", "CheckError", "CheckResult",
    "Client", "ClientError", "ConfigError", "ConnectionError", "DaemonStatus", "Device", "DeviceError", "DeviceInfo",
    "DeviceLostError", "Finding", "FuzzConfig", "FuzzResults", "InternalError", "InvalidRequestError", "JobStatus",
    "Kernel", "KernelError", "LaunchError", "MinimizeResult", "NotFoundError", "NumbaKernel", "Op", "OpNotFoundError",
    "OpReport", "ProtocolError", "PtxParseError", "ReferenceScriptError", "ReproduceResult", "ReproductionInfo",
    "Scalar", "SeededFuzzer", "SeededRng", "Tensor", "TestReport", "TimeoutError", "ToleranceConfig",
    "ToleranceProfile", "TritonKernel", "ValidationError", "ValidationResult", "calibrate_tolerance", "check",
    "connect", "derive_seed", "fuzz_dtypes", "fuzz_dtypes_seeded", "fuzz_layouts", "fuzz_layouts_seeded", "fuzz_shapes",
    "fuzz_shapes_seeded", "generate_random_tensor", "generate_seed", "get_jax_adapter", "get_pytorch_adapter",
    "get_recommended_tolerance", "get_tensorflow_adapter", "numba", "op", "triton", "validate", "validate_op",
]  # fmt: skip
_LAZY = {
    "AsyncClient": "gpuemu.aio",
    "Device": "gpuemu.device",
    "Kernel": "gpuemu.kernel",
    "NumbaKernel": "gpuemu.numba_kernel",
    "TritonKernel": "gpuemu.triton_kernel",
    "CheckError": "gpuemu.checking",
    "CheckResult": "gpuemu.checking",
    "Op": "gpuemu.checking",
    "Scalar": "gpuemu.schema",
    "Tensor": "gpuemu.schema",
    "check": "gpuemu.checking",
    "numba": "gpuemu.numba_kernel",
    "op": "gpuemu.checking",
    "triton": "gpuemu.triton_kernel",
}


def get_pytorch_adapter() -> tuple[Any, ...]:
    """PyTorchAdapter, validate_pytorch, check_autograd."""
    from gpuemu import frameworks

    return frameworks.get_pytorch_adapter()[:-1]


def get_jax_adapter() -> tuple[Any, ...]:
    """JAXAdapter, validate_jax, check_vmap_compatible, check_jit_safe."""
    from gpuemu import frameworks

    return frameworks.get_jax_adapter()[:-1]


def get_tensorflow_adapter() -> tuple[Any, ...]:
    """TensorFlowAdapter, validate_tensorflow, check_keras_layer."""
    from gpuemu import frameworks

    return frameworks.get_tensorflow_adapter()[:-1]


def __getattr__(name: str) -> Any:
    """Imported at their first use: what they need is a third of the import's time."""
    import importlib

    if name == "strategies":
        return importlib.import_module("gpuemu.strategies")
    if name in _LAZY:
        return getattr(importlib.import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'gpuemu' has no attribute '{name}'")
