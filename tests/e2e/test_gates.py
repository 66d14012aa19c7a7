"""What must not look like success, and commands that must not get stuck: with the real programs."""
import ctypes
import json
import os
import pathlib
import shutil
import signal
import subprocess
import threading
import time

import pytest

from conftest import BIN
from projects import SCALE_PTX, THREE, TWO, kernel_op, process_script

PR_SET_CHILD_SUBREAPER = 36
RUNTIME = "[runtime]\nbackend = \"emulator\"\nworkers = {workers}\ncase_timeout_ms = {timeout}\n"
# Never ends, whatever the emulator's own limits are: the time-out of the case ends it.
SPIN_PTX = """.version 7.0
.target sm_75
.address_size 64

.visible .entry scale(.param .u64 x, .param .u64 y, .param .u32 n)
{
	.reg .b64 %rd<2>;
AGAIN:
	add.u64 %rd1, %rd1, 1;
	bra AGAIN;
}
"""


def project(cases=6, workers=1, timeout=30_000, factor=TWO, extra=""):
    return {
        "gpuemu.toml": f"[validation]\nseed = 7\ncases = {cases}\n" +
        RUNTIME.format(workers=workers, timeout=timeout) + kernel_op("twice", "twice.ptx", extra=extra),
        "twice.ptx": SCALE_PTX.replace("FACTOR", factor),
        "ref_twice.py": "def reference(x):\n    return 2.0 * x\n",
    }


def write(home, name, text):
    (home.project / name).write_text(text)


def test_a_regression_against_a_baseline_stays_one_when_it_is_asked_again(new_home):
    # A little too large, within the tolerance: every case passes and has a difference.
    home = new_home(project(factor="0f40000010", extra='tolerances = { float32 = { atol = 1.0, rtol = 1.0 } }'))
    assert home.run("ci").returncode == 0
    saved = home.run("baseline", "save", "main", "--file", "baseline.json")
    assert saved.returncode == 0, saved.stderr
    baseline = json.loads((home.project / "baseline.json").read_text())
    worse = [one for one in baseline["results"] if one["max_diff"] > 0]
    assert worse, baseline["results"]
    for one in worse:
        one["max_diff"] = 0.0
    write(home, "strict.json", json.dumps(baseline))
    for _ in range(2):
        run = home.run("ci", "--file", "strict.json", "--format", "json")
        assert run.returncode == 1, run.stdout
        assert any(one["is_regression"] for one in json.loads(run.stdout)["result_diffs"])
    for cached in (False, True):
        run = home.run("ci", "--file", "baseline.json", "--format", "json")
        assert run.returncode == 0, run.stdout
        assert bool(json.loads(run.stdout)["ops"][0].get("cached")) is cached


def test_an_op_that_breaks_in_the_middle_is_no_success(new_home):
    # For n = 5 the length of the sum divides by zero.
    files = project(extra='accumulate = "120 / (n - 5)"')
    files["gpuemu.toml"] = files["gpuemu.toml"].replace("n = [1, 300]", "n = [6, 5, 7]")
    home = new_home(files)
    run = home.run("fuzz", "--op", "twice", "-i", "60", "--seed", "3")
    assert run.returncode == 3, run.stdout + run.stderr
    assert "accumulate" in run.stderr and "[ERROR]" in run.stdout + run.stderr, run.stderr
    reply = home.ask("FuzzOp", op_name="twice", config={"iterations": 60, "seed": 3})
    assert "accumulate" in reply.get("error", reply.get("message", "")), reply


@pytest.mark.slow
def test_sizes_that_no_memory_holds_are_told_before_anything_runs(new_home):
    home = new_home(project())
    text = (home.project / "gpuemu.toml").read_text()
    for dims, code, said in (("n = 99999999999", 2, "'twice' has 762939 MiB of tensors"), ("n = [1, 99999999999]", 0, "n above 20000000 (declared up to 99999999999)"),
                             ("n = 20000000", 0, "the smallest case of op 'twice' has 153 MiB of tensors")):
        write(home, "gpuemu.toml", text.replace("n = [1, 300]", dims))
        run = home.run("lint") if "20000000" in dims else home.run("ci", "--quick")
        assert run.returncode == code and said in run.stderr, run.stdout + run.stderr
        if code == 2:
            assert "gpuemu.toml:" in run.stderr and "runtime.memory_limit_mb is 4096" in run.stderr and not run.stdout


