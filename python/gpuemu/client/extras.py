"""What the dataclasses of replies can do beside holding members."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpuemu.tensors import Array


class ExportedCase:
    if TYPE_CHECKING:
        tensors: list[Any]
        inputs: dict[str, Array]

    def placed(self) -> dict[str, Array]:
        """The inputs by name, in memory that is laid out as the kernel had it."""
        from gpuemu.generate import layouts

        found = {}
        for one in self.tensors:
            if one.name in self.inputs:
                layout = layouts.Layout(tuple(one.strides), one.first_element, one.storage_elements)
                found[one.name] = layouts.place(self.inputs[one.name], layout, one.base_offset_bytes)
        return found


class CiSummary:
    if TYPE_CHECKING:
        ops: list[Any]
        lint_results: list[Any]
        incomplete: str

    @property
    def broken(self) -> list[str]:
        """What could not be run or measured; a run is no success then."""
        return [f"{one.op_name} {one.dtype}: {one.error}" for one in self.ops if one.error] + [
            f"{one.kernel_name}: {one.error}" for one in self.lint_results if one.error
        ] + ([f"incomplete: {self.incomplete}"] if self.incomplete else [])
