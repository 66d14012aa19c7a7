"""Sessions: clients share the devices by weight, each within its limits, and nothing of one that is gone stays."""
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time

import pytest

from conftest import BIN
from projects import SCALE_PTX, TWO, kernel_op
from wire_client import WireClient, tensor

# Runs in the client; its reference takes as long as the daemon's machine is told.
SLOW = """import time
def reference(x):
    time.sleep({seconds})
    return 2.0 * x
"""
# The same number on every machine: with a lane for every client nothing waits.
WORKERS = 2
RUNTIME = f"[runtime]\nworkers = {WORKERS}\n"
CLIENT_OP = '\n[[ops]]\nname = "double"\nreference = "ref_double.py"\ninput_names = ["x"]\n'


def lanes():
    return 2 * WORKERS


@pytest.fixture
def home(new_home):
    made = new_home({"gpuemu.toml": RUNTIME + kernel_op("twice", "scale.ptx") + CLIENT_OP, "scale.ptx": SCALE_PTX.replace("FACTOR", TWO),
                     "ref_twice.py": SLOW.format(seconds=0.02), "ref_double.py": SLOW.format(seconds=0.2)})
    made.start()
    return made


def wait_until(what, seconds=15):
    deadline = time.monotonic() + seconds
    while not (found := what()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return found


def listed(home):
    return {one["name"]: one for one in home.ask("ListSessions")["sessions"]}


def opened(client, name, **wishes):
    reply = client.ask("OpenSession", name=name, **wishes)
    assert reply["type"] == "SessionOpened", reply
    return reply


def fuzz(client, session, seed=1, iterations=1_000_000, **more):
    reply = client.ask("FuzzOp", session=session, op_name="twice", config={"iterations": iterations, "seed": seed}, fail_fast=False,
                       stream=True, **more)
    assert reply["type"] == "JobStarted", reply
    return reply["job_id"]


def validation(value=1.0):
    return {"type": "ValidateOp", "op_name": "double", "inputs": {"x": tensor([value])}, "output": tensor([2 * value])}


def test_without_one_a_process_is_one_session_that_ends_with_it(home):
    name = f"{open('/proc/self/comm').read().strip()}[{os.getpid()}]"
    with home.client() as one, home.client() as other:
        assert one.ask("Ping")["capabilities"].count("sessions") == 1
        other.ask("Ping")
        mine = [session for session in one.ask("ListSessions")["sessions"] if session["pid"] == os.getpid()]
        assert [session["name"] for session in mine] == [name]
        assert (mine[0]["connections"], mine[0]["weight"], mine[0]["class"], mine[0]["limits"]["lease_ms"]) == (2, 1.0, "auto", None)
        with opened_by_child(home) as child:
            assert wait_until(lambda: f"[{child.pid}]" in str(one.ask("ListSessions")))
        assert wait_until(lambda: f"[{child.pid}]" not in str(one.ask("ListSessions")))


class opened_by_child:
    """A process that sends what `code` says by a client `c`, and stays connected until it is killed."""

    def __init__(self, home, code="c.ask('Ping')"):
        text = (f"import sys, time\nsys.path.insert(0, {os.path.dirname(__file__)!r})\nfrom wire_client import WireClient, tensor\n"
                f"c = WireClient({str(home.socket)!r})\n{code}\nprint('ready', flush=True)\ntime.sleep(600)\n")
        self.process = subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, text=True)
        self.pid = self.process.pid

    def __enter__(self):
        assert self.process.stdout.readline() == "ready\n"
        return self

    def kill(self):
        self.process.kill()
        self.process.wait()

    def __exit__(self, *_):
        self.kill()
        self.process.stdout.close()


