"""Which files a script reads, so that nobody takes a result for this script's when one of them has changed.

Python's audit events tell them, whoever opens them: the script, its modules, NumPy, ctypes. What other programs read
that a script starts, or what it asks of the network, nobody can tell: then the list is not complete.
"""
import importlib.util
import os
import sys
import sysconfig
import time

LOOK_SECONDS = 0.1  # Modules that stay loaded are looked at so often: there may be thousands.
FILES_MAX = 4096  # A script that reads more is not worth watching.
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
OF_THE_SYSTEM = ("/proc/", "/sys/", "/dev/")
PROJECT = os.path.join(os.getcwd(), "")
# Where packages live; not what merely contains the project, as /usr may.
INSTALLED = tuple(folder for path in {*sysconfig.get_paths().values(), sys.prefix} if path
                  for folder in [os.path.join(path, "")] if not PROJECT.startswith(folder))
# What packages ask about the machine while they are imported.
HARMLESS_PROGRAMS = {"ldconfig", "uname", "lscpu"}
UNKNOWN = {"os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "os.forkpty", "socket.connect"}


def is_installed(path):
    return path.startswith(INSTALLED) or "-packages" + os.sep in path


def stamp_or_none(path):
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


class Reads:
    """Of one script, over all its runs."""

    def __init__(self):
        self.stamps = {}  # By path, as they were when they were first opened; None: there was no such file.
        self.written, self.complete, self.loads, self.told = set(), True, 0, None

    def note(self, path, writing):
        if isinstance(path, int):
            return
        path = os.path.abspath(os.fsdecode(path))
        if path.startswith(OF_THE_SYSTEM) or is_installed(path) or path in self.written:
            return
        if path.endswith(".pyc") and os.path.basename(os.path.dirname(path)) == "__pycache__":
            path = importlib.util.source_from_cache(path)
        if writing:  # Its own, whatever it reads of it later.
            self.written.add(path)
            self.stamps.pop(path, None)
        elif path not in self.stamps and not os.path.isdir(path):
            self.stamps[path] = stamp_or_none(path)
            self.complete = self.complete and len(self.stamps) <= FILES_MAX and is_plain(path)

    def record(self):
        """What the daemon is told; None when it knows that."""
        state = self.loads, len(self.stamps), len(self.written), len(staying), self.complete
        if state == self.told:  # Asked after every case: lists are made where there is something new.
            return None
        self.told = state
        return {"files": sorted(filter(is_plain, {*self.stamps, *staying}))[:FILES_MAX],
                "complete": self.complete and len(staying) <= FILES_MAX}

    def forget(self):
        """The script is loaded anew."""
        self.stamps.clear()
        self.loads += 1

    def add(self, record):
        """What a process that ran the script has seen; None when it could not say."""
        if record is None:
            self.complete = False
            return
        for path in record["files"]:
            self.note(path, False)
        self.complete = self.complete and record["complete"]

    def is_current(self):
        """Whether all that was read is as it was, and what was missing still is."""
        return all(stamp_or_none(path) == stamp for path, stamp in self.stamps.items())

    def __enter__(self):
        global watched
        self.outer, watched = watched, self

    def __exit__(self, *ignored):
        global watched
        watched = self.outer


def is_plain(path):
    """A path of one line of UTF-8."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return "\n" not in path


watched = None
known = {}
staying = {}  # Stamps of modules that are no packages of Python's and stay loaded for all scripts.
looked_at = time.monotonic()


def keep_loaded(module):
    path = getattr(module, "__file__", None)
    if isinstance(path, str) and os.path.isfile(path) and not is_installed(path):
        staying[os.path.abspath(path)] = stamp_or_none(path)


def is_stale():
    """Whether only another interpreter can load what has changed."""
    global looked_at
    now = time.monotonic()
    if now - looked_at < LOOK_SECONDS:
        return False
    looked_at = now
    return any(stamp_or_none(path) != stamp for path, stamp in staying.items())



def reads_of(script):
    return known.setdefault(script, Reads())


def on_event(event, arguments):
    reads = watched
    if reads is None:
        return
    if event == "open":
        path, mode, flags = arguments
        reads.note(path, bool(flags & WRITING) if mode is None else any(letter in mode for letter in "wax+"))
    elif event == "ctypes.dlopen":
        if isinstance(arguments[0], str) and os.sep in arguments[0]:
            reads.note(arguments[0], False)
    elif event == "import":
        if arguments[1]:  # An extension module's file.
            reads.note(arguments[1], False)
    elif event == "sqlite3.connect":
        reads.note(arguments[0], False)
    elif event == "subprocess.Popen":
        reads.complete = reads.complete and os.path.basename(os.fsdecode(arguments[0] or "")) in HARMLESS_PROGRAMS
    elif event in UNKNOWN:
        reads.complete = False


sys.addaudithook(on_event)
