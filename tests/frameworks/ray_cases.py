"""What test_ray.py looks at, in a process of its own: Ray starts others with fork, which JAX beside it does not bear."""
import json

import numpy as np
import ray

import gpuemu


def loses_a_tail(x: gpuemu.Tensor["cols"]):
    y = 2 * x
    y[(len(x) // 8) * 8 :] = 0
    return y


def double(x: gpuemu.Tensor["cols"]):
    return x * np.float32(2)


def twice(x):
    return 2 * x


OPTIONS = {"seed": 4, "dims": {"cols": (1, 40)}, "strategies": ["normal"]}


def told(found):
    return [found.cases, found.passed, found.seed, [one.seed for one in found.failures], found.smallest and found.smallest.dims, found.replay]


def error_of(call):
    try:
        call()
    except Exception as problem:
        return [type(problem).__name__, str(problem)]


def main():
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    every = {"cases": 60, "fail_fast": False, "raise_on_failure": False, **OPTIONS}
    seen = {"alone": told(gpuemu.check(loses_a_tail, twice, **every)), "spread": told(gpuemu.on_ray.check(loses_a_tail, twice, tasks=7, **every))}
    try:
        gpuemu.on_ray.check(loses_a_tail, twice, cases=60, tasks=3, **OPTIONS)
    except gpuemu.CheckError as error:
        number = error.check.failures[0].repro_info.iteration
        again = gpuemu.check(loses_a_tail, twice, only=number, raise_on_failure=False, **OPTIONS)
        seen["raised"] = [error.check.failed, str(error), error.check.failures[0].seed, again.failures[0].seed]
    seen["right"] = gpuemu.on_ray.check(double, twice, cases=20, **OPTIONS).passed
    seen["wrong layouts"] = error_of(lambda: gpuemu.on_ray.check(double, twice, layouts=["diagonal"]))
    seen["no function"] = error_of(lambda: gpuemu.on_ray.check(double, None))
    seen["no cases"] = error_of(lambda: gpuemu.on_ray.check(double, twice, cases=0))
    ray.shutdown()
    print(json.dumps(seen))


if __name__ == "__main__":
    main()
