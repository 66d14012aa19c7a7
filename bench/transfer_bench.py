#!/usr/bin/env python3
"""Compares validate_op of tensors in shared memory with JSON and base64, alternately; and fuzzing in the
client with sequential calls of submit_output."""
import argparse
import os
import pathlib
import statistics
import sys
import tempfile
import time

import tool

sys.path.insert(0, str(tool.ROOT / "python"))
import numpy as np  # noqa: E402

PROJECT = {
    "gpuemu.toml": '[[ops]]\nname = "copy"\nreference = "copy.py"\ninput_names = ["x"]\n',
    "copy.py": "def reference(x):\n    return x\n",
}


def seconds(client, x):
    start = time.perf_counter()
    verdict = client.validate_op("copy", {"x": x}, x)
    spent = time.perf_counter() - start
    assert verdict.passed
    return spent


SMALL = {"name": "s", "dims": [{"name": "n", "candidates": [4, 8, 64]}], "inputs": [{"name": "x", "dims": ["n"]}]}


def fuzz(client, cases):
    """Returns cases per second of a trivial op, the best of several runs, and of the same cases one by
    one."""
    found = {"fuzzed": [], "one by one": []}
    for number in range(5):
        start = time.perf_counter()
        assert client.fuzz_op_client_side("copy", lambda inputs: inputs["x"], iterations=cases, seed=number, op_schema=SMALL).passed == cases
        found["fuzzed"].append(cases / (time.perf_counter() - start))
        start = time.perf_counter()
        for case in client.get_test_batch("copy", cases, number, op_schema=SMALL):
            assert client.submit_output("copy", case["inputs"], case["inputs"]["x"], case["seed"]).passed
        found["one by one"].append(cases / (time.perf_counter() - start))
    best = {name: max(rates) for name, rates in found.items()}
    print(f"cases per second of a trivial op in the client: fuzz_op_client_side {best['fuzzed']:.0f}, one by one {best['one by one']:.0f}: "
          f"{best['fuzzed'] / best['one by one']:.1f} times")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", required=True, type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=60)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="gpuemu-bench-") as folder:
        place = pathlib.Path(folder)
        for name, text in PROJECT.items():
            (place / name).write_text(text)
        os.environ.update(GPUEMU_CLI=str(arguments.bin / "gpuemu"), GPUEMU_DB=str(place / "db"), GPUEMU_SOCKET=str(place / "s"))
        os.chdir(place)
        import gpuemu

        with gpuemu.Client() as shared, gpuemu.Client(share=False) as text:
            try:
                for kib in (4, 64, 1024, 16384):
                    x = np.random.default_rng(1).standard_normal(kib * 256, np.float32)
                    rounds = max(5, min(arguments.rounds, arguments.rounds * 1024 // kib))
                    found = {"shared": [], "text": []}
                    for number in range(rounds + 3):
                        for name, client in (("shared", shared), ("text", text)):
                            spent = seconds(client, x)
                            if number >= 3:
                                found[name].append(spent)
                    middle = {name: statistics.median(times) for name, times in found.items()}
                    least = {name: min(times) for name, times in found.items()}
                    print(f"validate_op of {kib} KiB: shared {1000 * middle['shared']:.2f} ms, JSON and base64 {1000 * middle['text']:.2f} ms: "
                          f"{middle['text'] / middle['shared']:.1f} times as long (least times: {least['text'] / least['shared']:.1f})")
                fuzz(shared, 1000)
            finally:
                shared.shutdown()


if __name__ == "__main__":
    main()
