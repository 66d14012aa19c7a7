"""The warm Python behind ReferenceHost: computes expected outputs, one JSON line per request.

Descriptor 3 is the control socket, 4 the arena. What scripts print never reaches the socket.
"""
import ast, base64, collections, ctypes, inspect, io, json, mmap, os, runpy, selectors, signal
import sys, time, traceback, types

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")  # One host per lane: the lanes are the parallelism.

CONTROL, ARENA = 3, 4
OUTPUT_BYTES_MAX, ERROR_BYTES_MAX = int(sys.argv[1]), int(sys.argv[2])
HOST_PID = os.getpid()
PR_SET_CHILD_SUBREAPER = 36
DRAIN_SECONDS = 0.2  # After its end a script's grandchildren may hold its pipes open: wait no longer.
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


# --- arena ---------------------------------------------------------------------------------------

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


def count_of(shape):
    count = 1
    for size in shape:
        count *= size
    return count


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


# --- function form -------------------------------------------------------------------------------

def bound_names(body):
    """Names that module-level statements bind, without running them."""
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from (alias.asname or alias.name for alias in node.names)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (target.id for target in targets if isinstance(target, ast.Name))
        elif isinstance(node, (ast.If, ast.Try, ast.With)):
            for part in ("body", "orelse", "finalbody"):
                yield from bound_names(getattr(node, part, []))
            for handler in getattr(node, "handlers", []):
                yield from bound_names(handler.body)


class Scripts:
    """Loaded scripts by path; a changed file is loaded anew."""

    def __init__(self):
        self.loaded = {}

    def function_module(self, path):
        """The module, loaded; None when the script has no `reference` and must run as a process."""
        try:
            status = os.stat(path)
            stamp = (status.st_mtime_ns, status.st_size, status.st_ino)
            if self.loaded.get(path, (None,))[0] == stamp:
                return self.loaded[path][1]
            with open(path, "rb") as file:
                source = file.read()
        except OSError as failure:
            raise script_error(f"reference script {path}: {failure.strerror}")
        try:
            tree = ast.parse(source, path)
        except (SyntaxError, ValueError, RecursionError) as failure:
            raise script_error(f"reference script {path} does not parse: {failure}")
        module = None
        if "reference" in bound_names(tree.body):
            module = types.ModuleType(f"gpuemu_reference_{len(self.loaded)}")
            module.__file__ = path
            sys.modules[module.__name__] = module
            exec(compile(tree, path, "exec"), module.__dict__)
            if not callable(getattr(module, "reference", None)):
                raise script_error(f"reference script {path}: `reference` is not a function")
        self.loaded[path] = (stamp, module)
        return module


scripts = Scripts()


def array_of(tensor, raw):
    """A read-only copy: what a script keeps or changes is never the arena."""
    dtype, content = tensor["dtype"], packed_bytes(tensor)
    if dtype == "bfloat16":
        bits = numpy.frombuffer(content, numpy.uint16).astype(numpy.uint32)
        array = (bits << 16).view(numpy.float32)
        if not raw:
            array = array.astype(numpy.float64)
    else:
        array = numpy.frombuffer(content, dtype)
        if not raw and dtype not in ("bool", "uint64"):
            array = array.astype(numpy.float64 if array.dtype.kind == "f" else numpy.int64)
    array = array.reshape(tensor["shape"])
    array.flags.writeable = False
    return array


def call_with(function, values, what):
    """Calls with those of `values` that the signature names."""
    parameters = inspect.signature(function).parameters.values()
    positional, named = [], {}
    for parameter in parameters:
        if parameter.kind == parameter.VAR_KEYWORD:
            named.update(values)
        elif parameter.kind == parameter.VAR_POSITIONAL:
            continue
        elif parameter.name in values:
            if parameter.kind == parameter.POSITIONAL_ONLY:
                positional.append(values[parameter.name])
            else:
                named[parameter.name] = values[parameter.name]
        elif parameter.default is parameter.empty:
            raise script_error(f"{what} has the parameter `{parameter.name}`, which the case does "
                               f"not have; it has: {', '.join(sorted(values))}")
    for parameter in parameters:
        if parameter.kind == parameter.POSITIONAL_ONLY:
            named.pop(parameter.name, None)
    return function(*positional, **named)


