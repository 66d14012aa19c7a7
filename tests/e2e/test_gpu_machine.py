"""The folder for machines with a GPU: made here, tried on the emulator."""
import os
import subprocess

import pytest

from conftest import BIN, ROOT

BUILD = BIN.parent
SCRIPT = ROOT / "scripts" / "gpu_machine.sh"


def test_what_is_not_built_is_named(tmp_path):
    refused = subprocess.run([SCRIPT, "pack", tmp_path, tmp_path / "out"], capture_output=True, text=True)
    assert refused.returncode == 3 and f"ninja -C {tmp_path} gpu_machine" in refused.stderr
    assert subprocess.run([SCRIPT], capture_output=True).returncode == 2


@pytest.mark.slow
def test_the_folder_runs_where_it_is_copied(tmp_path):
    if not (BUILD / "examples" / "gpuemu_embed_two_devices").exists():
        pytest.skip("this build has no libgpuemu.so")
    subprocess.run([SCRIPT, "pack", BUILD, tmp_path / "first"], check=True)
    moved = (tmp_path / "first").rename(tmp_path / "moved")
    clean = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}
    done = subprocess.run([moved / "gpu_machine.sh", "run", "--emulator"], capture_output=True, text=True, timeout=900, env=clean)
    assert done.returncode == 0, done.stdout + done.stderr
    for part in ("loaded", "softmax", "mlp", "mlp-deep", "mlp-trace", "two-devices", "calls", "conformance"):
        assert f"ok: {part}: " in done.stdout, done.stdout
    assert "8 passed, 0 failed, 0 skipped" in done.stdout
