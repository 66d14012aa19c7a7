"""Tests that everything that messages and docstrings recommend exists: options, commands, variables, keys and functions."""

import ast
import builtins
import functools
import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "python/gpuemu"
PRODUCT = [path for folder in ("common", "runtime", "ops", "judge", "daemon", "bindings", "cli") for path in (ROOT / folder).rglob("*.[chd]*")
           if path.suffix in (".cc", ".h", ".def") and not path.stem.endswith("_test")]
SECTIONS = r"project|runtime|validation|daemon|scheduler|storage|artifacts|worker|ops|fuzz"  # Tables of gpuemu.toml.
# These follow a dot, too, but are not keys.
OTHER_WORDS = {"as_tensor", "op_call", "register_op", "tolerances", "pem", "key", "ops"}
# Options of other programs and packages that messages name.
OPTIONS_OF_OTHERS = {"--index-url": "pip", "--head": "ray start", "--address": "ray start", "--gpu-name": "ptxas", "--fmad": "ptxas"}
FUNCTIONS_OF_OTHERS = {"array": "numpy", "astype": "numpy", "newbyteorder": "numpy", "init": "ray", "shutdown": "ray", "item": "numpy", "to_dense": "torch",
                       "set_start_method": "multiprocessing", "sqrt": "math", "replace": "torch.cuda", "float32": "numpy", "cpu": "torch",
                       "filled": "numpy", "gpuemu_allow": "pytest", "cdiv": "expressions of register_kernel"}


def texts(tree):
    """Yields line and text of every string, with {} for each value of an f-string."""
    inside = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield node.lineno, "".join(one.value if isinstance(one, ast.Constant) else "{}" for one in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inside:
            yield node.lineno, node.value


@functools.cache
def modules():
    return {path.relative_to(PACKAGE): ast.parse(path.read_text()) for path in sorted(PACKAGE.rglob("*.py"))}


@functools.cache
def all_texts():
    return [(f"{name}:{line}", text) for name, tree in modules().items() for line, text in texts(tree)]


def nodes():
    return [(name, node) for name, tree in modules().items() for node in ast.walk(tree)]


def raised():
    """Yields the texts of raised errors, and their places."""
    for name, node in nodes():
        if isinstance(node, ast.Raise):
            yield from ((f"{name}:{line}", text) for line, text in texts(node))


@pytest.fixture(scope="module")
def product():
    """Returns the string literals in the programs' sources."""
    return {text for path in PRODUCT for text in re.findall(r'"([^"\n]+)"', path.read_text(errors="replace"))}


def told(pattern, there, found=None):
    """Returns the matches that do not exist."""
    return [f"{place}: {name}" for place, text in (all_texts() if found is None else found) for name in re.findall(pattern, text) if name not in there]


def test_every_option_is_one(product):
    ours = {one.value for _, node in nodes() if isinstance(node, ast.Call) for one in node.args if isinstance(one, ast.Constant) and str(one.value).startswith("--")}
    options = {one for text in product for one in text.split(",")} | ours | {"--gpuemu-arch", "--gpuemu-checks", "--gpuemu-suppress"}
    assert len(options) > 100 and not told(r"(?<![\w-])--[a-z][a-z0-9-]*\b(?!-)", options | OPTIONS_OF_OTHERS.keys())
    # This test cannot check an option with a placeholder, so no text may have one.
    assert not [place for place, text in all_texts() if re.search(r"--[a-z-]*\{\}", text) and len(text.split()) > 2]


def test_every_command_is_one():
    commands = set(re.findall(r"^  X\((\w+)\)", (ROOT / "cli/commands/commands.h").read_text(), re.M))
    assert "run" in commands and not told(r"`gpuemu ([a-z]+)\b", commands)


def test_every_variable_of_the_environment_is_read_by_somebody(product):
    read = {text for _, text in all_texts() if re.fullmatch(r"GPUEMU_[A-Z0-9_]+", text)}
    assert not told(r"\bGPUEMU_[A-Z0-9_]+", read | product)


def test_every_key_of_the_configuration_is_one(product):
    keys = set(re.findall(r'"(\w+)"', (ROOT / "common/config/keys.cc").read_text()))
    found = [f"{place}: {name}" for place, text in all_texts() for name in re.findall(rf"(?<![\w./])(?:{SECTIONS})\.[a-z_]+\b(?![\w(/.])", text)
             if name.split(".")[1] not in keys | OTHER_WORDS]
    assert not found


def test_every_function_that_a_message_names_is_there():
    defined = {node.name for _, node in nodes() if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    assert not told(r"\b(?:[A-Za-z_]\w*\.)*([A-Za-z_]\w*)\(", defined | FUNCTIONS_OF_OTHERS.keys() | set(dir(builtins)), raised())


@pytest.mark.parametrize("name, said", [("triton", "`gpuemu run --no-triton` leaves it as it is"), ("numba.cuda", "`gpuemu run --no-numba` leaves it as it is"),
                                        ("cuda.pathfinder", "install another version of it")])  # fmt: skip
def test_a_package_that_cannot_be_prepared_says_what_to_do(tmp_path, name, said):
    for folder in ("triton", "numba/cuda", "cuda/pathfinder"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "__init__.py").write_text("__version__ = '9.9'\n")
    code = f"from gpuemu.drop_in import imports\ndef no(_): raise OSError('no such thing')\nimports.prepare({{'{name}': no}})\nimport {name}"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": f"{ROOT / 'python'}:{tmp_path}"})
    assert f"gpuemu cannot give {name} 9.9 the emulated GPU: no such thing; {said}" in ran.stderr
