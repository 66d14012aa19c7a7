"""End-to-end tests: the real binaries, a private home, a real socket and database."""
import os
import pathlib
import shutil
import signal
import subprocess
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("GPUEMU_BIN", ROOT / "build/release/bin"))


class Gpuemu:
    """One private installation: home folder, socket, database, project folder."""

    def __init__(self, home: pathlib.Path, project: pathlib.Path):
        self.home, self.project = home, project
        self.env = {
            **os.environ,
            "HOME": str(home),
            "GPUEMU_SOCKET": str(home / "s" / "gpuemu.sock"),
            "GPUEMU_DB": str(home / "db"),
            "PATH": f"{BIN}:{os.environ['PATH']}",
        }

    def run(self, *args, timeout=300, env=None):
        return subprocess.run([str(BIN / "gpuemu"), *map(str, args)], cwd=self.project, text=True,
                              env={**self.env, **(env or {})}, timeout=timeout,
                              stdin=subprocess.DEVNULL, capture_output=True)

    def daemon_pid(self):
        """Process number of the daemon that serves this home, found by its environment."""
        marker = f"GPUEMU_DB={self.env['GPUEMU_DB']}".encode()
        for proc in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                name = (proc / "comm").read_text().strip()
                if name.startswith("gpuemu-daemon") and marker in (proc / "environ").read_bytes().split(b"\0"):
                    return int(proc.name)
            except OSError:
                continue
        return None

    def children(self, pid):
        out = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True).stdout
        return [int(line) for line in out.split()]

    def stop(self):
        self.run("daemon", "stop", timeout=60)
        deadline = time.monotonic() + 10
        while (pid := self.daemon_pid()) and time.monotonic() < deadline:
            time.sleep(0.05)
        if pid:
            os.kill(pid, signal.SIGKILL)


@pytest.fixture
def gpuemu(tmp_path):
    """A private installation whose project is a copy of examples/."""
    project = tmp_path / "project"
    shutil.copytree(ROOT / "examples", project)
    home = tmp_path / "home"
    home.mkdir()
    instance = Gpuemu(home, project)
    yield instance
    instance.stop()
