"""Operators of torch on `cuda` tensors: the CPU's kernel runs on the same memory, and its results become `cuda` tensors."""

from __future__ import annotations

import contextlib
import functools
import itertools
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch

import gpuemu.torch.autograd as autograd
import gpuemu.torch.fused as fused
import gpuemu.torch.generators as generators
import gpuemu.torch.memory as memory
import gpuemu.torch.notes as notes
from gpuemu.torch.driver import driver

KEY = "CUDA"
# Operators that change only the layout of a tensor: torch's own kernels do it without touching memory.
_OWN = {"detach", "detach_", "as_strided_", "view.dtype", "set_data", "is_pinned", "pin_memory", "_pin_memory", "record_stream",
        "is_same_size", "size.int", "stride.int", "equal_storage", "_version", "_sparse_coo_tensor_with_dims_and_tensors"}  # fmt: skip
# Operators whose GPU kernels accept operands on the CPU.
_MIXED = {"copy_", "_to_copy", "index.Tensor", "index_put_", "index_put", "_index_put_impl_", "_unsafe_index.Tensor", "_unsafe_index_put",
          "_copy_from", "_copy_from_and_resize", "_copy", "copy"}  # fmt: skip

# Pointwise operators that ignore the old values of the tensor that they change.
_REPLACE = {"fill_", "zero_", "copy_", "masked_fill_"}


@dataclass(frozen=True)
class Plan:
    """The properties of an operator, from its schema. written: positions and names of arguments that it writes; outputs: those of
    them that it may resize; generator, seeded: takes a generator, or draws from torch's own; undefined: the result has no
    contents; reads: the result depends on the contents of its tensors, not only on their layout; updates: it reads what it
    changes, as in x.add_(1)."""

    name: str
    written: frozenset[int | str]
    outputs: frozenset[str]
    generator: bool
    seeded: bool
    mixed: bool
    undefined: bool
    reads: bool
    updates: bool


@functools.cache
def plan_of(op: Any) -> Plan:
    written: set[int | str] = set()
    outputs: set[str] = set()
    for position, argument in enumerate(op._schema.arguments):
        if argument.alias_info is not None and argument.alias_info.is_write:
            written |= {position, argument.name}
            if argument.kwarg_only:
                outputs.add(argument.name)
    name = op._schema.name.partition("::")[2] + ("." + op._schema.overload_name if op._schema.overload_name else "")
    base = name.partition(".")[0]
    takes = any(one.name == "generator" for one in op._schema.arguments)
    undefined = base in ("empty", "empty_like", "new_empty", "empty_strided", "new_empty_strided", "empty_permuted")
    is_view = any(one.alias_info is not None and not one.alias_info.is_write for one in op._schema.returns)
    return Plan(name, frozenset(written), frozenset(outputs), takes, not takes and torch.Tag.nondeterministic_seeded in op.tags,
                name in _MIXED or base in _MIXED, undefined, not (undefined or is_view or base.endswith("_like") or base.startswith("new_")),
                base.endswith("_") and torch.Tag.pointwise in op.tags and base not in _REPLACE)  # fmt: skip


