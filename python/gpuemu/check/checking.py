"""Property tests of Python functions in three lines: compares any op, kernel launcher or layer with a reference, in this process.

    def softmax(x: gpuemu.Tensor["rows", "cols"]): ...
    gpuemu.check(softmax, lambda x: np.exp(x) / np.exp(x).sum(-1, keepdims=True))

Cases are drawn and outputs judged as `gpuemu test` does it; the reference gets the inputs as float64. A failing case is made
smaller and reported with the numbers that reproduce it.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import inspect
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gpuemu import arguments, tensors
from gpuemu.check import judge
from gpuemu.check.declaration import Declaration, Judging
from gpuemu.check.judge import Judged
from gpuemu.check.schema import Scalar, Schema, Tensor, infer
from gpuemu.check.tolerances import ToleranceConfig
from gpuemu.client.records import Finding, ReproductionInfo, ValidationResult
from gpuemu.client.words import counted, some_fail
from gpuemu.errors import ValidationError, told
from gpuemu.generate import layouts, rng, values
from gpuemu.generate.layouts import KINDS
from gpuemu.generate.linear import MASK
from gpuemu.tensors import Array

SIMPLER = ("zeros", "small_int", "constant", "uniform10")  # Strategies tried for a smaller failing case, the simplest first.
ELEMENTS_MAX = 1 << 24
SHRINKS_MAX = 300
WARNINGS_MAX = 5  # Most warnings shown for passing cases; each text appears once.
FLUSHED = ("subnormal numbers are taken as zero, as TensorFlow, XLA and torch.set_flush_denormal do on a CPU; "
           "subnormal=\"keep\" makes that a failure")  # fmt: skip


@dataclass
class Case:
    """One drawn case. inputs: NumPy arrays by argument name; scalars are separate."""

    number: int
    dtype: str
    strategy: str
    dims: dict[str, int]
    inputs: dict[str, Array]
    scalars: dict[str, float]
    layout: str = "contiguous"
    parameters: list[float] = field(default_factory=list)  # Parameters of the strategy in addition to the seed.

    def describe(self) -> str:
        """Returns sizes, dtype, strategy and layout on one line."""
        said = [f"{name}={size}" for name, size in {**self.dims, **self.scalars}.items()]
        laid = [f"layout={self.layout}"] if self.layout != "contiguous" else []
        return ", ".join([*said, f"dtype={self.dtype}", f"values={self.strategy}", *laid])


@dataclass
class CheckResult:
    """The result of a check. `failures`: the failing cases; `smallest`: the smallest case for the first failure, None when that
    failure does not occur again. `compared`: the number of output elements compared; `notes`: other problems of the function."""

    op_name: str
    seed: int
    cases: int = 0
    passed: int = 0
    seconds: float = 0.0
    failures: list[ValidationResult] = field(default_factory=list)
    smallest: Case | None = None
    compared: int = 0
    notes: list[str] = field(default_factory=list)

    @property
    def failed(self) -> int:
        """Number of failing cases."""
        return len(self.failures)

    @property
    def replay(self) -> str:
        """The call that reproduces the first failure."""
        number = self.failures[0].repro_info.iteration if self.failures and self.failures[0].repro_info else 0
        return f"gpuemu.check(..., seed={self.seed}, only={number})"

    def _repr_html_(self) -> str:
        from gpuemu.client.display import check_html

        return check_html(self)

    def plot(self) -> Any:
        """Plots the errors of the first failure."""
        if not self.failures:
            raise ValueError(f"every case of '{self.op_name}' passed: there is no error to plot")
        return self.failures[0].plot()


class CheckError(ValidationError):
    """A checked function is wrong. `check` has all findings, `result` the first verdict."""

    def __init__(self, check: CheckResult) -> None:
        super().__init__(check.failures[0])
        small = [f"smallest case: {check.smallest.describe()}"] if check.smallest else []
        self.check = check
        lines = [self.args[0], some_fail(check.failed, check.cases), *small, *check.notes, f"replay: {check.replay}"]
        self.args = ("\n  ".join(lines),)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.check,), {"args": self.args}


@dataclass(frozen=True)
class Plan:
    """Options for drawing cases and judging outputs. strategies: empty for those of `gpuemu test`; scale: a function of the
    inputs that returns how large errors may be."""

    dtypes: Sequence[str]
    strategies: Sequence[str] = ()
    layouts: Sequence[str] = ("contiguous",)
    judging: Judging = field(default_factory=Judging)
    scale: Callable[..., Any] | None = None


class Checker:
    """Draws, runs and judges cases of one function."""

    def __init__(self, fn: Callable[..., Any], reference: Callable[..., Any], schema: Schema, seed: int, plan: Plan) -> None:
        self.fn, self.reference, self.schema, self.seed, self.plan = fn, reference, schema, int(seed) & MASK, plan
        self.op = Declaration(schema, plan.dtypes, plan.judging)
        self.output_dtype = ""  # Dtype of the function's output, known once the reference has shown that it is a float.
        self.compared = self.numbers = 0  # Elements of the last reference; how many of them are finite.
        self.changed: set[str] = set()  # Inputs that the function has modified.
        self.convert = _converter(schema.framework)
        _insist_on_sizes(schema)

    def draw(self, number: int) -> Case:
        """Returns case `number`. It depends only on the seed and the number."""
        laid = self.plan.layouts
        return self._ask(number, laid[rng.Stream(self.seed, number, "layout").below(len(laid)) if len(laid) > 1 else 0], {})

    def make(self, number: int, dtype: str, strategy: str, dims: dict[str, int], layout: str = "contiguous") -> Case:
        """Returns the case of that number, with these choices in place of drawn ones."""
        sizes = {self.op.dims[name]: size for name, size in dims.items()}
        return self._ask(number, layout, {"dtype": dtype, "values": strategy, "dims": sizes})

    def _ask(self, number: int, layout: str, chosen: dict[str, Any]) -> Case:
        told, data = judge.PROGRAM.ask({"request": "case", "op": self.op.text, "seed": self.seed, "case": number,
                                        "strategies": list(self.plan.strategies), "output_dtype": self.output_dtype, **chosen})  # fmt: skip
        made, at = {}, 0
        for name, tensor in zip(self.schema.tensors, told["inputs"]):
            kind = tensors.numpy_dtype(tensor["dtype"])
            size = int(np.prod(tensor["shape"], dtype=object)) * kind.itemsize
            array = np.frombuffer(data, np.uint8, size, at).view(kind).reshape(tensor["shape"]).copy()
            made[name], at = self._placed(array, number, name, layout), at + size
        dims = {name: told["dims"][legal] for name, legal in self.op.dims.items()}
        scalars = {name: self._scalar(number, name, spec) for name, spec in self.schema.scalars.items()}
        return Case(number, told["dtype"], told["values"], dims, made, scalars, layout, told["parameters"])

    def _placed(self, array: Array, number: int, name: str, layout: str) -> Array:
        return array if layout == "contiguous" else layouts.place(array, layouts.drawn(layout, array.shape, self.seed, number, name))

    def _scalar(self, number: int, name: str, spec: Scalar) -> float:
        stream = rng.Stream(self.seed, number, "attr/" + name)
        if isinstance(spec.low, int) and isinstance(spec.high, int):
            return stream.integer(spec.low, spec.high)
        return spec.low + stream.unit64() * (spec.high - spec.low)

    def judge(self, case: Case) -> ValidationResult:
        """Runs the function and the reference on copies of a case's inputs. The verdict has repro_info when the outputs differ.
        Raises TypeError when the reference returns no array or the function returns a coroutine."""
        expected = self._expected(case)
        self.compared = expected.size
        self.numbers = int(np.isfinite(expected).sum()) if judge.is_float(expected) else expected.size
        seed = rng.case_seed(self.seed, case.number, self.schema.name)
        given = {name: self._copy(one, case, name) for name, one in case.inputs.items()}
        output = got = result = None
        try:
            with np.errstate(all="ignore"):  # NaN and infinity are drawn on purpose.
                output = self.fn(**{name: self.convert(one) for name, one in given.items()}, **case.scalars)
            got = None if _is_unrun(output) else judge.comparable(judge.array_of(output, "output"), "output")
        except (Exception, SystemExit) as problem:  # Anything that the function raises is a failure of the function.
            said = Finding("ExecutionError", told(problem))
            result = ValidationResult(False, seed, self.schema.name, float("inf"), float("inf"), [said], int(time.time()))
        if result is None and got is None:
            raise TypeError(unrun(self.schema.name, output))
        if result is None:
            result = self.verdict(case, got, expected, again=self.reference)
        if not result.passed:
            self.changed.update(name for name, one in given.items() if not _same_bytes(one, case.inputs[name]))
            shape = list(next(iter(case.inputs.values())).shape)
            result.repro_info = ReproductionInfo(seed=seed, shape=shape, dtype=case.dtype, base_seed=self.seed, iteration=case.number,
                                                 dims=dict(case.dims), attrs=dict(case.scalars), value_strategy=case.strategy,
                                                 value_parameters=list(case.parameters))  # fmt: skip
        return result

    def verdict(self, case: Case, output: Any, expected: Any, tolerance: ToleranceConfig | None = None,
                again: Callable[..., Any] | None = None) -> ValidationResult:  # fmt: skip
        """Judges an output computed from the case. `tolerance` replaces the declared one; again: the reference."""
        got, want = judge.array_of(output, "output"), judge.array_of(expected, "reference")
        op = self.op if tolerance is None else Declaration(self.schema, self.plan.dtypes, dataclasses.replace(self.plan.judging, tolerance=tolerance))
        made = judge.verdict(op.text, self._judged(case), got, want, self._scale(case), again and functools.partial(self._of_changed, again, case))
        return judge.result_of(made, self.schema.name, rng.case_seed(self.seed, case.number, self.schema.name), got, want)

    def _of_changed(self, reference: Callable[..., Any], case: Case, inputs: dict[str, Array], wide: bool) -> Any:
        """Calls the reference for this case with other inputs, whose names are those of gpuemu.toml."""
        own = {name: inputs[legal] for name, legal in self.op.tensors.items()}
        return judge.float64_inputs(functools.partial(reference, **case.scalars), own, wide)

    def _judged(self, case: Case) -> Judged:
        return Judged(self.seed, case.number, case.dtype, {self.op.dims[name]: size for name, size in case.dims.items()},
                      case.scalars, {self.op.tensors[name]: one for name, one in case.inputs.items()})  # fmt: skip

    def _scale(self, case: Case) -> Array | None:
        """Returns how large errors may be if the caller passed a function for it, else None."""
        if self.plan.scale is None:
            return None
        made = judge.float64_inputs(functools.partial(self.plan.scale, **case.scalars), case.inputs)
        return judge.array_of(made, f"error_scale of '{self.schema.name}'").astype(np.float64)

    def probe(self, number: int) -> None:
        """Finds out if outputs are floats. If they are not, NaN is not drawn: the result of converting a NaN to an integer is
        undefined."""
        with contextlib.suppress(Exception):  # The case itself will report the problem.
            expected = self._expected(self.draw(number))
            self.output_dtype = "" if judge.is_float(expected) else "int64"

    def _expected(self, case: Case) -> Array:
        try:
            expected = judge.float64_inputs(functools.partial(self.reference, **case.scalars), case.inputs)
        except SystemExit as problem:  # Otherwise the program would exit, possibly with a status that means success.
            raise RuntimeError(f"the reference of '{self.schema.name}' ended with {told(problem)}") from None
        who = f"the reference of '{self.schema.name}'"
        if expected is None:
            raise TypeError(f"{who} gave None, expected an array")
        if _is_unrun(expected):
            raise TypeError(unrun(who, expected))
        return judge.array_of(expected, f"output of {who}")

    def _copy(self, array: Array, case: Case, name: str) -> Array:
        return array.copy() if case.layout == "contiguous" else self._placed(array, case.number, name, case.layout)

    def run(self, numbers: Iterable[int], fail_fast: bool) -> CheckResult:
        """Judges these cases and makes the first failure smaller."""
        found = CheckResult(self.schema.name, self.seed)
        start = time.perf_counter()
        finite = 0
        self.probe(0)
        for number in numbers:
            case = self.draw(number)
            result = self.judge(case)
            found.cases += 1
            found.compared += self.compared
            finite += self.numbers
            found.passed += result.passed
            if result.passed:
                said = [one.message for one in result.warnings] + ([FLUSHED] if result.flushed else [])
                found.notes += [one for one in said if one not in found.notes][: max(0, WARNINGS_MAX - len(found.notes))]
                continue
            found.failures.append(_kept(result))
            if len(found.failures) == 1:
                self._look_closer(found, case, result.failures[0].kind)
            if fail_fast:
                break
        if found.cases > 1 and found.compared and not finite:
            found.notes.append(f"nothing was compared with a number: the reference is NaN or infinite in every element of all {found.cases} cases")
        found.seconds = time.perf_counter() - start
        return found

    def _look_closer(self, found: CheckResult, case: Case, kind: str) -> None:
        """Examines the first failure: whether it occurs again, which inputs the function modifies, and what the smallest case
        is."""
        changed = sorted(self.changed)
        if not self.judge(case).passed:
            found.smallest = self.shrink(case, kind)
        else:
            found.notes.append(f"case {case.number} ({case.describe()}) does not fail again: '{self.schema.name}' is not deterministic")
        found.notes += [f"'{self.schema.name}' changes its input '{name}'" for name in changed]

    def shrink(self, case: Case, kind: str) -> Case:
        """Returns a smaller case that fails in the same way: first with fewer elements, then with simpler values, then with
        zeros."""
        budget = SHRINKS_MAX

        def fails(candidate: Case) -> bool:
            nonlocal budget
            budget -= 1
            try:
                return any(one.kind == kind for one in self.judge(candidate).failures)
            except Exception:  # The reference does not accept such a small case; the original failure counts.
                return False

        progress = True
        while progress and budget > 0:
            progress = False
            for candidate in self._smaller(case):
                if budget <= 0:
                    break
                if fails(candidate):
                    case, progress = candidate, True
                    break
        return self._sparser(case, fails)

    def _smaller(self, case: Case) -> list[Case]:
        found = []
        for name, size in case.dims.items():
            choices = self.schema.dims[name]
            ranged = len(choices) == 2 and choices[0] <= choices[1]
            sizes = sorted({choices[0], size // 2, size - 1} if ranged else set(choices))
            for smaller in (one for one in sizes if choices[0] <= one < size or (not ranged and one < size)):
                found.append(self.make(case.number, case.dtype, case.strategy, {**case.dims, name: smaller}, case.layout))
        rank = SIMPLER.index(case.strategy) if case.strategy in SIMPLER else len(SIMPLER)
        found += [self.make(case.number, case.dtype, one, case.dims, case.layout) for one in SIMPLER[:rank]]
        if case.layout != "contiguous":
            found.append(self.make(case.number, case.dtype, case.strategy, case.dims))
        return found

    def _sparser(self, case: Case, fails: Callable[[Case], bool]) -> Case:
        """Sets elements to zero as long as the case still fails: whole tensors, halves, quarters, eighths, and single elements of
        small tensors."""
        for name, whole in case.inputs.items():
            for parts in (1, 2, 4, 8, *([whole.size] if 8 < whole.size <= 64 else [])):
                edges = np.linspace(0, case.inputs[name].size, parts + 1).astype(int)
                for start, end in zip(edges, edges[1:]):
                    array = case.inputs[name].copy()
                    flat = array.reshape(-1)
                    if end <= start or not np.any(flat[start:end] != 0):
                        continue
                    flat[start:end] = 0
                    placed = self._placed(array, case.number, name, case.layout)
                    candidate = dataclasses.replace(case, inputs={**case.inputs, name: placed})
                    if fails(candidate):
                        case = candidate
        return case


def _is_unrun(output: Any) -> bool:
    """True for results of async def and generator functions: none of their code has run."""
    return not hasattr(output, "shape") and (inspect.isawaitable(output) or inspect.isgenerator(output) or inspect.isasyncgen(output))


def unrun(who: str, output: Any) -> str:
    """Returns the message about such a result, and closes a coroutine, because Python would warn about it otherwise."""
    if inspect.iscoroutine(output):
        output.close()
    name = "generator" if inspect.isgenerator(output) else type(output).__name__
    return f"{who} returned a {name}; call gpuemu.check with a plain function, which returns an array"


def _same_bytes(one: Array, other: Array) -> bool:
    return one.tobytes() == other.tobytes()


def _kept(result: ValidationResult) -> ValidationResult:
    """Copies the arrays of the result: the function may overwrite the array that it returned when it is called again."""
    if result.compared is not None:
        result.compared = (result.compared[0].copy(), result.compared[1].copy())
    return result


def _converter(framework: str) -> Callable[[Array], Any]:
    if framework == "numpy":
        return lambda array: array
    from gpuemu.frameworks import adapter

    return adapter(framework).from_numpy


def check(fn: Callable[..., Any], reference: Callable[..., Any], *, cases: int = 100, seed: int | None = None, only: int | None = None,
          dtypes: Sequence[str] = ("float32",), dims: Mapping[str, Any] | None = None, strategies: Sequence[str] | None = None,
          inputs: Mapping[str, Tensor | Scalar] | None = None, tolerance: ToleranceConfig | None = None, framework: str | None = None,
          fail_fast: bool = True, raise_on_failure: bool = True, name: str | None = None, layouts: Sequence[str] = ("contiguous",),
          accumulate: str | int | None = None, accumulate_dtype: str | None = None,
          error_scale: str | Callable[..., Any] | None = None, nan_policy: str | None = None, subnormal: str | None = None,
          strict: bool | None = None, exact: bool | None = None, invariants: Mapping[str, Any] | None = None) -> CheckResult:  # fmt: skip
    """Runs `fn` on the inputs that `gpuemu test` would draw, and judges its output like the daemon, against `reference`, which
    gets the same arguments in float64.

    dims: {"rows": (1, 64)} or {"rows": [1, 7, 64]}; strategies: those of docs/reference/strategies.md, by default those of
    `gpuemu test`, with NaN and infinity; seed: an integer of 64 bits, where a negative one is reported as the unsigned integer
    with the same bits; only: runs the single case of this number.
    layouts: memory layouts of the inputs: "contiguous", "strided", "transposed", "broadcast", "reversed"; one is drawn for each
    case.
    accumulate, accumulate_dtype, error_scale, nan_policy, subnormal, strict, exact, invariants: like the keys of an op in
    gpuemu.toml; error_scale may also be a function of the same arguments. strict: outputs that pass only a customary test fail.
    tolerance: fixed tolerances in place of the computed bound.
    framework: the arrays that `fn` takes ("torch", "jax", "tensorflow", "numpy"); by default that of its annotations.
    Raises CheckError with the first failure, made smaller, unless raise_on_failure is False. Raises ValueError when no case had
    an output element to compare.
    """
    checker = checker_of(fn, reference, seed=seed, dtypes=dtypes, dims=dims, strategies=strategies, inputs=inputs, tolerance=tolerance,
                         framework=framework, name=name, layouts=layouts, accumulate=accumulate, accumulate_dtype=accumulate_dtype,
                         error_scale=error_scale, nan_policy=nan_policy, subnormal=subnormal, strict=strict, exact=exact, invariants=invariants)  # fmt: skip
    numbers = range(arguments.whole(cases, "cases", 1)) if only is None else (arguments.whole(only, "only", 0),)
    return settled(checker.run(numbers, fail_fast), raise_on_failure, replayed=only is not None)


def settled(found: CheckResult, raise_on_failure: bool, *, replayed: bool = False) -> CheckResult:
    """Returns the result. Raises CheckError for a failure if raise_on_failure is set, and ValueError when nothing was compared; a
    single replayed case may have empty outputs."""
    if found.failures and raise_on_failure:
        raise CheckError(found)
    if not found.failures and not found.compared and not replayed:
        raise ValueError(f"no output element of '{found.op_name}' was compared in any of {counted(found.cases, 'case')}: the reference gives empty arrays; "
                         "give dims= sizes for which there are outputs")  # fmt: skip
    return found


def checker_of(fn: Callable[..., Any], reference: Callable[..., Any], *, seed: int | None = None, dtypes: Sequence[str] = ("float32",),
               dims: Mapping[str, Any] | None = None, strategies: Sequence[str] | None = None,
               inputs: Mapping[str, Tensor | Scalar] | None = None, tolerance: ToleranceConfig | None = None, framework: str | None = None,
               name: str | None = None, layouts: Sequence[str] = ("contiguous",), error_scale: str | Callable[..., Any] | None = None,
               invariants: Mapping[str, Any] | None = None, **judged: Any) -> Checker:  # fmt: skip
    """Creates the checker for the arguments of `check`. Raises TypeError and ValueError for wrong ones."""
    for what, given in (("fn", fn), ("reference", reference)):
        if not callable(given):
            raise TypeError(f"{what} is {given!r}, expected a function")
        if inspect.iscoroutinefunction(given) or inspect.isgeneratorfunction(given) or inspect.isasyncgenfunction(given):
            kind = "coroutine" if inspect.iscoroutinefunction(given) else "generator"
            raise TypeError(f"{what} '{given.__name__}' returns a {kind}; call gpuemu.check with a plain function, which returns an array")
    schema = infer(fn, name=name, dims=dims, inputs=inputs, framework=framework)
    wanted = arguments.names(dtypes, "dtypes", tensors.DTYPES)
    for dtype in wanted:
        tensors.numpy_dtype(dtype)
    chosen = () if strategies is None else arguments.names(strategies, "strategies", values.STRATEGIES)
    named = None if callable(error_scale) else error_scale
    judging = Judging(tolerance, error_scale=named, invariants=arguments.mapping(invariants or {}, "invariants"), **judged)
    plan = Plan(wanted, chosen, arguments.names(layouts, "layouts", KINDS), judging, error_scale if callable(error_scale) else None)
    made = Checker(fn, reference, schema, rng.generate_seed() if seed is None else arguments.bits64(seed), plan)
    made.draw(0)  # Reports wrong options now.
    return made


def _insist_on_sizes(schema: Schema) -> None:
    for name, spec in schema.tensors.items():
        shape = [max(schema.dims[one]) if isinstance(one, str) else one for one in spec.dims]
        if np.prod(shape, dtype=object) > ELEMENTS_MAX:
            raise ValueError(f"'{name}' may be {shape}: a checked tensor has at most {ELEMENTS_MAX} elements, give smaller dims=")


class Op:
    """A function with its reference. Calling it calls the function."""

    def __init__(self, fn: Callable[..., Any], reference: Callable[..., Any], options: dict[str, Any]) -> None:
        functools.update_wrapper(self, fn)
        self.fn, self.reference, self.options = fn, reference, options

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.fn(*args, **kwargs)

    def check(self, **options: Any) -> CheckResult:
        """Calls gpuemu.check with the options of the decorator; these options override them."""
        return check(self.fn, self.reference, **{**self.options, **options})


def op(reference: Callable[..., Any], **options: Any) -> Callable[[Callable[..., Any]], Op]:
    """Decorator that declares a function as an op with its reference. The options are those of gpuemu.check.

        @gpuemu.op(np_softmax, dims={"cols": (1, 100)})
        def softmax(x: gpuemu.Tensor["rows", "cols"]): ...
        softmax.check(cases=500)
    """
    return lambda fn: Op(fn, reference, options)
