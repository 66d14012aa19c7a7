"""Tests the generator of existing clients against the shared vectors."""

import json
import pathlib

import numpy as np
import pytest

import gpuemu
from gpuemu import tensors
from gpuemu.generate import legacy, rng

ROOT = pathlib.Path(__file__).resolve().parents[2]
VECTORS = json.loads((ROOT / "tests/crosslang/legacy_generator_vectors.json").read_text())


def test_seeds_are_those_of_the_vectors():
    assert VECTORS["derive_seed"]
    for item in VECTORS["derive_seed"]:
        assert rng.derive_seed(int(item["seed"]), item["label"]) == int(item["out"])


@pytest.mark.parametrize("item", VECTORS["streams"]["items"], ids=lambda item: item["seed"])
def test_draws_are_those_of_the_vectors(item):
    seed = int(item["seed"])
    assert [str(x) for x in gpuemu.SeededRng(seed).outputs(len(item["u64"]))] == item["u64"]
    one = gpuemu.SeededRng(seed)
    assert [str(one.gen_u64()) for _ in item["u64"]] == item["u64"]
    unit = gpuemu.SeededRng(seed)
    assert [unit.gen_f64().hex() for _ in item["f64_hex"]] == item["f64_hex"]


def test_many_outputs_at_once_are_those_of_single_draws():
    at_once, single = gpuemu.SeededRng(7), gpuemu.SeededRng(7)
    assert at_once.outputs(5001).tolist() == [single.gen_u64() for _ in range(5001)]
    assert at_once.gen_u64() == single.gen_u64()


@pytest.mark.parametrize("plan", VECTORS["case_plans"]["items"], ids=lambda plan: f"{plan['seed']}-{plan['options']}")
def test_cases_are_those_of_the_vectors(plan):
    options = VECTORS["shape_option_sets"][plan["options"]]
    config = gpuemu.FuzzConfig(int(plan["seed"]), **options, dtypes=VECTORS["case_plans"]["dtypes"],
                               layouts=VECTORS["case_plans"]["layouts"])
    fuzzer = gpuemu.SeededFuzzer(config)
    for expected, case in zip(plan["cases"], fuzzer.iterator(len(plan["cases"]))):
        seen = {"case_seed": str(case.seed), "shape": list(case.shape), "dtype": case.dtype, "layout": case.layout,
                "strides": list(case.strides)}
        assert seen == {key: expected[key] for key in seen}


def bytes_of(array):
    return np.ascontiguousarray(array).tobytes().hex()


@pytest.mark.parametrize("item", [one for one in VECTORS["tensor_bytes"]["items"] if one["dtype"] != "bfloat16"],
                         ids=lambda item: f"{item['dtype']}-{item['case_seed']}-{item['input_index']}")
def test_elements_are_those_of_the_vectors(item):
    data = gpuemu.SeededRng(int(item["case_seed"])).derive("data").derive(f"input_{item['input_index']}")
    assert bytes_of(data.fill([8], item["dtype"])) == item["first_8_elements_hex"]


def test_bfloat16_elements_are_those_of_float32_rounded():
    made = gpuemu.SeededRng(42).fill([64], "bfloat16")
    bits = made.view(np.uint16)
    wide = gpuemu.SeededRng(42).fill([64], "float32").astype(np.float64)
    assert np.array_equal(bits, rng.bfloat16_bits(wide))


def test_schema_cases_are_those_of_the_vectors():
    cases = VECTORS["schema_cases"]
    assert cases["items"]
    for item in cases["items"]:
        schema = VECTORS["schemas"][item["schema"]]
        config = gpuemu.FuzzConfig(int(item["seed"]), dtypes=cases["dtypes"], layouts=cases["layouts"])
        names = [one["name"] for one in schema["inputs"]]
        made = legacy.case(config, item["iteration"], names, schema)
        assert (str(made["seed"]), made["shape"], made["layout"]) == (item["case_seed"], item["shape"], item["layout"])
        for name, tensor in item["inputs"].items():
            assert list(made["inputs"][name].shape) == tensor["shape"]
            assert list(legacy.strides_of(made["layout"], tensor["shape"])) == tensor["strides"]
            assert bytes_of(made["inputs"][name].reshape(-1)[:4]) == tensor["first_4_elements_hex"]


def test_a_tensor_follows_from_seed_and_domain():
    first = gpuemu.generate_random_tensor(5, (4, 6), "float16", "x")
    assert first.dtype == np.float16 and np.array_equal(first, gpuemu.generate_random_tensor(5, (4, 6), "float16", "x"))
    assert not np.array_equal(first, gpuemu.generate_random_tensor(5, (4, 6), "float16", "y"))
    whole = gpuemu.generate_random_tensor(5, (1000,), "int32")
    assert whole.dtype == np.int32 and whole.min() >= -100 and whole.max() <= 99 and len(set(whole.tolist())) > 100


def test_every_dtype_can_be_filled():
    for dtype in tensors.DTYPES:
        assert gpuemu.SeededRng(1).fill((3, 2), dtype).shape == (3, 2)
    with pytest.raises(TypeError, match="complex64"):
        gpuemu.SeededRng(1).fill((3,), "complex64")


def test_layouts_and_shapes_go_through_every_combination():
    assert list(gpuemu.fuzz_shapes(batch=[1, 2], seq=[3])) == [(1, 3), (2, 3)] and list(gpuemu.fuzz_shapes()) == []
    assert list(gpuemu.fuzz_layouts((2, 3))) == [((2, 3), (3, 1)), ((3, 2), (2, 1)), ((2, 3), (6, 2))]
    layout = next(gpuemu.fuzz_layouts_seeded(3, (2, 3, 4), ["transposed"]))
    assert layout[1:] == ("transposed", (2, 3, 4), (12, 3, 1))
