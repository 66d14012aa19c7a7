"""Lazy tensors with gradients: written like arrays, computed when they are read."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import gpuemu.program.ops.rules as rules
from gpuemu.program.backward import Edge, OfCallers, edge_of, leaf, leaf_gradients, number_of, sum_of
from gpuemu.program.errors import DTypeError, GradError, GraphError, ShapeError
from gpuemu.program.functions import NAMES, Functions, is_number
from gpuemu.program.ir import IRGraph, place_of_caller
from gpuemu.program.places import Place
from gpuemu.program.session import SESSION
from gpuemu.program.specs import FLOATS, Spec, is_float, storage_dtype, text
from gpuemu.program.calls import Call, Lazy, Op, leaves_of, needed
from gpuemu.program.tape import LOCK, TAPE, graph_of, held_array
from gpuemu.tensors import Array


class _Threads(threading.local):
    """Per thread: whether gradients are recorded, and the place of arrays that are operands beside a tensor."""

    no_grad = False
    beside: Place | None = None


_threads = _Threads()


class Tensor:
    """A value of a program that is computed when it is read. Created by randn, ones, tensor and the functions of gpuemu.program,
    each of which is also a method."""

    __array_priority__ = 1000  # NumPy then passes arithmetic with an array on the left to this class.
    requires_grad = False
    name: str | None = None
    grad: Tensor | None = None
    _lazy: Lazy
    _edge: Edge | None = None  # How the tensor was computed, if it needs a gradient; it is output `_index` of the edge.
    _index = 0
    __hash__ = object.__hash__

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    def __init__(self, lazy: Lazy, *, requires_grad: bool = False, name: str | None = None, edge: Edge | None = None, index: int = 0) -> None:
        if requires_grad and not is_float(lazy.spec.dtype):
            raise DTypeError(f"requires_grad: the tensor is {lazy.spec.dtype}, gradients are of {', '.join(FLOATS)}")
        self._lazy, self._edge, self._index = lazy, edge, index
        self.requires_grad, self.name, self.grad = requires_grad, name, None

    @property
    def spec(self) -> Spec:
        """Shape and dtype."""
        return self._lazy.spec

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the axes."""
        return self._lazy.spec.shape

    @property
    def dtype(self) -> str:
        """The dtype's name."""
        return self._lazy.spec.dtype

    @property
    def device(self) -> str:
        """The place where the tensor is computed and stored."""
        return self._lazy.place.name

    @property
    def is_pending(self) -> bool:
        """True if it still has to be computed."""
        return self._lazy.call is not None

    @property
    def is_leaf(self) -> bool:
        """True if it is not the result of an op."""
        return self._edge is None and (self._lazy.call is None or not self.requires_grad)

    @property
    def data(self) -> Array:
        """The content as a separate read-only array, computed now if needed."""
        made = held_array(self._lazy)
        made.flags.writeable = False
        return made

    def numpy(self) -> Array:
        """Returns the content as a writable copy."""
        return held_array(self._lazy)

    def item(self) -> Any:
        """Returns the only element. Raises ValueError if there are more, or none."""
        if self.spec.elements != 1:
            raise ValueError(f"item: the tensor is {text(self.shape)} with {self.spec.elements} elements, expected one")
        return held_array(self._lazy).reshape(())[()].item()

    def detach(self) -> Tensor:
        """Returns the same value without a gradient."""
        return Tensor(self._lazy, name=self.name)

    def assign(self, value: Any) -> None:
        """Sets new content of the same shape and dtype; no gradient is recorded. Only for leaves."""
        if self._edge is not None:
            raise GradError("assign: the tensor was computed from others; only leaves can be assigned to")
        with LOCK:
            if isinstance(value, Tensor):
                made = value._lazy
            else:
                # Lists and numbers have no dtype. Without ml_dtypes the dtype of bfloat16 data has another name.
                is_other = hasattr(value, "dtype") and not is_number(value) and str(value.dtype) != storage_dtype(self.dtype).name
                made = leaf(value, None if is_other else self.dtype, self._lazy.place)
            if made.spec.shape != self.shape:
                raise ShapeError(f"assign: the value is {text(made.spec.shape)}, expected {text(self.shape)}")
            if made.spec.dtype != self.dtype:
                raise DTypeError(f"assign: the value is {made.spec.dtype}, expected {self.dtype}")
            self._lazy = made

    def zero_grad(self) -> None:
        """Clears the gradient: `grad` becomes None."""
        self.grad = None

    def backward(self, grad: Any = None) -> None:
        """Adds the gradients of this tensor to `grad` of the leaves that it was computed from; grad: the gradient to start with,
        by default ones."""
        backward(self, grad)

    def graph(self) -> IRGraph:
        """Returns the pending ops that this tensor depends on, as a graph."""
        with LOCK:
            calls = needed([self._lazy])
            return graph_of(calls, leaves_of(calls) if calls else [self._lazy], [self._lazy])

    @property
    def T(self) -> Tensor:
        """The matrix with its axes exchanged."""
        return LAZY.transpose(self)  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        told = [str(self.spec), self.device, *(["pending"] if self.is_pending else []), *(["requires_grad"] if self.requires_grad else [])]
        return f"Tensor({', '.join([*([repr(self.name)] if self.name else []), *told])})"

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a tensor without axes has no length")
        return self.shape[0]

    def __bool__(self) -> bool:
        raise TypeError("a tensor has no truth value: use .item() or .data")

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __array__(self, dtype: Any = None, copy: Any = None) -> Array:
        made = self.numpy()
        return made if dtype is None else made.astype(dtype)

    def __iter__(self) -> Iterator[Any]:
        raise TypeError("a tensor cannot be iterated over or indexed; use .data")

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError("a tensor cannot be copied or pickled; use .data")

    def __add__(self, other: Any) -> Tensor:
        return combined("add", self, other)

    def __radd__(self, other: Any) -> Tensor:
        return combined("add", other, self)

    def __sub__(self, other: Any) -> Tensor:
        return combined("sub", self, other)

    def __rsub__(self, other: Any) -> Tensor:
        return combined("sub", other, self)

    def __mul__(self, other: Any) -> Tensor:
        return combined("mul", self, other)

    def __rmul__(self, other: Any) -> Tensor:
        return combined("mul", other, self)

    def __truediv__(self, other: Any) -> Tensor:
        return combined("div", self, other)

    def __rtruediv__(self, other: Any) -> Tensor:
        return combined("div", other, self)

    def __matmul__(self, other: Any) -> Tensor:
        return LAZY.matmul(self, other)  # type: ignore[no-any-return]

    def __rmatmul__(self, other: Any) -> Tensor:
        return LAZY.matmul(other, self)  # type: ignore[no-any-return]

    def __neg__(self) -> Tensor:
        return LAZY.neg(self)  # type: ignore[no-any-return]


