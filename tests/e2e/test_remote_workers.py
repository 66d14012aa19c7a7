"""Workers on other machines, over loopback: who may register, what each refusal says, and what bytes of anybody do."""
import json
import os
import random
import shutil
import socket
import ssl
import time

import pytest

from projects import SCALE_PTX, TWO, kernel_op
from remote import Head, Proxy, connected, free_port, receive, registration, send

FILES = {"gpuemu.toml": '[runtime]\nbackend = "emulator"\nworkers = 1\n' + kernel_op("twice", "scale.ptx"),
         "scale.ptx": SCALE_PTX.replace("FACTOR", TWO), "ref_twice.py": "def reference(x):\n    return 2 * x\n"}


@pytest.fixture
def head(kernel_project, tmp_path):
    made = Head(kernel_project(FILES), tmp_path)
    yield made
    made.close()


def test_a_registered_worker_serves_cases_and_is_listed(head):
    head.listen().worker("w1").wait_for("w1 serves")
    tested = head.home.run("test", "twice", "--cases", "20")
    assert tested.returncode == 0, tested.stdout + tested.stderr
    info = head.listed()["w1"]
    assert info["host"] == socket.gethostname()[:64] and info["state"] == "idle" and info["attempts"] > 0 and info["lost"] == 0
    assert info["device"]["backend"] == "emulator"
    status = json.loads(head.home.run("status", "--format", "json").stdout)
    assert status["remote_workers"][0]["worker_id"] == "w1"
    shown = head.home.run("status").stdout
    assert "w1" in shown and "idle" in shown
    assert "w1" in head.home.run("devices").stdout
    top = json.loads(head.home.run("top", "--once", "--format", "json").stdout)
    row = next(one for one in top["devices"] if one["worker_id"] == "w1")
    assert row["state"] == "idle" and row["attempts"] == info["attempts"] and row["host"] == info["host"]
    assert "w1" in head.home.run("top", "--once").stdout
    assert "remote_workers" in head.home.ask("Ping")["capabilities"]


def test_nothing_listens_without_the_table(head):
    head.home.start()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", head.port)).close()


@pytest.mark.parametrize("changes", [{"address": None}, {"ca": None}, {"cert": None}, {"key": None}, {"token_file": None},
                                     {"address": "tcp://127.0.0.1:9"}, {"address": "127.0.0.1:9"}, {"address": "tls+tcp://127.0.0.1"},
                                     {"address": "tls+tcp://127.0.0.1:99999"}])
def test_an_incomplete_table_is_a_configuration_error(head, changes):
    config = head.home.project / "gpuemu.toml"
    config.write_text(config.read_text() + head.settings(**changes))
    started = head.home.run("daemon", "start", "--background")
    assert started.returncode == 2 and "daemon.listen" in started.stderr
    key = next(iter(changes))
    assert ("tls+tcp://HOST:PORT" if key == "address" else key) in started.stderr


@pytest.mark.parametrize("key, file, why", [("cert", "/nowhere/daemon.pem", "No such file or directory"), ("key", "worker.key", "is not the key of the certificate")])
def test_files_that_do_not_serve_are_named_with_what_is_wrong(head, key, file, why):
    config = head.home.project / "gpuemu.toml"
    config.write_text(config.read_text() + head.settings(**{key: head.certs / file}))
    started = head.home.run("daemon", "start", "--background")
    assert started.returncode in (2, 3) and why in started.stderr + head.log(), started.stderr


@pytest.mark.parametrize("name", ["daemon.key", "token"])
def test_secrets_that_others_may_read_are_refused(head, name):
    (head.certs / name).chmod(0o640)
    config = head.home.project / "gpuemu.toml"
    config.write_text(config.read_text() + head.settings())
    started = head.home.run("daemon", "start", "--background")
    assert started.returncode in (2, 3) and f"others may use {head.certs / name}" in started.stderr + head.log()


def test_secrets_of_a_worker_that_others_may_read_are_refused(head):
    head.listen()
    for option, name in (("token_file", "token"), ("key", "worker.key")):
        copy = head.certs.parent / name
        shutil.copy(head.certs / name, copy)
        copy.chmod(0o644)
        code, text = head.worker(**{option: copy}).ended()
        assert code == 2 and f"--{option.replace('_', '-')}: others may use {copy}" in text


