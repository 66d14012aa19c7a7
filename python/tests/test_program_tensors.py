"""Tests lazy tensors: their values, when they are computed, and the errors raised by the statement that writes an op."""

import copy
import gc
import math
import subprocess
import sys
import threading

import numpy as np
import pytest

import gpuemu
from gpuemu import program, rng
from gpuemu.program import calls
from gpuemu.program.places import HostPlace
from gpuemu.program.session import SESSION
from gpuemu.program.tape import PENDING_MAX, TAPE
from gpuemu.program.tensors import Tensor


@pytest.fixture(autouse=True)
def on_the_host():
    program.reset()
    program.set_backend("numpy")
    yield
    program.reset()


def test_import_gpuemu_does_not_load_it():
    code = "import sys, gpuemu; gpuemu.Client; assert not [one for one in sys.modules if one.startswith(('gpuemu.program', 'gpuemu.runtime'))]"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_random_tensors_have_the_bits_of_the_generator():
    program.manual_seed(41)
    a, b, c = program.randn(3, 5, mean=2.0, std=0.5), program.rand(4, lo=-1.0), program.randn(2, dtype="float64")
    assert np.array_equal(a.data, rng.generate(41, 0, "program/randn", "normal", [2.0, 0.5], (3, 5), "float32"))
    assert np.array_equal(b.data, rng.generate(41, 1, "program/rand", "uniform", [-1.0, 1.0], (4,), "float32"))
    assert np.array_equal(c.data, rng.generate(41, 2, "program/randn", "normal", [0.0, 1.0], (2,), "float64"))
    program.manual_seed(41)
    assert np.array_equal(program.randn((3, 5), mean=2.0, std=0.5).data, a.data)
    for wrong in (lambda: program.randn(3, std=-1.0), lambda: program.randn(3, std=math.nan), lambda: program.randn(3, mean=math.inf),
                  lambda: program.rand(3, lo=2.0, hi=1.0), lambda: program.rand(3, hi=math.inf)):  # fmt: skip
        with pytest.raises(ValueError, match="std|mean|lo|hi"):
            wrong()
    with pytest.raises(TypeError, match="std is 'wide', expected a number"):
        program.randn(3, std="wide")
    assert program.randn(3, std=0.0).data.tolist() == [0, 0, 0] and program.rand(2, lo=1.0, hi=1.0).data.tolist() == [1, 1]


def test_tensors_keep_what_they_are_given():
    assert program.tensor([1.0, 2.0]).dtype == "float32"
    assert program.tensor([1, 2]).dtype == "int64"
    assert program.tensor([True]).dtype == "bool"
    assert program.tensor(np.float64([1.5])).dtype == "float64"
    assert program.tensor(np.arange(3), dtype="float16").data.tolist() == [0, 1, 2]
    given = np.ones(3, np.float32)
    made = program.tensor(given, name="w")
    given[:] = 7
    assert made.data.tolist() == [1, 1, 1] and made.name == "w" and made.shape == (3,)
    assert program.tensor(3.5).shape == () and program.tensor(3.5).item() == 3.5
    assert program.zeros(2, 0).data.shape == (2, 0)
    assert program.full((2, 2), 7, dtype="int32").data.tolist() == [[7, 7], [7, 7]]
    with pytest.raises(program.DTypeError, match="complex128"):
        program.tensor([1j])
    with pytest.raises(program.DTypeError, match="'float8' is no dtype"):
        program.ones(2, dtype="float8")
    with pytest.raises(TypeError, match="expected sizes"):
        program.full("ab", 1)
    with pytest.raises(program.ShapeError, match="-1"):
        program.ones(-1)


def test_data_is_read_only_and_numpy_is_not():
    x = program.ones(2) * 3
    assert x.is_pending and "pending" in repr(x)
    with pytest.raises(ValueError):
        x.data[0] = 1
    mine = x.numpy()
    mine[0] = 9
    assert x.data.tolist() == [3, 3] and not x.is_pending
    with pytest.raises(ValueError, match="2 elements"):
        x.item()


def test_reading_one_value_computes_what_is_alive_once():
    x = program.ones(4)
    h = x * 2.0
    y, z = h + 1.0, h - 1.0
    del h
    assert y.data.tolist() == [3.0] * 4
    assert not z.is_pending
    run = program.last_run()
    assert [one["op"] for one in run.lowered] == ["mul", "add", "sub"] and run.milliseconds > 0
    assert "workspace [0, 16) ops 0..2" in run.plan.text()


