"""What a node has; sent to it as code, because it may have another gpuemu or none."""

from __future__ import annotations


def look() -> tuple[str, str]:
    """The node's host, and its version of gpuemu, "" where it has none."""
    import socket

    try:
        import gpuemu
    except ImportError:
        return socket.gethostname(), ""
    return socket.gethostname(), str(getattr(gpuemu, "__version__", ""))
