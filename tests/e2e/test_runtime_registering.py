"""Ops and kernels of the caller, on the emulator: chosen, checked, compiled, replayed, removed, and refused with a reason."""
import gc
import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

from gpuemu import program
from gpuemu.runtime import registrations
from test_runtime import device, runtime  # noqa: F401

from conftest import BIN, ROOT

ENV = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "PATH": f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}"}
SCALE = """
extern "C" __global__ void scale_float32(const float* x, float* y, int n, float k) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = k * x[i];
}
template <typename T> __global__ void scale(const T* x, T* y, int n, float k) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = T(k * float(x[i]));
}
"""
LAUNCH = runtime.Launch("scale_{T}", "cdiv(x.count, 64)", 64, ["x", "y", "i32:x.count", "f32:2"])
FLOAT32 = {"T": ["float32"]}


def floats(*values):
    return runtime.tensor(np.array(values, np.float32))


def relu(**how):
    x, y = floats(-1, 3), runtime.empty(2)
    runtime.op_call("relu", [x], [y], **how)
    return y.numpy().tolist()


def test_a_kernel_is_chosen_by_name_policy_and_priority_and_gone_when_removed(device):
    with runtime.register_kernel("relu", "doubling", SCALE, [LAUNCH], types=FLOAT32) as made:
        assert (made.op, made.name) == ("relu", "doubling")
        assert relu() == [0, 3] and relu(variant="doubling") == [-2, 6]
        shown = runtime.op_info("relu").variants[-1]
        assert (shown.name, shown.origin, shown.types) == ("doubling", "registered", FLOAT32)
        device.set_policy({"prefer": {"relu": "doubling"}})
        with device.dispatch_log() as log:
            assert relu() == [-2, 6]
        assert (log.records[0].variant, log.records[0].why) == ("doubling", "preferred")
        device.set_policy({})
    assert [one.name for one in runtime.op_info("relu").variants] == ["packets"]
    with pytest.raises(runtime.NotFoundError, match="packets"):
        relu(variant="doubling")
    made.remove()  # Twice is allowed.
    with runtime.register_kernel("relu", "doubling", SCALE, [LAUNCH], types=FLOAT32, priority=1):
        assert relu() == [-2, 6]


def test_a_kernel_is_for_the_process_or_for_one_device(device):
    with runtime.register_kernel("relu", "doubling", SCALE, [LAUNCH], types=FLOAT32, priority=1), runtime.Device("emulator") as later:
        assert relu() == [-2, 6]
        later.close()
    with runtime.Device("emulator") as other:
        with runtime.register_kernel("relu", "doubling", SCALE, [LAUNCH], types=FLOAT32, priority=1, device=device) as made:
            assert relu() == [0, 3]
            with pytest.raises(runtime.InvalidArgumentError, match="not registered for"):
                made.compile(other)
        other.close()


def test_templates_are_compiled_for_each_dtype(device):
    launch = runtime.Launch("scale<{T:c}>", ["cdiv(x.count, 64)"], (64, 1, 1), ["x", "y", "i32:x.count", "f32:3"])
    with runtime.register_kernel("relu", "tripling", SCALE, [launch], types={"T": ["float32", "float64"]}) as made:
        made.compile(device)
        for dtype in ("float32", "float64"):
            x, y = runtime.tensor(np.array([-1, 2], dtype)), runtime.empty(2, dtype)
            runtime.op_call("relu", [x], [y], variant="tripling")
            assert y.numpy().tolist() == [-3, 6]
        half = runtime.empty(2, "float16")
        with pytest.raises(runtime.UnsupportedError, match="T is float16, it computes float32, float64"):
            runtime.op_call("relu", [half], [half], variant="tripling")


