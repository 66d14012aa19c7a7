"""The pytest plugin: runs the ops of gpuemu.toml as tests, and draws inputs for the user's own tests.

    @pytest.mark.gpuemu(x=gpuemu.Tensor["rows", "cols"], cases=20, dtypes=["float32", "float16"])
    def test_relu(gpuemu_case):
        gpuemu_case.check(relu(gpuemu_case.x), np.maximum(gpuemu_case.x, 0))

`cases` counts the cases of each dtype. Each case is a separate test: test_relu[float16-case3], which -k float16 selects.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import re
import shlex
import time
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from gpuemu.client.words import counted, some_fail
from gpuemu.drop_in import pytest_findings

if TYPE_CHECKING:
    from gpuemu.client.records import JobStatus, TestReport

CASES = 10  # Cases of a test that does not set a number.
PASTED_ELEMENTS = 64  # A failure report prints larger inputs as a comment, not as Python.
# Like the arguments of gpuemu.check.
JUDGED = {"accumulate", "accumulate_dtype", "error_scale", "nan_policy", "subnormal", "strict", "exact", "invariants"}
CONTROL = {"cases", "dtypes", "dims", "strategies", "layouts", *JUDGED}


class Budget:
    """The value of --gpuemu-budget: "50" cases, or "10s" for each test. Both are None without the option."""

    def __init__(self, text: str | None) -> None:
        self.cases: int | None = None
        self.seconds: float | None = None
        if text is None:
            return
        found = re.fullmatch(r"(\d+(?:\.\d+)?)(s?)", text)
        if not found or float(found[1]) <= 0 or (not found[2] and "." in found[1]):
            raise pytest.UsageError(f"--gpuemu-budget is '{text}', expected cases such as 50 or seconds such as 10s")
        if found[2]:
            self.seconds = float(found[1])
        else:
            self.cases = int(found[1])


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("gpuemu", "validation of GPU kernels")
    group.addoption("--gpuemu-seed", type=int, default=None, help="seed of all drawn inputs; by default a fresh one, which is printed")
    group.addoption("--gpuemu-budget", default=None, metavar="CASES|SECONDSs", help="how much each gpuemu test may draw: 50 (cases) or 10s")
    group.addoption("--gpuemu-no-ops", action="store_true", help="do not collect the ops of gpuemu.toml")
    pytest_findings.add_options(group)


@pytest.hookimpl(tryfirst=True)  # type: ignore[untyped-decorator,unused-ignore]
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    pytest_findings.start_again(early_config)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "gpuemu(name=gpuemu.Tensor[...], cases=10, dtypes=[...], dims={...}, strategies=[...], layouts=[...], accumulate=...): draws gpuemu_case"
    )
    pytest_findings.configure(config)
    given = config.getoption("--gpuemu-seed")
    inherited = getattr(config, "workerinput", {}).get("gpuemu_seed")
    seed = given if given is not None else inherited if inherited is not None else time.time_ns() & 0x7FFFFFFF
    config.stash[_SEED], config.stash[_BUDGET] = seed, Budget(config.getoption("--gpuemu-budget"))
    if config.pluginmanager.hasplugin("xdist"):
        config.pluginmanager.register(_Xdist(seed), "gpuemu-xdist")


_SEED: pytest.StashKey[int] = pytest.StashKey()
_BUDGET: pytest.StashKey[Budget] = pytest.StashKey()
_SPENT: pytest.StashKey[dict[str, float]] = pytest.StashKey()


class _Xdist:
    """Gives all workers of pytest-xdist the same seed."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    @pytest.hookimpl(optionalhook=True)  # type: ignore[untyped-decorator,unused-ignore]
    def pytest_configure_node(self, node: Any) -> None:
        node.workerinput["gpuemu_seed"] = self.seed


def pytest_report_header(config: pytest.Config) -> str:
    return f"gpuemu: --gpuemu-seed={config.stash[_SEED]}"


# --- tests that draw


