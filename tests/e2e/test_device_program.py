"""gpuemu-device, the process behind gpuemu.Kernel: what it answers to streams and requests that no client of ours sends."""
import os
import pathlib
import subprocess

import pytest

gpuemu = pytest.importorskip("gpuemu")
ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("GPUEMU_BIN", ROOT / "build/release/bin"))


@pytest.fixture(autouse=True)
def program(monkeypatch):
    monkeypatch.setenv("GPUEMU_DEVICE", str(BIN / "gpuemu-device"))


@pytest.mark.parametrize("raw", [b"\xff" * 12, b"\x05\0\0\0" + b"\0" * 8 + b"null!", b"\x02\0\0\0" + b"\x09" + b"\0" * 7 + b"{}",
                                 b"\x01"])
def test_a_broken_stream_ends_the_process_with_a_message(raw):
    done = subprocess.run([BIN / "gpuemu-device"], input=raw, capture_output=True, timeout=30)
    assert done.returncode == 1 and done.stderr.startswith(b"gpuemu-device: ")


def test_wrong_requests_are_answered_and_do_no_harm():
    with gpuemu.Device() as device:
        for request, said in [({"request": "nothing"}, "unknown request 'nothing'"), ({}, "'request' must be a string"),
                              ({"request": "allocate"}, "'bytes' must be an integer"),
                              ({"request": "allocate", "bytes": -1}, "'bytes' must be an integer"),
                              ({"request": "allocate", "bytes": 2**63}, ""),
                              ({"request": "free", "address": 12345}, ""), ({"request": "upload", "address": 1}, ""),
                              ({"request": "download", "address": 0, "bytes": 2**60}, "the limit is"),
                              ({"request": "load"}, ""), ({"request": "open", "sm": "x"}, "'sm' must be"),
                              ({"request": "launch", "module": 9, "entry": "e", "grid": [1], "block": [1],
                                "arg_bytes": [8]}, "'arg_bytes' are more than the data's"),
                              ({"request": "launch", "entry": "e", "grid": [], "block": [1]}, "'grid' has 0 sizes")]:
            device.properties
            with pytest.raises(gpuemu.DeviceError) as caught:
                device._exchange(request)
            assert said in str(caught.value) and not isinstance(caught.value, gpuemu.DeviceLostError)
        assert device.allocate(4) > 0
