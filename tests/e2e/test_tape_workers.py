"""Tapes on workers, some of which are killed: the same values, and a trace that says what was done again."""
import os
import pathlib
import signal
import threading
import time

import numpy as np
import pytest

from conftest import BIN
from remote import Head
from test_no_workers import Daemons
from test_tapes import CONFIG, drop, entry, finished, leaf, random_tape, values_of


@pytest.fixture
def home(kernel_project):
    return kernel_project({"gpuemu.toml": CONFIG.replace("memory_limit_mb = 1\n", "")})


@pytest.fixture
def daemons(home):
    made = Daemons(home)
    yield made
    made.close()


@pytest.fixture
def head(home, tmp_path):
    made = Head(home, tmp_path)
    config = home.project / "gpuemu.toml"
    config.write_text(config.read_text() + made.settings())
    yield made
    made.close()


def workers_of(home):
    """Process numbers of the daemon's own workers."""
    def name(pid):
        try:
            return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
        except OSError:
            return ""
    return [pid for pid in home.children(home.daemon_pid()) if name(pid).startswith("gpuemu-worker")]


def processor_seconds(pid):
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def wait_until(holds):
    deadline = time.monotonic() + 180
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def kill_workers(home):
    """Returns when they are gone."""
    killed = workers_of(home)
    for pid in killed:
        os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not set(killed) & set(workers_of(home)))


def check_queue(trace):
    """Done one by one in the order of positions, every line finds what it reads."""
    entries = {one["seq"]: one for one in trace["input_tape"]}
    copies, hosts = {}, set()
    for number, line in enumerate(trace["output_queue"]):
        assert line["pos"] == number and all(need < number for need in line["needs"]), line
        there, tensor = copies.setdefault(line["device"], set()), (line["session"], line["id"])
        if line["kind"] == "run":
            for name in entries[line["seq"]]["inputs"]:
                assert (line["session"], name) in there, line
            there.add(tensor)
        elif line["kind"] == "move":
            assert tensor in copies[line["from"]], line
            there.add(tensor)
        elif line["kind"] == "load":
            there.add(tensor)
        elif line["kind"] == "spill":
            there.remove(tensor)
            hosts.add(tensor)
        elif line["kind"] == "free":
            for place, held in copies.items():
                if line["device"] in (None, place):
                    held.discard(tensor)
    started = [pos for tick in trace["ticks"] for pos in tick["started"]]
    assert sorted(started) == list(range(len(trace["output_queue"])))
    names = [(one["session"], one["id"]) for one in trace["handles"]]
    assert len(names) == len(set(names)) == sum(bool(one["id"]) for one in trace["input_tape"] if one["op"] not in ("fetch", "drop"))


class Tape:
    """A session with a tape."""

    def __init__(self, client):
        self.client = client
        self.secret = client.ask("OpenSession", name="taped", lease_ms=600_000)["session"]

    def __call__(self, kind, **members):
        return self.client.ask(kind, session=self.secret, **members)


@pytest.fixture
def taped(home):
    clients = []

    def begin():
        clients.append(home.client(timeout=300))
        return Tape(clients[-1].__enter__())

    yield begin
    for one in clients:
        one.__exit__(None, None, None)


def check_values(tape, values):
    for name, expected in values.items():
        got, scale = values_of(tape("FetchTensor", id=name)), np.abs(expected).max() or 1
        np.testing.assert_allclose(got / scale, expected / scale, atol=2e-4, err_msg=name)


def test_ops_run_in_worker_processes(home, taped):
    home.start()
    tape = taped()
    assert tape("SubmitTape", entries=[entry("a", "ones"), entry("b", "ones"), entry("c", "add", "a", "b")])["type"] == "TapeAccepted"
    assert (values_of(tape("FetchTensor", id="c")) == 2).all()
    assert len(workers_of(home)) == 2
    assert [one["worker_id"] for one in tape("GetTrace")["trace"]["devices"]] == ["local-0", "local-1"]


