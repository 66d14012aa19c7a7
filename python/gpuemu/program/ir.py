"""Programs as graphs: values that are defined once, with fixed shape, dtype and device, and the ops between them."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import gpuemu.program.graph_json as graph_json
import gpuemu.program.lowering as lowering
import gpuemu.program.ops.rules as rules
from gpuemu.program.errors import GraphError
from gpuemu.program.functions import Functions, is_number, number_array
from gpuemu.program.plan import BindingPlan, bind
from gpuemu.program.specs import Spec, as_stored, dtype_of, number_of, rounded, shape_of
from gpuemu.program.values import FORMAT, GraphData, Node, Value
from gpuemu.tensors import Array

_PACKAGE = os.path.dirname(__file__) + os.sep
_FILES_MAX = 4096
_IS_INSIDE: dict[str, bool] = {}  # Caches the result for each file, because a look-up is faster than comparing the path.
# Ops that define new versions of their operands: the outputs replace these inputs, in this order.
UPDATES = {"adam_step": (0, 2, 3), "sgd_step": (0, 2)}


def _is_inside(file: str) -> bool:
    if len(_IS_INSIDE) >= _FILES_MAX:  # Each cell of a notebook is a file.
        _IS_INSIDE.clear()
    return _IS_INSIDE.setdefault(file, file.startswith(_PACKAGE))


# Code of the program and the position in it, from which text_of() finds the line; (0, None, 0) if unknown. The id of the code is
# there because Python compares code without its file.
Where = tuple[int, Any, int]


def place_of_caller(depth: int = 1) -> Where:
    """Returns the place of the caller outside this package. depth: this many callers are known to be inside."""
    frame: Any = sys._getframe(depth)
    while frame is not None:
        code = frame.f_code
        inside = _IS_INSIDE.get(code.co_filename)
        if not inside and (inside is False or not _is_inside(code.co_filename)):
            return id(code), code, frame.f_lasti
        frame = frame.f_back
    return 0, None, 0


def text_of(place: Where) -> str:
    """Formats a place as file and line; "" if it is unknown."""
    _, code, at = place
    if code is None:
        return ""
    line = next((line for start, end, line in code.co_lines() if start <= at < end and line is not None), code.co_firstlineno)
    return f"{code.co_filename}:{line}"


def written_at() -> str:
    """Returns file and line of the caller outside this package, as text."""
    return text_of(place_of_caller())


class IRGraph(GraphData, Functions):
    """A program that is written once and can be bound and run many times. Every function of gpuemu.program is a method."""

    def __init__(self, name: str = "program", *, device: str = "any") -> None:
        for what, value in (("name", name), ("device", device)):
            if not isinstance(value, str):
                raise TypeError(f"{what} is of type {type(value).__name__}, expected a str")
        super().__init__(name, device)
        self._names: dict[str, int] = {}
        self._latest: dict[int, int] = {}  # First vid of a parameter to its newest version.

    # --- sources

    def input(self, name: str, shape: Any, dtype: str = "float32") -> Value:
        """Adds a value that the host sets before a run."""
        return self._source(name, Spec(shape_of(shape), dtype_of(dtype)), "input")

    def parameter(self, name: str, shape: Any, dtype: str = "float32") -> Value:
        """Adds a value that is kept between runs: weights, state of an optimizer."""
        return self._source(name, Spec(shape_of(shape), dtype_of(dtype)), "parameter")

    def meta(self, name: str, shape: Any, dtype: str = "float32") -> Value:
        """Adds a value that the host sets between runs and replays: rates, counters."""
        return self._source(name, Spec(shape_of(shape), dtype_of(dtype)), "meta")

    def constant(self, name: str, array: Any) -> Value:
        """Adds a value with content that is part of the program."""
        data, dtype = as_stored(array, None, f"constant '{name}'")
        value = self._source(name, Spec(data.shape, dtype), "constant")
        self.constants[value.vid] = data
        return value

    def _source(self, name: str, spec: Spec, role: str) -> Value:
        if not isinstance(name, str) or not name:
            raise GraphError(f"the name is {name!r}, expected a text")
        if name in self._names:
            raise GraphError(f"the name '{name}' is taken by %{self._names[name]}; names are unique")
        value = self._value(spec, role, name, None)
        self._names[name] = value.vid
        return value

    def _value(self, spec: Spec, role: str, name: str, producer: int | None) -> Value:
        value = Value(self, len(self.values), name, spec.shape, spec.dtype, self.device, role, producer)
        self.values.append(value)
        return value

    # --- ops

    def apply(self, kind: str, inputs: Sequence[Any], attrs: dict[str, Any]) -> list[Value]:
        row = rules.rule(kind)
        attrs = dict(attrs)
        specs = row.infer(kind, [one.spec for one in inputs], attrs)
        node = Node(len(self.nodes), kind, [one.vid for one in inputs], [], attrs, written_at())
        self.nodes.append(node)
        for one in {one.vid: one for one in inputs}.values():
            one.users.append(node.index)
        made = [self._value(spec, "workspace", "", node.index) for spec in specs]
        node.outputs = [one.vid for one in made]
        for place, at in enumerate(UPDATES.get(kind, ())):
            self._update(inputs[at], made[place])
        return made

    def _update(self, old: Value, new: Value) -> None:
        root = self.versions.get(old.vid, old.vid)
        if self.values[root].role == "parameter" and self._latest.get(root, root) == old.vid:
            self._latest[root], self.versions[new.vid] = new.vid, root
            new.role = "parameter"

    def written(self, value: Any, op: str, like: Any = None, dtype: str | None = None) -> Value:
        if isinstance(value, Value):
            if value.graph is not self:
                raise GraphError(f"{op}: %{value.vid} is a value of another graph, '{value.graph.name}'")
            return value
        if is_number(value) and like is not None:
            value = number_array(value, like.dtype, op)
        elif is_number(value) or value is None or isinstance(value, (str, bytes)):
            raise TypeError(f"{op}: an operand is {value!r}, expected a value of the graph or an array")
        name = f"c{len(self.constants)}"
        while name in self._names:
            name = "_" + name
        return self.constant(name, value)

    def output(self, name: str, value: Value) -> Value:
        """Marks a value that the host reads. A value with storage of another role is copied first; returns the value that is
        read."""
        value = self.written(value, "output")
        if name in self._names or name in self.outputs:
            raise GraphError(f"the name '{name}' is taken; names are unique")
        base = value
        while base.producer is not None and self.nodes[base.producer].kind == "reshape":
            base = self.values[self.nodes[base.producer].inputs[0]]
        if base.role != "workspace" or value.role != "workspace":
            value = base = self.copy_saved(value)
        value.role = base.role = "output"
        self.outputs[name] = value.vid
        value.name = name
        return value

    def latest(self, name: str) -> Value:
        """Returns the newest version of a parameter."""
        vid = self._named(name)
        if self.values[vid].role != "parameter":
            raise GraphError(f"'{name}' is of role {self.values[vid].role}, expected a parameter")
        return self.values[self._latest.get(vid, vid)]

    def _named(self, name: str) -> int:
        if name not in self._names:
            raise KeyError(f"there is no '{name}'; there are {', '.join(self._names) or 'no names'}")
        return self._names[name]

    def mse(self, x: Any, target: Any) -> Value:
        """mean((x - target)^2)."""
        return self.one("mse", x, target)  # type: ignore[no-any-return]

    def mse_grad(self, x: Any, target: Any) -> Value:
        """2 (x - target) / n."""
        return self.one("mse_grad", x, target)  # type: ignore[no-any-return]

    def relu_bwd(self, x: Any, dy: Any) -> Value:
        """dy where x is above 0 or NaN, else 0."""
        return self.one("relu_bwd", x, dy)  # type: ignore[no-any-return]

    def linear_bwd(self, x: Any, w: Any, dy: Any) -> tuple[Value, ...]:
        """(dx, dw, db) of linear."""
        return tuple(self.apply("linear_bwd", [self.written(one, "linear_bwd") for one in (x, w, dy)], {}))

    def copy_saved(self, x: Any) -> Value:
        """A copy of x with separate storage."""
        return self.one("copy_saved", x)  # type: ignore[no-any-return]

    def adam_step(self, p: Any, g: Any, m: Any, v: Any, scalars: Any, *, beta1: float = 0.9, beta2: float = 0.999, eps: float = 1e-8,
                  decay: float = 0.0) -> tuple[Value, ...]:  # fmt: skip
        """Returns new (p, m, v), which replace the old ones. scalars: the values of adam_scalars."""
        operands = [self.written(one, "adam_step") for one in (p, g, m, v, scalars)]
        return tuple(self.apply("adam_step", operands, {"beta1": float(beta1), "beta2": float(beta2), "eps": float(eps), "decay": float(decay)}))

    def sgd_step(self, p: Any, g: Any, velocity: Any, rate: Any, *, momentum: float = 0.0, decay: float = 0.0) -> tuple[Value, ...]:
        """Returns new (p, velocity), which replace the old ones. rate: a tensor of one element."""
        operands = [self.written(one, "sgd_step") for one in (p, g, velocity, rate)]
        return tuple(self.apply("sgd_step", operands, {"momentum": float(momentum), "decay": float(decay)}))

    def op(self, kind: str, inputs: Sequence[Any], attrs: Mapping[str, Any] | None = None, *, outputs: Sequence[Any] | None = None) -> Any:
        """Calls a built-in or registered op (runtime.register_op). outputs: [(shape, dtype)], for an op that cannot infer them."""
        made = self.raw(kind, inputs, attrs, outputs)
        return made[0] if len(made) == 1 else tuple(made)

    # --- layers

    def lower(self, *, passes: Sequence[str] = ()) -> list[dict[str, Any]]:
        """Returns the calls of built-in ops, in the order of writing."""
        return lowering.lower(self, passes)

    def bind(self, lowered: list[dict[str, Any]] | None = None, *, reuse: bool = True, alignment: int = 256) -> BindingPlan:
        """Plans the storage of each value."""
        return bind(self, self.lower() if lowered is None else lowered, reuse=reuse, alignment=alignment)

    # --- text

    def text(self) -> str:
        """Returns one line for each source, op and output."""
        lines = [f"graph {self.name} device={self.device}"]
        lines += [f"{_shown(value)} = {value.role} {value.name}" for value in self.values if value.producer is None]
        for node in self.nodes:
            left = ", ".join(_shown(self.values[vid]) for vid in node.outputs)
            right = [*(f"%{vid}" for vid in node.inputs), *(f"{name}={attr}" for name, attr in sorted(node.attrs.items()))]
            lines.append(f"{left} = {node.kind}({', '.join(right)})")
        return "\n".join([*lines, *(f"output {name} = %{vid}" for name, vid in self.outputs.items())]) + "\n"

    def __str__(self) -> str:
        return self.text()

    def to_dict(self) -> dict[str, Any]:
        """Returns the dict that to_json writes."""
        sources = []
        for value in self.values:
            if value.producer is None:
                content = {"data": _hex(self.constants[value.vid])} if value.role == "constant" else {}
                sources.append({"vid": value.vid, "name": value.name, "shape": list(value.shape), "dtype": value.dtype, "role": value.role, **content})
        nodes = [{"kind": one.kind, "inputs": one.inputs, "outputs": [[vid, list(self.values[vid].shape), self.values[vid].dtype] for vid in one.outputs],
                  "attrs": one.attrs} for one in self.nodes]  # fmt: skip
        return {"format": FORMAT, "name": self.name, "device": self.device, "sources": sources, "nodes": nodes,
                "outputs": [[name, vid] for name, vid in self.outputs.items()]}  # fmt: skip

    def to_json(self) -> str:
        """Returns the graph as text for from_json."""
        return json.dumps(self.to_dict(), sort_keys=True, separators=(",", ":"))

    @staticmethod
    def from_json(text: str) -> IRGraph:
        """Returns the graph of a text of to_json. Raises GraphError for any other text."""
        return graph_json.read(text, IRGraph)

    def digest(self) -> str:
        """BLAKE2b-128 of the graph without its names, in hexadecimal."""
        whole = self.to_dict()
        whole.pop("name")
        for source in whole["sources"]:
            source.pop("name")
        whole["outputs"] = [vid for _, vid in whole["outputs"]]
        return hashlib.blake2b(json.dumps(whole, sort_keys=True, separators=(",", ":")).encode(), digest_size=16).hexdigest()


def _shown(value: Value) -> str:
    return f"%{value.vid}: {value.spec}"


def _hex(array: Array) -> str:
    return array.tobytes().hex()


def adam_scalars(step: int, rate: float, *, beta1: float = 0.9, beta2: float = 0.999) -> Array:
    """Returns (rate, 1 / (1 - beta1^step), 1 / (1 - beta2^step)) for adam_step, computed in float64 and rounded once. step starts
    at 1."""
    if isinstance(step, bool) or not isinstance(step, (int, np.integer)):
        raise TypeError(f"step is {step!r}, expected a whole number from 1")
    if step < 1:
        raise ValueError(f"step is {step}, expected 1 or more")
    rate, beta1, beta2 = number_of("rate", rate), number_of("beta1", beta1), number_of("beta2", beta2)
    return rounded(np.array([rate, 1.0 / (1.0 - beta1 ** int(step)), 1.0 / (1.0 - beta2 ** int(step))]), "float32")
