"""gpuemu.runtime on the emulator: calling ops, graphs, watching, threads, fork, and objects destroyed under use."""
import gc
import json
import threading

import numpy as np
import pytest

from test_runtime import child, device, gpuemu, runtime  # noqa: F401


def floats(*values):
    return runtime.tensor(np.array(values, np.float32))


# --- calling ops


def test_ops_are_listed_described_and_numbered(device):
    names = runtime.ops()
    assert names == sorted(names) and {"relu", "gemm", "adam_step", "softmax"} <= set(names)
    info = runtime.op_info("rmsnorm")
    assert info.inputs[0] == ("x", "T", 1, 16) and info.schema.fields[0].name == "eps" and not info.in_place
    assert info.variants[0].origin == "builtin" and "float32" in info.variants[0].types["T"]
    assert any(one.origin == "library" for one in runtime.op_info("gemm").variants)
    x, y = floats(-1, 2), runtime.empty(2)
    runtime.op_call(runtime.op_number("relu"), [x], [y])
    assert y.numpy().tolist() == [0, 2]
    for wrong in (lambda: runtime.op_info("abacus"), lambda: runtime.op_number("abacus"), lambda: runtime.op_call("abacus", [], [])):
        with pytest.raises(runtime.NotFoundError, match="softmax"):
            wrong()
    with pytest.raises(runtime.NotFoundError):
        runtime.op_call(10_000, [x], [y])


def test_describing_ops_opens_no_device_of_a_gpu():
    assert child("from gpuemu import runtime; from gpuemu.runtime import current; runtime.op_info('relu'); print(current._shared)") == "None"


def test_attributes_are_a_dict_or_packed(device):
    x, weight, y = floats(3, 3), floats(1, 1), runtime.empty(2)
    results = []
    for attrs, more in (({"eps": 4.0}, {}), (runtime.pack("rmsnorm", {"eps": 4.0})[1], {"schema_id": runtime.pack("rmsnorm", {"eps": 4.0})[0]}),
                        (np.float32(4.0).tobytes(), {"schema_id": 2 * 256 + 1})):
        runtime.op_call("rmsnorm", [x, weight], [y], attrs, **more)
        results.append(y.numpy().tolist())
    assert results[0] == results[1] == results[2] and abs(results[0][0] - 3 / 13**0.5) < 1e-6
    assert runtime.unpack("rmsnorm", *runtime.pack("rmsnorm", {"eps": 0.5})) == {"eps": 0.5, "eps_double": 0.0}
    assert runtime.unpack("rmsnorm", 2 * 256 + 1, np.float32(4.0).tobytes()) == {"eps": 4.0, "eps_double": 0.0}
    for wrong in ({"epsilon": 1}, b"1234"):
        with pytest.raises(runtime.InvalidArgumentError, match="eps|schema_id"):
            runtime.op_call("rmsnorm", [x, weight], [y], wrong)
    with pytest.raises(runtime.InvalidArgumentError, match="bytes"):
        runtime.unpack("rmsnorm", 2 * 256 + 1, b"12")
    with pytest.raises(TypeError):
        runtime.op_call("rmsnorm", [x, weight], [y], 4.0)
    with pytest.raises(TypeError):
        runtime.pack("rmsnorm", {"eps": "small"})


def test_a_refused_call_names_the_operand_and_changes_nothing(device):
    x, y = floats(1, 2), runtime.zeros(3)
    for inputs, outputs, word in [([x], [y], "y"), ([x, x], [runtime.zeros(2)], "inputs"), ([x], [x[:1]], "y"),
                                  ([runtime.zeros(2, "int32")], [runtime.zeros(2, "int32")], "packets"),
                                  ([x], [runtime.Device("emulator").zeros(2)], "inputs")]:
        with pytest.raises((runtime.InvalidArgumentError, runtime.UnsupportedError), match=word):
            runtime.op_call("relu", inputs, outputs)
    assert y.numpy().tolist() == [0, 0, 0]
    for wrong in (x, None, "ab"):
        with pytest.raises(TypeError):
            runtime.op_call("relu", wrong, [y])
    with pytest.raises(TypeError):
        runtime.op_call("relu", [3.0], [y])
    with pytest.raises(TypeError):
        runtime.op_call(None, [x], [y])
    runtime.op_call("relu", [runtime.zeros((0, 3))], [runtime.zeros((0, 3))])


