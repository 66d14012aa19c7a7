"""A daemon that listens for remote workers, and workers for the tests."""
import contextlib
import json
import os
import socket
import ssl
import struct
import subprocess
import threading
import time

from conftest import BIN


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Worker:
    """A gpuemu-worker --connect; its standard error is read as it comes."""

    def __init__(self, head, name, **changes):
        words = {"connect": f"tls+tcp://127.0.0.1:{head.port}", "device": "0", "worker-id": name, "backend": "emulator",
                 "token-file": head.certs / "token", "ca": head.certs / "ca.pem", "cert": head.certs / "worker.pem",
                 "key": head.certs / "worker.key"}
        words.update({key.replace("_", "-"): value for key, value in changes.items()})
        command = [str(BIN / "gpuemu-worker")]
        for key, value in words.items():
            if value is not None:
                command += [f"--{key}", str(value)]
        self.process = subprocess.Popen(command, env=head.home.env, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.lines = []
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stderr:
            self.lines.append(line.rstrip("\n"))

    @property
    def text(self):
        return "\n".join(self.lines)

    def wait_for(self, words, seconds=30):
        deadline = time.monotonic() + seconds
        while words not in self.text:
            assert time.monotonic() < deadline and self.process.poll() is None, self.text
            time.sleep(0.02)
        return self

    def ended(self, seconds=30):
        """Exit code and what it said."""
        code = self.process.wait(seconds)
        self.reader.join()
        return code, self.text

    def kill(self):
        self.process.kill()
        self.process.wait()


class Head:
    """An installation with [daemon.listen] on loopback."""

    def __init__(self, home, folder, hosts=("127.0.0.1", "localhost"), days=30):
        self.home, self.certs, self.port = home, folder / "certs", free_port()
        self.workers = []
        self.make_certs(self.certs, hosts, days)

    def make_certs(self, folder, hosts=("127.0.0.1", "localhost"), days=30):
        words = [word for host in hosts for word in ("--host", host)]
        made = self.home.run("daemon", "certs", folder, *words, "--days", days)
        assert made.returncode == 0, made.stderr
        return folder

    def settings(self, **changes):
        values = {"address": f"tls+tcp://127.0.0.1:{self.port}", "ca": self.certs / "ca.pem", "cert": self.certs / "daemon.pem",
                  "key": self.certs / "daemon.key", "token_file": self.certs / "token", **changes}
        return "\n[daemon.listen]\n" + "".join(f'{key} = "{value}"\n' for key, value in values.items() if value is not None)

    def listen(self):
        config = self.home.project / "gpuemu.toml"
        config.write_text(config.read_text() + self.settings())
        self.home.start()
        return self

    def worker(self, name="w1", **changes):
        self.workers.append(Worker(self, name, **changes))
        return self.workers[-1]

    def listed(self):
        """Remote workers by name, as `gpuemu devices` lists them."""
        shown = self.home.run("devices", "--format", "json")
        assert shown.returncode == 0, shown.stderr
        return {one["worker_id"]: one for one in json.loads(shown.stdout).get("remote_workers", [])}

    def wait_for(self, name, test, seconds=30):
        deadline = time.monotonic() + seconds
        while not (name in (listed := self.listed()) and test(listed[name])):
            assert time.monotonic() < deadline, listed
            time.sleep(0.05)
        return listed[name]

    def log(self):
        return (self.home.socket.parent / "daemon.log").read_text()

    def close(self):
        for worker in self.workers:
            worker.kill()


@contextlib.contextmanager
def connected(head):
    """A TLS connection with the worker's certificate, for messages by hand."""
    context = ssl.create_default_context(cafile=head.certs / "ca.pem")
    context.load_cert_chain(head.certs / "worker.pem", head.certs / "worker.key")
    with socket.create_connection(("127.0.0.1", head.port), timeout=20) as raw, context.wrap_socket(raw, server_hostname="127.0.0.1") as wrapped:
        yield wrapped


def send(connection, message):
    connection.sendall(struct.pack("<I", len(message)) + message)


def receive(connection):
    def exactly(count):
        data = b""
        while len(data) < count:
            part = connection.recv(count - len(data))
            if not part:
                raise EOFError
            data += part
        return data

    return exactly(struct.unpack("<I", exactly(4))[0])


def registration(head, **changes):
    version = head.home.ask("Ping")["version"]
    request = {"type": "WorkerRegister", "worker_id": "by-hand", "version": version, "worker_protocol": 1, "hostname": "h", "pid": os.getpid(),
               "device": {"name": "d", "backend": "emulator", "architecture": "sm_80"}, "token": (head.certs / "token").read_text().strip()}
    return json.dumps({**request, **changes}).encode()


class Proxy:
    """Passes bytes between workers and the daemon until it is cut, and again once it is mended."""

    def __init__(self, port):
        self.target, self.listener = port, socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.pairs, self.silent = [], False
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                near, _ = self.listener.accept()
                far = socket.create_connection(("127.0.0.1", self.target))
                self.pairs.append((near, far))
                for pair in ((near, far), (far, near)):
                    threading.Thread(target=self.carry, args=pair, daemon=True).start()

    def carry(self, source, target):
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                while self.silent:
                    time.sleep(0.05)
                target.sendall(data)
        for one in (source, target):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def cut(self):
        for near, far in self.pairs:
            for one in (near, far):
                with contextlib.suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)
        self.pairs.clear()

    def close(self):
        self.listener.close()
        self.cut()
