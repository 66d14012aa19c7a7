"""gpuemu: validation and fuzzing of GPU kernels, from Python.

    import gpuemu
    with gpuemu.Client() as client:
        print(client.run_tests(["softmax"]).failed)

NumPy is required, and so is pynng for clients that connect; other packages are used when they are installed. Importing gpuemu
loads none of them: each name is loaded at its first use.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpuemu.client.aio import AsyncClient
    from gpuemu.check.blocks import (
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
    from gpuemu.check.checking import CheckError, CheckResult, Op, check, op
    from gpuemu.client.client import Client, connect
    from gpuemu.device.device import Device
    from gpuemu.errors import (
        ArtifactNotFoundError,
        BaselineNotFoundError,
        BusyError,
        ClientError,
        ConfigError,
        ConnectionError,
        CuobjdumpNotAvailableError,
        DamagedError,
        DeviceError,
        DeviceLostError,
        IncompleteError,
        InternalError,
        InvalidRequestError,
        KernelError,
        KernelNotFoundError,
        LaunchError,
        LimitExceededError,
        NotFoundError,
        OpNotFoundError,
        ProjectNotFoundError,
        ProtocolError,
        PtxParseError,
        ReferenceScriptError,
        SessionNotFoundError,
        StoppedError,
        TimeoutError,
        UnauthorizedError,
        ValidationError,
        VersionMismatchError,
    )
    from gpuemu.device.kernel import Kernel
    from gpuemu.generate.legacy import FuzzConfig, SeededRng, derive_seed, generate_seed
    from gpuemu.device.numba_kernel import NumbaKernel, numba
    from gpuemu.client.records import (
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
    from gpuemu.check.schema import Scalar, Tensor
    from gpuemu.check.tolerances import ToleranceConfig, ToleranceProfile, calibrate_tolerance, get_recommended_tolerance
    from gpuemu.device.triton_kernel import TritonKernel, triton

__version__ = "1.0.0"

__all__ = [
    "ArtifactNotFoundError", "AsyncClient", "BaselineComparison", "BaselineNotFoundError", "BusyError", "CheckError", "CheckResult",
    "Client", "ClientError", "ConfigError", "ConnectionError", "CuobjdumpNotAvailableError", "DaemonStatus", "DamagedError", "Device",
    "DeviceError", "DeviceInfo", "DeviceLostError", "Finding", "FuzzConfig", "FuzzResults",
    "IncompleteError", "InternalError",
    "InvalidRequestError", "JobStatus", "Kernel", "KernelError", "KernelNotFoundError", "LaunchError", "LimitExceededError", "MinimizeResult",
    "NotFoundError", "NumbaKernel", "Op", "OpNotFoundError", "OpReport", "ProjectNotFoundError",
    "ProtocolError", "PtxParseError",
    "ReferenceScriptError", "ReproduceResult", "ReproductionInfo", "Scalar", "SeededFuzzer", "SeededRng",
    "SessionNotFoundError", "StoppedError", "Tensor",
    "TestReport", "TimeoutError", "ToleranceConfig", "ToleranceProfile", "TritonKernel", "UnauthorizedError", "ValidationError",
    "ValidationResult", "VersionMismatchError", "calibrate_tolerance", "check", "connect", "derive_seed", "fuzz_dtypes",
    "fuzz_dtypes_seeded", "fuzz_layouts", "fuzz_layouts_seeded", "fuzz_shapes", "fuzz_shapes_seeded",
    "generate_random_tensor", "generate_seed", "get_jax_adapter", "get_pytorch_adapter", "get_recommended_tolerance",
    "get_tensorflow_adapter", "numba", "op", "triton", "validate", "validate_op",
]  # fmt: skip

# The module that defines each public name.
_NAMES = {
    "client.aio": "AsyncClient",
    "check.blocks": "SeededFuzzer fuzz_dtypes fuzz_dtypes_seeded fuzz_layouts fuzz_layouts_seeded fuzz_shapes fuzz_shapes_seeded "
              "generate_random_tensor validate validate_op",
    "check.checking": "CheckError CheckResult Op check op",
    "client.client": "Client connect",
    "device.device": "Device",
    "errors": "ArtifactNotFoundError BaselineNotFoundError BusyError ClientError ConfigError ConnectionError CuobjdumpNotAvailableError "
              "DamagedError DeviceError DeviceLostError IncompleteError InternalError InvalidRequestError KernelError KernelNotFoundError LaunchError "
              "LimitExceededError SessionNotFoundError UnauthorizedError "
              "NotFoundError OpNotFoundError ProjectNotFoundError ProtocolError PtxParseError ReferenceScriptError StoppedError TimeoutError "
              "ValidationError VersionMismatchError",
    "device.kernel": "Kernel",
    "generate.legacy": "FuzzConfig SeededRng derive_seed generate_seed",
    "device.numba_kernel": "NumbaKernel numba",
    "client.records": "BaselineComparison DaemonStatus DeviceInfo Finding FuzzResults JobStatus MinimizeResult OpReport "
               "ReproduceResult ReproductionInfo TestReport ValidationResult",
    "check.schema": "Scalar Tensor",
    "check.tolerances": "ToleranceConfig ToleranceProfile calibrate_tolerance get_recommended_tolerance",
    "device.triton_kernel": "TritonKernel triton",
}  # fmt: skip
_HOMES = {name: module for module, names in _NAMES.items() for name in names.split()}
# Modules that programs use as attributes of the package without importing them. Modules of a subpackage are listed by their last
# name.
_MODULES = {one.rpartition(".")[2]: one for one in (
    *_NAMES, "client", "cluster", "device", "client.artifacts", "client.calls", "client.ci", "frameworks", "check.judge", "generate.layouts", "on_ray",
    "client.replies", "runtime", "check.reproduce", "generate.rng", "generate.strategies", "tensors", "generate.values")}  # fmt: skip

# Finds modules of subpackages that programs import by their published name, such as gpuemu.values.
__path__ = [*__path__, __path__[0] + "/old_paths"]

# gpuemu.check and gpuemu.validate are functions. Loading a module of the same name would replace the function, so both modules
# are loaded here and stay in sys.modules for `from gpuemu.validate import ...`.
for _module in ("check", "validate"):
    importlib.import_module(f"gpuemu.{_module}")
    globals().pop(_module, None)


def get_pytorch_adapter() -> tuple[Any, ...]:
    """Returns PyTorchAdapter, validate_pytorch, check_autograd."""
    from gpuemu import frameworks

    return frameworks.get_pytorch_adapter()[:-1]


def get_jax_adapter() -> tuple[Any, ...]:
    """Returns JAXAdapter, validate_jax, check_vmap_compatible, check_jit_safe."""
    from gpuemu import frameworks

    return frameworks.get_jax_adapter()[:-1]


def get_tensorflow_adapter() -> tuple[Any, ...]:
    """Returns TensorFlowAdapter, validate_tensorflow, check_keras_layer."""
    from gpuemu import frameworks

    return frameworks.get_tensorflow_adapter()[:-1]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        found = getattr(importlib.import_module(f"gpuemu.{_HOMES[name]}"), name)
        globals()[name] = found
        return found
    if name in _MODULES:
        return importlib.import_module(f"gpuemu.{_MODULES[name]}")
    raise AttributeError(f"module 'gpuemu' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_MODULES})
