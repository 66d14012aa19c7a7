"""The page of the frameworks does what it shows: the blocks of each part are run one after the other, and print what stands below."""
import contextlib
import importlib.util
import io
import os
import pathlib
import re

import pytest

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/guides/frameworks.md"
PACKAGES = {"PyTorch": "torch", "JAX": "jax", "TensorFlow": "tensorflow"}  # By heading.
BLOCK = re.compile(r"^```(python|text)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def shown_as(expected):
    """What is printed, with ... for anything."""
    return re.compile(".*".join(map(re.escape, expected.split("..."))))


@pytest.mark.parametrize("part", PACKAGES)
def test_a_tutorial_prints_what_it_shows(part, client):
    if importlib.util.find_spec(PACKAGES[part]) is None or (part == "TensorFlow" and not os.environ.get("GPUEMU_TEST_TENSORFLOW")):
        pytest.skip(f"no {PACKAGES[part]}, or GPUEMU_TEST_TENSORFLOW is not set")
    text = PAGE.read_text()
    first = text.index(f"\n## {part}\n")
    last = (text + "\n## ").index("\n## ", first + 1)
    names, printed, checked = {"client": client, "__name__": part}, "", 0
    for block in BLOCK.finditer(text, first, last):
        if block[1] == "python":
            out = io.StringIO()
            place = "\n" * text[: block.start()].count("\n")  # Tracebacks name the line of the page.
            with contextlib.redirect_stdout(out):
                exec(compile(place + "\n" + block[2], str(PAGE), "exec"), names)
            printed = out.getvalue()
        else:
            assert shown_as(block[2]).fullmatch(printed), f"the part {part} shows\n{block[2]}but it prints\n{printed}"
            checked += 1
    assert checked >= 2
