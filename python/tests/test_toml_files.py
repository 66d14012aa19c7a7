"""Tests that every gpuemu.toml in the repository is TOML 1.0, which every TOML parser accepts."""

import pathlib
import re

import pytest

tomllib = pytest.importorskip("tomllib")  # Python 3.11
ROOT = pathlib.Path(__file__).resolve().parents[2]
# tests/golden has files that are wrong on purpose, and valid ones with line breaks that only TOML 1.1 allows.
FILES = sorted(path for folder in ("examples", "kernels", "tests", "packaging", ".") for path in
               (ROOT.glob("*.toml") if folder == "." else (ROOT / folder).rglob("*.toml")) if "golden" not in path.parts)  # fmt: skip
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])


def test_every_file_is_read_by_tomllib():
    assert {ROOT / "examples/gpuemu.toml", ROOT / "pyproject.toml"} <= set(FILES) and len(FILES) > 20
    wrong = []
    for path in FILES:
        try:
            tomllib.loads(path.read_text())
        except tomllib.TOMLDecodeError as problem:
            wrong.append(f"{path.relative_to(ROOT)}: {problem}; in TOML 1.0 a line of {{ }} breaks only inside of [ ]")
    assert not wrong, "\n".join(wrong)


def test_every_example_of_the_pages_is_read_by_tomllib():
    blocks = [(page, block) for page in PAGES for block in re.findall(r"^```toml\n(.*?)^```", page.read_text(), re.S | re.M)]
    wrong = []
    for page, block in blocks:
        try:
            tomllib.loads(block)
        except tomllib.TOMLDecodeError as problem:
            wrong.append(f"{page.relative_to(ROOT)}: {problem} in\n{block}")
    assert len(blocks) >= 8 and not wrong, "\n".join(wrong)
