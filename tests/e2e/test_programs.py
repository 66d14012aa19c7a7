"""gpuemu.program on the emulator, with the real library: lazy tensors, executors, replays, checks."""
import gc
import json
import os
import pathlib
import re
import subprocess
import sys
import threading

import numpy as np
import pytest

from conftest import BIN, ROOT

LIBRARY = BIN.parent / "lib" / "gpuemu" / "libgpuemu.so.1"
if not LIBRARY.exists():
    pytest.skip("this build has no libgpuemu.so", allow_module_level=True)
os.environ.setdefault("GPUEMU_LIBRARY", str(LIBRARY))
os.environ.setdefault("GPUEMU_CHECK", str(BIN / "gpuemu-check"))

import gpuemu  # noqa: E402
from gpuemu import program, runtime  # noqa: E402
from gpuemu.program import report  # noqa: E402

SIZES, ROWS = (12, 9, 4), 6


@pytest.fixture
def device():
    with runtime.Device("emulator", threads=2) as made:
        yield made
    program.reset()
    made.close()


@pytest.fixture
def on_the_emulator(device):
    program.reset()
    program.set_backend("emulator", local=True, device=device)
    return device


def mlp(sizes=SIZES, rows=ROWS):
    """One step of Adam."""
    g = program.IRGraph("mlp")
    x, target, scalars = g.input("x", (rows, sizes[0])), g.input("target", (rows, sizes[2])), g.meta("scalars", (3,))
    w0, b0, w1, b1 = (g.parameter(name, shape) for name, shape in (("w0", (sizes[1], sizes[0])), ("b0", (sizes[1],)), ("w1", (sizes[2], sizes[1])), ("b1", (sizes[2],))))
    h = g.linear(x, w0, b0)
    r = g.relu(h)
    y = g.linear(r, w1, b1)
    g.output("loss", g.mse(y, target))
    dr, dw1, db1 = g.linear_bwd(r, w1, g.mse_grad(y, target))
    _, dw0, db0 = g.linear_bwd(x, w0, g.relu_bwd(h, dr))
    for p, gradient in ((w0, dw0), (b0, db0), (w1, dw1), (b1, db1)):
        g.adam_step(p, gradient, g.parameter(f"m_{p.name}", p.shape), g.parameter(f"v_{p.name}", p.shape), scalars)
    return g


PARAMETERS = [f"{kind}{name}" for name in ("w0", "b0", "w1", "b1") for kind in ("", "m_", "v_")]


def drawn(*shape, seed=0):
    return (0.3 * np.random.default_rng(seed).normal(size=shape)).astype(np.float32)


def started(device, sizes=SIZES, rows=ROWS):
    executor = program.Executor(mlp(sizes, rows), device)
    for number, name in enumerate(("w0", "w1")):
        executor.set(name, drawn(*executor.tensor(name).shape, seed=number))
    return executor, {"x": drawn(rows, sizes[0], seed=5), "target": drawn(rows, sizes[2], seed=6)}


def state(executor):
    return {name: executor.get(name).tobytes() for name in (*PARAMETERS, "loss")}


def in_float64(executor, data, steps, rate):
    """The losses of the same steps with NumPy."""
    p = {name: executor.get(name).astype(np.float64) for name in ("w0", "b0", "w1", "b1")}
    m, v, losses = ({name: np.zeros(one.shape) for name, one in p.items()} for _ in range(2)), None, []
    m, v = m
    x, target = data["x"].astype(np.float64), data["target"].astype(np.float64)
    for step in range(1, steps + 1):
        h = x @ p["w0"].T + p["b0"]
        r = np.maximum(h, 0)
        y = r @ p["w1"].T + p["b1"]
        losses.append(((y - target) ** 2).mean())
        dy = 2 * (y - target) / y.size
        dh = (dy @ p["w1"]) * (h > 0)
        for name, gradient in {"w0": dh.T @ x, "b0": dh.sum(0), "w1": dy.T @ r, "b1": dy.sum(0)}.items():
            m[name] = 0.9 * m[name] + 0.1 * gradient
            v[name] = 0.999 * v[name] + 0.001 * gradient**2
            p[name] -= rate * (m[name] / (1 - 0.9**step)) / (np.sqrt(v[name] / (1 - 0.999**step)) + 1e-8)
    return losses


