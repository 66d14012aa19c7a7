"""Checking what a block of code computes."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any

from gpuemu.client import Client
from gpuemu.errors import ValidationError


@contextmanager
def validate_op(client: Client, op_name: str, inputs: Mapping[str, Any] | None = None, raise_on_failure: bool = True,
                **kwargs: Any) -> Generator[dict[str, Any], None, None]:  # fmt: skip
    """Set "output" inside; it is judged at the end, and the verdict is then under "result".

        with gpuemu.validate_op(client, "softmax", {"x": x}) as case:
            case["output"] = my_softmax(x)

    Raises ValidationError when it is wrong (unless raise_on_failure is False), ValueError when nothing was set.
    Arrays may be of NumPy, torch or jax.
    """
    case: dict[str, Any] = {"inputs": dict(inputs or {}), "kwargs": kwargs}
    yield case
    if "output" not in case:
        raise ValueError(f"nothing to judge for '{op_name}': set [\"output\"] inside the with block")
    case["result"] = client.validate_op(op_name, case["inputs"], case["output"], **kwargs)
    if raise_on_failure and not case["result"].passed:
        raise ValidationError(case["result"])
