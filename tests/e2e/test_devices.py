"""The devices that the emulator presents: from the project, from the environment."""
import json


def devices(gpuemu, **options):
    result = gpuemu.run("devices", "--format", "json", **options)
    assert result.returncode == 0, result.stderr
    return [(d["architecture"], d["memory_bytes"] >> 20, d["shared_bytes_per_block"] >> 10)
            for d in json.loads(result.stdout)["devices"]]


def test_are_those_of_the_project_with_the_limits_of_the_real_parts(gpuemu):
    (gpuemu.project / "gpuemu.toml").write_text(
        '[runtime]\nbackend = "emulator"\nemulated_devices = ["sm_75:2048", "sm_80:16384", "sm_90:4096"]\n')
    assert devices(gpuemu) == [("sm_75", 2048, 64), ("sm_80", 16384, 163), ("sm_90", 4096, 227)]
    result = gpuemu.run("test", "builtin", "relu", "--cases", "2", "--seed", "1")
    assert result.returncode == 0, result.stdout + result.stderr


def test_a_change_of_them_restarts_the_daemon(gpuemu):
    file = gpuemu.project / "gpuemu.toml"
    file.write_text('[runtime]\nbackend = "emulator"\n')
    assert [d[0] for d in devices(gpuemu)] == ["sm_80"]
    file.write_text('[runtime]\nbackend = "emulator"\nemulated_devices = ["sm_90", "sm_90"]\n')
    assert [d[0] for d in devices(gpuemu)] == ["sm_90", "sm_90"]


def test_what_cannot_be_emulated_is_named_with_its_place(gpuemu):
    (gpuemu.project / "gpuemu.toml").write_text('[runtime]\nemulated_devices = ["sm_75", "sm_60"]\n')
    result = gpuemu.run("config", "check")
    assert result.returncode == 2
    assert "gpuemu.toml:2:30: runtime.emulated_devices[1]: no architecture 'sm_60' to emulate" in result.stdout + result.stderr
