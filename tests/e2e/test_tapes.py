"""Tapes that a daemon runs: values, the order that follows from the tape alone, failures, sessions, traces."""
import base64
import json
import os
import random
import signal
import time

import numpy as np
import pytest

from conftest import ROOT
from projects import client_project

CONFIG = '[project]\nname = "tapes"\n[runtime]\nbackend = "emulator"\nworkers = 2\nmemory_limit_mb = 1\n'
BINARY = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "matmul": np.matmul}


@pytest.fixture(scope="module")
def home(new_home):
    made = new_home({"gpuemu.toml": CONFIG})
    made.start()
    return made


@pytest.fixture
def session(home):
    """A connection with a session of its own: ask(type, **members)."""
    with home.client() as client:
        opened = client.ask("OpenSession", name=f"s{time.monotonic_ns()}")

        def ask(kind, **members):
            return client.ask(kind, session=opened["session"], **members)

        ask.name, ask.secret = opened["name"], opened["session"]
        yield ask
        client.ask("CloseSession", session=opened["session"])


def entry(name, op, *inputs, shape=(4, 4), **attrs):
    return {"id": name, "op": op, "inputs": list(inputs), "shape": list(shape), "dtype": "float32", "attrs": attrs}


def leaf(name, array):
    data = base64.b64encode(array.astype("<f4").tobytes()).decode()
    return entry(name, "tensor", shape=array.shape, data=data)


def drop(name):
    return {"op": "drop", "inputs": [name]}


def values_of(reply):
    assert reply["type"] == "Tensor", reply
    tensor = reply["tensor"]
    return np.frombuffer(base64.b64decode(tensor["data"]), "<f4").reshape(tensor["shape"])


def finished(ask):
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        status = ask("TapeStatus", wait_ms=5000)
        if status["done"] == status["total"]:
            return status
    raise AssertionError(status)


def random_tape(seed, count):
    """Entries, and the value of each tensor."""
    draw, entries, values = random.Random(seed), [], {}
    for number in range(count):
        name = f"t{number}"
        if len(values) < 2 or draw.random() < 0.2:
            array = np.random.default_rng(draw.getrandbits(32)).uniform(-1, 1, (8, 8)).astype(np.float32)
            entries.append(leaf(name, array))
            values[name] = array
            continue
        op, a, b = draw.choice(list(BINARY)), *draw.choices(list(values), k=2)
        entries.append(entry(name, op, a, b, shape=(8, 8)))
        with np.errstate(over="ignore", invalid="ignore"):
            values[name] = BINARY[op](values[a].astype(np.float64), values[b].astype(np.float64))
    return entries, values


def replanned(home, trace):
    (home.project / "trace.json").write_text(json.dumps(trace))
    planned = home.run("trace", "plan", "trace.json")
    assert planned.returncode == 0, planned.stderr
    return json.loads(planned.stdout)


def test_random_tapes_give_numpys_values_and_a_plan_of_their_trace_the_same_queue(home, session):
    for seed in range(3):
        entries, values = random_tape(seed, 40)
        for one in entries:
            if one["id"]:
                one["id"] = f"r{seed}{one['id']}"
                one["inputs"] = [f"r{seed}{name}" for name in one["inputs"]]
        accepted = session("SubmitTape", entries=entries)
        assert accepted["type"] == "TapeAccepted" and accepted["last_seq"] - accepted["first_seq"] == 39, accepted
        for name, expected in values.items():
            got = values_of(session("FetchTensor", id=f"r{seed}{name}"))
            scale = np.abs(expected).max() or 1
            np.testing.assert_allclose(got / scale, expected / scale, atol=2e-4, err_msg=name)
    status = finished(session)
    assert status["total"] == status["done"] == 120 and status["failed"] == 0
    trace = home.ask("GetTrace")["trace"]
    assert not trace["simulated"] and [one["worker_id"] for one in trace["devices"]] == ["local-0", "local-1"]
    assert replanned(home, trace)["output_queue"] == trace["output_queue"]
    assert {line["device"] for line in trace["output_queue"] if line["kind"] == "run"} == {0, 1}
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.validate(trace, json.loads((ROOT / "docs/schemas/trace.schema.json").read_text()))


