"""The names that programs import from gpuemu.validate; gpuemu.check.blocks defines them. Loaded with the package, because a
function of the package has the same name; so it imports nothing itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpuemu.check.blocks import *

__all__ = ["CheckedCalls", "Client", "FuzzConfig", "GpuemuClient", "SeededFuzzer", "SeededRng", "ValidationError", "ValidationResult",
           "fuzz_dtypes", "fuzz_dtypes_seeded", "fuzz_layouts", "fuzz_layouts_seeded", "fuzz_op", "fuzz_shapes", "fuzz_shapes_seeded",
           "generate_random_tensor", "generate_seed", "reproduce", "validate", "validate_op"]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'gpuemu.validate' has no attribute '{name}'")
    from gpuemu.check import blocks

    return getattr(blocks, name)