def test_a_call_may_name_its_variant(device):
    x, y = runtime.tensor(np.ones((2, 4), np.float32)), runtime.empty((2, 4))
    names = [one.name for one in runtime.op_info("softmax").variants]
    assert len(names) >= 2
    with device.dispatch_log() as log:
        for name in names:
            runtime.op_call("softmax", [x], [y], variant=name)
    assert [one.variant for one in log.records] == names
    with pytest.raises(runtime.NotFoundError, match=names[0]):
        runtime.op_call("softmax", [x], [y], variant="abacus")
    with pytest.raises(runtime.UnsupportedError, match="cublas"):
        a = runtime.tensor(np.ones((2, 2), np.float32))
        runtime.op_call("gemm", [a, a], [runtime.empty((2, 2))], variant="cublas")


def test_a_kernel_that_goes_wrong_is_told_by_the_next_wait(device):
    for wait in ("numpy", "device", "stream", "event"):
        x, y = runtime.empty(8, name="unwritten"), runtime.empty(8)
        event = device.event()
        runtime.op_call("relu", [x], [y])
        event.record()
        waits = {"numpy": y.numpy, "device": device.synchronize, "stream": device.default_stream.synchronize, "event": event.synchronize}
        with pytest.raises(gpuemu.KernelError, match="unwritten") as caught:
            waits[wait]()
        assert caught.value.findings[0].kind == "uninitialized" and caught.value.code == "Launch"
        device.synchronize()
        assert device.findings()[0].kind == "uninitialized" and device.findings() == []
    with runtime.Device("emulator", checks=["memory"]) as lenient:
        runtime.op_call("relu", [lenient.empty(8)], [lenient.empty(8)])
        lenient.synchronize()


def test_a_call_that_is_made_again_sees_what_has_changed_since(device):
    x, y = floats(-1, 2), runtime.empty(2)
    for _ in range(3):
        runtime.op_call("relu", [x], [y])
    for value in range(20):  # New tensors come at the addresses of old ones.
        x = floats(value, -value)
        runtime.op_call("relu", [x], [y])
        assert y.numpy().tolist() == [value, 0]
    graph = runtime.Graph(device)
    with graph:
        runtime.op_call("relu", [x], [y])
    x.copy_from(np.array([5, -5], np.float32))
    assert y.numpy().tolist() == [19, 0]
    graph.launch()
    assert y.numpy().tolist() == [5, 0]
    graph.close()
    stream = device.stream()
    for chosen in (stream, None, stream):
        runtime.op_call("relu", [x], [y], stream=chosen)
    stream.synchronize()
    stream.close()
    with pytest.raises(runtime.ReleasedError):
        runtime.op_call("relu", [x], [y], stream=stream)
    runtime.op_call("relu", [x], [y])
    x.free()
    with pytest.raises(runtime.ReleasedError, match="inputs\\[0\\]"):
        runtime.op_call("relu", [x], [y])
    with pytest.raises(TypeError):
        runtime.op_call(True, [x], [y])


def test_a_call_that_is_made_again_keeps_no_tensor(device):
    x, y = floats(-1, 2), runtime.empty(2)
    for _ in range(2):
        runtime.op_call("relu", [x], [y])
    device.synchronize()
    live = device.memory_statistics().live
    del x
    gc.collect()
    assert device.memory_statistics().live == live - 1


# --- graphs


