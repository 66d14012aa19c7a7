"""Images, gradients and fills as built-in ops on the emulator, and checks that compare an op with itself without rounding."""
import json
import os
import pathlib
import subprocess

import numpy as np
import pytest

from conftest import BIN

LIBRARY = BIN.parent / "lib" / "gpuemu" / "libgpuemu.so.1"
if not LIBRARY.exists():
    pytest.skip("this build has no libgpuemu.so", allow_module_level=True)
os.environ.setdefault("GPUEMU_LIBRARY", str(LIBRARY))
os.environ.setdefault("GPUEMU_CHECK", str(BIN / "gpuemu-check"))

import gpuemu  # noqa: E402
from gpuemu import program, runtime  # noqa: E402

NEW = ["attention_bwd", "avg_pool2d", "avg_pool2d_bwd", "conv2d", "conv2d_bwd_w", "conv2d_bwd_x", "fill", "gather_bwd", "gelu_bwd", "max_pool2d",
       "max_pool2d_bwd", "reduce_max_bwd", "rmsnorm_bwd", "sigmoid_bwd", "silu_bwd", "softmax_bwd", "tanh_bwd"]


@pytest.fixture(scope="module")
def device():
    with runtime.Device("emulator", threads=2) as made:
        yield made
    made.close()


def each_op(dtype):
    """A graph with every one of these ops, and inputs for it."""
    g = program.IRGraph("each")
    x, w, b = g.input("x", (2, 3, 7, 6), dtype), g.input("w", (4, 3, 3, 2), dtype), g.input("b", (4,), dtype)
    rows, scales, index = g.reshape(x, (6, 42)), g.input("scales", (42,), dtype), g.input("index", (4,), "int32")
    q, k, v = g.input("q", (2, 5, 4), dtype), g.input("k", (2, 6, 4), dtype), g.input("v", (2, 6, 3), dtype)
    y, s = g.conv2d(x, w, b, stride=(2, 1), padding=(1, 0)), g.softmax(rows)
    pooled, mean, attended = g.max_pool2d(x, (3, 2), (2, 1)), g.avg_pool2d(x, 2), g.attention(q, k, v, causal=True)
    steps, windows = {"stride_rows": 2, "pad_rows": 1}, {"kernel_rows": 3, "kernel_columns": 2, "stride_rows": 2, "stride_columns": 1}
    made = [y, pooled, mean, g.op("softmax_bwd", [s, rows]), g.op("reduce_max_bwd", [rows, g.max(rows, axis=1)], {"axis": 1}),
            *g.op("rmsnorm_bwd", [rows, scales, rows]), *g.op("attention_bwd", [q, k, v, attended], {"causal": 1}),
            g.op("conv2d_bwd_x", [w, y], steps, outputs=[((2, 3, 7, 6), dtype)]), g.op("conv2d_bwd_w", [x, y], steps, outputs=[((4, 3, 3, 2), dtype)]),
            g.op("max_pool2d_bwd", [x, pooled], windows), g.op("avg_pool2d_bwd", [mean], outputs=[((2, 3, 7, 6), dtype)]),
            g.op("gather_bwd", [index, g.gather(rows, index)], outputs=[((6, 42), dtype)]), g.op("fill", [], {"value": 2.5}, outputs=[((5,), dtype)])]  # fmt: skip
    made += [g.op(f"{name}_bwd", [s if name in ("sigmoid", "tanh") else rows, rows]) for name in ("gelu", "silu", "sigmoid", "tanh")]
    for number, one in enumerate(made):
        g.output(f"out{number}", one)
    draw = np.random.default_rng(3)
    inputs = {one.name: draw.normal(size=one.shape).astype(one.dtype) for one in g.values if one.role == "input"}
    return g, {**inputs, "index": np.array([5, 0, -1, 5], np.int32)}


