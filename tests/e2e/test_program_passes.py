"""Graph passes: what they change, and that results stay bit-identical."""
import re

import numpy as np
import pytest

from gpuemu import program
from gpuemu.program.ops import device_code
from test_program_registered import values
from test_programs import Planted, mlp, started, state
from test_runtime import device, runtime  # noqa: F401

from conftest import ROOT

DTYPES = ["float32", "float64", "float16", "bfloat16"]
SPECIAL = [0.0, -0.0, np.nan, np.inf, -np.inf, 1e-30, -1e-7, 15.0, -20.0, 6e4]


def special(shape, dtype, seed=0):
    """Normally distributed values with a few that are not finite."""
    made = np.random.default_rng(seed).normal(size=shape)
    made.reshape(-1)[: len(SPECIAL)] = SPECIAL[: made.size]
    from gpuemu.program.specs import rounded

    return rounded(made, dtype)


def bits(executor, content):
    executor.run(content)
    return {name: executor.get(name).tobytes() for name in executor.graph.outputs}


def activations(dtype):
    """A graph with every function that can be fused, and with broadcast operands."""
    g = program.IRGraph("activations")
    x, row, column = g.input("x", (9, 5), dtype), g.input("row", (5,), dtype), g.input("column", (9, 1), dtype)
    for name in ("relu", "gelu", "silu", "sigmoid", "tanh"):
        y = g.one(f"{name}_bwd" if name != "relu" else "relu_bwd", x, getattr(g, name)(x))
        g.output(name, g.div(g.add(g.mul(y, row), column), g.sub(g.neg(x), 0.3)))
    return g


@pytest.mark.parametrize("dtype", [pytest.param(dtype, marks=[] if dtype == "float16" else pytest.mark.slow) for dtype in DTYPES])
def test_fused_kernels_give_the_bits_of_the_single_ones(device, dtype):
    if dtype == "bfloat16":
        pytest.importorskip("ml_dtypes")
    content = {"x": special((9, 5), dtype), "row": special((5,), dtype, 1)[::-1].copy(), "column": special((9, 1), dtype, 2)[::-1].copy()}
    plain = program.Executor(activations(dtype), device)
    fused = program.Executor(activations(dtype), device, passes=("fuse",))
    assert bits(fused, content) == bits(plain, content)
    assert len(fused.lowered) == 5 < len(plain.lowered) / 5 and all(one["op"].startswith("fused_") for one in fused.lowered)
    assert fused.plan.workspace_bytes < plain.plan.workspace_bytes


def test_device_code_is_that_of_the_kernels():
    """Compares the code, ignoring comments and white space."""
    def words(text):
        return "".join(re.sub(r"//.*", "", text).split())

    for name, (_, pieces) in device_code.ELEMENTWISE.items():
        if name not in ("gelu", "silu", "sigmoid", "tanh", "relu", "relu_bwd"):
            continue
        folder = name.removesuffix("_bwd")
        kernel = words((ROOT / "kernels" / folder / f"{folder}.cu").read_text()) + words((ROOT / "kernels" / "approx.cuh").read_text())
        kernel = re.sub(r"///.*", "", kernel)
        for piece in pieces:
            for part in re.split(r"\n(?=struct |__device__ )", piece.strip()):
                assert words(part) in kernel, part


def test_a_step_with_fused_ops_is_the_step(device):
    plain, data = started(device)
    g = mlp()
    digest = g.digest()
    fused = program.Executor(g, device, passes=("fuse",))
    for name in ("w0", "w1"):
        fused.set(name, plain.get(name))
    for step in range(1, 4):
        scalars = {"scalars": program.adam_scalars(step, 1e-2)}
        plain.run({**data, **scalars})
        fused.run({**data, **scalars})
        assert state(plain) == state(fused), step
    assert g.digest() == digest and [one["op"][:5] for one in fused.lowered[:3]] == ["gemm", "fused", "gemm"]
    replay = fused.capture()
    for check in (fused.check, replay.check):
        report = check()
        assert report.passed and report.ops_checked == len(fused.lowered) and not report.unchecked, report.text()
    assert "fused_bias_add_relu" in fused.text() and "generated" in fused.text()


