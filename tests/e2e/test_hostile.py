"""Attacks on the daemon: each gets an answer that names what is wrong, and the daemon goes on serving."""
import base64
import json
import os
import pathlib
import select
import socket
import struct
import time

import pytest

from projects import client_project
from wire_client import REQ, frame, handshake, tensor

U64 = 2**64 - 1


@pytest.fixture(scope="module")
def home(new_home):
    instance = new_home(client_project())
    instance.pid = instance.start()
    return instance


@pytest.fixture(autouse=True)
def the_daemon_goes_on_serving(request):
    yield
    if "home" in request.fixturenames:
        served = request.getfixturevalue("home")
        assert served.ask("Ping")["type"] == "Pong"
        assert served.daemon_pid() == served.pid, "the daemon was replaced"


def check_error(reply, code, *mentions):
    assert reply["type"] == "Error" and reply["code"] == code, reply
    for text in mentions:
        assert text in reply["message"], reply["message"]


# --- messages ------------------------------------------------------------------------------------

MALFORMED = {
    "empty": b"",
    "blank": b"  \n ",
    "cut": b'{"type": "Pi',
    "two objects": b'{"type": "Ping"}{"type": "Ping"}',
    "trailing comma": b'{"type": "Ping",}',
    "single quotes": b"{'type': 'Ping'}",
    "NaN": b'{"type": "GetResult", "seed": NaN}',
    "deep arrays": b"[" * 100_000,
    "deep objects": b'{"a":' * 100_000,
    "deep inside": b'{"type": "Ping", "x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "invalid UTF-8": b'{"type": "Ping\xff\xfe"}',
    "lone continuation": b'{"type": "ListResults", "limit": 1, "op_name": "\x80"}',
    "surrogate": b'{"type": "\\ud800"}',
    "UTF-16": '{"type": "Ping"}'.encode("utf-16"),
    "zeros": b"\0" * 1000,
    "an array": b"[]",
    "a number": b"12",
    "a string": b'"Ping"',
    "null": b"null",
    "no type": b"{}",
    "wrong case": b'{"type": "ping"}',
    "unknown type": b'{"type": "Pwn"}',
    "type is a number": b'{"type": 7}',
    "type is null": b'{"type": null}',
    "type is an object": b'{"type": {"type": "Ping"}}',
    "unterminated string": b'{"type": "Ping',
    "backslash at the end": b'{"type": "Ping\\',
    "many values": b'{"type": "Ping", "x": [' + b"0," * 1_000_000 + b"]}",
}


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_messages_are_invalid_requests(home, name):
    with home.client() as client:
        check_error(client.ask(MALFORMED[name]), "InvalidRequest")
        assert client.ask("Ping")["type"] == "Pong", "the connection must stay usable"


CONFIG = {"seed": 1, "shape_options": {"batch_sizes": [1], "seq_lengths": [1], "hidden_dims": [4],
                                       "edge_cases": []},
          "dtypes": ["float32"], "layouts": ["Contiguous"]}
GOOD = {
    "ValidateOp": {"op_name": "scale", "inputs": {"x": tensor([1.0])}, "output": tensor([2.0])},
    "SubmitOutput": {"op_name": "scale", "inputs": {"x": tensor([1.0])}, "output": tensor([2.0]), "seed": 1},
    "GetResult": {"seed": 1},
    "ListResults": {"limit": 1},
    "ListFailures": {"limit": 1},
    "StoreFailure": {"seed": 1, "op_name": "o", "failures": [{"kind": "DataRace", "message": "m"}], "program_folder": "/f"},
    "StoreBaseline": {"tag": "t"},
    "CompareBaseline": {"tag": "t"},
    "FuzzOp": {"op_name": "twice", "fuzz_config": CONFIG, "iterations": 1, "fail_fast": False},
    "GetCorpus": {"op_name": "twice"},
    "StoreResults": {"results": []},
    "FinishFuzz": {"op_name": "twice", "failures": []},
    "FinishTests": {"seed": 1, "reports": []},
    "Reproduce": {"seed": 1},
    "Minimize": {"seed": 1, "strategy": "BinarySearchDims", "max_iters": 1},
    "LintKernel": {"ptx_content": ""},
    "StoreArtifactBaseline": {"tag": "t"},
    "DiffArtifactBaseline": {"tag": "t"},
    "GetArtifact": {"kernel_name": "k"},
    "GetBaseline": {"tag": "t"},
    "DeleteBaseline": {"tag": "t"},
    "ExportCase": {"seed": 1},
    "Mutate": {"op_name": "twice"},
    "CompareKernels": {"before": "/b.ptx", "after": "/a.ptx"},
    "GetTestCase": {"op_name": "scale", "fuzz_config": CONFIG},
    "GetTestBatch": {"op_name": "scale", "fuzz_config": CONFIG, "count": 1},
    "JobStatus": {"job_id": 1},
    "JobCancel": {"job_id": 1},
    "StorageBackup": {"path": "relative"},
}
WRONG = {str: [7, None, True, [], {}], int: ["7", -1, 1.5, 2**64, -2**63, 1e300, None, [], {}],
         bool: [1, "true", None], dict: [[], "x", 3, None], list: [{}, "x", 3, None]}