def test_dtypes_that_no_op_has_are_wrong_use(new_home):
    home = new_home(project())
    for words in (["test", "twice"], ["test"]):
        run = home.run(*words, "--dtype", "float64")
        assert run.returncode == 2 and "float32" in run.stderr, run.stdout + run.stderr


def test_a_failure_of_an_op_that_is_gone_is_shown_and_not_called_run(new_home):
    home = new_home(project(factor="0f40400000"))
    assert home.run("fuzz", "-i", "2").returncode == 1
    seed = home.run("failures").stdout.split()[0]
    assert home.run("reproduce", seed, "--exit-code").returncode == 1
    text = (home.project / "gpuemu.toml").read_text()
    write(home, "gpuemu.toml", text.replace('name = "twice"', 'name = "renamed"', 1))
    run = home.run("reproduce", seed)
    assert run.returncode == 0 and "nothing was run" in run.stderr, run.stderr
    assert home.run("reproduce", seed, "--exit-code").returncode == 3
    assert json.loads(home.run("reproduce", seed, "--format", "json").stdout)["rerun"] is False


def test_failures_can_be_deleted(new_home):
    home = new_home(project(factor="0f40400000"))
    assert home.run("fuzz", "-i", "3").returncode == 1
    seeds = [line.split()[0] for line in home.run("failures").stdout.splitlines()]
    assert home.run("failures", "--delete").returncode == 2
    assert home.run("failures", "--all").returncode == 2
    assert "deleted 1 failure\n" == home.run("failures", "--delete", seeds[0]).stdout
    assert home.run("failures", "--delete", seeds[0]).returncode == 2
    reply = json.loads(home.run("failures", "--delete", "--all", "--format", "json").stdout)
    assert reply == {"type": "FailuresDeleted", "count": len(seeds) - 1}
    assert home.run("failures").stdout == ""


def test_settings_that_a_daemon_reads_when_it_starts_take_effect(new_home):
    home = new_home(project(workers=1))
    assert home.run("failures").returncode == 0
    assert home.ask("DaemonStatus")["workers"] == 1
    write(home, "gpuemu.toml", project(workers=2)["gpuemu.toml"])
    pid = home.daemon_pid()
    assert home.run("failures").stderr.count("restarted") == 0
    assert home.ask("DaemonStatus")["workers"] == 2 and home.daemon_pid() == pid
    other = {"GPUEMU_DB": str(home.home / "db2")}
    assert "it is restarted" in home.run("failures", env=other).stderr
    assert home.ask("DaemonStatus")["storage_path"] == other["GPUEMU_DB"]
    home.run("daemon", "stop", env=other)


def test_a_busy_daemon_is_not_restarted_for_another_database(new_home):
    home = new_home({**project(workers=1), "ref_twice.py": "import time\ndef reference(x):\n    time.sleep(0.2)\n    return 2.0 * x\n"})
    home.start()
    started = home.ask("RunTests", cases=10_000, stream=True)
    run = home.run("failures", env={"GPUEMU_DB": str(home.home / "db2")})
    assert run.returncode == 3 and "busy" in run.stderr and "db2" in run.stderr, run.stderr
    home.ask("JobCancel", job_id=started["job_id"])


def test_a_report_goes_through_links_and_into_pipes(new_home):
    home = new_home(project())
    write(home, "target.json", "old")
    (home.project / "link.json").symlink_to("target.json")
    os.mkfifo(home.project / "pipe")
    read = []
    reader = threading.Thread(target=lambda: read.append((home.project / "pipe").read_text()))
    reader.start()
    assert home.run("coverage", "--output", "pipe").returncode == 0
    reader.join(60)
    assert home.run("coverage", "--output", "link.json").returncode == 0
    assert (home.project / "link.json").is_symlink() and (home.project / "pipe").is_fifo()
    assert read == [(home.project / "target.json").read_text()] and "twice" in read[0]
    run = home.run("ci", "--format", "json", "--output", "/proc/self/fd/1")
    assert run.returncode == 0 and json.loads(run.stdout)["failed"] == 0, run.stderr