def test_a_graph_reads_contents_at_each_launch(device):
    x, y = floats(-1, 2), runtime.empty(2)
    with runtime.Graph(device) as graph:
        assert device.current_stream().is_capturing and not graph.is_ready
        runtime.op_call("gelu", [x], [y])
        runtime.op_call("relu", [y], [y])
    assert graph.is_ready and graph.nodes == 2 and not device.current_stream().is_capturing
    for values in ([-1, 2], [3, -4]):
        x.copy_from(np.array(values, np.float32))
        graph.launch()
        assert (y.numpy() > 0).tolist() == [one > 0 for one in values]
    with pytest.raises(runtime.InvalidArgumentError, match=graph.name):
        y.free()
    graph.close()
    graph.close()
    y.free()
    with pytest.raises(runtime.ReleasedError):
        graph.launch()


def test_a_graph_keeps_what_it_uses(device):
    y = runtime.empty(2)
    with runtime.Graph(device) as graph:
        x = floats_in_capture = runtime.empty(2)
        floats_in_capture.fill(0)
        runtime.op_call("relu", [x], [y])
    del x, floats_in_capture
    gc.collect()
    graph.launch()
    assert y.numpy().tolist() == [0, 0]


def test_memory_of_a_graph_was_used_last_by_the_stream_that_launched_it_last(device):
    x, y = device.tensor(np.ones(8, np.float32)), device.zeros(8)
    with runtime.Graph(device) as graph:
        runtime.op_call("relu", [x], [y])
    streams = [device.stream(), device.stream()]
    for stream in (*streams, *streams, streams[1]):
        graph.launch(stream)
        assert {one._memory._block.last_stream() for one in (x, y)} == {stream}
    runtime.op_call("relu", [x], [device.empty(8)], stream=streams[0])
    graph.launch(streams[1])
    assert x._memory._block.last_stream() is streams[1] and x.numpy().tolist() == [1] * 8


def test_a_graph_gives_its_workspaces_back(device):
    x, loss = runtime.zeros(1 << 16), runtime.empty(())
    device.synchronize()
    before = device.memory().free_bytes
    for _ in range(3):
        with runtime.Graph(device) as graph:
            runtime.op_call("mse", [x, x], [loss])
        graph.launch()
        assert loss.numpy() == 0 and device.memory().free_bytes < before
        graph.close()
        assert device.memory().free_bytes == before


@pytest.mark.parametrize("what", ["numpy", "synchronize", "query", "event", "host copy", "device"])
def test_what_cannot_be_captured_ends_the_capture(device, what):
    x, y = floats(-1, 2), runtime.empty(2)
    graph = runtime.Graph(device)
    with pytest.raises(runtime.CaptureError) as caught:
        with graph:
            runtime.op_call("relu", [x], [y])
            stream = device.current_stream()
            {"numpy": y.numpy, "synchronize": stream.synchronize, "query": stream.query, "event": lambda: stream.record().synchronize(),
             "host copy": lambda: x.copy_from(np.ones(2, np.float32)), "device": device.synchronize}[what]()
    assert isinstance(caught.value, runtime.InvalidArgumentError) and not graph.is_ready and not graph.is_capturing
    assert device.current_stream() is device.default_stream
    with pytest.raises(runtime.InvalidArgumentError, match="failed"):
        graph.launch()
    runtime.op_call("relu", [x], [y])
    assert y.numpy().tolist() == [0, 2]
    y.free()


def test_an_exception_in_the_block_ends_the_capture(device):
    graph = runtime.Graph(device)
    with pytest.raises(KeyError):
        with graph:
            raise KeyError("mine")
    assert not graph.is_ready
    empty = runtime.Graph(device)
    with pytest.raises(runtime.InvalidArgumentError, match="not ended"):
        empty.launch()
    with empty:
        pass
    with pytest.raises(runtime.InvalidArgumentError, match="empty"):
        empty.launch()
    with pytest.raises(runtime.InvalidArgumentError):
        empty.begin()
    with pytest.raises(runtime.InvalidArgumentError, match="default stream"):
        runtime.Graph(device, stream=device.default_stream).begin()


