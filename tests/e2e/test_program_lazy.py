"""Steps of lazy tensors that are like those before them: prepared calls, and graphs where addresses recur."""
import threading

import numpy as np
import pytest

from test_programs import device, gpuemu, on_the_emulator, program, runtime  # noqa: F401
from gpuemu.program.local import LocalPlace
from gpuemu.program.tape import TAPE
from gpuemu.runtime.prepared import GRAPHS_MAX, PreparedCalls
from gpuemu.runtime.tensors import Layout

SHAPES = [(8, 6), (8,), (4, 8), (4,)]


def train(steps, around=None, kept=None):
    """Losses and the bits of the weights of a training loop with new data in each step."""
    rng = np.random.default_rng(0)
    weights = [program.tensor((rng.normal(size=shape) * 0.3).astype(np.float32), requires_grad=True) for shape in SHAPES]
    losses = []
    for step in range(steps):
        x, target = (program.tensor(rng.normal(size=(5, size)).astype(np.float32)) for size in (6, 4))
        loss = program.mse_loss(program.linear(program.linear(x, *weights[:2]).relu(), *weights[2:]), target)
        for one in weights:
            one.zero_grad()
        loss.backward()
        for one in weights:
            one.assign(one - 0.05 * one.grad)
        if around is None:
            program.flush()
        else:
            with around(step):
                program.flush()
        losses.append(loss.item())
        if kept is not None:
            kept.append(loss)
    return losses, [one.numpy().tobytes() for one in weights]


def recurring(steps=12):
    """A loop without new data, whose memory comes back at the same addresses."""
    x, w = program.ones(5, 6), program.full((3, 6), 0.5, requires_grad=True)
    for _ in range(steps):
        w.zero_grad()
        loss = program.linear(x, w).relu().mean()
        loss.backward()
        w.assign(w - 0.1 * w.grad)
        loss.item()
    return w.numpy().tobytes()


def graphs():
    return sum(len([one for one in bound.program.prepared._graphs.values() if one.graph]) for bound in TAPE.plans.values() if bound.program.prepared)


def test_steps_that_are_launched_as_graphs_have_the_bits_of_single_calls(on_the_emulator, monkeypatch):
    plain, same = train(12), recurring()
    assert graphs() == 0
    monkeypatch.setattr(PreparedCalls, "captures", True)
    program.reset()
    program.set_backend("emulator", local=True, device=on_the_emulator)
    assert (train(12), recurring()) == (plain, same)
    for _ in range(20):  # Where the addresses are others by turns.
        if graphs() > 0:
            break
        assert recurring() == same
    assert graphs() > 0
    kept = []
    assert train(12, kept=kept) == plain
    assert [one.item() for one in kept] == plain[0]


def test_graphs_keep_no_memory_of_tensors(on_the_emulator, monkeypatch):
    monkeypatch.setattr(PreparedCalls, "captures", True)
    train(12), recurring()
    before = on_the_emulator.memory_statistics()
    train(12), recurring()
    after = on_the_emulator.memory_statistics()
    assert (after.live, after.requested_bytes) == (before.live, before.requested_bytes)


class Doubling:
    """y = 2 x, prepared, on as many sets of memory as are asked for."""

    def __init__(self, device, count):
        self.device, self.calls = device, PreparedCalls(device)
        self.calls.captures = True
        self.pairs = [(device.tensor([float(i)]), device.zeros(1)) for i in range(count)]
        self.calls.add("add", [("x", self.pairs[0][0]), ("x", self.pairs[0][0])], [("y", self.pairs[0][1])], 0, b"")

    def run(self, index):
        """Whether it was launched as a graph."""
        x, y = self.pairs[index]
        blocks, before = [x._memory._block, y._memory._block], set(self.calls._graphs)
        assert self.calls.issue({"x": x.address, "y": y.address}, blocks, self.device.current_stream())[1] is None
        assert y.numpy().tolist() == [2.0 * index]
        return (x.address, y.address) in before


def test_graphs_of_addresses_that_no_longer_come_give_way_to_those_that_do(device):
    many = Doubling(device, 2 * GRAPHS_MAX)
    for half in (range(GRAPHS_MAX), range(GRAPHS_MAX, 2 * GRAPHS_MAX)):
        for _ in range(3):
            found = [many.run(i) for i in half]
        assert all(found) and len(many.calls._graphs) == GRAPHS_MAX
    many.run(GRAPHS_MAX)
    assert not many.run(0) and not many.run(0) and many.run(0)  # The least recently used of the second half went.
    assert many.run(GRAPHS_MAX) and not many.run(GRAPHS_MAX + 1)


