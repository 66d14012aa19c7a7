"""Requests about sessions: a client's share of the devices, and what the daemon does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import calls

if TYPE_CHECKING:
    from gpuemu.client.calls import Call, Json
    from gpuemu.client.connection import Connection


class SessionRequests:
    """What gpuemu.Client and others that ask one request at a time have of sessions."""

    connection: Connection

    def _ask(self, call: Call[Any]) -> Any:
        raise NotImplementedError

    def open_session(self, name: str, **wishes: Any) -> Json:
        """Opens a session; the requests of this client are of it from now on. wishes: weight, session_class ("interactive", "batch",
        "auto"), memory_limit_mb, queue_max, time_limit_s (device time), lease_ms. Returns session (the secret), name, weight, class
        and limits. A second client joins it by use_session()."""
        opened: Json = self._ask(calls.open_session(name, wishes))
        self.connection.session = opened["session"]
        return opened

    def use_session(self, session: str | None) -> None:
        """The requests of this client are of the session with this secret; None: of this process."""
        self.connection.session = session

    def close_session(self, name: str | None = None) -> None:
        """Ends the session of this client, or that of this name, with everything that waits and runs for it."""
        self._ask(calls.close_session(self.connection.session, name))
        if name is None:
            self.connection.session = None

    def set_session(self, name: str | None = None, **wishes: Any) -> Json:
        """Changes the session of this client, or that of this name, by what open_session() takes. Returns it as sessions() does."""
        result: Json = self._ask(calls.set_session(self.connection.session, name, wishes))
        return result

    def sessions(self) -> list[Json]:
        """The sessions of the daemon, in the order of their opening."""
        result: list[Json] = self._ask(calls.sessions())
        return result

    def top(self) -> Json:
        """time, devices, sessions and jobs, as `gpuemu top` shows them."""
        result: Json = self._ask(calls.top())
        return result

    def jobs(self) -> list[Json]:
        """The jobs of this project that run, and the last that have ended."""
        result: list[Json] = self._ask(calls.jobs())
        return result


class AsyncSessionRequests:
    """As SessionRequests, for gpuemu.AsyncClient."""

    connection: Connection

    async def _ask(self, call: Call[Any]) -> Any:
        raise NotImplementedError

    async def open_session(self, name: str, **wishes: Any) -> Json:
        opened: Json = await self._ask(calls.open_session(name, wishes))
        self.connection.session = opened["session"]
        return opened

    def use_session(self, session: str | None) -> None:
        self.connection.session = session

    async def close_session(self, name: str | None = None) -> None:
        await self._ask(calls.close_session(self.connection.session, name))
        if name is None:
            self.connection.session = None

    async def set_session(self, name: str | None = None, **wishes: Any) -> Json:
        result: Json = await self._ask(calls.set_session(self.connection.session, name, wishes))
        return result

    async def sessions(self) -> list[Json]:
        result: list[Json] = await self._ask(calls.sessions())
        return result

    async def top(self) -> Json:
        result: Json = await self._ask(calls.top())
        return result

    async def jobs(self) -> list[Json]:
        result: list[Json] = await self._ask(calls.jobs())
        return result
