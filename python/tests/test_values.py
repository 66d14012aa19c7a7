"""Tests that inputs equal those that the daemon generates for the same case."""

import hashlib
import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

from gpuemu.generate import linear, native, rng, values

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("GPUEMU_BIN", ROOT / "build/release/bin"))
CASES = json.loads((ROOT / "tests/crosslang/value_vectors.json").read_text())["cases"]


def load():
    """Returns the library of the programs under test. Fails if only the library is missing; skips if there are no programs."""
    if not BIN.is_dir():
        pytest.skip(f"no {BIN}; build it or set GPUEMU_BIN")
    return native.Library(str(BIN.parent / "lib" / native.NAME))


def by(machine_code, monkeypatch):
    monkeypatch.setattr(native, "_searched", True)
    monkeypatch.setattr(native, "_library", load() if machine_code else None)


@pytest.fixture(params=["numpy", "machine code"])
def either(request, monkeypatch):
    by(request.param == "machine code", monkeypatch)


@pytest.fixture
def numpy_alone(monkeypatch):
    by(False, monkeypatch)


def test_every_strategy_and_dtype_gives_the_bytes_of_the_daemon(either):
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
def test_an_element_of_a_large_tensor_is_that_of_its_two_outputs_alone(strategy, numpy_alone, monkeypatch):
    """Lanes and tiles do not affect the result: the same tensor computed from outputs in order has the same bytes."""
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


DOMAINS = {"float32": (None, [-3.5, 7.0]), "float16": (None, [0.0, 3.0]), "bfloat16": (None, [-1e30, -0.0]), "float64": (None, [1e-3, 1e300]),
           "int8": (None, [-7.5, 90.0]), "uint8": (None, [3, 3]), "int16": (None,), "uint16": (None,), "int32": (None, [0, 1e9]), "uint32": (None,),
           "int64": (None, [-1e12, 5e9]), "uint64": (None,), "bool": (None,)}  # fmt: skip


@pytest.mark.parametrize("dtype", DOMAINS)
def test_machine_code_and_numpy_make_the_same_bits(dtype, monkeypatch):
    """Tests sizes around those of lanes, tiles and parts."""
    library, wrong = load(), []
    monkeypatch.setattr(native, "_searched", True)
    for strategy in values.STRATEGIES:
        for bounds in DOMAINS[dtype]:
            for count, scale in ((1, 1.0), (127, 1.0), (8192, 0.25), (50_001, 1.0)):
                tensor = {"name": "x", "dtype": dtype, "shape": [count], "range": bounds}
                case = {"base_seed": 8, "iteration": 3, "value_strategy": strategy, "value_scale": scale, "inputs": [tensor]}
                made = []
                for one in (library, None):
                    monkeypatch.setattr(native, "_library", one)
                    made.append(values.fill_input(case, "x").tobytes())
                if made[0] != made[1]:
                    wrong.append((strategy, bounds, count))
    assert not wrong


@pytest.mark.parametrize("distribution, params", [("uniform", (-1, 2)), ("normal", (3, 0.5)), ("log_uniform", (-1074, 1023)), ("integer", (-7, 9)),
                                                  ("integer", (-(2**63), 2**63 - 1)), ("special", (5, 0.25))])  # fmt: skip
def test_generate_makes_the_same_bits_either_way(distribution, params, monkeypatch):
    library = load()
    monkeypatch.setattr(native, "_searched", True)
    for dtype in ("float64", "float32", "float16", "bfloat16", "int8", "uint64"):
        made = []
        for one in (library, None):
            monkeypatch.setattr(native, "_library", one)
            made.append(rng.generate(5, 6, "label", distribution, params, (3, 7001), dtype))
        assert made[0].dtype == made[1].dtype and made[0].shape == (3, 7001) and made[0].tobytes() == made[1].tobytes(), dtype


def test_the_library_refuses_what_it_cannot_draw(monkeypatch):
    monkeypatch.setattr(native, "_searched", True)
    monkeypatch.setattr(native, "_library", load())
    made = np.full(4, 7, np.float32)
    for distribution, params, dtype in (("gamma", (0, 1), "float32"), ("uniform", (0, 1), "float8"), ("integer", (0.5, 2), "float32"),
                                        ("integer", (2, 1), "float32"), ("integer", (0, 2.0**60), "float32"), ("uniform", (0, np.inf), "float32"),
                                        ("log_uniform", (-2000, 0), "float32")):  # fmt: skip
        assert not native.draw((1, 2), distribution, params, dtype, made), (distribution, params, dtype)
    assert (made == 7).all()
    assert not native.draw((1, 2), "uniform", (0, 1), "float32", made, special=np.zeros(0, np.float32), probability=0.5)


def test_a_library_that_is_another_is_left_alone(tmp_path, monkeypatch):
    load()
    (tmp_path / native.NAME).write_text("no library")
    monkeypatch.setattr(native, "candidates", lambda: [str(tmp_path / native.NAME)])
    monkeypatch.setattr(native, "_searched", False)
    monkeypatch.setattr(native, "_library", None)
    assert native.library() is None
    monkeypatch.setattr(native, "VERSION", 0)
    with pytest.raises(OSError, match="expected 0"):
        native.Library(str(BIN.parent / "lib" / native.NAME))
    with pytest.raises(OSError, match="is not libgpuemu-draws.so"):
        native.Library("libc.so.6")


def test_the_library_is_found_beside_the_command_and_can_be_left_alone():
    code = "from gpuemu.generate import native; print(native.library() and native.library().path)"
    env = {"PYTHONPATH": str(ROOT / "python"), "GPUEMU_CLI": str(BIN / "gpuemu"), "PATH": os.environ["PATH"]}
    load()

    def said(**more):
        return subprocess.run([sys.executable, "-c", code], env={**env, **more}, capture_output=True, text=True, check=True).stdout.strip()

    assert said() == str((BIN.parent / "lib" / native.NAME).resolve())
    assert said(GPUEMU_NATIVE_DRAWS="0") == "None"
    assert said(GPUEMU_CLI="/nowhere/bin/gpuemu") == "None"


def test_the_library_brings_nothing_into_the_process_and_gives_two_names():
    """Our C++ library could be older than the one that another package needs, and our OpenMP would be a second one."""
    path = pathlib.Path(load().path)
    needed = subprocess.run(["ldd", path], capture_output=True, text=True, check=True).stdout.split()
    assert {one.partition(".so")[0] for one in needed if one.startswith("lib")} <= {"libc", "libm"}, needed
    listed = subprocess.run(["nm", "-D", "--defined-only", path], capture_output=True, text=True, check=True).stdout.splitlines()
    assert {line.split()[-1] for line in listed} == {"gpuemu_draw", "gpuemu_draws_version"}
