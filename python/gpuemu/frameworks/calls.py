"""Code shared by the validate_* context managers: intercepts every call of an op and has the daemon judge it."""

from __future__ import annotations

import contextlib
import importlib
import inspect
from collections.abc import Callable, Generator, Mapping
from typing import Any

from gpuemu.check.judge import compare
from gpuemu.check.tolerances import ToleranceConfig
from gpuemu.client import calls
from gpuemu.client.client import Client, judge_case
from gpuemu.client.records import ValidationResult
from gpuemu.errors import ValidationError, told


class Context(dict[str, Any]):
    """The object that such a block yields: set ["output"], or let calls be intercepted. ["results"]: the verdicts so far.
    tolerance: a wider one than that of gpuemu.toml, with which the daemon judges outputs that fail the op's own."""

    def __init__(self, client: Client, op_name: str, kwargs: Mapping[str, Any], tolerance: ToleranceConfig | None = None) -> None:
        super().__init__(output=None, results=[], grad_inputs=None)
        self.client, self.op_name, self.kwargs, self.tolerance = client, op_name, dict(kwargs), tolerance

    def judge(self, inputs: Mapping[str, Any], output: Any, **kwargs: Any) -> ValidationResult:
        verdict = self.verdict(self.op_name, inputs, output, {**self.kwargs, **kwargs})
        self["results"].append(verdict)
        return verdict

    def verdict(self, op_name: str, inputs: Mapping[str, Any], output: Any, kwargs: Mapping[str, Any]) -> ValidationResult:
        """Returns the daemon's verdict; an output within `tolerance` passes, too."""
        call = calls.validate(op_name, inputs, output, kwargs, tolerance=self.tolerance)
        return call.result(self.client.connection.ask(call.request))

    def judge_call(self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any], output: Any) -> None:
        """Judges one call. Arrays are inputs under the names of their parameters; all other arguments go to the reference
        unchanged."""
        arrays, rest = named_arguments(fn, args, kwargs)
        self.judge(arrays, output, **rest)

    def finish(self, inputs: Mapping[str, Any] | None) -> None:
        if self["output"] is not None:
            self.judge(inputs or {}, self["output"])
        elif not self["results"]:
            raise ValueError(f"Output not set in context and no call of '{self.op_name}' seen: set [\"output\"] inside the with block, or name "
                             "the function with op=")  # fmt: skip
        for verdict in self["results"]:
            self.insist(verdict)

    def insist(self, verdict: ValidationResult) -> None:
        if not verdict.passed:
            raise ValidationError(verdict)


def tolerance_of(atol: float | None, rtol: float | None) -> ToleranceConfig | None:
    return None if atol is None and rtol is None else ToleranceConfig(atol or 0.0, rtol or 0.0)


def named_arguments(fn: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    bound = inspect.signature(fn).bind(*args, **kwargs)
    arrays = {key: one for key, one in bound.arguments.items() if hasattr(one, "shape") and hasattr(one, "dtype")}
    return arrays, {key: one for key, one in bound.arguments.items() if key not in arrays}


@contextlib.contextmanager
def replaced(path: str, around: Callable[[Callable[..., Any]], Callable[..., Any]]) -> Generator[None, None, None]:
    """Wraps the function at "package.module.name" for the duration of the block."""
    module, _, name = path.rpartition(".")
    if not module:
        raise ValueError(f"'{path}' is no path of a function; expected package.module.name")
    holder: Any
    try:
        holder = importlib.import_module(module)
    except ImportError:
        outer, _, inner = module.rpartition(".")
        holder = getattr(importlib.import_module(outer), inner)
    original = getattr(holder, name)
    setattr(holder, name, around(original))
    try:
        yield
    finally:
        setattr(holder, name, original)


def fuzz(client: Client, op_name: str, run: Callable[[dict[str, Any]], Any], extra: Callable[[dict[str, Any]], list[str]],
         options: Mapping[str, Any]) -> dict[str, Any]:  # fmt: skip
    """fuzz_op_client_side with further checks of each case; `extra` returns the faults of a case. A case fails by its output or
    by the result of `extra`; in `backward_failures`, "case" is the number of the case, from 0."""
    failures: list[ValidationResult] = []
    said: list[dict[str, Any]] = []
    total = failed = 0
    seed = calls.fresh_seed() if options["seed"] is None else options["seed"]
    for number, case in enumerate(client.get_test_batch(op_name, calls.cases_wanted(options["iterations"]), seed)):
        verdict = judge_case(client, op_name, run, case, options["tolerance"])
        wrong = not verdict.passed
        wrongs = [] if _raised(verdict) else _told(extra, case["inputs"])
        failures += [verdict] if wrong else []
        said += [{"case": number, "message": one} for one in wrongs]
        total += 1
        failed += wrong or bool(wrongs)
        if failed and options["fail_fast"]:
            break
    return {"total": total, "passed": total - failed, "failed": failed, "forward_failures": failures, "backward_failures": said}


def _raised(verdict: ValidationResult) -> bool:
    return any(one.kind == "ExecutionError" for one in verdict.failures)


def _told(extra: Callable[[dict[str, Any]], list[str]], inputs: dict[str, Any]) -> list[str]:
    try:
        return extra(inputs)
    except Exception as problem:  # Anything that the user's gradient raises is a failure of the gradient.
        return [told(problem)]


__all__ = ["Context", "compare", "fuzz", "named_arguments", "replaced", "tolerance_of"]
