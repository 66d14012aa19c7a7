"""Tests that the output of tools/make_words.py is checked in and follows the tables, and that an error in a table is reported
with its place."""

import pathlib
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLES = ("common/config/strategies.def", "common/config/memory_layouts.def", "common/config/error_scales.def",
          "common/config/invariants.def", "common/numeric/dtype.def")  # fmt: skip
MADE = ("python/gpuemu/dtypes_generated.py", "python/gpuemu/generate/words_generated.py", "docs/reference/strategies.md",
        "docs/guides/relations.md", "docs/internals/validation.md")  # fmt: skip


@pytest.fixture
def copy(tmp_path):
    """Copies the tables and their output to a folder where a test may change them."""
    for path in (*TABLES, *MADE, "tools/make_words.py", "tools/protocol/__init__.py", "tools/protocol/macros.py"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, tmp_path / path)
    return tmp_path


def make(root, *arguments):
    return subprocess.run([sys.executable, root / "tools/make_words.py", *arguments], capture_output=True, text=True)


def change(root, path, old, new):
    text = (root / path).read_text()
    assert old in text
    (root / path).write_text(text.replace(old, new, 1))


def test_what_is_made_is_checked_in():
    done = make(ROOT, "--check")
    assert done.returncode == 0, done.stdout


def test_a_new_row_is_in_python_and_on_its_page(copy):
    change(copy, TABLES[0], 'GPUEMU_STRATEGY(Normal,', 'GPUEMU_STRATEGY(Primes, "primes", Values, 1, Both,\n                "a | b, "\n'
           '                "\\"quoted\\"", "always")\nGPUEMU_STRATEGY(Normal,')  # fmt: skip
    stale = make(copy, "--check")
    assert stale.returncode == 1
    assert stale.stdout.splitlines() == [f"{path}: differs from the tables; run tools/make_words.py" for path in (MADE[1], MADE[2])]
    assert make(copy).returncode == 0 and make(copy, "--check").returncode == 0
    assert '"bits_uniform", "primes", "normal",' in (copy / MADE[1]).read_text()
    assert '| `primes` | a \\| b, "quoted" | always |' in (copy / MADE[2]).read_text()


def test_a_parameter_that_the_page_would_not_name_is_refused(copy):
    change(copy, TABLES[3], '"axis tolerance", "",', '"axis tolerance ulps", "",')
    done = make(copy)
    assert done.returncode == 1 and "invariants.def: sums_to_one: its `parameters` do not name ulps" in done.stderr


def test_a_page_without_the_place_of_its_table_is_refused(copy):
    change(copy, MADE[4], "<!-- generated: error scales (tools/make_words.py) -->", "")
    done = make(copy)
    assert done.returncode == 1 and f"{MADE[4]}: expected '<!-- generated: error scales" in done.stderr