class GpuemuCase:
    """One drawn case of a test. Each of `inputs` is also an attribute; the others are `dtype`, `dims`, `number`, `seed`."""

    def __init__(self, case: Any, checker: Any, seed: int) -> None:
        self._case, self._checker, self.seed = case, checker, seed
        self.inputs, self.dtype, self.dims, self.number = case.inputs, case.dtype, case.dims, case.number

    def __getattr__(self, name: str) -> Any:
        drawn = {**self.__dict__.get("inputs", {}), **(self.__dict__["_case"].scalars if "_case" in self.__dict__ else {})}
        if name in drawn:
            return drawn[name]
        raise AttributeError(f"the case has no input '{name}', it has {', '.join(drawn)}")

    def check(self, output: Any, expected: Any, tolerance: Any = None) -> None:
        """Raises ValidationError unless the daemon's judge accepts `output`; `tolerance` replaces the computed bound."""
        from gpuemu import errors

        __tracebackhide__ = True  # The traceback ends at the line of the test.
        result = self._checker.verdict(self._case, output, expected, tolerance)
        if not result.passed:
            raise errors.ValidationError(result)

    def describe(self) -> str:
        text: str = self._case.describe()
        return text

    def __repr__(self) -> str:
        return f"<case {self.number}: {self.describe()}>"

    def python(self) -> str:
        """Returns Python source that creates the inputs, for pasting into a debugging session. Large inputs appear only as
        comments."""
        values = {**self.inputs, **self._case.scalars}
        imports = ["import numpy as np"]
        if any(str(getattr(value, "dtype", "")) == "bfloat16" for value in values.values()):
            imports.append("import ml_dtypes  # Makes 'bfloat16' a dtype of NumPy.")
        return "\n".join([*imports, *(_python_line(name, value) for name, value in values.items())])


def _python_line(name: str, value: Any) -> str:
    if not hasattr(value, "dtype"):
        return f"{name} = {value!r}"
    if value.size > PASTED_ELEMENTS:
        return f"# {name}: {value.size} elements of {value.dtype}, gpuemu_case.{name} of the replay"
    if value.size == 0:
        return f"{name} = np.zeros({value.shape}, {str(value.dtype)!r})"
    text = re.sub(r"\b(nan|inf)\b", r"np.\1", repr(value.tolist()))
    return f"{name} = np.array({text}, {str(value.dtype)!r})"


_CASE: pytest.StashKey[GpuemuCase] = pytest.StashKey()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "gpuemu_case" not in metafunc.fixturenames:
        return
    marker = metafunc.definition.get_closest_marker("gpuemu")
    if marker is None:
        raise pytest.UsageError(f"{metafunc.definition.nodeid} uses gpuemu_case: mark it with @pytest.mark.gpuemu(x=gpuemu.Tensor[...])")
    asked = marker.kwargs.get("cases", CASES)
    if not isinstance(asked, int) or isinstance(asked, bool) or asked < 1:  # Without any case pytest would report a skipped test.
        raise pytest.UsageError(f"{metafunc.definition.nodeid}: cases is {asked!r}, expected an integer from 1")
    cases = range(metafunc.config.stash[_BUDGET].cases or asked)
    dtypes = marker.kwargs.get("dtypes")
    if isinstance(dtypes, (list, tuple)) and dtypes:
        drawn = [(dtype, number) for dtype in dict.fromkeys(dtypes) for number in cases]
        metafunc.parametrize("gpuemu_case", drawn, indirect=True, ids=[f"{dtype}-case{number}" for dtype, number in drawn])
    else:  # A value that is not a list is rejected, with the reason, when the case is drawn.
        metafunc.parametrize("gpuemu_case", [(None, number) for number in cases], indirect=True, ids=[f"case{number}" for number in cases])