# --- lazy tensors


def test_lazy_tensors_compute_what_numpy_does(on_the_emulator):
    x, w = program.randn(5, 7, requires_grad=True), program.randn(3, 7, requires_grad=True)
    y = program.softmax(program.gelu(program.linear(x, w)) * 2.0)
    assert y.is_pending and y.device == "emulator:0"
    y.backward(drawn(5, 3))
    got = [y.numpy(), x.grad.numpy(), w.grad.numpy()]
    program.set_backend("numpy")
    a, b = program.tensor(x.data, requires_grad=True), program.tensor(w.data, requires_grad=True)
    z = program.softmax(program.gelu(program.linear(a, b)) * 2.0)
    z.backward(drawn(5, 3))
    for one, other in zip(got, [z.numpy(), a.grad.numpy(), b.grad.numpy()]):
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["conv2d", "max_pool2d", "rmsnorm", "attention", "gather", "max"])
def test_gradients_without_a_kernel_of_their_own_run_on_kernels(on_the_emulator, name):
    image, weights = drawn(2, 3, 5, 4), drawn(2, 3, 3, 2, seed=1)
    functions = {
        "conv2d": (lambda x, w: program.conv2d(x, w, stride=(1, 2), padding=1), [image, weights]),
        "max_pool2d": (lambda x: program.max_pool2d(x, 2, stride=1), [image]),
        "rmsnorm": (program.rmsnorm, [drawn(3, 6), drawn(6)]),
        "attention": (lambda q, k, v: program.attention(q, k, v, causal=True), [drawn(4, 3), drawn(4, 3, seed=1), drawn(4, 2, seed=2)]),
        "gather": (lambda x: program.gather(x, np.array([2, 0, 2, -1]), axis=1), [drawn(2, 3, 2)]),
        "max": (lambda x: x.max(axis=0), [drawn(4, 3)]),
    }
    function, arrays = functions[name]
    made = {}
    for backend in ("emulator", "numpy"):
        program.set_backend(backend, local=True, device=on_the_emulator if backend == "emulator" else 0)
        tensors = [program.tensor(one, requires_grad=True) for one in arrays]
        y = function(*tensors)
        y.backward()
        made[backend] = [y.numpy(), *(one.grad.numpy() for one in tensors)]
    for one, other in zip(*made.values()):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def test_a_training_loop_takes_no_more_memory_from_step_to_step(on_the_emulator):
    x, w = program.randn(8, 6), program.randn(3, 6, requires_grad=True)
    live = []
    for _ in range(20):
        w.zero_grad()
        loss = program.linear(x, w).relu().mean()
        loss.backward()
        w.assign(w - 0.1 * w.grad)
        loss.item()
        live.append(on_the_emulator.memory_statistics().live)
    assert live[10] == live[-1]


def test_an_error_of_the_device_names_the_op_and_its_line(on_the_emulator):
    x = program.ones(2, dtype="float32")
    y = program.call("attention", [x.reshape(1, 2), x.reshape(1, 2), x.reshape(1, 2)], {"scale": float("inf")})
    with pytest.raises(runtime.InvalidArgumentError, match=r"op 0, attention, written at .*test_programs\.py:\d+: .*scale is inf"):
        y.numpy()


# --- executors and replays


def test_a_step_computes_what_float64_does(device):
    executor, data = started(device)
    expected = in_float64(executor, data, 20, 1e-2)
    for step, loss in enumerate(expected, 1):
        executor.run({**data, "scalars": program.adam_scalars(step, 1e-2)})
        assert abs(float(executor.get("loss")) - loss) <= 1e-3 * loss
    assert expected[-1] < 0.7 * expected[0]


def test_fifty_replays_are_fifty_steps_in_every_bit(device):
    one, data = started(device)
    two, _ = started(device)
    before = state(two)
    two.set("x", data["x"])
    two.set("target", data["target"])
    replay = two.capture()
    assert {name: state(two)[name] for name in PARAMETERS} == {name: before[name] for name in PARAMETERS}, "capturing runs nothing"
    for step in range(1, 51):
        scalars = {"scalars": program.adam_scalars(step, 1e-2 / step)}
        one.run({**data, **scalars})
        replay.launch(scalars)
        assert state(one) == state(two), step
    assert replay.launches == 50 and replay.nodes > 10
    with pytest.raises(program.BindError, match="fixed by a capture"):
        two.bind("x", two.tensor("x"))
    replay.close()