@pytest.mark.parametrize("seed", [1, 2])
def test_a_tape_whose_workers_are_killed_ends_with_the_same_values(home, taped, seed):
    home.start()
    tape = taped()
    entries, values = random_tape(seed, 300)
    killed = []

    def kill():
        deadline = time.monotonic() + 60
        while len(killed) < 2 and time.monotonic() < deadline:
            for pid in sorted(set(workers_of(home)) - set(killed))[:1]:
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)
                time.sleep(0.05)
            time.sleep(0.001)

    killer = threading.Thread(target=kill)
    killer.start()
    for at in range(0, len(entries), 50):
        assert tape("SubmitTape", entries=entries[at:at + 50])["type"] == "TapeAccepted"
        time.sleep(0.02)
    killer.join()
    assert len(killed) == 2
    status = finished(tape)
    assert (status["done"], status["failed"]) == (300, 0)
    check_values(tape, values)
    trace = tape("GetTrace")["trace"]
    check_queue(trace)
    assert all(one["state"] == "ready" for one in trace["handles"])


def test_what_a_killed_worker_held_is_made_again_and_the_trace_says_so(home, taped):
    home.start()
    tape = taped()
    array = np.arange(16, dtype=np.float32).reshape(4, 4)
    large = np.ones((256, 256), np.float32)  # Its text is not kept on the tape.
    entries = [leaf("x", array), entry("r", "randn"), entry("y", "add", "x", "r"), entry("z", "add", "y", "x"), leaf("large", large),
               entry("m", "add", "large", "large", shape=(256, 256)), drop("y"), drop("large")]
    assert tape("SubmitTape", entries=entries)["type"] == "TapeAccepted"
    before = {name: values_of(tape("FetchTensor", id=name)) for name in "xrzm"}
    finished(tape)
    assert not any("attempt" in line for line in tape("GetTrace")["trace"]["output_queue"])
    kill_workers(home)
    trace = tape("GetTrace")["trace"]
    again = [line for line in trace["output_queue"] if "attempt" in line]
    assert {line["id"] for line in again if line["kind"] == "run"} >= {"x", "r", "z", "y"}, again
    assert {line["attempt"] for line in again} == {1}
    states = {one["id"]: one["state"] for one in trace["handles"]}
    assert (states["x"], states["r"], states["z"]) == ("ready",) * 3
    # Nobody has the data of `large`, which was dropped.
    assert states["m"] == "lost"
    for name in "xrz":
        assert (values_of(tape("FetchTensor", id=name)) == before[name]).all()
    lost = tape("FetchTensor", id="m")
    assert lost["type"] == "Error" and "tensor 'm' was lost with the worker" in lost["message"], lost
    check_queue(trace)


def test_an_op_that_takes_two_workers_along_is_not_tried_again(home, taped):
    config = home.project / "gpuemu.toml"
    config.write_text(config.read_text().replace("workers = 2", "workers = 1"))
    home.start()
    tape = taped()
    assert tape("SubmitTape", entries=[entry("a", "ones", shape=(2500, 2500))])["type"] == "TapeAccepted"
    assert finished(tape)["failed"] == 0
    before = {pid: processor_seconds(pid) for pid in workers_of(home)}
    assert tape("SubmitTape", entries=[entry("slow", "matmul", "a", "a", shape=(2500, 2500)), entry("next", "relu", "a", shape=(2500, 2500))])["type"] == "TapeAccepted"
    for _ in range(2):
        # A second of processor time is far more than a start costs, and far less than the product.
        wait_until(lambda: any(processor_seconds(pid) > before.get(pid, 0) + 1 for pid in workers_of(home)))
        kill_workers(home)
    status = finished(tape)
    assert status["failed"] == 1, status
    failed = tape("FetchTensor", id="slow")
    assert "WorkerLost" in failed["message"] and "not tried again" in failed["message"], failed
    assert tape("FetchTensor", id="next")["type"] == "Tensor"
    attempts = [line["attempt"] for line in tape("GetTrace")["trace"]["output_queue"] if line["id"] == "slow" and "attempt" in line]
    assert attempts == [1]