def test_tensors_that_do_not_fit_are_spilled_and_come_back(home, session):
    arrays = [np.full((256, 256), float(number), np.float32) for number in range(12)]  # 256 KiB each, of 1 MiB.
    entries = [leaf(f"x{number}", array) for number, array in enumerate(arrays)]
    entries += [entry(f"y{number}", "add", f"x{number}", f"x{11 - number}", shape=(256, 256)) for number in range(12)]
    assert session("SubmitTape", entries=entries)["type"] == "TapeAccepted"
    for number in range(12):
        assert (values_of(session("FetchTensor", id=f"y{number}")) == 11).all()
        assert (values_of(session("FetchTensor", id=f"x{number}")) == number).all()
    trace = session("GetTrace")["trace"]
    assert trace["totals"]["spills"] > 0 and {one["session"] for one in trace["handles"]} == {session.name}
    assert replanned(home, home.ask("GetTrace")["trace"])["output_queue"] == home.ask("GetTrace")["trace"]["output_queue"]


@pytest.mark.parametrize("wrong, said", [
    (entry("b", "nosuch", "a"), "nosuch"),
    (entry("b", "relu", "missing"), "missing"),
    (entry("a", "ones"), "'a' before"),
    (entry("b", "add", "a", "a", shape=(5, 5)), "broadcast"),
    (entry("b", "matmul", "a"), "inputs"),
    (entry("b", "softmax", "a", colour=1), "colour"),
    (entry("b", "tensor", data="AAAA"), "64"),
    ({"op": "drop", "inputs": []}, "one input"),
    (entry("b", "linear_bwd", "a", "a", "a"), "'outputs'"),
    (entry("b", "linear_bwd", "a", "a", "a", outputs=[{"shape": [4, 4], "dtype": "float32"}] * 3, output=3), "from 0 to 2"),
    (entry("b", "linear_bwd", "a", "a", "a", outputs=[{"shape": [4], "dtype": "float32"}] * 3, output=0), "is not the entry's"),
    (entry("b", "linear_bwd", "a", "a", "a", outputs=[{"shape": [4, 4], "dtype": "half"}] * 3, output=0), "shape and dtype"),
    (entry("b", "relu", "a", inputs_as=[[2, 7]]), "other elements"),
    (entry("b", "relu", "a", inputs_as=[[-4, -4]]), "list of sizes"),
    (entry("b", "relu", "a", inputs_as=[]), "each of 1 inputs"),
])  # fmt: skip
def test_a_tape_with_a_wrong_entry_is_refused_as_a_whole(session, wrong, said):
    refused = session("SubmitTape", entries=[entry("a", "ones"), wrong])
    assert refused["type"] == "Error" and refused["code"] == "InvalidRequest", refused
    assert "entry 1 of the tape" in refused["message"] and said in refused["message"], refused
    assert session("TapeStatus")["total"] == 0
    assert session("SubmitTape", entries=[entry("a", "ones")])["type"] == "TapeAccepted"
    assert session("SubmitTape", entries=[])["code"] == session("SubmitTape")["code"] == "InvalidRequest"


def test_what_follows_from_a_failed_op_has_its_error_and_other_ops_go_on(session):
    huge = entry("huge", "ones", shape=(1024, 1024))
    entries = [entry("a", "ones"), huge, entry("b", "relu", "huge", shape=(1024, 1024)), {"op": "fetch", "inputs": ["b"]},
               entry("c", "add", "a", "a")]  # fmt: skip
    assert session("SubmitTape", entries=entries)["type"] == "TapeAccepted"
    assert (values_of(session("FetchTensor", id="c")) == 2).all()
    errors = [session("FetchTensor", id=name) for name in ("huge", "b")]
    assert [one["code"] for one in errors] == ["LimitExceeded"] * 2 and errors[0]["message"] == errors[1]["message"]
    assert "huge" in errors[0]["message"]
    assert finished(session) == {"type": "TapeStatus", "done": 5, "total": 5, "failed": 3}
    states = {one["id"]: one["state"] for one in session("GetTrace", layers=["handles"])["trace"]["handles"]}
    assert states == {"a": "ready", "huge": "failed", "b": "failed", "c": "ready"}


