"""A daemon that several users share: each has records, processes and quotas of its own, and none reaches another's."""
import contextlib
import json
import os
import pathlib
import pwd
import subprocess
import sys
import time
import traceback

import pytest

from conftest import BIN
from projects import SCALE_PTX, THREE, kernel_op
from wire_client import WireClient, tensor

GROUP, GID = "daemon", 1
# Users that every Linux has; as members of the group by what they are started with.
ALICE, BOB = pwd.getpwnam("daemon"), pwd.getpwnam("bin")
REFERENCE = """import os, pathlib
def reference(x):
    place = pathlib.Path(__file__).with_name("ran")
    place.write_text(f"{os.getuid()} {os.geteuid()} {sorted(os.getgroups())} {os.environ['HOME']} {'SECRET' in os.environ}")
    return 2.0 * x
"""


def runs_as(user):
    """Whether that user can run the build and this interpreter."""
    command = ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
    with contextlib.suppress(OSError):
        return all(subprocess.run([*command, *program], capture_output=True).returncode == 0
                   for program in ((BIN / "gpuemu", "--version"), (sys.executable, "-c", "import numpy")))
    return False


pytestmark = pytest.mark.skipif(os.getuid() != 0 or not runs_as(ALICE), reason="root alone can take on other users, who must be able to run the build")


def as_user(user, function, groups=(GID,)):
    """What the function returns in a process of that user."""
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups(groups)
            os.setresgid(user.pw_gid, user.pw_gid, user.pw_gid)
            os.setresuid(user.pw_uid, user.pw_uid, user.pw_uid)
            answer = {"value": function()}
        except BaseException:
            answer = {"error": traceback.format_exc()}
        with os.fdopen(writes, "w") as out:
            json.dump(answer, out)
        os._exit(0)
    os.close(writes)
    with os.fdopen(reads) as text:
        answer = json.loads(text.read())
    os.waitpid(child, 0)
    assert "error" not in answer, answer["error"]
    return answer["value"]


def ask_as(user, home, request, groups=(GID,), **members):
    def ask():
        with WireClient(home.socket, 60) as client:
            return client.ask(request, **members)

    return as_user(user, ask, groups)


def project_of(user, home, name):
    """A folder of that user, which nobody else may read."""
    place = home.home.parent / name
    place.mkdir()
    (place / "gpuemu.toml").write_text(f'[project]\nname = "{name}"\n[runtime]\npython = "{sys.executable}"\n' + kernel_op("twice", "scale.ptx"))
    (place / "scale.ptx").write_text(SCALE_PTX.replace("FACTOR", THREE))
    (place / "ref_twice.py").write_text(REFERENCE)
    for path in (place, *place.iterdir()):
        os.chown(path, user.pw_uid, user.pw_gid)
        path.chmod(0o700)
    return place / "gpuemu.toml"


@pytest.fixture
def shared(new_home):
    def start(share, env=None):
        home = new_home({"gpuemu.toml": f'[daemon.share]\n{share}\n[runtime]\npython = "{sys.executable}"\n' + kernel_op("twice", "scale.ptx"),
                         "scale.ptx": SCALE_PTX.replace("FACTOR", THREE), "ref_twice.py": REFERENCE})
        home.home.parent.chmod(0o755)
        home.home.chmod(0o755)
        home.env.update(env or {})
        home.start()
        return home

    return start


def modes(home):
    return oct(home.socket.stat().st_mode & 0o777), oct(home.socket.parent.stat().st_mode & 0o777), home.socket.stat().st_gid


def test_without_it_socket_and_folder_are_the_users_alone(new_home):
    home = new_home({"gpuemu.toml": kernel_op("twice", "scale.ptx"), "scale.ptx": SCALE_PTX, "ref_twice.py": REFERENCE})
    home.start()
    assert modes(home)[:2] == ("0o600", "0o700")


def test_a_group_may_connect_and_nobody_else(shared):
    home = shared(f'group = "{GROUP}"')
    assert modes(home) == ("0o660", "0o750", GID)
    assert ask_as(BOB, home, "Ping")["type"] == "Pong"
    with pytest.raises(AssertionError, match="PermissionError"):
        ask_as(BOB, home, "Ping", groups=())
    for path in (home.home / "db", home.home / "s" / "daemon.log"):
        assert path.stat().st_mode & 0o077 == 0, path


