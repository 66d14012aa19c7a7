"""Tensors in memory of the client: the daemon reads what is there, refuses what is not and outlives whoever shares it."""
import asyncio
import os
import pathlib
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

from projects import client_project

ROOT = pathlib.Path(__file__).resolve().parents[2]
X = np.arange(40_000, dtype=np.float32).reshape(100, 400)
NAME = "gpuemu-shared-00112233445566778899aabbccddeeff"
WORDS = {"process": 1 << 22, "descriptor": 9, "name": NAME, "offset": 0, "bytes": X.nbytes}


@pytest.fixture(scope="module")
def home(new_home):
    instance = new_home({**client_project(), "ref_scale.py": "def reference(x, factor=2.0):\n    return x * factor\n"})
    instance.pid = instance.start()
    return instance


@pytest.fixture(autouse=True)
def the_daemon_goes_on_serving(request):
    yield
    if "home" in request.fixturenames:
        served = request.getfixturevalue("home")
        assert served.ask("Ping")["type"] == "Pong"
        assert served.daemon_pid() == served.pid, "the daemon was replaced"


@pytest.fixture
def memory():
    """A memfd with X and then 2 * X in it."""
    descriptor = os.memfd_create(NAME)
    os.pwrite(descriptor, X.tobytes() + (2 * X).tobytes(), 0)
    yield descriptor
    os.close(descriptor)


def tensor(descriptor, offset=0, **changes):
    where = {**WORDS, "process": os.getpid(), "descriptor": descriptor, "offset": offset, **changes}
    return {"shape": list(X.shape), "strides": [1600, 4], "dtype": "float32", "memory": where}


def judge(home, x, y):
    return home.ask("ValidateOp", op_name="scale", inputs={"x": x}, output=y, kwargs={})


def test_a_client_without_our_package_may_share_memory(home, memory):
    assert "shared_memory" in home.ask("Ping")["capabilities"]
    reply = judge(home, tensor(memory), tensor(memory, X.nbytes))
    assert reply["type"] == "ValidationResult" and reply["result"]["passed"], reply
    wrong = judge(home, tensor(memory), tensor(memory))["result"]
    assert not wrong["passed"] and wrong["failures"][0]["actual"] == 1 and wrong["failures"][0]["expected"] == 2, wrong["failures"]
    again = home.ask("Reproduce", seed=wrong["seed"])  # What was shared is stored like what was sent.
    assert again["inputs"]["x"]["shape"] == [100, 400]


