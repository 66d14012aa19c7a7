"""Triton and Numba kernels run without a GPU through gpuemu.triton and gpuemu.numba; a faulty version of each is found."""
import json
import os
import pathlib
import subprocess
import sys

import pytest

from .conftest import BIN, ROOT

HERE = pathlib.Path(__file__).resolve().parent


def run(compilers, script, cache):
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "GPUEMU_DEVICE": str(BIN / "gpuemu-device"),
                   "TRITON_CACHE_DIR": str(cache)}
    done = subprocess.run([compilers, script], capture_output=True, text=True, timeout=300, env=environment)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """Triton's cache, that of nobody else."""
    return tmp_path_factory.mktemp("triton")


@pytest.fixture(scope="module")
def saw(compilers, cache):
    return run(compilers, HERE / "python_kernels.py", cache)


@pytest.mark.parametrize("kernel, bound", [("add", 0), ("softmax", 1e-6), ("matmul sm_80", 1e-4), ("matmul sm_90", 1e-4),
                                           ("tuned", 0), ("softmax in place", 1e-6), ("rows in place", 1e-6),
                                           ("two steps in place", 1e-6), ("welford", 1e-6), ("ruled", 1e-6), ("saxpy", 1e-6), ("turned", 0), ("narrowed", 0.0625)])
def test_right_kernels_compute_what_their_reference_says(saw, kernel, bound):
    assert saw[kernel] <= bound


@pytest.mark.parametrize("kernel, kind", [("add_wrong", "out_of_bounds"), ("matmul_wrong", "out_of_bounds"),
                                          ("saxpy_wrong", "out_of_bounds"),
                                          ("softmax_wrong", "race_global"),  # Rows that run into each other.
                                          ("reversed_wrong", "race_global"), ("scattered_wrong", "race_warp")])
def test_a_faulty_kernel_is_found_at_its_python_line(saw, kernel, kind):
    assert saw[kernel] == [kind, True, True, True]


@pytest.mark.parametrize("kernel, note", [("softmax in place", "redundant_reads"), ("rows in place", "redundant_reads"),
                                          ("two steps in place", "redundant_reads"), ("welford", "redundant_stores")])
def test_threads_that_repeat_the_work_of_others_are_a_note(saw, kernel, note):
    assert saw["notes of " + kernel] == [note]


def test_a_moved_file_is_named_where_it_lies_now(compilers, cache, saw, tmp_path):
    moved = tmp_path / "python_kernels.py"
    moved.write_bytes((HERE / "python_kernels.py").read_bytes())
    assert {name: value for name, value in run(compilers, moved, cache).items() if name.endswith("_wrong")} == \
        {name: value for name, value in saw.items() if name.endswith("_wrong")}


@pytest.mark.parametrize("call, said", [("no array", "argument 'x' of 'add' is of type str"),
                                        ("left out", "called without n; its parameters are (x, y, out, n, BLOCK"),
                                        ("left out, with rules", "called without n; its parameters are"),
                                        ("no kernel", "is no @triton.jit kernel"),
                                        ("fp8", 'Triton compiled for sm_80: give gpuemu.triton arch="sm_90"'),
                                        ("numba, left out", "takes 3 arguments, 2 are given")])
def test_wrong_calls_are_told(saw, call, said):
    assert said in saw[call]


@pytest.fixture(scope="module")
def views(compilers, cache):
    return run(compilers, HERE / "python_views.py", cache)


@pytest.mark.parametrize("language", ["triton", "numba"])
@pytest.mark.parametrize("view", ["transposed", "steps", "backwards", "broadcast", "windows", "middle", "halves"])
def test_arrays_with_strides_are_read_and_written_where_they_lie(views, language, view):
    assert views[f"{language} {view}"] == 0 and views["numba no axes"] == 0


def test_triton_specialises_for_the_strides_and_addresses_of_the_arrays(views):
    assert views["specialised"] == {
        "packed": {"ones": ["x1", "y1"], "aligned": ["x", "y", "m", "n", "x0", "y0"]},
        "transposed": {"ones": ["x0", "y1"], "aligned": ["x", "y", "m", "n", "x1", "y0"]},
        "an element behind": {"ones": ["x1", "y1"], "aligned": ["y", "m", "n", "x0", "y0"]},
        "16 bytes behind": {"ones": ["x1", "y1"], "aligned": ["x", "y", "m", "n", "x0", "y0"]},
    }


@pytest.mark.parametrize("program", ["add_one.py", "saxpy.py"])
def test_the_page_of_python_shows_what_its_programs_print(compilers, cache, program, tmp_path):
    sys.path.insert(0, str(ROOT / "tests/e2e"))
    try:
        import pages
    finally:
        sys.path.pop(0)
    blocks = pages.blocks_of(ROOT / "docs/guides/python-kernels.md")
    at = next(i for i, block in enumerate(blocks) if block.directives.get("file") == program)
    (tmp_path / program).write_text(blocks[at].text)
    ((command, shown),) = blocks[at + 1].commands()
    assert command == f"python3 {program}"
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "GPUEMU_DEVICE": str(BIN / "gpuemu-device"), "TRITON_CACHE_DIR": str(cache)}
    done = subprocess.run([compilers, program], cwd=tmp_path, capture_output=True, text=True, timeout=300, env=environment)
    assert done.returncode == 0, done.stderr[-3000:]
    assert pages.missing_line(shown, done.stdout) is None, done.stdout
