"""Built-in kernels that are compiled from one source when they are first called: cast and elementwise ops of any strides and dtypes."""
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

from conftest import ROOT
from test_runtime import LIBRARY, runtime

PAIRS = [("float32", "float16"), ("float16", "bfloat16"), ("bfloat16", "int8"), ("float64", "uint64"), ("int64", "bool"), ("bool", "float64")]
VALUES = np.array([[0.0, -1.5, 2.5, 70000.0], [np.nan, np.inf, -np.inf, 0.1], [255.5, -128.6, 1e-8, 3e9]])


@pytest.fixture
def device(tmp_path):
    with runtime.Device("emulator", folder=str(tmp_path / "kept")) as made:
        yield made


def needs_a_compiler(call):
    try:
        call()
    except runtime.UnsupportedError as problem:
        if "no CUDA compiler" in str(problem):
            pytest.skip(str(problem))
        raise


def bits(tensor):
    raw = tensor.numpy()
    return raw.view(np.uint16) if raw.dtype.itemsize == 2 else raw


@pytest.mark.parametrize("wide, narrow", PAIRS)
def test_a_cast_of_any_strides_has_the_bits_of_a_contiguous_one(device, wide, narrow):
    values = np.nan_to_num(VALUES, posinf=100, neginf=-100).clip(-9e18, 9e18) if "float" not in wide else VALUES
    with np.errstate(over="ignore"):
        x = device.tensor(values if wide == "float64" else values.astype("float32" if wide == "bfloat16" else wide), dtype=wide)
    expected, packed = device.empty((4, 3), narrow), device.empty((4, 3), wide)
    runtime.op_call("copy", [x.transpose()], [packed])
    runtime.op_call("cast", [packed], [expected], variant="per_pair")
    got, spread = device.empty((4, 3), narrow), device.empty((4, 6), narrow)
    needs_a_compiler(lambda: runtime.op_call("cast", [x.transpose()], [got]))
    runtime.op_call("cast", [x.transpose()], [spread[:, ::2]])
    assert bits(got).tobytes() == bits(expected).tobytes()
    # Only every second column was written.
    assert bits(spread[:, ::2]).tobytes() == bits(expected).tobytes()


def test_the_source_is_asked_for_only_where_no_built_in_pair_fits_and_kept(device, tmp_path):
    x, y = device.tensor(np.arange(6, dtype=np.float32).reshape(2, 3)), device.empty((3, 2), "int32")
    with device.dispatch_log() as log:
        runtime.op_call("cast", [x.view((3, 2))], [y])
        assert not (tmp_path / "kept").exists() or not [one for one in (tmp_path / "kept").rglob("*.ptx")]
        needs_a_compiler(lambda: runtime.op_call("cast", [x.transpose()], [y]))
    assert [one.variant for one in log.records] == ["per_pair", "strided"]
    assert y.numpy().tolist() == [[0, 3], [1, 4], [2, 5]]
    kept = sorted(one for one in (tmp_path / "kept").rglob("*") if one.is_file())
    before = {one: one.stat().st_mtime_ns for one in kept}
    assert kept
    with runtime.Device("emulator", folder=str(tmp_path / "kept")) as again:
        x, y = again.tensor(np.arange(6, dtype=np.float32).reshape(2, 3)), again.empty((3, 2), "int32")
        runtime.op_call("cast", [x.transpose()], [y], device=again)
        assert y.numpy().tolist() == [[0, 3], [1, 4], [2, 5]]
    assert {one: one.stat().st_mtime_ns for one in kept} == before


def test_more_axes_than_it_has_room_for_are_refused_with_the_reason(device):
    x, y = device.zeros((2, 1, 2, 1, 2)), device.empty((2, 1, 2, 1, 2), "int8")
    with pytest.raises(runtime.UnsupportedError, match="strided: x has 5 axes, expected up to 4"):
        runtime.op_call("cast", [x.transpose()], [y])