def test_a_daemon_that_nobody_waits_for_counts_as_ended(new_home):
    home = new_home(project())
    # As process 1 of a container that reaps nobody: what is orphaned becomes ours and stays a zombie.
    prctl = ctypes.CDLL(None).prctl
    assert prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0
    try:
        pid = home.start()
        run = home.run("daemon", "stop")
        assert run.returncode == 0, run.stderr
        assert pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
        os.waitpid(pid, 0)
    finally:
        prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


def test_a_daemon_without_its_socket_is_not_called_stopped(new_home):
    home = new_home(project())
    pid = home.start()
    home.socket.unlink()
    said = home.run("status")
    assert said.returncode == 3 and f"Daemon: silent (process {pid})" in said.stdout and "running" not in said.stdout
    assert json.loads(home.run("status", "--format", "json").stdout) == {"daemon": "silent", "pid": pid, "suspended": False}
    stop = home.run("daemon", "stop")
    assert stop.returncode == 0 and stop.stdout == "daemon is stopped\n", stop.stderr
    assert home.daemon_pid() is None
    assert home.run("status").stdout.startswith("Daemon: stopped")


@pytest.mark.slow
def test_a_suspended_daemon_is_not_called_stopped(new_home):
    home = new_home(project())
    pid = home.start()
    os.kill(pid, signal.SIGSTOP)
    try:
        said = home.run("status")
        assert said.returncode == 3 and f"kill -CONT {pid}" in said.stderr and "stopped" not in said.stdout
        stop = home.run("daemon", "stop")
        assert stop.returncode == 3 and f"kill -CONT {pid}" in stop.stderr and f"kill -9 {pid}" in stop.stderr
        assert home.daemon_pid() == pid
    finally:
        os.kill(pid, signal.SIGCONT)
    home.wait_for_end(20)  # By the signal that waited for it.
    assert home.run("status").returncode == 0


@pytest.mark.slow
def test_a_suspended_daemon_is_killed_where_it_shall_stop_now(new_home):
    home = new_home(project(factor=THREE))
    home.start()
    assert home.run("test", "--cases", "3", "--seed", "1").returncode == 1
    failed = len(json.loads(home.run("failures", "--format", "json").stdout)["results"])
    os.kill(home.daemon_pid(), signal.SIGSTOP)
    stop = home.run("daemon", "stop", "--now")
    assert stop.returncode == 0 and "daemon is stopped" in stop.stdout, stop.stderr
    assert "stopped" in home.run("status").stdout
    assert failed > 0 and len(json.loads(home.run("failures", "--format", "json").stdout)["results"]) == failed


@pytest.fixture
def wrapped(new_home, tmp_path):
    """An installation whose gpuemu-daemon is a script around the real one."""
    home = new_home(project())

    def make(script):
        folder = tmp_path / "bin"
        folder.mkdir(exist_ok=True)
        shutil.copy(BIN / "gpuemu", folder / "gpuemu")
        (folder / "gpuemu-daemon").write_text(f"#!/bin/sh\n{script}\nexec {BIN / 'gpuemu-daemon'} \"$@\"\n")
        (folder / "gpuemu-daemon").chmod(0o755)
        return subprocess.run([folder / "gpuemu", "failures"], cwd=home.project, env=home.env, text=True,
                              capture_output=True, timeout=120)

    return make


def test_a_daemon_that_warns_while_it_starts_has_started(wrapped):
    run = wrapped("echo 'ld.so: object cannot be preloaded' >&2")
    assert run.returncode == 0, run.stderr
    assert "note: the daemon says: ld.so: object cannot be preloaded" in run.stderr


@pytest.mark.slow
def test_a_daemon_that_starts_slowly_is_waited_for_and_one_that_ends_is_not(wrapped):
    started = time.monotonic()
    run = wrapped("echo no disk >&2; exit 3")
    assert run.returncode == 3 and "did not start: no disk" in run.stderr, run.stderr
    run = wrapped("exit 3")
    assert run.returncode == 3 and "did not start: it exited without output" in run.stderr, run.stderr
    assert time.monotonic() - started < 50, "nobody waits for what has ended"
    run = wrapped("sleep 11")
    assert run.returncode == 0 and "is still starting" in run.stderr, run.stderr


