"""gpuemu-daemon --no-workers: kernels run on remote workers, or in the daemon."""
import json
import pathlib
import signal
import subprocess
import threading
import time

import pytest

from conftest import BIN
from projects import SCALE_PTX, THREE, TWO, kernel_op
from remote import Head

ENDLESS = SCALE_PTX.replace("FACTOR", TWO).replace("DONE:", "DONE:\nAGAIN:\n\tatom.global.add.u32 %r5, [%rd1], 1;\n\tbra AGAIN;\n", 1)
FILES = {"gpuemu.toml": '[runtime]\nbackend = "emulator"\nworkers = 2\n' + kernel_op("twice", "scale.ptx") + kernel_op("wrong", "wrong.ptx"),
         "scale.ptx": SCALE_PTX.replace("FACTOR", TWO), "wrong.ptx": SCALE_PTX.replace("FACTOR", THREE),
         "ref_twice.py": "def reference(x):\n    return 2 * x\n"}


class Daemons:
    def __init__(self, home):
        self.home, self.processes = home, []

    def start(self, *options):
        """Returns when the daemon answers."""
        process = subprocess.Popen([str(BIN / "gpuemu-daemon"), *options], env=self.home.env, cwd=self.home.project,
                                   stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.processes.append(process)
        deadline = time.monotonic() + 30
        while True:
            try:
                assert self.home.ask("Ping")["type"] == "Pong"
                return process
            except OSError:
                assert time.monotonic() < deadline and process.poll() is None, process.stderr.read()
                time.sleep(0.05)

    def refused(self, *options):
        """Exit code and message of a daemon that does not start."""
        ended = subprocess.run([str(BIN / "gpuemu-daemon"), *options], env=self.home.env, cwd=self.home.project, text=True,
                               stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
        return ended.returncode, ended.stderr

    def close(self):
        for process in self.processes:
            process.kill()
            process.communicate()


@pytest.fixture
def home(kernel_project):
    return kernel_project(FILES)


@pytest.fixture
def daemons(home):
    made = Daemons(home)
    yield made
    made.close()


@pytest.fixture
def head(home, tmp_path):
    made = Head(home, tmp_path)
    config = home.project / "gpuemu.toml"
    config.write_text(config.read_text() + made.settings())
    yield made
    made.close()


def fall_back(home, where):
    config = home.project / "gpuemu.toml"
    config.write_text(config.read_text() + f'\n[scheduler]\nfallback = "{where}"\n')


def names_of(home):
    """Names of all processes of the installation."""
    names = []
    for pid in home.processes():
        try:
            names.append(pathlib.Path(f"/proc/{pid}/comm").read_text().strip())
        except OSError:
            continue
    return names


def failures_of(home):
    listed = json.loads(home.run("failures", "--format", "json").stdout)["results"]
    return [(one["op_name"], one["seed"], one["max_diff"], one["failures"]) for one in sorted(listed, key=lambda one: (one["op_name"], one["seed"]))]


def test_kernels_run_in_the_daemon_with_the_same_verdicts(home, daemons):
    daemons.start()
    assert home.run("test", "--cases", "12", "--seed", "5").returncode == 1
    assert any(name.startswith("gpuemu-worker") for name in names_of(home))
    expected = failures_of(home)
    assert expected and json.loads(home.run("status", "--format", "json").stdout)["execution"] == "workers"
    assert home.run("failures", "--delete", "--all").returncode == 0
    home.stop()

    daemons.start("--no-workers")
    assert home.run("test", "--cases", "12", "--seed", "5").returncode == 1
    assert not any(name.startswith("gpuemu-worker") for name in names_of(home))
    assert failures_of(home) == expected
    status = json.loads(home.run("status", "--format", "json").stdout)
    assert (status["workers"], status["execution"]) == (0, "local")
    assert "no workers (kernels run in the daemon)" in home.run("status").stdout


def test_a_kernel_that_never_ends_is_stopped_at_its_time_out(home, daemons):
    (home.project / "scale.ptx").write_text(ENDLESS)
    config = home.project / "gpuemu.toml"
    config.write_text(config.read_text().replace("workers = 2\n", "workers = 2\ncase_timeout_ms = 1000\n"))
    daemons.start("--no-workers")
    tested = home.run("test", "twice", "--cases", "1", "--format", "json")
    assert tested.returncode == 1 and "Timeout" in tested.stdout
    (home.project / "scale.ptx").write_text(FILES["scale.ptx"])
    assert home.run("test", "twice", "--cases", "4").returncode == 0


def test_a_gpu_is_refused(home, daemons):
    config = home.project / "gpuemu.toml"
    config.write_text(config.read_text().replace('"emulator"', '"cuda"'))
    code, message = daemons.refused("--no-workers")
    assert code == 2 and '--no-workers runs kernels in the daemon, on the emulator: backend = "cuda" needs worker processes' in message


def test_a_daemon_where_nothing_could_run_is_refused(home, daemons):
    fall_back(home, "none")
    code, message = daemons.refused("--no-workers")
    assert code == 2 and 'scheduler.fallback = "none" needs [daemon.listen]' in message


def test_plans_go_to_the_remote_worker_while_there_is_one(home, daemons, head):
    daemons.start("--no-workers")
    head.worker("w1").wait_for("w1 serves")
    assert home.run("test", "twice", "--cases", "12").returncode == 0
    served = head.listed()["w1"]["attempts"]
    assert served >= 12
    head.workers[0].kill()
    assert home.run("test", "twice", "--cases", "12", "--seed", "9").returncode == 0


def test_without_a_fallback_work_waits_for_a_worker(home, daemons, head):
    fall_back(home, "none")
    process = daemons.start("--no-workers")
    assert json.loads(home.run("status", "--format", "json").stdout)["execution"] == "remote"
    with home.client() as client:
        session = client.ask("OpenSession", name="small", queue_max=1)["session"]
        job = client.ask("FuzzOp", op_name="twice", config={"iterations": 4, "seed": 1}, session=session, stream=True)["job_id"]
        full = client.ask("FuzzOp", op_name="twice", config={"iterations": 4, "seed": 2}, session=session, stream=True)
        assert full["code"] == "Busy" and full["message"].startswith("no worker is connected"), full
        assert client.ask("JobStatus", job_id=job, session=session)["state"] == "running"
        head.worker("w1").wait_for("w1 serves")
        deadline = time.monotonic() + 60
        while (status := client.ask("JobStatus", job_id=job, session=session))["state"] == "running":
            assert time.monotonic() < deadline, status
            time.sleep(0.1)
        assert status["state"] == "done", status
    head.workers[0].kill()
    waiting = subprocess.Popen([str(BIN / "gpuemu"), "test", "twice", "--cases", "4", "--seed", "3"], env=home.env, cwd=home.project,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(1)
    assert waiting.poll() is None
    process.send_signal(signal.SIGTERM)
    process.wait(20)
    waiting.communicate(timeout=30)
    assert waiting.returncode == 3


def test_workers_that_cannot_be_started_are_done_without_where_it_is_said(home, daemons, tmp_path):
    alone = tmp_path / "alone"
    alone.mkdir()
    (alone / "gpuemu-daemon").write_bytes((BIN / "gpuemu-daemon").read_bytes())
    (alone / "gpuemu-daemon").chmod(0o755)
    fall_back(home, "local")
    process = subprocess.Popen([str(alone / "gpuemu-daemon")], env=home.env, cwd=home.project, stdin=subprocess.DEVNULL)
    daemons.processes.append(process)
    deadline = time.monotonic() + 30
    while not home.socket.exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    with home.client() as client:
        done = client.ask("FuzzOp", op_name="twice", config={"iterations": 4, "seed": 1}, fail_fast=False)
    assert done["type"] != "Error", done
    log = (home.socket.parent / "daemon.log").read_text()
    assert "kernels run in the daemon (scheduler.fallback)" in log


NOTE = "note: this daemon has no workers (--no-workers): while no remote worker is connected, kernels run inside of it"


def test_the_command_starts_one_and_runs_say_where_kernels_ran(home):
    started = home.run("daemon", "start", "--background", "--no-workers")
    assert started.returncode == 0, started.stderr
    assert (home.ask("DaemonStatus")["workers"], home.ask("DaemonStatus")["execution"]) == (0, "local")
    runs = (["test", "twice", "--cases", "2"], ["fuzz", "twice", "-i", "4"], ["ci", "--quick", "--no-cache"])
    for words in runs:
        run = home.run(*words, "--format", "json")
        assert run.stderr.count(NOTE) == 1, run.stderr
        assert json.loads(run.stdout)["execution"] == "local", run.stdout
    assert json.loads(home.run("report", "--format", "json").stdout)["execution"] == "local"
    assert NOTE not in home.run("failures").stderr
    again = home.run("daemon", "start", "--background", "--no-workers")
    assert again.returncode == 0, again.stderr
    home.stop()
    home.start()
    for words in runs:
        run = home.run(*words, "--format", "json")
        assert NOTE not in run.stderr and "execution" not in json.loads(run.stdout)
    refused = home.run("daemon", "start", "--background", "--no-workers")
    assert refused.returncode == 3 and "a daemon with 2 workers is already running" in refused.stderr, refused.stderr


def test_nothing_is_said_while_a_remote_worker_runs_them(home, daemons, head):
    daemons.start("--no-workers")
    head.worker("w1").wait_for("w1 serves")
    assert NOTE not in home.run("test", "twice", "--cases", "2").stderr


def test_a_worker_that_leaves_in_the_middle_of_a_run_is_said(home, daemons, head):
    daemons.start("--no-workers")
    worker = head.worker("w1").wait_for("w1 serves")

    def leave():
        head.wait_for("w1", lambda one: one["attempts"] > 20)
        worker.kill()

    leaver = threading.Thread(target=leave)
    leaver.start()
    run = home.run("fuzz", "twice", "-i", "1000", "--format", "json")
    leaver.join()
    assert json.loads(run.stdout)["execution"] == "local" and run.stderr.count(NOTE) == 1, run.stderr


@pytest.mark.parametrize("words", [["--check-database"], ["--answer"], ["--repair"], ["--restore", "somewhere"], ["--private", "folder"]])
def test_no_workers_goes_with_nothing_that_does_not_serve(home, daemons, words):
    code, message = daemons.refused("--no-workers", *words)
    assert code == 2 and "excludes" in message and "--no-workers" in message and words[0] in message, message