def test_without_a_compiler_the_error_says_how_to_get_one(tmp_path):
    """The library lies where no toolkit is beside it, and the usual folder is empty."""
    if not os.path.isdir("/usr/local/cuda") or os.geteuid() != 0:
        pytest.skip("needs the right to hide the toolkit")
    (tmp_path / "empty").mkdir()
    shutil.copy(LIBRARY, tmp_path / "libgpuemu.so.1")
    code = ("from gpuemu import runtime as r\nd = r.Device('emulator')\n"
            "try:\n    r.op_call('cast', [d.zeros((2, 3)).transpose()], [d.empty((3, 2), 'int8')], device=d)\n"
            "except r.UnsupportedError as error:\n    print(error)\n"
            "y = d.empty((2, 3), 'int8')\nr.op_call('cast', [d.zeros((2, 3))], [y], device=d)\nprint(y.numpy().tolist())")
    command = f'mount --bind {tmp_path}/empty "$(readlink -f /usr/local/cuda)" && exec {sys.executable} -c "$CODE"'
    env = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "CODE": code, "PYTHONPATH": str(ROOT / "python"),
           "GPUEMU_LIBRARY": str(tmp_path / "libgpuemu.so.1")}
    done = subprocess.run(["unshare", "-m", "sh", "-c", command], capture_output=True, text=True, timeout=120, env=env)
    if "unshare" in done.stderr:
        pytest.skip(done.stderr)
    assert "cast, strided" in done.stdout and "no CUDA compiler" in done.stdout and "pip install 'gpuemu[cuda]'" in done.stdout, done
    assert "[[0, 0, 0], [0, 0, 0]]" in done.stdout, done


# --- elementwise ops

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
UNARY = ("gelu", "silu", "sigmoid", "tanh")
GRADIENTS = ("relu_bwd", "gelu_bwd", "silu_bwd", "sigmoid_bwd", "tanh_bwd")


def spread(device, values, dtype):
    """The values in every second column of a transposed matrix."""
    whole = np.zeros((values.shape[1], 2 * values.shape[0]), values.dtype)
    whole[:, ::2] = values.T
    return device.tensor(whole, dtype=dtype)[:, ::2].transpose()


def chosen(device, op, inputs, output):
    with device.dispatch_log() as log:
        needs_a_compiler(lambda: runtime.op_call(op, inputs, [output]))
    return log.records[0].variant


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_unary_ops_of_any_strides_have_the_bits_of_their_entries(device, dtype):
    values = np.array([[0.0, -1.5, 2.5, 88.0], [np.nan, np.inf, -np.inf, 0.1], [-0.0, -128.6, 1e-8, 3e9]], np.float32)
    packed, apart = device.tensor(values, dtype=dtype), spread(device, values, dtype)
    for op in UNARY:
        expected, got = device.empty((3, 4), dtype), device.empty((4, 6), dtype)[:, ::2].transpose()
        runtime.op_call(op, [packed], [expected])
        assert chosen(device, op, [apart], got) == "generic"
        assert bits(got).tobytes() == bits(expected).tobytes(), op


def test_gradients_and_arithmetic_of_any_strides_have_the_bits_of_their_entries(device):
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 3, 4)).astype(np.float32)
    packed, apart = [device.tensor(one) for one in (a, b)], [spread(device, one, "float32") for one in (a, b)]
    for op in (*GRADIENTS, "add", "sub", "mul", "div"):
        expected, got = device.empty((3, 4)), device.empty((4, 6))[:, ::2].transpose()
        runtime.op_call(op, packed, [expected])
        assert chosen(device, op, apart, got) == "generic"
        assert bits(got).tobytes() == bits(expected).tobytes(), op


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_of_every_width_wrap(device, dtype):
    most, least = np.iinfo(dtype).max, np.iinfo(dtype).min
    a, b = np.array([[most, least, 7], [3, 1, 0]], dtype), np.array([5, most, 2], dtype)
    x, y, made = device.tensor(a), device.tensor(b), device.empty((2, 3), dtype)
    for op, reference in (("add", np.add), ("sub", np.subtract), ("mul", np.multiply)):
        needs_a_compiler(lambda op=op: runtime.op_call(op, [x, y], [made]))
        assert made.numpy().tolist() == reference(a, b).tolist(), op


def test_what_has_an_entry_is_not_compiled_whatever_the_policy(device, tmp_path):
    x, y = device.tensor(np.arange(6, dtype=np.float32)), device.empty(6)
    device.set_policy({"strategy": "best_performance"})
    for op, inputs in (("tanh", [x]), ("add", [x, x])):
        runtime.op_call(op, inputs, [y])
    assert not [one for one in (tmp_path / "kept").rglob("*") if "ptx" in one.name or "instance" in one.name]
    device.set_policy({"prefer": {"mul": "generic"}})
    assert chosen(device, "mul", [x, x], y) == "generic"
    assert y.numpy().tolist() == [0, 1, 4, 9, 16, 25]
    with pytest.raises(runtime.UnsupportedError, match="packets: T is int32, it computes .*; generic: T is int32, it computes float32"):
        runtime.op_call("gelu", [device.tensor([1, 2], dtype="int32")], [device.empty(2, "int32")])
