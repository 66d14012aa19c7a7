"""Locations of faults in kernels, and their description as text."""

from __future__ import annotations

import pathlib
from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass
class Place:
    """A fault inside a kernel and its location. `file` and `line` are those of the source, "" and 0 without line information.

    A note explains another finding or a value and is not a fault itself. `call`: the number of the op call, if it has one.
    """

    kind: str = ""
    message: str = ""
    entry: str = ""
    file: str = ""
    line: int = 0
    other_file: str = ""
    other_line: int = 0
    ptx_line: int = 0
    instruction: str = ""
    block: tuple[int, ...] = (0, 0, 0)
    thread: tuple[int, ...] = (0, 0, 0)
    tensor: str = ""
    byte_offset: int = 0
    count: int = 1
    is_note: bool = False
    call: int = field(default=0, repr=False, compare=False)


def explain(places: Sequence[Place]) -> str:
    """Formats findings like a traceback: with the source line under each, if its file can be read."""
    said = []
    for one in places:
        text = one.message
        if one.file and one.line and pathlib.Path(one.file).is_file():
            lines = pathlib.Path(one.file).read_text(errors="replace").splitlines()
            if one.line <= len(lines):
                text += f"\n  {one.file}:{one.line}\n    {lines[one.line - 1].strip()}"
        said.append(text)
    return "\n".join(said)