def test_the_layers_of_a_graph_with_passes_have_its_vids_and_ops():
    g = mlp()
    lowered = g.lower(passes=("fuse",))
    assert all(set(one) == {"op", "inputs", "outputs", "attrs", "node"} for one in lowered)
    assert lowered[1]["node"] == 1 and g.nodes[lowered[1]["node"]].kind == "relu" and lowered[1]["outputs"] == [g.nodes[0].outputs[0], g.nodes[1].outputs[0]]
    plan = g.bind(lowered)
    assert plan.roles[g.outputs["loss"]] == "output" and plan.workspace_bytes > 0
    made, changes = program.apply_pass(g, "fuse")
    assert changes == ["op 1: bias_add 1, relu 2 in one kernel, 2 inputs, 2 outputs"]
    assert program.IRGraph.from_json(made.to_json()).digest() == made.digest() and [one["op"] for one in made.lower()] == [one["op"] for one in lowered]
    assert len(g.lower()) == 14, "a lowering with passes changes nothing of the next"
    broken = made.to_json().replace('"relu"', '"exit"')
    with pytest.raises(program.GraphError, match="the parts are invalid"):
        program.IRGraph.from_json(broken)


def test_nothing_is_fused_across_what_needs_it_earlier(device):
    g = program.IRGraph("order")
    x, w = g.input("x", (6,)), g.parameter("w", (6,))
    before = g.mul(x, w)
    total = g.sum(before)
    g.sgd_step(w, x, g.parameter("velocity", (6,)), g.meta("rate", (1,)))
    g.output("y", g.relu(g.add(before, total)))
    made = program.apply_pass(g, "fuse").graph
    assert [one.kind for one in made.nodes] == ["mul", "sum", "sgd_step", "fused"] and len(made.nodes[-1].inputs) == 2
    g.lower()
    made.lower()
    other = program.IRGraph("update")
    x, w = other.input("x", (6,)), other.parameter("w", (6,))
    before = other.mul(x, w)
    other.sgd_step(w, x, other.parameter("velocity", (6,)), other.meta("rate", (1,)))
    other.output("y", other.relu(before))
    assert program.apply_pass(other, "fuse").changes == []


