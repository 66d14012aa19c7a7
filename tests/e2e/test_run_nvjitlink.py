"""libnvJitLink.so.13 of gpuemu run: it links PTX to PTX, and refuses everything else."""
import pathlib
import subprocess
import sys

from conftest import BIN

PROGRAM = pathlib.Path(__file__).parent / "run/link_ptx.py"
DIFFERS = ("the prototype of 'twice' in 'entry.ptx' differs from its definition in 'twice.ptx' (1 parameter and 1 result beside 1 parameter "
           "and 0 results); what the caller misses is undefined: declare it as it is defined")
TWICE = "'twice' is defined in 'first.ptx' and again in 'second.ptx'; define it once"


def test_two_texts_are_linked_and_run_and_machine_code_is_refused():
    done = subprocess.run([BIN / "gpuemu", "run", "--", sys.executable, PROGRAM], capture_output=True, text=True, timeout=60)
    assert done.stdout.splitlines() == ["2 1", "[0, 0]", "8", "gpuemu links PTX alone: machine code has none; compile it to PTX", "9 0", "42", f"0 {DIFFERS}", "1",
                                        f"0 {TWICE} (linked nevertheless)", "300"], done.stderr
    assert f"gpuemu: {DIFFERS}" in done.stderr and f"gpuemu: {TWICE}\n" in done.stderr
    assert done.returncode == 0 and "0 findings in 1 kernel, 2 launches" in done.stderr
    assert "cuLinkAddData of machine code is not supported; it was called 1 time" in done.stderr