def test_all_are_ops_of_the_runtime():
    assert set(NEW) <= set(runtime.ops())
    for name in NEW:
        info = runtime.op_info(name)
        assert info.summary and info.deterministic and all(one.origin == "builtin" for one in info.variants)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_each_op_is_right_by_its_reference_and_without_rounding(device, dtype):
    graph, inputs = each_op(dtype)
    executor = program.Executor(graph, device)
    assert set(NEW) <= {one["op"] for one in executor.lowered}
    for reference in ("numpy", "shadow"):
        report = executor.check(inputs, reference=reference, stop_at_first=False)
        assert report.passed and not report.unchecked, report.text()
        assert report.ops_checked == len(executor.lowered)


def test_convolution_and_pooling_are_one_op_each_and_their_gradients_too(device):
    program.reset()
    program.set_backend("emulator", local=True, device=device)
    x, w = program.randn(1, 2, 6, 6, requires_grad=True), program.randn(3, 2, 3, 3, requires_grad=True)
    loss = program.max_pool2d(program.conv2d(x, w), 2).sum()
    loss.backward()
    program.flush()
    ops = [one["op"] for one in program.last_run().lowered]
    assert {"conv2d", "max_pool2d", "max_pool2d_bwd", "conv2d_bwd_x", "conv2d_bwd_w"} <= set(ops) and "gather" not in ops
    program.reset()


@pytest.mark.parametrize("op, inputs, attrs, output, said", [
    ("conv2d", [(1, 2, 5, 5), (3, 4, 3, 3)], {}, (1, 3, 3, 3), "have 2 channels and filters .* have 4"),
    ("conv2d", [(1, 2, 5, 5), (3, 2, 3, 3)], {"stride_rows": 2}, (1, 3, 3, 3), r"y is \[1, 3, 3, 3\], expected \[1, 3, 2, 3\]"),
    ("conv2d", [(1, 2, 5, 5), (3, 2, 3, 3)], {"pad_rows": -1}, (1, 3, 1, 3), "padding -1"),
    ("max_pool2d", [(1, 2, 5, 5)], {}, (1, 2, 3, 2), r"y is \[1, 2, 3, 2\], expected \[1, 2, 2, 2\]"),
    ("max_pool2d_bwd", [(1, 2, 5, 4), (1, 2, 2, 2)], {}, (1, 2, 5, 5), r"dx is \[1, 2, 5, 5\], expected \[1, 2, 5, 4\]"),
    ("reduce_max_bwd", [(3, 4), (4,)], {"axis": 1}, (3, 4), r"dy is \[4\], expected \[3\] or \[3, 1\]"),
    ("reduce_max_bwd", [(3, 4), (3,)], {"axis": 2}, (3, 4), "axis is 2, expected -2 to 1"),
    ("softmax_bwd", [(3, 4), (4, 3)], {}, (3, 4), r"dy is \[4, 3\], expected \[3, 4\]"),
])
def test_what_does_not_fit_is_refused(device, op, inputs, attrs, output, said):
    with pytest.raises(runtime.InvalidArgumentError, match=said):
        runtime.op_call(op, [device.zeros(shape) for shape in inputs], [device.empty(output)], attrs or None, device=device)


ONE_PASS = """extern "C" __global__ void spread(const float* x, float* y, int rows, int cols) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0.0f, squares = 0.0f;
  for (int i = 0; i < cols; ++i) { float v = x[row * cols + i]; sum += v; squares += v * v; }
  float mean = sum / cols;
  y[row] = FACTOR * (squares / cols - mean * mean);
}"""


def spread(device, factor="1.0f"):
    """The variance of rows in one pass, which cancels where the mean is large; without a reference."""
    op = runtime.register_op("spread", ["x: T, rank 2"], ["y: T, rank 1"], infer=lambda x: [runtime.TensorSpec((x.shape[0],), None, x.dtype)])
    runtime.register_kernel("spread", "one_pass", ONE_PASS.replace("FACTOR", factor), [runtime.Launch("spread", "cdiv(y.count, 32)", 32, ["x", "y", "i32:x.shape[0]", "i32:x.shape[1]"])],
                            types={"T": ["float32"]})
    g = program.IRGraph("spread")
    g.output("y", g.op("spread", [g.relu(g.input("x", (3, 40)))]))
    return op, program.Executor(g, device)