def test_tapes_of_a_daemon_without_workers_run_on_remote_ones_and_survive_their_loss(home, daemons, head, taped):
    daemons.start("--no-workers")
    first = head.worker("w1").wait_for("w1 serves")
    second = head.worker("w2").wait_for("w2 serves")
    tape = taped()
    entries, values = random_tape(5, 60)
    assert tape("SubmitTape", entries=entries)["type"] == "TapeAccepted"
    check_values(tape, values)
    assert sorted(one["worker_id"] for one in tape("GetTrace")["trace"]["devices"]) == ["w1", "w2"]
    first.kill()
    check_values(tape, values)
    assert [one["worker_id"] for one in tape("GetTrace")["trace"]["devices"]] == ["w2", "w2"]
    second.kill()
    check_values(tape, values)
    trace = tape("GetTrace")["trace"]
    assert [one["worker_id"] for one in trace["devices"]] == ["local-0", "local-1"]
    check_queue(trace)
    assert max(line.get("attempt", 0) for line in trace["output_queue"]) == 2
    assert workers_of(home) == []


def test_a_tape_goes_to_the_remote_worker_that_comes(home, daemons, head, taped):
    daemons.start("--no-workers")
    tape = taped()
    assert tape("SubmitTape", entries=[entry("a", "ones"), entry("b", "add", "a", "a")])["type"] == "TapeAccepted"
    assert (values_of(tape("FetchTensor", id="b")) == 2).all()
    assert [one["worker_id"] for one in tape("GetTrace")["trace"]["devices"]] == ["local-0"]
    head.worker("w1").wait_for("w1 serves")
    assert tape("SubmitTape", entries=[entry("c", "add", "b", "a")])["type"] == "TapeAccepted"
    assert (values_of(tape("FetchTensor", id="c")) == 3).all()
    assert [one["worker_id"] for one in tape("GetTrace")["trace"]["devices"]] == ["w1"]
    assert head.listed()["w1"]["attempts"] > 0


def test_without_a_fallback_a_tape_waits_for_a_worker(home, daemons, head, taped):
    config = home.project / "gpuemu.toml"
    config.write_text(config.read_text() + '\n[scheduler]\nfallback = "none"\n')
    process = daemons.start("--no-workers")
    tape = taped()
    assert tape("SubmitTape", entries=[entry("a", "ones")])["type"] == "TapeAccepted"
    assert tape("TapeStatus", wait_ms=500)["done"] == 0
    head.worker("w1").wait_for("w1 serves")
    assert (values_of(tape("FetchTensor", id="a")) == 1).all()
    head.workers[0].kill()
    head.wait_for("w1", lambda one: one["state"] == "lost")
    assert tape("SubmitTape", entries=[entry("b", "ones")])["type"] == "TapeAccepted"
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) == 0


def test_workers_that_cannot_be_started_are_done_without_where_it_is_said(home, daemons, taped, tmp_path):
    config = home.project / "gpuemu.toml"
    config.write_text(config.read_text() + '\n[scheduler]\nfallback = "local"\n')
    (tmp_path / "gpuemu-daemon").write_bytes((BIN / "gpuemu-daemon").read_bytes())
    (tmp_path / "gpuemu-daemon").chmod(0o755)
    import subprocess
    daemons.processes.append(subprocess.Popen([str(tmp_path / "gpuemu-daemon")], env=home.env, cwd=home.project, stdin=subprocess.DEVNULL))
    deadline = time.monotonic() + 30
    while not home.socket.exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    tape = taped()
    assert tape("SubmitTape", entries=[entry("a", "ones")])["type"] == "TapeAccepted"
    assert (values_of(tape("FetchTensor", id="a")) == 1).all()
    assert "ops of tapes run in the daemon (scheduler.fallback)" in (home.socket.parent / "daemon.log").read_text()
