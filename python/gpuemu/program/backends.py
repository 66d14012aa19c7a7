"""The places that set_backend selects."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from gpuemu.program.places import HostPlace, Place

if TYPE_CHECKING:
    from gpuemu.client.network import NetworkAddress

BACKENDS = ("auto", "emulator", "cuda", "numpy")


_lock = threading.Lock()
_places: dict[tuple[Any, ...], Place] = {}
# Arguments of connect(): the address, and whether to start a daemon.
_daemon: tuple[str | NetworkAddress | None, bool | None] = (None, None)
NUMPY = HostPlace()


def place_of(backend: str, device: Any, local: bool, arch: str | None) -> Place:
    """Returns the place for these settings; the same settings give the same place."""
    if backend == "numpy":
        return NUMPY
    key = (backend, device if isinstance(device, int) else id(device), local, arch)
    with _lock:
        found = _places.get(key)
        if found is None or found.is_closed:
            for each in [each for each, place in _places.items() if place.is_closed]:
                del _places[each]
            found = _places[key] = _made(backend, device, local, arch)
        return found


def _made(backend: str, device: Any, local: bool, arch: str | None) -> Place:
    if local:
        from gpuemu.program.local import LocalPlace

        return LocalPlace(backend, device, arch)
    from gpuemu.program.daemon import DaemonPlace

    return DaemonPlace(backend, device, arch, *_daemon)


def use_daemon(address: str | NetworkAddress | None, start: bool | None) -> None:
    """Sets the daemon for places that are created from now on. Sessions of another daemon end."""
    global _daemon
    if _daemon[0] != address:
        close_remote()
    with _lock:
        _daemon = (address, start)


def close_remote() -> None:
    """Ends every session of a daemon and every worker. Values that this process has not read are lost."""
    global _daemon
    with _lock:
        _daemon = (None, None)
        for key, place in list(_places.items()):
            if not key[2]:
                del _places[key]
                place.close()
