"""End-to-end tests: the real binaries, a private home, a real socket and database."""
import fcntl
import os
import pathlib
import pty
import shutil
import signal
import struct
import subprocess
import tempfile
import termios
import time

import pytest

from wire_client import WireClient

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("GPUEMU_BIN", ROOT / "build/release/bin"))


def cuda_tool(name):
    """The path of a program of the CUDA toolkit; None where there is none."""
    home = pathlib.Path(os.environ.get("CUDA_HOME") or "/nowhere")
    candidates = [home / "bin" / name, home / "nvidia/cu13/bin" / name, pathlib.Path(shutil.which(name) or "/nowhere"),
                  pathlib.Path("/usr/local/cuda/bin") / name, ROOT / "build/cuda/nvidia/cu13/bin" / name]
    return next((str(path) for path in candidates if path.is_file()), None)


def parent_of(pid):
    """0 when the process is gone or a zombie."""
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        return 0 if fields[0] == b"Z" else int(fields[1])
    except (OSError, IndexError):
        return 0


def read_all(terminal):
    """Until the program at its other end closes it."""
    drawn = b""
    try:
        while part := os.read(terminal, 1 << 12):
            drawn += part
    except OSError:
        pass  # What Linux answers when the last writer is gone.
    os.close(terminal)
    return drawn


class Gpuemu:
    """One private installation: home folder, socket, database, project folder."""

    def __init__(self, home: pathlib.Path, project: pathlib.Path):
        self.home, self.project = home, project
        self.socket = home / "s" / "gpuemu.sock"
        self.marker = f"GPUEMU_DB={home / 'db'}".encode()
        self.env = {
            **os.environ,
            "HOME": str(home),
            "GPUEMU_SOCKET": str(self.socket),
            "GPUEMU_DB": str(home / "db"),
            "PATH": f"{BIN}:{os.environ['PATH']}",
        }

    def run(self, *args, timeout=300, env=None):
        return subprocess.run([str(BIN / "gpuemu"), *map(str, args)], cwd=self.project, text=True,
                              env={**self.env, **(env or {})}, timeout=timeout,
                              stdin=subprocess.DEVNULL, capture_output=True)

    def on_terminal(self, *args, columns=80, timeout=300, env=None):
        """As run(), with standard output on a terminal."""
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        command = [str(BIN / "gpuemu"), *map(str, args)]
        running = subprocess.Popen(command, cwd=self.project, env={**self.env, "TERM": "xterm", "NO_COLOR": "", **(env or {})},
                                   stdin=subprocess.DEVNULL, stdout=theirs, stderr=subprocess.DEVNULL)
        os.close(theirs)
        text = read_all(ours).decode().replace("\r\n", "\n")
        return subprocess.CompletedProcess(command, running.wait(timeout=timeout), text, "")

    def start(self):
        """The daemon's process number."""
        result = self.run("daemon", "start", "--background", timeout=60)
        assert result.returncode == 0, result.stderr
        return self.daemon_pid()

    def client(self, timeout=60):
        return WireClient(self.socket, timeout)

    def ask(self, request, timeout=60, **members):
        with self.client(timeout) as client:
            return client.ask(request, **members)

    def processes(self):
        """Every process started for this home (daemon, workers, Python, scripts), by environment."""
        found = []
        for proc in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if self.marker in (proc / "environ").read_bytes().split(b"\0"):
                    found.append(int(proc.name))
            except OSError:
                continue
        return [pid for pid in found if parent_of(pid)]

    def daemon_pid(self):
        """Process number of the daemon that serves this home."""
        for pid in self.processes():
            try:
                if pathlib.Path(f"/proc/{pid}/comm").read_text().startswith("gpuemu-daemon"):
                    return pid
            except OSError:
                continue
        return None

    def children(self, pid):
        return [child for child in self.processes() if parent_of(child) == pid]

    def stop(self):
        """By `gpuemu daemon stop`; a daemon that does not end in time is killed."""
        try:
            self.run("daemon", "stop", timeout=20)
        except subprocess.TimeoutExpired:
            pass
        self.wait_for_end(5)

    def wait_for_end(self, seconds):
        """Kills the daemon when it has not ended by then."""
        deadline = time.monotonic() + seconds
        while (pid := self.daemon_pid()) and time.monotonic() < deadline:
            time.sleep(0.05)
        if pid:
            os.kill(pid, signal.SIGKILL)

    def leaked(self):
        """Processes that outlive a stopped daemon; the kernel gets a moment to end them."""
        deadline = time.monotonic() + 3
        while (left := self.processes()) and time.monotonic() < deadline:
            time.sleep(0.05)
        return left


@pytest.fixture(scope="session")
def compiled(tmp_path_factory):
    """What compilers and disassemblers made, kept for all tests of this process: few are about compiling. Found again by its
    content and the path of its source."""
    return tmp_path_factory.mktemp("compiled")


@pytest.fixture
def gpuemu(tmp_path_factory, compiled):
    """A private installation whose project is a copy of examples/, in the same place for every test."""
    place = tmp_path_factory.getbasetemp() / "installation"
    shutil.rmtree(place, ignore_errors=True)
    project, home = place / "project", place / "home"
    shutil.copytree(ROOT / "examples", project)
    home.mkdir()
    (home / "db.cache").symlink_to(compiled)
    instance = Gpuemu(home, project)
    yield instance
    instance.stop()


@pytest.fixture
def kernel_project(gpuemu):
    """Puts an installation into a project of these files."""

    def make(files):
        gpuemu.project = gpuemu.project.parent / "kernels"
        gpuemu.project.mkdir()
        for name, text in files.items():
            (gpuemu.project / name).write_text(text)
        return gpuemu

    return make


@pytest.fixture(scope="module")
def new_home(compiled):
    """Makes installations that last for the module; each must leave no process behind."""
    made = []

    def make(files):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="gpuemu-e2e-"))
        (folder / "home").mkdir()
        (folder / "home" / "db.cache").symlink_to(compiled)
        (folder / "project").mkdir()
        for name, text in files.items():
            path = folder / "project" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
        made.append(Gpuemu(folder / "home", folder / "project"))
        return made[-1]

    yield make
    left = []
    for instance in made:  # All at once: each takes a moment to let its clients go.
        try:
            instance.ask("Shutdown", timeout=5)
        except OSError:
            pass
    for instance in made:
        instance.wait_for_end(10)
        left += instance.leaked()
        shutil.rmtree(instance.home.parent, ignore_errors=True)
    assert not left, f"processes {left} outlived their daemon"