def test_an_interrupt_as_a_capture_begins_ends_it(device, monkeypatch):
    begin, stream = device._library.gpuemu_capture_begin, device.stream()

    def interrupted(*arguments):
        begin(*arguments)
        raise KeyboardInterrupt  # As Ctrl-C does when a call of the library returns.

    with monkeypatch.context() as patched:
        patched.setattr(device._library, "gpuemu_capture_begin", interrupted)
        with pytest.raises(KeyboardInterrupt):
            runtime.Graph(device, stream=stream).begin()
    assert stream.query()
    with runtime.Graph(device, stream=stream) as again:
        device.zeros(2, stream=stream)
    assert again.is_ready


def test_pinned_memory_is_captured_and_read_at_launch(device):
    pinned, x = device.allocate(8, kind="pinned"), runtime.empty(2)
    host = np.frombuffer(pinned, np.float32)
    with runtime.Graph(device) as graph:
        x.copy_from(host)
    for value in (1, 2):
        host[:] = value
        graph.launch()
        assert x.numpy().tolist() == [value, value]


def test_other_streams_join_a_capture_by_events(device):
    x, y, z = floats(-1, 2), runtime.empty(2), runtime.empty(2)
    main, side = device.stream(non_blocking=True), device.stream(non_blocking=True)
    graph = runtime.Graph(device, stream=main)
    graph.begin()
    side.wait(main.record())
    assert side.is_capturing
    runtime.op_call("relu", [x], [y], stream=side)
    main.wait(side.record())
    runtime.op_call("vector_add", [y, y], [z], stream=main)
    graph.end()
    assert graph.nodes == 2 and not side.is_capturing
    graph.launch()
    assert z.numpy().tolist() == [0, 4]


# --- policy, log, profile


def test_a_policy_is_set_read_and_kept_when_another_is_refused(device, tmp_path):
    assert device.policy == runtime.Policy()
    wanted = runtime.Policy(prefer={"softmax": "block_per_row"})
    for given in (wanted, {"prefer": {"softmax": "block_per_row"}}, wanted.to_json()):
        device.set_policy(given)
        assert device.policy == wanted
    (tmp_path / "p.toml").write_text('strategy = "best_performance"\n[prefer]\nsoftmax = "block_per_row"\n')
    device.set_policy(tmp_path / "p.toml")
    assert device.policy == runtime.Policy.load(tmp_path / "p.toml") == runtime.Policy("best_performance", {"softmax": "block_per_row"})
    for wrong in ({"prefer": {"softmax": "abacus"}}, {"prefer": {"abacus": "x"}}, {"strategy": "x"}, {"other": 1}, "{"):
        with pytest.raises(runtime.InvalidArgumentError):
            device.set_policy(wrong)
    assert device.policy.strategy == "best_performance"
    assert runtime.Policy.from_json(wanted.to_json()) == wanted and wanted.to_json() == '{"prefer": {"softmax": "block_per_row"}, "strategy": "first_supported"}'
    with pytest.raises(TypeError):
        device.set_policy(3)


def test_logs_record_calls_with_and_without_times(device):
    x, y = runtime.tensor(np.ones((2, 3), np.float32)), runtime.empty((2, 3))
    with device.dispatch_log(records_max=2) as plain, device.dispatch_log(times=True) as timed:
        for _ in range(3):
            runtime.op_call("relu", [x], [y])
        with runtime.Graph(device):
            runtime.op_call("relu", [x], [y])
        assert len(timed.records) == 4
    assert len(plain.records) == 2 and plain.dropped == 2
    first = plain.records[0]
    assert (first.op, first.inputs, first.outputs, first.dtypes, first.captured) == ("relu", [(2, 3)], [(2, 3)], {"T": "float32"}, False)
    assert first.thread == threading.get_native_id() and first.microseconds is None and first.stream == 0
    assert timed.records[0].microseconds > 0 and timed.records[3].captured and timed.records[3].microseconds is None
    timed.clear()
    assert timed.records == [] and timed.dropped == 0


