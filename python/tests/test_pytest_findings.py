"""Tests how pytest --gpuemu waits for the devices of the process."""

from types import SimpleNamespace

import pytest

from gpuemu.drop_in import pytest_findings


@pytest.mark.parametrize("push_code, expected", [(0, ["retain", "push", "wait", "pop", "release"]), (201, ["retain", "push", "release"])])
def test_a_context_that_could_not_be_pushed_is_not_popped(push_code, expected):
    calls = []

    def call(name, code=0):
        return lambda *_: calls.append(name) or code

    def set_to_one(*to):
        to[-1]._obj.value = 1
        return 0

    library = SimpleNamespace(cuDeviceGetCount=set_to_one, cuCtxGetCurrent=lambda _: 0, cuDevicePrimaryCtxGetState=set_to_one, cuCtxSynchronize=call("wait"),
                              cuDevicePrimaryCtxRetain=call("retain"), cuDevicePrimaryCtxRelease_v2=call("release"),
                              cuCtxPushCurrent_v2=call("push", push_code), cuCtxPopCurrent_v2=call("pop"))  # fmt: skip
    pytest_findings._wait_for_devices(library)
    assert calls == expected