def test_a_session_has_what_it_was_opened_with_and_its_secret_is_never_listed(home):
    with home.client() as client:
        first = opened(client, "alice", weight=2, **{"class": "batch"}, memory_limit_mb=512, queue_max=5, time_limit_s=3600, lease_ms=60000)
        assert re.fullmatch("[0-9a-f]{32}", first["session"])
        limits = {"memory_limit_mb": 512, "queue_max": 5, "time_limit_s": 3600.0, "lease_ms": 60000}
        assert (first["name"], first["weight"], first["class"], first["limits"]) == ("alice", 2.0, "batch", limits)
        second = opened(client, "alice")
        assert second["name"] == "alice #2" and second["limits"] == {"memory_limit_mb": None, "queue_max": 64, "time_limit_s": None, "lease_ms": 30000}
        reply = client.ask("ListSessions")
        assert first["session"] not in str(reply) and second["session"] not in str(reply) and first["session"] not in str(client.ask("Top"))
        info = listed(home)["alice"]
        assert set(info) == {"name", "user", "pid", "project", "weight", "class", "connections", "opened", "device_ms", "running", "waiting",
                             "memory_bytes", "limits"}
        assert (info["pid"], info["connections"], info["limits"]) == (os.getpid(), 1, limits) and abs(info["opened"] - time.time()) < 60
        with home.client() as other:
            other.ask("Ping", session=first["session"])
            assert listed(home)["alice"]["connections"] == 2
        changed = client.ask("SetSession", name="alice", weight=3, queue_max=9)
        assert changed["type"] == "SessionInfo" and (changed["weight"], changed["limits"]["queue_max"], changed["class"]) == (3.0, 9, "batch")
        assert client.ask("SetSession", session=second["session"], **{"class": "interactive"})["class"] == "interactive"
        assert client.ask("CloseSession", session=first["session"]) == {"type": "Ok"}
        for gone in (first["session"], "0" * 32, "alice", "' OR 1=1", "\u0000"):
            assert client.ask("Ping", session=gone)["code"] == "SessionNotFound"
        assert "alice" not in listed(home)


def test_what_no_session_can_have_is_refused_in_a_short_sentence(home):
    wrong = [{"weight": value} for value in (0, -1, 0.009, 100.5, 101, 1e308, "2", [1], True)]
    wrong += [{"class": "fast"}, {"class": 3}, {"queue_max": 0}, {"queue_max": -1}, {"queue_max": 5000}, {"queue_max": 1.5}, {"memory_limit_mb": 0},
              {"memory_limit_mb": 2**63}, {"time_limit_s": 0}, {"time_limit_s": -5}, {"time_limit_s": 1e300}, {"lease_ms": 0}, {"lease_ms": 2**60}]
    wrong += [{"name": name} for name in ("", "n" * 10_000, "a\x1b[31m", "a\nb", "a\x9b", "\0", 7, None, ["a"])]
    with home.client() as client:
        for one in wrong:
            reply = client.ask("OpenSession", **{"name": "x", **one})
            assert (reply["type"], reply["code"]) == ("Error", "InvalidRequest") and len(reply["message"]) < 300, (one, reply)
            assert "\x1b" not in reply["message"] and "\x9b" not in reply["message"]
        # JSON has no NaN.
        assert client.ask(b'{"type":"OpenSession","name":"x","weight":NaN}')["code"] == "InvalidRequest"
        assert client.ask("OpenSession")["code"] == "InvalidRequest"
        assert client.ask("SetSession", name="x\x1b[2J" + "y" * 9999, weight=2)["code"] == "SessionNotFound"
        assert client.ask("SetSession", weight=2)["code"] == client.ask("CloseSession")["code"] == "InvalidRequest"
        assert client.ask("Ping", session=7)["code"] == "InvalidRequest"
        assert client.ask("OpenSession", name="x", project="/nowhere/gpuemu.toml")["code"] == "ProjectNotFound"
        assert opened(client, "ä ü 日本 <b>")["name"] == "ä ü 日本 <b>"


def test_two_that_fuzz_at_once_get_device_time_by_weight(home):
    with home.client() as one, home.client() as other:
        heavy, light = opened(one, "heavy", weight=2), opened(other, "light")
        fuzz(one, heavy["session"])
        fuzz(other, light["session"], seed=2)

        def used():
            return [listed(home)[name]["device_ms"] for name in ("heavy", "light")]

        assert wait_until(lambda: min(used()) > 0)
        before = used()

        def jain():
            shares = [(now - then) / weight for now, then, weight in zip(used(), before, (2, 1))]
            return sum(shares) ** 2 / (2 * sum(share**2 for share in shares))

        time.sleep(6)
        # On a busy machine the processors are not shared by weight for a while.
        assert wait_until(lambda: jain() >= 0.98, 40), jain()
        top = one.ask("Top")
        assert {job["session"] for job in top["jobs"]} == {"heavy", "light"} and {job["request"] for job in top["jobs"]} == {"FuzzOp"}
        assert {device["session"] for device in top["devices"]} <= {"heavy", "light"} and max(device["busy"] for device in top["devices"]) > 0.5
        assert [device["worker_id"] for device in top["devices"]] == [f"local-{i}" for i in range(WORKERS)]
        jobs = one.ask("JobList")["jobs"]
        assert {job["session"] for job in jobs} == {"heavy", "light"} and all(job["state"] == "running" and job["done"] > 0 for job in jobs)