def test_lost_precision_is_named_without_a_reference_and_a_wrong_formula_is_not(device, tmp_path):
    draw = np.random.default_rng(1)
    near, far = ({"x": (draw.normal(size=(3, 40)) + mean).astype("float32")} for mean in (5.0, 3000.0))
    op, executor = spread(device)
    with op:
        assert executor.check(near).unchecked == ["op 1, spread"] and executor.check(near, reference="shadow", save=tmp_path / "near").unchecked == []
        report = executor.check(far, reference="shadow", save=tmp_path / "lost")
        assert (report.first.index, report.first.op, report.first.kind) == (1, "spread", "ToleranceExceeded"), report.text()
        exact = np.var(far["x"].astype(np.float64), axis=1)[report.first.element]
        assert report.first.expected == pytest.approx(exact, rel=1e-6) and abs(report.first.actual - exact) > 1e-3
    case = json.loads((tmp_path / "lost" / "case.json").read_text())
    assert case["reference"] == "shadow" and np.load(tmp_path / "lost" / "expected" / "y.npy").dtype == np.float64
    assert reproduce(tmp_path / "lost").returncode == 1
    text = (tmp_path / "lost" / "kernel.cu").read_text()
    (tmp_path / "lost" / "kernel.cu").write_text(text.replace("float sum = 0.0f, squares = 0.0f", "double sum = 0, squares = 0").replace(
        "squares += v * v", "squares += double(v) * v").replace("float mean", "double mean"))
    assert reproduce(tmp_path / "lost").returncode == 0
    op, executor = spread(device, "2.0f")
    with op:
        assert executor.check({"x": np.ones((3, 40), "float32") * np.arange(40, dtype="float32")}, reference="shadow").passed


def test_an_unknown_reference_is_refused(device):
    op, executor = spread(device)
    with op, pytest.raises(ValueError, match="unknown reference 'torch'; there are numpy, shadow"):
        executor.check({"x": np.ones((3, 40), "float32")}, reference="torch")


def reproduce(folder, *, elsewhere=None):
    """By the command, which has to find the package, the library and the judge by itself."""
    env = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "GPUEMU_LIBRARY", "GPUEMU_CHECK", "GPUEMU_CLI")}
    return subprocess.run([str(BIN / "gpuemu"), "reproduce", str(folder), "--exit-code"], cwd=elsewhere or pathlib.Path(folder).parent, env=env,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)




def test_a_folder_runs_without_the_package_in_the_path_and_has_the_text_of_a_built_in_kernel(device, tmp_path):
    g = program.IRGraph("sum")
    g.output("y", g.sum(g.input("x", (4, 5)), axis=1))
    executor = program.Executor(g, device)
    strict = {"reduce_sum": gpuemu.ToleranceConfig(atol=0.0, rtol=1e-12)}
    report = executor.check({"x": np.full((4, 5), 0.1, "float32")}, tolerance=strict, save=tmp_path / "sum")
    assert report.first.op == "reduce_sum"
    text = (tmp_path / "sum" / "kernel.ptx").read_text()
    assert ".version" in text and f"{report.first.op}_float32" in text
    done = reproduce(tmp_path / "sum")
    assert done.returncode == 1 and "reduce_sum" in done.stdout and "FAILED" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize("index", ["int32", "int64"])
def test_classes_of_both_integer_types_are_targets(index):
    """int64 is what NumPy and lists give."""
    draw = np.random.default_rng(5)
    logits, target = draw.normal(size=(4, 3)), np.array([2, 0, -100, 1], index)
    expected = {}
    for backend in ("numpy", "emulator"):
        program.reset()
        program.set_backend(backend, local=True)
        x = program.tensor(logits.astype(np.float32), requires_grad=True)
        loss = program.cross_entropy(x, target)
        loss.backward()
        expected[backend] = loss.item(), x.grad.data
    program.reset()
    assert expected["emulator"][0] == pytest.approx(expected["numpy"][0], rel=1e-5)
    assert np.allclose(expected["emulator"][1], expected["numpy"][1], atol=1e-6)
