"""Examines a node. Sent to the node as code, because it may have another version of gpuemu or none."""

from __future__ import annotations


def look() -> tuple[str, str]:
    """Returns the node's host name and its version of gpuemu, "" if it has none."""
    import socket

    try:
        import gpuemu
    except ImportError:
        return socket.gethostname(), ""
    return socket.gethostname(), str(getattr(gpuemu, "__version__", ""))
