"""`gpuemu init` on kernels in the styles of public code: what it proposes runs as it is, and passes once references are written."""
import importlib.util
import inspect
import json
import re
import shutil

import pytest

from conftest import ROOT

KERNELS = ROOT / "tests/init/kernels"
# Left out, and why: nothing else may be.
LEFT_OUT = {"llm/broken.cu": "does_not_exist.h", "extension/lltm.cu": "torch/extension.h", "extension/embedding_bag.cu": "ATen/ATen.h",
            "samples/convolution.cu": "__constant__ variable c_Kernel"}
# Proposed, but what they read follows from values: row pointers.
GUESSED = {"spmv_csr"}


@pytest.fixture(scope="module")
def folder(new_home):
    home = new_home({})
    shutil.copytree(KERNELS, home.project, dirs_exist_ok=True)
    home.told = home.run("init", timeout=1500)
    assert home.told.returncode == 0, home.told.stderr
    return home


def test_every_kernel_of_the_folder_is_proposed_or_named(folder):
    left_out = dict(re.findall(r"note: (\S+): \w+ is left out: (.*)", folder.told.stderr))
    assert left_out.keys() == LEFT_OUT.keys(), folder.told.stderr
    for file, why in LEFT_OUT.items():
        assert why in left_out[file]
    assert set(re.findall(r"note: (\w+) \(\S+\): a guess, because", folder.told.stderr)) == GUESSED, folder.told.stderr
    assert folder.run("config", "check").returncode == 0


def test_what_is_proposed_runs_without_an_edit(folder):
    run = folder.run("test", "--cases", 2, "--format", "json", timeout=1500)
    ops = json.loads(run.stdout)["ops"]
    assert len(ops) >= 36
    bad = {op["op_name"]: (op.get("error") or op["failures"][0]["failures"][0]["message"])
           for op in ops if op["failed"] or op.get("error")}
    assert set(bad) <= GUESSED, "\n".join(f"{name}: {why}" for name, why in bad.items())
    assert all(op.get("no_reference") for op in ops if op["op_name"] not in bad)


def test_what_is_proposed_passes_once_references_are_written(folder):
    """Nothing but the references is edited. Kernels whose references need a tie rule or a tolerance are not among them."""
    path = ROOT / "tests/init/references.py"
    spec = importlib.util.spec_from_file_location("references", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    names = [name for name, value in vars(module).items() if inspect.isfunction(value)]
    for name in names:
        script = folder.project / f"scripts/ref_{name}.py"
        assert "raise NotImplementedError" in script.read_text()
        text = inspect.getsource(getattr(module, name)).replace(f"def {name}(", "def reference(", 1)
        script.write_text(f"import numpy as np\n\n\n{text}")
    run = folder.run("test", *names, "--cases", 12, "--format", "json", timeout=1500)
    ops = json.loads(run.stdout)["ops"]
    bad = {op["op_name"]: (op.get("error") or op["failures"][0]["failures"][0]["message"])
           for op in ops if op["failed"] or op.get("error")}
    assert len(names) >= 30
    assert not bad, "\n".join(f"{name}: {why}" for name, why in bad.items())
    assert not any(op.get("no_reference") for op in ops)
