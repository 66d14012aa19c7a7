"""Captured work that can be launched repeatedly."""

from __future__ import annotations

import ctypes
import itertools
import sys
from typing import Any

import gpuemu.runtime.errors as errors
import gpuemu.runtime.library as library
from gpuemu.runtime.current import current_device
from gpuemu.runtime.device import Device
from gpuemu.runtime.memory import Block, Memory
from gpuemu.runtime.streams import Stream

_numbers = itertools.count(1)


class Graph(library.Unique):
    """Work of a stream that is recorded and not executed.

        with Graph(device) as graph:      # on a stream of its own, which is current meanwhile
            op_call("relu", [x], [y])
        graph.launch()

    Addresses are fixed, contents are read at each launch. The graph keeps the memory that it uses alive until close().
    """

    def __init__(self, device: Device | None = None, *, stream: Any = None) -> None:
        library.refuse_forked()
        if device is not None and not isinstance(device, Device):
            raise TypeError(f"device is of type {type(device).__name__}, expected a Device or None")
        self._device = device if device is not None else current_device()
        self.name = f"graph {next(_numbers)}"
        self._given = None if stream is None else self._device._stream(stream)
        self._stream: Stream | None = None
        self._joined: list[Stream] = []
        self._state = "new"  # capturing, ready, failed, closed
        self._handle, self._nodes = 0, 0
        self._kept: dict[int, tuple[Memory, Block]] = {}
        self._held: list[Any] = []
        self._noted: tuple[Any, int] | None = None  # The stream and Device._uses of a launch after which its memory needed no note.

    @property
    def device(self) -> Device:
        """The device whose work it records."""
        return self._device

    @property
    def nodes(self) -> int:
        """The number of pieces of work."""
        return self._nodes

    @property
    def is_ready(self) -> bool:
        """True if it can be launched."""
        return self._state == "ready" and not self._device.is_closed

    @property
    def is_capturing(self) -> bool:
        """True between begin() and end()."""
        return self._state == "capturing"

    @property
    def is_closed(self) -> bool:
        """True after close(), or when the device is closed."""
        return self._state == "closed" or self._device.is_closed

    def begin(self) -> None:
        """Starts the capture: from now on work of its stream is recorded and not executed."""
        self._insist()
        if self._state != "new":
            raise errors.InvalidArgumentError(f"{self.name} has been begun already; make another Graph")
        stream = self._given if self._given is not None else self._device.stream(non_blocking=True)
        if stream._graph is not None:
            raise errors.InvalidArgumentError(f"the stream is captured by {stream._graph.name} already")
        try:
            self._device._check("gpuemu_capture_begin", stream._live())
        except errors.DeviceError:
            raise
        except BaseException:  # After Ctrl-C the stream must not stay in a capture.
            self._device._drop_capture(stream.handle, ctypes.c_uint64())
            raise
        self._stream, self._state = stream, "capturing"
        self._join(stream)
        self._device._captures_change(1)
        if self._given is None:
            self._device._push_stream(stream)

    def end(self) -> None:
        """Ends the capture; the graph is then ready."""
        self._insist()
        if self._state != "capturing":
            raise errors.InvalidArgumentError(f"{self.name} is not being captured; begin() does that")
        handle = self._finish()
        nodes = ctypes.c_uint64()
        self._device._check("gpuemu_graph_nodes", handle, ctypes.byref(nodes))
        self._handle, self._nodes, self._state = handle, nodes.value, "ready"

    def launch(self, stream: Any = None) -> None:
        """Launches the work as one piece on the stream."""
        self._insist()
        if self._state != "ready":
            raise errors.InvalidArgumentError(f"{self.name} cannot be launched: " + (
                "its capture failed" if self._state == "failed" else "its capture has not ended"))  # fmt: skip
        if self._nodes == 0:
            raise errors.InvalidArgumentError(f"{self.name} is empty: nothing was issued to its stream between begin() and end()")
        chosen = self._device._stream(stream)
        self._device._check_using([self, chosen], self._device._check, "gpuemu_graph_launch", self._handle, chosen._live())
        uses = self._device._uses
        if self._noted == (chosen, uses):
            return
        changed = [block for _, block in self._kept.values() if block.last is not chosen or block.mark is not None]
        for block in changed:
            block.used_by(chosen)
        self._noted = None if changed else (chosen, uses)

    def close(self) -> None:
        """Frees the graph and its workspaces; launched work still completes. May be called twice."""
        if library.is_forked() or self._state == "closed":
            return
        if self._state == "capturing":
            self._abort()
        before, self._state = self._state, "closed"
        try:
            if before == "ready" and not self._device.is_closed:
                self._device._check("gpuemu_graph_destroy", self._handle)
        except (errors.ReleasedError, errors.DeviceLostError):
            pass  # It was destroyed with its device.
        finally:
            self._kept.clear()

    def _insist(self) -> None:
        if self.is_closed:
            library.refuse_forked()
            raise errors.ReleasedError(f"{self.name} of {self._device.name} is closed")

    def _join(self, stream: Stream) -> None:
        stream._graph = self
        self._joined.append(stream)

    def _keep(self, memory: Memory, block: Block) -> None:
        """Keeps memory that the graph uses."""
        self._kept[block.address] = (memory, block)
        memory._join_graph(self)

    def _hold(self, data: Any) -> None:
        """Keeps host data that the graph reads."""
        self._held.append(data)

    def _finish(self) -> int:
        """Ends the capture in any case; returns the handle of the captured graph."""
        assert self._stream is not None
        stream, self._state = self._stream, "failed"
        for one in self._joined:
            one._graph = None
        if self._given is None:
            self._device._drop_stream(stream)
        made = ctypes.c_uint64()
        try:
            self._device._check("gpuemu_capture_end", stream.handle, ctypes.byref(made))
        except errors.InvalidArgumentError as problem:
            if isinstance(problem, errors.ReleasedError):
                raise
            raise errors.CaptureError(f"{self.name}: {problem}") from None
        finally:
            self._device._captures_change(-1)
        return made.value

    def _abort(self) -> None:
        """Ends the capture; the graph is not ready."""
        if self._state != "capturing":
            return
        try:
            self._device._check("gpuemu_graph_destroy", self._finish())
        except errors.DeviceError:
            pass  # The caller that ends the capture reports what made it invalid.
        for memory, _ in self._kept.values():
            if memory._graphs:
                memory._graphs.discard(self)
        self._kept.clear()

    def __enter__(self) -> Graph:
        self.begin()
        return self

    def __exit__(self, kind: Any, *raised: Any) -> None:
        if kind is not None:
            self._abort()
        elif self._state == "capturing":
            self.end()
        else:
            raise errors.CaptureError(f"the capture of {self.name} was ended before its block was")

    def __repr__(self) -> str:
        return f"<Graph '{self.name}' of {self._device.name}: {self._state}, {self._nodes} nodes>"

    def __del__(self, is_finalizing: Any = sys.is_finalizing) -> None:
        if not is_finalizing() and hasattr(self, "_kept"):
            try:
                self.close()
            except errors.DeviceError:
                pass  # A destructor has nobody to report to.
