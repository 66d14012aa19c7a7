"""The Python client against the real daemon: every call, threads, asyncio, jobs, and every way not to be connected."""
import asyncio
import pathlib
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from projects import client_project

pytest.importorskip("pynng")
gpuemu = pytest.importorskip("gpuemu")
ROOT = pathlib.Path(__file__).resolve().parents[2]
X = np.arange(1, 5, dtype=np.float32)


@pytest.fixture(scope="module")
def home(new_home):
    instance = new_home(client_project())
    instance.start()
    return instance


@pytest.fixture
def client(home):
    with gpuemu.Client(str(home.socket)) as connected:
        yield connected


def test_the_daemon_is_described(client, home):
    assert client.ping()["protocol_version"] == 1
    status = client.status()
    assert status.pid == home.daemon_pid() and status.socket_path == str(home.socket)
    assert client.devices()[0].backend == "emulator" and status.devices == client.devices()
    assert client.settings()["validation.seed"] == "7"
    assert client.request("Ping")["type"] == "Pong"


def test_arrays_of_every_kind_are_judged(client):
    assert client.validate_op("scale", {"x": X}, 2 * X).passed
    assert client.validate_op("scale", {"x": X.reshape(2, 2).T}, 2 * X.reshape(2, 2).T).passed
    assert client.validate_op("scale", {"x": X[::-1]}, 2 * X[::-1]).passed
    assert client.validate_op("scale", {"x": X.astype(">f4")}, (2 * X).astype(">f4")).passed
    wrong = client.validate_op("scale", {"x": X}, 3 * X)
    assert wrong.failures[0].kind == wrong.failures[0]["kind"] == "ToleranceExceeded"
    assert wrong.failures[0].index == 0 and wrong.failures[0].expected == 2 and wrong.failures[0].get("none", 5) == 5
    with pytest.raises(TypeError, match="complex64 has no dtype"):
        client.validate_op("scale", {"x": X.astype(np.complex64)}, X)


def test_a_wider_tolerance_of_the_caller_is_judged_by_the_daemon(client):
    from gpuemu.client import calls

    def judged(output, seed=None, **tolerance):
        made = gpuemu.ToleranceConfig(**tolerance)
        call = calls.validate("scale", {"x": X}, output, {}, seed, tolerance=made)
        return call.result(client.connection.ask(call.request))

    right = 2 * X
    off = right + np.float32(0.01)
    assert not client.validate_op("scale", {"x": X}, off).passed
    assert judged(off, atol=0.02, rtol=0.0).passed and not judged(off, atol=0.001, rtol=0.0).passed
    assert judged(right, atol=0.0, rtol=0.0).passed
    assert judged(right * np.float32(1.01), atol=0.0, rtol=0.02).passed
    large = right.copy()
    large.flat[0] += 5
    # Each element for itself: a large one does not make the error of a small one pass.
    assert not judged(large, atol=0.0, rtol=0.1).passed
    wrong = right.copy()
    wrong.flat[0] = np.nan
    assert [one.kind for one in judged(wrong, atol=1e9, rtol=1e9).failures] == ["NaNDetected"]
    assert judged(off, seed=4711, atol=0.02, rtol=0.0).passed and client.get_result(4711, "scale").passed
    call = calls.validate("scale", {"x": X}, off, {}, tolerance=gpuemu.ToleranceConfig(1.0, 0.0))
    with pytest.raises(gpuemu.InvalidRequestError, match="expected finite numbers from 0"):
        call.result(client.connection.ask({**call.request, "atol": -1.0}))


def test_a_torch_tensor_is_judged_like_its_array(client):
    torch = pytest.importorskip("torch")
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    assert client.validate_op("scale", {"x": x}, 2 * x).passed


