"""Checks the results of a block of code, and generates the sequences of shapes, dtypes and layouts that clients loop over."""

from __future__ import annotations

import functools
import inspect
import itertools
import warnings
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpuemu import arguments, tensors
from gpuemu.client.client import Client
from gpuemu.client.records import FuzzResults, ReproduceResult, ValidationResult
from gpuemu.errors import ValidationError
from gpuemu.generate import legacy
from gpuemu.generate.legacy import FuzzConfig, SeededRng, generate_seed
from gpuemu.tensors import Array

__all__ = ["CheckedCalls", "Client", "FuzzConfig", "GpuemuClient", "SeededFuzzer", "SeededRng", "ValidationError", "ValidationResult",
           "fuzz_dtypes", "fuzz_dtypes_seeded", "fuzz_layouts", "fuzz_layouts_seeded", "fuzz_op", "fuzz_shapes", "fuzz_shapes_seeded",
           "generate_random_tensor", "generate_seed", "reproduce", "validate", "validate_op"]  # fmt: skip


GpuemuClient = Client  # The name that the first programs used.


def fuzz_op(client: Client, op_name: str, iterations: int = 100, seed: int | None = None, **options: Any) -> FuzzResults:
    """Runs many cases of one op, like client.fuzz_op(), with the same options."""
    return client.fuzz_op(op_name, seed, iterations, **options)


def reproduce(client: Client, seed: int, op_name: str | None = None, **options: Any) -> ReproduceResult:
    """Runs a stored failure again, like client.reproduce(), with the same options."""
    return client.reproduce(seed, op_name, **options)


@contextmanager
def validate_op(client: Client, op_name: str, inputs: Mapping[str, Any] | None = None, raise_on_failure: bool = True,
                **kwargs: Any) -> Generator[dict[str, Any], None, None]:  # fmt: skip
    """Judges the "output" that the block sets, when the block ends; the verdict is then under "result".

        with gpuemu.validate_op(client, "softmax", {"x": x}) as case:
            case["output"] = my_softmax(x)

    Raises ValidationError when the output is wrong (unless raise_on_failure is False), ValueError when the block set none. Arrays
    may come from NumPy, torch or jax.
    """
    case: dict[str, Any] = {"inputs": dict(inputs or {}), "kwargs": kwargs}
    yield case
    if "output" not in case:
        raise ValueError(f"nothing to judge for '{op_name}': set [\"output\"] inside the with block")
    case["result"] = client.validate_op(op_name, case["inputs"], case["output"], **kwargs)
    if raise_on_failure and not case["result"].passed:
        raise ValidationError(case["result"])


