"""Inputs are those that the daemon makes for the same case."""

import hashlib
import json
import pathlib

import numpy as np
import pytest

from gpuemu import linear, rng, values

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


def test_a_broadcast_input_has_one_element_for_all_of_an_axis():
    case = {"base_seed": 1, "iteration": 2, "value_strategy": "normal",
            "inputs": [{"name": "x", "dtype": "float32", "shape": [3, 5], "range": None, "strides": [0, 1]},
                       {"name": "y", "dtype": "float32", "shape": [3, 5], "range": None, "strides": [1, 0]},
                       {"name": "z", "dtype": "float32", "shape": [3, 5], "range": None, "strides": None}]}
    rows, columns = values.fill_input(case, "x"), values.fill_input(case, "y")
    assert (rows == rows[:1]).all() and len(set(rows[0])) > 1
    assert (columns == columns[:, :1]).all() and len(set(columns[:, 0])) > 1
    plain = dict(case, inputs=[dict(one, name="x", strides=None) for one in case["inputs"][:1]])
    assert (values.fill_input(plain, "x")[0] == rows[0]).all()


@pytest.mark.parametrize("strategy", values.STRATEGIES)
def test_an_element_of_a_large_tensor_is_that_of_its_two_outputs_alone(strategy, monkeypatch):
    """Lanes and tiles do not show: the same tensor made from outputs in order has the same bytes."""
    plain = linear.Linear(rng.step, rng._lane_step)

    def in_order(state, lanes, each_log2, wanted):
        whole = plain.outputs(state, lanes << each_log2).reshape(lanes, -1)
        yield whole[:, 0::2].T.copy(), whole[:, 1::2].T.copy()

    for dtype, bounds, scale in (("float32", None, 1.0), ("float16", [0.0, 3.0], 0.5), ("bfloat16", [-1e30, 2.5], 1.0), ("uint8", None, 1.0),
                                 ("int64", [-1e12, 5e9], 1.0), ("float64", [1e-3, 1e300], 2.0)):  # fmt: skip
        tensor = {"name": "x", "dtype": dtype, "shape": [3, 20011], "range": bounds}
        case = {"base_seed": 8, "iteration": 3, "value_strategy": strategy, "value_scale": scale, "inputs": [tensor]}
        made = values.fill_input(case, "x")
        with monkeypatch.context() as patch:
            patch.setattr(rng.GENERATOR, "tiles", in_order)
            assert values.fill_input(case, "x").tobytes() == made.tobytes(), dtype
