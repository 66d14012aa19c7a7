"""pytest --gpuemu: runs the tests below `gpuemu run`, and fails a test that causes a finding."""

from __future__ import annotations

import ctypes
import json
import os
import pathlib
import sys
from collections import Counter
from collections.abc import Generator, Sequence
from typing import Any, NoReturn

import pytest

from gpuemu import installed

RUN = "GPUEMU_RUN"
_SLOWEST = 5  # Kernels in the summary.
_FAULTS_MOST = 1000  # The limit of the torch driver: with --on-finding sticky every call fails.
_MARKER = 'gpuemu_allow("KIND", ..., reason="..."): findings of these kinds do not fail the test (with --gpuemu)'
_OPTIONS = {"--gpuemu-arch": ("--arch", "sm_XX", "architecture of the emulated device"),
            "--gpuemu-checks": ("--checks", "LIST", "what is checked, as in memory,init,race or -init"),
            "--gpuemu-suppress": ("--suppress", "FILE", "a TOML file with findings that are accepted")}  # fmt: skip


def add_options(group: Any) -> None:
    group.addoption("--gpuemu", action="store_true", help="run the tests' GPU kernels on gpuemu's emulator, without a GPU, and fail tests with findings")
    for name, (option, shown, text) in _OPTIONS.items():
        group.addoption(name, default=None, metavar=shown, help=f"{text} (with --gpuemu; {option} of gpuemu run)")


def configure(config: pytest.Config) -> None:
    """Starts to collect findings if --gpuemu is given."""
    config.addinivalue_line("markers", _MARKER)
    given = [name for name in _OPTIONS if config.getoption(name)]
    if config.getoption("--gpuemu"):
        config.pluginmanager.register(Findings(config), "gpuemu-findings")
    elif given:
        raise pytest.UsageError(f"{given[0]} needs --gpuemu")


def start_again(config: pytest.Config) -> None:
    """Restarts this process below gpuemu run, unless it already runs there. A restart does not return."""
    if not config.known_args_namespace.gpuemu or RUN in os.environ:
        return
    program = installed.find_program()
    if program is None:
        raise pytest.UsageError("--gpuemu needs the program gpuemu, which is neither in this installation of the package nor in PATH; set GPUEMU_CLI")
    _become([program, "run", "--error-exitcode", "0", *_run_options(config), "--", sys.executable, *sys.orig_argv[1:]], config)


def _run_options(config: pytest.Config) -> list[str]:
    words: list[str] = []
    for name, (option, _, _) in _OPTIONS.items():
        value = getattr(config.known_args_namespace, name.removeprefix("--").replace("-", "_"))
        words += [option, value] if value else []
    return words


def _become(command: Sequence[str], config: pytest.Config) -> NoReturn:
    capture = config.pluginmanager.getplugin("capturemanager")
    if capture is not None:
        capture.stop_global_capturing()
    sys.stdout.flush()
    sys.stderr.flush()
    os.execve(command[0], list(command), installed.environment())


class Log:
    """The findings that the driver of this process has written, in order."""

    def __init__(self) -> None:
        self.path = pathlib.Path(os.environ[RUN]) / f"{os.getpid()}.run"
        self.read = 0
        self.kernels: set[str] = set()

    def new(self) -> list[dict[str, Any]]:
        """Returns the errors and warnings since the last call."""
        if not self.path.exists():
            return []
        with self.path.open("rb") as file:
            file.seek(self.read)
            whole, _, _ = file.read().rpartition(b"\n")
        self.read += len(whole) + bool(whole)
        found = []
        for line in whole.splitlines():
            record = json.loads(line)
            if "kernel" in record:
                self.kernels.add(record["kernel"]["ptx_kernel"])
            if "finding" in record and record["finding"]["severity"] != "note":
                found.append(record["finding"])
        return found


class FoundError(Exception):
    """The findings of a test."""

    def __init__(self, findings: Sequence[dict[str, Any]]) -> None:
        self.findings = findings
        super().__init__("\n".join(map(text_of, findings)))