def test_supports_passes_a_kernel_over_with_its_reason(device):
    def raises(case):
        raise ValueError(f"no rank {len(case.inputs['x'].shape)} on sm_{case.sm}")

    for supports, reason in (("x.count > 2", "it needs x.count > 2"), (lambda case: "too few", "too few"), (raises, "no rank 1 on sm_80"),
                             ("x.shape[1] > 0", "axis 1 does not exist in the shape")):  # fmt: skip
        with runtime.register_kernel("relu", "doubling", SCALE, [LAUNCH], types=FLOAT32, priority=1, supports=supports):
            assert relu() == [0, 3]
            with pytest.raises(runtime.UnsupportedError, match=reason):
                relu(variant="doubling")
    seen = []
    with runtime.register_kernel("relu", "doubling", SCALE, [LAUNCH], types=FLOAT32, priority=1, supports=lambda case: seen.append(case) or True):
        assert relu() == [-2, 6]
    assert seen[0].inputs["x"] == runtime.TensorSpec((2,), (1,), "float32") and set(seen[0].outputs) == {"y"} and seen[0].attrs == {}


def test_a_kernel_for_newer_devices_is_passed_over(device):
    with runtime.register_kernel("relu", "newer", SCALE, [LAUNCH], types=FLOAT32, priority=1, sm_min=90):
        assert relu() == [0, 3]
        with pytest.raises(runtime.UnsupportedError, match="the device is sm_80, it needs sm_90"):
            relu(variant="newer")
        with runtime.Device("emulator", arch="sm_90") as other, other:
            assert relu() == [-2, 6]


def test_a_kernel_gets_strided_tensors_only_where_it_declares_them(device):
    source = """extern "C" __global__ void turn(const float* x, float* y, int n, int step) {
      if (threadIdx.x < n) y[threadIdx.x] = -x[threadIdx.x * step];
    }"""
    launch = runtime.Launch("turn", 1, 32, ["x", "y", "i32:x.count", "i32:x.strides[0]"])
    x, y = floats(1, 2, 3, 4, 5)[::2], runtime.empty(3)
    for strided in (False, True):
        with runtime.register_kernel("relu", "turning", source, [launch], types=FLOAT32, strided=strided):
            if strided:
                runtime.op_call("relu", [x], [y], variant="turning")
                assert y.numpy().tolist() == [-1, -3, -5]
            else:
                with pytest.raises(runtime.UnsupportedError, match="'turning' does not compute this call: x .*contiguous"):
                    runtime.op_call("relu", [x], [y], variant="turning")


def test_a_kernel_has_attributes_of_its_own(device):
    launch = runtime.Launch("scale_float32", "cdiv(x.count, 64)", 64, ["x", "y", "i32:x.count", "f32:k"])
    with runtime.register_kernel("relu", "scaled", SCALE, [launch], types=FLOAT32, schema=[("k", "float32", 4.0)]):
        assert relu() == [0, 3] and relu(attrs={"k": 5}) == [-5, 15] and relu(variant="scaled") == [-4, 12]
        schema_id, data = runtime.pack("relu", {"k": 0.5}, variant="scaled")
        assert relu(attrs=data, schema_id=schema_id) == [-0.5, 1.5]
        assert runtime.unpack("relu", schema_id, data) == {"k": 0.5}
        assert runtime.pack("relu", None, variant="scaled") == runtime.pack("relu", {"k": 4.0}, variant="scaled")
        with pytest.raises(runtime.InvalidArgumentError, match="no attribute 'q'"):
            relu(attrs={"q": 1})
        with pytest.raises(runtime.UnsupportedError, match="'packets' does not compute this call: it has no attribute k"):
            relu(attrs={"k": 1}, variant="packets")
    with pytest.raises(runtime.InvalidArgumentError, match="no attribute 'k'"):
        relu(attrs={"k": 1})


