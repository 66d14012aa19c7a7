#!/usr/bin/env python3
"""Ops of a tape per second on two emulated devices, compared with one: tape_devices.py --bin FOLDER
[--ops N] [--size N] [--rounds N]

The ops are products of square matrices that do not depend on each other. Each device is a worker with
one thread, so two of them need two idle processors. Both run alternately, each in its own daemon;
medians. Everything runs in a private folder that is removed at the end.
"""
import argparse
import pathlib
import statistics
import sys
import tempfile
import time

from tool import ROOT, Gpuemu, correct_examples

sys.path.insert(0, str(ROOT / "tests" / "e2e"))
from wire_client import WireClient  # noqa: E402


class Tapes:
    """A daemon with this many workers, and a session in it."""

    def __init__(self, programs, home, devices):
        home.mkdir()
        self.tool = Gpuemu(programs, home)
        correct_examples(self.tool.folder, {"vector_add": {"n": (1, 64)}})
        config = self.tool.folder / "gpuemu.toml"
        wanted = f'[runtime]\nbackend = "emulator"\nworkers = {devices}\n'
        config.write_text(config.read_text().replace("[runtime]\n", wanted))
        started = self.tool.run("daemon", "start", "--background")
        if started.returncode != 0:
            sys.exit(f"tape_devices: {started.stderr}")
        self.client = WireClient(self.tool.environment["GPUEMU_SOCKET"], 300)
        self.session = self.ask("OpenSession", name="bench")["session"]
        self.runs = 0

    def ask(self, request, **members):
        reply = self.client.ask(request, **members)
        if reply["type"] == "Error":
            sys.exit(f"tape_devices: {reply['message']}")
        return reply

    def rate(self, ops, size):
        """Each op has its own inputs, so that no device waits for another's tensor."""
        self.runs += 1
        entries = []
        for op in range(ops):
            id = f"{self.runs}.{op}"
            made = {"shape": [size, size], "dtype": "float32"}
            entries.append({"id": f"x{id}", "op": "ones", "inputs": [], **made})
            entries.append({"id": f"y{id}", "op": "matmul", "inputs": [f"x{id}"] * 2, **made})
            entries += [{"op": "drop", "inputs": [f"{letter}{id}"]} for letter in "xy"]
        start = time.perf_counter()
        total = self.ask("SubmitTape", session=self.session, entries=entries)["last_seq"] + 1
        while True:
            status = self.ask("TapeStatus", session=self.session, wait_ms=10_000)
            if status["failed"]:
                sys.exit(f"tape_devices: {status}")
            if status["done"] == total == status["total"]:
                return ops / (time.perf_counter() - start)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, help="the folder of gpuemu and gpuemu-daemon")
    parser.add_argument("--ops", type=int, default=40, help="of each run")
    parser.add_argument("--size", type=int, default=256, help="rows and columns of a matrix")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="gpuemu-bench-") as home:
        both = {devices: Tapes(options.bin, pathlib.Path(home) / str(devices), devices) for devices in (1, 2)}
        rates = {devices: [] for devices in both}
        try:
            for tapes in both.values():
                tapes.rate(4, options.size)  # Starts the workers and compiles.
            for _ in range(options.rounds):
                for devices, tapes in both.items():
                    rates[devices].append(tapes.rate(options.ops, options.size))
        finally:
            for tapes in both.values():
                tapes.client.close()
                tapes.tool.stop()
    one, two = (statistics.median(rates[devices]) for devices in (1, 2))
    print(f"matmul {options.size} x {options.size}: one device {one:.1f} ops/s, two {two:.1f} ops/s, {two / one:.2f} times")


main()
