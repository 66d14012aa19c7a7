"""gpuemu-fidelity, the comparison of two devices, on the emulator alone."""
import json
import subprocess
import sys

from conftest import BIN, ROOT


def fidelity(*args):
    return subprocess.run([BIN / "gpuemu-fidelity", *args], text=True, capture_output=True, timeout=300)


def test_compares_a_project_with_a_recording_of_it(tmp_path):
    project, ptx = ROOT / "examples", tmp_path / "ptx"
    common = [project, "--only", "transpose", "--arch", "sm_80", "--cases", "3"]
    assert fidelity(*common, "--save-ptx", ptx).returncode == 0
    common += ["--ptx", ptx]
    assert fidelity(*common, "--right", "emulator", "--record", tmp_path / "kept").returncode == 0
    result = fidelity(*common, "--right", tmp_path / "kept", "--json", tmp_path / "j", "--markdown", tmp_path / "m")
    assert result.returncode == 0, result.stderr
    report = json.loads((tmp_path / "j").read_text())
    assert report["identical"] and report["seed"] == 42 and "gpuemu emulator" in report["right"]
    assert [s["subject"] for s in report["subjects"]] == ["examples/transpose/float32"]
    assert report["subjects"][0]["outputs"][0]["elements"] > 0
    assert (tmp_path / "m").read_text() == result.stdout
    # Another seed draws other inputs, which nobody recorded.
    other = fidelity(*common, "--right", tmp_path / "kept", "--seed", "7")
    assert other.returncode == 1 and "not recorded" in other.stdout


def test_says_what_is_wrong_with_a_command_line(tmp_path):
    assert fidelity().returncode != 0
    missing = fidelity(tmp_path)
    assert missing.returncode == 2 and "gpuemu.toml" in missing.stderr
    backend = fidelity(ROOT / "examples", "--only", "no such op", "--right", "nvidia")
    assert backend.returncode == 3 and "no backend 'nvidia'" in backend.stderr


def same_bits(*args):
    return subprocess.run([sys.executable, ROOT / "tools" / "same_bits.py", *args], text=True, capture_output=True, timeout=60)


FUSED = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 y) {
.reg .f32 %f<4>; .reg .b32 %r<2>; .reg .b64 %rd<4>;
mov.u32 %r1, %tid.x; mul.wide.s32 %rd1, %r1, 4;
ld.param.u64 %rd2, [x]; ld.param.u64 %rd3, [y];
add.s64 %rd2, %rd2, %rd1; add.s64 %rd3, %rd3, %rd1;
ld.global.f32 %f1, [%rd2]; mul.f32 %f2, %f1, %f1; sub.f32 %f3, %f2, %f1;
st.global.f32 [%rd3], %f3; ret; }
"""
PROJECT = """[project]
name = "p"
[[kernels]]
name = "fuses"
source = "k.ptx"
reference = "r.py"
inputs = [{ name = "x", shape = ["n"] }]
outputs = [{ name = "y", shape = ["n"] }]
dims = { n = [64] }
launches = [{ entry = "k", grid = 1, block = "n", args = ["x", "y"] }]
"""


def test_the_page_of_identical_bits_has_a_reason_for_each_difference(tmp_path):
    for name, text in (("k.ptx", FUSED), ("gpuemu.toml", PROJECT), ("r.py", "def reference(x):\n    return x * x - x\n")):
        (tmp_path / name).write_text(text)
    # Two roundings on the one side; on the other the same, and then one.
    for other in ("never", "always"):
        common = [tmp_path, "--arch", "sm_80", "--cases", "4"]
        assert fidelity(*common, "--right", "emulator", "--contraction", other, "--record", tmp_path / "kept").returncode == 0
        fidelity(*common, "--right", tmp_path / "kept", "--json", tmp_path / other)
    made = same_bits("--never", tmp_path / "never", "--always", tmp_path / "always")
    assert made.returncode == 0, made.stderr
    assert "| p/fuses | 100 % / " in made.stdout and "| as shipped |" in made.stdout and "fuses products into sums" in made.stdout
    # What differs without contraction too has no reason until somebody finds it.
    refused = same_bits("--never", tmp_path / "always", "--always", tmp_path / "always")
    assert refused.returncode == 1 and refused.stdout == "" and "p/fuses/float32: " in refused.stderr and "--because" in refused.stderr
    told = same_bits("--never", tmp_path / "always", "--always", tmp_path / "always", "--because", "p/fuses/float32=the moon")
    assert told.returncode == 0 and told.stdout.count("| the moon |") == 2
    (tmp_path / "text").write_text("{}")
    refused = same_bits("--never", tmp_path / "text", "--always", tmp_path / "always")
    assert refused.returncode == 1 and "is no result of gpuemu-fidelity" in refused.stderr