def text_of(finding: dict[str, Any]) -> str:
    """Formats a finding as gpuemu run prints it, shortened."""
    lines = [f"{finding['severity']}[{finding['kind']}]: {finding['message']}"]
    if finding["file"]:
        at = f"  at            {finding['file']}:{finding['line']}"
        lines.append(at + (f", kernel {finding['kernel']}" if finding["kernel"] else ""))
    stacks = {"launched at": finding["host"]["stack"], "allocated at": (finding["allocation"] or {}).get("stack", [])}
    lines += [f"  {name:13} {stack[0]['file']}:{stack[0]['line']} ({stack[0]['function']})" for name, stack in stacks.items() if stack]
    return "\n".join(lines)


def settle() -> None:
    """Waits for the kernels that the test launched, so that their findings count for it, and clears the errors that they left."""
    if (library := _driver()) is not None:
        _wait_for_devices(library)
    torch = sys.modules.get("torch")
    if torch is None or "gpuemu.torch.driver" not in sys.modules:
        return
    from gpuemu.torch.driver import driver

    driver().settle()


def _driver() -> ctypes.CDLL | None:
    """Returns the driver that this process has loaded, if it is gpuemu's."""
    try:
        library = ctypes.CDLL("libcuda.so.1", mode=os.RTLD_NOLOAD | os.RTLD_NOW)
    except OSError:
        return None
    return library if hasattr(library, "gpuemu_kernel_times") else None


def _wait_for_devices(library: ctypes.CDLL) -> None:
    """Waits for all work of the current context and of the primary contexts; does nothing before cuInit."""
    count, flags, active, context = ctypes.c_int(), ctypes.c_uint(), ctypes.c_int(), ctypes.c_void_p()
    if library.cuDeviceGetCount(ctypes.byref(count)):
        return
    if not library.cuCtxGetCurrent(ctypes.byref(context)) and context.value:
        _synchronize(library)
    for device in range(count.value):
        if library.cuDevicePrimaryCtxGetState(device, ctypes.byref(flags), ctypes.byref(active)) or not active.value:
            continue
        if library.cuDevicePrimaryCtxRetain(ctypes.byref(context), device):
            continue
        if not library.cuCtxPushCurrent_v2(context):
            _synchronize(library)
            library.cuCtxPopCurrent_v2(ctypes.byref(context))
        library.cuDevicePrimaryCtxRelease_v2(device)


def _synchronize(library: ctypes.CDLL) -> None:
    for _ in range(_FAULTS_MOST):
        if not library.cuCtxSynchronize():
            return


def kernel_times() -> dict[str, list[int]]:
    """Returns launches and nanoseconds of the kernels that ran in this process, by name."""
    times: dict[str, list[int]] = {}
    if (library := _driver()) is not None:
        text = ctypes.create_string_buffer(_times(library, None, 0))
        _times(library, text, len(text))
        for line in text.value.decode(errors="replace").splitlines():
            name, launches, elapsed = line.split("\t")
            times[name] = [int(launches), int(elapsed)]
    return times


def _times(library: ctypes.CDLL, text: Any, size: int) -> int:
    ask = library.gpuemu_kernel_times
    ask.restype, ask.argtypes = ctypes.c_size_t, [ctypes.c_char_p, ctypes.c_size_t]
    return int(ask(text, size))