class Call:
    """One call of an operator, with arguments moved from `cuda` to the CPU and results moved back."""

    def __init__(self, op: Any, kernel: Callable[..., Any] | None = None) -> None:
        """kernel: runs on the CPU in place of the operator."""
        self.op, self.plan, self.kernel = op, plan_of(op), op if kernel is None else kernel
        self.pairs: list[tuple[torch.Tensor, torch.Tensor]] = []  # On the CPU and on `cuda`.
        self.written: list[torch.Tensor] = []
        self.read: list[torch.Tensor] = []
        self.device: int | None = None
        self.to_host = False  # Whether the caller requested results on the CPU.
        self.resized: list[tuple[torch.Tensor, torch.Tensor]] = []
        self.others: list[torch.Tensor] = []

    def run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        driver().wait()
        memory.collect()
        if not self.plan.undefined:
            notes.say(notes.OPERATORS)
        given = [self.taken(one, position in self.plan.written) for position, one in enumerate(args)]
        named = {name: self.taken(one, name in self.plan.written, name in self.plan.outputs) for name, one in kwargs.items()}
        self.check_devices()
        for cuda in self.read if self.plan.reads else ():
            driver().reads(self.op._schema.name, cuda)
        if self.plan.generator:
            # On a GPU, only randperm checks the device index of its generator.
            is_picky = self.plan.name.partition(".")[0] == "randperm"
            generators.position(self.generator(given, named), self.target if is_picky else None)
        with torch.no_grad(), generators.borrowed(self.target) if self.plan.seeded else contextlib.nullcontext():
            made = self.kernel(*given, **named)
        for cpu, cuda in self.resized:
            if cpu.numel():
                cuda.data = self.fresh(cpu)
        for one in self.written:
            wrote(one)
        return self.given_back(made)

    def generator(self, given: list[Any], named: dict[str, Any]) -> torch.Generator:
        """Returns the generator among the arguments; if there is none, adds that of the device."""
        for one in (*given, *named.values()):
            if isinstance(one, torch.Generator):
                return one
        named["generator"] = generators.default(self.target)
        return generators.default(self.target)

    @property
    def target(self) -> int:
        return driver().device if self.device is None else self.device

    def taken(self, value: Any, written: bool, output: bool = False) -> Any:
        """Converts an argument for the CPU's kernel."""
        if isinstance(value, torch.Tensor):
            return self.tensor(value, written, output)
        if isinstance(value, torch.device):
            if value.type == "cuda":
                self.device = driver().device if value.index is None else value.index
            elif value.type == "cpu":
                self.to_host = True
            return torch.device("cpu") if value.type == "cuda" else value
        if isinstance(value, (list, tuple)):
            return type(value)(self.taken(one, written) for one in value)
        return value

    def tensor(self, value: torch.Tensor, written: bool, output: bool) -> torch.Tensor:
        if not value.is_cuda:
            if value.dim() and not written:
                self.others.append(value)
            return value
        if self.device is None:
            self.device = value.device.index
        if value.requires_grad:
            autograd.prepare()
        for cpu, cuda in self.pairs:
            if cuda is value:
                return cpu
        if output and not value.numel():
            cpu = torch.empty(0, dtype=value.dtype, device="cpu")
            self.resized.append((cpu, value))
        else:
            cpu = memory.on_host(value)
        self.pairs.append((cpu, value))
        if written:
            self.written.append(value)
        if not written or (self.plan.updates and not output):
            self.read.append(value)
        return cpu

    def check_devices(self) -> None:
        """Raises the error of a GPU for operands on two devices."""
        if self.plan.mixed:
            return
        devices = {str(cuda.device) for _, cuda in self.pairs}
        if self.pairs and self.others:
            devices.add("cpu")
        if len(devices) > 1:
            first, second = sorted(devices, reverse=True)[:2] if "cpu" in devices else sorted(devices)[:2]
            raise RuntimeError(f"Expected all tensors to be on the same device, but found at least two devices, {first} and {second}!")

    def given_back(self, value: Any) -> Any:
        """Converts a result of the CPU's kernel for the caller."""
        if isinstance(value, torch.Tensor):
            return self.result(value)
        if isinstance(value, (list, tuple)):
            return type(value)(self.given_back(one) for one in value)
        return value

    def result(self, made: torch.Tensor) -> torch.Tensor:
        for cpu, cuda in self.pairs:
            if made is cpu:
                return cuda
        if self.to_host or any(made is one for one in self.others) or made.layout != torch.strided:
            return made
        where = made.untyped_storage().data_ptr()
        for _, cuda in self.pairs if where else ():
            if cuda.untyped_storage().data_ptr() == where:
                return memory.shaped(cuda, made.dtype, made.size(), made.stride(), made.storage_offset())
        return self.fresh(made)

    def fresh(self, made: torch.Tensor) -> torch.Tensor:
        """Copies a result of the CPU's kernel to a new tensor on `cuda`."""
        storage = made.untyped_storage()
        base = memory.new_storage(storage.nbytes(), self.target)
        if not self.plan.undefined:
            driver().write(base.data_ptr(), storage.data_ptr(), storage.nbytes())
        return memory.shaped(base, made.dtype, made.size(), made.stride(), made.storage_offset())


def wrote(tensor: torch.Tensor) -> None:
    """Reports that an operator wrote the tensor's memory: its bytes are defined from now on."""
    address, size = memory.span(tensor)
    if size:
        driver().write(address, address, size)


def run(op: Any, *args: Any, **kwargs: Any) -> Any:
    """The kernel of every operator on `cuda`."""
    return Call(op).run(args, kwargs)


