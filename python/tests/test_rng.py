"""Tests streams and tensors against the shared vectors."""

import json
import pathlib
import sys
import threading

import numpy as np
import pytest

from gpuemu.generate import linear, rng

ROOT = pathlib.Path(__file__).resolve().parents[2]
VECTORS = json.loads((ROOT / "tests/crosslang/rng_vectors.json").read_text())


def state_of(item):
    return rng.derive_state(int(item["base_seed"]), int(item["iteration"]), item["label"])


def stream_of(item):
    return rng.Stream(int(item["base_seed"]), int(item["iteration"]), item["label"])


def test_streams_are_those_of_the_vectors():
    assert VECTORS["streams"]
    for item in VECTORS["streams"]:
        assert state_of(item) == tuple(int(x) for x in item["state"])
        stream = stream_of(item)
        assert [stream.u64() for _ in item["u64"]] == [int(x) for x in item["u64"]]


def test_case_seeds_are_those_of_the_vectors():
    for item in VECTORS["case_seeds"]:
        seed = rng.case_seed(int(item["base_seed"]), int(item["iteration"]), item["op"])
        assert seed == int(item["case_seed"])


def test_draws_are_those_of_the_vectors():
    item = VECTORS["draws"]
    below, integer, wide, narrow, sign = (stream_of(item) for _ in range(5))
    assert [below.below(10) for _ in item["below_10"]] == item["below_10"]
    assert [integer.integer(-5, 5) for _ in item["int_-5_5"]] == item["int_-5_5"]
    assert [wide.unit64().hex() for _ in item["unit64"]] == item["unit64"]
    assert [narrow.unit32().hex() for _ in item["unit32"]] == item["unit32"]
    assert [int(sign.negative()) for _ in item["sign"]] == item["sign"]


def test_far_outputs_are_those_of_the_vectors():
    for item in VECTORS["far"]:
        index = int(item["output_index"])
        assert rng.step(rng.jump(state_of(item), index))[0] == int(item["u64"])
        assert int(rng.outputs(state_of(item), index + 1)[-1]) == int(item["u64"])


@pytest.mark.parametrize("count", [0, 1, 255, 256, 257, 1000, 4097])
def test_lanes_give_the_outputs_of_single_steps(count):
    state = rng.derive_state(5, 6, "x")
    lanes = rng.outputs(state, count)
    for output in lanes:
        expected, state = rng.step(state)
        assert int(output) == expected


def bits_of(array):
    width = array.dtype.itemsize
    return [format(int(x), f"0{2 * width}x") for x in array.view(f"u{width}")]


@pytest.mark.parametrize("item", VECTORS["tensors"], ids=lambda item: item["distribution"])
def test_tensors_are_those_of_the_vectors(item):
    names = [name for name in ("float64", "float32", "float16", "bfloat16") if name in item]
    for name in names:
        tensor = rng.generate(
            int(item["base_seed"]), int(item["iteration"]), item["label"],
            item["distribution"], item["args"], [len(item[name])], name,
        )  # fmt: skip
        if name == "float64":
            assert [float(x).hex() for x in tensor] == item[name]
        else:
            assert bits_of(tensor) == item[name]
    if "values" in item:
        drawn = rng.draw(state_of(item), "integer", item["args"], len(item["values"]))
        assert drawn.tolist() == item["values"]


def test_bfloat16_rounds_once_to_nearest_even():
    patterns = np.arange(0x7F7F, dtype=np.uint16)
    low, high = rng.bfloat16_values(patterns), rng.bfloat16_values(patterns + np.uint16(1))
    middle = low + (high - low) / 2
    even = patterns + (patterns & np.uint16(1))
    assert np.array_equal(rng.bfloat16_bits(low), patterns)
    assert np.array_equal(rng.bfloat16_bits(middle), even)
    assert np.array_equal(rng.bfloat16_bits(np.nextafter(middle, high)), patterns + np.uint16(1))


def test_threads_that_draw_first_at_the_same_time_draw_the_same():
    state, threads = rng.derive_state(1, 23, "input/x"), 8
    expected = rng.outputs(state, 4000)
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for _ in range(10):
            fresh, begin, made = linear.Linear(rng.step, rng._lane_step), threading.Barrier(threads), []

            def draw(fresh=fresh, begin=begin, made=made):
                begin.wait()
                made.append(fresh.outputs(state, 4000))

            running = [threading.Thread(target=draw) for _ in range(threads)]
            for one in running:
                one.start()
            for one in running:
                one.join()
            assert len(made) == threads and all(np.array_equal(one, expected) for one in made)
            assert np.array_equal(fresh.outputs(state, 4000), expected)
    finally:
        sys.setswitchinterval(before)
