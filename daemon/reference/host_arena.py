"""The memory that daemon, worker and reference host share."""
import mmap
import os

from host_common import ITEM_BYTES, Failure, count_of

ARENA = 4  # The descriptor that the daemon leaves us.


class Arena:
    """The memfd. Mapped anew when another process has grown it."""

    def __init__(self):
        self.map, self.bytes = None, 0

    def reach(self, end):
        size = os.fstat(ARENA).st_size
        if end > size:
            size = (end + 0xFFFFF) & ~0xFFFFF
            os.ftruncate(ARENA, size)
        if size != self.bytes:
            self.map = mmap.mmap(ARENA, size) if size else None
            if self.map is not None and hasattr(mmap, "MADV_DONTFORK"):
                self.map.madvise(mmap.MADV_DONTFORK)  # A script of the process form never sees it.
            self.bytes = size

    def read(self, offset, length):
        if offset + length > os.fstat(ARENA).st_size:
            raise Failure("InvalidArgument", f"input at {offset}+{length} lies outside the arena")
        self.reach(0)
        return self.map[offset:offset + length] if length else b""

    def write(self, offset, content):
        self.reach(offset + len(content))
        if len(content):
            self.map[offset:offset + len(content)] = content


arena = Arena()


def packed_bytes(tensor):
    length = count_of(tensor["shape"]) * ITEM_BYTES[tensor["dtype"]]
    return arena.read(tensor["offset"], length)


class Writer:
    """Appends tensors to the arena, each at a multiple of 64."""

    def __init__(self, offset):
        self.offset = offset

    def append(self, name, dtype, shape, content):
        offset = (self.offset + 63) & ~63
        arena.write(offset, content)
        self.offset = offset + len(content)
        return {"name": name, "dtype": dtype, "shape": list(shape), "offset": offset}