def _run_fused(op: Any, kernel: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    return Call(op, kernel).run(args, kwargs)


def set_storage(tensor: torch.Tensor, storage: Any, offset: int = 0, size: Any = None, stride: Any = None) -> torch.Tensor:
    """aten::set_ with a storage."""
    storage = getattr(storage, "_untyped_storage", storage)
    size = [storage.nbytes() // tensor.element_size() - offset] if size is None else size
    if not stride:
        stride = torch.empty(size, device="meta").stride()
    tensor.data = memory.shaped(memory.same_storage(storage), tensor.dtype, size, stride, offset)
    return tensor


def set_tensor(tensor: torch.Tensor, source: torch.Tensor) -> torch.Tensor:
    """aten::set_ with another tensor."""
    tensor.data = source.detach()
    return tensor


def resize(tensor: torch.Tensor, size: Any, *, memory_format: Any = None) -> torch.Tensor:
    """aten::resize_: keeps the memory if it is large enough."""
    like = torch.empty(size, dtype=tensor.dtype, device="meta", memory_format=memory_format or torch.contiguous_format)
    needed = (memory.span(like)[1] if like.numel() else 0) + tensor.storage_offset() * tensor.element_size()
    if needed > tensor.untyped_storage().nbytes():
        base = memory.new_storage(needed, tensor.device.index)
        old = tensor.untyped_storage()
        driver().wait()
        if old.nbytes():
            driver().write(base.data_ptr(), old.data_ptr(), old.nbytes())
        tensor.data = memory.shaped(base, tensor.dtype, tensor.size(), tensor.stride(), tensor.storage_offset())
    made: torch.Tensor = torch.ops.aten.as_strided_(tensor, like.size(), like.stride(), tensor.storage_offset())
    return made


def _no(*_: Any, **__: Any) -> bool:
    return False


# Questions that have an answer only in a build of torch for GPUs: whether a library takes a call.
_QUESTIONS = ("_use_cudnn_ctc_loss", "_use_cudnn_ctc_loss.Tensor", "_use_miopen_ctc_loss", "_use_miopen_ctc_loss.Tensor")
_LAYOUTS = {"resize_": resize, "set_.source_Storage": set_storage, "set_.source_Storage_storage_offset": set_storage, "set_.source_Tensor": set_tensor}


def _names(*keys: str) -> Iterator[str]:
    """Yields the operators that have a kernel of torch for one of the keys and need one for `cuda`."""
    names = itertools.chain.from_iterable(torch._C._dispatch_get_registrations_for_dispatch_key(key) for key in keys)
    for name in dict.fromkeys(names):
        space, _, short = name.partition("::")
        if space == "aten" and short not in _OWN and short not in _LAYOUTS and short not in fused.KERNELS:
            yield short


def _operator(short: str) -> Any:
    """Returns None if this version of torch lacks it."""
    base, _, overload = short.partition(".")
    return getattr(getattr(torch.ops.aten, base, None), overload or "default", None)


def register() -> list[torch.library.Library]:
    """Registers the kernels. They stay registered as long as the returned libraries exist."""
    everything, aten = torch.library.Library("_", "IMPL"), torch.library.Library("aten", "IMPL")
    everything.fallback(run, KEY)
    with warnings.catch_warnings():  # Torch warns about each of its own kernels that is replaced.
        warnings.simplefilter("ignore", UserWarning)
        of_gpu = list(_names(KEY))  # A build of torch for the CPU has none.
        of_cpu = dict.fromkeys(_names("CPU", "CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional"))
        for short in of_cpu:
            aten.impl(short, _kernel(_operator(short)), KEY)
        for short in of_gpu:
            # Questions such as whether cuDNN is to be used need no GPU.
            if short not in of_cpu and any("Tensor" in str(one.type) for one in _operator(short)._schema.returns):
                aten.impl(short, fused.decomposed(_operator(short)), KEY)
        for short, kernel in fused.KERNELS.items():
            op = _operator(short)
            if op is not None:
                aten.impl(short, functools.partial(_run_fused, op, kernel), KEY)
        for short, own in _LAYOUTS.items():
            aten.impl(short, own, KEY)
        for short in _QUESTIONS:
            if _operator(short) is not None:
                aten.impl(short, _no, KEY)
    return [everything, aten]


def unregister(libraries: list[torch.library.Library]) -> None:
    """Removes the kernels that register() registered."""
    for library in libraries:
        library._destroy()


def _kernel(op: Any) -> Callable[..., Any]:
    return functools.partial(run, op)