def test_more_addresses_by_turns_than_there_are_graphs_do_not_push_each_other_out(device):
    many = Doubling(device, GRAPHS_MAX + 3)
    for _ in range(3):
        for i in range(GRAPHS_MAX + 3):
            many.run(i)
    kept = dict.fromkeys(many.calls._graphs)
    assert [many.run(i) for i in range(GRAPHS_MAX + 3)] == [True] * GRAPHS_MAX + [False] * 3 and dict.fromkeys(many.calls._graphs) == kept


@pytest.mark.parametrize("moment", ["gpuemu_capture_begin", "gpuemu_op_calls", "gpuemu_capture_end"])
def test_an_interrupt_leaves_no_stream_capturing(device, monkeypatch, moment):
    one = Doubling(device, 1)
    one.run(0)

    def interrupted(function):
        def call(*arguments):
            function(*arguments)
            raise KeyboardInterrupt  # As Ctrl-C does when a call of the library returns.

        return call

    with monkeypatch.context() as patched:
        patched.setattr(device._library, moment, interrupted(getattr(device._library, moment)))
        with pytest.raises(KeyboardInterrupt):
            one.run(0)
    assert device._captures == 0 and one.calls._own_stream.query()
    assert [one.run(0) for _ in range(3)] == [False, False, True]


def test_a_policy_and_a_log_see_the_calls_of_a_loop_that_was_captured(on_the_emulator, monkeypatch):
    monkeypatch.setattr(PreparedCalls, "captures", True)
    x = program.ones(3, 4)
    with runtime.register_kernel(
            "relu", "doubling", 'extern "C" __global__ void k(const float* x, float* y, int n) { int i = threadIdx.x; if (i < n) y[i] = x[i] * 2; }',
            [runtime.Launch("k", 1, "x.count", ["x", "y", "i32:x.count"])], types={"T": ["float32"]}):  # fmt: skip
        for wish, value in (({}, 1.0), ({"relu": "doubling"}, 2.0), ({}, 1.0)):
            on_the_emulator.set_policy({"prefer": wish})
            for _ in range(8):
                assert program.relu(x).data.ravel().tolist() == [value] * 12
            with on_the_emulator.dispatch_log() as log:
                assert program.relu(x).data.ravel().tolist() == [value] * 12
            assert [one.variant for one in log.records] == ["doubling" if wish else "packets"]


def test_steps_on_streams_by_turns_wait_for_each_other(on_the_emulator):
    streams = [on_the_emulator.stream(non_blocking=True) for _ in range(3)]
    assert train(9, around=lambda step: streams[step % 3]) == train(9)


def test_a_call_of_a_prepared_step_that_is_refused_is_named(on_the_emulator):
    def step(x):
        return (program.relu(x) * 2.0).data

    x = program.ones(4)
    for _ in range(3):
        assert step(x).tolist() == [2.0] * 4
    on_the_emulator.set_policy({"prefer": {"mul": "strided"}})
    assert step(x).tolist() == [2.0] * 4
    x._lazy.held.free()
    with pytest.raises(runtime.ReleasedError, match="was freed"):
        step(x)


NO_GUARD = 'extern "C" __global__ void unguarded(const float* x, float* y) { int i = blockIdx.x * blockDim.x + threadIdx.x; y[i] = x[i]; }'
FAULTY = {"op": "gelu", "name": "no_guard", "source": NO_GUARD, "launches": [runtime.Launch("unguarded", "cdiv(x.count, 64)", 64, ["x", "y"])], "types": {"T": ["float32"]}}


def test_a_fault_is_told_with_its_op_and_the_line_that_wrote_it(on_the_emulator):
    x = program.ones(10)
    with runtime.register_kernel(**FAULTY, priority=9):
        y = program.gelu(program.relu(x) + 1.0) * 2.0
        with pytest.raises(gpuemu.KernelError, match=r"^op 2, gelu, written at .*test_program_lazy\.py:\d+: (reads|writes) 4 bytes at byte offset ") as raised:
            y.numpy()
        told = on_the_emulator.findings()
    assert [one.message for one in told] == [one.message for one in raised.value.findings] and on_the_emulator.findings() == []
    assert program.relu(x).numpy().tolist() == [1.0] * 10