def test_a_wrong_token_is_refused_after_a_second(head, tmp_path):
    head.listen()
    wrong = tmp_path / "wrong"
    wrong.write_text("guess")
    wrong.chmod(0o600)
    begin = time.monotonic()
    code, text = head.worker(token_file=wrong).ended()
    assert (code, text) == (3, f"gpuemu-worker: 127.0.0.1:{head.port} refused this worker: wrong token (--token-file {wrong})")
    assert time.monotonic() - begin > 1
    assert "refused a worker of 127.0.0.1: wrong token" in head.log()
    with connected(head) as connection:
        send(connection, registration(head, token=""))
        assert json.loads(receive(connection))["code"] == "Unauthorized"


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:{}", "127.0.0.1:{}", "tls+tcp://127.0.0.1"])
def test_connections_without_tls_are_not_made(head, address):
    code, text = head.worker(connect=address.format(head.port)).ended()
    assert (code, text) == (2, "gpuemu-worker: expected tls+tcp://HOST:PORT; connections without TLS are not made")


def test_a_daemon_of_another_authority_is_refused(head, tmp_path):
    head.listen()
    other = head.make_certs(tmp_path / "other")
    code, text = head.worker(ca=other / "ca.pem").ended()
    assert (code, text) == (3, f"gpuemu-worker: the certificate of 127.0.0.1:{head.port} is not signed by {other / 'ca.pem'}")


def test_an_expired_daemon_is_refused(head, tmp_path):
    head.certs = head.make_certs(tmp_path / "past", days=-3)
    head.listen()
    code, text = head.worker().ended()
    day = time.strftime("%Y-%m-%d", time.gmtime(time.time() - 3 * 86400))
    assert (code, text) == (3, f"gpuemu-worker: the certificate of 127.0.0.1:{head.port} expired on {day}")


def test_a_daemon_for_another_host_is_refused(head, tmp_path):
    head.certs = head.make_certs(tmp_path / "elsewhere", hosts=["head.example", "10.1.2.3"])
    head.listen()
    code, text = head.worker().ended()
    assert (code, text) == (3, f"gpuemu-worker: the certificate of 127.0.0.1:{head.port} is for head.example, 10.1.2.3")


def test_a_worker_with_a_certificate_of_another_authority_is_refused(head, tmp_path):
    head.listen()
    other = head.make_certs(tmp_path / "other")
    code, text = head.worker(cert=other / "worker.pem", key=other / "worker.key").ended()
    assert (code, text) == (3, f"gpuemu-worker: 127.0.0.1:{head.port} refused the certificate {other / 'worker.pem'}")


def test_an_id_in_use_is_refused_until_its_worker_is_lost(head):
    first = head.listen().worker("same").wait_for("same serves")
    code, text = head.worker("same").ended()
    host = socket.gethostname()[:64]
    assert code == 3 and text.startswith(f"gpuemu-worker: worker 'same' is connected from {host} since ") and text.endswith(" s")
    first.kill()
    head.wait_for("same", lambda one: one["state"] == "lost")
    head.worker("same").wait_for("same serves")


def test_another_version_is_refused(head):
    head.listen()
    own = head.home.ask("Ping")["version"]
    for changes in ({"version": "0.9.9"}, {"worker_protocol": 2}):
        with connected(head) as connection:
            send(connection, registration(head, **changes))
            message = json.loads(receive(connection))
            assert message["type"] == "Error" and own in message["message"]
            assert str(next(iter(changes.values()))) in message["message"]


def test_registration_is_answered(head):
    head.listen()
    with connected(head) as connection:
        send(connection, registration(head))
        assert json.loads(receive(connection)) == {"type": "WorkerAccepted", "heartbeat_ms": 1000, "lost_after_ms": 5000}
        assert receive(connection)[0] == 0  # A heartbeat.
    assert head.home.ask("WorkerRegister", **json.loads(registration(head)))["code"] == "InvalidRequest"