def test_what_somebody_waits_for_goes_before_a_crowd_and_listings_wait_for_no_lane(home):
    with home.client() as batch, home.client() as person:
        session = opened(batch, "crowd", weight=100)["session"]
        for seed in range(4):
            fuzz(batch, session, seed=seed)
        own = opened(person, "person", weight=0.01)["session"]
        assert wait_until(lambda: listed(home)["crowd"]["device_ms"] > 0)
        person.ask({**validation(), "session": own})  # The interpreters start.
        start = time.monotonic()
        assert person.ask({**validation(), "session": own})["type"] == "ValidationResult"
        waited = time.monotonic() - start
        start = time.monotonic()
        for request in ("Ping", "DaemonStatus", "ListSessions", "Top", "JobList", "Projects"):
            assert person.ask(request, session=own)["type"] != "Error"
        assert time.monotonic() - start < 2
        # By weight alone it would wait for ten thousand times what it uses.
        assert waited < 10


def test_a_full_queue_is_busy_and_takes_more_when_something_ended(home):
    with home.client() as client:
        session = opened(client, "small", queue_max=2)["session"]
        jobs = [fuzz(client, session, seed=seed) for seed in range(2)]
        refused = client.ask({**validation(), "session": session})
        assert refused["code"] == "Busy" and refused["message"] == "session small: 2 of 2 requests wait (queue_max); send again in 250 ms"
        assert refused["retry_after_ms"] == 250
        before = len(client.ask("JobList", session=session)["jobs"])
        assert client.ask("FuzzOp", session=session, op_name="twice", config={"iterations": 5}, fail_fast=False, stream=True)["code"] == "Busy"
        assert len(client.ask("JobList", session=session)["jobs"]) == before, "nothing of it happened"
        info = listed(home)["small"]
        assert info["running"] + info["waiting"] == 2
        # Others are not concerned, nor is what needs no lane.
        assert home.ask(validation())["type"] == "ValidationResult" and client.ask("JobStatus", session=session, job_id=jobs[0])["state"] == "running"
        client.ask("JobCancel", session=session, job_id=jobs[0])
        assert wait_until(lambda: client.ask({**validation(), "session": session})["type"] == "ValidationResult")


def test_a_job_whose_device_time_is_used_up_fails_and_keeps_what_it_found(home):
    with home.client() as client:
        session = opened(client, "brief", time_limit_s=1)["session"]
        job = fuzz(client, session)
        ended = client.ask("JobStatus", session=session, job_id=job, wait_ms=10_000)
        text = "session brief: 1 s of device time is used up (time_limit_s)"
        assert (ended["state"], ended["code"]) == ("failed", "LimitExceeded"), ended
        assert ended["result"]["type"] == "FuzzResults" and ended["result"]["incomplete"] == text and ended["result"]["error"].startswith(text) and 0 < ended["result"]["total"] < 1_000_000
        assert len(client.ask("ListResults", limit=10_000)["results"]) == ended["result"]["total"]
        for refused in (client.ask({**validation(), "session": session}), client.ask("RunTests", session=session, cases=1)):
            assert (refused["code"], refused["message"]) == ("LimitExceeded", text)
        client.ask("SetSession", session=session, time_limit_s=1000)
        assert client.ask({**validation(), "session": session})["type"] == "ValidationResult"