def test_files_of_a_user_are_read_and_run_as_that_user(shared):
    home = shared(f'group = "{GROUP}"', {"SECRET": "of root"})
    mine = project_of(ALICE, home, "alices")
    report = ask_as(ALICE, home, "RunTests", project=str(mine), cases=4, seed=1)
    assert report["type"] == "TestReport" and report["failed"] == 4, report
    uid, euid, rest = (mine.parent / "ran").read_text().split(" ", 2)
    assert (int(uid), int(euid)) == (ALICE.pw_uid, ALICE.pw_uid) and str(GID) in rest, rest
    assert rest.endswith(f"{ALICE.pw_dir} False"), "the environment of the daemon is not the user's"
    assert (mine.parent / "ran").stat().st_uid == ALICE.pw_uid
    workers = [pathlib.Path(f"/proc/{pid}") for pid in home.children(home.daemon_pid())]
    owners = {path.stat().st_uid for path in workers}
    assert ALICE.pw_uid in owners, owners
    # What another user may not read is no project of theirs, whoever the daemon is.
    for request in ("RunTests", "ListFailures", "ConfigShow"):
        reply = ask_as(BOB, home, request, project=str(mine), limit=1)
        assert reply["code"] == "ProjectNotFound" and "Permission denied" in reply["message"], reply


def test_who_starts_the_daemon_of_another_user_leaves_its_default_project(shared):
    home = shared(f'group = "{GROUP}"')
    mine = project_of(ALICE, home, "alices")

    def start():
        done = subprocess.run([BIN / "gpuemu", "daemon", "start", "--background"], cwd=mine.parent, env={**home.env, "HOME": str(mine.parent)},
                              capture_output=True, text=True, timeout=60)
        return done.returncode, done.stdout + done.stderr

    pid = home.daemon_pid()
    code, said = as_user(ALICE, start, (GID,))
    assert code == 0 and "another user shares this daemon; its default project stays as it is" in said, said
    assert home.ask("DaemonStatus")["config_path"] == str(home.project / "gpuemu.toml") and home.daemon_pid() == pid


def test_records_are_their_users_and_the_owner_sees_all(shared):
    home = shared(f'group = "{GROUP}"')
    path = home.project / "gpuemu.toml"
    for file in home.project.iterdir():
        file.chmod(0o644)
    home.project.chmod(0o777)
    assert home.ask("RunTests", cases=2, seed=1)["failed"] == 2
    (home.project / "ran").unlink()
    assert ask_as(ALICE, home, "RunTests", project=str(path), cases=3, seed=2)["failed"] == 3

    def failures(*who, **members):
        reply = ask_as(*who, home, "ListFailures", limit=100, project=str(path), **members) if who else home.ask("ListFailures", limit=100)
        assert reply["type"] == "Results", reply
        return reply["results"]

    hers = failures(ALICE)
    assert len(hers) == 3 and {one["user"] for one in hers} == {ALICE.pw_name}
    assert failures(BOB) == []
    assert sorted(one["user"] for one in failures()) == [ALICE.pw_name] * 3 + ["root"] * 2
    assert len({one["project"] for one in failures()}) == 1
    seed = hers[0]["seed"]
    mine = [one["seed"] for one in failures() if one["user"] == "root"]
    for request in ("GetResult", "Reproduce", "Minimize", "Explain", "ExportCase"):
        for user, foreign in ((BOB, seed), (ALICE, mine[0])):
            members = {"strategy": "smallest"} if request == "Minimize" else {}
            reply = ask_as(user, home, request, project=str(path), seed=foreign, op_name="twice", **members)
            assert reply["type"] == "Error" and reply["code"] in ("NotFound", "InvalidRequest"), (request, reply)
    assert home.ask("GetResult", seed=seed)["type"] == "ValidationResult"
    assert ask_as(BOB, home, "DeleteFailures", project=str(path), all=True)["count"] == 0
    assert ask_as(BOB, home, "DeleteFailures", project=str(path), seed=seed)["code"] == "NotFound"
    assert ask_as(BOB, home, "Projects")["projects"] == [] or all(one["results"] == 0 for one in ask_as(BOB, home, "Projects")["projects"])
    assert [one["failures"] for one in ask_as(ALICE, home, "Projects")["projects"]] == [3]
    counts = ask_as(ALICE, home, "StorageStatus", project="*")["projects"]
    assert [(one["failures"], one["user"]) for one in counts] == [(3, ALICE.pw_name)] and "@" not in counts[0]["id"], counts
    assert ask_as(ALICE, home, "StoragePrune", project="*", failures=True)["removed"]["failures"] == 3
    assert failures(ALICE) == [] and len(failures()) == 2


