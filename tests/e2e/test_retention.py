"""How much is kept of a project, by [storage], and the history of kernel metrics."""
import json
import time

import pytest

from projects import SCALE_PTX, THREE, TWO
from test_storage import CASES, FILES, counts, storage

pytest.importorskip("pynng")
gpuemu = pytest.importorskip("gpuemu")


@pytest.fixture
def own(new_home):
    own = new_home(FILES)
    assert own.run("test", "--cases", CASES, "--seed", "1").returncode == 1
    return own


def keep(own, *lines):
    (own.project / "gpuemu.toml").write_text(FILES["gpuemu.toml"] + "\n[storage]\n" + "\n".join(lines) + "\n")


@pytest.mark.parametrize("daemon", [True, False])
def test_pruning_without_options_goes_by_the_projects_limits(own, daemon):
    if not daemon:
        own.stop()
    keep(own, "passing_count = 4", "failure_count = 7")
    dry = storage(own, "prune", "--dry-run")["removed"]
    assert (dry["passing"], dry["failures"]) == (CASES - 4, CASES - 7), dry
    assert storage(own, "prune")["removed"] == dry
    assert (counts(own)["passing"], counts(own)["failures"]) == (4, 7)
    keep(own, "bytes = '1KiB'")
    assert storage(own, "prune")["removed"]["passing"] == 4
    keep(own, "bytes = 'much'")
    wrong = own.run("storage", "prune")
    assert wrong.returncode == 2 and "storage.bytes" in wrong.stderr, wrong.stderr


def test_the_users_file_holds_where_the_project_says_nothing(own):
    user = own.home / ".config/gpuemu/config.toml"
    user.parent.mkdir(parents=True)
    user.write_text("[storage]\npassing_count = 4\nfailure_count = 2\n")
    keep(own, "passing_count = 6")
    removed = storage(own, "prune")["removed"]
    assert (removed["passing"], removed["failures"]) == (CASES - 6, CASES - 2)


def test_the_daemon_prunes_when_it_starts(own):
    own.stop()
    keep(own, "passing_count = 4", "failure_count = 0")
    own.start()
    deadline = time.monotonic() + 60
    while counts(own)["passing"] > 4 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert (counts(own)["passing"], counts(own)["failures"]) == (4, CASES)
    status = storage(own, "status")
    assert status["pruned"]["passing"] == CASES - 4 and status["last_prune"] > 0
    text = own.run("storage", "status").stdout
    assert "4 results" in text and "last on" in text, text
    said = f"pruned by [storage] of {own.project / 'gpuemu.toml'}: {CASES - 4} passing results"
    while said not in (own.socket.parent / "daemon.log").read_text():
        time.sleep(0.05)
        assert time.monotonic() < deadline, "the log says what went"


def lint(own, factor):
    (own.project / "twice.ptx").write_text(SCALE_PTX.replace("FACTOR", factor).replace("DONE:", "DONE:\n\tbar.sync 0;" if factor == THREE else "DONE:"))
    assert own.run("lint").returncode in (0, 1)


