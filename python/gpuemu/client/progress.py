"""Shows the progress of a job while a client waits for it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from gpuemu.client import records

Progress = Callable[[records.JobStatus], object]


class _Bar:
    """A progress bar of tqdm, or one line on standard error if tqdm is not installed."""

    def __init__(self, title: str) -> None:
        try:
            from tqdm.auto import tqdm

            self.bar: Any = tqdm(desc=title, unit="case")
        except ImportError:
            self.bar, self.title = None, title

    def __call__(self, status: records.JobStatus) -> None:
        if self.bar is None:
            print(f"\r{self.title}: {status.done}/{status.total}, {status.failures} failing", end="", file=sys.stderr, flush=True)
            if status.state != "running":
                print(file=sys.stderr)
            return
        self.bar.total = status.total
        self.bar.set_postfix(failing=status.failures)
        self.bar.update(status.done - self.bar.n)
        if status.state != "running":
            self.bar.close()


def listener(progress: bool | Progress | None, title: str) -> Progress | None:
    """Returns the callback that receives the progress of a job; for True, one that draws a bar."""
    if progress is True:
        return _Bar(title)
    return progress or None