def test_kernels_are_tested_fuzzed_reproduced_and_minimized(client):
    seen = []
    report = client.run_tests(["twice", "tripled"], cases=3, seed=11, dtypes=["float32"], progress=seen.append)
    assert [(op.op_name, op.failed) for op in report.ops] == [("twice", 0), ("tripled", 3)] and report.seed == 11
    assert seen[-1].state == "done" and seen[-1].done == seen[-1].total == 6 and seen[-1].failures == 3
    failure = report.ops[1].failures[0]
    again = client.reproduce(failure.seed, "tripled", profile=True)
    assert not again.result.passed and again.inputs["x"].dtype == np.float32 and again.profile
    assert failure.repro_info.base_seed == 11 and failure.repro_info.dims
    small = client.minimize(failure.seed, op_name="tripled")
    assert not small.result.passed and small.minimized_dims == {"n": 1}
    own = client.fuzz_op("tripled", seed=3, iterations=4, strategies=["constant"], max_shape=[2])
    assert own.total == 4 and all(one.repro_info.dims["n"] <= 2 for one in own.failures)
    with pytest.raises(ValueError, match="exclude each other"):
        client.fuzz_op("tripled", batch_sizes=[1], strategies=["constant"])
    with pytest.raises(ValueError, match="unknown strategy 'quickly'"):
        client.minimize(failure.seed, "quickly")


def test_baselines_are_compared(client):
    client.submit_output("scale", {"x": X}, 2 * X, 900)
    client.store_baseline("before")
    client.submit_output("scale", {"x": X}, 3 * X, 900)
    compared = client.compare_baseline("before")
    assert compared.has_regressions
    assert [one.seed for one in compared.comparisons if one.is_regression and one.op_name == "scale"] == [900]


@pytest.mark.parametrize("kind, call", [
    (gpuemu.OpNotFoundError, lambda c: c.fuzz_op("nothing")),
    (gpuemu.NotFoundError, lambda c: c.reproduce(4)),
    (gpuemu.NotFoundError, lambda c: c.compare_baseline("never")),
    (gpuemu.InvalidRequestError, lambda c: c.request("Nope")),
    (gpuemu.InvalidRequestError, lambda c: c.fuzz_op("scale")),
    (gpuemu.ReferenceScriptError, lambda c: c.validate_op("broken", {"x": X}, X)),
])
def test_every_error_code_has_its_exception(client, kind, call):
    with pytest.raises(kind) as caught:
        call(client)
    assert isinstance(caught.value, gpuemu.ClientError) and str(caught.value)


def test_the_context_manager_raises_what_is_wrong(client):
    with gpuemu.validate_op(client, "scale", {"x": X}) as case:
        case["output"] = 2 * X
    assert case["result"].passed
    with pytest.raises(gpuemu.ValidationError, match="'scale'.*seed: ") as caught:
        with gpuemu.validate_op(client, "scale", {"x": X}) as case:
            case["output"] = 3 * X
    assert not caught.value.result.passed
    with pytest.raises(ValueError, match="nothing to judge for 'scale'"):
        with gpuemu.validate_op(client, "scale", {"x": X}):
            pass


def test_an_op_that_writes_into_one_buffer_is_judged_by_what_it_gave(client):
    """Cases are judged while the next ones run: each has its own copy of inputs and output."""
    schema = {"name": "s", "dims": [{"name": "N", "candidates": [4, 9000]}], "inputs": [{"name": "x", "dims": ["N"]}]}
    buffer, ran = np.zeros(9000, np.float32), []

    def twice(inputs):
        assert threading.current_thread() is threading.main_thread()
        x = inputs["x"]
        out = buffer[: x.size]
        np.multiply(x, 2, out=out)
        ran.append(x.size)
        if len(ran) == 7:
            out += 1
        return out

    found = client.fuzz_op_client_side("scale", twice, iterations=30, seed=5, op_schema=schema, dtypes=["float32"])
    assert (found.total, found.passed, found.failed, len(ran)) == (30, 29, 1, 30) and set(ran) == {4, 9000}
    cases = client.get_test_batch("scale", 30, 5, schema, ["float32"])
    assert found.failures[0].seed == cases[6]["seed"] and found.failures[0].failures[0].kind == "ToleranceExceeded"

    ran.clear()
    first = client.fuzz_op_client_side("scale", twice, iterations=30, seed=5, op_schema=schema, dtypes=["float32"], fail_fast=True)
    assert (first.total, first.failed, len(ran)) == (7, 1, 7), "no case runs after the first failure"

    async def waiting():
        async with gpuemu.AsyncClient(client.socket_path) as one:
            return await one.fuzz_op_client_side("scale", twice, iterations=30, seed=5, op_schema=schema, dtypes=["float32"])

    ran.clear()
    again = asyncio.run(waiting())
    assert (again.total, again.failed, again.failures[0].seed) == (30, 1, found.failures[0].seed)