def test_equal_tapes_are_bound_once():
    x = program.ones(4)
    (x * 2.0 + 1.0).numpy()
    first = program.last_run().graph
    (program.zeros(4) * 7.0 + 3.0).numpy()
    assert program.last_run().graph is first
    (program.zeros(5) * 7.0 + 3.0).numpy()
    assert program.last_run().graph is not first


def test_flush_computes_everything_and_nothing_that_nobody_has():
    a = program.ones(2) + 1.0
    program.ones(3) * 5.0
    program.flush()
    assert not a.is_pending and [one["op"] for one in program.last_run().lowered] == ["add"]


def test_arithmetic_is_of_one_dtype():
    x, n = program.ones(2), program.tensor([1, 2], dtype="int32")
    assert (n * 3).data.tolist() == [3, 6] and (2 - n).data.tolist() == [1, 0]
    assert (x / 4).dtype == "float32" and (1.0 / program.ones(2, dtype="float64")).dtype == "float64"
    for wrong in (lambda: x + n, lambda: x * np.ones(2), lambda: n * 1.5, lambda: n / n, lambda: program.relu(n)):
        with pytest.raises(program.DTypeError):
            wrong()
    with pytest.raises(program.ShapeError, match=r"add: \[2\] and \[3\]"):
        x + program.ones(3)
    with pytest.raises(program.ShapeError, match="4 at most"):
        program.ones(1, 1, 1, 1, 2) + program.ones(1, 1, 1, 1, 2)
    with pytest.raises(TypeError, match="operand is None"):
        x + None
    with pytest.raises(TypeError):
        bool(x)
    for wrong in (lambda: list(x), lambda: copy.copy(x)):
        with pytest.raises(TypeError):
            wrong()


def test_shapes_are_refused_where_they_are_written():
    x = program.ones(2, 3)
    for wrong in (lambda: x @ x, lambda: program.linear(x, program.ones(4, 4)), lambda: x.reshape(4), lambda: x.reshape(-1, 4), lambda: x.sum(axis=2),
                  lambda: x.sum(axis=(0, 0)), lambda: program.mse_loss(x, program.ones(3, 2)), lambda: program.transpose(program.ones(2)),
                  lambda: program.layernorm(x, program.ones(2), program.ones(2)), lambda: program.conv2d(x, x), lambda: program.max_pool2d(program.ones(1, 1, 2, 2), 3),
                  lambda: program.cross_entropy(x, np.array([1])), lambda: program.attention(x, x, program.ones(3, 3))):  # fmt: skip
        with pytest.raises(program.ShapeError):
            wrong()
    assert not x.is_pending


def test_only_leaves_are_assigned_to():
    w = program.ones(2, requires_grad=True)
    w.assign(w - 0.5)
    assert w.data.tolist() == [0.5, 0.5] and w.requires_grad
    w.assign([1.0, 2.0])
    y = w * w
    w.assign(np.zeros(2, np.float32))
    y.backward()
    assert w.grad.data.tolist() == [2.0, 4.0], "the gradient is of the values that y was computed from"
    with pytest.raises(program.GradError, match="only leaves"):
        y.assign([1.0, 2.0])
    with pytest.raises(program.ShapeError):
        w.assign([1.0])
    with pytest.raises(program.DTypeError):
        w.assign(program.ones(2, dtype="float64"))


def test_new_content_has_the_dtype_of_the_tensor():
    x = program.zeros(2)
    for wrong in (np.ones(2), program.zeros(2, dtype="float64"), np.ones(2, np.int32)):
        with pytest.raises(program.DTypeError, match="expected float32"):
            x.assign(wrong)
    x.assign([1, 2])
    assert x.data.tolist() == [1, 2]
    half = program.full(2, 1.5, dtype="bfloat16")
    half.assign(half.data)  # Bits, if ml_dtypes is missing.
    assert half.data.view(np.uint16).tolist() == [0x3FC0, 0x3FC0]


def test_one_number_is_a_shape_of_one_axis_and_one_element_a_number():
    assert program.full(3, 2.0).shape == (3,)
    assert (float(program.full((), 2.5)), int(program.full((1, 1), 3, dtype="int32"))) == (2.5, 3)
    with pytest.raises(ValueError, match="expected one"):
        float(program.zeros(2))


