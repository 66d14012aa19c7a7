"""gpuemu.check on the workers of a Ray cluster (extra `[ray]`): the same cases, many at a time.

    ray.init(address="auto")                       # or nothing: Ray starts on this machine
    gpuemu.on_ray.check(softmax, reference, cases=100_000, seed=1)
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from gpuemu import arguments
from gpuemu.check import checking
from gpuemu.check.checking import CheckResult
from gpuemu.generate import rng

TASKS_PER_WORKER = 4  # Cases take unequal time: a worker that finishes early takes another part.


def _ray() -> Any:
    try:
        import ray
    except ImportError as problem:
        raise ImportError("gpuemu.on_ray needs the package ray: pip install gpuemu[ray]") from problem
    if not ray.is_initialized():
        ray.init(log_to_driver=False)
    return ray


def _part(fn: Callable[..., Any], reference: Callable[..., Any], options: dict[str, Any], numbers: range, fail_fast: bool) -> CheckResult:
    return checking.checker_of(fn, reference, **options).run(numbers, fail_fast)


def check(fn: Callable[..., Any], reference: Callable[..., Any], *, cases: int = 100, seed: int | None = None, tasks: int | None = None,
          fail_fast: bool = True, raise_on_failure: bool = True, **options: Any) -> CheckResult:  # fmt: skip
    """gpuemu.check with its cases divided into `tasks` (by default four for each processor of the cluster). Each case depends
    only on seed and number, so gpuemu.check alone can replay a failure. fail_fast: no part continues after its first failure, and
    parts that have not begun are left out; the reported failure is the one with the lowest number among the cases that ran.
    Raises the exceptions of gpuemu.check, and ImportError without the package ray."""
    count = arguments.whole(cases, "cases", 1)
    options["seed"] = rng.generate_seed() if seed is None else arguments.bits64(seed)
    checking.checker_of(fn, reference, **options)  # Wrong arguments are reported here and not by a worker.
    ray, start = _ray(), time.perf_counter()
    wanted = int(ray.cluster_resources().get("CPU", 1)) * TASKS_PER_WORKER if tasks is None else arguments.whole(tasks, "tasks", 1)
    parts = [range(at, min(at + -(-count // wanted), count)) for at in range(0, count, -(-count // wanted))]
    run = ray.remote(max_retries=1)(_part)
    waiting = [run.remote(fn, reference, options, numbers, fail_fast) for numbers in parts]
    done: list[CheckResult] = []
    while waiting:
        ready, waiting = ray.wait(waiting)
        done += ray.get(ready)
        if fail_fast and done[-1].failures:
            for one in waiting:
                ray.cancel(one)
            break
    return checking.settled(_merged(done, start), raise_on_failure)


def _number(part: CheckResult) -> int:
    info = part.failures[0].repro_info
    return info.iteration if info is not None and info.iteration is not None else 0


def _merged(parts: list[CheckResult], start: float) -> CheckResult:
    found = CheckResult(parts[0].op_name, parts[0].seed)
    for part in parts:
        found.cases += part.cases
        found.passed += part.passed
        found.compared += part.compared
    for part in sorted((one for one in parts if one.failures), key=_number):
        if not found.failures:  # The following fields are about the first failure.
            found.smallest, found.notes = part.smallest, part.notes
        found.failures += part.failures
    found.seconds = time.perf_counter() - start
    return found