def test_a_range_is_in_the_profile_that_runs_whatever_the_current_device_is(device):
    with runtime.Device("emulator") as current, device.profile() as profile, current.profile() as other:
        with runtime.range("everywhere"), runtime.range("here", device=device): pass
    assert profile.ranges["everywhere"].count == 1 and profile.ranges["here"].count == 1
    assert other.ranges["everywhere"].count == 1 and "here" not in other.ranges


def test_a_profile_has_ops_ranges_kernels_and_memory(device, tmp_path):
    x, y = floats(-1, 2), runtime.empty(2)
    with runtime.range("outside"):
        pass
    with device.profile(counters=True) as profile:
        with pytest.raises(runtime.InvalidArgumentError):
            device.profile().__enter__()
        with runtime.range("step"):
            inside = runtime.empty(1000, name="inside")
            runtime.op_call("relu", [x], [y])
        inside.free()
        with pytest.raises(runtime.InvalidArgumentError, match="not ended"):
            profile.to_json()
    assert profile.ops["relu"].count == 1 and profile.ops["relu"].min_us <= profile.ops["relu"].mean_us <= profile.ops["relu"].max_us
    assert profile.ranges["step"].count == 1 and "outside" not in profile.ranges and profile.kernels["relu_float32"].count == 1
    memory = profile.memory
    assert memory.allocations == 1 and memory.frees == 1 and memory.by_name["inside"] == 4000
    assert memory.peak_requested_bytes == memory.begin.requested_bytes + 4000 and memory.end.requested_bytes == memory.begin.requested_bytes
    assert json.loads(profile.to_json())["memory"]["by_name"]["inside"] == 4000
    profile.save_trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert len([one for one in events if one["ph"] == "C" and one["name"] == "memory"]) == 3


# --- threads, fork, destruction under use


def test_eight_threads_on_one_device(device):
    wrong = []

    def work(number):
        try:
            with device, device.stream() as stream:
                x, y = runtime.tensor(np.full(64, number, np.float32)), runtime.empty(64)
                for _ in range(20):
                    runtime.op_call("vector_add", [x, x], [y])
                    runtime.op_call("relu", [y], [y])
                assert y.numpy().tolist() == [2.0 * number] * 64 and runtime.current_device() is device
                stream.synchronize()
                with pytest.raises(runtime.NotFoundError, match=f"no_op_of_{number}"):
                    runtime.op_call(f"no_op_of_{number}", [x], [y])
        except BaseException as problem:
            wrong.append(problem)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert not wrong, wrong


@pytest.mark.parametrize("target", ["device", "tensor", "stream", "graph"])
def test_destroying_what_another_thread_uses_is_an_error_and_no_crash(target):
    for _ in range(5):
        owner = runtime.Device("emulator", threads=1)
        x, y, stream = owner.zeros(64), owner.zeros(64), owner.stream(non_blocking=True)
        graph = runtime.Graph(owner)
        if target == "graph":
            with graph:
                runtime.op_call("relu", [x], [y])
        started, wrong = threading.Event(), []

        def work():
            try:
                for number in range(2000):
                    if target == "graph":
                        graph.launch(stream)
                    else:
                        runtime.op_call("relu", [x], [y], stream=stream)
                    if number == 3:
                        started.set()
                    if number % 10 == 0:
                        stream.synchronize()
            except runtime.ReleasedError:
                pass
            except BaseException as problem:
                wrong.append(problem)
            started.set()

        thread = threading.Thread(target=work)
        thread.start()
        started.wait()
        {"device": owner.close, "tensor": y.free, "stream": stream.close, "graph": graph.close}[target]()
        thread.join()
        assert not wrong, wrong
        owner.close()


