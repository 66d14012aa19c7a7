"""The memories that daemon, worker and reference process share: one for each case that may wait here."""
import mmap
import os

from reference_common import ITEM_BYTES, Failure, count_of
from reference_message import Placed


def mapped(descriptor, size, least):
    """A mapping of the file. mmap() keeps a duplicate of the descriptor at the lowest number that is free; the numbers
    below `least` are taken meanwhile, because scripts may write to them."""
    held = []
    try:
        while not held or held[-1] < least:
            held.append(os.dup(descriptor))
        return mmap.mmap(descriptor, size)
    finally:
        for each in held:
            os.close(each)


class Arena:
    """The memfd of the current request. Mapped anew when what is asked for lies behind what is mapped: it only ever
    grows."""

    def __init__(self):
        self.first = None  # The descriptor of the first arena; reference_process.py sets it.
        self.map, self.bytes, self.index, self.others = None, 0, 0, {}

    def choose(self, index):
        """Makes another one the current one."""
        if index != self.index:
            self.others[self.index] = self.map, self.bytes
            self.map, self.bytes = self.others.get(index, (None, 0))
            self.index = index

    def reach(self, end):
        """Maps at least up to `end`, which grows the file where it is shorter."""
        if end <= self.bytes:
            return
        descriptor = self.first + self.index
        size = os.fstat(descriptor).st_size
        if end > size:
            size = (end + 0xFFFFF) & ~0xFFFFF
            os.ftruncate(descriptor, size)
        self.map = mapped(descriptor, size, self.first)
        if hasattr(mmap, "MADV_DONTFORK"):
            self.map.madvise(mmap.MADV_DONTFORK)  # A script of the process form never sees it.
        self.bytes = size

    def check(self, offset, length):
        """That an input lies in the file. No reading makes it larger."""
        end = offset + length
        if end > self.bytes and end > os.fstat(self.first + self.index).st_size:
            raise Failure("InvalidArgument", f"input at {offset}+{length} lies outside the arena")
        self.reach(end)

    def read(self, offset, length):
        self.check(offset, length)
        return self.map[offset:offset + length] if length else b""

    def write(self, offset, content):
        self.reach(offset + len(content))
        if len(content):
            self.map[offset:offset + len(content)] = content


arena = Arena()


def packed_bytes(tensor):
    return arena.read(tensor.offset, count_of(tensor.shape) * ITEM_BYTES[tensor.dtype])


class Writer:
    """Appends tensors to the arena, each at a multiple of 64."""

    def __init__(self, offset):
        self.offset = offset

    def take(self, length):
        """Room for so many bytes: where it begins."""
        offset = (self.offset + 63) & ~63
        arena.reach(offset + length)
        self.offset = offset + length
        return offset

    def append(self, name, dtype, shape, content):
        offset = self.take(len(content))
        arena.write(offset, content)
        return Placed(name, dtype, shape, offset)
