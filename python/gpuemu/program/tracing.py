"""Traces a Python function on lazy tensors and returns a graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gpuemu.program.errors import GraphError
from gpuemu.program.ir import IRGraph
from gpuemu.program.places import Place
from gpuemu.program.specs import Spec, dtype_of, shape_of
from gpuemu.program.tape import TAPE, Lazy, needed, write_calls
from gpuemu.program.tensors import Tensor


class TracePlace(Place):
    """The place of tensors without content; the ops on them become a graph."""

    name = "trace"

    def put(self, array: Any, dtype: str) -> Any:
        return array

    def get(self, held: Any) -> Any:
        raise GraphError("trace: the function reads the content of a tensor, which a graph does not have")

    def prepare(self, graph: Any, lowered: Any, plan: Any) -> Any:
        raise GraphError("trace: the function reads the content of a tensor, which a graph does not have")


def trace(fn: Callable[..., Any], inputs: Mapping[str, Any], parameters: Mapping[str, Any] | None = None) -> IRGraph:
    """Calls `fn(**tensors)` with tensors of these specs, {"x": ((32, 784), "float32")}; it returns a tensor or a dict of outputs.
    Tensors that it creates are constants of the graph."""
    if not callable(fn):
        raise TypeError(f"fn is of type {type(fn).__name__}, expected a function")
    for what, given in (("inputs", inputs), ("parameters", parameters or {})):
        if not isinstance(given, Mapping):
            raise TypeError(f"{what} is of type {type(given).__name__}, expected a dict from names to (shape, dtype)")
        for name, spec in given.items():
            if not isinstance(spec, (list, tuple)) or len(spec) != 2:
                raise TypeError(f"{what}: '{name}' is {spec!r}, expected (shape, dtype)")
    graph, place = IRGraph(getattr(fn, "__name__", "program")), TracePlace()
    tensors: dict[str, Tensor] = {}
    values: dict[int, Any] = {}
    for specs, source in ((inputs, graph.input), (parameters or {}, graph.parameter)):
        for name, (shape, dtype) in specs.items():
            spec = Spec(shape_of(shape), dtype_of(dtype))
            tensors[name] = Tensor(Lazy(spec, place), requires_grad=source == graph.parameter and spec.dtype.find("float") >= 0)
            values[id(tensors[name]._lazy)] = source(name, *spec)
    before = TAPE.tracing.place
    TAPE.tracing.place = place
    try:
        made = fn(**tensors)
    finally:
        TAPE.tracing.place = before
    outputs = made if isinstance(made, Mapping) else {"output": made}
    for name, one in outputs.items():
        if not isinstance(one, Tensor):
            raise GraphError(f"trace: the function returns {one!r:.60} as '{name}', expected tensors")
    _write(graph, {name: one._lazy for name, one in outputs.items()}, values)
    return graph


def _write(graph: IRGraph, outputs: Mapping[str, Lazy], leaves: dict[int, Any]) -> None:
    """Writes the ops into the graph. leaves: values of the graph by the id of the leaf that they represent. Other leaves become
    constants."""
    def value_of(leaf: Lazy, op: str) -> Any:
        if id(leaf) not in leaves:
            # The function may return a tensor from outside.
            held = leaf.held if isinstance(leaf.place, TracePlace) else leaf.place.get(leaf.held)
            leaves[id(leaf)] = graph.written(held, op)
        return leaves[id(leaf)]

    made = write_calls(graph, needed(outputs.values()), value_of)
    for name, one in outputs.items():
        graph.output(name, value_of(one, "output") if one.call is None else made[one.call.number, one.index])
