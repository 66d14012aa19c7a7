"""Inputs are those that the daemon makes for the same case."""

import hashlib
import json
import pathlib

import numpy as np
import pytest

from gpuemu import values

ROOT = pathlib.Path(__file__).resolve().parents[2]
CASES = json.loads((ROOT / "tests/crosslang/value_vectors.json").read_text())["cases"]


def test_every_strategy_and_dtype_gives_the_bytes_of_the_daemon():
    wrong = []
    for case in CASES:
        tensor = {"name": "x", **{key: case[key] for key in ("dtype", "shape", "range")}}
        made = values.fill_input({**case, "base_seed": 42, "inputs": [tensor]}, "x")
        if hashlib.blake2b(made.tobytes(), digest_size=16).hexdigest() != case["content"]:
            wrong.append({key: case[key] for key in ("value_strategy", "dtype", "range")})
    assert len(CASES) > 1000
    assert not wrong, f"{len(wrong)} of {len(CASES)}: {wrong[:20]}"


def test_an_empty_tensor_has_no_values():
    tensor = {"name": "x", "dtype": "float32", "shape": [0, 4], "range": None}
    case = {"base_seed": 1, "iteration": 2, "value_strategy": "normal", "inputs": [tensor]}
    assert values.fill_input(case, "x").shape == (0, 4)


def test_an_unknown_input_is_named():
    case = {"base_seed": 1, "iteration": 2, "value_strategy": "normal", "inputs": []}
    with pytest.raises(ValueError, match="no input 'y'"):
        values.fill_input(case, "y")


def test_values_keep_to_the_domain():
    tensor = {"name": "x", "dtype": "float16", "shape": [1000], "range": [1e-10, 1.0]}
    case = {"base_seed": 1, "iteration": 2, "value_strategy": "uniform10", "inputs": [tensor]}
    made = values.fill_input(case, "x").astype(np.float64)
    assert made.min() >= 1e-10 and made.max() <= 1.0
