"""Generates the exact inputs of a stored failure again, in Python.

    python3 -m gpuemu.reproduce SEED [--op OP] [--config FILE] [--save FOLDER]

gets the case from `gpuemu reproduce SEED`, computes its inputs here from the base seed, compares them byte for byte with the
inputs that the daemon gave to the kernel, and prints one line per input. Exit code 0: the bytes are equal; 1: they differ; 2: no
such failure, or no gpuemu command.

From a program: `gpuemu.reproduce.inputs(seed)` returns {"x": array}; bfloat16 arrays hold the bits as uint16.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
from typing import Any

import numpy as np

from gpuemu import installed, tensors
from gpuemu.generate import values
from gpuemu.tensors import Array

Settings = dict[str, str]
STORED = "stored"  # The value strategy of cases that store their inputs.


class ReproduceError(Exception):
    """The failure cannot be reproduced; the message says why and what to do."""


def program() -> str:
    """Returns the path of the gpuemu command: $GPUEMU_CLI, else the one in PATH."""
    found = installed.find_program()
    if not found:
        raise ReproduceError("no gpuemu in PATH; set GPUEMU_CLI to the command")
    return found


def _ask(arguments: list[str], config: str | None) -> str:
    env = {**installed.environment(), **({"GPUEMU_CONFIG": os.path.abspath(config)} if config else {})}
    done = subprocess.run([program(), *arguments], env=env, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ReproduceError((done.stderr or done.stdout).strip())
    return done.stdout


def answer_of(seed: int, op: str | None = None, config: str | None = None) -> dict[str, Any]:
    """Returns the output of `gpuemu reproduce SEED --format json`."""
    arguments = ["reproduce", str(seed), "--format", "json", *(["--op", op] if op else [])]
    answer: dict[str, Any] = json.loads(_ask(arguments, config))
    return answer


def settings_of(config: str | None = None) -> Settings:
    """Returns every setting of gpuemu.toml by its key, as `gpuemu config show` prints it."""
    lines = _ask(["config", "show"], config).splitlines()
    return dict(line.split(" = ", 1) for line in lines if " = " in line)


def _sections(settings: Settings, op: str) -> list[str]:
    """Returns the tables that may declare an op's tensors: the op itself, then its kernels. The first that has outputs counts."""
    named = {key: value.strip('"') for key, value in settings.items()}
    own = [key[: -len(".name")] for key, name in named.items()
           if re.fullmatch(r"ops\[\d+\]\.name", key) and name == op]
    kernels = {name for key, name in named.items()
               if own and re.fullmatch(re.escape(own[0]) + r"\.kernel(\[\d+\])?", key)} or {op}
    return own + [key[: -len(".name")] for key, name in named.items()
                  if re.fullmatch(r"kernels\[\d+\]\.name", key) and name in kernels]


def ranges_of(settings: Settings, op: str) -> dict[str, tuple[float, float]]:
    """Returns the declared range of each tensor of an op that has one."""
    ranges: dict[str, tuple[float, float]] = {}
    for section in _sections(settings, op):
        if not any(key.startswith(section + ".outputs[") for key in settings):
            continue
        for tensors in ("outputs", "inputs"):  # The range of an input overrides that of its inout output.
            i = 0
            while (name := settings.get(f"{section}.{tensors}[{i}].name")) is not None:
                low = settings.get(f"{section}.{tensors}[{i}].range[0]")
                if low is not None:
                    high = settings[f"{section}.{tensors}[{i}].range[1]"]
                    ranges[name.strip('"')] = (float(low), float(high))
                i += 1
        break
    return ranges


def rules_of(settings: Settings, op: str) -> dict[str, dict[str, bool]]:
    """Returns `distinct` and `sorted` for each input of an op."""
    rules: dict[str, dict[str, bool]] = {}
    for section in _sections(settings, op):
        i = 0
        while (name := settings.get(f"{section}.inputs[{i}].name")) is not None:
            found = {key: settings.get(f"{section}.inputs[{i}].{key}") == "true" for key in ("distinct", "sorted")}
            rules.setdefault(name.strip('"'), found)
            i += 1
    return rules


def case_of(answer: dict[str, Any], settings: Settings) -> dict[str, Any]:
    """Returns the arguments that gpuemu.values.fill_input needs for the inputs of the case."""
    result = answer["result"]
    info = result.get("repro_info") or {}
    if info.get("base_seed") is None:
        raise ReproduceError(
            f"the failure {result['seed']} of '{result['op_name']}' was submitted by a client, not "
            "generated from a seed; its inputs are those that `gpuemu reproduce` prints"
        )
    ranges, rules = ranges_of(settings, result["op_name"]), rules_of(settings, result["op_name"])
    scale = info.get("value_scale")
    strides = info.get("input_strides") or {}
    return {
        "base_seed": info["base_seed"],
        "iteration": info["iteration"],
        "value_strategy": info["value_strategy"],
        "value_scale": 1.0 if scale is None else scale,
        "value_parameters": info.get("value_parameters") or [],
        "inputs": [
            {"name": name, "dtype": tensor["dtype"], "shape": tensor["shape"], "range": ranges.get(name),
             "strides": strides.get(name), **rules.get(name, {})}
            for name, tensor in answer["inputs"].items()
        ],
    }


def case_inputs(answer: dict[str, Any], settings: Settings) -> dict[str, Array]:
    """Computes the inputs from the seed alone: the tensors in `answer` only give names and shapes. A case whose single elements
    were simplified cannot be generated from a seed; its stored inputs are returned."""
    case = case_of(answer, settings)
    if case["value_strategy"] == STORED:
        return {name: tensors.decode(one) for name, one in answer["inputs"].items()}
    return {each["name"]: values.fill_input(case, each["name"]) for each in case["inputs"]}


def inputs(seed: int, op: str | None = None, config: str | None = None) -> dict[str, Array]:
    """Returns the inputs of the stored failure with this seed."""
    return case_inputs(answer_of(seed, op, config), settings_of(config))


def _report(answer: dict[str, Any], made: dict[str, Array]) -> bool:
    """Prints a line per input. Returns True if all have the daemon's bytes."""
    same = True
    for name, array in made.items():
        fed = answer["inputs"][name]
        ours = array.tobytes()
        equal = ours == base64.b64decode(fed["data"])
        same = same and equal
        digest = hashlib.blake2b(ours, digest_size=16).hexdigest()
        verdict = "the daemon's bytes" if equal else "NOT the daemon's bytes"
        print(f"input {name} {fed['dtype']} {list(array.shape)} blake2b {digest}: {verdict}")
    return same


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python3 -m gpuemu.reproduce", description=__doc__.splitlines()[0])
    parser.add_argument("seed", type=int, help="seed of the failure, as `gpuemu failures` lists it")
    parser.add_argument("--op", help="its op, when several have this seed")
    parser.add_argument("--config", help="the gpuemu.toml, when it is not in this folder or above")
    parser.add_argument("--save", metavar="FOLDER", help="write each input as FOLDER/NAME.npy")
    options = parser.parse_args(arguments)
    try:
        answer = answer_of(options.seed, options.op, options.config)
        made = case_inputs(answer, settings_of(options.config))
    except ReproduceError as failure:
        print(f"gpuemu.reproduce: {failure}", file=sys.stderr)
        return 2
    if options.save:
        folder = pathlib.Path(options.save)
        folder.mkdir(parents=True, exist_ok=True)
        for name, array in made.items():
            np.save(folder / f"{name}.npy", array)
    return 0 if _report(answer, made) else 1


if __name__ == "__main__":
    sys.exit(main())
