"""Programs with ops of runtime.register_op: shapes, gradients, checks and reproducers."""
import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

from gpuemu import program
from test_runtime import device, runtime  # noqa: F401

from conftest import BIN, ROOT

ENV = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "PATH": f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}"}
SOURCE = """extern "C" __global__ void axpy(const float* x, const float* y, float* z, float* sum, int n, float k) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) z[i] = k * x[i] + y[i] FAULT;
  if (i == 0) { float total = 0; for (int j = 0; j < n; ++j) total += x[j]; sum[0] = total; }
}"""
LAUNCH = runtime.Launch("axpy", "cdiv(x.count, 64)", 64, ["x", "y", "z", "sum", "i32:x.count", "f32:k"])


def infer(x, y, k):
    if x.shape != y.shape:
        raise ValueError(f"x is {x.shape} and y {y.shape}")
    return [x, runtime.TensorSpec((), None, x.dtype)]


def reference(x, y, k):
    return {"sum": x.sum(), "z": k * x + y}


def error_scale(x, y, k):
    return {"z": abs(k * x) + abs(y), "sum": abs(x).sum()}


@pytest.fixture
def axpy(device):
    """Registers the op with a kernel that has this fault."""
    made = []

    def register(fault="", **functions):
        op = runtime.register_op("axpy", ["x: T", "y: T, rank 1 to 2"], ["z: T", "sum: T, rank 0"], schema=[("k", "float32", 2.0)],
                                 **{"infer": infer, "reference": reference, "error_scale": error_scale, **functions})
        made.append(op)
        runtime.register_kernel("axpy", "plain", SOURCE.replace("FAULT", fault), [LAUNCH], types={"T": ["float32"]})
        return op

    yield register
    for one in made:
        one.remove()
    program.reset()


