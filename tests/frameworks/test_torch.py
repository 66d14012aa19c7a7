"""PyTorch: conversions, gradients of custom ops, and every call of an op in a block."""
import numpy as np
import pytest

torch = pytest.importorskip("torch")
import gpuemu  # noqa: E402
import ops  # noqa: E402
from gpuemu.frameworks import pytorch  # noqa: E402

DTYPES = ["float16", "bfloat16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "bool"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_goes_there_and_back_without_a_copy(dtype):
    if dtype == "bfloat16":
        pytest.importorskip("ml_dtypes")
    adapter = pytorch.PyTorchAdapter()
    tensor = torch.arange(6).reshape(2, 3).to(getattr(torch, dtype))
    array = adapter.to_numpy(tensor)
    assert str(array.dtype) == dtype and adapter.get_dtype_name(tensor) == dtype
    back = adapter.from_numpy(array)
    assert back.dtype == tensor.dtype and torch.equal(back, tensor)
    back[0, 0] = 1
    assert tensor[0, 0] == 1, "it is a copy"


def test_strides_are_kept_and_those_that_torch_lacks_are_copied():
    adapter = pytorch.PyTorchAdapter()
    tensor = torch.arange(12.0).reshape(3, 4).t()
    assert adapter.to_numpy(tensor).strides == (4, 16)
    array = np.arange(5.0)[::-1]
    assert adapter.from_numpy(array).tolist() == [4, 3, 2, 1, 0]


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        return 2 * ctx.saved_tensors[0] * grad


class ForgetsTwo(Square):
    @staticmethod
    def backward(ctx, grad):
        return ctx.saved_tensors[0] * grad


def test_a_backward_is_compared_with_differences_and_with_a_reference():
    x = {"x": torch.linspace(-2, 2, 12, dtype=torch.float64, requires_grad=True)}
    assert pytorch.check_autograd(lambda x: Square.apply(x), x) and not pytorch.check_autograd(lambda x: ForgetsTwo.apply(x), x)
    assert pytorch.validate_custom_autograd_function(Square, x)["backward_ok"]
    told = pytorch.validate_custom_autograd_function(ForgetsTwo, x)
    assert told["forward_ok"] and not told["backward_ok"] and "gradient of 'x'" in told["details"][0]
    report = pytorch.check_backward(lambda x: ForgetsTwo.apply(x), lambda x: x * x, x)
    assert not report and pytorch.check_backward(lambda x: Square.apply(x), lambda x: x * x, x)


def test_a_gradient_that_a_plain_sum_hides_is_seen():
    class Softmax(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return torch.softmax(x, -1)

        @staticmethod
        def backward(ctx, grad):
            return torch.zeros_like(grad)

    x = {"x": torch.randn(3, 4, dtype=torch.float64, requires_grad=True)}
    assert not pytorch.check_autograd(lambda x: Softmax.apply(x), x)


def test_float32_gradients_are_held_to_what_differences_can_tell():
    x = {"x": torch.linspace(0.5, 2, 8, requires_grad=True)}
    assert pytorch.check_autograd(lambda x: Square.apply(x), x) and not pytorch.check_autograd(lambda x: ForgetsTwo.apply(x), x)


def test_the_output_and_its_gradient_are_judged(client):
    x = torch.ones(4, requires_grad=True)
    with pytorch.validate_pytorch(client, "scale", {"x": x}, check_backward=True, factor=3.0) as context:
        context["output"] = x * 3
    assert [one.passed for one in context["results"]] == [True, True]
    with pytest.raises(gpuemu.ValidationError, match="scale_grad_x"):
        with pytorch.validate_pytorch(client, "scale", {"x": x}, check_backward=True) as context:
            context["output"] = 2 * x.detach() + x - x.detach()
    with pytest.raises(gpuemu.ValidationError, match="'scale'"):
        with pytorch.validate_pytorch(client, "scale", {"x": x}) as context:
            context["output"] = x * 3
    with pytest.raises(ValueError, match="Output not set"):
        with pytorch.validate_pytorch(client, "scale", {"x": x}):
            pass


def test_a_wider_tolerance_of_the_caller_forgives_distances_only(client):
    x = torch.ones(4)
    with pytorch.validate_pytorch(client, "scale", {"x": x}, rtol=0.1) as context:
        context["output"] = x * 2.1
    assert context["results"][0].passed
    with pytest.raises(gpuemu.ValidationError):
        with pytorch.validate_pytorch(client, "scale", {"x": x}, rtol=0.01, atol=0.05) as context:
            context["output"] = x * 2.1
    with pytest.raises(gpuemu.ValidationError):
        with pytorch.validate_pytorch(client, "scale", {"x": x}, atol=10) as context:
            context["output"] = x * float("nan")


def test_every_call_of_a_library_op_is_judged(client):
    @torch.library.custom_op("gpuemu_test::scale", mutates_args=())
    def scale(x: torch.Tensor, factor: float) -> torch.Tensor:
        return x * (factor if x.shape[0] < 5 else 1.0)

    with pytorch.validate_pytorch(client, "scale") as context:
        scale(torch.ones(3), 3.0)
        torch.ops.gpuemu_test.scale(torch.ones(4), 2.0)
    assert [one.passed for one in context["results"]] == [True, True]
    with pytest.raises(ValueError, match="no call of 'relu' seen"):  # torch's own op of that name is not meant.
        with pytorch.validate_pytorch(client, "relu"):
            torch.relu(torch.ones(3))
    with pytest.raises(gpuemu.ReferenceScriptError, match="it has: other, self"):  # Named in full, it is.
        with pytorch.validate_pytorch(client, "scale", op="aten::mul"):
            torch.ones(3) * torch.ones(3)
    with pytest.raises(gpuemu.ValidationError):
        with pytorch.validate_pytorch(client, "scale", op="gpuemu_test::scale"):
            scale(torch.ones(3), 3.0)
            scale(torch.ones(6), 3.0)


def test_every_call_of_a_function_is_judged_and_the_function_put_back(client):
    before = ops.triple
    with pytest.raises(gpuemu.ValidationError):
        with pytorch.validate_pytorch(client, "scale", op="ops.triple") as context:
            ops.triple(torch.ones(2))
    assert len(context["results"]) == 1 and ops.triple is before


def test_a_module_is_judged_by_its_twin_in_float64(client):
    class Rounds(torch.nn.Linear):
        def forward(self, x):
            made = super().forward(x)
            return made.to(torch.bfloat16).to(made.dtype) if made.dtype == torch.float32 else made

    x = torch.randn(5, 8)
    with gpuemu.validate(client, torch.nn.Linear(8, 4)) as checked:
        checked.model(x)
    assert [one.passed for one in checked.results] == [True]
    model = Rounds(8, 4)
    with pytest.raises(gpuemu.ValidationError):
        with gpuemu.validate(client, model):
            model(x)
    with pytest.warns(UserWarning, match="no call was checked"):
        with gpuemu.validate(client, model):
            pass


def test_cases_are_drawn_run_and_judged(client):
    right = pytorch.fuzz_pytorch_op(client, "scale", lambda inputs: inputs["x"] * 2, iterations=2, seed=11)
    assert (right["total"], right["failed"]) == (2, 0)
    wrong = pytorch.fuzz_pytorch_op(client, "scale", lambda inputs: inputs["x"] * 3, iterations=2, seed=11, fail_fast=True)
    assert wrong["failed"] == 1 and not wrong["forward_failures"][0].passed


def test_a_torch_function_is_checked_on_tensors():
    def scale(x: torch.Tensor):
        assert isinstance(x, torch.Tensor)
        return x * 2

    assert gpuemu.check(scale, lambda x: x * 2, cases=10, seed=1, dtypes=["float32", "float16"]).passed == 10
