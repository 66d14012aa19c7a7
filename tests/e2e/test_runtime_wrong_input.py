"""gpuemu.runtime tells a wrong argument by its name, with what was expected."""
import numpy as np
import pytest

from gpuemu.runtime import errors
from test_runtime import device, gpuemu, runtime  # noqa: F401

CODE = 'extern "C" __global__ void k(const float* x, float* y, int n, float a) { int i = threadIdx.x; if (i < n) y[i] = x[i] * a; }'
LAUNCH = runtime.Launch("k", 1, 64, ["x", "y", "i32:x.count", "f32:a"])
WRONG = runtime.InvalidArgumentError


def op(**options):
    return runtime.register_op("scaled", ["x: T"], ["y: T"], **{"schema": [("a", "float32", 2.0)], "infer": lambda x, a: [x], **options})


def normalize(one, **options):
    runtime.op_call("rmsnorm", [one.zeros((1, 2)), one.zeros(2)], [one.empty((1, 2))], **options)


@pytest.mark.parametrize(("call", "error", "says"), [
    (lambda one: runtime.Device("emulator", folder=3), TypeError, "folder is of type int, expected a path"),
    (lambda one: runtime.Device("emulator", checks=3), TypeError, "checks is 3, expected a list of names"),
    (lambda one: runtime.Device("emulator", checks="race"), TypeError, "checks is 'race', expected a list of names"),
    (lambda one: one.empty(np.array([2.0, 3.0])), TypeError, "shape has a value of type float64, expected a tuple of int"),
    (lambda one: one.empty((2, True)), TypeError, "shape has a value of type bool"),
    (lambda one: one.empty((1 << 70, 0)), runtime.OutOfMemoryError, "has axes for 1180591620717411303424 elements"),
    (lambda one: one.zeros(2)[np.array([True, False])], TypeError, "an index is of type ndarray, expected ints and slices"),
    (lambda one: one.default_stream.record(3), TypeError, "event is of type int, expected an Event or None"),
    (lambda one: one.default_stream.wait(runtime.Device("emulator").event()), WRONG, "the event is of emulator:0, expected one of emulator:0, the same device object"),
    (lambda one: normalize(one, attrs=b"1234", schema_id="7"), TypeError, "rmsnorm: schema_id is of type str, expected an int"),
    (lambda one: normalize(one, attrs=b"1234", schema_id=1 << 32), WRONG, "rmsnorm: schema_id is 4294967296"),
    (lambda one: runtime.op_call("relu", [np.ones(2, complex)], [one.empty(2)]), WRONG, r"relu: inputs\[0\]: dtype <c16"),
    (lambda one: runtime.op_call("relu", [3], [one.empty(2)]), TypeError, r"relu: inputs\[0\]: the operand is of type int, expected a Tensor"),
    (lambda one: op(schema=[("x", "int32", 1)]), WRONG, "op 'scaled': an operand and an attribute are both called 'x'"),
    (lambda one: op(schema="a"), TypeError, "schema is of type str, expected a list"),
    (lambda one: runtime.register_op("scaled", "x: T", ["y: T"]), TypeError, "inputs is of type str, expected a list of texts"),
    (lambda one: runtime.register_op("scaled", ["x: T"], [3]), TypeError, r"outputs\[0\] is of type int, expected a text"),
    (lambda one: runtime.register_kernel("relu", "mine", CODE, "k"), TypeError, "launches is of type str, expected a list of Launch"),
    (lambda one: runtime.register_kernel("relu", "mine", CODE, [3]), TypeError, r"launches\[0\] is of type int, expected a Launch"),
    (lambda one: runtime.register_kernel("relu", "mine", CODE, [LAUNCH], workspace=-1), WRONG, "workspace is -1, expected 0 or more"),
    (lambda one: one.set_policy("{bad"), WRONG, "the policy is not JSON: .* line 1 column 2"),
    (lambda one: runtime.Policy.from_json('{"prefer": [1]}'), WRONG, "the policy: prefer is of type list"), (lambda one: runtime.Policy(3), TypeError, "strategy is of type int"),
    (lambda one: runtime.Policy(prefer={"relu": 3}), TypeError, "prefer has 'relu': 3"), (lambda one: runtime.Policy.from_json(3), TypeError, "text is of type int, expected JSON"),
    (lambda one: runtime.Launch("k", 0, 64, []), WRONG, "grid is 0, expected 1 to"), (lambda one: runtime.Launch("k", 1, (32, -1), []), WRONG, "block is -1, expected 1 to"),
    (lambda one: runtime.Launch("k", 1, 1, [], shared=-1), WRONG, "shared is -1, expected 0 or more"),
    (lambda one: runtime.Launch("k", 1, 1, 3), TypeError, "args is of type int, expected a list of texts"),
    (lambda one: runtime.Launch("k", 1, 1, ["x", 3]), TypeError, r"args\[1\] is of type int, expected a text"),
])  # fmt: skip
def test_a_wrong_argument_is_named(device, call, error, says):
    with pytest.raises(error, match=says):
        call(device)


