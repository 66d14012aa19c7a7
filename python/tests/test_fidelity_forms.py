"""Tests that the output of tools/make_fidelity.py is checked in and follows the tests that compare instructions."""

import pathlib
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CHIP, MATRICES, ROWS = "tests/conformance/chip_forms.def", "tests/conformance/chip_matrices.def", "tests/ptx/rows"
TABLE = "runtime/fidelity/forms.def"


@pytest.fixture
def copy(tmp_path):
    """Copies the table and its inputs to a folder where a test may change them."""
    for path in (CHIP, MATRICES, TABLE, "tools/make_fidelity.py"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, tmp_path / path)
    shutil.copytree(ROOT / ROWS, tmp_path / ROWS)
    return tmp_path


def make(root, *arguments):
    return subprocess.run([sys.executable, root / "tools/make_fidelity.py", *arguments], capture_output=True, text=True)


def add(root, path, text):
    (root / path).write_text((root / path).read_text() + text)


def rows(root):
    return (root / TABLE).read_text().splitlines()


def test_what_is_made_is_checked_in():
    done = make(ROOT, "--check")
    assert done.returncode == 0, done.stdout


def test_a_recorded_answer_makes_its_instructions_recorded(copy):
    add(copy, CHIP, 'CHIP_FORM("pair32", 32, 32, 0x1, "{.reg .pred %q; @!%q xyz.approx.f32 %d,%a; L: uvw.b32 {%d,%d},%a;}")\n')
    add(copy, MATRICES, 'CHIP_WGMMA(64, 8, "f32", "tf32", "tf32", 0x1)\n')
    stale = make(copy, "--check")
    assert (stale.returncode, stale.stdout) == (1, f"{TABLE}: differs from the tests; run tools/make_fidelity.py\n")
    before = rows(copy)
    assert make(copy).returncode == 0 and make(copy, "--check").returncode == 0
    assert sorted(set(rows(copy)) - set(before)) == [
        'RECORDED_FORM("uvw.b32", 90)', 'RECORDED_FORM("wgmma.mma_async.sync.aligned.m64n64k8.f32.tf32.tf32", 90)',
        'RECORDED_FORM("xyz.approx.f32", 90)']  # fmt: skip


def test_a_row_makes_its_instructions_tested_unless_they_are_recorded(copy):
    add(copy, f"{ROWS}/integers.ptxt", "\nrow xyz.s32\ntypes b32 = b32\n0 = 0\n\nrow a call\ntypes b32 = b32\ntext call (%d), f, (%a); add.rn.f32 %d, %d, %a;\n0 = 0\n")
    before = rows(copy)
    assert make(copy).returncode == 0
    assert set(rows(copy)) - set(before) == {'TESTED_FORM("xyz.s32")'} and 'TESTED_FORM("call")' in before


def test_answers_of_no_named_gpu_are_refused(copy):
    (copy / CHIP).write_text((copy / CHIP).read_text().replace("(sm_90,", "("))
    done = make(copy)
    assert done.returncode == 1 and "chip_forms.def: the first comment does not say" in done.stderr
