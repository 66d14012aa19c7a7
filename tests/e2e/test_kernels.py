"""Correct kernels that use what real ones use: the emulator must agree with NumPy and find nothing."""
import json
import pathlib
import shutil

import pytest

KERNELS = pathlib.Path(__file__).resolve().parents[1] / "kernels"


@pytest.fixture
def kernels(gpuemu):
    shutil.rmtree(gpuemu.project)
    shutil.copytree(KERNELS, gpuemu.project)
    return gpuemu


def verdicts(installation):
    result = installation.run("test", "--format", "json", timeout=600)
    report = json.loads(result.stdout)
    failed = {op["op_name"]: op for op in report["ops"] if op["failed"] or not op["passed"]}
    return result, report, failed


def test_optimised_kernels_agree_with_numpy(kernels):
    result, report, failed = verdicts(kernels)
    assert len(report["ops"]) == 16 and not failed, failed
    assert result.returncode == 0, result.stderr


# Folders below tests/kernels and how many kernels each has.
@pytest.mark.parametrize("folder, count", [("functions", 20), ("fast", 8), ("blocks", 25), ("matrices", 13), ("copies", 6), ("fp8", 2)])
def test_kernels_of_every_kind_agree_with_numpy(kernels, folder, count):
    kernels.project /= folder
    result, report, failed = verdicts(kernels)
    assert len(report["ops"]) == count and not failed, failed
    assert result.returncode == 0, result.stderr


@pytest.mark.slow
def test_debug_kernels_agree_with_numpy(kernels):
    config = kernels.project / "gpuemu.toml"
    config.write_text(config.read_text().replace('"-lineinfo"', '"-G"'))
    result, report, failed = verdicts(kernels)
    assert len(report["ops"]) == 16 and not failed, failed
    assert result.returncode == 0, result.stderr