@pytest.mark.parametrize("request_type", GOOD)
def test_missing_and_wrongly_typed_members_are_named(home, request_type):
    good = GOOD[request_type]
    with home.client() as client:
        for name, value in good.items():
            missing = {key: other for key, other in good.items() if key != name}
            check_error(client.ask(request_type, **missing), "InvalidRequest", request_type, name)
            for wrong in WRONG[type(value)]:
                if (name, wrong) == ("kernel_name", None):
                    continue
                check_error(client.ask(request_type, **{**good, name: wrong}), "InvalidRequest",
                            request_type, name)


@pytest.mark.parametrize("text", ["18446744073709551616", "1e400", "-0.5", "0x10", "01", "9" * 5000])
def test_numbers_out_of_range_are_refused(home, text):
    check_error(home.ask(b'{"type": "GetResult", "seed": %s}' % text.encode()), "InvalidRequest")


BAD_TENSORS = {
    "negative size": ({"shape": [-1]}, "-1"),
    "overflowing shape": ({"shape": [2**40, 2**40]}, "1099511627776"),
    "overflow to zero": ({"shape": [2**32, 2**32]}, "4294967296"),
    "too many bytes": ({"shape": [2**40]}, "1099511627776"),
    "size beyond int64": ({"shape": [2**63]}, "shape"),
    "overflow beside zero": ({"shape": [0, 2**62, 2**62], "data": ""}, None),
    "rank 10000": ({"shape": [1] * 10_000}, "shape"),
    "fraction": ({"shape": [1.5]}, "shape"),
    "shape is a string": ({"shape": "2"}, "shape"),
    "too little data": ({"data": "AACA"}, "4 bytes"),
    "too much data": ({"data": "AACAPwAAgD8="}, "8 bytes"),
    "no data": ({"data": ""}, "4 bytes"),
    "not base64": ({"data": "AACA*w=="}, "base64"),
    "url base64": ({"data": "AACA-_=="}, "base64"),
    "no padding": ({"data": "AACAPw"}, "base64"),
    "white space": ({"data": "AACA Pw="}, "base64"),
    "padding inside": ({"data": "AA==AACA"}, "base64"),
    "bits left over": ({"data": "AACAPx=="}, "base64"),
    "data is a list": ({"data": [1]}, "data"),
    "data is null": ({"data": None}, "data"),
    "complex": ({"dtype": "complex64"}, "complex64"),
    "big-endian": ({"dtype": ">f4"}, ">f4"),
    "upper case": ({"dtype": "Float32"}, "Float32"),
    "strides are text": ({"strides": "x"}, "strides"),
}


@pytest.mark.parametrize("name", BAD_TENSORS)
@pytest.mark.parametrize("member", ["inputs", "output"])
def test_bad_tensors_are_refused_with_the_reason(home, name, member):
    change, mention = BAD_TENSORS[name]
    bad = {**tensor([1.0]), **change}
    x, output = (bad, tensor([1.0])) if member == "inputs" else (tensor([1.0]), bad)
    reply = home.ask("ValidateOp", op_name="scale", inputs={"x": x}, output=output, kwargs={})
    if mention is None:
        # 0 elements whatever the other sizes are: either answer is right, a crash is not.
        assert reply["type"] in ("ValidationResult", "Error")
    else:
        check_error(reply, "InvalidRequest", mention)


HUGE = {"batch_sizes": [2**40], "seq_lengths": [2**40], "hidden_dims": [1], "edge_cases": []}


@pytest.mark.parametrize("changes, mention", [
    ({"shape_options": HUGE}, "1099511627776"),
    ({"shape_options": {**HUGE, "batch_sizes": [2048], "seq_lengths": [1024], "hidden_dims": [1024]}}, "512 MiB"),
    ({"shape_options": {**HUGE, "batch_sizes": [-5]}}, "-5"),
    ({"shape_options": {**HUGE, "batch_sizes": []}}, "batch_sizes"),
    ({"dtypes": []}, "dtypes"),
    ({"dtypes": ["float128"]}, "float128"),
    ({"layouts": []}, "layouts"),
    ({"layouts": ["Diagonal"]}, "Diagonal"),
    ({"op_schema": {"name": "s", "dims": [{"name": "N", "candidates": [2**40]}],
                    "inputs": [{"name": "x", "dims": ["N", "N"]}]}}, "1099511627776"),
    ({"op_schema": {"name": "s", "dims": "N", "inputs": []}}, "op_schema.dims"),
])
def test_bad_fuzz_configurations_are_refused(home, changes, mention):
    config = {**CONFIG, **changes}
    for request in ("GetTestCase", "GetTestBatch", "FuzzOp"):
        reply = home.ask(request, op_name="good", fuzz_config=config, count=2, iterations=2, fail_fast=False)
        check_error(reply, "InvalidRequest", mention)