def test_a_dropped_tensor_is_freed_and_was_fetched_before(session):
    entries = [entry("a", "ones"), entry("b", "add", "a", "a"), drop("a"), {"op": "fetch", "inputs": ["b"]}, drop("b"), entry("c", "ones")]
    session("SubmitTape", entries=entries)
    finished(session)
    assert (values_of(session("FetchTensor", id="c")) == 1).all()
    assert (values_of(session("FetchTensor", id="b")) == 2).all()
    refused = session("FetchTensor", id="a")
    assert refused["code"] == "NotFound" and "dropped" in refused["message"]
    assert session("FetchTensor", id="z")["code"] == "NotFound"
    assert session("SubmitTape", entries=[entry("d", "relu", "a")])["code"] == "InvalidRequest"
    assert session("SubmitTape", entries=[entry("a", "ones")])["code"] == "InvalidRequest"


def test_an_op_of_several_tensors_and_inputs_in_other_shapes(session):
    x, w, dy = (np.random.default_rng(seed).uniform(-1, 1, shape).astype(np.float32) for seed, shape in enumerate([(6, 4), (3, 4), (6, 3)]))
    outputs = [{"shape": list(shape), "dtype": "float32"} for shape in ((6, 4), (3, 4), (3,))]
    entries = [leaf("x", x.reshape(4, 6)), leaf("w", w), leaf("dy", dy)]
    entries += [entry(name, "linear_bwd", "x", "w", "dy", shape=outputs[at]["shape"], outputs=outputs, output=at, inputs_as=[[6, 4], None, None])
                for at, name in enumerate(("dx", "dw", "db"))]  # fmt: skip
    accepted = session("SubmitTape", entries=entries)
    assert accepted["type"] == "TapeAccepted", accepted
    for name, expected in (("dx", dy @ w), ("dw", dy.T @ x), ("db", dy.sum(0))):
        np.testing.assert_allclose(values_of(session("FetchTensor", id=name)), expected, rtol=1e-5, atol=1e-6)


def test_random_values_follow_from_their_seed(session):
    session("SubmitTape", entries=[entry("a", "randn", shape=(64, 64), seed=7), entry("b", "randn", shape=(64, 64), seed=7),
                                   entry("c", "randn", shape=(64, 64))])  # fmt: skip
    a, b, c = (values_of(session("FetchTensor", id=name)) for name in "abc")
    assert (a == b).all() and not (a == c).all() and abs(a.mean()) < 0.1 and abs(a.std() - 1) < 0.1


def test_a_session_that_ends_frees_its_tensors_and_its_ids(home):
    for expected in ("ending", "ending #2"):
        with home.client() as client:
            opened = client.ask("OpenSession", name="ending")
            secret = opened["session"]
            chain = [entry("t0", "ones", shape=(64, 64))] + [entry(f"t{i}", "relu", f"t{i - 1}", shape=(64, 64)) for i in range(1, 500)]
            assert client.ask("SubmitTape", session=secret, entries=chain)["type"] == "TapeAccepted"
            assert client.ask("CloseSession", session=secret)["type"] == "Ok"
            assert client.ask("FetchTensor", session=secret, id="t0")["code"] == "SessionNotFound"
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            handles = [one for one in home.ask("GetTrace", name="ending")["trace"]["handles"] if one["session"] == expected]
            if len(handles) == 500 and all(one["state"] == "freed" and one["refs"] == 0 for one in handles):
                break
            time.sleep(0.1)
        else:
            raise AssertionError(handles[-3:])


def test_a_session_has_limits(home):
    with home.client() as client:
        secret = client.ask("OpenSession", name="limited", memory_limit_mb=1)["session"]
        huge = [entry(f"x{i}", "ones", shape=(256, 256)) for i in range(5)]
        refused = client.ask("SubmitTape", session=secret, entries=huge)
        assert refused["code"] == "LimitExceeded" and "memory_limit_mb" in refused["message"]
        assert client.ask("SubmitTape", session=secret, entries=huge[:4])["type"] == "TapeAccepted"
        many = [entry(f"y{i}", "ones", shape=()) for i in range(10_001)]
        assert client.ask("SubmitTape", session=secret, entries=many)["code"] == "LimitExceeded"
        assert client.ask("TapeStatus", session=secret)["total"] == 4


