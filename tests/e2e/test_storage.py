"""What is stored: counted, pruned, verified and copied, with a daemon and without one."""
import json
import os
import re
import shutil
import signal
import subprocess
import time

import pytest

from conftest import BIN, Gpuemu
from projects import SCALE_PTX, THREE, TWO, kernel_op

pytest.importorskip("pynng")
gpuemu = pytest.importorskip("gpuemu")

CASES = 10
# Two ops of one reference: "right" passes, "wrong" fails.
FILES = {"gpuemu.toml": '[project]\nname = "both"\n' + kernel_op("right", "twice.ptx") + kernel_op("wrong", "thrice.ptx"),
         "twice.ptx": SCALE_PTX.replace("FACTOR", TWO), "thrice.ptx": SCALE_PTX.replace("FACTOR", THREE),
         "ref_twice.py": "def reference(x):\n    return 2.0 * x\n"}


@pytest.fixture(scope="module")
def stored(new_home, tmp_path_factory):
    """An installation that has tested its project, and what its folder held once its daemon was killed and once one had stopped."""
    first = new_home(FILES)
    assert first.run("test", "--cases", CASES, "--seed", "1").returncode == 1
    time.sleep(1.1)  # All is older than 0 s, and the ledger knows of it.
    kill(first)
    kept = tmp_path_factory.mktemp("kept")
    sockets = shutil.ignore_patterns("s")
    shutil.copytree(first.home.parent, kept / "killed", ignore=sockets)
    first.start()
    first.stop()
    shutil.copytree(first.home.parent, kept / "stopped", ignore=sockets)
    return first, kept


def copy_of(stored, how):
    """The installation as it was, in the same place: a project is known by its path."""
    first, kept = stored
    first.stop()
    shutil.rmtree(first.home.parent)
    shutil.copytree(kept / how, first.home.parent)
    return Gpuemu(first.home, first.project)


@pytest.fixture
def own(stored):
    """With its daemon."""
    own = copy_of(stored, "stopped")
    own.start()
    return own


@pytest.fixture
def stopped(stored):
    return copy_of(stored, "stopped")


@pytest.fixture
def killed(stored):
    """Its records are in the log of the database, not yet in tables."""
    return copy_of(stored, "killed")


def storage(own, *words, status=0):
    result = own.run("storage", *words, "--format", "json")
    assert result.returncode == status, result.stdout + result.stderr
    return json.loads(result.stdout)


def counts(own):
    reply = storage(own, "status")
    assert reply["type"] == "StorageStatus" and len(reply["projects"]) == 1, reply
    return reply["projects"][0]


def kill(own):
    os.kill(own.daemon_pid(), signal.SIGKILL)
    assert not own.leaked()


def each_way(own):
    """Once with the daemon that runs, once without one."""
    yield "daemon"
    own.stop()
    yield "none"
    assert own.daemon_pid() is None, "a command of `gpuemu storage` started a daemon"


def test_status_counts_what_is_stored(own):
    for way in each_way(own):
        reply = storage(own, "status")
        assert reply["path"] == str(own.home / "db") and reply["schema_version"] == 2 and not reply["damaged"], reply
        files = sum(path.stat().st_size for path in (own.home / "db").iterdir())
        assert files / 2 <= reply["bytes_on_disk"] <= 2 * files, reply
        one, = reply["projects"]
        assert one["name"] == "both" and one["path"] == str(own.project / "gpuemu.toml"), one
        assert (one["passing"], one["failures"], one["baselines"], one["runs"]) == (CASES, CASES, 0, 0), one
        assert one["bytes"] > 0
        assert set(one) == {"id", "name", "path", "passing", "failures", "artifacts", "artifact_history", "baselines", "corpus",
                            "runs", "bytes"}
        if way == "daemon":
            listed = json.loads(own.run("projects", "--format", "json").stdout)["projects"]
            assert [project["bytes"] for project in listed if project["id"] == one["id"]] == [one["bytes"]]
        text = own.run("storage", "status").stdout
        assert f"{CASES} passing results, {CASES} failures" in text and "pruned:   never" in text, text
        assert re.search(r"gpuemu.toml \d+ KiB: (\w+ \d+ KiB, )*failures \d+ KiB, (\w+ \d+ KiB, )*results \d+ KiB$", text, re.M), text