def test_a_number_that_the_dtype_does_not_hold_is_refused():
    for dtype, number in (("int32", 1 << 40), ("uint8", -1), ("int64", 0.5), ("int64", float("inf"))):
        with pytest.raises(program.DTypeError, match=dtype):
            program.zeros(2, dtype=dtype) + number
    assert (program.zeros(1, dtype="int32") + (2**31 - 1)).data.tolist() == [2**31 - 1]


def test_no_grad_is_of_its_thread():
    x = program.ones(2, requires_grad=True)
    seen = []
    with program.no_grad():
        other = threading.Thread(target=lambda: seen.append((x * 2.0).requires_grad))
        other.start()
        other.join()
        seen.append((x * 2.0).requires_grad)
    assert seen == [True, False]


def test_one_no_grad_may_be_entered_inside_of_itself():
    x, off = program.ones(2, requires_grad=True), program.no_grad()
    with off, off:
        assert not (x * 2).requires_grad
    assert (x * 2).requires_grad


def test_an_op_without_inputs_is_called():
    assert program.call("fill", [], {"value": 2.5}, outputs=[((3,), "float32")]).data.tolist() == [2.5, 2.5, 2.5]


def test_two_places_do_not_meet():
    x = program.ones(2)
    program.set_backend("emulator", local=False)
    with pytest.raises(program.BackendError, match="numpy and daemon:emulator:0"):
        x + program.ones(2)
    assert (x + np.ones(2, np.float32)).device == "numpy"
    with pytest.raises(ValueError, match="there are auto, emulator, cuda, numpy"):
        program.set_backend("gpu")
    with pytest.raises(gpuemu.ConnectionError, match="localhost:1 over TCP without token_file"):
        program.connect(host="localhost", port=1)


def test_full_takes_the_numbers_that_its_dtype_has():
    for value, dtype in ((300, "int8"), (-1, "uint8"), (1 << 63, "int64"), (2.5, "int32"), (float("nan"), "int32")):
        with pytest.raises(program.DTypeError, match="full: "):
            program.full((2,), value, dtype=dtype)
    with pytest.raises(TypeError, match="full: value is 'x'"):
        program.full((2,), "x")
    assert program.full((2,), 255, dtype="uint8").numpy().tolist() == [255, 255]
    assert program.full((1,), 5, dtype="bool").numpy().tolist() == [True]


def test_verbosity_tells_what_runs(capsys):
    program.set_verbosity(3)
    (program.ones(2) * 2.0 + 1.0).numpy()
    told = capsys.readouterr().err.splitlines()
    assert told[:2] == ["gpuemu.program: 0 mul", "gpuemu.program: 1 add"] and told[2].startswith("gpuemu.program: 2 ops on numpy, ")
    for wrong in (4, -1, True, "2"):
        with pytest.raises(ValueError):
            program.set_verbosity(wrong)


def test_a_training_loop_that_keeps_nothing_does_not_grow():
    w = program.randn(3, 4, requires_grad=True)
    x = program.randn(5, 4)
    counts = []
    for step in range(30):
        w.zero_grad()
        loss = program.linear(x, w).relu().sum()
        loss.backward()
        w.assign(w - 0.1 * w.grad)
        loss.item()
        if step in (5, 29):
            gc.collect()
            counts.append(sum(str(type(one).__module__).startswith("gpuemu.program") for one in gc.get_objects()))
    assert counts[0] == counts[1]


def test_a_loop_that_never_reads_computes_now_and_then():
    x = program.zeros(1)
    for _ in range(PENDING_MAX + 10):
        x = x + 1.0
    assert len(TAPE.pending) <= PENDING_MAX
    assert x.item() == PENDING_MAX + 10


def test_threads_lose_no_gradient():
    x = program.ones(8, requires_grad=True)

    def work():
        for _ in range(25):
            (x * 2.0).backward()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert x.grad.data.tolist() == [200.0] * 8


def test_a_graph_of_what_is_pending_has_its_lines():
    y = program.relu(program.ones(2) * 2.0)
    graph = y.graph()
    assert [node.kind for node in graph.nodes] == ["mul", "relu"]
    assert graph.nodes[1].where.startswith(__file__ + ":")
    assert y.is_pending


def test_narrow_floats_are_rounded_once_per_op():
    x = program.tensor([1.0, 3.0], dtype="bfloat16")
    assert (x / 3.0).cast("float32").data.tolist() == [0.333984375, 1.0]
    assert (program.tensor([2048.0], dtype="float16") + 1.0).data.tolist() == [2048.0]