def test_a_batch_that_no_reply_can_hold_is_refused_before_it_is_made(home):
    shapes = {"batch_sizes": [512], "seq_lengths": [1024], "hidden_dims": [1024], "edge_cases": []}
    before = time.monotonic()
    for count in (1, 10_000):
        reply = home.ask("GetTestBatch", op_name="scale", fuzz_config={**CONFIG, "shape_options": shapes},
                         count=count)
        check_error(reply, "InvalidRequest", "smaller sizes")
    shapes["batch_sizes"] = [64]
    reply = home.ask("GetTestBatch", op_name="scale", fuzz_config={**CONFIG, "shape_options": shapes}, count=9)
    check_error(reply, "InvalidRequest", "fewer cases")
    check_error(home.ask("GetTestBatch", op_name="scale", fuzz_config=CONFIG, count=U64), "InvalidRequest",
                "10000")
    check_error(home.ask("FuzzOp", op_name="twice", fuzz_config=CONFIG, iterations=U64, fail_fast=False),
                "InvalidRequest", str(U64))
    assert time.monotonic() - before < 10


def test_empty_and_odd_names_are_refused_by_name(home):
    for name in ("", "../../etc/passwd", "scale\0", "é\n\"", "x" * 100_000):
        reply = home.ask("ValidateOp", op_name=name, inputs={}, output=tensor([1.0]))
        check_error(reply, "OpNotFound", "scale")
    check_error(home.ask("StoreBaseline", tag=""), "InvalidRequest", "tag")
    odd = "a:b/../c\n\0" + "é" * 1000
    assert home.ask("StoreBaseline", tag=odd)["type"] == "Ok"
    assert home.ask("CompareBaseline", tag=odd)["baseline_tag"] == odd


def test_an_input_the_op_does_not_have_is_the_references_to_judge(home):
    reply = home.ask("ValidateOp", op_name="named", inputs={"z": tensor([1.0])}, output=tensor([1.0]))
    check_error(reply, "ReferenceScriptFailed", "ref_named.py", "`x`")


def test_fuzz_configurations_of_our_own_narrow_the_op(home):
    own = {"iterations": 6, "min_shape": [7], "max_shape": [9], "layouts": ["contiguous"], "seed": 3}
    reply = home.ask("FuzzOp", op_name="tripled", config=own)
    assert reply["total"] == 6 and reply["failed"] > 0
    assert all(7 <= one["repro_info"]["shape"][0] <= 9 for one in reply["failures"])
    for change, mention in (({"min_shape": [1, 2]}, "min_shape"), ({"min_shape": [301]}, "301"),
                            ({"max_shape": [0]}, "'n'"), ({"layouts": ["transposed"]}, "layouts"),
                            ({"max_shape": [-1]}, "'n'")):
        check_error(home.ask("FuzzOp", op_name="tripled", config={**own, **change}), "InvalidRequest", mention)
    check_error(home.ask("FuzzOp", op_name="twice", config=own, fuzz_config=CONFIG), "InvalidRequest", "both")
    check_error(home.ask("FuzzOp", op_name="twice"), "InvalidRequest")


# --- sockets -------------------------------------------------------------------------------------

def raw(home):
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(20)
    connection.connect(str(home.socket))
    return connection


PEERS = {
    "says nothing and leaves": [],
    "half a handshake": [b"\0SP"],
    "another protocol": [handshake(0x10)],
    "no SP at all": [b"GET / HTTP/1.1\r\nHost: gpuemu\r\n\r\n"],
    "half a header": [handshake(REQ), b"\x01\0\0\0"],
    "half a message": [handshake(REQ), frame(b'{"type": "Ping"}')[:-5]],
    "no request id": [handshake(REQ), struct.pack(">BQ", 1, 0)],
    "id without its bit": [handshake(REQ), frame(b'{"type": "Ping"}', 1)],
    "unknown kind of message": [handshake(REQ), b"\x07" + b"\0" * 20],
    "claims an exabyte": [handshake(REQ), struct.pack(">BQI", 1, 2**60, 0x80000001) + b"x" * 1000],
    "claims 2^64 - 1": [handshake(REQ), struct.pack(">BQI", 1, U64, 0x80000001)],
    "asks and leaves": [handshake(REQ), frame(b'{"type": "Ping"}')],
    "asks much and leaves": [handshake(REQ), frame(json.dumps(
        {"type": "FuzzOp", "op_name": "twice", "fuzz_config": CONFIG, "iterations": 50,
         "fail_fast": False}).encode())],
}


