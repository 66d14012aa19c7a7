"""Damage to the database, and a database that goes away under a running daemon: it is said, counted, and nothing is
thrown away."""
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import time

import pytest

from conftest import BIN
from projects import SCALE_PTX, THREE, client_project, kernel_op
from wire_client import tensor

CASES = 12


@pytest.fixture
def own(new_home):
    """An installation with CASES failures, whose daemon was killed a second after the last."""
    own = new_home({"gpuemu.toml": kernel_op("twice", "thrice.ptx"), "thrice.ptx": SCALE_PTX.replace("FACTOR", THREE),
                    "ref_twice.py": "def reference(x):\n    return 2.0 * x\n"})
    assert own.run("test", "--cases", CASES, "--seed", "1").returncode == 1
    time.sleep(1)
    kill(own)
    return own


def kill(own):
    os.kill(own.daemon_pid(), signal.SIGKILL)
    assert not own.leaked()


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def newest(folder, pattern):
    return max(folder.glob(pattern), key=lambda path: path.stat().st_mtime)


def flip(path, at):
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(bytes(data))


def flip_log(share):
    def change(folder):
        log = max(folder.glob("*.log"), key=lambda path: path.stat().st_size)
        flip(log, int(log.stat().st_size * share))
    return change


def cut(pattern, count):
    def change(folder):
        path = newest(folder, pattern)
        path.write_bytes(path.read_bytes()[:-count])
    return change


def zero_page(folder):
    log = max(folder.glob("*.log"), key=lambda path: path.stat().st_size)
    data = bytearray(log.read_bytes())
    middle = len(data) // 2
    data[middle:middle + 1024] = bytes(1024)
    log.write_bytes(bytes(data))


def remove(pattern):
    def change(folder):
        max(folder.glob(pattern), key=lambda path: path.stat().st_size).unlink()
    return change


DAMAGE = {"bit at the start of the log": flip_log(0.01), "bit in the middle of the log": flip_log(0.5),
          "bit at the end of the log": flip_log(0.999), "zeros in the log": zero_page,
          "log cut by 20 bytes": cut("*.log", 20), "log gone": remove("*.log"),
          "manifest cut by 20 bytes": cut("MANIFEST-*", 20), "manifest gone": remove("MANIFEST-*"),
          "bit in the manifest": lambda folder: flip(newest(folder, "MANIFEST-*"), 100),
          "CURRENT gone": remove("CURRENT"), "CURRENT cut": cut("CURRENT", 3)}
READERS = (["failures"], ["report"], ["status"], ["reproduce", "1"], ["minimize", "1"], ["explain", "1"], ["export", "1"], ["ci"], ["coverage"],
           ["test"], ["fuzz"], ["lint"], ["calibrate", "twice"], ["baseline", "list"], ["diff", "--baseline", "main"], ["artifacts"], ["projects"],
           ["daemon", "status"])


@pytest.mark.parametrize("damage", DAMAGE)
def test_damage_is_said_and_counted_and_the_files_stay(own, damage):
    folder = own.home / "db"
    DAMAGE[damage](folder)
    before = contents(folder)
    readers = READERS if damage.startswith("bit in the middle") else READERS[:1]
    for command in readers:
        result = own.run(*command)
        assert result.returncode == 3, (command, result.stdout, result.stderr)
        assert f"database {folder} is damaged: " in result.stderr, (command, result.stderr)
        lost, total = map(int, re.search(r"(\d+) of (\d+) records cannot be read", result.stderr).groups())
        assert total >= CASES, result.stderr
        assert 0 < lost <= total or "end of the log" in damage or "cut by 20" in damage, result.stderr
    verified = json.loads(own.run("storage", "verify", "--format", "json").stdout)
    assert verified["lost"] == lost and sum(verified["expected"].values()) == total, (verified, result.stderr)
    kept = json.loads(own.run("storage", "repair", "--dry-run", "--format", "json").stdout)
    # Tables that no manifest lists are found when it is repaired.
    assert kept["lost"] == (lost if "log" in damage else 0), (kept, result.stderr)
    assert contents(folder) == before, "a damaged database is left as it is"
    assert "is damaged: " in (own.socket.parent / "daemon.log").read_text()


def test_a_table_that_was_cut_or_removed_is_damage(own):
    folder = own.home / "db"
    own.start()  # The log becomes tables.
    kill(own)
    table = max(folder.glob("*.sst"), key=lambda path: path.stat().st_size)
    content = table.read_bytes()
    for change in (lambda: table.write_bytes(content[:-20]), table.unlink):
        change()
        before = contents(folder)
        result = own.run("failures")
        assert result.returncode == 3 and "is damaged: " in result.stderr and table.stem in result.stderr, result.stderr
        assert contents(folder) == before


