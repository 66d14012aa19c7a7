"""A damaged database is repaired or replaced by a backup; what can be read is kept, and nothing is lost without a word."""
import json
import os
import shutil
import signal
import subprocess
import time

import pytest

from conftest import BIN
from projects import client_project
from test_storage import CASES, FILES, counts, flip, kill, largest, storage
from wire_client import tensor

EVERYTHING = {"ListResults": "results", "ListFailures": "results", "ListBaselines": "baselines", "ListArtifacts": "artifacts"}


@pytest.fixture
def own(new_home):
    """Records of every kind, some in tables and some in a log; the daemon was killed."""
    # Pruning at the start would read everything, and what is read stays in memory for a while.
    own = new_home({**FILES, "gpuemu.toml": FILES["gpuemu.toml"] + "\n[storage]\nprune_minutes = 0\n"})
    assert own.run("test", "--cases", CASES, "--seed", "1").returncode == 1
    assert own.run("baseline", "save", "kept").returncode == 0
    own.stop()
    assert own.run("test", "--cases", CASES, "--seed", "2").returncode == 1
    assert own.run("lint").returncode in (0, 1)
    own.before = stored(own)
    own.totals = storage(own, "verify")["readable"]
    time.sleep(1.5)  # The ledger may be a second behind.
    kill(own)
    return own


