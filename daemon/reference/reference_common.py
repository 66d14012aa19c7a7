"""What the parts of the reference process share: limits, failures, and what is shown of a script's output."""
import collections
import io
import os
import sys

OUTPUT_BYTES_MAX, ERROR_BYTES_MAX, RESULT_BYTES_MAX = map(int, sys.argv[1:4])
OWN_PID = os.getpid()
OWN_FOLDER = "<gpuemu>/"  # Opens the file name of each of our frames in a traceback.
ITEM_BYTES = {"float16": 2, "bfloat16": 2, "float32": 4, "float64": 8, "int8": 1, "int16": 2,
              "int32": 4, "int64": 8, "uint8": 1, "uint16": 2, "uint32": 4, "uint64": 8, "bool": 1}


class Failure(Exception):
    """What the requester is told: a code and one message."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


def script_error(message):
    return Failure("Compile", message)


class Tail(io.TextIOBase):
    """A text stream that keeps only its last characters."""

    def __init__(self):
        self.clear()

    def clear(self):
        self.parts, self.length = collections.deque(), 0

    def writable(self):
        return True

    def write(self, text):
        kept = text[-ERROR_BYTES_MAX:]
        self.parts.append(kept)
        self.length += len(kept)
        while self.length - len(self.parts[0]) >= ERROR_BYTES_MAX:
            self.length -= len(self.parts.popleft())
        return len(text)

    def text(self):
        return "".join(self.parts)[-ERROR_BYTES_MAX:]


def last_lines(text, lines=20, characters=2500):
    return "\n".join(text.strip().splitlines()[-lines:])[-characters:]


def with_output(message, *texts):
    shown = "\n".join(last_lines(text) for text in texts if text.strip())
    return message + ("\n" + shown if shown else "")


def memory_note(request):
    """What to add to a message about memory that ran out."""
    most = request.form.memory_bytes
    if not most:
        return ""
    return (f"; references may hold {most >> 20} MiB each: [validation].reference_memory_limit_mb in gpuemu.toml "
            "allows more")


def count_of(shape):
    count = 1
    for size in shape:
        count *= size
    return count
