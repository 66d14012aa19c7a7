"""Every command once, on a kernel of one instruction: what `scripts/test.sh --quick` runs of the end-to-end tests."""
import re
import subprocess

import pytest

from conftest import BIN

PTX = """.version 7.0
.target sm_75
.address_size 64
.visible .entry none(.param .u64 y) { ret; }
"""
CONFIG = """[[kernels]]
name = "none"
source = "none.ptx"
reference = "none.py"
inputs = [{ name = "x", shape = ["n"] }]
outputs = [{ name = "y", shape = ["n"] }]
dims = { n = [1, 8] }
launches = [{ entry = "none", grid = 1, block = 1, args = ["y"] }]
"""

# The words behind `gpuemu`, the exit code, and what is said. In this order: what a command stores the next ones read.
RUNS = [
    ("test --cases 4 --seed 1", 1, "none"),
    ("fuzz none -i 4 --seed 1", 1, r"\[FAIL\] none"),
    ("failures", 0, "none"),
    ("reproduce SEED", 0, "none"),
    ("explain SEED", 0, "none"),
    ("minimize SEED --max-iters 4", 0, "seed"),
    ("export SEED -o folder", 0, "python3 run.py"),
    ("debug SEED -c help", 0, "load"),
    ("mutate none --cases 2 --mutants 2", 2, "needs a kernel that passes"),
    ("prove none", 0, "none"),
    ("run -- true", 0, "0 findings"),
    ("nvcc --arch fast", 2, "expected an architecture"),
    ("lint", 0, "none"),
    ("artifacts", 0, "none"),
    ("artifacts --history --limit 1", 0, "none since 20"),
    ("artifacts --history --kernel nobody", 0, "no metrics of kernel 'nobody' are stored"),
    ("baseline save main", 0, "baseline main"),
    ("diff --baseline main", 0, ""),
    ("ci --quick --archive failed.gpuemu", 1, "none"),
    ("open failed.gpuemu", 0, "replayed: "),
    ("report", 0, "none"),
    ("calibrate none --cases 4", 1, "none"),
    ("coverage --format json", 0, "none"),
    ("config check", 0, ""),
    ("config schema", 0, "json-schema"),
    ("devices", 0, "emulator"),
    ("ops", 0, r"none float32 kernel none \(.*gpuemu.toml:1\)"),
    ("kernels", 0, "softmax"),
    ("status", 0, "running|serves|process"),
    ("daemon status", 0, "running|serves|process"),
    ("projects", 0, "1 op, "),
    ("sessions", 0, "gpuemu.[0-9]+. "),
    ("sessions set nobody --weight 2", 2, "no session 'nobody'"),
    ("sessions close nobody", 2, "no session 'nobody'"),
    ("top --once", 0, "local-0 "),
    ("trace nothing.json", 2, "nothing.json"),
    ("trace plan nothing.json", 2, "nothing.json"),
    ("storage claim --dry-run", 0, "would take: 0 results"),
    ("storage status", 0, "on disk: "),
    ("storage verify", 0, "whole: "),
    ("storage backup copy", 0, "wrote a backup to .*copy"),
    ("storage compact", 0, "gave back .* in use"),
    ("storage repair --dry-run", 0, "whole: "),
    ("storage restore copy", 2, "has .* records; --force"),
    ("storage prune --dry-run", 0, "would delete: 0 passing results"),
    ("completion bash", 0, "complete -o filenames"),
    ("man", 0, "GPUEMU 1"),
    ("version", 0, r"\d+\.\d+\.\d+"),
    ("init -t new", 0, "wrote gpuemu.toml"),
]


@pytest.fixture(scope="module")
def small(new_home):
    """A project whose kernel writes nothing, so that every case fails."""
    return new_home({"gpuemu.toml": CONFIG, "none.ptx": PTX, "none.py": "def reference(x):\n    return x\n"})


@pytest.mark.parametrize("words, status, said", RUNS, ids=[words for words, _, _ in RUNS])
def test_the_command_does_its_work(small, words, status, said):
    words = words.split()
    if "SEED" in words:
        words[words.index("SEED")] = small.run("failures", "--limit", "1").stdout.split()[0]
    result = small.run(*words)
    assert result.returncode == status, result.stdout + result.stderr
    assert re.search(said, result.stdout + result.stderr), result.stdout + result.stderr


def test_no_command_is_left_out():
    """`gpuemu man` names them all, as --help does."""
    page = subprocess.run([BIN / "gpuemu", "man"], capture_output=True, text=True, check=True, timeout=60).stdout
    commands = set(re.findall(r"^\.SS gpuemu ([a-z]+)$", page, re.M))
    assert commands and commands == {words.split()[0] for words, _, _ in RUNS}
