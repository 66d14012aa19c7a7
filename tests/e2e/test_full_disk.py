"""A disk that fills up while results are stored: an error that says so, and nothing acknowledged is lost."""
import shutil
import subprocess
import time

import pytest

from conftest import BIN
from projects import client_project
from wire_client import tensor

MEBIBYTE = 1 << 18  # In float32.


@pytest.fixture
def small_disk(new_home):
    """A daemon whose database lies on 64 MiB of its own, in a mount namespace that ends with it."""
    own = new_home(client_project())
    (own.home / "db").mkdir()
    mount = f"mount -t tmpfs -o size=64m none {own.home}/db"
    unshare = ["unshare", "--user", "--map-root-user", "--mount", "--kill-child", "sh", "-c"]
    if not shutil.which("unshare") or subprocess.run([*unshare, mount], capture_output=True).returncode != 0:
        pytest.skip("no mount namespaces here: a full disk cannot be played")
    process = subprocess.Popen([*unshare, f"{mount} && exec {BIN}/gpuemu-daemon"], env=own.env,
                               cwd=own.project, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 20
    while True:
        try:
            assert own.ask("Ping")["type"] == "Pong"
            break
        except OSError:
            assert time.monotonic() < deadline and process.poll() is None, process.stderr.read()
            time.sleep(0.05)
    yield own
    own.stop()
    process.communicate(timeout=20)


def test_a_full_disk_is_named_and_what_was_acknowledged_stays(small_disk):
    large = tensor([1.0] * MEBIBYTE)
    kept, refused = {}, None
    with small_disk.client() as client:
        for seed in range(60):
            reply = client.ask("SubmitOutput", op_name="scale", inputs={"x": large}, output=large, seed=seed)
            if reply["type"] == "Error":
                refused = reply
                break
            kept[seed] = reply["result"]
        assert kept and refused, "64 MiB held 60 results of 1 MiB and their log"
        assert refused["code"] == "InternalError", refused
        assert "no space" in refused["message"].lower() and str(small_disk.home / "db") in refused["message"]
        for seed, result in kept.items():
            assert client.ask("GetResult", seed=seed)["result"] == result
        assert client.ask("Ping")["type"] == "Pong"
        again = client.ask("GetResult", seed=len(kept))
        assert again["type"] == "Error" and again["code"] == "NotFound", "a refused result must not appear"
        fuzz = client.ask("FuzzOp", op_name="tripled", config={"iterations": 2000, "seed": 1}, fail_fast=False)
        assert fuzz["type"] == "Error" and "space" in fuzz["message"].lower(), fuzz