def test_a_case_that_wants_more_memory_than_a_session_may_have_is_refused(home):
    large = RUNTIME + kernel_op("twice", "scale.ptx").replace("[1, 300]", "[1000000]").replace("ref_twice", "fast")
    (home.project / "fast.py").write_text("def reference(x):\n    return 2.0 * x\n")
    (home.project / "gpuemu.toml").write_text(large)
    with home.client() as client:
        session = opened(client, "tight", memory_limit_mb=1)["session"]
        reply = client.ask("RunTests", session=session, cases=1, max_elements=1_000_000)
        assert re.fullmatch(r"session tight: needs \d+ MiB, 1 of 1 MiB are free \(memory_limit_mb\)", reply.get("error", reply.get("message"))), reply
        assert opened(client, "wide", memory_limit_mb=64)
        wide = client.ask("RunTests", session=opened(client, "wider", memory_limit_mb=64)["session"], cases=2, max_elements=1_000_000)
        assert wide["passed"] > 0, wide


def test_the_scratch_of_a_kernel_is_device_memory_too(home):
    scratch = RUNTIME + kernel_op("twice", "scale.ptx", "fast.py").replace('source =', 'scratch = [{ name = "w", shape = ["1000 * 1000"], dtype = "float32" }]\nsource =')
    (home.project / "fast.py").write_text("def reference(x):\n    return 2.0 * x\n")
    (home.project / "gpuemu.toml").write_text(scratch)
    with home.client() as client:
        tight = opened(client, "tight", memory_limit_mb=3)["session"]
        reply = client.ask("RunTests", session=tight, cases=1)
        assert "session tight: needs 4 MiB, 3 of 3 MiB are free (memory_limit_mb)" in str(reply), reply
        assert client.ask("RunTests", session=opened(client, "wide", memory_limit_mb=5)["session"], cases=2)["passed"] == 2


def test_jobs_are_bounded_by_the_queues_of_their_sessions_alone(home):
    with home.client() as client:
        sessions = [opened(client, f"s{i}")["session"] for i in range(5)]
        for session in sessions:
            for seed in range(60):
                fuzz(client, session, seed=seed)
        jobs = client.ask("JobList")["jobs"]
        assert sum(job["state"] == "running" for job in jobs) == 300
        own = client.ask({**validation(), "session": opened(client, "person")["session"]})
        assert own["type"] == "ValidationResult", own
        for session in sessions:
            client.ask("CloseSession", session=session)
        assert wait_until(lambda: all(job["state"] != "running" for job in client.ask("JobList")["jobs"]), 60)


@pytest.mark.parametrize("how", ["closed", "disconnected", "killed", "lease"])
def test_a_session_that_ends_leaves_nothing_that_runs(home, how):
    with home.client() as client:
        code = (f"s = c.ask('OpenSession', name='gone', lease_ms={1000 if how == 'lease' else 60000})['session']\n"
                "for seed in range(3): c.ask('FuzzOp', session=s, op_name='twice', config={'iterations': 1000000, 'seed': seed}, fail_fast=False, stream=True)\n")
        if how == "disconnected":
            code += "while not c.ask('ListResults', limit=1)['results']: time.sleep(0.05)\nc.close()\n"
        with opened_by_child(home, code) as child:
            if how != "disconnected":
                assert wait_until(lambda: how == "lease" or listed(home)["gone"]["device_ms"] > 0)
            if how == "closed":
                assert client.ask("CloseSession", name="gone") == {"type": "Ok"}
            if how == "killed":
                child.kill()
            begun = time.monotonic()
            assert wait_until(lambda: "gone" not in listed(home))
            assert wait_until(lambda: not client.ask("Top")["jobs"]), client.ask("Top")
            assert time.monotonic() - begun < 15
        states = {job["state"] for job in client.ask("JobList")["jobs"] if job["session"] == "gone"}
        assert states == {"cancelled"}
        kept = client.ask("ListResults", limit=10_000)["results"]
        assert (kept or how == "lease") and all(one["passed"] for one in kept)
        assert client.ask(validation())["type"] == "ValidationResult", "the lanes are free"
        assert all(device["memory_used_bytes"] == 0 for device in client.ask("Top")["devices"])