def test_metrics_have_a_history(own):
    lint(own, TWO)
    first = own.ask("GetArtifact", kernel_name="right")
    time.sleep(1.1)
    lint(own, TWO)  # The same again.
    same = own.ask("ListArtifacts", history=True, kernel_name="right")["artifacts"]
    assert len(same) == 1 and same[0]["timestamp"] == first["timestamp"] and same[0]["last_seen"] > first["timestamp"], same
    time.sleep(1.1)
    lint(own, THREE)
    newest = own.ask("GetArtifact", kernel_name="right")
    assert newest["instruction_count"] == first["instruction_count"] + 1
    both = own.ask("ListArtifacts", history=True, kernel_name="right")["artifacts"]
    assert [one["timestamp"] for one in both] == [newest["timestamp"], first["timestamp"]]
    assert [one["kernel_name"] for one in own.ask("ListArtifacts")["artifacts"]] == ["right", "wrong"]
    assert len(own.ask("ListArtifacts", history=True)["artifacts"]) == 3
    assert len(own.ask("ListArtifacts", history=True, limit=2)["artifacts"]) == 2
    then = own.ask("GetArtifact", kernel_name="right", timestamp=newest["timestamp"] - 1)
    assert then["instruction_count"] == first["instruction_count"]
    assert own.ask("GetArtifact", kernel_name="right", timestamp=newest["timestamp"])["instruction_count"] == newest["instruction_count"]
    assert own.ask("GetArtifact", kernel_name="right", timestamp=(newest["timestamp"] - 1) * 1_000_000)["instruction_count"] == first["instruction_count"]
    none = own.ask("GetArtifact", kernel_name="right", timestamp=first["timestamp"] - 10)
    assert none["type"] == "Error" and none["code"] == "ArtifactNotFound", none
    one = counts(own)
    assert (one["artifacts"], one["artifact_history"]) == (2, 1)
    assert storage(own, "verify")["readable"]["artifacts"] == 3
    with gpuemu.Client(str(own.socket)) as client:
        assert [one.timestamp for one in client.list_artifacts(history=True, kernel_name="right")] == [newest["timestamp"], first["timestamp"]]
        assert client.get_artifact("right", first["timestamp"]).last_seen == same[0]["last_seen"]


def test_the_history_on_the_command_line(own):
    lint(own, TWO)
    time.sleep(2.1)
    middle = int(time.time()) - 1
    lint(own, THREE)
    text = own.run("artifacts", "--history", "--kernel", "right").stdout
    assert text.count("right since ") == 2, text
    assert own.run("artifacts", "--history", "--limit", "1").stdout.count(" since ") == 1
    listed = json.loads(own.run("artifacts", "--history", "--kernel", "right", "--format", "json").stdout)
    assert len(listed["artifacts"]) == 2
    diff = own.run("diff", "--since", middle, "--stored", "--format", "json")
    assert diff.returncode == 0, diff.stderr
    changes = {one["kernel_name"]: one.get("changes") for one in json.loads(diff.stdout)["diffs"]}
    assert changes["right"] and not changes["wrong"], changes
    assert "kernels compared with baseline since 20" in own.run("diff", "--since", "0s").stdout
    for since, said in (("30d", "the oldest are of 20"), ("2001-01-01", "the oldest"), ("soon", "expected how long ago"), ("2001-13-01", "expected")):
        result = own.run("diff", "--since", since)
        assert result.returncode == 2 and said in result.stderr, (since, result.stderr)
    twice = own.run("diff", "--since", "1d", "--baseline", "main")
    assert twice.returncode == 2 and "--since and a baseline" in twice.stderr


def test_the_newest_metrics_of_each_kernel_stay(own):
    for factor in (TWO, THREE, TWO, THREE):
        lint(own, factor)
    assert counts(own)["artifact_history"] == 3
    keep(own, "artifact_count = 2")
    assert storage(own, "prune")["removed"]["artifacts"] == 2
    one = counts(own)
    assert (one["artifacts"], one["artifact_history"]) == (2, 1)
    assert storage(own, "prune", "--artifacts", "--op", "right", "--keep", "1")["removed"]["artifacts"] == 1


def test_metrics_that_a_client_dates_are_found_by_their_time(own):
    """What a client stores keeps its timestamp; a later one is the newest."""
    metrics = {"kernel_name": "right", "register_count": 1, "spill_count": 0, "local_memory_bytes": 0, "shared_memory_bytes": 0,
               "instruction_count": 1, "patterns_found": [], "source": "Ptx"}
    for number in (1, 2, 3):
        assert own.ask("StoreArtifact", kernel_name="right", metrics={**metrics, "register_count": number, "timestamp": 1000 * number})["type"] == "Ok"
    for time_, number in ((1000, 1), (1999, 1), (2000, 2), (5000, 3), (None, 3)):
        assert own.ask("GetArtifact", kernel_name="right", timestamp=time_)["register_count"] == number, time_
    assert own.ask("StoreArtifact", kernel_name="right", metrics={**metrics, "register_count": 4, "timestamp": 1})["type"] == "Ok"
    assert own.ask("GetArtifact", kernel_name="right")["register_count"] == 4, "what was stored last is the newest"