def stored(own):
    """All records, each as JSON text, by listing, but for when metrics were measured again."""
    found = {}
    for request, member in EVERYTHING.items():
        reply = own.ask(request, **({} if request == "ListBaselines" else {"limit": 100000}))
        found[request] = {json.dumps({**one, "last_seen": 0}, sort_keys=True) for one in reply[member]}
    found["Baseline"] = {json.dumps(one, sort_keys=True) for tag in own.ask("ListBaselines")["baselines"]
                         for one in own.ask("GetBaseline", tag=tag["tag"])["results"]}
    return found


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def cut(path):
    os.truncate(path, path.stat().st_size // 2)


FILE_KINDS = {"log": "*.log", "table": "*.sst", "manifest": "MANIFEST-*", "CURRENT": "CURRENT", "options": "OPTIONS-*", "ledger": "LEDGER"}
CHANGES = {"flipped": lambda path: flip(path, 0.4), "cut": cut, "gone": lambda path: path.unlink()}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("kind", [pytest.param(kind, marks=[] if kind == "table" else pytest.mark.slow) for kind in FILE_KINDS])
def test_what_can_be_read_of_a_damaged_database_is_kept(own, kind, change):
    folder = own.home / "db"
    CHANGES[change](largest(folder, FILE_KINDS[kind]))
    damaged = contents(folder)
    found = own.run("storage", "verify", "--format", "json")
    found = json.loads(found.stdout)
    dry = storage(own, "repair", "--dry-run")
    assert contents(folder) == damaged, "looking changes nothing"
    if kind == "options":  # RocksDB does without.
        assert found["state"] == dry["state"] == "whole"
        assert storage(own, "repair")["state"] == "whole"
        assert contents(folder) == damaged, "a whole database is left alone"
        own.start()
        assert stored(own) == own.before
        return
    assert found["state"] == dry["state"] == "damaged" and found["files"], found
    if kind not in ("ledger", "table"):
        said = own.run("failures")
        assert said.returncode == 3 and "gpuemu storage repair keeps the rest" in said.stderr, said.stderr
    report = storage(own, "repair")
    assert report["state"] == "repaired" and report["lost"] == dry["lost"] and report["readable"] == dry["readable"], (report, dry)
    assert all(report["readable"][kind] >= count for kind, count in found["readable"].items()), (report, found)
    assert contents(type(folder)(report["kept_as"])) == damaged, "the damaged folder is kept as it was"
    assert report["kept_as"].startswith(str(folder) + ".damaged-")
    assert sorted(path.name for path in own.home.iterdir() if path.name.startswith("db.") and path.is_dir()) == sorted(
        [os.path.basename(report["kept_as"]), "db.cache"])
    whole = storage(own, "verify")
    assert whole["state"] == "whole" and whole["readable"] == report["readable"], whole
    assert {name: own.totals[name] - count for name, count in whole["readable"].items()} == {
        name: own.totals[name] - count for name, count in report["readable"].items()}
    if kind != "ledger":
        assert report["lost"] == sum(own.totals.values()) - sum(whole["readable"].values()), report
    own.start()
    after = stored(own)
    for listing, records in after.items():
        assert records <= own.before[listing], f"{listing}: a record that was not there"
    assert len(after["ListFailures"]) == whole["readable"]["failures"]
    assert len(after["ListResults"]) == whole["readable"]["results"]
    if kind in ("manifest", "CURRENT", "ledger"):
        assert after == own.before, "records lie in other files"
    if kind == "table":
        assert report["lost"] > 0
    seed = own.run("failures", "--limit", "1").stdout.split()
    assert not seed or own.run("reproduce", seed[0]).returncode == 0
    assert own.run("test", "--cases", 3, "--seed", "9").returncode == 1
    assert storage(own, "verify")["state"] == "whole"


REPLACED = {"a log by a manifest": ("log", "manifest"), "a log by a table": ("log", "table"), "a table by a log": ("table", "log")}


@pytest.mark.parametrize("replaced", ["a table by another table", "a log by a table",
                                      *(pytest.param(one, marks=pytest.mark.slow) for one in REPLACED if one != "a log by a table")])
def test_a_file_in_the_place_of_another_is_damage(own, replaced):
    """A manifest has the format of a log, and two tables with the same changes are in no database."""
    folder = own.home / "db"
    if replaced == "a table by another table":
        tables = sorted(folder.glob("*.sst"), key=lambda path: path.stat().st_size)
        assert len(tables) > 1, tables
        victim, other = tables[-1], tables[-2]
    else:
        victim, other = (largest(folder, FILE_KINDS[kind]) for kind in REPLACED[replaced])
    victim.write_bytes(other.read_bytes())
    damaged = contents(folder)
    said = own.run("failures")
    assert said.returncode == 3 and victim.stem in said.stderr and "gpuemu storage repair keeps the rest" in said.stderr, said.stderr
    found = own.run("storage", "verify", "--format", "json")
    found = json.loads(found.stdout)
    assert found["state"] == "damaged" and any(victim.stem in one["name"] for one in found["files"]), found
    dry = storage(own, "repair", "--dry-run")
    assert contents(folder) == damaged
    report = storage(own, "repair")
    assert report["state"] == "repaired" and report["lost"] == dry["lost"] > 0, report
    assert all(report["readable"][kind] >= count for kind, count in found["readable"].items()), (report, found)
    assert sum(report["readable"].values()) > 0, "what other files hold is kept"
    assert storage(own, "verify")["state"] == "whole"
    own.start()
    assert all(records <= own.before[listing] for listing, records in stored(own).items()), "a record that was not there"


def test_a_record_of_a_log_that_is_used_again_is_damage_like_others(own):
    """One flipped bit makes such a record of the first one, which RocksDB reads for ever."""
    log = largest(own.home / "db", FILE_KINDS["log"])
    content = bytearray(log.read_bytes())
    assert content[6] in (1, 2)
    content[6] |= 4
    log.write_bytes(bytes(content))
    said = own.run("failures")
    assert said.returncode == 3 and log.stem in said.stderr, said.stderr
    report = storage(own, "repair")
    assert report["state"] == "repaired" and sum(report["readable"].values()) > 0, report
    assert storage(own, "verify")["state"] == "whole"


@pytest.fixture
def several_logs(new_home):
    """A database with several logs, some of whose records are in tables too; the daemon was killed."""
    home = new_home(client_project())
    home.start()
    large, small = tensor([0.5] * 2_000_000), tensor([1.0])
    with home.client() as client:
        for seed in range(1, 13):
            x = large if seed % 2 else small
            reply = client.ask("SubmitOutput", op_name="scale", inputs={"x": x}, output=x, seed=seed, kwargs={})
            assert reply["type"] == "SubmitResult", reply
        home.before = client.ask("ListFailures", limit=100)["results"]
    assert len(home.before) == 12 and len(list((home.home / "db").glob("*.log"))) > 1
    time.sleep(1.5)  # The ledger may be a second behind.
    kill(home)
    return home


@pytest.mark.parametrize("kind", ["table", "log", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("manifest", "CURRENT"))])
def test_a_damaged_database_with_several_logs_is_repaired(several_logs, kind):
    home = several_logs
    flip(largest(home.home / "db", FILE_KINDS[kind]), 0.4)
    said = home.run("status")
    found = home.run("storage", "verify", "--format", "json")
    assert found.returncode == 1 and json.loads(found.stdout)["state"] == "damaged", (found.stdout, found.stderr)
    assert "Assertion" not in said.stderr + found.stderr, said.stderr
    assert storage(home, "repair")["state"] == "repaired" and storage(home, "verify")["state"] == "whole"
    home.start()
    after = home.ask("ListFailures", limit=100)["results"]
    before, seeds = [one["seed"] for one in home.before], [one["seed"] for one in after]
    assert seeds == [seed for seed in before if seed in seeds], "what is left is in its order"
    assert len(seeds) < 12 if kind == "table" else kind == "log" or seeds == before, seeds


