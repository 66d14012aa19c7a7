"""gpuemu-device, the process behind gpuemu.Kernel: what it answers to streams and requests that no client of ours sends."""
import json
import os
import pathlib
import struct
import subprocess

import pytest

gpuemu = pytest.importorskip("gpuemu")
pytestmark = pytest.mark.usefixtures("device_program")
ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("GPUEMU_BIN", ROOT / "build/release/bin"))


@pytest.mark.parametrize("raw", [b"\xff" * 12, b"\x02\0\0\0" + b"\x09" + b"\0" * 7 + b"{}",
                                 b"\x01"])
def test_a_broken_stream_ends_the_process_with_a_message(raw):
    done = subprocess.run([BIN / "gpuemu-device"], input=raw, capture_output=True, timeout=30)
    assert done.returncode == 1 and done.stderr.startswith(b"gpuemu-device: ")


def framed(text):
    return struct.pack("<IQ", len(text), 0) + text


@pytest.mark.parametrize("text, said", [(rb'{"request": "free", "name": "\ud800"}', "surrogate"), (b"null!", "parse error"),
                                        (b'{"request": "\xff"}', "UTF-8"), (b"[]", "not an object"), (b"", "parse error"),
                                        (b"[" * 100_000, "parse error")])
def test_json_that_is_no_request_is_answered_and_the_next_request_is_too(text, said):
    good = framed(json.dumps({"request": "open", "backend": "emulator"}).encode())
    done = subprocess.run([BIN / "gpuemu-device"], input=framed(text) + good, capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr
    replies, rest = [], done.stdout
    while rest:
        size, data = struct.unpack_from("<IQ", rest)
        replies.append(json.loads(rest[12 : 12 + size]))
        rest = rest[12 + size + data :]
    told = replies[0]["error"]
    assert told["code"] == "InvalidArgument" and said in told["message"], told
    assert len(replies) == 2 and replies[1]["backend"] == "emulator"


def test_wrong_requests_are_answered_and_do_no_harm():
    with gpuemu.Device() as device:
        for request, said in [({"request": "nothing"}, "unknown request 'nothing'"), ({}, "'request' must be a string"),
                              ({"request": "allocate"}, "'bytes' must be an integer"),
                              ({"request": "allocate", "bytes": -1}, "'bytes' must be an integer"),
                              ({"request": "allocate", "bytes": 2**63}, ""),
                              ({"request": "free", "address": 12345}, ""), ({"request": "upload", "address": 1}, ""),
                              ({"request": "download", "address": 0, "bytes": 2**60}, "the limit is"),
                              ({"request": "load"}, ""), ({"request": "open", "sm": "x"}, "'sm' must be"),
                              ({"request": "open", "sm": 12345},
                               "no architecture 'sm_12345' to emulate, expected sm_75, sm_80, sm_86, sm_89, sm_90, sm_100 or sm_120"),
                              ({"request": "open", "backend": "emulator", "sm": -1}, "no architecture 'sm_-1'"),
                              ({"request": "open", "backend": "emulator", "index": 7}, "no emulated device 7: there are 1"),
                              ({"request": "open", "backend": "emulator", "threads": 2**32 - 1}, "expected at most 1024"),
                              ({"request": "launch", "module": 9, "entry": "e", "grid": [1], "block": [1],
                                "arg_bytes": [8]}, "'arg_bytes' are more than the data's"),
                              ({"request": "launch", "entry": "e", "grid": [], "block": [1]}, "'grid' has 0 sizes")]:
            device.properties
            with pytest.raises(gpuemu.DeviceError) as caught:
                device._exchange(request)
            assert said in str(caught.value) and not isinstance(caught.value, gpuemu.DeviceLostError)
        assert device.allocate(4) > 0
