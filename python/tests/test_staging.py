"""Tests that copies of host data are kept until their stream has read them, even if several threads upload at the same time."""
import threading
import time

from gpuemu.runtime.memory import Staging


class Stream:
    """A stream whose work is either done or never ends; another thread runs while it is queried."""

    def __init__(self, done):
        self.done = done

    def record(self):
        return self

    def query(self):
        time.sleep(0.005)
        return self.done


def test_threads_that_drop_what_is_done_keep_what_is_not():
    for _ in range(5):
        staging = Staging()
        for number in range(3):
            staging.keep(f"done {number}", Stream(True))
        threads = [threading.Thread(target=staging.keep, args=(f"open {number}", Stream(False))) for number in range(8)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        assert sorted(data for _, data in staging._waiting) == [f"open {number}" for number in range(8)]