def test_a_table_that_is_damaged_while_it_is_served(own):
    own.start()  # The log becomes tables.
    folder = own.home / "db"
    flip(largest(folder, "*.sst"), 0.3)
    replies = [own.ask("ListFailures", limit=100000), own.ask("ListResults", limit=100000), own.ask("GetBaseline", tag="kept")]
    refused = [reply for reply in replies if reply["type"] == "Error"]
    assert refused and len(refused) < len(replies), "a listing is complete or refused"
    for reply in refused:
        assert reply["code"] == "Damaged", reply
        assert reply["message"].startswith(f"database {folder} is damaged: ") and ".sst: " in reply["message"], reply
        assert "records cannot be read (" in reply["message"], reply
        assert reply["message"].endswith("; gpuemu storage repair keeps the rest, gpuemu storage restore puts a backup in place"), reply
    assert own.ask("Ping")["type"] == "Pong", "others go on"
    assert own.ask("DaemonStatus")["damage"] == refused[0]["message"]
    status = own.run("status")
    assert status.returncode == 3 and refused[0]["message"] in status.stderr, status
    assert storage(own, "status", status=3)["damaged"]
    daemon = own.daemon_pid()
    assert storage(own, "repair", "--dry-run")["state"] == "damaged" and own.daemon_pid() == daemon
    report = storage(own, "repair")
    assert report["state"] == "repaired" and report["lost"] > 0
    assert own.daemon_pid() is None
    own.start()
    after = stored(own)
    assert all(records <= own.before[listing] for listing, records in after.items())
    assert own.run("status").returncode == 0


def test_a_whole_database_is_left_alone(own):
    for start in (False, True):
        if start:
            own.start()
        assert storage(own, "repair")["state"] == "whole"
        text = own.run("storage", "repair")
        assert text.returncode == 0 and text.stdout.startswith("whole: "), text
    assert own.daemon_pid(), "the daemon goes on"
    assert stored(own) == own.before