def test_an_op_of_the_caller_has_shapes_attributes_and_kernels(device):
    made = runtime.register_op("my_scale", ["x: T"], ["y: T"], schema=[("k", "float32", 2.0)], summary="y = k x",
                               infer=lambda x, k: [runtime.TensorSpec(x.shape, None, x.dtype)])  # fmt: skip
    try:
        assert "my_scale" in runtime.ops() and runtime.op_info("my_scale").schema.fields[0].default == 2.0
        x, y = floats(1, 2), runtime.empty(2)
        with pytest.raises(runtime.UnsupportedError, match="it has none"):
            runtime.op_call("my_scale", [x], [y])
        launch = runtime.Launch("scale_float32", 1, "max(32, min(x.count, 1024))", ["x", "y", "i32:x.count", "f32:k"])
        runtime.register_kernel("my_scale", "plain", SCALE, [launch], types=FLOAT32)
        runtime.op_call("my_scale", [x], [y], {"k": 3})
        assert y.numpy().tolist() == [3, 6]
        with pytest.raises(runtime.InvalidArgumentError, match=r"y is float32\[3\], expected float32\[2\]"):
            runtime.op_call("my_scale", [x], [runtime.empty(3)])
        with pytest.raises(runtime.InvalidArgumentError, match="there is one of that name"):
            runtime.register_op("my_scale", ["x: T"], ["y: T"])
    finally:
        made.remove()
    assert "my_scale" not in runtime.ops()
    with pytest.raises(runtime.NotFoundError):
        runtime.op_call("my_scale", [x], [y])


def test_a_workspace_and_several_launches(device):
    source = """extern "C" __global__ void square(const float* x, float* w, int n) { if (threadIdx.x < n) w[threadIdx.x] = x[threadIdx.x] * x[threadIdx.x]; }
extern "C" __global__ void add_one(const float* w, float* y, int n) { if (threadIdx.x < n) y[threadIdx.x] = w[threadIdx.x] + 1; }"""
    launches = [runtime.Launch("square", 1, 32, ["x", "workspace", "i32:x.count"]), runtime.Launch("add_one", 1, 32, ["workspace", "y", "i32:y.count"])]
    with runtime.register_kernel("relu", "squares", source, launches, types=FLOAT32, workspace="x.bytes"):
        assert relu(variant="squares") == [2, 10]


def test_a_capture_sees_what_was_there_and_keeps_it(device):
    x, y = floats(-1, 3), runtime.empty(2)
    with runtime.Graph(device) as before:
        made = runtime.register_kernel("relu", "doubling", SCALE, [LAUNCH], types=FLOAT32, priority=1)
        runtime.op_call("relu", [x], [y])
    with runtime.Graph(device) as after:
        runtime.op_call("relu", [x], [y])
    made.remove()
    del made
    gc.collect()
    before.launch()
    assert y.numpy().tolist() == [0, 3]
    after.launch()
    assert y.numpy().tolist() == [-2, 6]


def test_an_op_says_whether_its_bits_are_the_same_every_time(device, tmp_path):
    assert all(runtime.op_info(name).deterministic for name in runtime.ops()), "no built-in kernel adds floats by atomics"
    atomic = """extern "C" __global__ void f(const float* x, float* y, int n) { ADD }"""
    path = tmp_path / "sum.cu"
    path.write_text(atomic.replace("ADD", "atomicAdd(y, x[threadIdx.x]);"))
    launch = runtime.Launch("f", 1, "x.count", ["x", "y", "i32:x.count"])
    for source, expected in ((str(path), False), (atomic.replace("ADD", "atomicMax((int*)y, n); // atomics"), True)):
        with runtime.register_kernel("reduce_sum", "another", source, [launch], types=FLOAT32):
            assert runtime.op_info("reduce_sum").deterministic is expected
        assert runtime.op_info("reduce_sum").deterministic


def test_no_built_in_kernel_adds_by_atomics():
    found = [path.name for path in sorted((ROOT / "kernels").rglob("*.cu*")) if registrations.ATOMIC_SUM.search(path.read_text())]
    assert found == []


