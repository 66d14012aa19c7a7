"""Finds a Ray cluster, or starts one on this machine for the duration of a run."""

from __future__ import annotations

import contextlib
import logging
import os
import pathlib
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import gpuemu
from gpuemu.errors import ConnectionError

WAIT_SECONDS = 30.0
NEEDS_RAY = "--cluster needs the package ray: pip install gpuemu[ray]"
_LOOK_SECONDS = 1.0
_LOCAL_MAX = 64
# Notices within seconds that a node died; Ray's own intervals are meant for networks.
_LOCAL_SYSTEM = {"health_check_initial_delay_ms": 1000, "health_check_period_ms": 1000, "health_check_timeout_ms": 2000,
                 "health_check_failure_threshold": 3}  # fmt: skip


def need_ray() -> Any:
    """Imports the package ray. Raises an ImportError that says how to install it."""
    # Actors without a GPU then leave CUDA_VISIBLE_DEVICES unchanged.
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    try:
        import ray
    except ImportError as problem:
        raise ImportError(NEEDS_RAY) from problem
    return ray


def check_address(address: str) -> str:
    """Returns the address. Raises ValueError if it has none of the four forms."""
    expected = "expected auto, HOST:PORT, ray://HOST:PORT or local:N"
    if not isinstance(address, str):
        raise ValueError(f"address is {address!r}; {expected}")
    if address == "auto":
        return address
    if local := re.fullmatch(r"local:(.*)", address, re.DOTALL):
        if not re.fullmatch(r"[0-9]+", local[1]) or not 1 <= int(local[1]) <= _LOCAL_MAX:
            raise ValueError(f"address '{address}': expected local:N with N nodes, 1 to {_LOCAL_MAX}")
        return address
    found = re.fullmatch(r"(?:ray://)?(\[[^\s/@\]]+\]|[^\s/@:]+):([0-9]+)", address)
    if not found or not 1 <= int(found[2]) <= 65535:
        raise ValueError(f"address '{address}': {expected}")
    return address


def _nobody(address: str) -> ConnectionError:
    return ConnectionError(f"no Ray cluster at {address}; ray start --head starts one")


def _accepts(place: str) -> bool:
    """True if a server accepts connections at that address."""
    host, _, port = place.rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=_LOOK_SECONDS):
            return True
    except OSError:
        return False


def _is_ray(place: str, seconds: float) -> bool:
    """True if the server at that address is Ray. A separate process asks, because Ray ends the process when the server is not
    Ray."""
    words = [sys.executable, "-m", "ray.scripts.scripts", "health-check", "--address", place]
    try:
        return subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, timeout=seconds, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def _place_of_auto() -> str | None:
    """Returns the address of the cluster that RAY_ADDRESS names or that runs on this machine."""
    if named := os.environ.get("RAY_ADDRESS"):
        return named
    from ray._private import services  # There is no public interface.

    services.find_gcs_addresses.cache_clear()
    try:
        return str(services.canonicalize_bootstrap_address("auto"))
    except (ConnectionError, OSError, ValueError):
        return None


def find(address: str, stopped: Callable[[], bool]) -> str:
    """Returns the address for ray.init(). Raises ConnectionError if no cluster answers in time."""
    end = time.monotonic() + WAIT_SECONDS
    while not stopped():
        place = _place_of_auto() if address == "auto" else address
        if place is not None and place.startswith("ray://"):
            if _accepts(place.removeprefix("ray://")):
                return place
        elif place is not None and _accepts(place) and _is_ray(place, max(_LOOK_SECONDS, end - time.monotonic())):
            return place
        if time.monotonic() + _LOOK_SECONDS > end:
            break
        time.sleep(_LOOK_SECONDS)
    raise _nobody(address)


def _quiet(ray: Any) -> dict[str, Any]:
    logging.getLogger("ray").setLevel(logging.ERROR)
    return {"log_to_driver": False, "logging_level": logging.ERROR, "configure_logging": False}


def _own_path() -> str:
    """Returns a PYTHONPATH with this package and the packages installed beside it, for other processes of this machine."""
    return os.pathsep.join([str(pathlib.Path(gpuemu.__file__).resolve().parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])])


@contextlib.contextmanager
def _local_cluster(ray: Any, nodes: int, gpus: bool) -> Iterator[str]:
    """Starts Ray with this many nodes on this machine, each with one core, or one GPU if `gpus`; stops it at the end."""
    from ray._private import utils  # There is no public interface.
    from ray.cluster_utils import Cluster

    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    before = utils.read_ray_address()
    cluster: Any = Cluster()
    try:
        for number in range(nodes):
            one: dict[str, Any] = {"num_cpus": 1, "include_dashboard": False}
            if gpus:
                one |= {"num_gpus": 1, "env_vars": {"CUDA_VISIBLE_DEVICES": str(number)}}
            if number == 0:
                one["_system_config"] = _LOCAL_SYSTEM
            cluster.add_node(**one)
        yield cluster.address
    finally:
        cluster.shutdown()
        if before:  # Starting our cluster has overwritten the address of a cluster that already runs here.
            utils.write_ray_address(before)


@contextlib.contextmanager
def connected(address: str, working_dir: str, gpus: bool, stopped: Callable[[], bool]) -> Iterator[bool]:
    """Connects this process to the cluster as a driver. Yields whether the nodes have the working directory: a process that was
    connected before stays connected and keeps its own. Raises ConnectionError if there is no cluster."""
    ray = need_ray()
    if ray.is_initialized() and not address.startswith("local:"):
        yield False
        return
    if ray.is_initialized():
        raise ValueError(f"address '{address}': this process is connected to a Ray cluster; call ray.shutdown() first, or use auto")
    with contextlib.ExitStack() as stack:
        environment: dict[str, Any] = {"working_dir": working_dir}
        if address.startswith("local:"):
            place = stack.enter_context(_local_cluster(ray, int(address.removeprefix("local:")), gpus))
            environment["env_vars"] = {"PYTHONPATH": _own_path()}
        else:
            place = find(address, stopped)
        try:
            ray.init(address=place, runtime_env=environment, **_quiet(ray))
        except (OSError, TimeoutError) as problem:  # Python's ConnectionError is an OSError.
            raise _nobody(address) from problem
        stack.callback(ray.shutdown)
        yield True