_new: Any = object.__new__


def plain(lazy: Lazy) -> Tensor:
    """Returns a tensor without a gradient or a name. It is made without __init__(), as every result is."""
    made: Tensor = _new(Tensor)
    made._lazy = lazy
    made.requires_grad = False  # All are set, because Python finds an attribute of the object faster than one of the class.
    made._edge = None
    made._index = 0
    made.grad = None
    made.name = None
    return made


class LazyFunctions(Functions):
    """Writes pending calls."""

    def __init__(self) -> None:
        self.place: Callable[[], Place] = lambda: TAPE_PLACE()

    def apply(self, kind: str, inputs: Sequence[Any], attrs: dict[str, Any]) -> list[Tensor]:
        return applied(kind, inputs, attrs)

    def written(self, value: Any, op: str, like: Any = None, dtype: str | None = None) -> Tensor:
        if isinstance(value, Tensor):
            return value
        place = like._lazy.place if like is not None else _threads.beside or self.place()
        if is_number(value) and like is not None:
            return self.number(value, like, op)
        if is_number(value) or value is None or isinstance(value, (str, bytes)):
            raise TypeError(f"{op}: an operand is {value!r}, expected a tensor or an array")
        return Tensor(leaf(value, dtype, place, f"operand of {op}"))

    def number(self, value: Any, like: Tensor, op: str) -> Tensor:
        """Returns a number as a tensor with the dtype and place of another one."""
        return plain(number_of(value, like._lazy, op))

    def one(self, kind: str, *inputs: Any, **attrs: Any) -> Any:
        for one in inputs:
            if type(one) is not Tensor:
                break
        else:
            return applied(kind, inputs, attrs)[0]
        beside = next((x._lazy.place for x in inputs if isinstance(x, Tensor)), None)
        before = _threads.beside
        _threads.beside = beside
        try:
            return super().one(kind, *inputs, **attrs)
        finally:
            _threads.beside = before

    def binary(self, kind: str, a: Any, b: Any) -> Any:
        return combined(kind, a, b)


def combined(kind: str, a: Any, b: Any) -> Tensor:
    """Writes an arithmetic op. If it was written before with operands of this form, the checks are skipped."""
    if type(a) is float and type(b) is Tensor:
        a = plain(number_of(a, b._lazy, kind))
    elif type(b) is float and type(a) is Tensor:
        b = plain(number_of(b, a._lazy, kind))
    if type(a) is Tensor and type(b) is Tensor:
        op = TAPE.written.get((kind, "", a._lazy.form, b._lazy.form))
        if op is not None:
            return applied(kind, (a, b), op.attrs, None, op)[0]
    return Functions.binary(LAZY, kind, a, b)  # type: ignore[no-any-return]


def TAPE_PLACE() -> Place:
    """Returns the place of new tensors."""
    return SESSION.place()


LAZY = LazyFunctions()


