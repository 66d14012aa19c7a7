"""Requests about tapes, which are ops over named tensors that the daemon schedules over its devices, and about traces of their
runs."""

from __future__ import annotations

import json
import pathlib
import time
from typing import TYPE_CHECKING, Any

from . import calls

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gpuemu.client.calls import Call, Json
    from gpuemu.client.connection import Connection
    from gpuemu.tensors import Array


def _input_line(entry: Json) -> str:
    inputs = ", ".join(entry["inputs"])
    if "id" not in entry:
        return f"{entry['seq']:6} {entry['session']}: {entry['op']} {inputs} (tick {entry['at']})"
    made = f"{entry['id']} = {entry['op']}({inputs}) {entry['shape']} {entry['dtype']}"
    return f"{entry['seq']:6} {entry['session']}: {made}, {entry['bytes']} bytes, {entry['cost_us']} us (tick {entry['at']})"


def _queue_line(line: Json) -> str:
    device = "host" if line["device"] is None else f"device {line['device']}"
    source = f" from device {line['from']}" if line.get("from") is not None else ""
    needs = f" after {', '.join(map(str, line['needs']))}" if line["needs"] else ""
    return f"{line['pos']:6} {device}: {line['kind']} {line['id']}{source}{needs}"


def _handle_line(handle: Json) -> str:
    places = [f"device {device}" for device in handle["devices"]] + ["host"] * handle["host"]
    where = f" on {', '.join(places)}" if places else ""
    return f"{handle['id']} of {handle['session']}: {handle['state']}{where}, {handle['bytes']} bytes, {handle['refs']} references"


def _tick_line(tick: Json) -> str:
    busy = ", ".join(f"{device}: {'idle' if pos is None else pos}" for device, pos in tick["busy"].items())
    return f"tick {tick['tick']} at {tick['time_us']} us: starts {tick['started']}, ended {tick['ended']}, {tick['waiting']} wait; {busy}"


_LINES = {"input_tape": _input_line, "output_queue": _queue_line, "handles": _handle_line, "ticks": _tick_line}


def _print(trace: Json, layer: str) -> None:
    for one in trace[layer]:
        print(_LINES[layer](one))


def _save(trace: Json, path: Any, settings: Mapping[str, str]) -> str:
    if path is None:
        folder = pathlib.Path(json.loads(settings["scheduler.debug_dir"]))
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"trace_{int(time.time())}.json"
    pathlib.Path(path).write_text(json.dumps(trace) + "\n", encoding="utf-8")
    return str(path)


class TapeRequests:
    """Tape methods of gpuemu.Client. A client with its own session sees the entries of that session, any other client sees
    all."""

    connection: Connection

    def _ask(self, call: Call[Any]) -> Any:
        raise NotImplementedError

    def submit_tape(self, entries: Sequence[Mapping[str, Any]]) -> Json:
        """Appends entries (id, op, inputs, shape, dtype, attrs) to the tape, all or none. Returns first_seq and last_seq."""
        result: Json = self._ask(calls.submit_tape(entries))
        return result

    def tape_status(self, wait_ms: int | None = None) -> Json:
        """Returns done, total and failed of this session's entries. wait_ms: waits up to this long for the last one to end."""
        result: Json = self._ask(calls.tape_status(wait_ms))
        return result

    def fetch_tensor(self, id: str) -> Array:
        """Returns the values of a tensor of this session's tape, once they are computed. Raises the error of the first op that
        failed."""
        result: Array = self._ask(calls.fetch_tensor(id))
        return result

    def trace(self, session: str | None = None, layers: Sequence[str] = ()) -> Json:
        """Returns the daemon's trace, as `gpuemu trace live` prints it. session: a name; layers: input_tape, output_queue,
        handles, ticks."""
        result: Json = self._ask(calls.trace(session, layers))
        return result

    def print_input_tape(self) -> None:
        """Prints the submitted entries, one per line."""
        _print(self.trace(layers=["input_tape"]), "input_tape")

    def print_output_queue(self) -> None:
        """Prints the work of the devices, in the order in which it was scheduled."""
        _print(self.trace(layers=["output_queue"]), "output_queue")

    def print_handles(self) -> None:
        """Prints the locations of tensors."""
        _print(self.trace(layers=["handles"]), "handles")

    def print_tick_trace(self) -> None:
        """Prints the scheduler's ticks: what starts, what has ended, what each device does."""
        _print(self.trace(layers=["ticks"]), "ticks")

    def save_debug_trace(self, path: Any = None) -> str:
        """Writes the trace to a file that `gpuemu trace FILE` shows, and returns its path. The default path is trace_SECONDS.json
        in the folder scheduler.debug_dir of gpuemu.toml."""
        return _save(self.trace(), path, self._ask(calls.config_values()))


class AsyncTapeRequests:
    """Like TapeRequests, for gpuemu.AsyncClient."""

    connection: Connection

    async def _ask(self, call: Call[Any]) -> Any:
        raise NotImplementedError

    async def submit_tape(self, entries: Sequence[Mapping[str, Any]]) -> Json:
        result: Json = await self._ask(calls.submit_tape(entries))
        return result

    async def tape_status(self, wait_ms: int | None = None) -> Json:
        result: Json = await self._ask(calls.tape_status(wait_ms))
        return result

    async def fetch_tensor(self, id: str) -> Array:
        result: Array = await self._ask(calls.fetch_tensor(id))
        return result

    async def trace(self, session: str | None = None, layers: Sequence[str] = ()) -> Json:
        result: Json = await self._ask(calls.trace(session, layers))
        return result

    async def print_input_tape(self) -> None:
        _print(await self.trace(layers=["input_tape"]), "input_tape")

    async def print_output_queue(self) -> None:
        _print(await self.trace(layers=["output_queue"]), "output_queue")

    async def print_handles(self) -> None:
        _print(await self.trace(layers=["handles"]), "handles")

    async def print_tick_trace(self) -> None:
        _print(await self.trace(layers=["ticks"]), "ticks")

    async def save_debug_trace(self, path: Any = None) -> str:
        return _save(await self.trace(), path, await self._ask(calls.config_values()))
