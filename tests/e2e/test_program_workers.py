"""Lazy tensors in worker processes: without a daemon, and with kernels that this process registered."""
import gc
import os
import signal
import threading

import numpy as np
import pytest

import gpuemu
from gpuemu import program
from gpuemu.program import daemon
from gpuemu.program.workers import WorkerPlace
from test_program_registered import values
from test_programs import Planted
from test_runtime import runtime

NO_GUARD = """extern "C" __global__ void relu(const float* x, float* y, int n) { y[blockIdx.x * blockDim.x + threadIdx.x] = x[0]; }"""


@pytest.fixture(autouse=True)
def worker(monkeypatch):
    """As where the package pynng is missing."""
    program.reset()
    monkeypatch.setattr(daemon, "DaemonPlace", lambda backend, device, arch, *_: WorkerPlace(backend, device, arch))
    program.set_backend("emulator")
    yield
    program.reset()


def test_a_worker_computes_what_this_process_does():
    x, w = program.tensor(values(5, 7), requires_grad=True), program.tensor(values(3, 7, seed=1), requires_grad=True)
    assert program.connection() is None, "nothing runs before something must"

    def step(x, w):
        y = program.softmax(program.gelu(program.linear(x, w)) * 2.0)
        y.backward(values(5, 3, seed=2))
        return [y.numpy(), x.grad.numpy(), w.grad.numpy()]

    got = step(x, w)
    there = program.connection()
    assert isinstance(there, program.Connection) and there.started and there.session and there.address == f"process {int(there.address.split()[1])}"
    assert x.device == "worker:emulator:0" and program.last_run().plan.workspace_bytes > 0
    with runtime.Device("emulator") as device:
        program.set_backend("emulator", local=True, device=device)
        expected = step(program.tensor(values(5, 7), requires_grad=True), program.tensor(values(3, 7, seed=1), requires_grad=True))
    for one, other in zip(got, expected):
        assert one.tobytes() == other.tobytes()


def test_verbosity_one_tells_which_workers_start_and_end(capfd):
    program.set_verbosity(1)
    (program.tensor(values(2)) * 2.0).numpy()
    pid = int(program.connection().address.split()[1])
    assert capfd.readouterr().err == f"program: process {pid} is the worker of worker:emulator:0\n"
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(gpuemu.ConnectionError):
        (program.tensor(values(2)) * 3.0).numpy()
    assert capfd.readouterr().err == f"program: process {pid}, the worker of worker:emulator:0, ended\n"


def test_training_keeps_values_in_the_worker_and_frees_them():
    w = program.tensor(values(3, 6), requires_grad=True)
    x = program.tensor(values(8, 6, seed=1))
    losses = []
    for _ in range(12):
        w.zero_grad()
        loss = program.linear(x, w).relu().mean()
        loss.backward()
        w.assign(w - 0.1 * w.grad)
        losses.append(loss.item())
    assert losses == sorted(losses, reverse=True) and losses[0] > losses[-1]
    place = w._lazy.place
    gc.collect()
    (w * 1.0).numpy()
    with place._lock:
        assert place._ask("count") <= 6, "values that nobody has are freed"


def test_a_fault_costs_its_op_and_not_the_program():
    x = program.tensor(values(10))
    kept = x + 1.0
    kept.numpy()
    launch = runtime.Launch("relu", "cdiv(x.count, 64)", 64, ["x", "y", "i32:x.count"])
    with runtime.register_kernel("relu", "no_guard", NO_GUARD, [launch], types={"T": ["float32"]}, priority=9):
        with pytest.raises(gpuemu.KernelError) as raised:
            x.relu().numpy()
        assert raised.value.findings[0].kind == "out_of_bounds"
    assert (x.relu().numpy() == np.maximum(values(10), 0)).all() and ((kept * 2.0).numpy() == (values(10) + 1) * 2).all()
    y = program.call("attention", [x.reshape(1, 10)] * 3, {"scale": float("inf")})
    with pytest.raises(runtime.InvalidArgumentError, match=r"op 0, attention, written at .*test_program_workers\.py:\d+: .*scale is inf"):
        y.numpy()