def test_shapes_are_sizes_of_any_kind_that_counts(device):
    shapes = [device.empty(shape).shape for shape in (3, (3,), [3], np.int64(3), np.array([3]), np.array(3), range(3, 4))]
    assert shapes == [(3,)] * 7 and all(type(one) is int for (one,) in shapes)


def test_a_scalar_of_numpy_keeps_its_dtype(device):
    assert [device.tensor(one).dtype for one in (np.float64(1), np.float16(1), np.int8(1), 1.0, 1)] == ["float64", "float16", "int8", "float32", "int64"]


def test_what_was_freed_is_called_by_its_place_and_name(device):
    x = device.zeros(2, name="weights")
    x.free()
    with pytest.raises(runtime.ReleasedError, match=r"relu: inputs\[0\] 'weights' cannot be used: it was freed"):
        runtime.op_call("relu", [x], [device.empty(2)])
    with pytest.raises(runtime.ReleasedError, match="source 'weights' cannot be used: it was freed"):
        device.zeros(2).copy_from(x)


def test_a_current_stream_that_was_closed_is_refused(device):
    x, y = device.zeros(2), device.empty(2)
    with device.stream() as stream:
        runtime.op_call("relu", [x], [y])
        stream.close()
        for call in (lambda: device.zeros(2), lambda: runtime.op_call("relu", [x], [y])):
            with pytest.raises(runtime.ReleasedError, match="the stream of emulator:0 is closed|closed meanwhile"):
                call()


def test_a_call_of_an_op_that_was_removed_lists_the_ops_that_there_are(device):
    x, y = device.zeros(2), device.empty(2)
    with op():
        runtime.register_kernel("scaled", "plain", CODE, [LAUNCH], types={"T": ["float32"]})
        for _ in range(2):
            runtime.op_call("scaled", [x], [y])
    with pytest.raises(runtime.NotFoundError, match="no op 'scaled'; there are: adam_step, add, "):
        runtime.op_call("scaled", [x], [y])


@pytest.mark.parametrize("made", [lambda x, a: x, lambda x, a: [x, x], lambda x, a: [x.shape], lambda x, a: None])
def test_an_infer_that_gives_something_else_is_named(device, made):
    with op(infer=made), pytest.raises(WRONG, match=r"scaled: infer\(\) gives .*, expected a list of 1 TensorSpec"):
        runtime.op_call("scaled", [device.zeros(2)], [device.empty(2)])


def test_two_profiles_of_a_device_at_once_are_refused_in_words_of_python(device):
    with device.profile(), pytest.raises(WRONG, match="emulator:0 is profiled already; one profile at a time: leave the other block first"):
        device.profile().__enter__()


def test_a_tensor_of_another_device_is_used_there_without_a_copy(device):
    own = runtime.Device("emulator").tensor([-1.0, 2.0])
    seen, y = runtime.as_tensor(own, device=device), device.empty(2)
    assert seen.device is device and seen.address == own.address and runtime.as_tensor(own) is own
    runtime.op_call("relu", [seen], [y])
    assert y.numpy().tolist() == [0.0, 2.0]


def test_content_with_nothing_but_dlpack_is_copied(device):
    class Held:
        array = np.arange(3.0)

        def __dlpack__(self, **how):
            return self.array.__dlpack__(**how)

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    assert device.tensor(Held()).numpy().tolist() == [0.0, 1.0, 2.0]


def test_a_lost_device_has_the_code_of_the_c_interface():
    assert gpuemu.DeviceLostError("gone").code == "Unavailable"


def test_a_kernel_out_of_time_is_a_timeout_and_other_faults_are_not():
    late, outside = (gpuemu.device.Place(kind=kind, message="it ran on and on") for kind in ("timeout", "out_of_bounds"))
    error = errors.of_faults([late, outside])
    assert isinstance(error, runtime.DeviceTimeoutError) and isinstance(error, TimeoutError) and error.code == "Timeout" and "it ran on" in str(error)
    assert isinstance(errors.of_faults([outside, late]), gpuemu.KernelError)