def by_name(answer, names, what):
    """The answer as (name, array) pairs in declared order."""
    if isinstance(answer, dict):
        wanted = names or list(answer)
        missing = [name for name in wanted if name not in answer]
        if missing:
            raise script_error(f"{what} returned {sorted(answer)}, without {', '.join(missing)}")
        return [(name, answer[name]) for name in wanted]
    several = isinstance(answer, tuple) or (isinstance(answer, list) and len(names) > 1)
    parts = list(answer) if several else [answer]
    if names and len(parts) != len(names):
        raise script_error(f"{what} returned {len(parts)} arrays, declared are {len(names)}: "
                           f"{', '.join(names)}")
    if not names:
        names = ["output"] if len(parts) == 1 else [f"output{i}" for i in range(len(parts))]
    return list(zip(names, parts))


def normal(value, what):
    """float64, int64 (uint64 where the values need it) or bool, packed row-major."""
    if value is None:
        raise script_error(f"{what} returned None")
    array = numpy.asarray(value)
    kind = array.dtype.kind
    if kind == "f" or array.dtype.name in ("bfloat16", "float8_e4m3fn", "float8_e5m2"):
        array = array.astype(numpy.float64)
    elif kind == "i" or (kind == "u" and (array.size == 0 or int(array.max()) < 2**63)):
        array = array.astype(numpy.int64)
    elif kind not in "ub":
        raise script_error(f"{what} returned the dtype {array.dtype}; expected a float, an "
                           f"integer or a bool array")
    return numpy.ascontiguousarray(array).reshape(array.shape)


def store(pairs, writer, what):
    stored = []
    for name, value in pairs:
        array = normal(value, f"{what} for {name}")
        content = memoryview(array.reshape(-1)).cast("B") if array.size else b""
        stored.append(writer.append(name, str(array.dtype), array.shape, content))
    return stored


def scales_of(module, values, outputs, writer, names):
    pairs = by_name(call_with(module.error_scale, values, "error_scale()"), names, "error_scale()")
    spread = []
    for (name, value), output in zip(pairs, outputs):
        try:
            array = numpy.asarray(value, numpy.float64)
            spread.append((name, numpy.broadcast_to(array, output["shape"])))
        except (TypeError, ValueError) as failure:
            raise script_error(f"error_scale() for {name}: {failure}; the output's shape is "
                               f"{output['shape']}")
    return store(spread, writer, "error_scale()")


def run_function(module, request):
    raw = bool(getattr(module, "RAW", False))
    values = {name: float(text) for name, text in request["numbers"].items()}
    values.update(request["integers"])
    values.update((tensor["name"], array_of(tensor, raw)) for tensor in request["inputs"])
    writer, names = Writer(request["result_offset"]), request["output_names"]
    pairs = by_name(call_with(module.reference, values, "reference()"), names, "reference()")
    outputs = store(pairs, writer, "reference()")
    scales = []
    if request["want_scale"] and callable(getattr(module, "error_scale", None)):
        scales = scales_of(module, values, outputs, writer, [name for name, _ in pairs])
    return {"outputs": outputs, "scales": scales, "function_form": True}


def try_function(request):
    """The reply, or None when the script must run as a process."""
    path, printed = request["script"], Tail()
    before = sys.stdout, sys.stderr, list(sys.path)
    sys.stdout = sys.stderr = printed
    sys.path.insert(0, os.path.dirname(path))
    try:
        with numpy.errstate(all="ignore"):
            module = scripts.function_module(path)
            return None if module is None else run_function(module, request)
    except Failure as failure:
        raise Failure(failure.code, with_output(f"{path}: {failure}", printed.text()))
    except SystemExit as end:
        raise script_error(with_output(f"{path} called sys.exit({end.code!r}) in the function form",
                                       printed.text()))
    except BaseException as failure:
        trace = "".join(traceback.format_exception(failure, limit=-8))
        kind = type(failure).__name__
        raise script_error(with_output(f"{path} raised {kind}", printed.text(), trace))
    finally:
        sys.stdout, sys.stderr = before[:2]
        sys.path[:] = before[2]
        if os.getpid() != HOST_PID:
            os._exit(0)  # A script forked and came back twice.


# --- process form --------------------------------------------------------------------------------

def strides_of(shape):
    strides, step = [], 1
    for size in reversed(shape):
        strides.insert(0, step)
        step *= size
    return strides


def case_document(request):
    inputs = {}
    for tensor in request["inputs"]:
        inputs[tensor["name"]] = {
            "shape": tensor["shape"], "strides": strides_of(tensor["shape"]),
            "dtype": tensor["dtype"],
            "data": base64.b64encode(packed_bytes(tensor)).decode("ascii")}
    return json.dumps({"inputs": inputs, "kwargs": request["kwargs"]}).encode()


