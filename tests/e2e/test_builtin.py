"""gpuemu test builtin: the kernels that come with gpuemu, tested as a user's are."""
import json
import shutil

import pytest

from conftest import BIN

PROJECT = BIN.parent / "kernels" / "builtin"


@pytest.mark.slow
def test_tests_every_builtin_kernel_whatever_the_project(gpuemu):
    result = gpuemu.run("test", "builtin", "--cases", "2", "--seed", "3", "--format", "json")
    report = json.loads(result.stdout)
    assert result.returncode == 0, result.stderr
    assert report["failed"] == 0 and len(report["ops"]) >= 300


def test_names_the_ops_that_there_are(gpuemu):
    result = gpuemu.run("test", "builtin", "sofmax")
    assert result.returncode == 2 and "did you mean 'softmax'" in result.stderr


def test_finds_a_builtin_kernel_that_does_not_match_its_reference(gpuemu, tmp_path):
    wrong = tmp_path / "wrong"
    shutil.copytree(PROJECT, wrong)
    script = wrong / "relu" / "relu.py"
    script.write_text(script.read_text().replace("x <= 0, 0.0, x", "x <= 0, 0.5, x"))
    result = gpuemu.run("--config", wrong / "gpuemu.toml", "test", "relu", "--cases", "6", "--seed", "3", "--dtype", "f32")
    assert result.returncode == 1 and "[FAIL] relu" in result.stdout
