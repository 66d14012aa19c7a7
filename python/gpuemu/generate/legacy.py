"""The generator that clients have used since gpuemu 0.1.0, and its cases, bit for bit (documented under random streams).

Its seeds identify stored failures and cases of ops that a client runs; everything newer uses gpuemu.rng.
"""

from __future__ import annotations

import dataclasses
import hashlib
import math
import time
from collections.abc import Iterator, Mapping, MutableSequence, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from gpuemu import arguments, tensors
from gpuemu.generate import linear
from gpuemu.generate.linear import MASK, State
from gpuemu.tensors import Array

T = TypeVar("T")
BATCHES, SEQUENCES, HIDDEN = [1, 2, 4, 8, 16, 32], [64, 128, 256, 512, 1024], [256, 512, 768, 1024]


def _mix(z: int) -> int:
    z = (z + 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def _step(state: State) -> tuple[int, State]:
    x, y = state
    x ^= (x << 23) & MASK
    x ^= x >> 17
    x ^= y ^ (y >> 26)
    return (x + y) & MASK, (y, x ^ y)


def _lane_step(x: Array, y: Array, scratch: Array) -> None:
    for shift, by, word in ((np.left_shift, 23, x), (np.right_shift, 17, x), (np.right_shift, 26, y)):
        shift(word, np.uint64(by), out=scratch)
        np.bitwise_xor(x, scratch, out=x)
    np.bitwise_xor(x, y, out=x)


GENERATOR = linear.Linear(_step, _lane_step, sum_after=True)


def derive_seed(seed: int, domain: str) -> int:
    """Returns the seed for a label under `seed`."""
    text = (arguments.whole(seed, "seed") & MASK).to_bytes(8, "little") + domain.encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")


def generate_seed() -> int:
    """Returns a default seed: the time in nanoseconds."""
    return time.time_ns() & MASK


class SeededRng:
    """Draws values that depend only on a seed. A derived generator depends on the seed alone, not on earlier draws."""

    def __init__(self, seed: int) -> None:
        self._seed = arguments.whole(seed, "seed") & MASK
        self._state: State = (_mix(self._seed), _mix((self._seed + 1) & MASK))

    @property
    def seed(self) -> int:
        """The seed that it was created with, as 64 bits."""
        return self._seed

    def derive(self, domain: str) -> SeededRng:
        """Returns another generator, named by a label."""
        return SeededRng(derive_seed(self._seed, domain))

    def gen_u64(self) -> int:
        """Returns the next output, 0 to 2**64 - 1."""
        output, self._state = _step(self._state)
        return output

    def outputs(self, count: int) -> Array:
        """Returns the next `count` outputs as an array."""
        made = GENERATOR.outputs(self._state, count)
        self._state = GENERATOR.jump(self._state, count)
        return made

    def choice_index(self, length: int) -> int:
        """Returns an index below `length`. Raises ValueError for a length below 1."""
        if length <= 0:
            raise ValueError("cannot choose from nothing")
        return self.gen_u64() % length

    def choice(self, options: Sequence[T]) -> T:
        """Returns one of the options. Raises ValueError if there are none."""
        return options[self.choice_index(len(options))]

    def gen_range(self, low: int, high: int) -> int:
        """Returns an integer in [low, high)."""
        if high <= low:
            raise ValueError(f"there is no integer in [{low}, {high})")
        return low + self.gen_u64() % (high - low)

    def gen_f64(self) -> float:
        """Returns a number in [0, 1)."""
        return (self.gen_u64() >> 11) / (1 << 53)

    def gen_f32(self) -> float:
        """Returns a number in [0, 1), with the precision of float32."""
        return (self.gen_u64() >> 40) / (1 << 24)

    def gen_bool(self, probability: float = 0.5) -> bool:
        """Returns True with this probability."""
        return self.gen_f64() < probability

    def shuffle(self, sequence: MutableSequence[Any]) -> None:
        """Shuffles the items of a list in place."""
        for i in range(len(sequence) - 1, 0, -1):
            j = self.gen_u64() % (i + 1)
            sequence[i], sequence[j] = sequence[j], sequence[i]

    def randn_f64(self, *shape: int) -> Array:
        """Returns normal values with mean 0 and variance 1, float64."""
        count = math.prod(arguments.shape(shape))
        unit = (self.outputs(count + (count & 1)) >> np.uint64(11)).astype(np.float64) / (1 << 53)
        radius = np.sqrt(-2.0 * np.log(np.maximum(unit[0::2], 1e-300)))
        angle = 2.0 * math.pi * unit[1::2]
        pairs = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
        values: Array = pairs.reshape(-1)[:count].reshape(shape)
        return values

    def randn(self, *shape: int) -> Array:
        """Returns normal values, float32."""
        return self.randn_f64(*shape).astype(np.float32)

    def fill(self, shape: Sequence[int], dtype: str) -> Array:
        """Returns the elements that the daemon gives an input: floats uniform in [-10, 10), signed integers -100 to 99, unsigned
        integers over their whole range. bfloat16 has the type of ml_dtypes; without that package its bits are uint16."""
        sizes = arguments.shape(shape)
        return _elements(self.outputs(math.prod(sizes)), dtype).reshape(sizes)


def _elements(outputs: Array, dtype: str) -> Array:
    if dtype not in tensors.DTYPES:
        raise TypeError(f"'{dtype}' is no dtype; expected one of {', '.join(tensors.DTYPES)}")
    if dtype.startswith("uint"):
        return outputs.astype(dtype)
    if dtype.startswith("int"):
        return ((outputs % np.uint64(200)).view(np.int64) - 100).astype(dtype)
    unit = (outputs >> np.uint64(11)).astype(np.float64) / (1 << 53)
    if dtype == "bool":
        chosen: Array = unit < 0.5
        return chosen
    wide: Array = (2.0 * unit - 1.0) * 10.0
    if dtype == "float64":
        return wide
    bits = wide.astype(np.float32).view(np.uint32)
    if dtype == "float32":
        return bits.view(np.float32)
    sign = (bits >> np.uint32(16)) & np.uint32(0x8000)
    magnitude = bits & np.uint32(0x7FFFFFFF)
    if dtype == "float16":  # Truncated, not rounded; numbers below the smallest normal number become zero.
        cut = np.where(magnitude < np.uint32(113 << 23), np.uint32(0), (magnitude >> np.uint32(13)) - np.uint32(112 << 10))
        half: Array = (sign | cut).astype(np.uint16)
        return half.view(np.float16)
    rounded = (magnitude + np.uint32(0x7FFF) + ((magnitude >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)
    patterns: Array = (sign | rounded).astype(np.uint16)
    kind = tensors.bfloat16()
    return patterns if kind is None else patterns.view(kind)


def row_major_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Returns row-major strides in elements."""
    strides: list[int] = []
    step = 1
    for size in reversed(shape):
        strides.append(step)
        step *= size
    return tuple(reversed(strides))


def strides_of(layout: str, shape: Sequence[int]) -> tuple[int, ...]:
    """Returns the strides for the layout of a case: "contiguous", "strided" (twice those) or "transposed" (the last two sizes
    exchanged)."""
    sizes = list(shape)
    if layout == "transposed" and len(sizes) >= 2:
        sizes[-2:] = sizes[:-3:-1]
    step = 2 if layout == "strided" else 1
    return tuple(step * one for one in row_major_strides(sizes))


@dataclass
class FuzzConfig:
    """Options for drawing cases. edge_cases: shapes that every tenth case takes instead."""

    seed: int
    batch_sizes: list[int] = field(default_factory=lambda: list(BATCHES))
    seq_lengths: list[int] = field(default_factory=lambda: list(SEQUENCES))
    hidden_dims: list[int] = field(default_factory=lambda: list(HIDDEN))
    dtypes: list[str] = field(default_factory=lambda: ["float32", "float16"])
    layouts: list[str] = field(default_factory=lambda: ["contiguous", "strided", "transposed"])
    edge_cases: list[list[int]] = field(default_factory=lambda: [[1], [1, 1], [1, 1, 1], [0]])

    def __post_init__(self) -> None:
        arguments.whole(self.seed, "the seed of a FuzzConfig")
        for one in dataclasses.fields(self):
            if getattr(self, one.name) is None and one.default_factory is not dataclasses.MISSING:
                setattr(self, one.name, one.default_factory())
        for name in ("batch_sizes", "seq_lengths", "hidden_dims"):
            arguments.shape(getattr(self, name), f"{name} of a FuzzConfig")
        if isinstance(self.edge_cases, (str, bytes, int)):
            raise TypeError(f"edge_cases of a FuzzConfig is {self.edge_cases!r}, expected a list of shapes, as in [[1], [1, 1]]")
        for shape in self.edge_cases:
            arguments.shape(shape, "a shape of edge_cases of a FuzzConfig")
        for name in ("dtypes", "layouts"):
            arguments.texts(getattr(self, name), f"{name} of a FuzzConfig")

    def to_dict(self) -> dict[str, Any]:
        """Returns the form used in requests of the protocol."""
        sizes = ("batch_sizes", "seq_lengths", "hidden_dims", "edge_cases")
        return {"seed": self.seed, "shape_options": {name: getattr(self, name) for name in sizes}, "dtypes": self.dtypes,
                "layouts": self.layouts}  # fmt: skip


def draw_shape(rng: SeededRng, batches: Sequence[int], sequences: Sequence[int], hidden: Sequence[int],
               edges: Sequence[Sequence[int]], edge_probability: float = 0.1) -> tuple[int, ...]:  # fmt: skip
    """Returns a shape of three sizes, one of each list, or an edge case."""
    if edges and rng.gen_bool(edge_probability):
        return tuple(rng.choice(edges))
    return rng.choice(batches), rng.choice(sequences), rng.choice(hidden)


def iterations(seed: int) -> Iterator[SeededRng]:
    """Yields the generators of cases 0, 1, 2, ...; the seed of each generator is that of the case."""
    master, number = SeededRng(seed), 0
    while True:
        yield master.derive(f"iter_{number}")
        number += 1


def schema_shapes(schema: Mapping[str, Any], names: Sequence[str], rng: SeededRng) -> tuple[tuple[int, ...], dict[str, tuple[int, ...]]]:
    """Returns the shape reported for the case, and the shape of each input, for an op_schema; `rng` is the case's child
    "shape"."""
    sizes = {dim["name"]: (rng.derive(dim["name"]).choice(dim["candidates"]) if dim.get("candidates") else 1)
             for dim in schema.get("dims", [])}  # fmt: skip

    def shape(tensor: Mapping[str, Any]) -> tuple[int, ...]:
        return tuple(sizes.get(dim, 1) for dim in tensor["dims"])

    inputs = {one["name"]: shape(one) for one in schema.get("inputs", [])}
    stands = shape(schema["output"]) if schema.get("output") else next(iter(inputs.values()), (1,))
    return stands, {name: inputs.get(name, stands) for name in names}


def case(config: FuzzConfig, number: int, names: Sequence[str] = ("input",), schema: Mapping[str, Any] | None = None,
         ) -> dict[str, Any]:  # fmt: skip
    """Generates case `number` of a run in this process, as get_test_batch returns it: seed, shape, dtype, layout, inputs."""
    rng = SeededRng(derive_seed(config.seed, f"iter_{number}"))
    dtype, layout = rng.derive("dtype").choice(config.dtypes), rng.derive("layout").choice(config.layouts)
    if schema is None:
        shape = draw_shape(rng.derive("shape"), config.batch_sizes, config.seq_lengths, config.hidden_dims, config.edge_cases)
        shapes = dict.fromkeys(names, shape)
    else:
        shape, shapes = schema_shapes(schema, names, rng.derive("shape"))
    data = rng.derive("data")
    inputs = {name: data.derive(f"input_{i}").fill(shapes[name], dtype) for i, name in enumerate(names)}
    return {"seed": rng.seed, "inputs": inputs, "shape": list(shape), "dtype": dtype, "layout": layout}
