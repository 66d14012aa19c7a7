"""Executor.bisect: the first op that two variants, policies or libraries compute differently."""
import os
import pathlib
import shutil
import subprocess

import pytest

from conftest import ROOT
from test_programs import device, started, state  # noqa: F401  (device is a fixture)

import numpy as np

from gpuemu import program, runtime
from gpuemu.program import reproduce


def test_bisecting_finds_the_first_op_that_differs(device, tmp_path, monkeypatch):
    monkeypatch.setenv("GPUEMU_DB", str(tmp_path))
    executor, data = started(device)
    executor.set("scalars", program.adam_scalars(1, 1e-2))
    before = state(executor)
    same = executor.bisect(variants=({}, {"gemm": "small"}), inputs=data, exact=True)
    assert same == program.BisectReport() and same.index is None
    assert executor.bisect(variants=({"gemm": "tiled"}, {"gemm": "naive"}), inputs=data).index is None, "both are right within the bound"
    policies = (None, runtime.Policy(prefer={"gemm": "naive"}))
    found = executor.bisect(policies=policies, inputs=data, exact=True)
    if found.index is not None:  # Sums in another order may still have the same bits.
        assert (found.op, found.a, found.b) == ("gemm", "small", "naive") and found.a_value != found.b_value
    assert state(executor) == before
    for wrong in ({}, {"variants": ({}, {}), "policies": (None, None)}, {"variants": {}}):
        with pytest.raises(ValueError, match="exactly one pair"):
            executor.bisect(**wrong)
    with pytest.raises(runtime.UnsupportedError, match="/nowhere.so"):
        executor.bisect(libraries=("/nowhere.so", None), inputs=data)
    with pytest.raises(runtime.NotFoundError, match=r"op 0, gemm, written at"):
        executor.bisect(variants=({}, {"gemm": "nothing"}), inputs=data)


ONE_WRONG = """extern "C" __global__ void f(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = (x[i] > 0 ? x[i] : 0) * 1.0000001f + (i == 3 ? 0.5f : 0.f); }"""


def test_bisecting_names_the_element_beyond_its_bound(device, tmp_path, monkeypatch):
    monkeypatch.setenv("GPUEMU_DB", str(tmp_path))
    graph = program.IRGraph()
    graph.output("y", graph.relu(graph.input("x", (6,))))
    executor, data = program.Executor(graph, device), {"x": np.arange(1, 7, dtype=np.float32)}
    launch = runtime.Launch("f", 1, 32, ["x", "y", "i32:x.count"])
    with runtime.register_kernel("relu", "one_wrong", ONE_WRONG, [launch], types={"T": ["float32"]}, priority=-9):
        sides = ({}, {"relu": "one_wrong"})
        found = executor.bisect(variants=sides, inputs=data)
        assert (found.index, found.b, found.element, found.a_value) == (0, "one_wrong", 3, 4.0) and found.b_value == pytest.approx(4.5)
        assert executor.bisect(variants=sides, inputs=data, exact=True).element == 0, "all elements differ in a bit"
    with pytest.raises(runtime.NotFoundError, match="abacus"):
        executor.bisect(variants=({}, {"abacus": "one_wrong"}), inputs=data)
    with pytest.raises(TypeError, match="two dicts"):
        executor.bisect(variants=({}, "one_wrong"), inputs=data)


# Stands before the real library, and adds 1 to what mse computes.
ANOTHER_LIBRARY = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <gpuemu/op_call.h>
gpuemu_code gpuemu_op_call(gpuemu_context* context, const gpuemu_call* call) {
  static gpuemu_code (*real)(gpuemu_context*, const gpuemu_call*);
  const char* name = gpuemu_op_name(context, call->op);
  if (!real) real = (gpuemu_code (*)(gpuemu_context*, const gpuemu_call*))dlsym(RTLD_NEXT, "gpuemu_op_call");
  gpuemu_code code = real(context, call);
  if (code == GPUEMU_OK && name[0] == 'm' && name[1] == 's' && name[2] == 'e' && name[3] == 0) {
    float value = 0;
    gpuemu_memory_download(context, &value, call->outputs[0].data, 4, call->stream);
    gpuemu_stream_synchronize(context, call->stream);
    value += 1;
    gpuemu_memory_upload(context, call->outputs[0].data, &value, 4, call->stream);
    gpuemu_stream_synchronize(context, call->stream);
  }
  return code;
}
"""


def test_bisecting_two_libraries_names_the_op_that_one_computes_differently(device, tmp_path, monkeypatch):
    (tmp_path / "gpuemu").mkdir()
    shutil.copy(ROOT / "ops/capi/op_call.h", tmp_path / "gpuemu")
    (tmp_path / "another.c").write_text(ANOTHER_LIBRARY)
    real, another = pathlib.Path(os.environ["GPUEMU_LIBRARY"]), tmp_path / "libanother.so"
    subprocess.run(["cc", "-shared", "-fPIC", f"-I{tmp_path}", tmp_path / "another.c", "-o", another, real, f"-Wl,-rpath,{real.parent}", "-ldl"], check=True)
    executor, data = started(device)
    data = {**data, "scalars": program.adam_scalars(1, 1e-2)}
    before = state(executor)
    monkeypatch.setenv("GPUEMU_DB", str(tmp_path))
    found = executor.bisect(libraries=(None, another), inputs=data)
    assert (found.index, found.op, found.output) == (5, "mse", "loss") and found.b_value - found.a_value == pytest.approx(1, rel=1e-5)
    assert executor.bisect(libraries=(another, None), inputs=data).op == "mse"
    assert executor.bisect(libraries=(str(real), None), inputs=data, exact=True).index is None
    assert state(executor) == before


def test_bisecting_names_a_wrong_side(device, tmp_path, monkeypatch):
    monkeypatch.setenv("GPUEMU_DB", str(tmp_path))
    executor, data = started(device)
    real = runtime.op_call

    def op_call(kind, inputs, outputs, *args, variant=None, **options):
        real(kind, inputs, outputs, *args, variant=variant, **options)
        if variant == "two_steps":
            outputs[0].copy_from(outputs[0].numpy() + np.float32(0.5))

    monkeypatch.setattr(runtime, "op_call", op_call)
    found = executor.bisect(variants=({}, {"mse": "two_steps"}), inputs={**data, "scalars": program.adam_scalars(1, 1e-2)})
    assert (found.index, found.op, found.output, found.element) == (5, "mse", "loss", 0)
    assert found.b_value - found.a_value == pytest.approx(0.5, rel=1e-5) and found.max_diff == pytest.approx(0.5, rel=1e-5)
    assert pathlib.Path(found.reproducer).parent == tmp_path
    assert [(one.op, one.output, one.element) for one in reproduce.reproduce(found.reproducer)] == [("mse", "loss", 0)]
    monkeypatch.undo()
    assert reproduce.reproduce(found.reproducer) == [], "side b is as side a then"


@pytest.mark.parametrize(("text", "says"), [("{", "case.json is no JSON"), ("[]", "case.json has no 'op'"), ("3", "has no 'op'"), ('{"op": "relu"}', "has no 'variant'")])
def test_a_folder_without_a_case_says_what_is_missing(tmp_path, capsys, text, says):
    (tmp_path / "case.json").write_text(text)
    assert reproduce.main([str(tmp_path), "--exit-code"]) == reproduce.CANNOT_RUN
    assert says in capsys.readouterr().err
