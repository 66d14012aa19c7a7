"""Methods of the dataclasses of replies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpuemu.tensors import Array


class ExportedCase:
    if TYPE_CHECKING:
        tensors: list[Any]
        inputs: dict[str, Array]

    def placed(self) -> dict[str, Array]:
        """Returns the inputs by name, in the memory layout that the kernel had."""
        from gpuemu.generate import layouts

        found = {}
        for one in self.tensors:
            if one.name in self.inputs:
                layout = layouts.Layout(tuple(one.strides), one.first_element, one.storage_elements)
                found[one.name] = layouts.place(self.inputs[one.name], layout, one.base_offset_bytes)
        return found


class ErrorMap:
    def plot(self) -> Any:
        """Plots the error map, and the elements by size of error with the bound, as a figure of matplotlib."""
        from gpuemu.client.plots import error_map_figure

        return error_map_figure(self)


class CiOp:
    def plot(self) -> Any:
        """Plots the error of each case as a share of the bound, against its size and its value strategy, as a figure of
        matplotlib. Raises ValueError if no case has comparable values."""
        from gpuemu.client.plots import op_figure

        return op_figure(self)


class CiSummary:
    if TYPE_CHECKING:
        ops: list[Any]
        lint_results: list[Any]
        incomplete: str

    @property
    def broken(self) -> list[str]:
        """Ops and kernels that could not be run or measured; the run has then failed."""
        return [f"{one.op_name} {one.dtype}: {one.error}" for one in self.ops if one.error] + [
            f"{one.kernel_name}: {one.error}" for one in self.lint_results if one.error
        ] + ([f"incomplete: {self.incomplete}"] if self.incomplete else [])

    def plot(self, op: str | None = None) -> Any:
        """Returns the figure of CiOp.plot() for the op of this name; without a name, for the first that failed."""
        found = next((one for one in self.ops if (one.op_name == op if op else one.failed)), None)
        if found is None:
            raise ValueError(f"the run has no op '{op}': it has {', '.join(one.op_name for one in self.ops)}" if op else "no op failed: name one, as in plot('gelu')")
        return found.plot()