def test_failures_keep_the_order_of_their_cases_and_an_op_may_raise(client):
    order = []

    def wrong(inputs):
        order.append(len(order))
        if len(order) % 3 == 0:
            raise RuntimeError(f"case {len(order)}")
        return inputs["x"] * 3

    schema = {"name": "s", "dims": [{"name": "N", "candidates": [3]}], "inputs": [{"name": "x", "dims": ["N"]}]}
    found = client.fuzz_op_client_side("scale", wrong, iterations=12, seed=1, op_schema=schema, dtypes=["float32"])
    assert [one.failures[0].kind == "ExecutionError" for one in found.failures] == [False, False, True] * 4
    assert [one.seed for one in found.failures] == [case["seed"] for case in client.get_test_batch("scale", 12, 1, schema, ["float32"])]


def test_threads_share_a_client(client):
    wrong = []

    def work(number):
        for i in range(10):
            seed = 5000 + number * 100 + i
            verdict = client.submit_output("scale", {"x": X + number}, 2 * (X + number) + (i % 2), seed)
            if verdict.passed != (i % 2 == 0) or verdict.seed != seed:
                wrong.append((number, i, verdict))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_asyncio_runs_many_calls_at_once(home):
    async def main():
        async with gpuemu.AsyncClient(str(home.socket)) as client:
            verdicts = await asyncio.gather(*(client.validate_op("scale", {"x": X * i}, 2 * X * i) for i in range(1, 9)))
            report, found = await asyncio.gather(client.run_tests(["twice"], cases=2, dtypes=["float32"]),
                                                 client.fuzz_op("tripled", seed=3, iterations=2, dtypes=["float32"]))
            with pytest.raises(gpuemu.OpNotFoundError):
                await client.fuzz_op("nothing")
            return [one.passed for one in verdicts], report.failed, found.failed, await client.get_result(404)

    assert asyncio.run(main()) == ([True] * 8, 0, 2, None)


def test_asyncio_judges_an_op_that_runs_here_plain_or_awaited(home):
    async def later(inputs):
        await asyncio.sleep(0)
        return 2 * inputs["x"]

    async def main():
        async with gpuemu.AsyncClient(str(home.socket)) as client:
            case = await client.get_test_case("scale", seed=3)
            runs = [await client.fuzz_op_client_side("scale", run, 2, seed=3)
                    for run in (later, lambda inputs: 2 * inputs["x"], lambda inputs: 3 * inputs["x"], lambda inputs: inputs["y"])]
            said = await client.request("Ping")
            return sorted(case["inputs"]), [(one.total, one.failed) for one in runs], runs[3].failures[0].failures[0].kind, said["type"]

    assert asyncio.run(main()) == (["x"], [(2, 0), (2, 0), (2, 2), (2, 2)], "ExecutionError", "Pong")


def test_a_cancelled_task_cancels_its_job(home, client):
    async def main():
        async with gpuemu.AsyncClient(str(home.socket)) as waiting:
            task = asyncio.create_task(waiting.run_tests(["twice"], cases=5000))
            while client.status().jobs_running == 0:
                await asyncio.sleep(0.02)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(main())
    assert_no_job_left(client)


def assert_no_job_left(client):
    deadline = time.monotonic() + 10
    while client.status().jobs_running and time.monotonic() < deadline:
        time.sleep(0.05)
    assert client.status().jobs_running == 0


def test_ctrl_c_cancels_the_job_in_the_daemon(home, client):
    # Who starts tests in the background has SIGINT ignored, and every child with it.
    program = ("import signal; signal.signal(signal.SIGINT, signal.default_int_handler); import gpuemu; "
               f"gpuemu.Client({str(home.socket)!r}).run_tests(['twice'], cases=5000, progress=True)")
    run = subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.PIPE, text=True,
                           env={**home.env, "PYTHONPATH": str(ROOT / "python")})
    while client.status().jobs_running == 0:
        assert run.poll() is None, run.stderr.read()
        time.sleep(0.02)
    run.send_signal(signal.SIGINT)
    assert "KeyboardInterrupt" in run.communicate(timeout=20)[1]
    assert_no_job_left(client)