@pytest.mark.slow
def test_jobs_and_sessions_are_their_users_and_so_is_the_daemon(shared):
    home = shared(f'group = "{GROUP}"')
    job = home.ask("FuzzOp", op_name="twice", config={"iterations": 100000, "seed": 1}, fail_fast=False, stream=True)["job_id"]
    with home.client() as mine:
        opened = mine.ask("OpenSession", name="mine")
        for request, members in (("JobStatus", {"job_id": job}), ("JobCancel", {"job_id": job})):
            assert ask_as(ALICE, home, request, **members)["code"] == "NotFound"
        assert ask_as(ALICE, home, "JobList", project="*")["jobs"] == []
        assert ask_as(ALICE, home, "Ping", session=opened["session"])["code"] == "SessionNotFound"
        for request, members in (("CloseSession", {"name": "mine"}), ("SetSession", {"name": "mine", "weight": 2}), ("Shutdown", {}),
                                 ("SetDefaultProject", {}), ("StorageBackup", {"path": "/tmp/x"}), ("StorageCompact", {}), ("StorageVerify", {})):
            reply = ask_as(ALICE, home, request, **members)
            assert reply["code"] == "Unauthorized", (request, reply)
        listed = {one["name"]: one["user"] for one in mine.ask("ListSessions")["sessions"]}
        assert listed["mine"] == "root"
        assert mine.ask("JobStatus", job_id=job)["state"] == "running"
        mine.ask("JobCancel", job_id=job)


def test_only_those_who_are_named_may_ask(shared):
    home = shared(f'group = "{GROUP}"\nusers = ["{ALICE.pw_name}"]')
    assert ask_as(ALICE, home, "ListSessions")["type"] == "Sessions"
    assert ask_as(BOB, home, "Ping")["type"] == "Pong"
    reply = ask_as(BOB, home, "ListSessions")
    assert reply["code"] == "Unauthorized" and BOB.pw_name in reply["message"], reply
    assert home.ask("ListSessions")["type"] == "Sessions"


@pytest.mark.slow
def test_a_token_opens_sessions_and_a_wrong_one_takes_a_second(shared, tmp_path):
    token = tmp_path / "token"
    token.write_text("c0ffee\n")
    token.chmod(0o600)
    home = shared(f'token_file = "{token}"')
    with home.client() as client:
        assert client.ask("Ping")["type"] == "Pong"
        for request in ("ListSessions", "RunTests", "Shutdown", "JobList", "DaemonStatus"):
            start = time.monotonic()
            reply = client.ask(request)
            assert reply["code"] == "Unauthorized" and time.monotonic() - start >= 1, (request, reply)
        for wrong in ({}, {"token": ""}, {"token": "c0ffe"}, {"token": "c0ffee0"}):
            start = time.monotonic()
            reply = client.ask("OpenSession", name="x", **wrong)
            assert reply["code"] == "Unauthorized" and time.monotonic() - start >= 1, reply
            assert "c0ffe" not in reply["message"]
        session = client.ask("OpenSession", name="x", token="c0ffee")["session"]
        assert client.ask("ListSessions", session=session)["type"] == "Sessions"
        assert client.ask("ListSessions")["code"] == "Unauthorized"
    log = (home.home / "s" / "daemon.log").read_text()
    assert log.count("refused ") == 10 and "c0ffe" not in log, log
    # Commands find the token in the configuration, other clients by the environment.
    assert home.run("test", "--cases", "2").returncode == 1
    assert home.run("sessions").returncode == 0
    other = tmp_path / "other"
    other.write_text("wrong")
    other.chmod(0o600)
    refused = home.run("sessions", env={"GPUEMU_TOKEN_FILE": str(other)})
    assert refused.returncode == 3 and "wrong token" in refused.stderr, refused
    other.chmod(0o644)
    refused = home.run("sessions", env={"GPUEMU_TOKEN_FILE": str(other)})
    assert refused.returncode in (2, 3) and "chmod o=" in refused.stderr, refused
    assert home.run("daemon", "stop").returncode == 0


