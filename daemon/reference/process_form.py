"""The process form: a script that reads one JSON object and writes one, run in a forked child."""
import ast
import base64
import json
import os
import runpy
import selectors
import signal
import sys
import time
import traceback

from reference_arena import Writer, packed_bytes
from reference_common import (OWN_PID, ITEM_BYTES, OUTPUT_BYTES_MAX, Failure, Tail, count_of, memory_note,
                         script_error, with_output)
from reference_message import Answer
from reference_reads import reads_of

DRAIN_SECONDS = 0.2  # After its end a script's grandchildren may hold its pipes open: wait no longer.


def strides_of(shape):
    strides, step = [], 1
    for size in reversed(shape):
        strides.insert(0, step)
        step *= size
    return strides


def case_document(request):
    inputs = {}
    for tensor in request.inputs():
        inputs[tensor.name] = {
            "shape": tensor.shape, "strides": strides_of(tensor.shape),
            "dtype": tensor.dtype,
            "data": base64.b64encode(packed_bytes(tensor)).decode("ascii")}
    return json.dumps({"inputs": inputs, "kwargs": request.kwargs()}).encode()


def become_script(path, pipes, report):
    """In the child: what `python3 path` does, without starting an interpreter. At its end `report` has what it read."""
    code, reads = 1, reads_of(path)
    try:
        os.setpgid(0, 0)
        for number, pipe in enumerate(pipes):
            os.dup2(pipe, number)
        os.closerange(3, report)
        os.closerange(report + 1, 1024)
        for number in (signal.SIGINT, signal.SIGPIPE):
            signal.signal(number, signal.SIG_DFL)
        sys.stdin = sys.__stdin__ = open(0, "r", encoding="utf-8")
        sys.stdout = sys.__stdout__ = open(1, "w", encoding="utf-8")
        sys.stderr = sys.__stderr__ = open(2, "w", encoding="utf-8", buffering=1,
                                           errors="backslashreplace")
        sys.argv = [path]
        sys.path[:0] = [os.path.dirname(path)]
        try:
            with reads:
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
        reads.told = None
        os.write(report, json.dumps(reads.record()).encode())
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
        self.report = os.memfd_create("gpuemu-reads")
        self.pid = os.fork()
        if self.pid == 0:
            become_script(path, theirs, self.report)
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
        self.keep_reads()
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


    def keep_reads(self):
        with open(self.report, "rb") as file:
            file.seek(0)
            text = file.read()
        reads_of(self.path).add(json.loads(text) if text else None)


def kill_orphans():
    """Daemons that a script left behind became our children: none of them outlives its case."""
    for _ in range(100):
        children = [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc")))
                    if parent_of(pid) == OWN_PID]
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
    if not isinstance(shape, list) or not all(type(size) is int and 0 <= size < 2**63 for size in shape):
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


def other_function(path):
    """A hint how to select a function of the script that is not named `reference`; '' without functions."""
    try:
        with open(path, "rb") as file:
            tree = ast.parse(file.read())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return ""
    names = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    return f'; or, to call {names[0]}(), reference = "{os.path.basename(path)}:{names[0]}"' if names else ""


def answer_tensors(output, names, path):
    if not output.strip():
        raise script_error("has no function named reference and wrote nothing to its standard output, "
                           "expected one of them: def reference(x, ...) or one JSON object" + other_function(path))
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
    path = request.form.script
    if not os.path.isfile(path):
        raise script_error(f"reference script {path} does not exist")
    run = Run(path, case_document(request), request.form.timeout_ms / 1000)
    try:
        try:
            run.pump()
        finally:
            run.finish()
        if os.WIFSIGNALED(run.status):
            raise script_error(f"was ended by signal {os.WTERMSIG(run.status)}")
        if os.WEXITSTATUS(run.status) != 0:
            note = memory_note(request) if "MemoryError" in run.errors.text() else ""
            raise script_error(f"ended with exit code {os.WEXITSTATUS(run.status)}, expected 0{note}")
        tensors = answer_tensors(b"".join(run.output), request.form.output_names, path)
    except Failure as failure:
        raise Failure(failure.code, with_output(f"{path}: {failure}", run.errors.text()))
    writer = Writer(request.result_offset)
    return Answer([writer.append(*tensor) for tensor in tensors], [], (), False)
