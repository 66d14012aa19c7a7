"""The tutorials do what they show: their blocks are run one after the other, and print what stands below each."""
import contextlib
import importlib.util
import io
import os
import pathlib
import re

import pytest

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs/guides"
PACKAGES = {"pytorch": "torch", "jax": "jax", "tensorflow": "tensorflow"}
BLOCK = re.compile(r"^```(python|text)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def shown_as(expected):
    """What is printed, with ... for anything."""
    return re.compile(".*".join(map(re.escape, expected.split("..."))))


@pytest.mark.parametrize("page", PACKAGES)
def test_a_tutorial_prints_what_it_shows(page, client):
    if importlib.util.find_spec(PACKAGES[page]) is None or (page == "tensorflow" and not os.environ.get("GPUEMU_TEST_TENSORFLOW")):
        pytest.skip(f"no {PACKAGES[page]}, or GPUEMU_TEST_TENSORFLOW is not set")
    text = (DOCS / f"{page}.md").read_text()
    names, printed, checked = {"client": client, "__name__": page}, "", 0
    for block in BLOCK.finditer(text):
        if block[1] == "python":
            out = io.StringIO()
            place = "\n" * text[: block.start()].count("\n")  # Tracebacks name the line of the page.
            with contextlib.redirect_stdout(out):
                exec(compile(place + "\n" + block[2], str(DOCS / f"{page}.md"), "exec"), names)
            printed = out.getvalue()
        else:
            assert shown_as(block[2]).fullmatch(printed), f"{page}.md shows\n{block[2]}but it prints\n{printed}"
            checked += 1
    assert checked >= 3