class Findings:
    """The plugin of one session. A worker of pytest-xdist collects the findings of its own tests; the main process adds up the
    counts."""

    def __init__(self, config: pytest.Config) -> None:
        self.log = Log()
        self.kinds: Counter[str] = Counter()
        self.allowed = 0
        self.elsewhere: list[dict[str, Any]] = []
        self.kernels: set[str] = set()
        self.told: set[str] = set()  # Notes of workers.
        self.times: Counter[str] = Counter()  # Nanoseconds by kernel.
        self.output = getattr(config, "workeroutput", None)

    @pytest.hookimpl(tryfirst=True)  # type: ignore[untyped-decorator,unused-ignore]
    def pytest_runtest_setup(self) -> None:
        self.elsewhere += self.log.new()

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)  # type: ignore[untyped-decorator,unused-ignore]
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, None]:
        outcome = yield
        self.judge(item, "call", outcome)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)  # type: ignore[untyped-decorator,unused-ignore]
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None, Any, None]:
        outcome = yield
        self.judge(item, "teardown", outcome)

    def judge(self, item: pytest.Item, phase: str, outcome: Any) -> None:
        """Fails the phase of the test if it caused findings, unless it failed already."""
        settle()
        found = self.wanted(item, self.log.new())
        if not found:
            return
        error = FoundError(found)
        if outcome.excinfo is not None:
            item.add_report_section(phase, "gpuemu", str(error))
            return
        outcome.force_exception(error) if hasattr(outcome, "force_exception") else _fail(outcome, error)

    def wanted(self, item: pytest.Item, found: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Returns the findings that the test's marker does not allow."""
        kinds = {kind for mark in item.iter_markers("gpuemu_allow") for kind in mark.args}
        if any(not mark.kwargs.get("reason") for mark in item.iter_markers("gpuemu_allow")):
            raise pytest.UsageError(f'{item.nodeid}: gpuemu_allow needs a reason, as in gpuemu_allow("DataRace", reason="...")')
        kept = [one for one in found if one["kind"] not in kinds]
        self.kinds.update(one["kind"] for one in kept)
        self.allowed += len(found) - len(kept)
        return kept

    @pytest.hookimpl(hookwrapper=True)  # type: ignore[untyped-decorator,unused-ignore]
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, None]:
        outcome = yield
        if call.excinfo is not None and isinstance(call.excinfo.value, FoundError):
            outcome.get_result().longrepr = f"gpuemu found:\n{call.excinfo.value}"

    @pytest.hookimpl(trylast=True)  # type: ignore[untyped-decorator,unused-ignore]
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        settle()
        self.elsewhere += self.log.new()
        self.kinds.update(one["kind"] for one in self.elsewhere)
        self.kernels |= self.log.kernels
        self.times.update({name: elapsed for name, (_, elapsed) in kernel_times().items()})
        if self.elsewhere and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        if self.output is not None:
            self.output["gpuemu"] = [dict(self.kinds), self.allowed, sorted(self.kernels), self.elsewhere, self.notes(), dict(self.times)]

    @pytest.hookimpl(optionalhook=True)  # type: ignore[untyped-decorator,unused-ignore]
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        kinds, allowed, kernels, elsewhere, told, times = getattr(node, "workeroutput", {}).get("gpuemu", ({}, 0, [], [], [], {}))
        self.times.update(times)
        self.kinds.update(kinds)
        self.allowed += allowed
        self.kernels |= set(kernels)
        self.elsewhere += elsewhere
        self.told |= set(told)

    def notes(self) -> list[str]:
        """Returns what this process did not check."""
        made = sys.modules.get("gpuemu.torch.notes")
        return list(made.said) if made is not None else []

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if self.elsewhere:
            terminalreporter.section("gpuemu: findings outside of a test's own code")
            for one in self.elsewhere:
                terminalreporter.line(text_of(one))
        for note in sorted(self.told | set(self.notes())):
            terminalreporter.line(f"gpuemu: {note}")
        counts = ", ".join(f"{count} {kind}" for kind, count in sorted(self.kinds.items()))
        allowed = f", {self.allowed} allowed" if self.allowed else ""
        slowest = ", ".join(f"{name} {elapsed / 1e6:.1f} ms" for name, elapsed in self.times.most_common(_SLOWEST))
        terminalreporter.line(f"gpuemu: {counts or 'no findings'}{allowed} in {len(self.kernels)} kernel{'' if len(self.kernels) == 1 else 's'}"
                              + (f"; slowest: {slowest}" if slowest else ""))


def _fail(outcome: Any, error: Exception) -> None:
    """Makes the outcome a failure, for versions of pluggy before 1.1."""
    outcome._result, outcome._excinfo = None, (type(error), error, None)
