"""Notes about what a run does not check, each printed once in a process when it first matters."""

from __future__ import annotations

import sys

OPERATORS = "operators of PyTorch run on the CPU, in its arithmetic, and are not checked; kernels that the program launches are"
AUTOTUNER = "the autotuner runs the first configuration that fits and no other; --autotune all runs and checks each"

said: list[str] = []


def say(text: str) -> None:
    if text not in said:
        said.append(text)
        print(f"gpuemu: {text}", file=sys.stderr)
