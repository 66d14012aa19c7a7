#!/usr/bin/env python3
"""How often a run of 24 cases misses what random draws seldom show.

    tests/quality/miss_rates.py [--seeds N] [--first-seed N] [--jobs N] [CLASSES...]

Runs the kernels of each class of values and sizes below with each of N base seeds (100) and prints how many runs
missed them. Exit code 1 when one is missed by more than one run in 100. GPUEMU_BIN says where the programs are,
else build/release/bin.
"""
import argparse
import concurrent.futures
import sys

sys.dont_write_bytecode = True
import suite

FAULTY, UNDECLARED = suite.HERE / "faulty", suite.HERE / "undeclared"
# Class -> kernels by the project that they are in.
CLASSES = {
    "tile_maxima": ("the largest element of a row in a later tile; exp overflows between two of a row",
                    {FAULTY: ["first_tile_max", "online_not_scaled", "softmax_no_max", "softmax_first_max", "online_rescale"]}),
    "ties": ("exactly between two results of a quantiser", {FAULTY: ["quantize_half_up", "quantize_half_away"]}),
    "specials": ("NaN and infinity in each half of a pair and behind masks",
                 {FAULTY: ["upper_loses_nan", "max_loses_nan", "causal_by_product", "masked_by_product"]}),
    "eps": ("rows whose norm is about eps", {FAULTY: ["eps_too_small", "eps_behind_root", "eps_outside"]}),
    "negative": ("rows of negative numbers with padded columns", {FAULTY: ["padded_max", "row_max_fill"]}),
    "one_size": ("a path of one size alone", {FAULTY: ["path_of_one_size", "path_of_two_sizes"]}),
    "numbers": ("numbers of the kernel and their neighbours",
                {FAULTY: ["shrink_at_half", "counted_from_1000", "weight_from_500"], UNDECLARED: ["bad_bins_with_upper_end"]}),
    "fence": ("no fence before a counter that another block reads", {FAULTY: ["last_block_sums", "no_fence", "no_release"]}),
    "blocks": ("an index of blocks that overflows at 2^16", {FAULTY: ["rows_in_16_bits"]}),
    "offset": ("rows far from 0 and close together", {UNDECLARED: ["bad_layernorm_backward_one_pass", "bad_variance_one_pass"]}),
    "half_sums": ("long sums in half", {UNDECLARED: ["bad_attention_half_sums", "bad_gemm_half_sums"]}),
}
SHARE_MAX = 0.01


def is_found(installation, name, kinds, seed):
    """By one run. What comes after the first failing case matters only where that one has other kinds."""
    for flags in (["--fail-fast"], []):
        outcomes = installation.test([name], suite.CASES, seed, flags)[0]
        if any(one.first_of(kinds) for one in outcomes):
            return True
        if not any(one.failures for one in outcomes):
            return False
    return False


def missed_by(folder, names, seeds):
    """Seed -> the kernels that it missed. One daemon runs them all: it compiles them once."""
    wanted = {fault.name: set(fault.kinds) for fault in suite.read_faults(folder)} if folder == FAULTY else {}
    with suite.Installation(folder, "emulator") as installation:
        return {seed: [name for name in names if not is_found(installation, name, wanted.get(name, ()), seed)] for seed in seeds}


def measure(pool, projects, seeds, jobs):
    """Kernel -> the seeds that missed it."""
    parts = [part for part in (seeds[first::jobs] for first in range(jobs)) if part]
    runs = [(kernels, pool.submit(missed_by, folder, kernels, part)) for folder, kernels in projects.items() for part in parts]
    missed = {kernel: [] for kernels, _ in runs for kernel in kernels}
    for _, run in runs:
        for seed, kernels in run.result().items():
            for kernel in kernels:
                missed[kernel].append(seed)
    return {kernel: sorted(found) for kernel, found in missed.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=100, help="how many base seeds (100)")
    parser.add_argument("--first-seed", type=int, default=1, help="the first of them (1)")
    parser.add_argument("--jobs", type=int, default=1, help="daemons at a time (1)")
    parser.add_argument("classes", nargs="*", help=f"of {', '.join(CLASSES)}; all when left out")
    options = parser.parse_args()
    unknown = set(options.classes) - set(CLASSES)
    if unknown or options.seeds < 1 or options.jobs < 1:
        parser.error(f"no class {', '.join(sorted(unknown))}" if unknown else "--seeds and --jobs are at least 1")
    seeds, too_often = range(options.first_seed, options.first_seed + options.seeds), False
    print(f"{options.seeds} runs of {suite.CASES} cases, base seeds from {options.first_seed}\n")
    print("| class | kernel | missed by | seeds |\n| --- | --- | --- | --- |", flush=True)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for name in options.classes or CLASSES:
            text, projects = CLASSES[name]
            for kernel, missed in measure(pool, projects, seeds, options.jobs).items():
                print(f"| {text} | `{kernel}` | {len(missed)} of {options.seeds} | {', '.join(map(str, missed))} |", flush=True)
                too_often = too_often or len(missed) > SHARE_MAX * options.seeds
    return 1 if too_often else 0


if __name__ == "__main__":
    sys.exit(main())
