"""One daemon for the tests of the frameworks: ops that the client runs, with references in gpuemu.toml."""
import os
import pathlib
import shutil
import subprocess
import tempfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("GPUEMU_BIN", ROOT / "build/release/bin"))
PROJECT = """
[[ops]]
name = "scale"
reference = "scale.py"
input_names = ["x"]
[[ops]]
name = "scale_grad_x"
reference = "slope.py"
input_names = ["x"]
[ops.tolerances]
float32 = 1e-4
"""


@pytest.fixture(scope="session")
def client():
    gpuemu = pytest.importorskip("gpuemu")
    pytest.importorskip("pynng")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="gpuemu-fw-"))
    (folder / "gpuemu.toml").write_text(PROJECT)
    (folder / "scale.py").write_text("def reference(x, factor=2.0):\n    return x * float(factor)\n")
    (folder / "slope.py").write_text("import numpy as np\ndef reference(x, factor=2.0):\n    return np.full_like(x, float(factor))\n")
    env = {**os.environ, "HOME": str(folder), "GPUEMU_SOCKET": str(folder / "s.sock"), "GPUEMU_DB": str(folder / "db"),
           "PATH": f"{BIN}:{os.environ['PATH']}"}
    subprocess.run([BIN / "gpuemu", "daemon", "start", "--background"], cwd=folder, env=env, check=True, capture_output=True, timeout=60)
    with gpuemu.Client(str(folder / "s.sock")) as made:
        yield made
    subprocess.run([BIN / "gpuemu", "daemon", "stop"], cwd=folder, env=env, capture_output=True, timeout=60)
    shutil.rmtree(folder, ignore_errors=True)
