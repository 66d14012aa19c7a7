"""The warm Python behind ReferenceProcess: computes expected outputs, one frame per request.

The daemon leaves the control socket at descriptor 3, the arenas behind it, and then this text. Socket and arenas move
to high numbers at once, and the text is closed: a script that writes to a low number which it did not open, or has
closed, gets an error and harms no other. The build puts PARTS, the sources of the other files of this folder by module
name, in front of this text.
"""
import ctypes
import linecache
import os
import resource
import select
import sys
import traceback
import types

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")  # One process per slot: the slots are the parallelism.

LEFT_FIRST, MOVED_TO = 3, 103  # The first descriptor that the daemon leaves us, and where it moves.
RECEIVE_BYTES = 1 << 16
PR_SET_CHILD_SUBREAPER = 36
# mallopt(): the heap keeps what arrays give back, as common/base/heap.h has it.
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
FREED_BYTES_KEPT, HEAP_BLOCK_BYTES_MAX = 64 << 20, 32 << 20


def move_descriptors():
    """Gives scripts the low numbers that they would have without us, and no process that they start any of ours.
    Returns the number of the socket; the arenas follow it."""
    own = sys.argv[0]  # /proc/self/fd/N: the last that the daemon leaves us.
    with open(own, encoding="utf-8") as file:
        keep_lines(own, file.read())
    text = int(os.path.basename(own))
    os.close(text)
    count = text - LEFT_FIRST
    # Each arena needs another descriptor for its mapping, and mapping one anew needs two more.
    first = min(MOVED_TO, resource.getrlimit(resource.RLIMIT_NOFILE)[0] - (2 * count + 1))
    if first < text:  # The limit leaves no room, so the descriptors stay.
        first = LEFT_FIRST
    for number in range(count):
        if first == LEFT_FIRST:
            os.set_inheritable(first + number, False)
        else:
            os.dup2(LEFT_FIRST + number, first + number, inheritable=False)
            os.close(LEFT_FIRST + number)
    return first


def keep_lines(file, source):
    """Lets tracebacks show the lines of a file that cannot be read."""
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)


def load_parts(parts, **loaded):
    """The parts as modules, in order; they may import those that are loaded. Scripts can neither see them nor stand in for
    them."""
    sys.modules.update(loaded)
    for name, source in parts.items():
        module = sys.modules[name] = types.ModuleType(name)
        file = f"<gpuemu>/{name}.py"
        keep_lines(file, source)
        exec(compile(source, file, "exec"), module.__dict__)
    return types.SimpleNamespace(**{name: sys.modules.pop(name) for name in [*loaded, *parts]})


def encodable(text):
    """What scripts raise and print may hold halves of characters."""
    return text.encode("utf-8", "backslashreplace").decode()


def limit_memory(most):
    """Limits the private memory of this interpreter and of each process that a script starts; 0 lifts the limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    wanted = most or hard
    if wanted != soft:
        resource.setrlimit(resource.RLIMIT_DATA, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard))


def answer(request):
    form = request.form
    limit_memory(form.memory_bytes)
    parts.reference_arena.arena.choose(request.arena)
    try:
        reply = None if form.process_only else parts.function_form.try_function(request)
        reply = reply or parts.process_form.run_process(request)
        return messages.answer_frame(reply, parts.reference_reads.reads_of(form.script).record())
    except parts.reference_common.Failure as failure:
        return failed(failure.code, str(failure))
    except MemoryError:
        return failed("ResourceExhausted",
                      f"{form.script}: out of memory{parts.reference_common.memory_note(request)}")
    except OSError as failure:
        return failed("Io", f"{form.script}: {failure}")


def failed(code, message):
    return messages.frame(messages.text_of({"ok": False, "code": code, "message": encodable(message)}))


def say(record):
    send(messages.frame(messages.text_of(record)))


def send(frame):
    content = memoryview(frame)
    while content:
        content = content[os.write(CONTROL, content):]


def requests_together():
    """Requests as they come, in lists of those that came at once. Whoever sleeps in read() is woken once more in vain,
    when the daemon takes the last answer out of the socket."""
    waiting, received = select.poll(), b""
    waiting.register(CONTROL, select.POLLIN)
    while True:
        waiting.poll()
        part = os.read(CONTROL, RECEIVE_BYTES)
        if not part:
            return
        found, received = messages.requests_in(received + part)
        yield found


def main():
    library = ctypes.CDLL(None)
    library.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    if hasattr(library, "mallopt"):
        library.mallopt(M_TRIM_THRESHOLD, FREED_BYTES_KEPT)
        library.mallopt(M_MMAP_THRESHOLD, HEAP_BLOCK_BYTES_MAX)
    faulthandler.enable()
    sys.excepthook = traceback.print_exception  # Python 3.12's own shows no lines that keep_lines() keeps.
    sys.path[:] = [entry for entry in sys.path if not entry.startswith("/proc/")]
    say({"ready": True})
    for requests in requests_together():
        parts.function_form.scripts.look_again()
        for request in requests:
            if parts.reference_reads.is_stale():
                return say({"stale": True})
            send(answer(request))


CONTROL = move_descriptors()
messages = load_parts({"reference_message": PARTS.pop("reference_message")}).reference_message
try:
    import faulthandler

    parts = load_parts(PARTS, reference_message=messages)
    parts.reference_arena.arena.first = CONTROL + 1
except ImportError as missing:
    say({"fatal": f"{sys.executable} cannot import {missing.name or 'numpy'}: {missing}"})
    sys.exit(1)
main()