@pytest.mark.parametrize("name", PEERS)
def test_peers_that_misbehave_hurt_nobody(home, name):
    for _ in range(5):
        with raw(home) as connection:
            for part in PEERS[name]:
                try:
                    connection.sendall(part)
                except OSError:
                    break
    # NNG ends a listener when a peer leaves in the handshake; the daemon notices within two seconds.
    deadline = time.monotonic() + 10
    while True:
        try:
            with home.client(timeout=2) as client:
                assert client.ask("Ping")["type"] == "Pong"
            return
        except OSError:
            assert time.monotonic() < deadline, "no answer after ten seconds"


def processor_seconds(pid):
    """The CPU time that the process has used so far."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def test_peers_that_hang_up_at_once_leave_nothing_and_nobody_waits_for_them(home):
    home.ask("Ping")
    before = descriptors(home.pid)
    for _ in range(100):
        raw(home).close()
        time.sleep(0.02)
        with home.client(timeout=20) as client:
            assert client.ask("Ping")["type"] == "Pong"
    deadline = time.monotonic() + 20
    while descriptors(home.pid) > before + 5:  # Each client left 3 open.
        assert time.monotonic() < deadline, (before, descriptors(home.pid))
        time.sleep(0.1)
    computed, since = processor_seconds(home.pid), time.monotonic()
    time.sleep(2)
    assert processor_seconds(home.pid) - computed < 0.25 * (time.monotonic() - since), "the daemon computes though nobody asks"


def test_cases_beyond_the_memory_are_refused_before_they_are_made(home):
    """2048 x 1024 x 1024 is 2 Gi elements: their number is within a limit of 4 Gi, their bytes are not."""
    shapes = {"batch_sizes": [2048], "seq_lengths": [1024], "hidden_dims": [1024], "edge_cases": []}
    before, status = time.monotonic(), pathlib.Path(f"/proc/{home.pid}/status")
    reply = home.ask("FuzzOp", op_name="good", fuzz_config={**CONFIG, "shape_options": shapes}, iterations=1, fail_fast=False)
    check_error(reply, "InvalidRequest", "smaller sizes")
    most = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM")).split()[1]
    assert int(most) < 2 << 20 and time.monotonic() - before < 30, (most, reply)  # KiB


@pytest.mark.parametrize("mebibytes", [8, pytest.param(64, marks=pytest.mark.slow)])
def test_a_large_message_is_answered(home, mebibytes):
    count = (mebibytes << 20) // 4
    data = base64.b64encode(bytes(count * 4)).decode()
    x = {"shape": [count], "strides": [4], "dtype": "float32", "data": data}
    with home.client(timeout=120) as client:
        result = client.ask("ValidateOp", op_name="scale", inputs={"x": x}, output=x, kwargs={})["result"]
    assert result["passed"] and result["error_stats"]["count"] == count


def test_garbage_of_64_mib_is_refused(home):
    with home.client(timeout=120) as client:
        check_error(client.ask(b"[" * (64 << 20)), "InvalidRequest", "deeper")
        check_error(client.ask(b'{"type":"' + b"x" * (64 << 20) + b'"}'), "InvalidRequest", "xxx")


def test_200_connections_at_once_are_all_answered(home):
    clients = [home.client() for _ in range(200)]
    for number, client in enumerate(clients):
        client.send({"type": "GetResult", "seed": 10**12 + number})
    for number, client in enumerate(clients):
        check_error(json.loads(client.reply_text()), "NotFound", str(10**12 + number))
        client.close()


def test_300_requests_that_wait_for_a_hanging_reference_leave_room_for_ping(new_home):
    files = client_project()
    files["gpuemu.toml"] = files["gpuemu.toml"].replace("cases = 4", "cases = 4\nreference_timeout_s = 1")
    files["ref_broken.py"] = "import time\ntime.sleep(100)\n"
    own = new_home(files)
    own.start()
    x = tensor([1.0])
    clients = [own.client() for _ in range(300)]
    for number, client in enumerate(clients):
        client.send({"type": "SubmitOutput", "op_name": "broken", "inputs": {"x": x}, "output": x,
                     "seed": number, "kwargs": {}})
    started = time.monotonic()
    assert own.ask("Ping", timeout=20)["type"] == "Pong"
    assert time.monotonic() - started < 5
    answered, _, _ = select.select([client.socket for client in clients], [], [], 30)
    first = next(client for client in clients if client.socket in answered)
    check_error(json.loads(first.reply_text()), "ReferenceScriptFailed", "ref_broken.py", "time limit")
    assert own.run("daemon", "stop").returncode == 0
    for client in clients:
        client.close()
