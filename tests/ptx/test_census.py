"""Every instruction that compilers emit for ordinary kernels is one that the emulator executes."""
import json
import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CORPUS = sorted((pathlib.Path(__file__).parent / "corpus").glob("*.cu"))
# elementwise.cu is no source by itself: its text stands behind that of the ops.
KERNELS = [source for source in [*sorted(ROOT.glob("kernels/*/*.cu")), *sorted(ROOT.glob("tests/kernels/*.cu"))] if source.name != "elementwise.cu"]
SMS = (75, 80, 90)


def expect_complete(census, folder, files_min):
    done = census("--format", "json", folder)
    report = json.loads(done.stdout)
    lacking = [f"{row['opcode']} x{row['missing']} at {row['first_missing']['file']}:{row['first_missing']['line']}"
               for row in report["opcodes"] if row["missing"]]
    assert lacking == [] and report["refused"] == [], "\n".join(lacking + report["refused"])
    assert done.returncode == 0
    assert report["files"] >= files_min and report["instructions"] > 20 * report["files"]


def test_one_in_six_of_the_projects_kernels(census, nvcc, tmp_path):
    """nvcc takes two seconds for each; all of them are slow tests."""
    for source in KERNELS[::6]:
        nvcc(tmp_path, source, 80)
    expect_complete(census, tmp_path, len(KERNELS[::6]))


@pytest.mark.slow
@pytest.mark.parametrize("sm", SMS)
def test_the_projects_kernels_for_every_target(census, nvcc, tmp_path, sm):
    for source in KERNELS:
        nvcc(tmp_path, source, sm)
    expect_complete(census, tmp_path, len(KERNELS))


@pytest.mark.parametrize("name", ["inline_ptx", "fast_math"])
def test_inline_and_fast_math(census, nvcc, tmp_path, name):
    source = next(path for path in CORPUS if path.stem == name)
    nvcc(tmp_path, source, 80)
    expect_complete(census, tmp_path, 1)


@pytest.mark.slow
@pytest.mark.parametrize("sm", SMS)
@pytest.mark.parametrize("source", CORPUS, ids=lambda path: path.stem)
def test_cub_groups_tensor_cores_and_the_rest(census, nvcc, tmp_path, source, sm):
    nvcc(tmp_path, source, sm)
    expect_complete(census, tmp_path, 1)


@pytest.mark.slow
@pytest.mark.parametrize("sm", (80, 90))
def test_triton(census, compilers, tmp_path, sm):
    environment = {**os.environ, "HOME": str(tmp_path), "TRITON_CACHE_DIR": str(tmp_path / "cache")}
    script = pathlib.Path(__file__).with_name("triton_kernels.py")
    done = subprocess.run([compilers, script, tmp_path / "ptx", str(sm)], env=environment, capture_output=True,
                          text=True, timeout=900)
    assert done.returncode == 0, done.stderr[-3000:]
    expect_complete(census, tmp_path / "ptx", 18)


@pytest.mark.slow
def test_numba(census, compilers, tmp_path):
    script = pathlib.Path(__file__).with_name("numba_kernels.py")
    done = subprocess.run([compilers, script, tmp_path / "ptx"], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-3000:]
    expect_complete(census, tmp_path / "ptx", 10)


def test_what_is_missing_is_named_with_its_place(census, tmp_path):
    (tmp_path / "a.ptx").write_text(".version 8.0\n.target sm_80\n.address_size 64\n.entry k() {\n"
                                    ".reg .b32 r;\n  frob.s32 r, r;\nret;\n}\n")
    done = census(tmp_path)
    assert done.returncode == 1
    assert f"missing: frob.s32 (1 of 1), first at {tmp_path}/a.ptx:6:3: frob.s32 r, r" in done.stdout
    assert census(tmp_path / "nowhere").returncode == 2
    assert census("--format", "xml", tmp_path).returncode == 2
