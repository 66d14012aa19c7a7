"""Values and ops of a graph, and what lowering adds to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gpuemu.program.specs import Spec, storage_dtype
from gpuemu.tensors import Array

SOURCES = ("input", "parameter", "meta", "constant")
FORMAT = 1  # Version of the JSON of a graph.


@dataclass(eq=False)
class Value:
    """One value. vid: its number in the order of definition; producer: number of its node, None for a source; users: numbers of
    the nodes that read it."""

    graph: Any = field(repr=False)
    vid: int
    name: str
    shape: tuple[int, ...]
    dtype: str
    device: str
    role: str
    producer: int | None = None
    users: list[int] = field(default_factory=list)

    __array_ufunc__ = None  # NumPy then passes arithmetic with an array on the left to this class.

    @property
    def spec(self) -> Spec:
        """Shape and dtype."""
        return Spec(self.shape, self.dtype)

    @property
    def T(self) -> Value:
        """The matrix with its axes exchanged."""
        return self.graph.transpose(self)  # type: ignore[no-any-return]

    def __add__(self, other: Any) -> Value:
        return self.graph.add(self, other)  # type: ignore[no-any-return]

    def __radd__(self, other: Any) -> Value:
        return self.graph.add(other, self)  # type: ignore[no-any-return]

    def __sub__(self, other: Any) -> Value:
        return self.graph.sub(self, other)  # type: ignore[no-any-return]

    def __rsub__(self, other: Any) -> Value:
        return self.graph.sub(other, self)  # type: ignore[no-any-return]

    def __mul__(self, other: Any) -> Value:
        return self.graph.mul(self, other)  # type: ignore[no-any-return]

    def __rmul__(self, other: Any) -> Value:
        return self.graph.mul(other, self)  # type: ignore[no-any-return]

    def __truediv__(self, other: Any) -> Value:
        return self.graph.div(self, other)  # type: ignore[no-any-return]

    def __rtruediv__(self, other: Any) -> Value:
        return self.graph.div(other, self)  # type: ignore[no-any-return]

    def __matmul__(self, other: Any) -> Value:
        return self.graph.matmul(self, other)  # type: ignore[no-any-return]

    def __rmatmul__(self, other: Any) -> Value:
        return self.graph.matmul(other, self)  # type: ignore[no-any-return]

    def __neg__(self) -> Value:
        return self.graph.neg(self)  # type: ignore[no-any-return]


@dataclass
class Node:
    """One op. inputs, outputs: vids; where: file and line of the program that wrote it."""

    index: int
    kind: str
    inputs: list[int]
    outputs: list[int]
    attrs: dict[str, Any]
    where: str = ""


class GraphData:
    """The content of a graph. `versions`: a newer version of a parameter to its first vid; the members of lowering are those of
    the last one. `origins`, `node_origins`: after a pass, map its vids and nodes to those of the graph before."""

    def __init__(self, name: str, device: str) -> None:
        self.name, self.device = name, device
        self.nodes: list[Node] = []
        self.values: list[Value] = []
        self.outputs: dict[str, int] = {}
        self.constants: dict[int, Array] = {}
        self.versions: dict[int, int] = {}
        self.origins: dict[int, int] = {}
        self.node_origins: list[int] = []
        self.lowered_values: list[Value] = []
        self.aliases: dict[int, int] = {}
        self.lowered_constants: dict[int, Array] = {}


def constant_array(data: str, shape: Sequence[int], dtype: str) -> Array:
    """Returns the content of a constant from the text of a graph."""
    return np.frombuffer(bytes.fromhex(data), storage_dtype(dtype)).reshape(tuple(shape)).copy()
