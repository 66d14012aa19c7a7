"""The main job: examples tested, faults found, reproduced, minimized, kept over restarts."""
import json
import os
import signal
import threading
import time

PLANTED = {"scale_missing_tail_mask", "reduce_missing_sync", "rowmax_wrong_identity"}


def lines_of_failures(result):
    return [line for line in result.stdout.splitlines() if line[:1].isdigit()]


def test_examples_have_exactly_the_planted_faults(gpuemu):
    result = gpuemu.run("test", "--seed", "42")
    assert result.returncode == 1, result.stdout + result.stderr
    bad = {line.split()[1] for line in result.stdout.splitlines() if line.startswith("[FAIL]")}
    assert bad == PLANTED, result.stdout
    good = {line.split()[1] for line in result.stdout.splitlines() if line.startswith("[PASS]")}
    assert len(good) >= 8 and not good & bad


def test_json_report_is_one_document_with_the_same_verdicts(gpuemu):
    result = gpuemu.run("test", "--format", "json", "--cases", "8", "--seed", "1")
    report = json.loads(result.stdout)
    assert result.returncode == 1
    assert {op["op_name"] for op in report["ops"] if op["failed"]} <= PLANTED


def test_a_failure_is_listed_reproduced_and_minimized(gpuemu):
    gpuemu.run("test", "--seed", "42", "--cases", "16")
    listed = lines_of_failures(gpuemu.run("failures", "--limit", "5"))
    assert listed
    seed = listed[0].split()[0]
    first = gpuemu.run("reproduce", seed, "--verbose")
    second = gpuemu.run("reproduce", seed, "--verbose")
    assert first.returncode == 0 and seed in first.stdout
    assert "input" in first.stdout and first.stdout == second.stdout
    profiled = gpuemu.run("reproduce", seed, "--profile")
    assert "sectors/req" in profiled.stdout and ".cu:" in profiled.stdout, profiled.stdout
    lines = json.loads(gpuemu.run("reproduce", seed, "--profile", "--format", "json").stdout)["profile"]
    assert sum(line["thread_instructions"] for line in lines) > 0
    smaller = gpuemu.run("minimize", seed)
    assert smaller.returncode == 0, smaller.stderr
    assert gpuemu.run("reproduce", seed, "--exit-code").returncode == 1


def test_the_same_seed_gives_the_same_verdicts(gpuemu):
    runs = [json.loads(gpuemu.run("test", "--format", "json", "--cases", "6", "--seed", "7").stdout)
            for _ in range(2)]
    keys = [[(op["op_name"], op["dtype"], op["passed"], op["failed"], op["max_diff"])
             for op in run["ops"]] for run in runs]
    assert keys[0] == keys[1]


def test_status_says_running_only_when_it_runs(gpuemu):
    assert "running" not in gpuemu.run("status").stdout
    assert gpuemu.run("daemon", "start", "--background").returncode == 0
    assert gpuemu.run("daemon", "start", "--background").returncode == 0
    status = gpuemu.run("status").stdout
    assert "running" in status and "uptime" in status
    assert gpuemu.run("daemon", "stop").returncode == 0
    assert "running" not in gpuemu.run("status").stdout


def test_results_survive_kill_9_of_the_daemon(gpuemu):
    gpuemu.run("test", "--seed", "42", "--cases", "8")
    before = lines_of_failures(gpuemu.run("failures", "--limit", "1000"))
    os.kill(gpuemu.daemon_pid(), signal.SIGKILL)
    time.sleep(0.3)
    after = lines_of_failures(gpuemu.run("failures", "--limit", "1000"))
    assert before and sorted(before) == sorted(after)


def test_killing_a_worker_in_a_run_costs_at_most_its_cases(gpuemu):
    gpuemu.run("daemon", "start", "--background")
    box = {}

    def fuzz():
        box["result"] = gpuemu.run("fuzz", "--op", "matmul", "--iterations", "300", "--seed", "5",
                                   "--format", "json")

    thread = threading.Thread(target=fuzz)
    thread.start()
    daemon = gpuemu.daemon_pid()
    killed = 0
    deadline = time.monotonic() + 20
    while killed < 2 and thread.is_alive() and time.monotonic() < deadline:
        time.sleep(0.3)
        for child in gpuemu.children(daemon):
            try:
                if open(f"/proc/{child}/comm").read().startswith("gpuemu-worker"):
                    os.kill(child, signal.SIGKILL)
                    killed += 1
                    break
            except OSError:
                continue
    thread.join(timeout=120)
    report = json.loads(box["result"].stdout)
    assert report["total"] == 300
    assert report["failed"] <= killed
    kinds = {failure["kind"] for bad in report["failures"] for failure in bad["failures"]}
    assert kinds <= {"WorkerLost"}
    assert gpuemu.run("status").returncode == 0


def test_sigterm_finishes_cleanly(gpuemu):
    gpuemu.run("daemon", "start", "--background")
    pid = gpuemu.daemon_pid()
    os.kill(pid, signal.SIGTERM)
    deadline = time.monotonic() + 10
    while gpuemu.daemon_pid() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert gpuemu.daemon_pid() is None
    assert not os.path.exists(gpuemu.env["GPUEMU_SOCKET"])
