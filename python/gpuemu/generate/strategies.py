"""Hypothesis strategies for tensors with gpuemu's distributions. They shrink to few elements, zeros and small whole numbers.

    @given(x=gpuemu.strategies.tensors(shape=(3, "n"), dtype="float16"))
    def test_softmax(x): ...
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

from gpuemu import tensors as arrays
from gpuemu import arguments
from gpuemu.generate import recipes, values
from gpuemu.tensors import Array

FLOATS = ("zeros", "small_int", "uniform10", "normal", "bits_uniform", "offset", "duplicates", "signed_zero", "ascend", "tiny",
          "subnormal", "special")  # fmt: skip
WHOLE = ("zeros", "small_int", "uniform10", "duplicates", "ascend", "int_extremes")


def dtypes(kinds: str = "f") -> st.SearchStrategy[str]:
    """Draws names of dtypes of these kinds: f floats, i signed, u unsigned, b bool. bfloat16 is drawn if ml_dtypes is
    installed."""
    if not kinds or set(kinds) - set("fiub"):
        raise ValueError(f"kinds is {kinds!r}, expected letters among f (floats), i (signed), u (unsigned) and b (bool)")
    there = [one for one in arrays.DTYPES if one != "bfloat16" or arrays.bfloat16() is not None]
    names = [one for one in there if ("f" if "float" in one else "b" if one == "bool" else one[0]) in kinds]
    return st.sampled_from(names)


@st.composite  # type: ignore[untyped-decorator,unused-ignore]
def shapes(draw: st.DrawFn, dims: Sequence[int | str] = ("m", "n"), min_size: int = 1, max_size: int = 32) -> tuple[int, ...]:
    """Draws shapes: numbers are fixed sizes, names are drawn, and equal names are equal sizes."""
    sizes = {name: draw(st.integers(min_size, max_size), label=name) for name in dict.fromkeys(dims) if isinstance(name, str)}
    return tuple(sizes[one] if isinstance(one, str) else one for one in dims)


@st.composite  # type: ignore[untyped-decorator,unused-ignore]
def tensors(draw: st.DrawFn, shape: Sequence[int | str] | st.SearchStrategy[tuple[int, ...]] = ("m", "n"),
            dtype: str | st.SearchStrategy[str] = "float32", *, range: tuple[float, float] | None = None,
            strategies: Sequence[str] | None = None, min_size: int = 1, max_size: int = 32) -> Array:  # fmt: skip
    """Draws NumPy arrays. range: of all values; strategies: of docs/reference/strategies.md, the simplest first; NaN and infinity
    occur only with a strategy that is named for them."""
    name = draw(dtype) if isinstance(dtype, st.SearchStrategy) else arguments.dtype(dtype)
    if isinstance(shape, (int, str)):
        raise TypeError(f"shape is {shape!r}, expected numbers and names, as in (3, 'n')")
    sizes = draw(shape if isinstance(shape, st.SearchStrategy) else shapes(tuple(shape), min_size, max_size))
    usual = [one for one in FLOATS if one != "special"] if name in recipes.FLOATS else WHOLE
    chosen = draw(st.sampled_from(list(strategies or usual)))
    seed = draw(st.integers(0, 2**64 - 1)) if chosen not in ("zeros", "ascend") else 0
    entry: dict[str, Any] = {"name": "x", "dtype": name, "shape": list(sizes), "range": range}
    made = values.fill_input({"base_seed": seed, "iteration": 0, "value_strategy": chosen, "inputs": [entry]}, "x")
    made = made.view(arrays.numpy_dtype(name)) if name == "bfloat16" else made
    # Changes a few single elements, which Hypothesis can simplify one by one.
    places = st.integers(0, max(made.size - 1, 0))
    for place, value in draw(st.dictionaries(places, st.integers(-4, 4), max_size=3 if made.size else 0)).items():
        low, high = range or (0 if name.startswith("uint") or name == "bool" else -4, 4)
        made.reshape(-1)[place] = np.asarray(min(max(value, low), high)).astype(made.dtype)
    return made
