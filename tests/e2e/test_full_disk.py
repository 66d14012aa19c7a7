"""A disk that fills up while results are stored: an error that says so, and nothing acknowledged is lost."""
import random
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
    numbers = random.Random(1)  # What compresses leaves room once the log is gone.
    large = tensor([numbers.random() for _ in range(MEBIBYTE)])
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


def test_a_limit_on_the_size_of_files_is_named_as_a_full_disk_is(new_home):
    own = new_home(client_project())
    end = subprocess.run(["sh", "-c", f"ulimit -f 500; exec {BIN}/gpuemu-daemon"], env=own.env, cwd=own.project,
                         timeout=60, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert end.returncode == 3, (end.returncode, end.stderr)
    assert "no space for the database" in end.stderr and "File too large" in end.stderr, end.stderr


def test_a_disk_without_a_free_byte_is_named_before_the_database_is_touched(new_home):
    own = new_home(client_project())
    (own.home / "db").mkdir()
    mount = f"mount -t tmpfs -o size=64m none {own.home}/db"
    fill = f"cat /dev/zero >> {own.home}/db/fill 2> /dev/null; test $(stat -f -c %a {own.home}/db) = 0"
    unshare = ["unshare", "--user", "--map-root-user", "--mount", "--kill-child", "sh", "-c"]
    if not shutil.which("unshare") or subprocess.run([*unshare, mount], capture_output=True).returncode != 0:
        pytest.skip("no mount namespaces here: a full disk cannot be played")

    def in_namespace(commands):
        return subprocess.run([*unshare, f"{mount} && {commands}"], env=own.env, cwd=own.project, timeout=120,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True)

    def check(end):
        assert end.returncode == 3, (end.returncode, end.stdout, end.stderr)
        assert "no space for the database" in end.stderr and str(own.home / "db") in end.stderr, end.stderr
        assert "GPUEMU_DB" in end.stderr and "Assertion" not in end.stderr, end.stderr

    check(in_namespace(f"{fill} && exec {BIN}/gpuemu-daemon"))
    check(in_namespace(f"{fill} && exec {BIN}/gpuemu failures"))
    # One that fills up under a daemon: it answers and ends well, the next refuses until there is room.
    start, stop = f"{BIN}/gpuemu daemon start --background", f"{BIN}/gpuemu daemon stop"
    both = in_namespace(f"{start} && {fill} && {BIN}/gpuemu failures && {stop} && echo answered; "
                        f"{fill} && timeout 60 {BIN}/gpuemu-daemon; echo refused with $?; rm {own.home}/db/fill; {start} && {stop} && echo opened")
    told = [line for line in both.stdout.splitlines() if line.split()[0] in ("answered", "refused", "opened")]
    assert told == ["answered", "refused with 3", "opened"], (both.stdout, both.stderr)
    assert "no space for the database" in both.stderr and "Assertion" not in both.stderr, both.stderr