def test_a_cut_connection_is_tried_again(head):
    head.listen()
    proxy = Proxy(head.port)
    worker = head.worker(connect=f"tls+tcp://127.0.0.1:{proxy.port}").wait_for("w1 serves")
    proxy.cut()
    worker.wait_for(f"lost 127.0.0.1:{proxy.port}; trying again in 1 s")
    deadline = time.monotonic() + 20
    while worker.text.count("w1 serves") < 2:
        assert time.monotonic() < deadline, worker.text
        time.sleep(0.05)
    assert head.home.run("test", "twice", "--cases", "8").returncode == 0
    proxy.close()


def test_a_silent_connection_is_lost_on_both_sides(head):
    head.listen()
    proxy = Proxy(head.port)
    worker = head.worker(connect=f"tls+tcp://127.0.0.1:{proxy.port}").wait_for("w1 serves")
    proxy.silent = True
    head.wait_for("w1", lambda one: one["state"] == "lost")
    worker.wait_for("lost 127.0.0.1")
    assert "it was silent for 5000 ms" in head.log()
    proxy.silent = False
    proxy.close()


def test_a_worker_gives_up_after_retry_max(head):
    worker = head.listen().worker(retry_max=2).wait_for("w1 serves")
    head.home.stop()
    code, text = worker.ended()
    assert code == 3 and f"lost 127.0.0.1:{head.port}; trying again in 1 s" in text


@pytest.mark.slow
def test_hostile_bytes_cost_nothing(head):
    head.listen().worker().wait_for("w1 serves")
    source = random.Random(1)
    open_ones = []
    for number in range(200):
        one = socket.create_connection(("127.0.0.1", head.port), timeout=10)
        if number % 4 == 1:
            one.sendall(source.randbytes(source.randrange(1, 5000)))
        elif number % 4 == 2:
            one.sendall(b"GET / HTTP/1.1\r\n\r\n")
        elif number % 4 == 3:  # The beginning of a handshake.
            hello = ssl.MemoryBIO()
            half = ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), hello, server_hostname="localhost")
            with pytest.raises(ssl.SSLWantReadError):
                half.do_handshake()
            one.sendall(hello.read()[:source.randrange(1, 300)])
        open_ones.append(one)
    assert head.home.run("test", "twice", "--cases", "8").returncode == 0
    head.worker("w2").wait_for("w2 serves")
    for one in open_ones:
        one.settimeout(15)
        try:
            while one.recv(4096):
                pass
        except ConnectionError:
            pass
        one.close()
    refused = [line for line in head.log().splitlines() if "refused a connection" in line]
    assert len(refused) == 1, refused


@pytest.mark.parametrize("bytes_sent", [b"", b"\0", b"{}", b'{"type":"Ping"}', b"\xff" * 200, b'{"type":"WorkerRegister"}'])
def test_wrong_first_messages_are_answered(head, bytes_sent):
    head.listen()
    with connected(head) as connection:
        send(connection, bytes_sent)
        assert json.loads(receive(connection))["type"] == "Error"
        with pytest.raises(EOFError):
            receive(connection)
    assert head.home.ask("Ping")["type"] == "Pong"


def test_a_registered_worker_that_sends_anything_is_lost_alone(head):
    head.listen()
    source = random.Random(2)
    for message in (b"", b"\x07", b"\xff" * 40, source.randbytes(300)):
        with connected(head) as connection:
            send(connection, registration(head))
            receive(connection)
            send(connection, message)
            with pytest.raises((EOFError, ConnectionError)):
                while True:
                    receive(connection)
    with connected(head) as connection:  # A message of 4 GiB.
        send(connection, registration(head))
        receive(connection)
        connection.sendall(b"\xff\xff\xff\xff")
        with pytest.raises((EOFError, ConnectionError)):
            while True:
                receive(connection)
    assert head.home.run("test", "twice", "--cases", "4").returncode == 0


def test_no_daemon_is_tried_again(head):
    code, text = head.worker(connect=f"tls+tcp://127.0.0.1:{free_port()}", retry_max=1).ended()
    assert code == 3 and "Connection refused; trying again in 1 s" in text
    assert os.getpid()