def values(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def graph():
    g = program.IRGraph("registered")
    x, y = g.input("x", (5, 20)), g.input("y", (5, 20))
    z, total = g.op("axpy", [g.relu(x), y], {"k": 0.5})
    g.output("z", g.tanh(z))
    g.output("total", total)
    return g


CONTENT = {"x": values(5, 20), "y": values(5, 20, seed=1)}


def test_a_registered_op_is_written_lowered_run_and_checked(device, axpy):
    axpy()
    g = graph()
    assert [(one.shape, one.dtype) for one in g.values[3:5]] == [((5, 20), "float32"), ((), "float32")]
    call = g.lower()[1]
    assert (call["op"], call["attrs"]) == ("axpy", {"k": 0.5}) and "1 axpy (%2, %1) -> (%3, %4) k=0.5" in program.lowered_text(g.lower(), g)
    assert program.IRGraph.from_json(g.to_json()).digest() == g.digest()
    executor = program.Executor(g, device)
    executor.run(CONTENT)
    x = np.maximum(CONTENT["x"], 0)
    np.testing.assert_allclose(executor.get("z"), np.tanh(0.5 * x + CONTENT["y"]), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(executor.get("total"), x.sum(), rtol=1e-5)
    for check in (executor.check, executor.capture().check):
        report = check()
        assert report.passed and report.unchecked == [] and report.ops_checked == 3, report.text()
        assert report.ops[1].op == "axpy" and 0 < report.ops[1].largest_error <= 1


def test_lazy_tensors_call_a_registered_op_with_a_gradient_of_the_caller(device, axpy):
    axpy()
    program.set_backend("emulator", local=True, device=device)
    x, y = program.tensor(CONTENT["x"], requires_grad=True), program.tensor(CONTENT["y"], requires_grad=True)
    z, total = program.call("axpy", [x, y], {"k": 3}, gradient=lambda grads, inputs, outputs: (grads[0] * 3.0 + grads[1], grads[0]))
    assert z.shape == (5, 20) and total.shape == ()
    assert program.check(z).passed
    z.backward()
    np.testing.assert_allclose(z.numpy(), 3 * CONTENT["x"] + CONTENT["y"], rtol=1e-5, atol=1e-6)
    assert (x.grad.data == 3).all() and (y.grad.data == 1).all()
    plain, _ = program.call("axpy", [x, y])
    with pytest.raises(program.GradError, match="has no gradient"):
        plain.backward()
    program.set_backend("numpy")
    z, total = program.call("axpy", [program.tensor(CONTENT["x"]), program.tensor(CONTENT["y"])])
    np.testing.assert_allclose(z.numpy(), 2 * CONTENT["x"] + CONTENT["y"], rtol=1e-6, atol=1e-6)


def test_an_op_of_that_name_that_is_registered_again_is_another_op(device, axpy):
    first = axpy()
    program.set_backend("emulator", local=True, device=device)
    x = program.tensor(CONTENT["x"])
    assert (program.call("axpy", [x, x])[0].numpy() == 3 * CONTENT["x"]).all()
    first.remove()
    with runtime.register_op("axpy", ["a: T"], ["b: T"], schema=[("q", "int32", 1)], infer=lambda a, q: [a]):
        runtime.register_kernel("axpy", "plain", """extern "C" __global__ void f(const float* a, float* b, int n, int q) {
          if (threadIdx.x < n) b[threadIdx.x] = a[threadIdx.x] + q; }""", [runtime.Launch("f", 1, 128, ["a", "b", "i32:a.count", "i32:q"])],
                                types={"T": ["float32"]})  # fmt: skip
        assert (program.call("axpy", [x]).numpy() == CONTENT["x"] + 1).all()
        with pytest.raises(program.GraphError, match="takes 1 inputs"):
            program.call("axpy", [x, x])


def test_what_does_not_fit_is_refused_where_it_is_written(device, axpy):
    axpy()
    g = program.IRGraph()
    x, y, wide = g.input("x", (4,)), g.input("y", (3,)), g.input("wide", (4,), "float64")
    for error, message, inputs, attrs in (
            (program.ShapeError, r"axpy: x is \(4,\) and y \(3,\)", [x, y], {}),
            (program.DTypeError, "axpy: x is float32 and y float64", [x, wide], {}),
            (program.ShapeError, r"axpy: y is \[\], expected 1 to 2 axes", [x, np.float32(1)[...]], {}),
            (program.GraphError, "axpy takes 2 inputs", [x], {}),
            (program.GraphError, "axpy has no attribute 'q'; it has k", [x, x], {"q": 1})):  # fmt: skip
        with pytest.raises(error, match=message):
            g.op("axpy", inputs, attrs)
    assert not g.nodes
    with pytest.raises(program.GraphError, match="unknown op 'apxy': did you mean 'axpy'"):
        g.op("apxy", [x])


def test_outputs_are_given_where_the_op_infers_none_and_no_reference_is_not_judged(device, axpy):
    axpy(infer=None, reference=None, error_scale=None)
    g = program.IRGraph()
    x = g.input("x", (5, 20))
    with pytest.raises(program.GraphError, match="pass outputs="):
        g.op("axpy", [x, x])
    with pytest.raises(program.GraphError, match="2 outputs"):
        g.op("axpy", [x, x], outputs=[((5, 20), "float32")])
    z, _ = g.op("axpy", [g.relu(x), x], outputs=[((5, 20), "float32"), ((), "float32")])
    g.output("z", z)
    report = program.Executor(g, device).check({"x": CONTENT["x"]})
    assert report.passed and report.unchecked == ["op 1, axpy"] and report.ops_checked == 1
    program.set_backend("emulator", local=True, device=device)
    lazy = program.tensor(CONTENT["x"])
    z, _ = program.call("axpy", [lazy, lazy], outputs=[((5, 20), "float32"), ((), "float32")])
    assert (z.numpy() == 3 * CONTENT["x"]).all()
    program.set_backend("numpy")
    lazy = program.tensor(CONTENT["x"])
    with pytest.raises(program.BackendError, match="axpy has no reference"):
        program.call("axpy", [lazy, lazy], outputs=[((5, 20), "float32"), ((), "float32")])[0].numpy()


@pytest.mark.parametrize("scale", [error_scale, None])
def test_a_wrong_registered_op_is_named_with_a_reproducer_that_needs_no_program(device, axpy, tmp_path, scale):
    axpy(fault="+ (i == 7 ? 0.01f : 0.0f)", error_scale=scale)
    report = program.Executor(graph(), device).check(CONTENT, save=tmp_path / "found")
    first = report.first
    assert (first.index, first.op, first.variant, first.output, first.element) == (1, "axpy", "plain", "z", 7), report.text()
    assert first.kind == "ToleranceExceeded" and "test_program_registered.py" in first.where and len(report.findings) == 1
    found = tmp_path / "found"
    assert json.loads((found / "case.json").read_text())["declared"]["inputs"] == ["x: T", "y: T, rank 1 to 2"]

    def again():
        return subprocess.run([BIN / "gpuemu", "reproduce", found, "--exit-code"], capture_output=True, text=True, timeout=300, env=ENV)

    ran = again()
    assert (ran.returncode, ran.stdout.splitlines()[-1]) == (1, "FAILED"), ran.stderr
    (found / "kernel.cu").write_text(SOURCE.replace("FAULT", ""))
    ran = again()
    assert (ran.returncode, ran.stdout) == (0, "passed\n"), ran.stderr


def test_a_reproducer_keeps_the_tolerance_of_the_check(device, axpy, tmp_path):
    from gpuemu import ToleranceConfig
    from gpuemu.program import reproduce

    op = axpy(fault="+ (i == 7 ? 0.01f : 0.0f)")
    executor = program.Executor(graph(), device)
    assert executor.check(CONTENT, tolerance=ToleranceConfig(0.1, 0.0)).passed
    executor.check(CONTENT, tolerance={"axpy": ToleranceConfig(0.005, 0.0)}, save=tmp_path / "found")
    case = json.loads((tmp_path / "found" / "case.json").read_text())
    assert case["tolerance"] == {"atol": 0.005, "rtol": 0.0}
    op.remove()
    (tmp_path / "found" / "kernel.cu").write_text(SOURCE.replace("FAULT", "+ 0.004f"))
    assert reproduce.reproduce(tmp_path / "found") == []


@pytest.mark.slow
def test_ops_are_checked_in_a_process_of_their_own_where_a_fault_takes_the_device_along(device, axpy, monkeypatch, tmp_path):
    """Checks run in a separate process, as on a GPU."""
    from gpuemu.program import checking

    # The other process numbers its ops without this one.
    runtime.register_op("gone", ["x: T"], ["y: T"], schema=[("k", "float32", 2.0)], infer=infer, reference=reference).remove()
    axpy()
    monkeypatch.setattr(checking, "runs_apart", lambda device: True)
    doubling = """extern "C" __global__ void f(const float* x, float* y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; GUARD y[i] = 2 * x[i]; }"""
    launch = runtime.Launch("f", "cdiv(x.count, 64)", 64, ["x", "y", "i32:x.count"])
    executor = program.Executor(graph(), device)
    for check in (executor.check, executor.capture().check):
        report = check(CONTENT)
        assert report.passed and report.ops_checked == 3 and report.ops[1].variant == "plain", report.text()
    with runtime.register_kernel("relu", "doubling", doubling.replace("GUARD", "if (i < n)"), [launch], types={"T": ["float32"]}):
        device.set_policy({"prefer": {"relu": "doubling"}})
        report = executor.check(CONTENT, save=tmp_path / "wrong", stop_at_first=False)
        device.set_policy({})
        assert {(one.op, one.variant, one.kind) for one in report.findings} == {("relu", "doubling", "ToleranceExceeded")}, report.text()
    with runtime.register_kernel("relu", "doubling", doubling.replace("GUARD", ""), [launch], types={"T": ["float32"]}, priority=9):
        report = executor.check(CONTENT, save=tmp_path / "fault")
        assert (report.first.op, report.first.kind) == ("relu", "OutOfBounds") and not device.findings(), report.text()
    assert executor.check(CONTENT).passed


def test_the_last_of_many_outputs_is_no_output_of_the_op_behind_it():
    outputs = [f"y{i}" for i in range(17)]
    with runtime.register_op("seventeen", ["x: T"], [f"{name}: T" for name in outputs], infer=lambda x: [x] * 17,
                             reference=lambda x: {name: x + i for i, name in enumerate(outputs)}):  # fmt: skip
        program.reset()
        program.set_backend("numpy")
        x = program.zeros(2)
        for last, expected in ((True, 32.0), (False, 0.0), (True, 32.0)):
            many, behind = program.call("seventeen", [x]), program.neg(x)
            assert ((many[16] if last else behind) * 2.0).data.tolist() == [expected] * 2 and many[3].data.tolist() == [3.0] * 2
        program.reset()
