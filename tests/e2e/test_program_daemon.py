"""Lazy tensors in the daemon, which runs them as entries of a tape: set_backend's default."""
import gc
import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest

import gpuemu as package
from conftest import BIN, ROOT
from gpuemu import program
from test_program_registered import values
from test_runtime import runtime

pytest.importorskip("pynng")
CONFIG = '[project]\nname = "programs"\n[runtime]\nbackend = "emulator"\nworkers = 1\n'


@pytest.fixture(scope="module")
def home(new_home):
    return new_home({"gpuemu.toml": CONFIG})


@pytest.fixture
def daemon(home):
    """A home whose daemon the tensors of the test are connected to."""
    if home.daemon_pid() is None:
        home.start()
    program.reset()
    program.connect(str(home.socket))
    yield home
    program.reset()


def network(x, w, b):
    y = program.softmax(program.gelu(program.linear(x.reshape(4, 6), w, b)) * 2.0)
    loss = program.cross_entropy(y, program.tensor([0, 2, 1, 1], dtype="int32")) + program.layernorm(y, b, b).mean()
    loss.backward()
    return [y.reshape(12).numpy(), loss.numpy(), x.grad.numpy(), w.grad.numpy(), b.grad.numpy()]


def leaves():
    return [program.tensor(values(*shape, seed=seed), requires_grad=True) for seed, shape in enumerate([(2, 12), (3, 6), (3,)])]


def test_the_daemon_computes_what_this_process_does(daemon):
    got = network(*leaves())
    there = program.connection()
    assert there.address == str(daemon.socket) and there.started is False
    assert there.session in [one["name"] for one in daemon.ask("ListSessions")["sessions"]]
    ran = [one["op"] for one in daemon.ask("GetTrace")["trace"]["input_tape"] if one["session"] == there.session]
    assert {"gemm", "softmax", "linear_bwd", "layernorm_bwd"} <= set(ran)
    with runtime.Device("emulator") as device:
        program.set_backend("emulator", local=True, device=device)
        expected = network(*leaves())
    for one, other in zip(got, expected):
        assert one.shape == other.shape and one.tobytes() == other.tobytes()


def test_training_frees_what_nobody_has(daemon):
    w, x = program.tensor(values(3, 6), requires_grad=True), program.tensor(values(8, 6, seed=1))
    losses, held = [], []
    for step in range(12):
        w.zero_grad()
        loss = program.linear(x, w).relu().mean()
        loss.backward()
        w.assign(w - 0.1 * w.grad)
        losses.append(loss.item())
        gc.collect()
        if step in (3, 11):
            handles = daemon.ask("GetTrace", name=program.connection().session, layers=["handles"])["trace"]["handles"]
            held.append(len([one for one in handles if one["state"] != "freed" and one["refs"]]))
    assert losses == sorted(losses, reverse=True) and losses[0] > losses[-1]
    assert held[1] <= held[0] + 2, held


def test_what_an_op_refuses_names_the_op_and_its_line(daemon):
    x = program.tensor(values(4, 10))
    kept = x + 1.0
    y = program.call("embedding_bwd", [program.tensor([1, 2, 3, 4]), x], outputs=[((6, 5), "float32")])
    with pytest.raises(runtime.InvalidArgumentError, match=r"op \d+, embedding_bwd, written at .*test_program_daemon\.py:\d+: .*expected \[4, 5\]"):
        y.numpy()
    del y
    assert (kept.numpy() == values(4, 10) + 1).all()


def test_device_time_that_is_used_up_is_no_lack_of_memory(daemon):
    x = program.tensor(values(4, 10))
    assert (x + 1.0).numpy().shape == (4, 10)
    limited = daemon.ask("SetSession", name=program.connection().session, time_limit_s=0.000001)
    assert limited["type"] == "SessionInfo", limited
    with pytest.raises(package.DeviceError, match=r"device time is used up \(time_limit_s\)") as caught:
        (x * 2.0).numpy()
    assert caught.value.code == "LimitExceeded" and not isinstance(caught.value, MemoryError)


