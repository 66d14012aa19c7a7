"""Programs on a daemon of another machine: connect(host=, port=) by TLS, on loopback."""
import os
import shutil
import signal
import socket
import ssl
import struct
import time

import numpy as np
import pytest

import gpuemu as package
from gpuemu import program
from gpuemu.client import network
from remote import Head
from test_runtime import runtime

CONFIG = '[project]\nname = "programs"\n[runtime]\nbackend = "emulator"\nworkers = 1\n'


@pytest.fixture(scope="module")
def head(new_home, tmp_path_factory):
    made = Head(new_home({"gpuemu.toml": CONFIG}), tmp_path_factory.mktemp("head"))
    yield made.listen()
    made.close()


@pytest.fixture(autouse=True)
def nothing_left():
    program.reset()
    yield
    program.reset()


def join(head, **changes):
    program.connect(**{"host": "127.0.0.1", "port": head.port, "token_file": head.certs / "token", **changes})


def loss():
    w = program.tensor(np.arange(6, dtype=np.float32).reshape(2, 3), requires_grad=True)
    y = program.relu(program.linear(program.ones(4, 3), w)).mean()
    y.backward()
    return y.numpy(), w.grad.numpy()


def wait_until(test, seconds=30):
    deadline = time.monotonic() + seconds
    while not test():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_program_runs_on_a_daemon_behind_tcp(head):
    join(head)
    there = program.connection()
    assert there.address == f"tls+tcp://127.0.0.1:{head.port}" and there.started is False
    got = loss()
    ran = [one["op"] for one in head.home.ask("GetTrace")["trace"]["input_tape"] if one["session"] == there.session]
    assert {"gemm", "relu", "linear_bwd"} <= set(ran)
    with runtime.Device("emulator") as device:
        program.set_backend("emulator", local=True, device=device)
        assert [one.tobytes() for one in loss()] == [one.tobytes() for one in got]
    program.reset()
    assert there.session not in [one["name"] for one in head.home.ask("ListSessions")["sessions"]]


def test_the_session_ends_with_a_connection_that_breaks(head):
    join(head)
    name = program.connection().session
    kept = program.ones(3) * 2.0
    place = program.session.SESSION.place()
    place._link.client.connection._socket.shutdown(socket.SHUT_RDWR)
    wait_until(lambda: name not in [one["name"] for one in head.home.ask("ListSessions")["sessions"]])
    with pytest.raises(package.ConnectionError, match="connect\\(\\) begins a new session"):
        kept.numpy()
    join(head)
    assert program.ones(2).numpy().tolist() == [1.0, 1.0]


def copy_of(head, folder):
    shutil.copytree(head.certs, folder)
    return folder


def test_a_wrong_token_is_refused_a_second_later_and_logged(head, tmp_path):
    folder = copy_of(head, tmp_path / "other")
    (folder / "token").write_text("guess\n")
    begun = time.monotonic()
    with pytest.raises(package.ConnectionError, match="refused this client: wrong token .*other/token"):
        join(head, token_file=folder / "token")
    assert time.monotonic() - begun >= 1
    assert "OpenSession has a wrong token" in head.log()


def test_what_is_wrong_with_files_and_addresses_is_said(head, tmp_path, monkeypatch):
    folder = copy_of(head, tmp_path / "mine")
    with pytest.raises(package.ConnectionError, match="nothing-here.*gpuemu daemon certs"):
        join(head, token_file=tmp_path / "nothing-here")
    (folder / "token").chmod(0o644)
    with pytest.raises(package.ConnectionError, match="others may use .*chmod go="):
        join(head, token_file=folder / "token")
    (folder / "token").chmod(0o600)
    (folder / "ca.pem").unlink()
    with pytest.raises(package.ConnectionError, match="ca.pem: No such file"):
        join(head, token_file=folder / "token")
    other = head.make_certs(tmp_path / "strange")
    with pytest.raises(package.ConnectionError, match="the certificate of 127.0.0.1:.* does not fit ca.pem"):
        join(head, token_file=other / "token")
    shutil.copy(head.certs / "ca.pem", other / "ca.pem")
    with pytest.raises(package.ConnectionError, match="refused the certificate .*worker.pem"):
        join(head, token_file=other / "token")
    with pytest.raises(package.ConnectionError, match="daemon.listen"):
        join(head, port=1)
    monkeypatch.delenv("GPUEMU_TOKEN_FILE", raising=False)
    with pytest.raises(package.ConnectionError, match="without token_file"):
        program.connect(host="127.0.0.1", port=head.port)
    for wrong in ({"port": None}, {"port": 0}, {"port": 70_000}, {"address": "/tmp/x.sock"}, {"start": True}):
        with pytest.raises(ValueError):
            join(head, **wrong)
    with pytest.raises(ValueError, match="GPUEMU_TOKEN_FILE"):
        program.connect(token_file=folder / "token")
    with pytest.raises(TypeError, match="host"):
        join(head, host=5)


def test_a_client_behind_tcp_gets_at_no_files_and_no_other_session(head):
    """Its token is that of workers: it must not run what the daemon's user may run."""
    client = network.address("127.0.0.1", head.port, head.certs / "token").client()
    assert client.ping()["protocol_version"] == 1
    client.open_session("alone")
    for refused in (client.status, client.sessions, client.top, client.trace, lambda: client.request("Shutdown"),
                    lambda: client.request("Ping", project="/etc/gpuemu.toml"), lambda: client.close_session("other"),
                    lambda: client.request("RunTests", config=None), lambda: client.request("StorageBackup", path="/tmp/never")):
        with pytest.raises(package.ClientError):
            refused()
    assert client.tape_status()["total"] == 0
    assert head.home.daemon_pid() is not None
    client.close_session()
    client.close()


def raw(head, first):
    context = ssl.create_default_context(cafile=head.certs / "ca.pem")
    context.load_cert_chain(head.certs / "worker.pem", head.certs / "worker.key")
    made = context.wrap_socket(socket.create_connection(("127.0.0.1", head.port), 20), server_hostname="127.0.0.1")
    made.sendall(struct.pack("<I", len(first)) + first)
    return made


def test_a_client_without_a_token_is_hung_up_on(head):
    with raw(head, b'{"type": "Ping"}') as silent:
        length = struct.unpack("<I", silent.recv(4))[0]
        while length:
            length -= len(silent.recv(length))
        assert silent.recv(1) == b""  # Within the time-out of the socket.
    with raw(head, b'{"type": "Ping"}') as early:
        assert b"OpenSession of a client" in early.recv(4096)
    with raw(head, b'{"type": "OpenSession", "name": "x"}') as early:
        assert b"OpenSession has no token" in early.recv(4096)
    with raw(head, b'{"type": "Ping"') as broken:
        assert b"InvalidRequest" in broken.recv(4096)


def test_a_daemon_that_dies_is_a_connection_error_at_the_next_use(head):
    join(head)
    kept = program.ones(3) * 2.0
    os.kill(head.home.daemon_pid(), signal.SIGKILL)
    wait_until(lambda: head.home.daemon_pid() is None)
    with pytest.raises(package.ConnectionError):
        kept.numpy()
    head.home.start()
    join(head)
    assert (program.ones(3) * 2.0).numpy().tolist() == [2.0] * 3


def test_a_daemon_with_clients_behind_tcp_stops_at_once(head):
    join(head)
    pid = head.home.daemon_pid()
    os.kill(pid, signal.SIGTERM)
    wait_until(lambda: head.home.daemon_pid() is None)
    head.home.start()