def test_pruning_takes_what_it_is_told_to_and_nothing_else(own):
    assert own.run("baseline", "save", "kept").returncode == 0
    before = counts(own)
    dry = storage(own, "prune", "--passing", "--dry-run")
    assert dry["type"] == "StoragePruned" and dry["dry_run"] and dry["removed"]["passing"] == CASES
    assert counts(own) == before
    done = storage(own, "prune", "--passing")
    assert done == {**dry, "dry_run": False}
    after = counts(own)
    assert (after["passing"], after["failures"], after["baselines"]) == (0, CASES, 1)
    assert 0 < done["bytes_freed"] and after["bytes"] < before["bytes"]
    assert own.run("baseline", "list").stdout.startswith(f"kept: {2 * CASES} results")
    assert storage(own, "verify")["state"] == "whole"
    assert storage(own, "status")["pruned"]["passing"] == CASES
    own.stop()
    assert counts(own) == after


@pytest.mark.parametrize("words, passing, failures", [
    (["--keep", "3"], 3, 3), (["--passing", "--keep", "3"], 3, CASES), (["--failures"], CASES, 0),
    (["--op", "wrong"], CASES, 0), (["--op", "right", "--keep", "4"], 4, CASES), (["--older-than", "1h"], CASES, CASES),
    (["--older-than", "0s", "--keep", "2"], 2, 2), (["--bytes", "0", "--passing"], 0, CASES), (["--bytes", "0"], 0, 0),
    (["--bytes", "1GiB"], CASES, CASES), ([], CASES, CASES)])
def test_the_bounds_of_pruning(stopped, words, passing, failures):
    own = stopped
    before = counts(own)
    dry = storage(own, "prune", *words, "--dry-run")
    assert counts(own) == before
    done = storage(own, "prune", *words)
    assert done["removed"] == dry["removed"]
    assert (done["removed"]["passing"], done["removed"]["failures"]) == (CASES - passing, CASES - failures), done
    after = counts(own)
    assert (after["passing"], after["failures"]) == (passing, failures), after
    assert storage(own, "verify")["state"] == "whole"


def test_the_newest_stay_and_their_inputs(own):
    seeds = [line.split()[0] for line in own.run("failures").stdout.splitlines()]
    assert storage(own, "prune", "--failures", "--keep", "2")["removed"]["failures"] == CASES - 2
    left = [line.split()[0] for line in own.run("failures").stdout.splitlines()]
    assert left == seeds[:2]
    assert own.run("reproduce", left[0]).returncode == 0


def test_bytes_goes_down_on_the_disk(own):
    own.run("test", "right", "--cases", 3000, "--seed", "2")
    own.run("storage", "prune", "--older-than", "100d")  # Writes the log into tables, and compares like with like.
    before = storage(own, "status")["bytes_on_disk"]
    assert storage(own, "prune", "--passing")["removed"]["passing"] > 1000
    assert storage(own, "status")["bytes_on_disk"] < before


@pytest.mark.parametrize("words, said", [(["--older-than", "soon"], "30d"), (["--bytes", "much"], "512MiB"),
                                         (["--keep", "-1"], "keep"), (["--older-than", "99999999999999999999d"], "30d")])
def test_a_bound_that_is_none_is_refused(stopped, words, said):
    own = stopped
    result = own.run("storage", "prune", *words)
    assert result.returncode == 2 and said in result.stderr, result.stderr
    assert counts(own)["passing"] == CASES


def test_another_project_keeps_its_records(own):
    second = own.project.parent / "second"
    shutil.copytree(own.project, second)
    first, own.project = own.project, second
    assert own.run("test", "--cases", 4, "--seed", "1").returncode == 1
    assert storage(own, "prune", "--passing", "--failures")["removed"] == {"passing": 4, "failures": 4, "artifacts": 0, "runs": 0}
    own.project = first
    assert (counts(own)["passing"], counts(own)["failures"]) == (CASES, CASES)
    own.stop()
    for one in storage(own, "status", "--all-projects")["projects"]:
        assert one["passing"] == (CASES if one["path"] == str(first / "gpuemu.toml") else 0), one
    assert storage(own, "prune", "--passing", "--all-projects")["removed"]["passing"] == CASES