def test_a_tensor_that_fails_stays_alive_without_costing_the_others():
    x = program.tensor(values(10))
    launch = runtime.Launch("relu", "cdiv(x.count, 64)", 64, ["x", "y", "i32:x.count"])
    with runtime.register_kernel("relu", "no_guard", NO_GUARD, [launch], types={"T": ["float32"]}, priority=9):
        failing = (x * 1.0).relu()
        behind, other = failing + 1.0, x * 2.0
        with pytest.raises(gpuemu.KernelError, match=r"op \d, relu, written at .*test_program_workers\.py:\d+: "):
            failing.numpy()
        assert ((x + 1.0).numpy() == values(10) + 1).all() and (other.numpy() == 2 * values(10)).all()
        another = x * 3.0
        for _ in range(2):
            with pytest.raises(gpuemu.KernelError, match="relu"):
                program.flush()
            assert not another.is_pending and failing.is_pending and behind.is_pending
        with pytest.raises(gpuemu.KernelError, match="relu"):
            behind.numpy()
    assert (failing.numpy() == np.maximum(values(10), 0)).all() and (behind.numpy() == np.maximum(values(10), 0) + 1).all()


def test_registered_ops_run_in_workers_and_kernels_that_ask_a_function_do_not():
    source = """extern "C" __global__ void f(const float* x, float* y, int n, float k) { if (threadIdx.x < n) y[threadIdx.x] = k * x[threadIdx.x]; }"""
    launch = runtime.Launch("f", 1, 64, ["x", "y", "i32:x.count", "f32:k"])
    with runtime.register_op("times", ["x: T"], ["y: T"], schema=[("k", "float32", 2.0)], infer=lambda x, k: [x]):
        runtime.register_kernel("times", "plain", source, [launch], types={"T": ["float32"]})
        runtime.register_kernel("times", "asks", source.replace("k *", "-k *"), [launch], types={"T": ["float32"]}, priority=5, supports=lambda case: True)
        x = program.tensor(values(6))
        assert (program.call("times", [x], {"k": 4}).numpy() == 4 * values(6)).all()
    with pytest.raises(program.GraphError, match="unknown op 'times'"):
        program.call("times", [x])


def test_tensors_of_a_worker_are_checked_in_this_process(monkeypatch, tmp_path):
    x = program.tensor(values(6)) * 2.0
    x.numpy()
    y = program.tanh(program.relu(x) + 1.0)
    report = program.check(y)
    assert report.passed and report.ops_checked == 3 and y.is_pending, report.text()
    Planted(monkeypatch, "relu", lambda content: content.__setitem__(2, 9.0))
    found = program.check(y, save=tmp_path / "case")
    assert (found.first.op, found.first.element) == ("relu", 2)
    np.testing.assert_allclose(y.numpy(), np.tanh(np.maximum(values(6) * 2, 0) + 1), rtol=1e-5)
    program.set_backend("numpy")
    with pytest.raises(program.BackendError, match="no kernels to check"):
        program.check(program.ones(2) + 1.0)


def test_a_worker_that_dies_is_told_once_and_started_again():
    x = program.tensor(values(6))
    read, lost = x + 1.0, x + 2.0
    program.flush()
    read.numpy()
    before = program.connection()
    os.kill(int(before.address.split()[1]), signal.SIGKILL)
    with pytest.raises(gpuemu.ConnectionError, match="ended with code -9"):
        (x * 3.0).numpy()
    assert ((x * 3.0).numpy() == values(6) * 3).all() and program.connection().session != before.session
    assert (read.numpy() == values(6) + 1).all()
    for use in (lost.numpy, (lost + 1.0).numpy):
        with pytest.raises(runtime.ReleasedError, match="its worker ended"):
            use()


def test_connecting_and_disconnecting():
    program.connect()
    first = program.connection()
    x = program.tensor(values(6))
    read, unread, pending = x + 1.0, x + 2.0, x + 3.0
    del pending
    program.flush()
    read.numpy()
    assert program.connection() == first
    program.disconnect()
    assert program.connection() is None and (read.numpy() == values(6) + 1).all()
    with pytest.raises(runtime.ReleasedError, match="disconnect"):
        unread.numpy()
    assert (program.tensor(values(6)) * 2.0).numpy().shape == (6,) and program.connection() != first


def test_a_device_that_does_not_exist_is_said():
    program.set_backend("emulator", device=7)
    for _ in range(2):
        with pytest.raises(runtime.NotFoundError, match="emulator"):
            (program.ones(2) + 1.0).numpy()
    with pytest.raises(gpuemu.ConnectionError, match="start is False"):
        program.connect(start=False)


def test_threads_share_a_worker():
    made = []

    def work(number):
        x = program.full((4,), float(number))
        for _ in range(5):
            x = x + 1.0
            x.numpy()
        made.append(float(x.numpy()[0]) - number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert made == [5.0] * 4
