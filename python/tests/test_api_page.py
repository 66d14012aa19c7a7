"""Tests that the reference equals the docstrings, and that everything public has one."""

import inspect
import pathlib
import subprocess
import sys

import gpuemu

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_the_page_is_made_from_these_docstrings():
    page = (ROOT / "docs/reference/python-api.md").read_text()
    missing = [name for name in gpuemu.__all__ if f"### {name}\n" not in page]
    assert not missing
    if sys.version_info[:2] == (3, 11):  # Other versions print signatures differently.
        done = subprocess.run([sys.executable, ROOT / "tools/python_api.py", "--check"], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


def test_every_public_function_and_class_is_documented():
    bare = [name for name in gpuemu.__all__ if not inspect.getdoc(getattr(gpuemu, name))]
    assert not bare


def test_every_public_method_is_documented():
    """Methods of AsyncClient are documented in Client; for readers of records the docstring of the class is enough."""
    bare = []
    for name in gpuemu.__all__:
        cls = getattr(gpuemu, name)
        if not inspect.isclass(cls) or cls is gpuemu.AsyncClient:
            continue
        for key, one in vars(cls).items():
            plain = one.fget if isinstance(one, property) else getattr(one, "__func__", one)
            if not key.startswith("_") and key != "from_dict" and inspect.isfunction(plain) and not inspect.getdoc(plain):
                bare.append(f"{name}.{key}")
    assert not bare