def test_killed_workers_lose_and_double_nothing(new_home):
    home = new_home(client_project())
    home.start()
    assert home.run("test", "twice").returncode == 0
    workers = home.children(home.daemon_pid())
    assert workers
    entries, values = random_tape(11, 300)
    with home.client() as client:
        assert client.ask("SubmitTape", entries=entries)["type"] == "TapeAccepted"
        assert client.ask("TapeStatus")["done"] < 300
        for worker in workers:
            os.kill(worker, signal.SIGKILL)
        for name, expected in values.items():
            scale = np.abs(expected).max() or 1
            np.testing.assert_allclose(values_of(client.ask("FetchTensor", id=name)) / scale, expected / scale, atol=2e-4, err_msg=name)
        assert finished(client.ask)["failed"] == 0
        queue = client.ask("GetTrace")["trace"]["output_queue"]
    assert sorted(line["id"] for line in queue if line["kind"] == "run") == sorted(values)


def test_the_command_line_and_python_show_the_trace(home, session, capsys):
    gpuemu = pytest.importorskip("gpuemu")
    session("SubmitTape", entries=[entry("a", "ones"), entry("b", "add", "a", "a")])
    finished(session)
    shown = home.run("trace", "live", "--session", session.name, "--layer", "output_queue")
    assert shown.returncode == 0, shown.stderr
    trace = json.loads(shown.stdout)
    assert [line["id"] for line in trace["output_queue"]] == ["a", "b"] and "ticks" not in trace
    assert home.run("trace", "live", "-o", "live.json").returncode == 0
    assert "add" in home.run("trace", "live.json").stdout
    assert home.run("trace", "live", "--session", "nobody").returncode == 2
    pytest.importorskip("pynng")
    with gpuemu.Client(str(home.socket)) as client:
        client.use_session(session.secret)
        client.submit_tape([entry("c", "relu", "b")])
        assert (client.fetch_tensor("c") == 2).all() and client.tape_status(1000)["total"] == 3
        client.print_input_tape()
        client.print_output_queue()
        client.print_handles()
        client.print_tick_trace()
        printed = capsys.readouterr().out
        for expected in ("c = relu(b)", "run c", "c of ", "tick "):
            assert expected in printed, printed
        path = client.save_debug_trace()
        assert path.startswith(str(home.home / ".gpuemu/debug/trace_")) and json.loads(open(path).read())["format"] == "gpuemu-trace"
        assert client.save_debug_trace(home.project / "own.json") == str(home.project / "own.json")


def queue_of(home, entries, **env):
    """The output queue of a daemon that ran this tape alone, and how long that took."""
    home.env |= env
    home.start()
    with home.client() as client:
        secret = client.ask("OpenSession", name="alice")["session"]
        begin = time.monotonic()
        assert client.ask("SubmitTape", session=secret, entries=entries)["type"] == "TapeAccepted"
        finished(lambda kind, **members: client.ask(kind, session=secret, **members))
        seconds = time.monotonic() - begin
        return client.ask("GetTrace")["trace"], seconds


@pytest.mark.parametrize("policy", ["balanced", "locality"])
def test_slow_ticks_give_the_same_queue(new_home, policy):
    entries, _ = random_tape(5, 30)
    config = CONFIG + f'[scheduler]\npolicy = "{policy}"\nseed = 1\n'
    fast, _ = queue_of(new_home({"gpuemu.toml": config}), entries)
    slow, seconds = queue_of(new_home({"gpuemu.toml": config}), entries, GPUEMU_TICK_MS="20")
    assert slow["output_queue"] == fast["output_queue"] and slow["policy"] == policy and slow["seed"] == 1
    assert seconds >= 0.02 * (len(slow["ticks"]) - 2)
    for tick in slow["ticks"]:
        devices = [line["device"] for line in slow["output_queue"] if line["pos"] in tick["started"] and line["device"] is not None]
        assert len(devices) == len(set(devices))