def test_what_is_wrong_is_said(device, tmp_path):
    with pytest.raises(runtime.InvalidArgumentError, match="there is a variant 'packets' already"):
        runtime.register_kernel("relu", "packets", SCALE, [LAUNCH])
    with pytest.raises(runtime.NotFoundError, match="no op 'abacus'"):
        runtime.register_kernel("abacus", "plain", SCALE, [LAUNCH])
    with pytest.raises(runtime.InvalidArgumentError, match="relu, plain: launches\\[0\\].grid"):
        runtime.register_kernel("relu", "plain", SCALE, [runtime.Launch("scale", "x.size", 64, ["x"])])
    with pytest.raises(runtime.InvalidArgumentError, match="relu, plain: supports"):
        runtime.register_kernel("relu", "plain", SCALE, [LAUNCH], supports="x.cunt > 0")
    with pytest.raises(runtime.CompileError, match=r"broken.ptx:\d+:\d+"):
        runtime.register_kernel("relu", "broken", ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry f( {\n", [LAUNCH])
    with pytest.raises(runtime.NotFoundError, match="none.cu"):
        runtime.register_kernel("relu", "plain", tmp_path / "none.cu", [LAUNCH])
    wrong = tmp_path / "wrong.cu"
    wrong.write_text("extern \"C\" __global__ void f(float* x) {\n  x[0] = unknown;\n}\n")
    with runtime.register_kernel("relu", "wrong", wrong, [runtime.Launch("f", 1, 1, ["y"])]) as made:
        for use in (lambda: made.compile(device), lambda: relu(variant="wrong")):
            with pytest.raises(runtime.CompileError, match=r"wrong.cu\(2\)|wrong.cu:2"):
                use()
    short = runtime.Launch("scale_float32", 1, 64, ["x", "y"])
    with runtime.register_kernel("relu", "short", SCALE, [short], types=FLOAT32) as made:
        with pytest.raises(runtime.InvalidArgumentError, match="launches\\[0\\] has 2 args, the entry scale_float32 takes 4"):
            made.compile(device)
    # What an expression gives for a case is known only when the op is called.
    for name, launch, workspace, match in (("nothing", runtime.Launch("scale_float32", "x.count - 2", 64, LAUNCH.args), 0, r"launches\[0\]: grid"),
                                           ("less", LAUNCH, "0 - x.count", "workspace")):
        with runtime.register_kernel("relu", name, SCALE, [launch], types=FLOAT32, workspace=workspace):
            with pytest.raises(runtime.InvalidArgumentError, match=f"relu, {name}: {match}"):
                relu(variant=name)
    with pytest.raises(TypeError):
        runtime.Launch("f", 1.5, 64, ["x"])
    with pytest.raises(runtime.InvalidArgumentError, match="grid has 4 sizes"):
        runtime.Launch("f", [1, 1, 1, 1], 64, ["x"])
    assert relu() == [0, 3]


# --- programs with kernels of the caller: the wrong op is named, and no other

WRONG_ADAM = """extern "C" __global__ void adam(const float* p, const float* g, const float* m, const float* v, const float* s, float* p1,
    float* m1, float* v1, int n, float beta1, float beta2, float eps, float decay) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  m1[i] = beta1 * m[i] + (1 - beta1) * g[i];
  v1[i] = beta2 * v[i] + (1 - beta2) * g[i] * g[i];
  p1[i] = p[i] - s[0] * (m1[i] * s[1] / (sqrtf(v1[i] * SECOND) + eps) + decay * p[i]);
}"""
ADAM_ARGS = ["p", "g", "m", "v", "scalars", "p_out", "m_out", "v_out", "i32:p.count", "f32:beta1", "f32:beta2", "f32:eps", "f32:decay"]
ADAM = runtime.Launch("adam", "cdiv(p.count, 32)", 32, ADAM_ARGS)
RACY_SUM = """extern "C" __global__ void total(const float* x, float* y, int n) {
  __shared__ float sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  if (threadIdx.x < n) { LOCKED }
  __syncthreads();
  if (threadIdx.x == 0) y[0] = sum;
}"""
NO_GUARD = """extern "C" __global__ void relu(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  GUARD y[i] = x[i] > 0 ? x[i] : 0;
}"""
PLANTED = {
    "adam_step": (WRONG_ADAM, "SECOND", "s[1]", "s[2]", ADAM, "ToleranceExceeded"),
    "reduce_sum": (RACY_SUM, "LOCKED", "sum = sum + x[threadIdx.x];", "atomicAdd(&sum, x[threadIdx.x]);",
                   runtime.Launch("total", 1, "x.count", ["x", "y", "i32:x.count"]), "DataRace"),
    "relu": (NO_GUARD, "GUARD", "", "if (i < n)", runtime.Launch("relu", "cdiv(x.count, 64)", 64, ["x", "y", "i32:x.count"]), "OutOfBounds"),
}  # fmt: skip


def step():
    g = program.IRGraph("step")
    x, w, m, v, scalars = g.input("x", (10, 10)), g.parameter("w", (10, 10)), g.parameter("m", (10, 10)), g.parameter("v", (10, 10)), g.meta("scalars", (3,))
    h = g.relu(g.linear(x, w))
    total = g.sum(h)
    g.output("total", total)
    g.adam_step(w, g.relu_bwd(h, x), m, v, scalars)
    return g


def reproduced(folder, *options):
    ran = subprocess.run([BIN / "gpuemu", "reproduce", folder, *options], capture_output=True, text=True, timeout=120, env=ENV)
    return ran.returncode, ran.stdout.splitlines()[-1] if ran.stdout else ran.stderr


@pytest.mark.parametrize("op", [pytest.param(op, marks=[] if op == "adam_step" else pytest.mark.slow) for op in PLANTED])
def test_check_names_the_planted_op_and_no_other_and_the_reproducer_passes_after_the_repair(device, tmp_path, op):
    source, mark, wrong, right, launch, kind = PLANTED[op]
    rng = np.random.default_rng(24)
    content = {"x": rng.standard_normal((10, 10)).astype(np.float32), "scalars": program.adam_scalars(1, 0.1)}
    broken = runtime.register_kernel(op, "planted", source.replace(mark, wrong), [launch], types={"T": ["float32"]}, priority=9)
    try:
        executor = program.Executor(step(), device)
        executor.set("w", rng.standard_normal((10, 10)).astype(np.float32))
        for check in (executor.check, executor.capture().check):
            report = check(content, stop_at_first=False, save=tmp_path / "found")
            assert not report.passed and report.first.op == op and report.first.variant == "planted", report.text()
            assert kind in {one.kind for one in report.findings}, report.text()
            assert {one.op for one in report.findings} == {op}, report.text()
    finally:
        broken.remove()
    found = str(tmp_path / "found")
    assert reproduced(found, "--exit-code") == (1, "FAILED") and reproduced(found) == (0, "FAILED")
    told = subprocess.run([BIN / "gpuemu", "reproduce", found, "--format", "json"], capture_output=True, text=True, env=ENV, timeout=120)
    assert not json.loads(told.stdout)["passed"] and kind in {one["kind"] for one in json.loads(told.stdout)["findings"]}
    (tmp_path / "found" / "kernel.cu").write_text(source.replace(mark, right))
    assert reproduced(found, "--exit-code") == (0, "passed")
    (tmp_path / "found" / "kernel.cu").write_text("no kernel")
    assert reproduced(found, "--exit-code")[0] == 3
    with runtime.register_kernel(op, "planted", source.replace(mark, right), [launch], types={"T": ["float32"]}, priority=9):
        assert executor.check(content).passed


@pytest.mark.parametrize(("default", "error"), [(1.5, runtime.InvalidArgumentError), (1 << 40, runtime.InvalidArgumentError), ("1", TypeError)])
def test_a_default_that_its_field_does_not_hold_is_refused(default, error):
    with pytest.raises(error, match="'tile'"):
        runtime.register_kernel("relu", "scaled", SCALE, [LAUNCH], types=FLOAT32, schema=[("tile", "int32", default)])
    with pytest.raises(error, match="'tile'"):
        runtime.register_op("tiled", ["x: T"], ["y: T"], schema=[("tile", "int32", default)])


def test_ptx_with_an_instruction_that_does_not_exist_is_no_kernel(device):
    ptx = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k(.param .u64 x) {\n  .reg .b32 %r<2>;\n  ad.s32 %r0, %r1, %r1;\n  ret;\n}\n"
    with pytest.raises(runtime.CompileError, match=r"\.ptx:6:3: PTX has no instruction 'ad'"):
        runtime.register_kernel("relu", "typing", ptx, [runtime.Launch("k", 1, 32, ["x"])], types=FLOAT32)
    with pytest.raises(runtime.InvalidArgumentError, match="priority"):
        runtime.register_kernel("relu", "eager", SCALE, [LAUNCH], priority=1 << 40)
