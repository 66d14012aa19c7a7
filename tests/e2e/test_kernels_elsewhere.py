"""Kernels of Python in other processes, and copied: pickle, multiprocessing, copy; and wrong sources, whose errors name the user's text alone."""
import copy
import gc
import multiprocessing
import os
import pathlib
import pickle

import numpy as np
import pytest

gpuemu = pytest.importorskip("gpuemu")
pytestmark = pytest.mark.usefixtures("device_program")

TWICE = """
template <typename T> __global__ void twice(T* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= 2;
}
"""


@pytest.fixture
def twice():
    return gpuemu.Kernel(TWICE, "twice<float>")


def run(kernel, count=8):
    """Also what another process runs: the values, and the id of the process."""
    x = np.arange(count, dtype=np.float32)
    kernel[1, 32](x, count)
    return x.tolist(), os.getpid()


def beyond(kernel):
    """The findings of a kernel that reaches outside of its array, in another process."""
    try:
        kernel[1, 32](np.zeros(4, np.float32), 8)
    except gpuemu.KernelError as error:
        return [(one.kind, one.tensor, one.line) for one in error.findings], pickle.dumps(error)
    raise AssertionError("nothing was found")


DOUBLED = [2.0 * i for i in range(8)]


@pytest.mark.parametrize("start", ["spawn", "forkserver"])
def test_a_kernel_runs_in_a_process_that_it_is_sent_to(twice, start):
    assert run(twice) == (DOUBLED, os.getpid())
    with multiprocessing.get_context(start).Pool(1) as pool:
        values, process = pool.apply(run, (twice,))
        findings, error = pool.apply(beyond, (twice,))
    assert values == DOUBLED and process != os.getpid()
    line = next(i for i, text in enumerate(pathlib.Path(__file__).read_text().splitlines(), 1) if "x[i] *= 2" in text)
    assert findings[0] == ("out_of_bounds", "x", line)
    assert "out_of_bounds" in {one.kind for one in pickle.loads(error).findings}


def test_pickle_keeps_what_the_kernel_was_made_with(tmp_path):
    with gpuemu.Device("emulator", arch="sm_90", threads=1, memory_limit_bytes=1 << 20) as device:
        made = gpuemu.Kernel(TWICE, "twice<float>", device=device, checks=("memory",), timeout_ms=7000)
        run(made)
        again, other = pickle.loads(pickle.dumps((made, made)))
    assert again is other and again.ptx == made.ptx and again.entry in again.module.entries.values()
    assert (again.checks, again.timeout_ms, again.names) == (("memory",), 7000, ["x", "n"])
    assert again.device is not device and again.device.properties["sm"] == 90
    with again.device:
        assert run(again)[0] == DOUBLED
        with pytest.raises(gpuemu.LaunchError, match="memory"):
            again[1, 32](np.zeros(1 << 20, np.float32), 8)


def test_kernels_of_the_shared_device_share_it_again(twice):
    again = pickle.loads(pickle.dumps(twice))
    assert again.device is twice.device and again.module is not twice.module
    assert run(again)[0] == DOUBLED and run(twice)[0] == DOUBLED


@pytest.mark.parametrize("how", [copy.copy, copy.deepcopy])
def test_a_copy_is_a_kernel_of_its_own_on_the_same_device(twice, how):
    made = how(twice)
    assert made is not twice and made.device is twice.device
    run(twice)
    with pytest.raises(gpuemu.KernelError):
        beyond_array = np.zeros(4, np.float32)
        made[1, 32](beyond_array, 8)
    assert made.report.findings and not twice.report.findings
    del twice
    gc.collect()
    assert run(made)[0] == DOUBLED


def test_what_pickle_made_is_unloaded_when_nobody_has_it(twice):
    run(twice)
    device = twice.device
    copies = [pickle.loads(pickle.dumps(twice)) for _ in range(3)]
    numbers = {one.module.number for one in copies if run(one)}
    assert len(numbers) == 3 and twice.module.number not in numbers
    del copies
    gc.collect()
    assert {one["number"] for one in device._dropped} == numbers
    assert run(twice)[0] == DOUBLED and not device._dropped


def test_an_open_device_goes_as_its_options():
    with gpuemu.Device("emulator", arch="sm_75") as device:
        device.allocate(64)
        again = pickle.loads(pickle.dumps(device))
        assert copy.deepcopy({"device": device})["device"] is device
    with again:
        assert again is not device and again.properties["sm"] == 75


@pytest.mark.parametrize("entry, said", [("twice<flot>", "'twice<flot>'.*identifier \"flot\" is undefined"),
                                         ("twic<float>", "no entry 'twic<float>'; the source has: twice<...>")])
def test_a_wrong_entry_is_told_in_the_words_of_the_user(entry, said):
    with pytest.raises(gpuemu.DeviceError, match=said) as refusal:
        gpuemu.Kernel(TWICE, entry)
    assert "gpuemu_" not in str(refusal.value) and "/tmp" not in str(refusal.value)


def test_a_source_without_a_kernel_is_told():
    with pytest.raises(gpuemu.LaunchError, match="has no kernel: expected a function that is __global__"):
        gpuemu.Kernel("int f() { return 1; }\n")