def test_shared_and_unshared_workspace_give_the_same_bits(device):
    made = []
    for reuse in (True, False):
        g = mlp()
        executor = program.Executor(g, device, plan=g.bind(reuse=reuse))
        for number, name in enumerate(("w0", "w1")):
            executor.set(name, drawn(*executor.tensor(name).shape, seed=number))
        executor.run({"x": drawn(ROWS, SIZES[0], seed=5), "target": drawn(ROWS, SIZES[2], seed=6), "scalars": program.adam_scalars(1, 0.1)})
        made.append(state(executor))
    assert made[0] == made[1]


def test_storage_of_the_host_is_bound_without_a_copy(device):
    executor, data = started(device)
    mine = device.tensor(data["x"])
    executor.bind("x", mine)
    assert executor.tensor("x") is mine and executor.env[0].address == mine.address
    wrong = {
        "expected float32": device.empty((ROWS, SIZES[0]), "float64"),
        "the strides": device.empty((SIZES[0], ROWS)).transpose(),
    }
    for message, tensor in wrong.items():
        with pytest.raises(program.BindError, match=message):
            executor.bind("x", tensor)
    with pytest.raises(program.BindError, match="'m_b0' and 'b0' overlap"):
        executor.bind("m_b0", executor.tensor("b0"))
    with pytest.raises(KeyError, match="there are x, target, scalars"):
        executor.set("nothing", 1)
    with pytest.raises(program.BindError, match="expected float32"):
        executor.set("x", data["x"].astype(np.float64))
    with pytest.raises(program.BindError, match="scalars, target: never set"):
        executor.run()


def test_the_layers_of_an_executor_can_be_read(device):
    executor, _ = started(device)
    assert executor.text().splitlines()[:3] == ["0 gemm (%0, %3) -> (%39) small", "1 bias_add (%39, %4) -> (%7) packets", "2 relu (%7) -> (%8) packets"]
    calls = executor.calls()
    assert [one.op for one in calls] == [one["op"] for one in executor.lowered]
    assert (calls[0].schema_id, calls[0].attrs) == runtime.pack("gemm", {"trans_b": 1})
    executor.prepare()
    assert set(executor.env) == set(executor.plan.roles) and executor.device is device
    ops = set(runtime.ops())
    from gpuemu.program.ops import primitives

    assert set(primitives.PRIMITIVES) <= ops
    for op in primitives.PRIMITIVES:
        info = runtime.op_info(op)
        row = primitives.PRIMITIVES[op]
        assert (tuple(one.name for one in info.inputs), tuple(one.name for one in info.outputs)) == (row.inputs, row.outputs)
        assert primitives.fields(op) == pytest.approx({one.name: one.default for one in info.schema.fields}), op


def resident_bytes():
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.slow
def test_2000_steps_grow_by_nothing(device):
    executor, data = started(device)
    data = {**data, "scalars": program.adam_scalars(1, 1e-3)}
    executor.run(data)
    replay = executor.capture()

    def steps(count):
        for step in range(count):
            executor.run(data) if step % 2 else replay.launch(data)
            if step % 100 == 99:
                device.synchronize()

    steps(400)
    statistics, resident = device.memory_statistics(), resident_bytes()
    steps(1600)
    after = device.memory_statistics()
    assert (after.live, after.requested_bytes, after.pinned_bytes) == (statistics.live, statistics.requested_bytes, statistics.pinned_bytes)
    assert resident_bytes() - resident < 4 << 20


def test_threads_run_executors_side_by_side(device):
    expected, made = None, []

    def work():
        executor, data = started(device)
        with device.stream():
            for step in range(1, 6):
                executor.run({**data, "scalars": program.adam_scalars(step, 1e-2)})
            made.append(state(executor))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    executor, data = started(device)
    for step in range(1, 6):
        executor.run({**data, "scalars": program.adam_scalars(step, 1e-2)})
    expected = state(executor)
    assert len(made) == 4 and all(one == expected for one in made)


