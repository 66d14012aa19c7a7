"""gpuemu-fidelity, the comparison of two devices, on the emulator alone."""
import json
import subprocess

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
