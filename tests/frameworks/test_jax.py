"""JAX: conversions, transformations, and every call of an op in a block."""
import numpy as np
import pytest

jax = pytest.importorskip("jax")
import gpuemu  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import ops  # noqa: E402
from gpuemu.frameworks import jax as adapter  # noqa: E402

X = jnp.linspace(-1, 1, 6).reshape(2, 3)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "int8", "int32", "uint16", "bool"])
def test_every_dtype_goes_there_and_back(dtype):
    made = adapter.JAXAdapter()
    array = jnp.arange(4).astype(dtype)
    assert str(made.to_numpy(array).dtype) == dtype
    back = made.from_numpy(made.to_numpy(array))
    assert back.dtype == array.dtype and bool((back == array).all())


def test_calls_are_judged_in_eager_code_and_under_every_transformation(client):
    with adapter.validate_jax(client, "scale", op="ops.double") as context:
        ops.double(X)
        jax.jit(lambda x: ops.double(x) + 1)(X)
        jax.vmap(lambda x: ops.double(x))(X)
        jax.grad(lambda x: ops.double(x).sum())(X)
    assert len(context["results"]) >= 5 and all(one.passed for one in context["results"])
    for transform in (jax.jit, jax.vmap, jax.grad):
        with pytest.raises(gpuemu.ValidationError):
            with adapter.validate_jax(client, "scale", op="ops.triple"):
                transform(lambda x: ops.triple(x).sum())(X)


def test_the_output_of_a_block_is_judged(client):
    with adapter.validate_jax(client, "scale", {"x": X}) as context:
        context["output"] = 2 * X
    with pytest.raises(gpuemu.ValidationError):
        with adapter.validate_jax(client, "scale", {"x": X}) as context:
            context["output"] = X


def test_ops_that_transformations_change_are_found():
    assert adapter.check_vmap_compatible(lambda x: x * 2, {"x": X}) and adapter.check_jit_safe(lambda x: x * 2, {"x": X})
    assert not adapter.check_vmap_compatible(lambda x: x / x.shape[0] if x.ndim == 2 else x / float(x.sum()), {"x": X})
    assert not adapter.check_jit_safe(lambda x: x * 2 if x.sum() > 0 else x, {"x": X})
    assert not adapter.check_jit_safe(lambda x: x * (1 if isinstance(x, jax.core.Tracer) else 2), {"x": X + 3})
    assert adapter.check_pmap_compatible(lambda x: x * 2, {"x": X})
    assert adapter.check_grad_safe(lambda x: x * x, {"x": X}) and not adapter.check_grad_safe(lambda x: jnp.sqrt(x), {"x": jnp.zeros(2)})


@jax.custom_vjp
def square(x):
    return x * x


square.defvjp(lambda x: (x * x, x), lambda x, g: (x * g,))


def test_a_custom_gradient_is_compared_with_that_of_a_reference():
    assert not adapter.check_backward(square, lambda x: x * x, {"x": X})
    assert adapter.check_backward(lambda x: x * x, lambda x: x**2, {"x": X})


@jax.custom_jvp
def cube(x):
    return x**3


cube.defjvp(lambda primals, tangents: (primals[0] ** 3, primals[0] ** 2 * tangents[0]))


def test_a_primitive_is_checked_in_all_its_rules():
    right = adapter.validate_jax_primitive("sin", lambda x: jnp.sin(x), {"x": X}, np.sin(np.asarray(X)))
    assert right["forward_ok"] and right["jvp_ok"] and right["vmap_ok"] and not right["details"]
    wrong = adapter.validate_jax_primitive("cube", cube, {"x": X}, np.asarray(X) ** 3 + 1)
    assert not wrong["forward_ok"] and not wrong["jvp_ok"] and wrong["vmap_ok"] and len(wrong["details"]) == 2


def test_cases_are_drawn_run_and_judged(client):
    right = adapter.fuzz_jax_op(client, "scale", lambda x: x * 2, iterations=1, seed=5, check_jit=True)
    assert (right["total"], right["failed"], right["transform_failures"]) == (1, 0, [])
    assert adapter.fuzz_jax_op(client, "scale", lambda x: x * 3, iterations=1, seed=5)["failed"] == 1


def test_a_kernel_reads_an_array_of_jax_and_does_not_write_one(monkeypatch):
    from conftest import BIN

    monkeypatch.setenv("GPUEMU_DEVICE", str(BIN / "gpuemu-device"))
    double = gpuemu.Kernel("__global__ void twice(const float* x, float* y, int n) { int i = threadIdx.x; if (i < n) y[i] = 2 * x[i]; }", "twice")
    x, y = jnp.arange(8, dtype=jnp.float32), np.zeros(8, np.float32)
    double[1, 32](x, y, 8)
    assert np.array_equal(y, 2 * np.arange(8))
    with pytest.raises(gpuemu.LaunchError, match="argument 'y', a ArrayImpl that cannot be changed in place"):
        double[1, 32](x, jnp.zeros(8, jnp.float32), 8)