def become_script(path, pipes):
    """In the child: what `python3 path` does, without starting an interpreter."""
    code = 1
    try:
        os.setpgid(0, 0)
        for number, pipe in enumerate(pipes):
            os.dup2(pipe, number)
        os.closerange(3, 1024)
        for number in (signal.SIGINT, signal.SIGPIPE):
            signal.signal(number, signal.SIG_DFL)
        sys.stdin = sys.__stdin__ = open(0, "r", encoding="utf-8")
        sys.stdout = sys.__stdout__ = open(1, "w", encoding="utf-8")
        sys.stderr = sys.__stderr__ = open(2, "w", encoding="utf-8", buffering=1,
                                           errors="backslashreplace")
        sys.argv = [path]
        sys.path[:0] = [os.path.dirname(path)]
        try:
            runpy.run_path(path, run_name="__main__")
            code = 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
            if not isinstance(end.code, (int, type(None))):
                print(end.code, file=sys.stderr)
        except BaseException:
            traceback.print_exc(limit=-8)
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException:
        traceback.print_exc(limit=-8)
        code = code or 1
    finally:
        os._exit(code & 0xFF)


class Run:
    """One script in its own process group; its three pipes are pumped together."""

    def __init__(self, path, document, seconds):
        self.path, self.document, self.end = path, memoryview(document), time.monotonic() + seconds
        self.output, self.errors, self.output_bytes = [], Tail(), 0
        self.status, self.drain_end = None, None
        ours, theirs = [], []
        for reading in (False, True, True):
            read, write = os.pipe()
            ours.append(read if reading else write)
            theirs.append(write if reading else read)
        self.pid = os.fork()
        if self.pid == 0:
            become_script(path, theirs)
        try:
            os.setpgid(self.pid, self.pid)
        except OSError:
            pass  # The child has done it and may have gone on.
        for pipe in theirs:
            os.close(pipe)
        self.stdin, self.stdout, self.stderr = ours
        self.selector = selectors.DefaultSelector()
        for pipe, event in zip(ours, (selectors.EVENT_WRITE, selectors.EVENT_READ,
                                      selectors.EVENT_READ)):
            os.set_blocking(pipe, False)
            self.selector.register(pipe, event)
        if not document:
            self.close(self.stdin)

    def close(self, pipe):
        self.selector.unregister(pipe)
        os.close(pipe)

    def feed(self):
        try:
            self.document = self.document[os.write(self.stdin, self.document[:1 << 20]):]
        except BlockingIOError:
            return
        except OSError:
            self.document = self.document[:0]  # It does not want the rest, which is its right.
        if not self.document:
            self.close(self.stdin)

    def take(self, pipe):
        try:
            content = os.read(pipe, 1 << 20)
        except BlockingIOError:
            return
        if not content:
            self.close(pipe)
        elif pipe == self.stderr:
            self.errors.write(content.decode("utf-8", "backslashreplace"))
        else:
            self.output_bytes += len(content)
            if self.output_bytes > OUTPUT_BYTES_MAX:
                raise script_error(f"wrote more than {OUTPUT_BYTES_MAX} bytes to its standard output")
            self.output.append(content)

    def watch_end(self):
        if self.status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status, self.drain_end = status, time.monotonic() + DRAIN_SECONDS

    def pump(self):
        while self.selector.get_map() and any(pipe in self.selector.get_map()
                                              for pipe in (self.stdout, self.stderr)):
            self.watch_end()
            now = time.monotonic()
            if now >= self.end:
                raise Failure("Timeout", "did not answer within its time limit")
            if self.drain_end is not None and now >= self.drain_end:
                break
            for key, _ in self.selector.select(min(0.05, self.end - now)):
                if key.fd == self.stdin:
                    self.feed()
                else:
                    self.take(key.fd)
        while self.status is None:
            self.watch_end()
            if time.monotonic() >= self.end:
                raise Failure("Timeout", "closed its output but did not end within its time limit")
            if self.status is None:
                time.sleep(0.001)

    def finish(self):
        """Kills the group and whatever has been handed to us as its reaper."""
        for pipe in list(self.selector.get_map()):
            self.close(pipe)
        self.selector.close()
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except OSError:
            pass
        kill_orphans()


def kill_orphans():
    """Daemons that a script left behind became our children: none of them outlives its case."""
    for _ in range(100):
        children = [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc")))
                    if parent_of(pid) == HOST_PID]
        for pid in children:
            try:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
            except OSError:
                pass
        if not children:
            return


def parent_of(pid):
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[1])
    except (OSError, ValueError, IndexError):
        return 0