@pytest.mark.parametrize("seed", [pytest.param(seed, marks=[] if seed == 0 else pytest.mark.slow) for seed in range(4)])
def test_random_programs_keep_their_bits(device, seed):
    draw = np.random.default_rng(seed)
    g = program.IRGraph("random")
    made = [g.input("a", (4, 6)), g.input("b", (4, 6)), g.input("c", (6,)), g.input("d", (24,))]
    for number in range(20):
        x = made[int(draw.integers(len(made)))]
        kind = str(draw.choice(["relu", "tanh", "sigmoid", "neg", "add", "mul", "sub", "reshape", "sum"]))
        if kind == "reshape":
            made.append(g.reshape(x, (x.spec.elements,) if len(x.shape) != 1 else (2, x.spec.elements // 2)) if x.spec.elements > 1 else x)
        elif kind == "sum":
            made.append(g.sum(x, axis=0) if x.shape else x)
        elif kind in ("add", "mul", "sub"):
            fitting = [y for y in made if y.shape == x.shape or y.shape == x.shape[-1:]]
            made.append(getattr(g, kind)(x, fitting[int(draw.integers(len(fitting)))]))
        else:
            made.append(getattr(g, kind)(x))
        if number % 6 == 0:
            g.output(f"y{number}", made[-1])
    g.output("last", made[-1])
    content = {name: values(*shape, seed=seed) for name, shape in (("a", (4, 6)), ("b", (4, 6)), ("c", (6,)), ("d", (24,)))}
    expected = bits(program.Executor(g, device), content)
    for passes in (("fuse",), ("rematerialise",), ("fuse", "rematerialise")):
        executor = program.Executor(g, device, passes=passes)
        assert bits(executor, content) == expected, passes
        assert executor.check().passed


def test_a_wrong_fused_kernel_is_named(device, monkeypatch, tmp_path):
    g = program.IRGraph("wrong")
    x = g.input("x", (4, 6))
    g.output("y", g.sum(g.tanh(g.mul(g.relu(x), 3.0)), axis=1))
    executor = program.Executor(g, device, passes=("fuse",))
    name = executor.lowered[0]["op"]
    assert executor.check({"x": values(4, 6)}).passed
    Planted(monkeypatch, name, lambda content: content.__setitem__(5, content[5] + 1e-4))
    report = executor.check({"x": values(4, 6)}, save=tmp_path / "case", stop_at_first=False)
    assert [(one.index, one.op, one.variant, one.kind, one.element) for one in report.findings] == [(0, name, "generated", "ToleranceExceeded", 5)]
    assert re.search(r"test_program_passes\.py:\d+$", report.first.where) and (tmp_path / "case" / "kernel.cu").exists()
    from gpuemu.program import reproduce

    monkeypatch.undo()
    (tmp_path / "case" / "kernel.cu").write_text((tmp_path / "case" / "kernel.cu").read_text().replace("Mul()(", "Mul()(1.001f *"))
    monkeypatch.setattr(reproduce, "_declared", lambda case: __import__("contextlib").nullcontext())  # The op is registered already.
    found = reproduce.reproduce(tmp_path / "case")
    assert found and found[0].kind == "ToleranceExceeded"


def waiting():
    """A graph that reads relu(x) at once, and again after the step that needs the most memory."""
    g = program.IRGraph("waiting")
    x, w = g.input("x", (64, 64)), g.parameter("w", (64, 64))
    early = g.relu(x)
    y = g.matmul(early, w)
    for _ in range(3):
        y = g.tanh(g.add(g.matmul(y, w), g.softmax(y)))
    g.output("y", g.add(g.matmul(y, w), early))
    return g


def test_rematerialise_computes_again_what_would_wait(device):
    g = waiting()
    result = program.apply_pass(g, "rematerialise")
    assert re.fullmatch(r"op 0, relu: computed again before op \d+, workspace \d+ to \d+ bytes", result.changes[0])
    assert result.graph.bind().workspace_bytes < g.bind().workspace_bytes and len(result.graph.nodes) == len(g.nodes) + len(result.changes)
    executors = [program.Executor(waiting(), device, passes=passes) for passes in ((), ("rematerialise",))]
    content = {"x": values(64, 64)}
    for one in executors:
        one.set("w", values(64, 64, seed=2) / 8)
    assert bits(executors[0], content) == bits(executors[1], content) and executors[1].plan.workspace_bytes < executors[0].plan.workspace_bytes
    assert executors[1].check().passed
    assert program.apply_pass(result.graph, "rematerialise").changes == []


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_mixed_precision_multiplies_in_16_bits_and_trains(device, dtype):
    if dtype == "bfloat16":
        pytest.importorskip("ml_dtypes")
    exact, data = started(device)
    made = program.apply_pass(mlp(), "mixed_precision", dtype=dtype)
    assert sum("products in " + dtype in one for one in made.changes) == 4 and sum("loss_scale" in one for one in made.changes) == 1
    half = program.Executor(made.graph, device)
    for name in ("w0", "w1"):
        half.set(name, exact.get(name))
    for name in ("w0", "m_w0", "b1"):
        assert half.tensor(name).dtype == "float32"
    products = [one for one in half.lowered if one["op"] == "gemm"]
    assert len(products) == 6 and {half.plan.specs[vid].dtype for one in products for vid in one["inputs"]} == {dtype}
    assert all(half.plan.specs[vid].dtype == "float32" for one in half.lowered if one["op"] in ("reduce_sum", "bias_add", "adam_step") for vid in one["inputs"])
    with pytest.raises(program.BindError, match="loss_scale"):
        half.run({**data, "scalars": program.adam_scalars(1, 1e-2)})
    for step in range(1, 21):
        scalars = {"scalars": program.adam_scalars(step, 1e-2)}
        exact.run({**data, **scalars})
        half.run({**data, **scalars, "loss_scale": [1024.0 if step < 10 else 512.0]})
    losses = [float(one.get("loss")) for one in (exact, half)]
    assert losses[0] != losses[1] == pytest.approx(losses[0], rel=5e-2)
    report = half.check()
    assert report.passed and not report.unchecked, report.text()


def test_a_loss_scale_keeps_small_gradients():
    """The loss scale is divided out of outputs, and keeps gradients from underflowing in 16 bits."""
    def gradient(scale):
        g = program.IRGraph("small")
        x, w, target = g.input("x", (8, 6)), g.parameter("w", (4, 6)), g.input("target", (8, 4))
        y = g.linear(x, w)
        _, dw, _ = g.linear_bwd(x, w, g.mse_grad(y, target))
        g.output("dw", dw)
        executor = program.Executor(g, runtime.Device("emulator"), passes=("mixed_precision",))
        content = values(8, 6)
        executor.run({"x": content, "target": np.full((8, 4), 1e-7, np.float32), "loss_scale": [scale]})
        return executor.get("dw"), -2 * np.full((4, 8), 1e-7) / 32 @ content

    lost, expected = gradient(1.0)
    kept, _ = gradient(2.0**20)
    assert not lost.any() and np.abs(kept - expected).max() < 1e-2 * np.abs(expected).max()


def test_what_is_wrong_with_passes_is_said(device):
    g = mlp()
    for use in (lambda: program.apply_pass(g, "magic"), lambda: g.lower(passes=["fuse", "magic"]), lambda: program.Executor(g, device, passes=("magic",))):
        with pytest.raises(ValueError, match="unknown pass 'magic': expected fuse, mixed_precision, rematerialise"):
            use()
    with pytest.raises(TypeError):
        program.apply_pass(g, "fuse", nothing=1)
    with pytest.raises(program.DTypeError, match="float16 or bfloat16"):
        program.apply_pass(g, "mixed_precision", dtype="float64")
    with pytest.raises(program.GraphError, match="'x' is taken"):
        program.apply_pass(g, "mixed_precision", loss_scale="x")