def test_a_torn_end_that_nobody_was_told_of_is_no_damage(own):
    log = max((own.home / "db").glob("*.log"), key=lambda path: path.stat().st_size)
    with open(log, "ab") as end:
        end.write(struct.pack("<IHB", 0x12345678, 1000, 1) + bytes(20))  # A record that stops in its middle.
    assert own.run("failures").stdout.count("ToleranceExceeded") >= CASES - 1


def test_a_ledger_that_is_gone_is_noted_and_made_anew(own):
    ledger = own.home / "db" / "LEDGER"
    ledger.unlink()
    assert own.run("failures").returncode in (0, 1)
    assert ledger.exists()
    assert "LEDGER: missing" in (own.socket.parent / "daemon.log").read_text()


@pytest.mark.slow
def test_kills_at_any_moment_are_no_damage(own):
    """Ten kills while results are stored and the database is opened: what was told is there each time."""
    told = 1
    for number in range(10):
        start = subprocess.Popen([BIN / "gpuemu", "test", "--cases", "2000", "--seed", str(number)], cwd=own.project,
                                 env=own.env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(0.05 + 0.1 * number)
        if pid := own.daemon_pid():
            os.kill(pid, signal.SIGKILL)
        start.kill()
        start.wait()
        assert not own.leaked()
        listed = own.run("failures", "--limit", "10000", "--format", "json")
        assert listed.returncode in (0, 1), listed.stderr
        count = listed.stdout.count('"repro_info":{')
        assert count >= told
        told = count
        kill(own)


@pytest.fixture
def serving(new_home):
    own = new_home(client_project())
    own.start()
    return own


def submit(own, seed):
    x = tensor([1.0, 2.0])
    return own.ask("SubmitOutput", op_name="scale", inputs={"x": x}, output=x, seed=seed)


# The daemon may write a file with the ending .new and rename it meanwhile.
def delete(folder):
    shutil.rmtree(folder.rename(folder.with_suffix(".aside")), ignore_errors=True)


def replace(folder):
    aside = folder.rename(folder.with_suffix(".aside"))
    shutil.copytree(aside, folder, ignore=shutil.ignore_patterns("*.new"))


def empty(folder):
    for path in folder.iterdir():
        path.unlink(missing_ok=True)


@pytest.mark.parametrize("change", [delete, replace, empty])
def test_a_database_that_goes_away_acknowledges_nothing_more(serving, change):
    own, folder = serving, serving.home / "db"
    assert submit(own, 1)["type"] == "SubmitResult"
    pid = own.daemon_pid()
    change(folder)
    for seed in (2, 3):
        reply = submit(own, seed)
        assert reply["type"] == "Error" and str(folder) in reply["message"], reply
        assert "deleted or replaced" in reply["message"]
    fuzz = own.ask("FuzzOp", op_name="tripled", config={"iterations": 20, "seed": 1}, fail_fast=False)
    assert fuzz["type"] == "Error" and "deleted or replaced" in fuzz["message"], fuzz
    listed = own.run("failures")
    assert listed.returncode == 3 and "deleted or replaced" in listed.stderr, listed.stderr
    told = own.run("status")
    assert "running" in told.stdout and "deleted or replaced" in told.stderr, told.stdout + told.stderr
    assert own.ask("Ping")["type"] == "Pong" and own.daemon_pid() == pid
    own.stop()
    shutil.rmtree(folder, ignore_errors=True)
    own.start()
    assert submit(own, 4)["type"] == "SubmitResult"
    assert f"database folder {folder} is gone" in (own.socket.parent / "daemon.log").read_text()


def test_a_folder_that_is_put_back_is_used_again(serving):
    own, folder = serving, serving.home / "db"
    assert submit(own, 1)["type"] == "SubmitResult"
    folder.rename(folder.with_suffix(".aside"))
    assert submit(own, 2)["type"] == "Error"
    folder.with_suffix(".aside").rename(folder)
    deadline = time.monotonic() + 10
    while (reply := submit(own, 3))["type"] != "SubmitResult":
        assert time.monotonic() < deadline, reply
        time.sleep(0.1)
    own.stop()
    own.start()
    assert [own.ask("GetResult", seed=seed)["type"] for seed in (1, 3)] == ["ValidationResult"] * 2
