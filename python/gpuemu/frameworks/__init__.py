"""Arrays, gradients and calls of PyTorch, JAX and TensorFlow. Each framework is imported when it is first used."""

from __future__ import annotations

import importlib
from typing import Any

from gpuemu.frameworks.base import BaseAdapter, FrameworkAdapter, GradientChecker, GradientReport

__all__ = ["BaseAdapter", "FrameworkAdapter", "GradientChecker", "GradientReport", "adapter", "get_jax_adapter", "get_pytorch_adapter",
           "get_tensorflow_adapter"]  # fmt: skip

_ADAPTERS = {"torch": ("pytorch", "PyTorchAdapter"), "pytorch": ("pytorch", "PyTorchAdapter"), "jax": ("jax", "JAXAdapter"),
             "tensorflow": ("tensorflow", "TensorFlowAdapter")}  # fmt: skip


def adapter(framework: str) -> FrameworkAdapter:
    """Returns the adapter of "torch", "jax" or "tensorflow"."""
    if framework not in _ADAPTERS:
        raise ValueError(f"'{framework}' is no framework; expected one of {', '.join(_ADAPTERS)}")
    module, name = _ADAPTERS[framework]
    made: FrameworkAdapter = getattr(importlib.import_module(f"gpuemu.frameworks.{module}"), name)()
    return made


def _members(module: str, names: str) -> tuple[Any, ...]:
    found = importlib.import_module(f"gpuemu.frameworks.{module}")
    return tuple(getattr(found, name) for name in names.split())


def get_pytorch_adapter() -> tuple[Any, ...]:
    return _members("pytorch", "PyTorchAdapter validate_pytorch check_autograd fuzz_pytorch_op")


def get_jax_adapter() -> tuple[Any, ...]:
    return _members("jax", "JAXAdapter validate_jax check_vmap_compatible check_jit_safe fuzz_jax_op")


def get_tensorflow_adapter() -> tuple[Any, ...]:
    return _members("tensorflow", "TensorFlowAdapter validate_tensorflow check_keras_layer fuzz_tensorflow_op")