def busy(own):
    """A job that runs for a while."""
    start = subprocess.Popen([BIN / "gpuemu", "test", "right", "--cases", "50000", "--seed", "3"], cwd=own.project, env=own.env,
                             stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not own.daemon_pid() or not own.run("status", "--format", "json").stdout.count('"jobs_running":1'):
        time.sleep(0.05)
        assert start.poll() is None
    return start


def test_a_backup_is_put_in_place(own, tmp_path):
    own.start()
    assert own.run("storage", "backup", tmp_path / "copy").returncode == 0
    storage(own, "prune", "--passing", "--failures")
    refused = own.run("storage", "restore", tmp_path / "copy")
    assert refused.returncode == 2 and "--force" in refused.stderr, refused.stderr
    report = storage(own, "restore", tmp_path / "copy", "--force")
    assert report["state"] == "whole" and report["readable"] == own.totals, report
    assert report["kept_as"].startswith(str(own.home / "db") + ".before-")
    assert own.daemon_pid() is None, "an idle daemon is stopped"
    assert storage(own, "verify")["state"] == "whole"
    own.start()
    assert stored(own) == own.before
    # What was there is a database too.
    own.stop()
    shutil.rmtree(own.home / "db")
    shutil.move(report["kept_as"], own.home / "db")
    assert (counts(own)["passing"], counts(own)["failures"], counts(own)["baselines"]) == (0, 0, 1)


def test_a_backup_is_put_where_there_is_no_database(own, tmp_path):
    assert own.run("storage", "backup", tmp_path / "copy").returncode == 0
    shutil.rmtree(own.home / "db")
    report = storage(own, "restore", tmp_path / "copy")
    assert "kept_as" not in report or not report["kept_as"], report
    own.start()
    assert stored(own) == own.before


def test_what_is_no_whole_backup_is_refused(own, tmp_path):
    assert own.run("storage", "backup", tmp_path / "copy").returncode == 0
    before = contents(own.home / "db")
    (tmp_path / "empty").mkdir()
    for place in (tmp_path / "empty", tmp_path / "nowhere"):
        result = own.run("storage", "restore", place, "--force")
        assert result.returncode == 2 and "holds no database" in result.stderr, result.stderr
    flip(largest(tmp_path / "copy", "*.sst"), 0.4)
    result = own.run("storage", "restore", tmp_path / "copy", "--force")
    assert result.returncode == 3 and "is damaged" in result.stderr, result.stderr
    assert contents(own.home / "db") == before


def test_a_busy_daemon_is_not_stopped(own, tmp_path):
    assert own.run("storage", "backup", tmp_path / "copy").returncode == 0
    start = busy(own)
    daemon = own.daemon_pid()
    result = own.run("storage", "restore", tmp_path / "copy", "--force")
    assert result.returncode == 3 and "busy" in result.stderr, result
    assert own.daemon_pid() == daemon
    start.terminate()
    start.wait(timeout=60)


@pytest.mark.slow
@pytest.mark.parametrize("placed", [False, True])
def test_what_a_killed_repair_left_is_finished_or_removed(own, placed):
    """Killed before the two folders change places, or after that and before the old one has its name."""
    folder, left, kept = own.home / "db", own.home / "db.replacing", own.home / "db.damaged-x"
    shutil.copytree(folder, left)
    ((folder if placed else left) / "REPLACES").write_text(str(kept))
    own.start()
    assert not left.exists() and kept.exists() == placed and not (folder / "REPLACES").exists()
    assert stored(own) == own.before


@pytest.mark.slow
def test_a_killed_repair_leaves_the_old_or_the_new(own):
    folder = own.home / "db"
    flip(largest(folder, "*.log"), 0.4)
    lost = storage(own, "repair", "--dry-run")["readable"]
    original = own.home / "original"
    shutil.copytree(folder, original)
    for number in range(12):
        start = subprocess.Popen([BIN / "gpuemu-daemon", "--repair"], cwd=own.project, env=own.env, stdout=subprocess.DEVNULL)
        time.sleep(0.02 * number)
        start.kill()
        start.wait()
        report = storage(own, "repair")
        assert report["state"] in ("whole", "repaired"), report
        assert storage(own, "verify")["readable"] == lost
        names = [path.name for path in own.home.iterdir() if path.name.startswith("db.") and path.is_dir()]
        assert all(name.startswith("db.damaged-") or name == "db.cache" for name in names), names
        shutil.rmtree(folder)
        shutil.copytree(original, folder)


@pytest.mark.slow
def test_a_killed_backup_is_never_taken_for_a_whole_one(own, tmp_path):
    own.start()
    own.run("test", "right", "--cases", 5000, "--seed", "5")
    before = counts(own)["passing"]
    place, unfinished = tmp_path / "copy", tmp_path / "copy.unfinished"
    caught = 0
    for _ in range(40):
        start = subprocess.Popen([BIN / "gpuemu", "storage", "backup", place], cwd=own.project, env=own.env, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while not unfinished.exists() and start.poll() is None:
            pass
        os.kill(own.daemon_pid(), signal.SIGKILL)
        start.wait(timeout=60)
        caught += unfinished.exists()
        own.start()
        assert not unfinished.exists() and not (own.home / "db.backing-up").exists(), "the next daemon removes what was left"
        assert storage(own, "verify")["state"] == "whole" and counts(own)["passing"] == before
        if place.exists():
            copy = subprocess.run([BIN / "gpuemu", "storage", "verify", "--format", "json"], cwd=own.project, capture_output=True,
                                  env={**own.env, "GPUEMU_DB": str(place), "GPUEMU_SOCKET": str(tmp_path / "none.sock")}, check=True)
            assert json.loads(copy.stdout)["readable"] == storage(own, "verify")["readable"]
            shutil.rmtree(place)
        if caught >= 3:
            break
    assert caught, "no backup was killed in its middle"


@pytest.mark.slow
def test_compacting_gives_bytes_back(own):
    own.start()
    for start in (True, False):
        own.run("test", "right", "--cases", 2000, "--seed", "5")
        if not start:
            own.stop()
        before = storage(own, "status")
        done = storage(own, "compact")
        after = storage(own, "status")
        assert done["type"] == "StorageCompacted" and done["bytes_freed"] > 0, done
        assert after["bytes_on_disk"] < before["bytes_on_disk"] and after["projects"] == before["projects"]
        assert storage(own, "verify")["state"] == "whole"