def test_a_fault_of_a_step_whose_weights_are_gone_is_told_with_its_op(on_the_emulator):
    w = program.ones(10, requires_grad=True)

    def step():
        loss = program.gelu(w).mean()
        w.zero_grad()
        loss.backward()
        w.assign(w - 0.1 * w.grad)
        program.flush()
        return loss.item()

    for _ in range(3):
        step()
    with runtime.register_kernel(**FAULTY, priority=9), pytest.raises(gpuemu.KernelError, match=r"^op 0, gelu, written at .*test_program_lazy\.py:\d+: "):
        step()


def issue_fault(device, entry):
    """Issues a call without waiting for it, whose kernel with this entry will fault."""
    launch = runtime.Launch(entry, "cdiv(x.count, 64)", 64, ["x", "y"])
    with runtime.register_kernel(**{**FAULTY, "name": entry, "source": NO_GUARD.replace("unguarded", entry), "launches": [launch]}, priority=9):
        runtime.op_call("gelu", [device.zeros(10)], [device.empty(10)], device=device)


def test_a_fault_of_other_work_is_not_told_with_an_op_that_runs_without_one(on_the_emulator):
    x = program.ones(10)
    issue_fault(on_the_emulator, "relu_float32")
    with pytest.raises(gpuemu.KernelError, match=r"^(reads|writes) 4 bytes"):
        program.relu(x).numpy()


@pytest.mark.parametrize("entry", ["sub_rows", "relu_bwd_float32"])
def test_a_fault_of_other_work_is_not_told_with_an_op_whose_name_begins_its_entry(on_the_emulator, entry):
    w = program.ones(10)
    w.assign(program.relu(w) - 0.1)
    issue_fault(on_the_emulator, entry)
    with pytest.raises(gpuemu.KernelError, match=r"^(reads|writes) 4 bytes"):
        w.numpy()


def test_a_fault_is_told_with_its_op_beside_one_of_another_thread(on_the_emulator):
    with runtime.register_kernel(**FAULTY, priority=8):
        y = program.gelu(program.ones(10))
        program.flush()
    thread = threading.Thread(target=issue_fault, args=(on_the_emulator, "elsewhere"))
    thread.start()
    thread.join()
    with pytest.raises(gpuemu.KernelError, match=r"^op 0, gelu, written at .*test_program_lazy\.py:\d+: "):
        y.numpy()
    on_the_emulator.synchronize()
    assert {one.entry for one in on_the_emulator.findings()} == {"unguarded", "elsewhere"}


def test_a_fault_that_depends_on_values_which_are_gone_is_told_with_its_op(on_the_emulator):
    source = 'extern "C" __global__ void pick(const float* x, float* y) { int i = threadIdx.x; if (i < 10) y[i] = x[(int)x[i]]; }'
    pick = {**FAULTY, "name": "pick", "source": source, "launches": [runtime.Launch("pick", 1, 64, ["x", "y"])]}
    w = program.full((10,), 1000.0)
    with runtime.register_kernel(**pick, priority=8):
        y = program.gelu(w)
        program.flush()
        w.assign(w * 0.0)
        program.flush()
    with pytest.raises(gpuemu.KernelError, match="^op 0, gelu, "):
        y.numpy()


def test_naming_a_fault_keeps_no_memory(on_the_emulator):
    before = on_the_emulator.memory_statistics().live
    y = program.ones(10) + program.ones(10)
    program.flush()
    del y
    assert on_the_emulator.memory_statistics().live == before


@pytest.fixture
def with_spares(on_the_emulator, monkeypatch):
    """As on a GPU: memory of one step is taken by the next without an allocation."""
    monkeypatch.setattr(runtime.Device, "recycles", True)
    return on_the_emulator


def spare(device):
    """The dtypes and shapes of memory that is kept for later runs."""
    return {*device._spares._now, *device._spares._before, *[row[0].layout.label for one in device._results for row in one.rows if row]}


def test_steps_that_take_the_memory_of_steps_before_have_the_bits_of_others(with_spares, monkeypatch):
    taken = train(12), recurring()
    for captures in (True, False):
        monkeypatch.setattr(PreparedCalls, "captures", captures)
        assert (train(12), recurring()) == taken
    monkeypatch.setattr(runtime.Device, "recycles", False)
    assert (train(12), recurring()) == taken