def test_pruning_leaves_what_a_running_job_has_stored(own):
    start = subprocess.Popen([BIN / "gpuemu", "test", "right", "--cases", "20000", "--seed", "3"], cwd=own.project, env=own.env,
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    while counts(own)["passing"] < CASES + 100:
        time.sleep(0.02)
    assert storage(own, "prune", "--passing")["removed"]["passing"] == CASES
    start.terminate()
    start.communicate(timeout=60)
    assert counts(own)["passing"] >= 100


def test_ci_runs_in_trends_are_counted_and_pruned(own):
    own.run("ci", "--quick")
    assert counts(own)["runs"] == 1
    assert storage(own, "prune", "--runs", "--keep", "1")["removed"]["runs"] == 0
    assert storage(own, "prune", "--runs")["removed"]["runs"] == 1
    assert counts(own)["runs"] == 0


def test_pruned_artifacts_are_gone(own):
    own.run("lint")
    stored = counts(own)["artifacts"]
    assert stored == 2
    assert storage(own, "prune", "--artifacts", "--keep", "1")["removed"]["artifacts"] == 0
    assert storage(own, "prune", "--artifacts", "--op", "right")["removed"]["artifacts"] == 1
    assert storage(own, "prune", "--artifacts")["removed"]["artifacts"] == 1
    assert counts(own)["artifacts"] == 0


def test_a_killed_pruning_leaves_every_record_whole(own):
    own.run("test", "right", "--cases", 3000, "--seed", "2")
    for number in range(4):
        start = subprocess.Popen([BIN / "gpuemu", "storage", "prune", "--passing", "--keep", str(2000 - 400 * number)],
                                 cwd=own.project, env=own.env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL)
        time.sleep(0.03 * (number + 1))
        if pid := own.daemon_pid():
            os.kill(pid, signal.SIGKILL)
        start.wait(timeout=60)
        report = storage(own, "verify")
        assert report["state"] == "whole", report
        own.start()


def test_verify_reads_everything(own):
    for _ in each_way(own):
        report = storage(own, "verify")
        assert report["type"] == "StorageReport" and report["state"] == "whole" and report["lost"] == 0 and report["files"] == []
        assert report["expected"] == report["readable"]
        assert report["readable"]["results"] == 2 * CASES and report["readable"]["failures"] == CASES
        text = own.run("storage", "verify")
        assert text.returncode == 0 and text.stdout.startswith("whole: "), text.stdout


def test_verify_of_no_database_makes_none(new_home):
    own = new_home(FILES)
    assert storage(own, "verify")["state"] == "whole"
    assert not (own.home / "db").exists()


def flip(path, share):
    data = bytearray(path.read_bytes())
    data[int(len(data) * share)] ^= 0x55
    path.write_bytes(bytes(data))


def largest(folder, pattern):
    return max(folder.glob(pattern), key=lambda path: path.stat().st_size)


DAMAGE = {"log": lambda folder: flip(largest(folder, "*.log"), 0.5), "log cut": lambda folder: os.truncate(largest(folder, "*.log"), 2000),
          "log gone": lambda folder: largest(folder, "*.log").unlink(), "manifest": lambda folder: flip(largest(folder, "MANIFEST-*"), 0.5),
          "CURRENT": lambda folder: (folder / "CURRENT").write_text("MANIFEST-000999\n"), "ledger": lambda folder: flip(folder / "LEDGER", 0.5)}


@pytest.mark.parametrize("damage", DAMAGE)
def test_verify_finds_damage_and_changes_nothing(killed, damage):
    own = killed
    folder = own.home / "db"
    DAMAGE[damage](folder)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    report = storage(own, "verify", status=1)
    assert report["state"] == "damaged", report
    assert report["lost"] > 0 or report["files"], report
    if damage == "log":
        assert report["lost"] > 0 and report["files"][0]["name"].endswith(".log"), report
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    text = own.run("storage", "verify")
    assert text.returncode == 1 and "damaged: " in text.stdout, text.stdout
    if damage != "ledger":
        status = own.run("storage", "status", "--format", "json")
        assert status.returncode == 3 and json.loads(status.stdout)["damaged"], status.stderr


@pytest.mark.parametrize("serving", [False, True])
def test_verify_finds_a_damaged_table(stopped, serving):
    own = stopped
    if serving:
        own.start()
    flip(largest(own.home / "db", "*.sst"), 0.3)
    report = storage(own, "verify", status=1)
    assert any(one["name"].endswith(".sst") for one in report["files"]), report
    assert report["state"] == "damaged"


def use(own, folder):
    own.stop()
    shutil.rmtree(own.home / "db")
    shutil.copytree(folder, own.home / "db")


def test_a_backup_is_a_database_with_all_records(own, tmp_path):
    for way in each_way(own):
        place = tmp_path / way
        before = counts(own)
        assert storage(own, "backup", place) == {"type": "Ok"}
        assert {path.name for path in tmp_path.iterdir() if path.name.startswith(way)} == {way}
        assert not (own.home / "db.backing-up").exists()
        assert not {path.stat().st_ino for path in place.iterdir()} & {path.stat().st_ino for path in (own.home / "db").iterdir()}
    own.start()
    own.run("storage", "prune", "--passing", "--failures")
    use(own, tmp_path / "daemon")
    assert storage(own, "verify")["state"] == "whole"
    assert counts(own) == before
    seed = own.run("failures").stdout.split()[0]
    assert own.run("reproduce", seed).returncode == 0


def test_a_backup_while_results_are_stored_has_all_that_was_acknowledged(own, tmp_path):
    start = subprocess.Popen([BIN / "gpuemu", "test", "--cases", "5000", "--seed", "3"], cwd=own.project, env=own.env,
                             stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    told = []
    for number in range(3):
        time.sleep(0.2)
        told.append(counts(own)["passing"])
        assert own.run("storage", "backup", tmp_path / str(number)).returncode == 0
    start.terminate()
    start.wait(timeout=60)
    for number, count in enumerate(told):
        use(own, tmp_path / str(number))
        assert storage(own, "verify")["state"] == "whole"
        assert counts(own)["passing"] >= count


def test_a_backup_needs_a_new_place(own, tmp_path):
    (tmp_path / "there").mkdir()
    for place, said in ((tmp_path / "there", "exists"), (tmp_path / "no" / "folder", "does not exist"),
                        (own.home / "db" / "backup", "outside of it"), (tmp_path / ".." / os.path.relpath(own.home / "db", tmp_path.parent) / "x", "outside")):
        for _ in range(2):
            result = own.run("storage", "backup", place)
            assert result.returncode == 2 and said in result.stderr, result.stderr
    assert list((tmp_path / "there").iterdir()) == []


def test_a_number_below_0_is_refused_in_plain_words(own):
    said = own.run("storage", "prune", "--keep", "-1")
    assert said.returncode == 2 and "--keep: expected a number from 0 on, got '-1'" in said.stderr, said.stderr


def test_what_a_killed_backup_left_is_removed(killed, tmp_path):
    own = killed
    shutil.copytree(own.home / "db", own.home / "db.backing-up")
    (tmp_path / "copy.unfinished").mkdir()
    (own.home / "db.backing-up" / "DESTINATION").write_text(str(tmp_path / "copy.unfinished"))
    own.start()
    assert not (own.home / "db.backing-up").exists() and not (tmp_path / "copy.unfinished").exists()
    assert counts(own)["passing"] == CASES


def test_the_same_by_the_wire(own, tmp_path):
    assert "storage" in own.ask("Ping")["capabilities"]
    pruned = own.ask("StoragePrune", passing=True, keep=3, op="right", project=str(own.project / "gpuemu.toml"))
    assert pruned["type"] == "StoragePruned" and pruned["removed"]["passing"] == CASES - 3 and not pruned["dry_run"], pruned
    assert own.ask("StoragePrune", older_than=3600)["removed"] == {"passing": 0, "failures": 0, "artifacts": 0, "runs": 0}
    status = own.ask("StorageStatus", project="*")
    assert [one["passing"] for one in status["projects"] if one["name"] == "both"] == [3], status
    assert status["pruned"] == {"passing": CASES - 3, "failures": 0, "artifacts": 0, "runs": 0} and status["last_prune"] > 0
    assert own.ask("StorageVerify")["state"] == "whole"
    assert own.ask("StorageBackup", path=str(tmp_path / "copy")) == {"type": "Ok"}
    assert own.ask("StorageBackup", path="relative")["code"] == "InvalidRequest"
    assert own.ask("StorageVerify", project="*")["code"] == "InvalidRequest"


def test_the_same_by_the_python_client(own, tmp_path):
    with gpuemu.Client(str(own.socket)) as client:
        assert client.storage_status().projects[0].passing == CASES
        assert client.prune_storage(failures=True, keep=1).removed.failures == CASES - 1
        assert client.verify_storage().state == "whole"
        client.back_up_storage(str(tmp_path / "copy"))
    assert (tmp_path / "copy" / "LEDGER").exists()
