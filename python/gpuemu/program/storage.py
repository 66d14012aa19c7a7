"""Memory of a device for the values of a plan."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gpuemu import runtime
from gpuemu.program.plan import BindingPlan
from gpuemu.program.specs import Spec
from gpuemu.runtime.shapes import packed_strides
from gpuemu.runtime.tensors import Tensor
from gpuemu.tensors import Array


class Storage:
    """A tensor for each value: in separate memory, or in the shared workspace, according to the plan. Constants are copied at
    once."""

    def __init__(self, plan: BindingPlan, device: runtime.Device, constants: Mapping[int, Array]) -> None:
        self.plan, self.device = plan, device
        self.roots: dict[int, Tensor] = {}
        self._views: dict[int, Tensor] = {}
        for vid, array in constants.items():
            self.roots[vid] = device.tensor(array, dtype=plan.specs[vid].dtype, name=plan.names.get(vid, "constant"))
        self._workspace = device.allocate(plan.workspace_bytes, name="workspace") if plan.slots else None
        for vid, slot in plan.slots.items():
            self.roots[vid] = self._in_workspace(slot.offset, plan.specs[vid])

    def _in_workspace(self, offset: int, spec: Spec) -> Tensor:
        assert self._workspace is not None
        return Tensor._made(self._workspace, self._workspace.address + offset, spec.shape, packed_strides(spec.shape), spec.dtype)

    def put(self, vid: int, tensor: Tensor) -> None:
        """Sets the storage of a value and of all values that share it."""
        self.roots[vid] = tensor
        self._views.clear()

    def drop(self, vids: Iterable[int]) -> None:
        """Releases the storage of values."""
        for vid in vids:
            self.roots.pop(vid, None)
        self._views.clear()

    def allocate(self, vid: int, *, zeros: bool = False) -> Tensor:
        """Allocates separate memory for a value."""
        spec, name = self.plan.specs[vid], self.plan.names.get(vid, "")
        made: Tensor = (self.device.zeros if zeros else self.device.empty)(spec.shape, spec.dtype, name=name)
        self.put(vid, made)
        return made

    def tensor(self, vid: int) -> Tensor:
        """Returns the tensor of a value."""
        root = self.plan.storage(vid)
        if root == vid:
            return self.roots[vid]
        if vid not in self._views:
            self._views[vid] = self.roots[root].view(self.plan.specs[vid].shape)
        return self._views[vid]