def interrupted(home, *words, after, by=signal.SIGINT):
    """The exit code of a command that gets a signal after some seconds, and how long it then took."""
    process = subprocess.Popen([BIN / "gpuemu", *words], cwd=home.project, env=home.env, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    time.sleep(after)
    assert process.poll() is None, process.communicate()
    process.send_signal(by)
    started = time.monotonic()
    process.communicate(timeout=120)
    return process.returncode, time.monotonic() - started


def test_reproduce_can_be_interrupted(new_home):
    home = new_home({**project(timeout=300), "twice.ptx": SPIN_PTX})
    assert home.run("fuzz", "-i", "1").returncode == 1
    seed = home.run("failures").stdout.split()[0]
    write(home, "gpuemu.toml", project(timeout=100_000)["gpuemu.toml"])
    code, took = interrupted(home, "reproduce", seed, after=2)
    assert code == 130 and took < 60
    os.kill(home.daemon_pid(), signal.SIGKILL)  # Its worker would spin on for a minute.


COUNT_PTX = SPIN_PTX.replace("AGAIN:\n\tbra AGAIN;", """	.reg .u64 %rd1;
	.reg .pred %p1;
	mov.u64 %rd1, 0;
AGAIN:
	add.u64 %rd1, %rd1, 1;
	setp.lt.u64 %p1, %rd1, 1152921504606846976;
	@%p1 bra AGAIN;
	ret;""")


def test_an_interrupted_command_waits_for_no_kernel_and_leaves_an_idle_daemon(new_home):
    home = new_home({**project(timeout=600_000), "twice.ptx": COUNT_PTX})
    home.run("daemon", "start", "--background")
    code, took = interrupted(home, "test", after=4)
    assert code == 130 and took < 60
    started = time.monotonic()
    assert home.run("daemon", "stop").returncode == 0
    assert time.monotonic() - started < 60, "the daemon stops when its requests are done"


@pytest.mark.slow
def test_op_scripts_in_ci_can_be_interrupted_and_run_in_the_quick_dtypes(new_home):
    files = {"gpuemu.toml": f"[validation]\nseed = 7\n{RUNTIME.format(workers=1, timeout=30_000)}"
                            "[ci]\nquick_dtypes = [\"float16\"]\n"
                            "[[ops]]\nname = \"slow\"\nreference = \"ref.py\"\nop_script = \"op.py\"\n"
                            "execution_mode = \"script_based\"\ninput_names = [\"x\"]\n",
             "ref.py": process_script("x"), "op.py": process_script("x + 1")}
    home = new_home(files)
    quick = json.loads(home.run("ci", "--quick", "--format", "json").stdout)
    dtypes = {one["repro_info"]["dtype"] for one in quick["validation_results"]}
    assert quick["failed"] > 0 and dtypes == {"float16"}, dtypes
    write(home, "op.py", "import time\ntime.sleep(2)\n" + files["op.py"])
    code, took = interrupted(home, "ci", after=5)
    assert code == 130 and took < 60


def test_a_ci_run_that_was_interrupted_says_so_in_every_report(new_home):
    # Each case takes a second of the reference's time.
    home = new_home({**project(cases=500), "ref_twice.py": "import time\n\n\ndef reference(x):\n    time.sleep(1)\n    return 2.0 * x\n"})
    code, took = interrupted(home, "ci", "--report", "pr-comment=p.md", "--report", "junit=j.xml", "--report", "json=s.json",
                             after=6, by=signal.SIGTERM)
    assert code == 130 and took < 60
    summary = json.loads((home.project / "s.json").read_text())
    assert "interrupted after" in summary["ops"][0]["error"], summary["ops"]
    comment = (home.project / "p.md").read_text()
    assert "all good" not in comment and "interrupted after" in comment, comment
    assert "interrupted after" in (home.project / "j.xml").read_text()
    again = home.run("report", "--format", "pr-comment")
    assert "interrupted after" in again.stdout, again.stdout


def test_an_environment_that_nothing_can_run_in_is_no_fault_of_the_kernel(new_home):
    home = new_home(project())
    home.env["GPUEMU_EMULATOR_ISA"] = "mmx"
    run = home.run("test")
    assert run.returncode == 3 and "GPUEMU_EMULATOR_ISA: 'mmx' is none of" in run.stdout + run.stderr, run.stdout + run.stderr
    assert "twice" not in home.run("failures").stdout
