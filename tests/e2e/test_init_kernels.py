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
LEFT_OUT = {"llm/broken.cu": "does_not_exist.h"}
# Something of each style, and all that is left out or guessed; the others are compiled and run by scripts/nightly.sh.
SOME = {*LEFT_OUT, "extension/lltm.cu", "extension/embedding_bag.cu", "samples/convolution.cu", "llm/encoder.cu", "llm/layernorm.cu", "extension/elementwise.cu", "extension/quantize.cu",
        "samples/histogram.cu", "samples/partial_sums.cu", "samples/transpose_steps.cu", "attention/softmax.cu", "attention/online.cu",
        "signal/window_max.cu", "sparse/bins.cu", "sparse/csr.cu", "sparse/gather.cu", "serving/packed_residual.cu", "serving/rotary.cu",
        "serving/rotary_pair.cu", "serving/unary_ops.cu", "serving/unsigned_index.cu", "serving/pitched.cu", "serving/strided_norm.cu",
        "signal/grey.cu", "llm/classes.cu", "attention/tiled.cu", "extension/halves.cu",
        "gemm/blocked.cu", "sparse/csr_warps.cu", "signal/transposed.cu", "llm/channel_sums.cu", "serving/store_keys.cu"}
# Proposed, but no launch is right: half the threads that the loads need.
GUESSED = {"gemm_vectors_64_64"}
# Their launches round up sizes that they do not take.
ROUNDED = {"gemm_cached", "gemm_columns", "gemm_vectors_128_128"}


@pytest.fixture(scope="module", params=["some", pytest.param("all", marks=pytest.mark.slow)])
def folder(request, new_home):
    home = new_home({})
    home.has_all = request.param == "all"
    for file in KERNELS.glob("**/*.*"):
        name = str(file.relative_to(KERNELS))
        if home.has_all or file.suffix != ".cu" or name in SOME:
            (home.project / name).parent.mkdir(exist_ok=True)
            shutil.copy(file, home.project / name)
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
    # A template in a namespace, launched by a host template that another file instantiates.
    config = (folder.project / "gpuemu.toml").read_text()
    assert 'entry = "prims::partial_sums<{ctype}, 64, 2>"' in config
    # A function of the device as an argument; a stride that follows; a constant of a packed type; rows that lie a pitch apart.
    assert 'entry = "unary_kernel<op_relu, {ctype}>"' in config
    assert 'query_stride = "num_heads * head_size"' in config
    # What host code computes; a tile of 32 by 8 threads; what the kernel computes itself; a size that an index is compared with.
    assert 'tile = "16", tiles = "length / 16"' in config and 'key_stride = "num_kv_heads * head_size", query_stride' in config
    assert 'grid = ["cdiv(cols, 32)", "cdiv(rows, 32)"], block = ["32", "8"]' in config
    assert 'shape = ["planes", "(height - 2) / step + 1", "(width - 2) / step + 1"]' in config
    assert 'range = [0, "bins - 1"]' in config
    assert 'name = "a", shape = ["cdiv(N, 512)", "512"]' in config
    assert 'name = "src", shape = ["height", "width"]' in config and 'pitch = "width"' in config
    # Row pointers and what they choose; an index that alone shows the shapes; a page of the cache.
    assert 'name = "begin", shape = ["rows + 1"], dtype = "int32", range = [0, "nnz"], sorted = true' in config
    assert 'name = "tokens", shape = ["nnz", "width"]' in config and 'accumulate = "nnz"' in config
    assert 'name = "weight", shape = ["channels_in", "channels_out", "K", "K"]' in config
    assert 'accumulate = "channels_in * K * K"' in config and 'accumulate = "N * HW"' in config
    assert 'page_stride = "page_size * width"' in config
    # Tiles that host code divides by; eight elements to each thread.
    assert 'key_tiles = "cdiv(length, 16)", keys = "16", row_tiles = "cdiv(length, 16)", rows = "16"' in config
    assert re.search(r"length = \{ range = \[16, \d+\], multiple_of = 16 \}", config)
    assert 'grid = ["cdiv(N, 2048)"], block = ["256"], args = ["a", "b", "c", "i32:N"]' in config


def test_what_is_proposed_runs_without_an_edit(folder):
    run = folder.run("test", "--cases", 2, "--format", "json", timeout=1500)
    ops = json.loads(run.stdout)["ops"]
    assert len(ops) >= (51 if folder.has_all else 30)
    bad = {op["op_name"]: (op.get("error") or op["failures"][0]["failures"][0]["message"])
           for op in ops if op["failed"] or op.get("error")}
    assert set(bad) <= GUESSED | ROUNDED, "\n".join(f"{name}: {why}" for name, why in bad.items())
    assert all(op.get("no_reference") for op in ops if op["op_name"] not in bad)


def test_rows_without_elements_are_no_fault_of_a_right_kernel(folder):
    # With as many cases as a test has by default, all row pointers of some are equal.
    run = folder.run("test", "spmv_csr_warps", "ragged_mean", timeout=1500)
    assert run.returncode == 0, run.stdout + run.stderr


def test_rows_that_are_the_threads_of_a_block_are_a_guess(new_home):
    kernel = """extern "C" __global__ void unguarded(const int* begin, const int* column, const float* value, const float* x, float* y, int rows) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  for (int e = begin[row]; e < begin[row + 1]; ++e) sum += value[e] * x[column[e]];
  y[row] = sum;
}
"""
    told = new_home({"unguarded.cu": kernel}).run("init", timeout=600)
    assert told.returncode == 0 and re.search(r"note: unguarded \(\S+\): a guess, because", told.stderr), told.stdout + told.stderr


def test_what_is_proposed_passes_once_references_are_written(folder):
    """Nothing but the references is edited. Kernels whose references need a tie rule or a tolerance are not among them."""
    path = ROOT / "tests/init/references.py"
    spec = importlib.util.spec_from_file_location("references", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    scripts = {name: folder.project / f"scripts/ref_{name}.py" for name, value in vars(module).items() if inspect.isfunction(value)}
    names = [name for name, script in scripts.items() if folder.has_all or script.exists()]
    for name in names:
        script = scripts[name]
        assert "raise NotImplementedError" in script.read_text()
        text = inspect.getsource(getattr(module, name)).replace(f"def {name}(", "def reference(", 1)
        script.write_text(f"import numpy as np\n\n\n{text}")
    run = folder.run("test", *names, "--cases", 12, "--format", "json", timeout=1500)
    ops = json.loads(run.stdout)["ops"]
    bad = {op["op_name"]: (op.get("error") or op["failures"][0]["failures"][0]["message"])
           for op in ops if op["failed"] or op.get("error")}
    assert len(names) >= (40 if folder.has_all else 24)
    assert not bad, "\n".join(f"{name}: {why}" for name, why in bad.items())
    assert not any(op.get("no_reference") for op in ops)