def test_a_client_goes_on_after_the_daemon_was_restarted(new_home):
    home = new_home(client_project())
    home.start()
    client = gpuemu.Client(str(home.socket), timeout_ms=10000)
    before = client.status().pid
    home.stop()
    home.start()
    assert client.status().pid != before
    client.close()
    assert client.ping()["protocol_version"] == 1  # Closed is not the end.


def test_no_daemon_is_told_at_once_with_what_to_do(tmp_path):
    start = time.monotonic()
    with pytest.raises(gpuemu.ConnectionError, match="Start it with: gpuemu daemon start"):
        gpuemu.Client(str(tmp_path / "none.sock")).ping()
    assert time.monotonic() - start < 5
    with pytest.raises(ConnectionError):  # The builtin one, which programs catch already.
        gpuemu.connect(str(tmp_path / "none.sock"), start=False)


def test_something_that_never_answers_is_a_timeout(tmp_path):
    pynng = pytest.importorskip("pynng")
    with pynng.Rep0(listen=f"ipc://{tmp_path}/other.sock"):
        with pytest.raises(gpuemu.TimeoutError, match="Ping had no reply within 300 ms"):
            gpuemu.Client(f"{tmp_path}/other.sock", timeout_ms=300).ping()


@pytest.mark.parametrize("answer", [b"\xff", b"[1]", b'{"type": "Pong", "protocol_version": 2}', b'{"type": "Ok"}'])
def test_something_that_is_no_daemon_is_a_protocol_error(tmp_path, answer):
    pynng = pytest.importorskip("pynng")
    with pynng.Rep0(listen=f"ipc://{tmp_path}/other.sock") as other:
        thread = threading.Thread(target=lambda: (other.recv(), other.send(answer)))
        thread.start()
        with pytest.raises(gpuemu.ProtocolError):
            gpuemu.Client(f"{tmp_path}/other.sock", timeout_ms=5000).ping()
        thread.join()


def test_the_default_client_starts_a_daemon(new_home):
    home = new_home(client_project())
    program = "import gpuemu; print(gpuemu.Client().status().pid)"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, cwd=home.project,
                         env={**home.env, "PYTHONPATH": str(ROOT / "python")})
    assert run.returncode == 0, run.stderr
    assert int(run.stdout) == home.daemon_pid()


def test_the_default_client_has_the_daemon_serve_its_own_project(new_home):
    home = new_home({place + name: text for place in ("", "other/") for name, text in client_project().items()})
    program = "import gpuemu; print(gpuemu.Client().status().config_path)"
    for folder in (home.project, home.project / "other", home.project / "other"):
        run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, cwd=folder,
                             env={**home.env, "PYTHONPATH": str(ROOT / "python")})
        assert run.stdout.strip() == str(folder / "gpuemu.toml"), run.stderr


def test_without_a_program_to_start_the_error_says_so(tmp_path):
    program = "import gpuemu; gpuemu.Client().ping()"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60,
                         env={"PATH": "/nowhere", "HOME": str(tmp_path), "PYTHONPATH": str(ROOT / "python")})
    assert run.returncode == 1 and "set GPUEMU_CLI" in run.stderr, run.stderr


def test_a_fork_of_a_connected_process_is_told_what_to_do(home):
    program = f"""
import os, gpuemu
client = gpuemu.Client({str(home.socket)!r}, timeout_ms=10000)
client.ping()
if os.fork() == 0:
    try:
        client.ping()
    except gpuemu.ConnectionError as error:
        os._exit("spawn" in str(error))
    os._exit(7)
print(os.waitstatus_to_exitcode(os.wait()[1]), client.ping()["protocol_version"])
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60,
                         env={**home.env, "PYTHONPATH": str(ROOT / "python")})
    assert run.stdout.strip() == "1 1", run.stderr


def test_importing_brings_no_framework():
    program = "import sys, gpuemu; print([m for m in ('torch', 'jax', 'tensorflow', 'pynng', 'asyncio') if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                         env={"PATH": "/usr/bin", "PYTHONPATH": str(ROOT / "python")})
    assert run.stdout.strip() == "[]", run.stderr