@pytest.fixture
def gpuemu_case(request: pytest.FixtureRequest) -> Iterator[GpuemuCase]:
    """The inputs of one case. They depend only on --gpuemu-seed, the test's name, the dtype and the case's number."""
    from gpuemu.check import checking
    from gpuemu.generate import rng

    marker = request.node.get_closest_marker("gpuemu")
    inputs = {name: one for name, one in marker.kwargs.items() if name not in CONTROL}
    options = {name: one for name, one in marker.kwargs.items() if name in CONTROL - {"cases"}}
    dtype, number = request.param
    if dtype is not None:
        options["dtypes"] = [dtype]
    budget, spent = request.config.stash[_BUDGET], request.config.stash.setdefault(_SPENT, {})
    name = request.node.nodeid.split("[")[0]
    if budget.seconds is not None and spent.get(name, 0.0) > budget.seconds:
        pytest.skip(f"--gpuemu-budget of {budget.seconds:g} s is spent")
    seed = rng.derive_seed(request.config.stash[_SEED], name)
    checker = checking.checker_of(_takes(inputs), _takes(inputs), seed=seed, inputs=inputs, name=request.node.originalname, **options)
    start = time.perf_counter()
    case = GpuemuCase(checker.draw(number), checker, rng.case_seed(seed, number, checker.schema.name))
    request.node.user_properties.append(("gpuemu", case.describe()))
    request.node.stash[_CASE] = case
    yield case
    spent[name] = spent.get(name, 0.0) + time.perf_counter() - start


def _takes(inputs: dict[str, Any]) -> Any:
    """Returns a function that has only these arguments and does nothing."""
    return lambda **given: None


@pytest.hookimpl(hookwrapper=True)  # type: ignore[untyped-decorator,unused-ignore]
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, None]:
    report = (yield).get_result()
    said = dict(item.user_properties).get("gpuemu")
    if report.failed and said is not None:
        seed = item.config.stash[_SEED]
        case = item.stash.get(_CASE, None)
        inputs = f"\n{case.python()}" if case is not None else ""
        report.sections.append(("gpuemu", f"{said}\nreplay: pytest '{item.nodeid}' --gpuemu-seed={seed}{inputs}"))


# --- the ops of gpuemu.toml


def pytest_collect_file(file_path: pathlib.Path, parent: pytest.Collector) -> pytest.Collector | None:
    if file_path.name != "gpuemu.toml" or parent.config.getoption("--gpuemu-no-ops"):
        return None
    found: pytest.Collector = ProjectFile.from_parent(parent, path=file_path)
    return found


class ProjectFile(pytest.File):
    """A gpuemu.toml: one test for each op and dtype that has a kernel, and one for each op with an op script."""

    def collect(self) -> Iterator[pytest.Item]:
        for op, dtypes in ops_of(self.path):
            for dtype in dtypes:
                yield OpItem.from_parent(self, name=f"{op}[{dtype}]", op=op, dtype=dtype)
            if not dtypes:
                yield OpItem.from_parent(self, name=op, op=op, dtype="")


def ops_of(path: pathlib.Path) -> list[tuple[str, list[str]]]:
    """Returns the ops that gpuemu can run, with their dtypes, as `gpuemu config show` resolves them; ops with op scripts have
    none."""
    from gpuemu.check import reproduce

    settings = {key: value.strip('"') for key, value in reproduce.settings_of(str(path)).items()}
    usual = re.findall(r"\w+", settings.get("validation.dtypes", "")) or ["float32"]

    def tables(kind: str) -> dict[str, str]:
        """Returns the name of each table by the prefix of its keys."""
        return {key[: -len(".name")]: name for key, name in settings.items() if re.fullmatch(kind + r"\[\d+\]\.name", key)}

    def dtypes(table: str) -> list[str]:
        return [name for key, name in settings.items() if re.fullmatch(re.escape(table) + r"\.dtypes\[\d+\]", key)]

    ops, kernels = tables("ops"), tables("kernels")
    used: set[str] = set()
    found: list[tuple[str, list[str]]] = []
    for table, name in ops.items():
        named = [one for key, one in settings.items() if re.fullmatch(re.escape(table) + r"\.kernel(\[\d+\])?", key)]
        used.update(named)
        if settings.get(f"{table}.execution_mode") == "script_based" and f"{table}.op_script" in settings:
            found.append((name, []))
        elif named:
            of_kernels = [dtypes(key) for key, kernel in kernels.items() if kernel in named]
            found.append((name, dtypes(table) or next(filter(None, of_kernels), []) or usual))
    alone = [(name, dtypes(table) or usual) for table, name in kernels.items() if name not in used and f"{table}.outputs[0].name" in settings]
    return found + alone


