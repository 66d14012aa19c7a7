"""Requests about sessions: a client's share of the devices, and the daemon's current work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import calls

if TYPE_CHECKING:
    from gpuemu.client.calls import Call, Json
    from gpuemu.client.connection import Connection


class SessionRequests:
    """Session methods of gpuemu.Client and other clients that send one request at a time."""

    connection: Connection

    def _ask(self, call: Call[Any]) -> Any:
        raise NotImplementedError

    def open_session(self, name: str, **wishes: Any) -> Json:
        """Opens a session; later requests of this client belong to it. wishes: weight, session_class ("interactive", "batch",
        "auto"), memory_limit_mb, queue_max, time_limit_s (device time), lease_ms. Returns session (the secret), name, weight,
        class and limits. Another client joins it with use_session()."""
        opened: Json = self._ask(calls.open_session(name, wishes))
        self.connection.session = opened["session"]
        return opened

    def use_session(self, session: str | None) -> None:
        """Makes the requests of this client belong to the session with this secret; None: to the session of this process."""
        self.connection.session = session

    def close_session(self, name: str | None = None) -> None:
        """Ends the session of this client, or the session of this name, and cancels its waiting and running work."""
        self._ask(calls.close_session(self.connection.session, name))
        if name is None:
            self.connection.session = None

    def set_session(self, name: str | None = None, **wishes: Any) -> Json:
        """Changes the options of this client's session, or of the session of this name: those of open_session(). Returns it in
        the form of sessions()."""
        result: Json = self._ask(calls.set_session(self.connection.session, name, wishes))
        return result

    def sessions(self) -> list[Json]:
        """Returns the sessions of the daemon, in the order in which they were opened."""
        result: list[Json] = self._ask(calls.sessions())
        return result

    def top(self) -> Json:
        """Returns time, devices, sessions and jobs, as `gpuemu top` shows them."""
        result: Json = self._ask(calls.top())
        return result

    def jobs(self) -> list[Json]:
        """Returns the running jobs of this project, and the most recent ones that ended."""
        result: list[Json] = self._ask(calls.jobs())
        return result


class AsyncSessionRequests:
    """Like SessionRequests, for gpuemu.AsyncClient."""

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