class CheckedCalls:
    """The object that `validate` yields: calling it calls the model, and every call is judged. `results`: the verdicts so far."""

    def __init__(self, model: Callable[..., Any], judge: Callable[[tuple[Any, ...], dict[str, Any], Any], ValidationResult],
                 raise_on_failure: bool) -> None:  # fmt: skip
        functools.update_wrapper(self, model, updated=())
        self.model, self.judge, self.raise_on_failure = model, judge, raise_on_failure
        self.hooked = False
        self.elements = 0  # Elements of all judged outputs.
        self.results: list[ValidationResult] = []

    def check(self, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
        """Judges one call. Raises ValidationError when the output is wrong, unless raise_on_failure is False."""
        result = self.judge(args, kwargs, output)
        self.elements += int(np.prod(np.shape(output), dtype=object)) if hasattr(output, "shape") else 1
        self.results.append(result)
        if self.raise_on_failure and not result.passed:
            raise ValidationError(result)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.hooked:
            return self.model(*args, **kwargs)
        given = _own((args, kwargs))
        output = self.model(*args, **kwargs)
        self.check(*given, output)
        return output


def _own(call: tuple[tuple[Any, ...], dict[str, Any]]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Copies the arrays among the arguments of a call, so that a model that changes its arguments is judged by the original
    ones."""

    def copied(value: Any) -> Any:
        if hasattr(value, "detach") and hasattr(value, "clone"):
            return value.detach().clone()
        return value.copy() if isinstance(value, np.ndarray) else value

    return tuple(copied(one) for one in call[0]), {name: copied(one) for name, one in call[1].items()}


def _watch(checked: CheckedCalls, model: Any) -> list[Any]:
    """Installs the hooks that judge every call of a torch module, wherever the call comes from."""
    given: list[Any] = []  # One entry for each running call. A call that raises leaves its entry at the bottom.

    def before(_: Any, args: Any, kwargs: Any) -> None:
        given.append(_own((args, kwargs)))

    def after(_: Any, args: Any, kwargs: Any, output: Any) -> None:
        args, kwargs = given.pop() if given else (args, kwargs)
        checked.check(args, kwargs, output)

    checked.hooked = True
    first = [model.register_forward_pre_hook(before, with_kwargs=True)] if hasattr(model, "register_forward_pre_hook") else []
    return [*first, model.register_forward_hook(after, with_kwargs=True)]


def _judge_of(client: Client, model: Any, reference: Any, reference_dtype: str) -> Callable[..., ValidationResult]:
    from gpuemu.check import judge

    name = getattr(model, "__name__", type(model).__name__)
    if isinstance(reference, str) and reference != "cpu":

        def by_op(args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> ValidationResult:
            names = list(inspect.signature(getattr(model, "forward", model)).parameters)
            given = {**dict(zip(names, args)), **kwargs}
            arrays = {key: one for key, one in given.items() if hasattr(one, "shape")}
            rest = {key: one for key, one in given.items() if key not in arrays}
            return client.validate_op(reference, arrays, output, **rest)

        return by_op
    if callable(reference):
        trusted = reference
    elif hasattr(model, "state_dict") and hasattr(model, "register_forward_hook"):
        from gpuemu.frameworks.pytorch import cpu_copy

        trusted = cpu_copy(model, reference_dtype)
    else:
        trusted = model

    def locally(args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> ValidationResult:
        given = {**{str(i): one for i, one in enumerate(args)}, **kwargs}

        def expected(arrays: Mapping[str, Array], wide: bool = True) -> Any:
            own = {key: _like(one, arrays[key]) if key in arrays else one for key, one in given.items()}
            made = {key: _widened(one, reference_dtype) if wide else _on_cpu(one) for key, one in own.items()}
            return trusted(*(made[str(i)] for i in range(len(args))), **{key: made[key] for key in kwargs})

        arrays = {key: tensors.as_array(one, "argument") for key, one in given.items() if hasattr(one, "shape") and hasattr(one, "dtype")}
        return judge.compare(output, expected({}), op_name=name, inputs=arrays, again=expected)

    return locally


def _like(value: Any, array: Array) -> Any:
    """Converts an array to the framework of `value`."""
    if hasattr(value, "detach"):
        from gpuemu.frameworks import adapter

        return adapter("torch").from_numpy(array)
    return array


def _on_cpu(value: Any) -> Any:
    """Returns the array on the CPU with the same dtype; other values unchanged."""
    value = tensors.unmasked(value, "argument")
    return value.detach().cpu() if hasattr(value, "detach") else value


def _widened(value: Any, dtype: str) -> Any:
    """Returns floating-point arrays on the CPU in `dtype`, and everything else unchanged. Rejects masked elements, because the
    reference would mask its output, too."""
    value = _on_cpu(value)
    if hasattr(value, "detach"):
        return value.to(getattr(__import__("torch"), dtype)) if value.is_floating_point() else value
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        return value.astype(dtype)
    return value


@contextmanager
def validate(client: Client, model: Any, reference: Any = "cpu", dtype: str | None = None, reference_dtype: str | None = None,
             raise_on_failure: bool = True) -> Generator[CheckedCalls, None, None]:  # fmt: skip
    """Judges every call of a model inside the block.

        with gpuemu.validate(client, model) as checked:
            y = model(x)          # a torch.nn.Module; anything else is called as checked(x)

    reference: "cpu" (the model itself, on the CPU, in reference_dtype, float64 by default), a callable, or the name of an op in
    gpuemu.toml. dtype: the dtype that outputs must have. Raises ValidationError at the first wrong call unless raise_on_failure
    is False. Warns when no call was seen or all outputs are empty.
    """
    judged = _judge_of(client, model, reference, reference_dtype or "float64")

    def judge_call(args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> ValidationResult:
        result = judged(args, kwargs, output)
        found = tensors.dtype_name(output)
        if dtype is not None and found != dtype:
            from gpuemu.client.records import Finding

            result.passed = False
            result.failures.append(Finding("DTypeMismatch", f"dtype mismatch: output is {found}, expected {dtype}"))
        return result

    checked = CheckedCalls(model, judge_call, raise_on_failure)
    hooks = _watch(checked, model) if hasattr(model, "register_forward_hook") else []
    try:
        yield checked
    finally:
        for hook in hooks:
            hook.remove()
    if not checked.results:
        warnings.warn("no call was checked: call what `with gpuemu.validate(...) as checked` gives", stacklevel=3)
    elif not checked.elements:
        warnings.warn(f"no element was compared: the outputs of all {len(checked.results)} calls are empty", stacklevel=3)


def fuzz_shapes(**dimensions: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yields every combination of the sizes, with dimensions in the order of the arguments; yields nothing without arguments."""
    if dimensions:
        yield from itertools.product(*dimensions.values())


def fuzz_dtypes(dtypes: Sequence[str] | None = None) -> Iterator[str]:
    """Yields the given dtypes one after another, by default float32 and float16."""
    yield from ["float32", "float16"] if dtypes is None else arguments.texts(dtypes, "dtypes")


def fuzz_layouts(shape: Sequence[int], include_contiguous: bool = True, include_strided: bool = True,
                 include_transposed: bool = True) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:  # fmt: skip
    """Yields (shape, strides in elements): row-major, with each pair of neighbouring sizes exchanged, and with every second
    element."""
    shape = tuple(shape)
    if include_contiguous:
        yield shape, legacy.row_major_strides(shape)
    for i in range(len(shape) - 1) if include_transposed else ():
        exchanged = (*shape[:i], shape[i + 1], shape[i], *shape[i + 2 :])
        yield exchanged, legacy.row_major_strides(exchanged)
    if include_strided and shape:
        yield shape, legacy.strides_of("strided", shape)


def fuzz_shapes_seeded(seed: int, batch_sizes: Sequence[int] | None = None, seq_lengths: Sequence[int] | None = None,
                       hidden_dims: Sequence[int] | None = None, edge_cases: Sequence[Sequence[int]] | None = None,
                       edge_case_probability: float = 0.1) -> Iterator[tuple[int, tuple[int, ...]]]:  # fmt: skip
    """Yields (seed of the case, shape) without end. The seed of a case is enough to generate it again."""
    lists = [given if given is not None else usual for given, usual in
             ((batch_sizes, legacy.BATCHES), (seq_lengths, legacy.SEQUENCES), (hidden_dims, legacy.HIDDEN))]  # fmt: skip
    edges = [[1], [1, 1], [1, 1, 1]] if edge_cases is None else edge_cases
    for rng in legacy.iterations(seed):
        yield rng.seed, legacy.draw_shape(rng.derive("shape"), lists[0], lists[1], lists[2], edges, edge_case_probability)


def fuzz_dtypes_seeded(seed: int, dtypes: Sequence[str] | None = None) -> Iterator[tuple[int, str]]:
    """Yields (seed of the case, dtype) without end."""
    for rng in legacy.iterations(seed):
        yield rng.seed, rng.derive("dtype").choice(["float32", "float16"] if dtypes is None else arguments.texts(dtypes, "dtypes"))


def fuzz_layouts_seeded(seed: int, shape: Sequence[int], layouts: Sequence[str] | None = None,
                        ) -> Iterator[tuple[int, str, tuple[int, ...], tuple[int, ...]]]:  # fmt: skip
    """Yields (seed of the case, layout, shape, strides in elements) without end."""
    for rng in legacy.iterations(seed):
        layout = rng.derive("layout").choice(["contiguous", "strided", "transposed"] if layouts is None else layouts)
        yield rng.seed, layout, tuple(shape), legacy.strides_of(layout, shape)


def generate_random_tensor(seed: int, shape: Sequence[int], dtype: str = "float32", domain: str = "data") -> Array:
    """Returns an array that depends only on the seed and the domain. Floats are normal with deviation 10; other types are filled
    as in the daemon."""
    rng, shape = SeededRng(seed).derive(domain), arguments.shape(shape)
    kind = tensors.numpy_dtype(dtype)
    if kind.kind in "iub":
        return rng.fill(shape, str(kind))
    return np.asarray(rng.randn(*shape).astype(kind) * kind.type(10.0))


class SeededFuzzer:
    """Generates the cases of a FuzzConfig one after another."""

    @dataclass
    class TestCase:
        """One generated case. strides: in elements."""

        __test__ = False

        seed: int
        shape: tuple[int, ...]
        dtype: str
        layout: str
        strides: tuple[int, ...]

        def generate_input(self, name: str = "input") -> Array:
            """Returns the array of one input, with the shape and dtype of the case."""
            return generate_random_tensor(self.seed, self.shape, self.dtype, domain=name)

    def __init__(self, config: FuzzConfig) -> None:
        if not isinstance(config, FuzzConfig):
            raise TypeError(f"config is {config!r:.80}, expected gpuemu.FuzzConfig(seed)")
        self.config = config
        self.reset()

    def reset(self) -> None:
        """Starts again at the first case."""
        self._cases = legacy.iterations(self.config.seed)

    def next(self) -> SeededFuzzer.TestCase:
        """Returns the next case. The sequence never ends."""
        rng, config = next(self._cases), self.config
        shape = legacy.draw_shape(rng.derive("shape"), config.batch_sizes, config.seq_lengths, config.hidden_dims, config.edge_cases)
        dtype, layout = rng.derive("dtype").choice(config.dtypes), rng.derive("layout").choice(config.layouts)
        return SeededFuzzer.TestCase(rng.seed, shape, dtype, layout, legacy.strides_of(layout, shape))

    def iterator(self, max_iterations: int = 1000) -> Iterator[SeededFuzzer.TestCase]:
        """Yields the next `max_iterations` cases."""
        for _ in range(max_iterations):
            yield self.next()


# `import gpuemu.validate as v` gives this function, because the package has a function of the module's name. So v.fuzz_op must
# work, too.
for _name in __all__:
    if _name != "validate":
        setattr(validate, _name, globals()[_name])
