"""What remote workers run: the same results as without them, whatever is lost when."""
import json
import os
import signal
import threading
import time

import pytest

from projects import SCALE_PTX, TWO, kernel_op
from remote import Head

# A loop of as many rounds as the case has elements, times 2000, then y = 2 x.
SLOW_PTX = SCALE_PTX.replace("FACTOR", TWO).replace("	ld.global.f32", "	mul.lo.u32 %r2, %r1, 2000;\nLOOP:\n	sub.u32 %r2, %r2, 1;\n"
                                                    "	setp.ne.u32 %p1, %r2, 0;\n	@%p1 bra LOOP;\n	ld.global.f32")
# Wrong for every element from the hundredth on.
WRONG_PTX = SCALE_PTX.replace("FACTOR", TWO).replace("	ld.global.f32", "	setp.ge.s32 %p1, %r5, 100;\n	@%p1 bra DONE;\n	ld.global.f32")
REFERENCE = "def reference(x):\n    return 2 * x\n"
ALONE = "[runtime]\nbackend = \"emulator\"\nworkers = 1\n"


@pytest.fixture
def head_of(kernel_project, tmp_path):
    made = []

    def make(ptx):
        files = {"gpuemu.toml": ALONE + kernel_op("twice", "scale.ptx"), "scale.ptx": ptx, "ref_twice.py": REFERENCE}
        made.append(Head(kernel_project(files), tmp_path))
        return made[-1]

    yield make
    for one in made:
        one.close()


def stored(home):
    """What a run has stored, without what a clock said."""
    def plain(value):
        if isinstance(value, dict):
            return {key: plain(one) for key, one in value.items() if key not in ("timestamp", "duration_ms")}
        return [plain(one) for one in value] if isinstance(value, list) else value

    results = home.ask("ListResults", limit=100000)["results"]
    failures = home.ask("ListFailures", limit=100000)["results"]
    key = lambda one: json.dumps(one, sort_keys=True)  # noqa: E731
    return sorted(map(plain, results), key=key), sorted(map(plain, failures), key=key)


def fuzz(home):
    run = home.run("fuzz", "twice", "--iterations", "300", "--seed", "7")
    assert run.returncode in (0, 1), run.stderr
    return stored(home)


def test_a_run_whose_worker_is_killed_stores_what_a_run_without_one_does(head_of):
    head = head_of(WRONG_PTX)
    home = head.home
    home.start()
    alone = fuzz(home)
    assert alone[0]
    home.run("failures", "clear", "--yes")
    home.stop()
    home.env["GPUEMU_DB"] = str(home.home / "db2")
    home.marker = f"GPUEMU_DB={home.home / 'db2'}".encode()
    head.listen()
    workers = [head.worker(name).wait_for(f"{name} serves") for name in ("w1", "w2")]

    def kill_first():
        head.wait_for("w1", lambda one: one["attempts"] > 20)
        workers[0].kill()

    killer = threading.Thread(target=kill_first)
    killer.start()
    together = fuzz(home)
    killer.join()
    assert together == alone
    assert head.listed()["w2"]["attempts"] > 20 and head.listed()["w1"]["state"] == "lost"


def test_work_that_lost_two_workers_is_a_finding(head_of):
    head = head_of(SLOW_PTX.replace(", 2000;", ", 2000000;"))
    head.listen()
    for name in ("w1", "w2"):
        head.worker(name).wait_for(f"{name} serves")
    out = {}
    runner = threading.Thread(target=lambda: out.update(run=head.home.run("test", "twice", "--cases", "1", "--format", "json")))
    runner.start()
    for _ in range(2):
        busy = None
        deadline = time.monotonic() + 60
        while busy is None:
            assert time.monotonic() < deadline
            busy = next((name for name, one in head.listed().items() if one["state"] == "busy"), None)
        next(one for one in head.workers if f"{busy} serves" in one.text).kill()
        head.wait_for(busy, lambda one: one["state"] == "lost" and one["lost"] == 1)
    runner.join()
    assert out["run"].returncode == 1, out["run"].stderr
    assert "WorkerLost" in out["run"].stdout and "not tried again" in out["run"].stdout


def test_a_lost_worker_leaves_no_process(head_of):
    head = head_of(SLOW_PTX.replace(", 2000;", ", 400000;"))
    head.listen().worker("w1").wait_for("w1 serves")
    job = head.home.ask("RunTests", ops=["twice"], cases=4, seed=1, stream=True)["job_id"]
    head.wait_for("w1", lambda one: one["state"] == "busy")
    pid = head.workers[0].process.pid
    children = head.home.children(pid)
    assert children
    head.workers[0].kill()
    head.home.ask("JobCancel", job_id=job)  # Otherwise its cases would run here, for seconds each.
    deadline = time.monotonic() + 10
    while any(os.path.exists(f"/proc/{child}") for child in children):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_suspended_worker_is_lost_and_its_late_answer_dropped(head_of):
    head = head_of(SCALE_PTX.replace("FACTOR", TWO))
    worker = head.listen().worker("w1").wait_for("w1 serves")
    worker.process.send_signal(signal.SIGSTOP)
    tested = head.home.run("test", "twice", "--cases", "10")
    assert tested.returncode == 0, tested.stdout + tested.stderr
    assert head.listed()["w1"]["state"] == "lost"
    worker.process.send_signal(signal.SIGCONT)
    worker.wait_for("lost 127.0.0.1")
    head.wait_for("w1", lambda one: one["state"] == "idle")
    assert head.home.run("test", "twice", "--cases", "10").returncode == 0


def test_remote_workers_add_lanes(head_of):
    """The daemon's one worker has two lanes: three remote ones are busy at a time only with lanes of their own."""
    head = head_of(SLOW_PTX.replace(", 2000;", ", 200000;"))
    home = head.listen().home
    names = ("w1", "w2", "w3")
    for name in names:
        head.worker(name).wait_for(f"{name} serves")
    job = home.ask("RunTests", ops=["twice"], cases=300, seed=1, stream=True)["job_id"]
    deadline = time.monotonic() + 120
    while not all(one["state"] == "busy" for one in head.listed().values()):
        assert time.monotonic() < deadline and home.ask("JobStatus", job_id=job)["state"] == "running", head.listed()
    home.ask("JobCancel", job_id=job)
    head.workers[0].kill()
    head.wait_for("w1", lambda one: one["state"] == "lost")
    assert home.run("test", "twice", "--cases", "4", "--max-elements", "2").returncode == 0