def test_a_loop_with_spare_memory_allocates_nothing_and_its_addresses_recur(with_spares, monkeypatch):
    monkeypatch.setattr(PreparedCalls, "captures", True)
    calls, allocate = [], with_spares._library.gpuemu_memory_allocate_named
    recurring()
    monkeypatch.setattr(with_spares._library, "gpuemu_memory_allocate_named", lambda *arguments: calls.append(arguments) or allocate(*arguments))
    recurring(40)
    assert len(calls) < 20 and graphs() > 0


def test_spare_memory_is_given_back_where_it_is_counted_and_after_four_runs(with_spares):
    before = with_spares.memory_statistics()
    x = program.ones(1000)
    for _ in range(3):
        (x + 1.0).data
    del x
    after = with_spares.memory_statistics()
    assert after.live - before.live <= 1 and after.requested_bytes - before.requested_bytes <= 4  # The number 1.0.
    assert after.live == after.allocations - after.frees
    for _ in range(3):
        (program.ones(1000) + 1.0).data
    assert b"float32[1000]" in spare(with_spares)
    for _ in range(5):  # The first run of a program does not repeat one and is not counted.
        (program.ones(3) * 2.0).data
    assert b"float32[1000]" not in spare(with_spares)


def test_spare_memory_makes_room_before_memory_is_out():
    with runtime.Device("emulator", memory_limit_bytes=1 << 20) as device:
        device.recycles = True
        program.reset()
        program.set_backend("emulator", local=True, device=device)
        x = program.ones(50_000)
        for _ in range(4):
            (x + 1.0).data
        assert spare(device)
        assert device.allocate(800_000).nbytes == 800_000
        program.reset()
    device.close()


WITH_ROOM = {"op": "gelu", "name": "with_room", "types": {"T": ["float32"]}, "priority": 9, "workspace": "x.count * 65536",
             "source": 'extern "C" __global__ void with_room(const float* x, float* y, float* room, int n) {'
                       " int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) { room[i] = x[i]; y[i] = room[i] + 1.0f; } }",
             "launches": [runtime.Launch("with_room", "cdiv(x.count, 64)", 64, ["x", "y", "workspace", "i32:x.count"])]}


@pytest.mark.parametrize("is_prepared", [False, True])
def test_spare_memory_makes_room_for_workspaces(is_prepared):
    """The workspace of 10 elements is 640 KiB. With the spares of 800,000 bytes it does not fit."""
    with runtime.Device("emulator", memory_limit_bytes=1 << 20) as device, runtime.register_kernel(**WITH_ROOM):
        device.recycles = True
        x, y = device.zeros(10), device.empty(10)
        device._blocks([Layout(device.empty(200_000))], device.default_stream)
        assert device._spares._now
        if is_prepared:
            calls = PreparedCalls(device)
            for _ in range(3):
                calls.add("relu", [("x", x)], [("y", y)], 0, b"")
            calls.add("gelu", [("x", x)], [("y", y)], 0, b"")
            addresses = {"x": x._address, "y": y._address}
            assert calls.issue(addresses, [x._memory._block, y._memory._block], device.default_stream) == (4, None)
        else:
            runtime.op_call("gelu", [x], [y], device=device)
        assert y.numpy().tolist() == [1.0] * 10 and not device._spares._now


def test_a_step_that_gets_no_memory_keeps_the_spares_that_it_did_not_use():
    with runtime.Device("emulator", memory_limit_bytes=6 << 20) as device:
        device.recycles = True
        kept = device.empty(1_000_000)
        before = device.memory_statistics().live
        layouts = [Layout(one) for one in (device.empty(1000), kept, device.empty(2000))]
        device._blocks([layouts[0], layouts[2]], device.default_stream)
        with pytest.raises(runtime.OutOfMemoryError):
            device._blocks(layouts, device.default_stream)
        assert device.memory_statistics().live == before


def test_a_profile_counts_allocations_as_if_there_were_no_spares(with_spares):
    x = program.ones(1000)
    for _ in range(3):
        (x + 1.0).data
    with with_spares.profile() as profile:
        for _ in range(3):
            (x + 1.0).data
    assert (profile.memory.allocations, profile.memory.frees) == (3, 3)