class OpFailure(Exception):
    """Raised when not all cases of an op pass."""

    def __init__(self, report: TestReport) -> None:
        self.report = report
        super().__init__(some_fail(report.failed, report.total))


class OpItem(pytest.Item):
    """One op and dtype, run as by `gpuemu test OP --dtype DTYPE`; without a dtype, all dtypes of the op."""

    def __init__(self, op: str, dtype: str, **rest: Any) -> None:
        super().__init__(**rest)
        self.op, self.dtype = op, dtype

    def runtest(self) -> None:
        budget = self.config.stash[_BUDGET]
        report = self._run([self.dtype] if self.dtype else [], budget.cases or 0, budget.seconds)
        self.add_report_section("call", "gpuemu", f"{report.passed} of {counted(report.total, 'case')}, seed {report.seed}")
        if report.failed:
            raise OpFailure(report)
        spent = budget.seconds is not None and bool(report.incomplete)  # Work is missing because the budget ended, as requested.
        if report.broken and not spent:
            self._skip_if_other_dtypes_run(report)
            raise RuntimeError("; ".join(report.broken))
        if spent and not report.total:
            pytest.skip(f"--gpuemu-budget of {budget.seconds:g} s was spent before the first case had ended")
        skipped = [one.skipped_reason for one in report.ops if one.skipped_reason]
        if skipped and not report.total:
            pytest.skip("; ".join(skipped))
        if not report.total:
            raise RuntimeError(f"no case of '{self.op}' was run")

    def _run(self, dtypes: list[str], cases: int, seconds: float | None = None) -> TestReport:
        import gpuemu

        with in_project(self.path), gpuemu.Client() as client:
            return client.run_tests([self.op], cases=cases, seed=self.config.stash[_SEED], dtypes=dtypes, progress=_stop_after(client, seconds))

    def _skip_if_other_dtypes_run(self, report: TestReport) -> None:
        """Skips a dtype that no kernel takes, like `gpuemu test`; an op of which nothing runs is an error."""
        if not self.dtype or report.total:
            return
        for one in self._run([], cases=1).ops:
            if one.dtype == self.dtype and one.skipped_reason and not one.skipped_reason.startswith("error: "):
                pytest.skip(one.skipped_reason)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if not isinstance(excinfo.value, OpFailure):
            return super().repr_failure(excinfo, style)
        report = excinfo.value.report
        lines = [f"{self.op} {self.dtype}: {excinfo.value}"]
        for failure in [one for op in report.ops for one in op.failures][:3]:
            dims = failure.repro_info.dims if failure.repro_info else {}
            lines += [f"  seed {failure.seed} {dims}", *(f"    {one.kind}: {one.message}" for one in failure.failures[:3])]
            lines.append(f"    replay: gpuemu reproduce {failure.seed} --op {shlex.quote(self.op)}")
        lines.append(f"  all again: pytest '{self.nodeid}' --gpuemu-seed={report.seed}")
        return "\n".join(lines)

    def reportinfo(self) -> tuple[pathlib.Path, int | None, str]:
        return self.path, None, f"gpuemu: {self.name}"


def _stop_after(client: Any, seconds: float | None) -> Any:
    """Returns a callback that cancels the job when its time is over; results until then count."""
    if seconds is None:
        return None
    end = time.monotonic() + seconds

    def progress(status: JobStatus) -> None:
        if time.monotonic() > end and status.state == "running":
            client.cancel_job(status.job_id)

    return progress


@contextlib.contextmanager
def in_project(path: pathlib.Path) -> Iterator[None]:
    """Makes the project of the file the client's project, regardless of the working directory."""
    before = os.environ.get("GPUEMU_CONFIG")
    os.environ["GPUEMU_CONFIG"] = str(path)
    try:
        yield
    finally:
        if before is None:
            del os.environ["GPUEMU_CONFIG"]
        else:
            os.environ["GPUEMU_CONFIG"] = before