def test_numbers_that_look_alike_stay_apart():
    x = program.tensor([1.0, -1.0])
    made = [(x * factor).data.tobytes() for factor in (0.0, -0.0, 0.5, 0.5, float("nan"), 0.0)]
    assert made[0] == made[5] != made[1] and made[2] == made[3]
    assert np.isnan(np.frombuffer(made[4], np.float32)).all()
    assert (program.tensor([1], dtype="int64") + 2**53 + 1).item() == 2**53 + 2


def test_a_value_that_was_dropped_and_computed_meanwhile_is_computed_again():
    x = program.ones(3)
    a = x * 2.0
    b = a + 1.0
    assert a.data.tolist() == [2.0] * 3  # b is computed at the same time.
    c = a * a
    del a
    assert c.data.tolist() == [4.0] * 3 and b.data.tolist() == [3.0] * 3


def test_what_nobody_has_any_more_keeps_nothing_pending():
    x = program.ones(3)
    for _ in range(50):
        x + 1.0
    y = x + 2.0
    assert len([one for one in TAPE.pending if one() is not None]) == 1
    assert y.data.tolist() == [3.0] * 3 and not [one for one in TAPE.pending if one() is not None]


def test_ops_of_a_gradient_are_written_where_backward_is_called():
    x = program.ones(2, requires_grad=True)
    (x * x).backward()
    line = int(x.grad.graph().nodes[-1].where.rsplit(":", 1)[1])
    assert x.grad.graph().nodes[-1].where.startswith(__file__) and open(__file__).read().splitlines()[line - 1].strip() == "(x * x).backward()"


def test_equal_tapes_are_bound_once_where_other_ops_were_dropped_between_theirs():
    x = program.ones(3)

    def step(between):
        y = x * 2.0
        between(y)
        z = y + x
        del y
        return z.data.tolist()

    def dropped(y):
        x - 1.0

    made = [step(between) for between in (len, dropped, len, Tensor.graph, dropped)]
    assert made == [[3.0] * 3] * 5 and len(TAPE.plans) == 1


@pytest.mark.parametrize("moment", ["ref", "insist_one"])
def test_an_interrupted_op_leaves_the_others_as_they_were(monkeypatch, moment):
    x, y = program.full((2,), 3.0), program.full((2,), 5.0)
    z = x * 2.0
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt) as raised:
        patched.setattr(calls, moment, interrupt)
        y * y
    assert raised.value.__traceback__  # It keeps the call that was not written to the end.
    assert (z - y).data.tolist() == [1.0] * 2 and (y * x).data.tolist() == [15.0] * 2


def interrupt(*_):
    raise KeyboardInterrupt  # As Ctrl-C does.


def test_places_that_take_turns_compute_what_is_theirs(monkeypatch):
    a = program.ones(2) * 3.0
    b = a + 1.0
    with monkeypatch.context() as patched:
        other = HostPlace()
        patched.setattr(SESSION, "place", lambda: other)
        c = program.tensor([1.0, 2.0]) * 2.0
    del a  # Its call is needed by b.
    assert c.data.tolist() == [2.0, 4.0] and b.is_pending
    assert (b * 2.0).data.tolist() == [8.0] * 2


def test_gradients_of_equal_ops_are_those_of_their_own_operands():
    for factor in (2.0, 3.0, -1.0):
        x = program.full((2, 2), factor, requires_grad=True)
        y = program.full((2, 2), factor + 1.0, requires_grad=factor > 0)
        ((x * y) @ (y / x)).sum().backward()
        assert x.grad.shape == (2, 2) and (y.grad is not None) == (factor > 0)
        again = program.full((2, 2), factor, requires_grad=True)
        (again * (factor + 1.0)).sum().backward()
        assert again.grad.data.tolist() == [[factor + 1.0] * 2] * 2


def test_many_shapes_and_attributes_are_forgotten_without_a_trace(monkeypatch):
    from gpuemu.program import tape

    for module in (calls, tape):
        monkeypatch.setattr(module, "WRITTEN_MAX", 8)
    kept = program.ones(3)
    for size in range(1, 30):
        x = program.ones(size) * 2.0 + float(size)
        assert (x.reshape(1, size).sum().item(), (kept + 1.0).data.tolist()) == (size * (2.0 + size), [2.0] * 3)
    assert len(TAPE.written) <= 8 and len(TAPE.tokens) <= 8
