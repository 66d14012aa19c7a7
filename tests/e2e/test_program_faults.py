"""Faults of kernels that only a later wait reports: the error names the op of the program, and the line that wrote it."""
import gc
import weakref

import numpy as np
import pytest

from test_programs import device, gpuemu, program, runtime  # noqa: F401
from gpuemu.program.executor import Executor
from gpuemu.runtime import issuers
from gpuemu.runtime.issuers import RECENT_MAX

# Reads x[x[i]]: a fault that depends on the content of x.
SOURCE = 'extern "C" __global__ void pick(const float* x, float* y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = x[(int)x[i]]; }'
PICK = {"op": "gelu", "name": "pick", "source": SOURCE, "launches": [runtime.Launch("pick", "cdiv(x.count, 64)", 64, ["x", "y", "i32:x.count"])], "types": {"T": ["float32"]}}
BAD, GOOD = np.full(10, 1000, np.float32), np.zeros(10, np.float32)
SAID = r"^op %d, gelu, written at .*test_program_faults\.py:\d+: reads 4 bytes at byte offset \d+ of "


def two_picks():
    """Only the second pick reads what `late` holds."""
    g = program.IRGraph()
    early, late = g.input("early", (10,)), g.input("late", (10,))
    g.output("first", g.relu(g.gelu(early)))
    g.output("second", g.gelu(g.relu(late)))
    return g


@pytest.fixture
def executor(device):
    with runtime.register_kernel(**PICK, priority=9):
        yield Executor(two_picks(), device)


WAITS = {
    "get": lambda one: one.get("first"),
    "synchronize": lambda one: one.device.synchronize(),
    "the stream": lambda one: one.device.default_stream.synchronize(),
    "numpy": lambda one: one.tensor("second").numpy(),
    "an event": lambda one: one.device.default_stream.record().synchronize(),
}


@pytest.mark.parametrize("wait", WAITS)
def test_every_wait_names_the_op_of_a_run(executor, wait):
    executor.run({"early": GOOD, "late": BAD})
    executor.set("late", GOOD)  # Running the op again would find nothing.
    with pytest.raises(gpuemu.KernelError, match=SAID % 3) as raised:
        WAITS[wait](executor)
        executor.device.synchronize()  # An event's wait raises only what its stream has found.
    assert raised.value.op_index == 3 and executor.device.findings() == raised.value.findings
    executor.run({"early": GOOD})
    assert executor.get("second").tolist() == [0.0] * 10


def test_a_launch_of_a_replay_names_the_op_that_was_captured(executor):
    executor.set("early", GOOD)
    executor.set("late", GOOD)
    with executor.capture() as replay:
        replay.launch()
        assert executor.get("first").tolist() == [0.0] * 10
        for name, index in (("late", 3), ("early", 0)):
            replay.launch({name: BAD})
            executor.set(name, GOOD)
            with pytest.raises(gpuemu.KernelError, match=SAID % index):
                executor.get("second")


def test_each_of_two_programs_is_named_for_its_own_fault(device):
    with runtime.register_kernel(**PICK, priority=9):
        for late in (GOOD, BAD):
            one, other = Executor(two_picks(), device), Executor(two_picks(), device)
            one.run({"early": BAD, "late": GOOD})
            with pytest.raises(gpuemu.KernelError, match=SAID % 0):
                device.synchronize()
            other.run({"early": GOOD, "late": late})
            if late is BAD:
                with pytest.raises(gpuemu.KernelError, match=SAID % 3):
                    other.get("first")


def test_an_executor_that_is_gone_is_named_all_the_same(device):
    with runtime.register_kernel(**PICK, priority=9):
        Executor(two_picks(), device).run({"early": BAD, "late": GOOD})
        gc.collect()
        with pytest.raises(gpuemu.KernelError, match=SAID % 0):
            device.synchronize()


def test_a_fault_of_another_call_does_not_hide_that_of_a_program(device, executor):
    x = device.tensor(BAD)
    runtime.op_call("gelu", [x], [device.empty(10)], device=device)
    executor.run({"early": GOOD, "late": BAD})
    with pytest.raises(gpuemu.KernelError, match=SAID % 3) as raised:
        device.synchronize()
    assert [bool(one.call) for one in raised.value.findings] == [True, False]


def test_calls_outside_a_program_have_no_op(device, executor):
    executor.run({"early": GOOD, "late": GOOD})
    x = device.tensor(BAD)
    runtime.op_call("gelu", [x], [device.empty(10)], device=device)
    with pytest.raises(gpuemu.KernelError, match="^reads 4 bytes") as raised:
        device.synchronize()
    assert raised.value.op_index is None


def test_programs_that_are_gone_are_forgotten_and_those_that_live_are_not(device):
    with runtime.register_kernel(**PICK, priority=9):
        old = Executor(two_picks(), device)
        old.set("early", GOOD)
        old.set("late", GOOD)
        replay = old.capture()
        for _ in range(3 * RECENT_MAX):
            Executor(two_picks(), device).run({"early": GOOD, "late": GOOD})
        assert len(issuers._recent) == RECENT_MAX
        replay.launch({"late": BAD})
        with pytest.raises(gpuemu.KernelError, match=SAID % 3):
            old.get("second")


def test_a_name_keeps_no_device(device):
    with runtime.register_kernel(**PICK, priority=9):
        other = runtime.Device("emulator")
        Executor(two_picks(), other).run({"early": GOOD, "late": GOOD})
        other.synchronize()
        context = weakref.ref(other._context)
        del other
        gc.collect()
    assert context() is None


def test_a_refused_call_does_not_shift_the_numbers_of_those_behind_it(device):
    g = program.IRGraph()
    x = g.input("x", (10,))
    g.output("y", g.gelu(g.relu(x)))
    with runtime.register_kernel(**PICK, priority=9):
        executor = Executor(g, device)
        executor.set("x", BAD)
        with pytest.raises(runtime.InvalidArgumentError, match="^op 0, relu, written at "):
            executor.run(stream=runtime.Device("emulator").stream())
        executor.run()
        with pytest.raises(gpuemu.KernelError, match=SAID % 1):
            executor.get("y")