def test_a_slow_script_does_not_hold_the_lanes_of_a_session_that_is_gone(home):
    (home.project / "ref_twice.py").write_text(SLOW.format(seconds=50))
    with home.client() as client, home.client() as other:
        session = opened(client, "slow")["session"]
        fuzz(client, session)
        assert wait_until(lambda: any(device["session"] == "slow" for device in other.ask("Top")["devices"]))
        time.sleep(2)  # Until the script sleeps.
        begun = time.monotonic()
        other.ask("CloseSession", name="slow")
        assert wait_until(lambda: not other.ask("Top")["jobs"], 30)
        assert time.monotonic() - begun < 20, "not as long as the script takes"
        assert other.ask(validation())["type"] == "ValidationResult"


def test_jobs_outside_of_an_explicit_session_go_on_without_their_client(home):
    code = "j = c.ask('FuzzOp', op_name='twice', config={'iterations': 1000000, 'seed': 1}, fail_fast=False, stream=True)['job_id']\n"
    with opened_by_child(home, code) as child:
        job = home.ask("JobList")["jobs"][0]
        assert job["session"].endswith(f"[{child.pid}]")
        child.kill()
        assert wait_until(lambda: f"[{child.pid}]" not in str(home.ask("ListSessions")))
        time.sleep(2)
        assert home.ask("JobStatus", job_id=job["job_id"])["state"] == "running"
    home.ask("JobCancel", job_id=job["job_id"])


def test_a_request_that_waits_for_a_lane_ends_with_its_session(home):
    with home.client() as client, home.client() as waiting:
        crowd = opened(client, "crowd", **{"class": "interactive"}, weight=100)["session"]
        session = opened(waiting, "waits", weight=0.01, **{"class": "batch"})["session"]
        for seed in range(3):
            fuzz(client, crowd, seed=seed)
        answers = []

        def ask(number):
            with home.client() as own:
                answers.append(own.ask({**validation(number), "session": session}))

        threads = [threading.Thread(target=ask, args=(number,)) for number in range(2 * lanes())]
        for thread in threads:
            thread.start()
        assert wait_until(lambda: listed(home)["waits"]["waiting"] > 0)
        client.ask("CloseSession", session=session)
        for thread in threads:
            thread.join(timeout=30)
        assert len(answers) == len(threads)
        assert "SessionNotFound" in {one.get("code") for one in answers}
        assert {one.get("code") for one in answers} <= {None, "SessionNotFound"}, answers


@pytest.mark.slow
def test_sixteen_clients_of_which_one_is_killed_every_second_disturb_nobody(home):
    code = ("import os\ns = c.ask('OpenSession', name='c%d' % os.getpid())['session']\nfor seed in range(2):\n"
            "  c.ask('FuzzOp', session=s, op_name='twice', config={'iterations': 1000000, 'seed': seed}, fail_fast=False, stream=True)\n")
    clients = [opened_by_child(home, code).__enter__() for _ in range(16)]
    daemon = home.daemon_pid()
    threads = len(os.listdir(f"/proc/{daemon}/task"))
    try:
        with home.client() as survivor:
            session = opened(survivor, "survivor")["session"]
            job = fuzz(survivor, session)
            for client in clients[:8]:
                client.kill()
                time.sleep(1)
                now = survivor.ask("JobStatus", session=session, job_id=job)
                assert now["state"] == "running", now
                assert survivor.ask({**validation(), "session": session})["type"] == "ValidationResult"
            assert wait_until(lambda: survivor.ask("JobStatus", session=session, job_id=job)["done"] > now["done"], 30)
            left = {f"c{client.pid}" for client in clients[8:]}
            assert wait_until(lambda: {name for name in listed(home) if re.fullmatch(r"c\d+", name)} == left)
            assert wait_until(lambda: len(survivor.ask("Top")["jobs"]) == 2 * 8 + 1)
    finally:
        for client in clients:
            client.__exit__()
    assert wait_until(lambda: not home.ask("Top")["jobs"])
    assert wait_until(lambda: not [name for name in listed(home) if re.fullmatch(r"c\d+|survivor", name)])
    assert wait_until(lambda: len(os.listdir(f"/proc/{daemon}/task")) < threads)
    assert home.daemon_pid() == daemon