LIES = {
    "more than there is": ({"bytes": X.nbytes, "offset": X.nbytes + 4}, "InvalidRequest", "has 320000 bytes"),
    "far behind the end": ({"offset": 2**64 - 1}, "InvalidRequest", "has 320000 bytes"),
    "another size than the shape": ({"bytes": X.nbytes - 4}, "InvalidRequest", "160000 bytes of data"),
    "all that 64 bits hold": ({"bytes": 2**64 - 1}, "InvalidRequest", "160000 bytes of data"),
    "negative": ({"offset": -1}, "InvalidRequest", "output.memory.offset"),
    "a path": ({"name": "gpuemu-shared-../../etc/passwd"}, "InvalidRequest", "expected 'gpuemu-shared-'"),
    "the daemon's own": ({"name": "gpuemu-arena"}, "InvalidRequest", "expected 'gpuemu-shared-'"),
    "no name": ({"name": None}, "InvalidRequest", "output.memory.name"),
    "another name": ({"name": NAME.replace("0", "1")}, "NotFound", "not a memory of that name"),
    "nobody's process": ({"process": 1 << 22}, "NotFound", "cannot be reached"),
    "another process": ({"process": 1}, "NotFound", "cannot be reached"),
    "nobody's descriptor": ({"descriptor": 1 << 20}, "NotFound", "cannot be reached"),
    "standard input": ({"descriptor": 0}, "NotFound", "not a memory of that name"),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_about_memory_is_told(home, memory, lie):
    changes, code, said = LIES[lie]
    reply = judge(home, tensor(memory), {**tensor(memory), "memory": {**tensor(memory)["memory"], **changes}})
    assert reply["type"] == "Error" and reply["code"] == code and said in reply["message"], reply


def test_neither_data_nor_memory_is_told(home, memory):
    bare = {key: value for key, value in tensor(memory).items() if key != "memory"}
    assert "output.data" in judge(home, tensor(memory), bare)["message"]
    assert "output.data" in judge(home, tensor(memory), {**bare, "memory": None})["message"]


def test_a_memory_that_shrinks_all_the_time_harms_nobody(home, memory):
    """A mapping of it would end the reader with SIGBUS."""
    done = threading.Event()

    def shrink():
        while not done.is_set():
            os.ftruncate(memory, 4096)
            os.ftruncate(memory, 2 * X.nbytes)

    owner = threading.Thread(target=shrink)
    owner.start()
    try:
        kinds = {judge(home, tensor(memory), tensor(memory, X.nbytes)).get("code", "judged") for _ in range(30)}
    finally:
        done.set()
        owner.join()
    assert kinds <= {"judged", "InvalidRequest"}, kinds


SHARER = """
import os, sys, time
descriptor = os.memfd_create(sys.argv[1])
os.ftruncate(descriptor, 320000)
print(os.getpid(), descriptor, flush=True)
time.sleep(600)
"""


def test_the_memory_of_a_client_that_was_killed_is_gone(home, memory):
    other = subprocess.Popen([sys.executable, "-c", SHARER, NAME], stdout=subprocess.PIPE, text=True)
    process, descriptor = map(int, other.stdout.readline().split())
    there = {**tensor(descriptor), "memory": {**WORDS, "process": process, "descriptor": descriptor}}
    assert not judge(home, tensor(memory), there)["result"]["passed"]  # It holds zeros.
    other.send_signal(signal.SIGKILL)
    other.wait()
    assert judge(home, tensor(memory), there)["code"] == "NotFound"
    holding = [one for pid in home.processes() for one in links(pid) if "gpuemu-shared" in one]
    assert not holding, "the daemon keeps memory of its clients"


def links(pid):
    found = []
    for one in pathlib.Path(f"/proc/{pid}/fd").glob("*"):
        try:
            found.append(os.readlink(one))
        except OSError:
            continue
    return found


# --- the Python client

@pytest.fixture
def gpuemu():
    pytest.importorskip("pynng")
    return pytest.importorskip("gpuemu")


def sent_by(client, monkeypatch):
    """The requests of a client as they are on the wire, noted."""
    import json

    from gpuemu.client import connection

    noted = []

    def dumps(value, **options):
        text = json.dumps(value, **options)
        noted.append(json.loads(text))
        return text

    stand_in = type("Json", (), {"dumps": staticmethod(dumps), "loads": staticmethod(json.loads)})
    monkeypatch.setattr(connection, "json", stand_in)
    return noted


def test_the_client_shares_large_arrays_and_nothing_else_changes(home, gpuemu, monkeypatch):
    with gpuemu.Client(str(home.socket)) as client, gpuemu.Client(str(home.socket), share=False) as plain:
        noted = sent_by(client, monkeypatch)
        for array in (X, X.T, X[::-1], X[:, ::3], X.astype(">f4"), (X / 8).astype(np.float16)):
            for factor in (2, 3):
                shared, sent = (one.validate_op("scale", {"x": array}, factor * array) for one in (client, plain))
                assert shared.passed == sent.passed == (factor == 2)
                assert (shared.max_diff, shared.failures, shared.error_stats) == (sent.max_diff, sent.failures, sent.error_stats)
        judged = [one for one in noted if one["type"] == "ValidateOp"]
        assert ["memory" in one["output"] for one in judged] == [True, False] * 12
        assert len({one["output"]["memory"]["name"] for one in judged[::2]}) == 1, "one memory serves one request after another"


def test_threads_and_tasks_do_not_get_into_each_others_memory(home, gpuemu):
    arrays = [np.full((50, 200), number, np.float32) for number in range(24)]
    with gpuemu.Client(str(home.socket)) as client:
        verdicts = [None] * len(arrays)

        def judge_one(number):
            verdicts[number] = client.validate_op("scale", {"x": arrays[number]}, 2 * arrays[number]).passed

        threads = [threading.Thread(target=judge_one, args=(number,)) for number in range(len(arrays))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert all(verdicts)

    async def together():
        async with gpuemu.AsyncClient(str(home.socket)) as waiting:
            return await asyncio.gather(*(waiting.validate_op("scale", {"x": one}, 2 * one) for one in arrays))

    assert all(verdict.passed for verdict in asyncio.run(together()))


def test_a_daemon_that_cannot_reach_the_memory_gets_the_arrays_as_text(home, gpuemu, monkeypatch):
    """It runs in another container, say, where the client has another number."""
    with gpuemu.Client(str(home.socket)) as client:
        noted = sent_by(client, monkeypatch)
        monkeypatch.setattr(os, "getpid", lambda real=os.getpid(): real if sys._getframe(1).f_code.co_name != "__init__" else 1 << 22)
        assert client.validate_op("scale", {"x": X}, 2 * X).passed
        assert client.validate_op("scale", {"x": X}, 2 * X).passed
        judged = ["memory" if "memory" in one["output"] else "data" for one in noted if one["type"] == "ValidateOp"]
        assert judged == ["memory", "data", "data"], "it is tried once"

    async def once():
        async with gpuemu.AsyncClient(str(home.socket)) as waiting:
            return await waiting.validate_op("scale", {"x": X}, 2 * X)

    assert asyncio.run(once()).passed


def test_a_daemon_that_knows_nothing_of_it_is_not_asked(home, gpuemu, monkeypatch):
    with gpuemu.Client(str(home.socket)) as client:
        client.ping()
        client.connection.capabilities -= {"shared_memory"}
        noted = sent_by(client, monkeypatch)
        assert client.validate_op("scale", {"x": X}, 2 * X).passed
        assert "data" in noted[-1]["output"] and "memory" not in noted[-1]["output"]


def test_a_closed_client_and_one_that_nobody_has_leave_no_memory(home, gpuemu):
    import gc

    before = len([one for one in links("self") if "gpuemu-shared" in one])
    for closes in (True, False):
        client = gpuemu.Client(str(home.socket))
        assert client.validate_op("scale", {"x": X}, 2 * X).passed
        assert len([one for one in links("self") if "gpuemu-shared" in one]) == before + 1
        if closes:
            client.close()
        del client
        gc.collect()
        assert len([one for one in links("self") if "gpuemu-shared" in one]) == before
