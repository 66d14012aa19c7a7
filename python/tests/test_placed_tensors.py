"""Tests that layouts are real memory, and equal to those that the daemon gives the kernel of the same case."""

import json
import os
import pathlib
import subprocess

import numpy as np
import pytest

import gpuemu
from gpuemu.generate import layouts

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("GPUEMU_BIN", ROOT / "build/release/bin"))
SHAPES = [(), (1,), (5,), (3, 4), (2, 3, 4), (0, 3), (3, 1), (1, 1, 1, 1)]


def made(shape):
    """Returns every layout of a shape."""
    found = {"contiguous": layouts.contiguous(shape), "padded": layouts.padded(shape, 3), "stepped": layouts.stepped(shape, 2),
             "transposed": layouts.transposed(shape)}  # fmt: skip
    for axis in range(len(shape)):
        found |= {f"broadcast {axis}": layouts.broadcast(shape, axis), f"reversed {axis}": layouts.backwards(shape, axis)}
    return found


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", ["float32", "uint8", "float64"])
def test_placed_values_are_equal_and_lie_where_the_layout_says(shape, dtype):
    packed = np.arange(1, np.prod(shape) + 1).reshape(shape).astype(dtype)
    for name, layout in made(shape).items():
        expected = np.broadcast_to(packed.take([0], int(name[-1])), shape) if name.startswith("broadcast") and packed.size else packed
        placed = layouts.place(packed, layout, base_offset=packed.itemsize * 3)
        np.testing.assert_array_equal(placed, expected, err_msg=name)
        if packed.size:
            assert placed.strides == tuple(stride * packed.itemsize for stride in layout.strides)
            first = placed.__array_interface__["data"][0] - layout.offset * packed.itemsize
            assert first % layouts.ALIGNMENT == packed.itemsize * 3 % layouts.ALIGNMENT
            assert layout.elements == (packed.size if name[:3] in ("con", "tra", "rev") else layout.elements) >= 1


def test_what_lies_between_the_elements_is_nan():
    placed = layouts.place(np.ones((2, 3), np.float32), layouts.padded((2, 3), 2))
    assert np.isnan(np.lib.stride_tricks.as_strided(placed, (2, 5))[:, 3:]).all()


def test_wrong_layouts_are_told():
    x = np.ones((2, 3))
    for wrong, said in (
        (lambda: layouts.place(x, layouts.contiguous((6,))), "1 strides, the array 2 axes"),
        (lambda: layouts.place(x, layouts.Layout((3, 1), 0, 5)), "elements 0 to 5 are used of a storage of 5"),
        (lambda: layouts.place(x, layouts.Layout((-3, 1), 0, 6)), "elements -3 to 2"),
        (lambda: layouts.place(x, layouts.contiguous((2, 3)), -1), "base_offset is -1"),
        (lambda: layouts.broadcast((2, 3), 2), "no axis 2 in a shape of 2 axes"),
        (lambda: layouts.backwards((), 0), "no axis 0"),
        (lambda: layouts.stepped((2,), 0), "step is 0"),
        (lambda: layouts.drawn("diagonal", (2,), 1, 0, "x"), "'diagonal' is unknown, expected one of contiguous"),
    ):
        with pytest.raises(ValueError, match=said):
            wrong()


CONFIG = """[validation]
cases = 60
seed = 5
[[kernels]]
name = "nothing"
source = "nothing.ptx"
reference = "nothing.py"
inputs = [{ name = "x", shape = ["m", "n"], align = 1 }, { name = "z", shape = ["n"], align = 16 }]
outputs = [{ name = "y", shape = ["m", "n"] }]
dims = { m = [2, 9], n = [2, 40] }
dtypes = ["float32", "float16"]
layouts = ["contiguous", "strided", "transposed", "broadcast", "reversed"]
launches = [{ entry = "nothing", grid = 1, block = 1, args = [
  "x", "y", "z", "i64:stride(x, 0)", "i64:stride(x, 1)", "i64:stride(y, 0)", "i64:stride(z, 0)"] }]
"""
# Writes nothing, so every case fails and is stored.
KERNEL = """.version 7.0
.target sm_75
.address_size 64
.visible .entry nothing(.param .u64 x, .param .u64 y, .param .u64 z, .param .u64 x0, .param .u64 x1, .param .u64 y0, .param .u64 z0)
{
	ret;
}
"""


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """Returns cases of a kernel that gets strides, as the daemon exports them."""
    pytest.importorskip("pynng")
    if not (BIN / "gpuemu").exists():
        pytest.skip(f"no {BIN}/gpuemu; build it or set GPUEMU_BIN")
    folder = tmp_path_factory.mktemp("l")
    for name, text in {"gpuemu.toml": CONFIG, "nothing.ptx": KERNEL, "nothing.py": "def reference(x, z):\n    return z - x\n"}.items():
        (folder / name).write_text(text)
    env = {**os.environ, "HOME": str(folder), "GPUEMU_SOCKET": str(folder / "s"), "GPUEMU_DB": str(folder / "db")}
    env.pop("GPUEMU_CONFIG", None)
    try:
        done = subprocess.run([BIN / "gpuemu", "test", "--format", "json"], cwd=folder, env=env, capture_output=True, text=True)
        assert done.returncode == 1, done.stdout + done.stderr
        listed = subprocess.run([BIN / "gpuemu", "failures", "--limit", "200", "--format", "json"], cwd=folder, env=env, capture_output=True, text=True)
        with gpuemu.Client(str(folder / "s"), 120000) as client:
            yield [client.export_case(one["seed"]) for one in json.loads(listed.stdout)["results"]]
    finally:
        subprocess.run([BIN / "gpuemu", "daemon", "stop"], cwd=folder, env=env, capture_output=True)


def test_layouts_are_those_of_the_daemon(exported):
    kinds, offsets = set(), 0
    for case in exported:
        info = case.result.repro_info
        kind = info.layout_name or info.layout.lower()
        kinds.add(kind)
        for tensor in (one for one in case.tensors if one.role in ("input", "output")):
            layout = layouts.drawn(kind, tensor.shape, info.base_seed, info.iteration, tensor.name, written=tensor.role == "output",
                                   every_stride=tensor.name != "y")  # fmt: skip
            assert layout == layouts.Layout(tuple(tensor.strides), tensor.first_element, tensor.storage_elements), (kind, tensor)
            item = np.dtype(tensor.dtype).itemsize
            begins = layouts.base_offset(info.base_seed, info.iteration, tensor.name, item, {"z": 16, "x": 1}.get(tensor.name, 256))
            assert begins == tensor.base_offset_bytes
            offsets += begins > 0
        for name, placed in case.placed().items():
            assert placed.tobytes() == case.inputs[name].tobytes()
    assert kinds == set(layouts.KINDS) and offsets > 10 and len(exported) > 60