def test_quotas_bound_a_user(shared):
    quota = f"[daemon.share.quota.{ALICE.pw_name}]\nweight = 0.5\nsessions_max = 1\ndevice_seconds_per_day = 0.2\nstorage_bytes = 200000"
    home = shared(f'group = "{GROUP}"\n{quota}')
    mine = str(project_of(ALICE, home, "alices"))

    def opens():
        with WireClient(home.socket, 60) as client:
            heavy = client.ask("OpenSession", name="a", weight=1)
            first = client.ask("OpenSession", name="a")
            second = client.ask("OpenSession", name="b")
            raised = client.ask("SetSession", session=first["session"], weight=5)
            client.ask("CloseSession", session=first["session"])
            return heavy, first, second, raised, client.ask("OpenSession", name="c")

    heavy, first, second, raised, third = as_user(ALICE, opens)
    assert heavy["code"] == second["code"] == raised["code"] == "LimitExceeded"
    assert "weight" in heavy["message"] and "1 of 1 sessions" in second["message"], (heavy, second)
    assert first["weight"] == third["weight"] == 0.5

    def until_refused(request):
        for _ in range(200):
            reply = ask_as(ALICE, home, request, project=mine, cases=16)
            if reply["type"] == "Error":
                return reply
        return None

    reply = until_refused("RunTests")
    assert reply["code"] == "LimitExceeded" and ("device_seconds_per_day" in reply["message"] or "storage_bytes" in reply["message"]), reply
    assert "renewed" in reply["message"], reply
    # A daemon that starts again gives nobody a second day; others are not concerned.
    home.stop()
    home.start()
    assert ask_as(ALICE, home, "RunTests", project=mine, cases=16)["code"] == "LimitExceeded"
    assert home.ask("RunTests", cases=2)["type"] == "TestReport"


def test_a_daemon_that_is_not_roots_runs_nobody_elses_files(new_home):
    home = new_home({"gpuemu.toml": f'[daemon.share]\ngroup = "{GROUP}"\n' + kernel_op("twice", "scale.ptx"), "scale.ptx": SCALE_PTX,
                     "ref_twice.py": REFERENCE})
    for path in (home.home.parent, home.home, home.project):
        path.chmod(0o755)
        os.chown(path, ALICE.pw_uid, ALICE.pw_gid)
    (home.home / "db.cache").unlink()
    command = ["setpriv", f"--reuid={ALICE.pw_uid}", f"--regid={ALICE.pw_gid}", "--clear-groups"]
    started = subprocess.run([*command, BIN / "gpuemu", "daemon", "start", "--background"], cwd=home.project, env=home.env,
                             capture_output=True, text=True, timeout=60)
    assert started.returncode == 0, started.stderr
    assert ask_as(BOB, home, "Ping")["type"] == "Pong"
    mine = project_of(BOB, home, "bobs")
    for request in ({"type": "RunTests"}, {"type": "RunTests", "project": str(mine)}, {"type": "ConfigShow", "project": str(mine)},
                    {"type": "ValidateOp", "op_name": "twice", "inputs": {"x": tensor([1.0])}, "output": tensor([2.0])}):
        reply = ask_as(BOB, home, request)
        assert reply["code"] == "Unauthorized", reply
        assert reply["message"] == (f"this daemon runs as {ALICE.pw_name} and cannot run files of {BOB.pw_name}; start it as root or give "
                                    f"{BOB.pw_name} one of her own")
    assert ask_as(BOB, home, "ListFailures", limit=1) == {"type": "Results", "results": []}
    assert ask_as(BOB, home, "OpenSession", name="b")["type"] == "SessionOpened"


@pytest.mark.parametrize("share, said", [('group = "no such group"', "no group 'no such group'"), ('users = ["alice"]', "group"), ("", "admits no other user"),
                                         ('token_file = "missing"', "token_file"), ('group = "daemon"\nquota.alice.weight = 0', "weight"),
                                         ('group = "daemon"\ncolour = 1', "colour")])
def test_what_cannot_be_shared_is_refused_at_the_start(new_home, share, said):
    home = new_home({"gpuemu.toml": f"[daemon.share]\n{share}\n"})
    started = home.run("daemon", "start", "--background")
    assert started.returncode in (2, 3) and said in started.stderr, started.stderr
