"""Packs the project for the nodes: its folder without the files that no case needs."""

from __future__ import annotations

import contextlib
import io
import os
import pathlib
import shutil
import tempfile
import zipfile
from collections.abc import Iterator

from gpuemu.errors import ConfigError, LimitExceededError

BYTES_MAX = 512 << 20  # The largest working_dir that Ray takes.
_OTHER = frozenset({"__pycache__", "build", "dist", "node_modules", "site-packages", "venv"})


def project_file(project: str | os.PathLike[str]) -> pathlib.Path:
    """Returns the gpuemu.toml of a folder or path. Raises ConfigError if there is none."""
    path = pathlib.Path(project).absolute()
    found = path / "gpuemu.toml" if path.is_dir() else path
    if not found.is_file():
        raise ConfigError(f"{found} does not exist; give `project` the path of a gpuemu.toml or of its folder")
    return found.resolve()


def files_of(folder: pathlib.Path) -> Iterator[pathlib.Path]:
    """Yields the files below the folder, except hidden ones, those behind links, and folders of builds and packages."""
    for at, folders, names in os.walk(folder):
        folders[:] = sorted(one for one in folders if not one.startswith(".") and one not in _OTHER and not os.path.islink(os.path.join(at, one)))
        for name in sorted(names):
            path = pathlib.Path(at, name)
            if not name.startswith(".") and path.is_file() and not path.is_symlink():
                yield path


def _checked(file: pathlib.Path, limit: int) -> list[pathlib.Path]:
    folder, sizes = file.parent, {}
    for path in {*files_of(folder), file}:
        sizes[path] = path.stat().st_size
    total = sum(sizes.values())
    if total > limit:
        largest = max(sizes, key=lambda one: sizes[one])
        raise LimitExceededError(
            f"the project folder {folder} has {total >> 20} MiB and at most {limit >> 20} MiB go to the nodes; the largest file is "
            f"{largest.relative_to(folder)} with {sizes[largest] >> 20} MiB: move what no kernel and no reference reads out of the folder"
        )
    return sorted(sizes)


@contextlib.contextmanager
def working_dir(file: pathlib.Path, limit: int = BYTES_MAX) -> Iterator[str]:
    """Yields a temporary folder with the project's files; the project file is gpuemu.toml in it."""
    files = _checked(file, limit)
    with tempfile.TemporaryDirectory(prefix="gpuemu-cluster-") as made:
        for path in files:
            name = "gpuemu.toml" if path == file else str(path.relative_to(file.parent))
            target = pathlib.Path(made, name)
            if path != file and name == "gpuemu.toml":
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            try:
                os.link(path, target)
            except OSError:  # Raised for another file system, or files of another user.
                shutil.copyfile(path, target)
        yield made


def packed(folder: str) -> bytes:
    """Returns the folder as a zip file, for a Ray that is already connected and accepts no working_dir."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        for path in files_of(pathlib.Path(folder)):
            file.write(path, path.relative_to(folder))
    return buffer.getvalue()


def unpacked(content: bytes, folder: str) -> None:
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        file.extractall(folder)
