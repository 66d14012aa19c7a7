"""The devices that the emulator presents: from the project, from the environment."""
import json
import threading

import pytest

from conftest import BIN


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


def test_two_architectures_are_open_at_once_in_python(monkeypatch):
    module = pytest.importorskip("gpuemu")
    monkeypatch.setenv("GPUEMU_DEVICE", str(BIN / "gpuemu-device"))
    monkeypatch.setenv("GPUEMU_EMULATED_DEVICES", "sm_75:64, sm_90:128")
    with module.Device() as first, module.Device(index=1) as second, module.Device(index=1, arch="sm_80") as told:
        assert [one.properties["sm"] for one in (first, second, told)] == [75, 90, 80]
        assert [one.properties["memory_bytes"] >> 20 for one in (first, second)] == [64, 128]
        assert [one.properties["shared_bytes_per_block_max"] >> 10 for one in (first, second)] == [64, 227]
        with pytest.raises(module.DeviceError, match=r"emulated device 0 \(sm_75\): out of memory: 'big' of 67108865 bytes exceeds"):
            first.allocate((64 << 20) + 1, "big")
        second.allocate((64 << 20) + 1, "big")
        failures = []

        def use(device, value):
            try:
                for _ in range(20):
                    address = device.allocate(4096)
                    device.upload(address, bytes([value]) * 4096)
                    assert device.download(address, 4096) == bytes([value]) * 4096
                    device.free(address)
            except Exception as failure:  # noqa: BLE001: of a thread
                failures.append(failure)

        threads = [threading.Thread(target=use, args=pair) for pair in ((first, 1), (second, 2), (first, 3), (second, 4))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []


def test_a_kernel_that_needs_the_newer_architecture_is_refused_by_the_older(monkeypatch):
    module = pytest.importorskip("gpuemu")
    monkeypatch.setenv("GPUEMU_DEVICE", str(BIN / "gpuemu-device"))
    monkeypatch.setenv("GPUEMU_EMULATED_DEVICES", "sm_75, sm_90")
    ptx = ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 p) { .reg .b64 %r<2>; ld.param.u64 %r1, [p]; ret; }\n"
    with module.Device() as first, module.Device(index=1) as second:
        for device, fits in ((first, False), (second, True)):
            loaded = device.load(ptx)
            if fits:
                device.launch(loaded, "k", (1,), (32,), [bytes(8)], shared_bytes=200 << 10)
            else:
                with pytest.raises(module.DeviceError, match="shared"):
                    device.launch(loaded, "k", (1,), (32,), [bytes(8)], shared_bytes=200 << 10)


def test_the_daemon_uses_the_first_of_two_and_the_architecture_that_is_asked_for(gpuemu):
    file = gpuemu.project / "gpuemu.toml"
    runtime = '[runtime]\nbackend = "emulator"\nemulated_devices = ["sm_75", "sm_90"]\n'
    file.write_text(runtime)
    assert [d[0] for d in devices(gpuemu)] == ["sm_75", "sm_90"]
    result = gpuemu.run("test", "builtin", "softmax", "--cases", "2", "--seed", "1")
    assert result.returncode == 0, result.stdout + result.stderr
    file.write_text(runtime + 'arch = "sm_90"\n')
    result = gpuemu.run("test", "builtin", "softmax", "--cases", "2", "--seed", "1")
    assert result.returncode == 0, result.stdout + result.stderr
