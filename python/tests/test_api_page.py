"""The reference is what the docstrings say, and everything public has one."""

import inspect
import pathlib
import subprocess
import sys

import gpuemu

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_the_page_is_made_from_these_docstrings():
    page = (ROOT / "docs/python-api.md").read_text()
    missing = [name for name in gpuemu.__all__ if f"### {name}\n" not in page]
    assert not missing
    if sys.version_info[:2] == (3, 11):  # Other versions print signatures differently.
        done = subprocess.run([sys.executable, ROOT / "tools/python_api.py", "--check"], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


def test_every_public_function_and_class_is_documented():
    bare = [name for name in gpuemu.__all__ if not inspect.getdoc(getattr(gpuemu, name))]
    assert not bare
