"""Long work over the wire: progress, log, cancelling, and the reply at the end."""
import subprocess
import threading
import time

import pytest

from conftest import BIN
from projects import client_project
from wire_records import U64, check_error, fuzz_config, integer, number


@pytest.fixture(scope="module")
def home(new_home):
    instance = new_home(client_project())
    instance.start()
    return instance


@pytest.fixture
def client(home):
    with home.client() as connected:
        yield connected


def finish(client, job_id, wait_ms=5000):
    seen = []
    while True:
        status = client.ask("JobStatus", job_id=job_id, wait_ms=wait_ms)
        assert status["type"] == "JobStatus", status
        assert status["state"] in ("running", "done", "cancelled", "failed")
        seen.append(status["done"])
        assert seen == sorted(seen) and status["done"] <= status["total"] or status["total"] == 0
        if status["state"] != "running":
            return status
        assert status["result"] is None


@pytest.mark.parametrize("request_body", [
    {"type": "FuzzOp", "op_name": "tripled", "fuzz_config": fuzz_config(), "iterations": 30, "fail_fast": False},
    {"type": "FuzzOp", "op_name": "off", "fuzz_config": fuzz_config(), "iterations": 3, "fail_fast": False},
    {"type": "RunTests", "ops": ["twice", "tripled"], "cases": 5, "seed": 3},
])
def test_a_job_reports_progress_and_the_same_reply_as_the_plain_request(client, request_body):
    started = client.ask({**request_body, "stream": True})
    assert started["type"] == "JobStarted" and integer(started["job_id"])
    status = finish(client, started["job_id"])
    assert status["state"] == "done" and status["done"] == status["total"] > 0
    assert status["seconds_left"] == 0 and number(status["rate"])
    result, plain = status["result"], client.ask(request_body)
    assert result["type"] == plain["type"]
    for name in ("total", "passed", "failed", "seed"):
        assert result[name] == plain[name]
    assert status["failures"] == plain["failed"]
    assert len(status["log"]) >= min(1, plain["failed"])


def test_the_log_of_a_job_names_failures_and_goes_on_where_the_client_is(client):
    started = client.ask("FuzzOp", op_name="tripled", fuzz_config=fuzz_config(), iterations=30,
                         fail_fast=False, stream=True)
    log = finish(client, started["job_id"])["log"]
    assert log and all("tripled" in line for line in log)
    rest = client.ask("JobStatus", job_id=started["job_id"], log_from=len(log) - 1)["log"]
    assert rest == log[-1:]
    assert client.ask("JobStatus", job_id=started["job_id"], log_from=U64)["log"] == []


def test_a_cancelled_job_ends_soon_and_keeps_what_it_found(client):
    started = client.ask("FuzzOp", op_name="tripled", fuzz_config=fuzz_config(46), iterations=1_000_000,
                         fail_fast=False, stream=True)
    while client.ask("JobStatus", job_id=started["job_id"])["failures"] == 0:
        time.sleep(0.01)
    before = time.monotonic()
    assert client.ask("JobCancel", job_id=started["job_id"]) == {"type": "Ok"}
    status = finish(client, started["job_id"])
    assert status["state"] == "cancelled" and time.monotonic() - before < 20
    assert status["result"]["type"] == "FuzzResults" and 0 < status["result"]["total"] < 1_000_000
    seed = status["result"]["failures"][0]["seed"]
    assert client.ask("GetResult", seed=seed)["result"]["op_name"] == "tripled"


def long_job(client, **members):
    return client.ask("FuzzOp", op_name="twice", fuzz_config=fuzz_config(), iterations=1_000_000, fail_fast=False, stream=True, **members)["job_id"]


def test_a_job_is_given_up_with_its_client_only_where_that_asked_so(home):
    with home.client() as gone:
        leased, kept = long_job(gone), long_job(gone)
        assert gone.ask("JobStatus", job_id=leased, lease_ms=300)["state"] == "running"
        check_error(gone.ask("JobStatus", job_id=leased, lease_ms=U64), "InvalidRequest", "lease_ms")
    with home.client() as other:
        deadline = time.monotonic() + 60
        while other.ask("DaemonStatus")["jobs_running"] > 1 and time.monotonic() < deadline:
            time.sleep(0.05)
        assert other.ask("JobStatus", job_id=leased)["state"] == "cancelled"
        assert other.ask("JobStatus", job_id=kept)["state"] == "running"
        other.ask("JobCancel", job_id=kept)
        assert finish(other, kept)["state"] == "cancelled"


def test_a_job_whose_client_goes_before_it_first_asks_ends_with_the_lease_it_was_started_with(home):
    with home.client() as gone:
        leased, kept = long_job(gone, lease_ms=300), long_job(gone)
        refused = gone.ask("FuzzOp", op_name="twice", fuzz_config=fuzz_config(), iterations=1, fail_fast=False, stream=True, lease_ms=U64)
        check_error(refused, "InvalidRequest", "lease_ms")
    with home.client() as other:
        deadline = time.monotonic() + 60
        while other.ask("DaemonStatus")["jobs_running"] > 1 and time.monotonic() < deadline:
            time.sleep(0.05)
        assert other.ask("JobStatus", job_id=leased)["state"] == "cancelled"
        assert other.ask("JobStatus", job_id=kept)["state"] == "running"
        other.ask("JobCancel", job_id=kept)
        assert finish(other, kept)["state"] == "cancelled"


@pytest.mark.slow
def test_the_job_of_a_command_that_was_killed_ends(home, client):
    command = [str(BIN / "gpuemu"), "fuzz", "--op", "twice", "--iterations", "1000000"]
    running = subprocess.Popen(command, cwd=home.project, env=home.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while client.ask("DaemonStatus")["jobs_running"] == 0:
        time.sleep(0.05)
    time.sleep(1)  # It has asked for its job by then.
    running.kill()
    running.wait()
    killed = time.monotonic()
    while client.ask("DaemonStatus")["jobs_running"] > 0:
        assert time.monotonic() - killed < 90
        time.sleep(0.2)
    assert time.monotonic() - killed > 10  # A moment without a question is no reason.


def test_a_job_that_fails_says_why(client):
    started = client.ask("FuzzOp", op_name="nope", fuzz_config=fuzz_config(), iterations=1,
                         fail_fast=False, stream=True)
    status = finish(client, started["job_id"])
    assert status["state"] == "failed"
    check_error(status["result"], "OpNotFound", "nope")


def test_unknown_jobs_are_not_found(client):
    check_error(client.ask("JobStatus", job_id=10**9), "NotFound", str(10**9))
    check_error(client.ask("JobCancel", job_id=10**9), "NotFound", str(10**9))


def test_waiting_for_a_job_does_not_keep_others_waiting(home, client):
    started = client.ask("FuzzOp", op_name="twice", fuzz_config=fuzz_config(), iterations=1_000_000,
                         fail_fast=False, stream=True)
    with home.client() as waiter:
        thread = threading.Thread(target=lambda: waiter.ask("JobStatus", job_id=started["job_id"], wait_ms=U64))
        thread.start()
        assert client.ask("Ping")["type"] == "Pong" and thread.is_alive()
        client.ask("JobCancel", job_id=started["job_id"])
        thread.join(timeout=20)
        assert not thread.is_alive()