def applied(kind: str, inputs: Sequence[Tensor], attrs: dict[str, Any], gradient: OfCallers | None = None, op: Op | None = None) -> list[Tensor]:
    """Writes an op and, if one of its operands needs a gradient, records its edge. op: that of an equal call in TAPE.written."""
    lazies, wants, made = [], False, []
    with LOCK:
        for each in inputs:
            lazies.append(each._lazy)
            if each.requires_grad:
                wants = True
        call, outputs = TAPE.write(kind, lazies, attrs, LAZY.place, op)
        for one in outputs:
            made.append(plain(one))
        if wants and not _threads.no_grad:
            edge = edge_of(call, gradient, inputs, lazies, outputs)
            index = 0
            for each in made:
                each.requires_grad, each._edge, each._index = call.op.floats[index], edge, index
                index += 1
    return made


def backward(root: Tensor, grad: Any) -> None:
    """See Tensor.backward."""
    if not root.requires_grad:
        raise GradError("backward: the tensor requires no gradient; make a leaf with requires_grad=True, outside of no_grad()")
    with LOCK, TAPE.at(TAPE.where or place_of_caller(3)):
        place = root._lazy.place
        if grad is None and not root.shape:
            first = LAZY.number(1.0, root, "backward")
        else:
            first = grad if isinstance(grad, Tensor) else plain(leaf(np.ones(root.shape) if grad is None else grad, root.dtype, place))
        if first.shape != root.shape:
            raise ShapeError(f"backward: grad is {text(first.shape)}, expected {text(root.shape)}, the shape of the tensor")
        if first.dtype != root.dtype:
            raise DTypeError(f"backward: grad is {first.dtype}, expected {root.dtype}")
        start = root if root._edge is None else (root._edge, root._index)
        for one, made in leaf_gradients(start, first._lazy):
            one.grad = plain(made if one.grad is None else sum_of(one.grad._lazy, made))


class _without_grad:
    """The context manager of no_grad()."""

    def __init__(self) -> None:
        self._before: list[bool] = []  # A list, because the context may be entered again inside itself.

    def __enter__(self) -> None:
        self._before.append(_threads.no_grad)
        _threads.no_grad = True

    def __exit__(self, *_: object) -> None:
        _threads.no_grad = self._before.pop()


def no_grad() -> _without_grad:
    """Returns a context in which ops of this thread record no gradients."""
    return _without_grad()


def _of_callers(gradient: Callable[..., Any]) -> OfCallers:
    """Adapts the gradient function given to call(): it takes tensors, but edges have values."""
    def of_values(edge: Edge, dys: Sequence[Lazy]) -> list[Lazy | None]:
        with _without_grad(), TAPE.at(None):
            made = gradient(*[tuple(plain(one) for one in row if isinstance(one, Lazy)) for row in (dys, edge.inputs, edge.outputs)])
        return [None if one is None else one._lazy for one in _checked(edge, made)]

    return of_values


def _checked(edge: Edge, made: Any) -> Sequence[Any]:
    what = f"backward: the gradient of {edge.op.kind.removeprefix(rules.RAW)} returns"
    if not isinstance(made, (list, tuple)):
        raise GradError(f"{what} {made!r}, expected a list: a tensor or None for each input")
    if len(made) != len(edge.inputs):
        raise GradError(f"{what} {len(made)} tensors, expected {len(edge.inputs)}: one for each input, or None")
    for index, (one, given) in enumerate(zip(made, edge.inputs)):
        spec = given.spec if isinstance(given, Lazy) else given
        if one is not None and (not isinstance(one, Tensor) or one.spec != spec):
            raise GradError(f"{what} {one!r} for input {index}, expected a tensor {spec}")
    return made


def call(kind: str, inputs: Sequence[Any], attrs: dict[str, Any] | None = None, *, outputs: Sequence[Any] | None = None,
         gradient: Callable[..., Any] | None = None) -> Any:  # fmt: skip
    """Calls a built-in or registered op directly. outputs: [(shape, dtype)], for an op that cannot infer them. gradient(grads,
    inputs, outputs): returns one tensor or None for each input; without it, backward through the op raises GradError."""
    if gradient is not None and not callable(gradient):
        raise TypeError(f"gradient is of type {type(gradient).__name__}, expected a function or None")

    class Raw(LazyFunctions):
        def apply(self, kind: str, inputs: Sequence[Any], attrs: dict[str, Any]) -> list[Tensor]:
            return applied(kind, inputs, attrs, None if gradient is None else _of_callers(gradient))

    made = Raw().raw(kind, inputs, attrs, outputs)
    return made[0] if len(made) == 1 else tuple(made)


def _method(name: str) -> Any:
    function = getattr(LAZY, name)

    def method(self: Tensor, *args: Any, **options: Any) -> Any:
        return function(self, *args, **options)

    told = inspect.signature(function)
    first, *rest = told.parameters.values()
    method.__signature__ = told.replace(parameters=[first.replace(name="self"), *rest])  # type: ignore[attr-defined]
    method.__name__, method.__doc__ = name, function.__doc__
    return method


for _name in NAMES:
    setattr(Tensor, _name, _method(_name))
__all__ = ["LAZY", "Call", "GraphError", "Tensor", "applied", "call", "leaf", "no_grad"]