@pytest.mark.parametrize(("closes", "use"), [
    ("event", lambda event, stream, x: event.record(stream)), ("stream", lambda event, stream, x: event.record(stream)),
    ("event", lambda event, stream, x: event.query()), ("event", lambda event, stream, x: event.synchronize()),
    ("event", lambda event, stream, x: event.elapsed_ms(event)), ("event", lambda event, stream, x: stream.wait(event)),
    ("stream", lambda event, stream, x: x.copy_from(np.ones(8, np.float32), stream=stream)), ("stream", lambda event, stream, x: x.fill(0, stream=stream)),
    ("stream", lambda event, stream, x: x.device.empty(3, stream=stream)),
])  # fmt: skip
def test_what_another_thread_closes_between_the_look_and_the_call_is_released(device, monkeypatch, closes, use):
    event, stream, x, real = device.event(), device.stream(), device.zeros(8), device._check

    def late(*call):
        monkeypatch.setattr(device, "_check", real)
        {"event": event, "stream": stream}[closes].close()
        real(*call)

    event.record()
    monkeypatch.setattr(device, "_check", late)
    with pytest.raises(runtime.ReleasedError, match="closed"):
        use(event, stream, x)
    assert x.numpy().tolist() == [0] * 8


def test_a_process_ends_while_a_daemon_thread_is_in_a_call():
    code = "from gpuemu import runtime; device = runtime.Device('emulator'); device.zeros(4); device._context.enter(); print('ends')"
    assert child(code) == "ends"


def test_a_child_of_fork_is_refused_and_ends_well():
    code = """
import os
from gpuemu import runtime
device = runtime.Device("emulator")
x, stream, graph = device.zeros(4), device.stream(), runtime.Graph(device)
with graph: runtime.op_call("relu", [x], [device.empty(4)])
if os.fork() == 0:
    for use in (runtime.ops, x.numpy, stream.synchronize, graph.launch, device.synchronize, lambda: device.empty(3), runtime.current_device,
                lambda: runtime.Device("emulator"), lambda: runtime.op_call("relu", [x], [x]), x.__dlpack__, lambda: x[0], lambda: x.view(2, 2),
                lambda: runtime.Graph(device)):
        try: use()
        except runtime.ForkedError as problem: assert problem.code == "Unavailable" and isinstance(problem, RuntimeError)
        else: raise SystemExit(f"{use} works")
    x.free(); stream.close(); graph.close(); device.close()
    del x, stream, graph, device
    raise SystemExit(7)
print(os.waitstatus_to_exitcode(os.wait()[1]), x.numpy().tolist())
"""
    assert child(code) == "7 [0.0, 0.0, 0.0, 0.0]"


def test_two_thousand_steps_leave_nothing(device):
    x, weight = runtime.tensor(np.ones((4, 8), np.float32)), runtime.tensor(np.ones(8, np.float32))
    counts = []
    for step in range(2000):
        y = runtime.empty((4, 8))
        runtime.op_call("rmsnorm", [x, weight], [y])
        x.copy_from(np.full((4, 8), step % 7 + 1, np.float32))
        if step % 500 == 499:
            y.numpy()
            del y
            told = device.memory_statistics()
            counts.append((told.live, told.requested_bytes, len(device._staging._waiting) < 1000))
    assert len(set(counts)) == 1 and counts[0][2], counts


def test_a_repeated_call_is_noted_as_the_last_use(device):
    x, y, first = floats(-1, 2), runtime.empty(2), device.stream()
    for stream in (first, first, device.default_stream, first, first):
        runtime.op_call("relu", [x], [y], stream=stream)
        assert y._memory._block.last_stream() is stream and x._memory._block.last_stream() is stream
    first.close()
    assert y._memory._block.last_stream() is device.default_stream and y.numpy().tolist() == [0, 2]