def test_eight_threads_take_2000_steps_on_one_device_and_leave_nothing(device):
    made, wrong = [], []

    def work(number, steps):
        try:
            executor, data = started(device)
            with device.stream() as stream:
                replay = executor.capture() if number % 2 else None
                for step in range(1, steps + 1):
                    (replay.launch if replay else executor.run)({**data, "scalars": program.adam_scalars(step, 1e-2)})
                    if step % 50 == 0:
                        stream.synchronize()
                made.append(state(executor))
        except BaseException as problem:
            wrong.append(problem)

    def together(steps):
        made.clear()
        threads = [threading.Thread(target=work, args=(number, steps)) for number in range(8)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        gc.collect()
        statistics = device.memory_statistics()
        return statistics.live, statistics.requested_bytes, statistics.pinned_bytes

    together(10)
    before, resident = together(10), resident_bytes()
    after = together(250)
    assert not wrong, wrong
    assert len(made) == 8 and all(one == made[0] for one in made)
    assert after == before and resident_bytes() - resident < 8 << 20


# --- checks


class Planted:
    """A mistake in one op: what its kernel wrote is changed behind it, on the device."""

    def __init__(self, monkeypatch, op, change):
        self.calls, real = 0, runtime.op_call

        def op_call(kind, inputs, outputs, *args, **options):
            real(kind, inputs, outputs, *args, **options)
            if kind == op:
                self.calls += 1
                content = outputs[0].numpy()
                change(content.reshape(-1))
                outputs[0].copy_from(content)

        monkeypatch.setattr(runtime, "op_call", op_call)


def test_a_right_program_passes_and_nothing_of_it_changes(device):
    executor, data = started(device)
    executor.run({**data, "scalars": program.adam_scalars(1, 1e-2)})
    before = state(executor)
    found = executor.check({"scalars": program.adam_scalars(2, 1e-2)})
    assert found.passed, found.text()
    assert (found.ops_checked, found.unchecked, found.first, found.reproducer) == (14, [], None, None)
    assert all(one.largest_error is not None and one.largest_error <= 1 for one in found.ops)
    assert found.ops[0].variant == "small" and found.to_dict()["passed"]
    assert state(executor) == before
    found.raise_on_failure()
    replay = executor.capture()
    assert replay.check().passed and state(executor) == before


@pytest.mark.parametrize("op, index", [("relu", 2), ("linear_bwd", 7), ("adam_step", 10)])
def test_the_first_wrong_op_is_named_and_no_other(device, monkeypatch, tmp_path, op, index):
    executor, data = started(device)
    right = {**data, "scalars": program.adam_scalars(1, 1e-2)}
    with monkeypatch.context() as patched:
        planted = Planted(patched, op, lambda content: content.__setitem__(1, content[1] + 0.25))
        found = executor.check(right, save=tmp_path / "case")
        every = executor.check(right, stop_at_first=False, save=tmp_path / "all")
        assert planted.calls
    first = found.first
    assert not found.passed and (first.index, first.op, first.kind, first.element) == (index, op, "ToleranceExceeded", 1)
    assert len(found.findings) == 1 and found.ops_checked == index + 1
    assert re.search(r"test_programs\.py:\d+$", first.where) and abs(first.actual - first.expected) == pytest.approx(0.25, rel=1e-3)
    assert {one.op for one in every.findings} == {op}, "ops behind a wrong one are right on what they got"
    with pytest.raises(program.ProgramCheckError, match=f"op {index}, {op}"):
        found.raise_on_failure()


def test_the_reproducer_is_the_op_alone(device, monkeypatch, tmp_path):
    executor, data = started(device)
    with monkeypatch.context() as patched:
        Planted(patched, "adam_step", lambda content: content.__setitem__(0, 9.0))
        found = executor.check({**data, "scalars": program.adam_scalars(1, 1e-2)}, save=tmp_path / "case")
    folder = tmp_path / "case"
    assert found.reproducer == str(folder)
    case = json.loads((folder / "case.json").read_text())
    assert (case["op"], case["variant"], case["findings"][0]["kind"]) == ("adam_step", "float_moments", "ToleranceExceeded")
    assert sorted(one.name for one in (folder / "inputs").iterdir()) == ["g.npy", "m.npy", "p.npy", "scalars.npy", "v.npy"]
    assert np.load(folder / "expected" / "p_out.npy").dtype == np.float64
    command = [sys.executable, "-m", "gpuemu.program.reproduce"]
    env = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    repaired = subprocess.run([*command, folder], env=env, capture_output=True, text=True, timeout=120)
    assert (repaired.returncode, repaired.stdout) == (0, "passed\n"), repaired.stderr
    np.save(folder / "inputs" / "v.npy", np.full_like(np.load(folder / "inputs" / "v.npy"), np.nan)[:1])
    assert subprocess.run([*command, folder, "--exit-code"], env=env, capture_output=True, timeout=120).returncode == 3


def test_a_reproducer_names_memory_as_the_op_names_its_operands(device, tmp_path):
    source = "extern \"C\" __global__ void k(const float* x, float* y) { y[threadIdx.x] = x[threadIdx.x]; }"
    graph = program.IRGraph("past")
    graph.output("out", graph.relu(graph.input("images", (2, 3))))
    with runtime.register_kernel("relu", "past", source, [runtime.Launch("k", 1, 32, ["x", "y"])], types={"T": ["float32"]}, priority=10):
        found = program.Executor(graph, device).check({"images": np.ones((2, 3), np.float32)}, save=tmp_path / "case")
    assert found.first.kind == "OutOfBounds" and "'images'" in found.first.message
    told = subprocess.run([sys.executable, "-m", "gpuemu.program.reproduce", tmp_path / "case", "--exit-code"],
                          env={**os.environ, "PYTHONPATH": str(ROOT / "python")}, capture_output=True, text=True, timeout=120)
    assert told.returncode == 1 and "of 'x', which has 24 bytes" in told.stdout and "of 'y', which has 24 bytes" in told.stdout, told.stdout


def test_a_replay_that_differs_is_found(device):
    executor, data = started(device)
    executor.run({**data, "scalars": program.adam_scalars(1, 1e-2)})
    replay = executor.capture()
    other = program.Executor(executor.graph, device)
    other.run({**data, "scalars": program.adam_scalars(3, 1e-1)})
    replay._graph = other.capture()._graph  # The capture of other storage.
    found = replay.check()
    assert not found.passed and {one.kind for one in found.findings} == {"ReplayDiffers"}


def test_lazy_tensors_are_checked_before_they_are_read(on_the_emulator, monkeypatch):
    y = program.gelu(program.randn(3, 4) * 2.0)
    assert program.check(y).ops_checked == 2 and y.is_pending
    with monkeypatch.context() as patched:
        Planted(patched, "gelu", lambda content: content.__setitem__(3, np.nan))
        found = program.check(y, save="/dev/null/nowhere")
        assert (found.first.op, found.first.kind, found.first.element) == ("gelu", "NaNDetected", 3)
        assert found.reproducer is None and "could not be written" in found.notes[0]
    y.numpy()
    with pytest.raises(program.ProgramError, match="computed already"):
        program.check(y)


def test_a_tolerance_replaces_the_bound(device, monkeypatch, tmp_path):
    executor, data = started(device)
    right = {**data, "scalars": program.adam_scalars(1, 1e-2)}
    Planted(monkeypatch, "relu", lambda content: content.__setitem__(1, content[1] + 0.01))
    assert not executor.check(right, save=tmp_path / "a").passed
    assert executor.check(right, tolerance={"relu": gpuemu.ToleranceConfig(0.1, 0.0)}).passed
    assert not executor.check(right, tolerance={"gemm": gpuemu.ToleranceConfig(0.1, 0.0)}, save=tmp_path / "b").passed
    with pytest.raises(ValueError, match="there are numpy, shadow"):
        executor.check(right, reference="magic")
    assert executor.check(right, reference="shadow", save=tmp_path / "c").first.op == "relu"


def test_findings_of_devices_have_the_names_of_reports():
    rows = re.findall(r'GPUEMU_DEVICE_FINDING\(\s*\w+, "(\w+)",\s*\w+,\s*(\w+)\)', (ROOT / "runtime/device/device_findings.def").read_text())
    assert dict(rows) == report.KINDS and len(rows) > 15