def checked_tensor(record, name):
    """(name, dtype, shape, bytes) of one tensor of the answer."""
    if not isinstance(record, dict):
        raise script_error(f"answer: {name} is not an object with shape, dtype and data")
    missing = [key for key in ("shape", "dtype", "data") if key not in record]
    if missing:
        raise script_error(f"answer: {name} has no {', '.join(missing)}")
    shape, dtype, data = record["shape"], record["dtype"], record["data"]
    if not isinstance(shape, list) or not all(type(size) is int and size >= 0 for size in shape):
        raise script_error(f"answer: shape of {name} is {str(shape)[:100]}, expected a list of "
                           f"integers from 0")
    if dtype not in ITEM_BYTES:
        raise script_error(f"answer: dtype of {name} is {str(dtype)[:100]!r}, expected one of "
                           f"{' '.join(ITEM_BYTES)}")
    try:
        content = base64.b64decode(data, validate=True)
    except (TypeError, ValueError) as failure:
        raise script_error(f"answer: data of {name} is not base64: {failure}")
    wanted = count_of(shape) * ITEM_BYTES[dtype]
    if len(content) != wanted:
        raise script_error(f"answer: data of {name} has {len(content)} bytes, shape {shape} of "
                           f"{dtype} needs {wanted}")
    return name, dtype, shape, content


def answer_tensors(output, names):
    if not output.strip():
        raise script_error("wrote nothing to its standard output, expected one JSON object")
    try:
        answer = json.loads(output)
    except (ValueError, RecursionError) as failure:
        start = output[:200].decode("utf-8", "backslashreplace")
        raise script_error(f"standard output is not one JSON object: {failure}; it begins {start!r}")
    if not isinstance(answer, dict):
        raise script_error(f"standard output is a JSON {type(answer).__name__}, expected an object")
    several = answer.get("outputs")
    if several is not None and not isinstance(several, dict):
        raise script_error("answer: `outputs` is not an object of tensors by name")
    if not several:
        if len(names) > 1:
            raise script_error(f"answer has no `outputs`, declared are {', '.join(names)}")
        return [checked_tensor(answer, names[0] if names else "output")]
    several = dict(several)
    if names and names[0] not in several and "data" in answer:
        several[names[0]] = answer
    missing = [name for name in names if name not in several]
    if missing:
        raise script_error(f"answer: `outputs` has {sorted(several)}, without {', '.join(missing)}")
    return [checked_tensor(several[name], name) for name in (names or several)]


def run_process(request):
    path = request["script"]
    if not os.path.isfile(path):
        raise script_error(f"reference script {path} does not exist")
    run = Run(path, case_document(request), request["timeout_ms"] / 1000)
    try:
        try:
            run.pump()
        finally:
            run.finish()
        if os.WIFSIGNALED(run.status):
            raise script_error(f"was ended by signal {os.WTERMSIG(run.status)}")
        if os.WEXITSTATUS(run.status) != 0:
            raise script_error(f"ended with exit code {os.WEXITSTATUS(run.status)}, expected 0")
        tensors = answer_tensors(b"".join(run.output), request["output_names"])
    except Failure as failure:
        raise Failure(failure.code, with_output(f"{path}: {failure}", run.errors.text()))
    writer = Writer(request["result_offset"])
    return {"outputs": [writer.append(*tensor) for tensor in tensors], "scales": [],
            "function_form": False}


# --- control -------------------------------------------------------------------------------------

def answer(request):
    try:
        reply = None if request["process_only"] else try_function(request)
        return {"ok": True, **(reply or run_process(request))}
    except Failure as failure:
        return {"ok": False, "code": failure.code, "message": str(failure)}
    except MemoryError:
        return {"ok": False, "code": "ResourceExhausted",
                "message": f"{request['script']}: out of memory in the reference"}
    except OSError as failure:
        return {"ok": False, "code": "Io", "message": f"{request['script']}: {failure}"}


def say(record):
    content = memoryview(json.dumps(record).encode() + b"\n")
    while content:
        content = content[os.write(CONTROL, content):]


def main():
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    faulthandler.enable()
    sys.path[:] = [entry for entry in sys.path if not entry.startswith("/proc/")]
    say({"ready": True})
    with open(CONTROL, "rb", buffering=1 << 16, closefd=False) as requests:
        for line in requests:
            say(answer(json.loads(line)))


try:
    import faulthandler

    import numpy
except ImportError as missing:
    say({"fatal": f"{sys.executable} cannot import numpy: {missing}"})
    sys.exit(1)
main()
