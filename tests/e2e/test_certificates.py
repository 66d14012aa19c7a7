"""`gpuemu daemon certs`: files that any TLS library takes, and nothing that others may read."""
import contextlib
import datetime
import socket
import ssl
import stat
import threading

import pytest

FILES = {"ca.pem", "daemon.pem", "daemon.key", "worker.pem", "worker.key", "token"}


def handshake(folder, host, authority=None):
    """What the worker sees when it connects to `host` with the files of `folder`; the error where it is refused."""
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(folder / "daemon.pem", folder / "daemon.key")
    server.load_verify_locations(folder / "ca.pem")
    server.verify_mode = ssl.CERT_REQUIRED
    client = ssl.create_default_context(cafile=(authority or folder) / "ca.pem")
    client.verify_flags |= ssl.VERIFY_X509_STRICT
    client.load_cert_chain(folder / "worker.pem", folder / "worker.key")
    ours, theirs = socket.socketpair()
    seen = {}

    def serve():
        with contextlib.suppress(OSError), server.wrap_socket(theirs, server_side=True) as wrapped:
            seen["worker"] = wrapped.getpeercert()
            wrapped.sendall(b"!")

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        with client.wrap_socket(ours, server_hostname=host) as wrapped:
            wrapped.recv(1)
            seen["daemon"] = wrapped.getpeercert()
    except ssl.SSLCertVerificationError as refused:
        seen["refused"] = refused.verify_message
    finally:
        thread.join()
    return seen


def test_certificates_hold_between_worker_and_daemon(gpuemu, tmp_path):
    folder = tmp_path / "certs"
    made = gpuemu.run("daemon", "certs", folder, "--host", "head.example", "--host", "127.0.0.1", "--days", "30")
    assert made.returncode == 0, made.stderr
    assert {path.name for path in folder.iterdir()} == FILES
    for path in folder.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == (0o644 if path.suffix == ".pem" else 0o600), path
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert len((folder / "token").read_text().strip()) == 64
    for host in ("head.example", "127.0.0.1"):
        seen = handshake(folder, host)
        assert seen.get("worker") and seen.get("daemon"), seen
    left = ssl.cert_time_to_seconds(seen["daemon"]["notAfter"]) - datetime.datetime.now().timestamp()
    assert 29 * 86400 < left < 31 * 86400
    assert "mismatch" in handshake(folder, "other.example")["refused"]


def test_without_hosts_the_machine_itself_is_meant(gpuemu, tmp_path):
    assert gpuemu.run("daemon", "certs", tmp_path / "certs").returncode == 0
    for host in ("localhost", "127.0.0.1", socket.gethostname()):
        assert "daemon" in handshake(tmp_path / "certs", host), host


def test_another_authority_and_expired_certificates_are_refused(gpuemu, tmp_path):
    for name, days in (("one", "5"), ("two", "5"), ("past", "-2")):
        assert gpuemu.run("daemon", "certs", tmp_path / name, "--days", days).returncode == 0
    assert "refused" in handshake(tmp_path / "one", "localhost", authority=tmp_path / "two")
    assert "expired" in handshake(tmp_path / "past", "localhost")["refused"]
    tokens = {(tmp_path / name / "token").read_text() for name in ("one", "two", "past")}
    assert len(tokens) == 3


@pytest.mark.parametrize("name", sorted(FILES))
def test_no_file_is_replaced(gpuemu, tmp_path, name):
    folder = tmp_path / "certs"
    folder.mkdir()
    (folder / name).write_text("mine")
    refused = gpuemu.run("daemon", "certs", folder)
    assert refused.returncode == 2
    assert f"{folder / name} is there already" in refused.stderr
    assert [path.name for path in folder.iterdir()] == [name] and (folder / name).read_text() == "mine"


def test_wrong_words_are_told(gpuemu, tmp_path):
    assert gpuemu.run("daemon", "certs").returncode == 2
    assert gpuemu.run("daemon", "certs", tmp_path / "a", "--days", "40000").returncode == 2
    assert gpuemu.run("daemon", "certs", tmp_path / "a", "--host", "").returncode == 2
    (tmp_path / "file").write_text("")
    refused = gpuemu.run("daemon", "certs", tmp_path / "file" / "below")
    assert refused.returncode == 3 and "cannot make" in refused.stderr
    assert not (tmp_path / "a").exists()
