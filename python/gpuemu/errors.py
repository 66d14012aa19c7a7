"""Errors in the communication with the daemon: one class for each error code of the protocol."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpuemu.device.places import Place
    from gpuemu.client.records import ValidationResult


class ClientError(Exception):
    """The daemon rejected a request or could not be reached. `code` is the protocol's, "" if there was no answer."""

    code = ""


class InvalidRequestError(ClientError, ValueError):
    """The request is malformed or breaks a limit."""

    code = "InvalidRequest"


class OpNotFoundError(ClientError, LookupError):
    """gpuemu.toml has no such op; the message lists its ops."""

    code = "OpNotFound"


class NotFoundError(ClientError, LookupError):
    """There is no stored result, baseline or job of that name."""

    code = "NotFound"


class ProjectNotFoundError(NotFoundError):
    """The daemon cannot read that gpuemu.toml, or does not know that id."""

    code = "ProjectNotFound"


class BusyError(ClientError):
    """The request would change something that running jobs need; wait for them or cancel them."""

    code = "Busy"


class SessionNotFoundError(NotFoundError):
    """The session has ended or never existed; open_session() opens one."""

    code = "SessionNotFound"


class LimitExceededError(ClientError):
    """A limit of the session is reached; the message says which."""

    code = "LimitExceeded"


class UnauthorizedError(ClientError):
    """The daemon does not do this for this user, or needs a token (GPUEMU_TOKEN_FILE); the message says how to get access."""

    code = "Unauthorized"


class DamagedError(ClientError):
    """The requested data cannot be read from the database; the message names the file and the command that repairs it."""

    code = "Damaged"


class KernelNotFoundError(NotFoundError):
    """gpuemu.toml has no such kernel; the message lists its kernels."""

    code = "KernelNotFound"


class BaselineNotFoundError(NotFoundError):
    """No baseline of artifacts has that tag."""

    code = "BaselineNotFound"


class ArtifactNotFoundError(NotFoundError):
    """No metrics are stored for that kernel."""

    code = "ArtifactNotFound"


class ConfigError(ClientError):
    """gpuemu.toml is invalid; the message has every problem with its line."""

    code = "ConfigError"


class ReferenceScriptError(ClientError):
    """The reference script failed; the message has its output."""

    code = "ReferenceScriptFailed"


class PtxParseError(ClientError):
    """A kernel's source cannot be compiled or parsed."""

    code = "PtxParseError"


class CuobjdumpNotAvailableError(ClientError):
    """Reading machine code needs cuobjdump of the CUDA toolkit, which was not found."""

    code = "CuobjdumpNotAvailable"


class InternalError(ClientError):
    """The daemon failed for another reason."""

    code = "InternalError"


class ConnectionError(ClientError, builtins.ConnectionError):
    """No daemon answers at the socket."""


class TimeoutError(ConnectionError, builtins.TimeoutError):
    """No reply came in time; the daemon may still be working."""


class IncompleteError(ClientError):
    """The daemon ended a run before its work was done: it was stopped, or another client cancelled the run. `result` has the
    partial results."""

    def __init__(self, message: str, result: Any = None) -> None:
        super().__init__(message)
        self.result = result

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (*self.args, self.result)


class StoppedError(IncompleteError):
    """The daemon was stopped before a run had any result."""

    code = "Stopped"


class ProtocolError(ClientError):
    """The other side speaks another version, or another protocol."""


class VersionMismatchError(ProtocolError):
    """The daemon rejects the version of the protocol that this client speaks."""

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
        """Pickles the verdict and the arguments. Without this, raising the error in a worker process would break its pool."""
        return type(self), (self.result,), {"args": self.args}


class DeviceError(Exception):
    """A device rejected a request. `code`: one of gpuemu's errors, such as InvalidArgument or Compile."""

    def __init__(self, message: str, code: str = "") -> None:
        super().__init__(message)
        self.code = code


class DeviceLostError(DeviceError):
    """A GPU is lost, or the device's process ended; the next request starts another process."""

    def __init__(self, message: str, code: str = "Unavailable") -> None:
        super().__init__(message, code)


class LaunchError(ValueError):
    """A kernel cannot be launched with this entry, these arguments, this grid or block."""


class KernelError(RuntimeError):
    """A kernel did something wrong while it ran. `findings` say what, where and in which thread."""

    code = "Launch"  # The name of the error in the C interface.
    op_index: int | None = None  # The lowered op of a program that failed, if it is known.

    def __init__(self, findings: list[Place]) -> None:
        from gpuemu.device.places import explain

        self.findings = findings
        super().__init__(explain(findings))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.findings,), {**vars(self), "args": self.args}


_SAID_MAX = 4000  # Longest text of an exception in characters: one that contains an array may have millions.


def told(problem: BaseException) -> str:
    """Returns the text of any exception in a form that every terminal and file accepts, without lone surrogates. Does not raise
    if converting the exception to text raises."""
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
    """Returns the exception for an Error reply. An unknown code, of a newer daemon, becomes a plain ClientError with this
    code."""
    if code in _BY_CODE:
        return _BY_CODE[code](message)
    made = ClientError(message)
    made.code = code
    return made