def test_kernels_of_this_process_run_in_a_worker(daemon, capfd):
    source = """extern "C" __global__ void f(const float* x, float* y, int n) { if (threadIdx.x < n) y[threadIdx.x] = 4 * x[threadIdx.x]; }"""
    program.set_verbosity(1)
    x = program.tensor(values(6)) + 1.0
    with runtime.register_op("times", ["x: T"], ["y: T"], infer=lambda x: [x]):
        runtime.register_kernel("times", "plain", source, [runtime.Launch("f", 1, 64, ["x", "y", "i32:x.count"])], types={"T": ["float32"]})
        y = program.call("times", [x])
        assert (y.numpy() == 4 * (values(6) + 1)).all()
    assert ((y * 2.0 + x).numpy() == 9 * (values(6) + 1)).all(), "a value of the worker in the daemon"
    assert "times has kernels that this process registered" in capfd.readouterr().err
    assert (program.ones(0, 3) * 2.0).shape == (program.zeros(0, 3) + 1.0).numpy().shape == (0, 3)


def test_a_daemon_that_dies_is_told_and_connect_begins_a_new_session(daemon):
    x = program.tensor(values(6))
    read, unread = x + 1.0, x + 2.0
    program.flush()
    read.numpy()
    before = program.connection()
    os.kill(daemon.daemon_pid(), signal.SIGKILL)
    with pytest.raises(package.ConnectionError, match="connect"):
        (x * 3.0).numpy()
    with pytest.raises(package.ConnectionError):
        program.connect(str(daemon.socket))
    daemon.start()
    program.connect(str(daemon.socket))
    assert ((x * 3.0).numpy() == values(6) * 3).all() and (read.numpy() == values(6) + 1).all()
    assert program.connection().address == before.address
    for use in (unread.numpy, (unread + 1.0).numpy):
        with pytest.raises(runtime.ReleasedError, match="its daemon ended"):
            use()


def test_disconnect_frees_the_session(daemon):
    x = program.tensor(values(6))
    read, unread = x + 1.0, x + 2.0
    program.flush()
    read.numpy()
    session = program.connection().session
    program.disconnect()
    assert program.connection() is None and (read.numpy() == values(6) + 1).all()
    with pytest.raises(runtime.ReleasedError, match="disconnect"):
        unread.numpy()
    assert session not in [one["name"] for one in daemon.ask("ListSessions")["sessions"]]


def test_what_a_daemon_cannot_do_is_said(daemon, tmp_path):
    program.set_backend("cuda")
    with pytest.raises(program.BackendError, match="backend emulator, not cuda"):
        program.connect(str(daemon.socket))
    program.set_backend("emulator")
    with pytest.raises(package.ConnectionError, match="nowhere"):
        program.connect(tmp_path / "nowhere.sock")
    program.set_backend("numpy")
    with pytest.raises(program.BackendError, match="in this process"):
        program.connect(str(daemon.socket))


def test_a_daemon_is_started_where_none_answers(new_home):
    home = new_home({"gpuemu.toml": CONFIG})
    code = """
import json
from gpuemu import program
program.set_verbosity(1)
w = program.ones(3, requires_grad=True)
y = (w * 2.0).sum()
y.backward()
assert program.connection() is None
print(json.dumps([y.item(), w.grad.numpy().tolist(), *program.connection()]))
"""
    env = {**home.env, "PYTHONPATH": str(ROOT / "python"), "GPUEMU_LIBRARY": str(BIN.parent / "lib" / "gpuemu" / "libgpuemu.so.1")}
    for started in (True, False):
        done = subprocess.run([sys.executable, "-c", code], cwd=home.project, env=env, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        sum_, gradient, address, session, was_started = json.loads(done.stdout)
        assert (sum_, gradient, address, was_started) == (6.0, [2.0] * 3, str(home.socket), started) and session in done.stderr
