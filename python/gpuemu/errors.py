"""What can go wrong when talking to the daemon: one class for each error code of the protocol."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpuemu.device.places import Place
    from gpuemu.client.records import ValidationResult


class ClientError(Exception):
    """The daemon refused a request, or could not be asked. `code` is the protocol's, "" when there was no answer."""

    code = ""


class InvalidRequestError(ClientError, ValueError):
    """The request is malformed or breaks a limit."""

    code = "InvalidRequest"


class OpNotFoundError(ClientError, LookupError):
    """gpuemu.toml has no such op; the message lists those it has."""

    code = "OpNotFound"


class NotFoundError(ClientError, LookupError):
    """No stored result, baseline or job of that name."""

    code = "NotFound"


class ProjectNotFoundError(NotFoundError):
    """The daemon cannot read that gpuemu.toml, or has never met that id."""

    code = "ProjectNotFound"


class BusyError(ClientError):
    """Running jobs need what the request would change; wait for them or cancel them."""

    code = "Busy"


class SessionNotFoundError(NotFoundError):
    """The session has ended, or never was; open_session() opens one."""

    code = "SessionNotFound"


class LimitExceededError(ClientError):
    """A limit of the session is reached: the message says which."""

    code = "LimitExceeded"


class UnauthorizedError(ClientError):
    """The daemon does not do this for this user, or asks for a token (GPUEMU_TOKEN_FILE); the message says what would help."""

    code = "Unauthorized"


class DamagedError(ClientError):
    """What was asked for cannot be read from the database; the message names the file and what repairs it."""

    code = "Damaged"


class KernelNotFoundError(NotFoundError):
    """gpuemu.toml has no such kernel; the message lists those it has."""

    code = "KernelNotFound"


class BaselineNotFoundError(NotFoundError):
    """No baseline of artifacts has that tag."""

    code = "BaselineNotFound"


class ArtifactNotFoundError(NotFoundError):
    """No metrics are stored for that kernel."""

    code = "ArtifactNotFound"


class ConfigError(ClientError):
    """gpuemu.toml is wrong; the message has every problem with its line."""

    code = "ConfigError"


class ReferenceScriptError(ClientError):
    """The reference script failed; the message has what it said."""

    code = "ReferenceScriptFailed"


class PtxParseError(ClientError):
    """A kernel's source does not compile or does not parse."""

    code = "PtxParseError"


class CuobjdumpNotAvailableError(ClientError):
    """Machine code cannot be read without cuobjdump of the CUDA toolkit."""

    code = "CuobjdumpNotAvailable"


class InternalError(ClientError):
    """The daemon could not do it for another reason."""

    code = "InternalError"


class ConnectionError(ClientError, builtins.ConnectionError):
    """No daemon answers at the socket."""


class TimeoutError(ConnectionError, builtins.TimeoutError):
    """No reply came in time; the daemon may still be at work."""


class IncompleteError(ClientError):
    """The daemon ended a run before its work was done: it was stopped, or somebody else cancelled the run. `result` has what
    it had found until then."""

    def __init__(self, message: str, result: Any = None) -> None:
        super().__init__(message)
        self.result = result

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (*self.args, self.result)


class StoppedError(IncompleteError):
    """The daemon was stopped before a run had found anything."""

    code = "Stopped"


class ProtocolError(ClientError):
    """The other side speaks another version, or not this protocol."""


class VersionMismatchError(ProtocolError):
    """The daemon refuses the version that this client speaks."""

    code = "VersionMismatch"


class ValidationError(AssertionError):
    """An output is wrong. `result` is the verdict with all its findings."""

    def __init__(self, result: ValidationResult) -> None:
        self.result = result
        told = [finding.message for finding in result.failures[:3]]
        if len(result.failures) > 3:
            told.append(f"and {len(result.failures) - 3} more failures")
        super().__init__(f"Validation failed for '{result.op_name}': {', '.join(told)} (seed: {result.seed})")

    def __reduce__(self) -> tuple[Any, ...]:
        """Made again from what it was made of: a process that raises it for another one would break the pool otherwise."""
        return type(self), (self.result,), {"args": self.args}


class DeviceError(Exception):
    """A device refused a request. `code`: of gpuemu's errors, such as InvalidArgument or Compile."""

    def __init__(self, message: str, code: str = "") -> None:
        super().__init__(message)
        self.code = code


class DeviceLostError(DeviceError):
    """A GPU is lost, or the device's process ended; the next request starts another process."""

    def __init__(self, message: str, code: str = "Unavailable") -> None:
        super().__init__(message, code)


class LaunchError(ValueError):
    """A kernel cannot be launched as asked: its entry, its arguments, grid or block."""


class KernelError(RuntimeError):
    """A kernel went wrong while it ran. `findings` say what, where and in which thread."""

    code = "Launch"  # The name of the error in the C interface.
    op_index: int | None = None  # The op of a program that went wrong, where a worker found out.

    def __init__(self, findings: list[Place]) -> None:
        from gpuemu.device.places import explain

        self.findings = findings
        super().__init__(explain(findings))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.findings,), {**vars(self), "args": self.args}


_SAID_MAX = 4000  # Characters of an exception's text: one that has an array in it may have millions.


def told(problem: BaseException) -> str:
    """What somebody's exception says, as text that every terminal and file takes: with no lone surrogates, and not raising
    where its own text does."""
    try:
        said = str(problem)
    except Exception as second:
        said = f"(its text cannot be had: {type(second).__name__})"
    if len(said) > _SAID_MAX:
        said = f"{said[:_SAID_MAX]}... ({len(said)} characters)"
    return f"{type(problem).__name__}: {said}".encode("utf-8", "backslashreplace").decode()


_BY_CODE = {
    kind.code: kind
    for kind in (
        InvalidRequestError, OpNotFoundError, NotFoundError, KernelNotFoundError, BaselineNotFoundError, ArtifactNotFoundError,
        ProjectNotFoundError, BusyError, DamagedError, ConfigError, ReferenceScriptError, PtxParseError, CuobjdumpNotAvailableError, InternalError,
        VersionMismatchError, StoppedError, SessionNotFoundError, LimitExceededError, UnauthorizedError,
    )
}


def of_reply(code: str, message: str) -> ClientError:
    """The exception of an Error reply. A code of a newer daemon becomes a plain ClientError that has it."""
    if code in _BY_CODE:
        return _BY_CODE[code](message)
    made = ClientError(message)
    made.code = code
    return made