def test_the_commands_list_change_and_close_sessions(home):
    with home.client() as client:
        session = opened(client, "tester", weight=2)["session"]
        fuzz(client, session)
        text = home.run("sessions").stdout
        assert re.search(r"^SESSION +USER +CLASS +PID +WEIGHT", text) and re.search(rf"^tester +\S+ +auto +{os.getpid()} +2 ", text, re.M), text
        document = json.loads(home.run("sessions", "--format", "json").stdout)
        assert document["type"] == "Sessions" and "tester" in [one["name"] for one in document["sessions"]]
        assert home.run("sessions", "set", "tester", "--weight", "0.5").stdout == "tester has weight 0.5 now\n"
        assert listed(home)["tester"]["weight"] == 0.5
        top = home.run("top").stdout
        assert re.search(r"^local-0 ", top, re.M) and re.search(r"^\d+ +tester +FuzzOp ", top, re.M), top
        assert json.loads(home.run("top", "--once", "--format", "json").stdout)["type"] == "Top"
        assert home.run("sessions", "close", "tester").stdout == "closed tester\n"
        assert client.ask("Ping", session=session)["code"] == "SessionNotFound"
    for words, said in ((("sessions", "close", "nobody"), "no session 'nobody'"), (("sessions", "set", "x", "--weight", "0"), "--weight"),
                        (("sessions", "set", "x"), "--weight"), (("top", "--interval", "0"), "--interval"), (("test", "--weight", "2"), "--session"),
                        (("test", "--session", "a\x1b[2J"), "control characters"), (("fuzz", "--session", "n" * 9999), "128 bytes")):
        done = home.run(*words)
        assert done.returncode == 2 and said in done.stderr and "\x1b" not in done.stderr, (words, done)


def test_a_command_runs_in_the_session_that_it_names(home):
    running = subprocess.Popen([BIN / "gpuemu", "fuzz", "twice", "--unguided", "-i", "1000000", "--session", "nightly", "--weight", "0.25"],
                               cwd=home.project, env=home.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        found = wait_until(lambda: listed(home).get("nightly"))
        assert found["weight"] == 0.25 and found["pid"] == running.pid
        assert wait_until(lambda: [job["session"] for job in home.ask("Top")["jobs"]] == ["nightly"])
        assert home.run("sessions", "close", "nightly").returncode == 0
        out, err = running.communicate(timeout=60)
        assert running.returncode == 3 and "ended" in err, (running.returncode, out, err)
    finally:
        running.kill()
        running.wait()


def test_top_redraws_on_a_terminal_until_q(home):
    import fcntl
    import pty
    import struct
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 60, 0, 0))
    before = termios.tcgetattr(theirs)
    running = subprocess.Popen([BIN / "gpuemu", "top", "--interval", "0.2"], cwd=home.project, env={**home.env, "TERM": "xterm"},
                               stdin=theirs, stdout=theirs, stderr=theirs)
    text = b""
    deadline = time.monotonic() + 60
    while text.count(b"\x1b[H") < 3 and time.monotonic() < deadline:
        text += os.read(ours, 1 << 16)
    os.write(ours, b"xq")
    assert running.wait(timeout=60) == 0
    drawn = text.decode(errors="replace")
    assert drawn.count("\x1b[H") >= 3 and "q ends this" in drawn and "local-0" in drawn
    assert all(len(re.sub("\x1b\\[[0-9;?]*[A-Za-z]", "", line).rstrip("\r")) <= 60 for line in drawn.split("\n"))
    assert termios.tcgetattr(theirs) == before, "the terminal is as it was"
    os.close(ours)
    os.close(theirs)


def test_the_python_client_has_a_session_of_its_own(home):
    gpuemu = pytest.importorskip("gpuemu")
    pytest.importorskip("pynng")
    with gpuemu.Client(str(home.socket), start=False) as client:
        mine = client.open_session("py", weight=2, session_class="batch", queue_max=3)
        assert mine["name"] == "py" and client.set_session(weight=4)["weight"] == 4.0
        assert "py" in [one["name"] for one in client.sessions()] and client.top()["devices"]
        report = client.run_tests(cases=2)
        assert report.passed == 2 and [job["session"] for job in client.jobs()] == ["py"]
        with pytest.raises(TypeError, match="colour"):
            client.open_session("x", colour=3)
        client.close_session()
        assert client.ping()
        client.use_session(mine["session"])
        with pytest.raises(gpuemu.SessionNotFoundError):
            client.ping()
