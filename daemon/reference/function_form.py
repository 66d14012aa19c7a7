"""The function form: reference(**inputs) in this interpreter, on NumPy arrays."""
import ast
import functools
import importlib
import inspect
import os
import sys
import traceback
import types

import numpy

from reference_arena import Writer, arena
from reference_common import (OWN_FOLDER, OWN_PID, ITEM_BYTES, RESULT_BYTES_MAX, Failure, Tail, count_of, memory_note,
                         script_error, with_output)
from reference_message import Answer, Placed
from reference_reads import PROJECT, is_installed, keep_loaded, reads_of, stamp_or_none

LEAST, ARRAY = numpy.minimum.reduce, numpy.ndarray
FLOAT64, INT64 = numpy.dtype("float64"), numpy.dtype("int64")
DTYPES = {name: numpy.dtype(name) for name in ITEM_BYTES if name != "bfloat16"}
NAMES = {dtype: name for name, dtype in DTYPES.items()}  # Asking a dtype for its name takes microseconds.
WIDE_BYTES = 8  # float64 and int64, what results become.
# Compiled modules are matched to their sources by whole seconds, which is too coarse for files that are being edited.
sys.dont_write_bytecode = True
CONSTANTS = {"True": True, "False": False, "None": None}


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


def is_local(module, folder):
    """Whether it belongs to the project or lies beside a script. Extension modules do not count: they cannot be loaded
    a second time in one interpreter."""
    file = getattr(module, "__file__", None)
    if file and not file.endswith(".py"):
        return False
    places = [file] if file else list(getattr(module, "__path__", []))
    return any(isinstance(place, str) and place.startswith((folder, PROJECT)) and not is_installed(place)
               for place in places)


MODULE_NAME = "gpuemu_reference_"  # Of a script itself, with its number.
not_helpers = set(sys.modules)


class Script:
    """A loaded script and the modules of its own that it has imported. They are in sys.modules only while it runs:
    another folder's `common` is another module, and a changed file is loaded anew with all that import it."""

    def __init__(self, path, number):
        self.path, self.folder = path, os.path.join(os.path.dirname(path), "")
        self.name = f"{MODULE_NAME}{number}"
        self.module, self.tree, self.names, self.helpers, self.stamps = None, None, (), {}, {path: stamp_or_none(path)}
        self.reads = reads_of(path)
        self.reads.forget()

    def is_current(self):
        return self.reads.is_current() and all(
            stamp is not None and stamp_or_none(file) == stamp for file, stamp in self.stamps.items())

    def __enter__(self):
        sys.modules.update(self.helpers)
        self.count = len(sys.modules)

    def __exit__(self, *ignored):
        if len(sys.modules) != self.count:
            self.find_helpers()
        for name in self.helpers:
            sys.modules.pop(name, None)

    def find_helpers(self):
        for name in sys.modules.keys() - not_helpers:
            module = sys.modules[name]
            if name.startswith(MODULE_NAME) or not is_local(module, self.folder):
                not_helpers.add(name)
                keep_loaded(module)
                continue
            self.helpers[name] = module
            if getattr(module, "__file__", None):
                self.stamps[module.__file__] = stamp_or_none(module.__file__)

    def parse(self):
        with open(self.path, "rb") as file:
            source = file.read()
        try:
            self.tree = ast.parse(source, self.path)
        except (SyntaxError, ValueError, RecursionError) as failure:
            raise script_error(f"does not parse: {failure}")
        self.names = list(bound_names(self.tree.body))

    def load(self):
        module = types.ModuleType(self.name)
        module.__file__ = self.path
        sys.modules[self.name] = module
        importlib.invalidate_caches()  # A helper may have been written a moment ago.
        try:
            with self, self.reads:
                exec(compile(self.tree, self.path, "exec"), module.__dict__)
        except BaseException:
            del sys.modules[self.name]
            raise
        self.module = module

    def has(self, function):
        """Loads the script. Without a `reference` it is not loaded and must run as a process."""
        if function not in self.names:
            if function == "reference":
                return False
            functions = [node.name for node in self.tree.body if isinstance(node, ast.FunctionDef)]
            raise script_error(f"has no function `{function}`; it has: "
                               f"{', '.join(functions) or 'none'}")
        if self.module is None:
            self.load()
        if not callable(getattr(self.module, function, None)):
            raise script_error(f"reference script {self.path}: `{function}` is not a function")
        return True


class Scripts:
    """Loaded scripts by path."""

    def __init__(self):
        self.loaded, self.loads, self.seen = {}, 0, set()

    def look_again(self):
        """Files may have changed since. Requests that came at once see the same files."""
        self.seen.clear()

    def current(self, path):
        script = self.loaded.get(path)
        if path in self.seen:
            return script
        if script is None or not script.is_current():
            self.loads += 1
            try:
                script = Script(path, self.loads)
                script.parse()
            except OSError as failure:
                if failure.filename != path:
                    raise
                raise script_error(f"reference script {path}: {failure.strerror}")
            if path in self.loaded:
                sys.modules.pop(self.loaded[path].name, None)
            self.loaded[path] = script
        self.seen.add(path)
        return script


scripts = Scripts()


def array_of(tensor, raw):
    """A read-only copy: what a script keeps or changes is never the arena."""
    _, dtype, shape, offset = tensor
    stored, count = DTYPES["uint16" if dtype == "bfloat16" else dtype], count_of(shape)
    arena.check(offset, count * stored.itemsize)
    array = ARRAY(shape, stored, arena.map, offset) if count else numpy.empty(shape, stored)
    if dtype == "bfloat16":
        array = (array.astype(numpy.uint32) << 16).view(numpy.float32)
        if not raw:
            array = array.astype(FLOAT64)
    elif raw or dtype in ("bool", "uint64"):
        array = array.copy()
    else:
        array = array.astype(FLOAT64 if stored.kind == "f" else INT64)
    array.setflags(write=False)
    return array


class Signature:
    """What a function wants to be called with."""

    def __init__(self, function):
        parameters = inspect.signature(function).parameters.values()
        asked = [one for one in parameters if one.kind not in (one.VAR_KEYWORD, one.VAR_POSITIONAL)]
        self.names = [one.name for one in asked]
        self.required = {one.name for one in asked if one.default is one.empty}
        self.positional = [one.name for one in asked if one.kind == one.POSITIONAL_ONLY]
        self.takes_all = any(one.kind == one.VAR_KEYWORD for one in parameters)


@functools.lru_cache(maxsize=64)
def signature_of(function):
    """Of a function that scripts keep: reading a signature takes longer than most cases."""
    return Signature(function)


class Call:
    """A function, and those of the values of a request that its signature names."""

    def __init__(self, function, values, what):
        try:
            wanted = signature_of(function)
        except TypeError:  # Something callable that has no hash.
            wanted = Signature(function)
        if not values.keys() >= wanted.required:
            missing = next(name for name in wanted.names if name in wanted.required and name not in values)
            raise script_error(f"{what} has the parameter `{missing}`, which the case does "
                               f"not have; it has: {', '.join(sorted(values))}")
        given = list(values) if wanted.takes_all else [name for name in wanted.names if name in values]
        self.function = function
        self.positional = [name for name in wanted.positional if name in values]
        self.named = [name for name in given if name not in self.positional]

    def __call__(self, values):
        positional = [values[name] for name in self.positional]
        return self.function(*positional, **{name: values[name] for name in self.named})


def call_with(function, values, what, form):
    """Calls with those of `values` that the signature names. Requests of one form have values of the same names."""
    call = form.calls.get(what)
    if call is None or call.function is not function:
        call = form.calls[what] = Call(function, values, what)
    return call(values)


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
        raise script_error(f"{what} returned {len(parts)} arrays, but gpuemu.toml declares {len(names)}: "
                           f"{', '.join(names)}; expected one for each output")
    if not names:
        names = ["output"] if len(parts) == 1 else [f"output{i}" for i in range(len(parts))]
    return list(zip(names, parts))


def normal(value, what, name):
    """As float64, int64 (uint64 where the values need it) or bool."""
    if type(value) is ARRAY and value.dtype is FLOAT64 and value.nbytes <= RESULT_BYTES_MAX:
        return value  # What most references return.
    what = f"{what} for {name}"
    if value is None:
        raise script_error(f"{what} returned None; expected an array: is a `return` missing?")
    if isinstance(value, numpy.ma.MaskedArray):
        if numpy.ma.is_masked(value):
            raise script_error(f"{what} returned a masked array; expected values for all elements: "
                               f"say what masked ones are with .filled(value)")
        value = value.data
    array = numpy.asarray(value)
    kind = array.dtype.kind
    if array.size * WIDE_BYTES > RESULT_BYTES_MAX:
        raise script_error(f"{what} has the shape {array.shape}, which needs more than "
                           f"{RESULT_BYTES_MAX} bytes")
    if kind == "f" or array.dtype.name in ("bfloat16", "float8_e4m3fn", "float8_e5m2"):
        array = array.astype(numpy.float64, copy=False)
    elif kind == "i" or (kind == "u" and (array.size == 0 or int(array.max()) < 2**63)):
        array = array.astype(numpy.int64, copy=False)
    elif kind not in "ub":
        raise script_error(f"{what} returned the dtype {array.dtype}; expected a float, an "
                           f"integer or a bool array")
    return array


def store(pairs, writer, what):
    """Straight into the shared memory, packed row-major whatever the array's own strides are."""
    stored = []
    for name, value in pairs:
        array = normal(value, what, name)
        dtype, shape = array.dtype, array.shape
        offset = writer.take(array.nbytes)
        if array.size:
            ARRAY(shape, dtype, arena.map, offset)[...] = array
        stored.append(Placed(name, NAMES.get(dtype) or str(dtype), shape, offset))
    return stored


def stored(output):
    """What store() has put there."""
    return ARRAY(output.shape, DTYPES[output.dtype], arena.map, output.offset)


def check_scale(name, scale, output, values):
    """Infinity, and NaN beside infinities, mean that nothing bounds the element. NaN everywhere would let everything pass."""
    if not scale.size or LEAST(scale, None) >= 0:
        return  # A NaN anywhere would be the least: there is none.
    below = scale < 0
    if below.any():
        place = [int(i) for i in numpy.argwhere(below)[0]]
        raise script_error(f"error_scale() for {name}: element {place} is {scale[tuple(place)]}; expected magnitudes, "
                           f"numbers from 0 on")
    judged = numpy.isfinite(stored(output))
    if judged.any() and numpy.isnan(scale[judged]).all() and all(numpy.isfinite(value).all() for value in values.values()):
        raise script_error(f"error_scale() for {name} is NaN in every element though all inputs are finite, so that "
                           f"no error would count; expected numbers, or infinity where nothing bounds the error")


def named_scales(answer, outputs):
    """The answer as (name, magnitudes) pairs: a dict names those that it has, a tuple has one for every output or for every output of floats."""
    names = [output.name for output in outputs]
    if isinstance(answer, dict):
        unknown = [str(name) for name in answer if name not in names]
        if unknown:
            raise script_error(f"error_scale() returned {', '.join(unknown)}; the outputs are {', '.join(names)}")
        pairs = list(answer.items())
    else:
        floats = [output.name for output in outputs if output.dtype.startswith("float")]
        parts = len(answer) if isinstance(answer, (tuple, list)) else 1
        pairs = by_name(answer, floats if parts == len(floats) else names, "error_scale()")
    return [(name, value) for name, value in pairs if value is not None]


def scales_of(error_scale, values, outputs, writer, form):
    answer = call_with(error_scale, values, "error_scale()", form)
    if len(outputs) == 1 and type(answer) is ARRAY:  # As most give them.
        pairs = [(outputs[0].name, answer)]
    else:
        pairs = named_scales(answer, outputs)
    by_output = {output.name: output for output in outputs}
    spread = []
    for name, value in pairs:
        output = by_output[name]
        try:
            array = numpy.asarray(value, FLOAT64)
            if array.shape != output.shape:
                array = numpy.broadcast_to(array, output.shape)
            check_scale(name, array, output, values)
            spread.append((name, array))
        except (TypeError, ValueError) as failure:
            raise script_error(f"error_scale() for {name}: {failure}; the output's shape is {output.shape}")
    return store(spread, writer, "error_scale()")


def number_or_text(text):
    """What a client meant by an argument that it had to send as text."""
    if text in CONSTANTS:
        return CONSTANTS[text]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def verdict_of(predicate, tensor, raw):
    """Calls the predicate on the kernel's output; returns one bool per element."""
    name = tensor.name
    if not callable(predicate):
        raise script_error(f"the reference returned a predicate for {name}, and no longer did when it was asked again")
    said = numpy.asarray(predicate(array_of(tensor, raw)))
    if said.dtype != bool:
        raise script_error(f"the predicate for {name} returned {said.dtype}; expected True or False, for each element or "
                           f"for the output as a whole")
    try:
        return numpy.broadcast_to(said, tensor.shape)
    except ValueError:
        raise script_error(f"the predicate for {name} returned the shape {said.shape}, which does not fit the output's: "
                           f"{tensor.shape}")


def values_of(request, raw):
    """All that a function may name: integers before numbers before other arguments, and tensors before all of them."""
    form = request.form
    values = request.integers()
    for name, number in form.numbers.items():
        values.setdefault(name, number)
    for name, text in form.kwargs.items():
        if name not in values:
            values[name] = number_or_text(text)
    for tensor in request.inputs():
        values[tensor.name] = array_of(tensor, raw)
    return values


def run_function(module, request):
    form, raw = request.form, bool(getattr(module, "RAW", False))
    values = values_of(request, raw)
    writer, function = Writer(request.result_offset), form.function
    what = f"{function}()"
    answer = call_with(getattr(module, function), values, what, form)
    if type(answer) is ARRAY and len(form.output_names) == 1 and not form.judged:  # What most references return.
        outputs, predicates = store([(form.output_names[0], answer)], writer, what), ()
        return Answer(outputs, scales_for(module, form, values, outputs, writer), predicates, True)
    pairs = by_name(answer, form.output_names, what)
    if form.judged:
        predicates = dict(pairs)
        said = [(tensor.name, verdict_of(predicates.get(tensor.name), tensor, raw)) for tensor in request.judged()]
        return Answer(store(said, writer, "the predicate"), [], (), True)
    predicates = tuple(name for name, value in pairs if callable(value))
    if predicates and not form.may_judge:
        raise script_error(f"{function}() returned a function for {', '.join(predicates)}, which judges what a kernel of "
                           f"gpuemu.toml wrote; expected the values: this output came from a client")
    outputs = store([(name, value) for name, value in pairs if not callable(value)], writer, what)
    return Answer(outputs, scales_for(module, form, values, outputs, writer), predicates, True)


def scales_for(module, form, values, outputs, writer):
    """The error scales of the outputs, where they are wanted and the script has them."""
    if not form.want_scale:
        return []
    function = form.function
    error_scale = getattr(module, "error_scale" if function == "reference" else f"{function}_error_scale", None)
    return scales_of(error_scale, values, outputs, writer, form) if callable(error_scale) else []


def raised(path, failure, printed, note):
    """What a script raised, in one line with its own line; then what it printed and its frames, without ours."""
    frames = [frame for frame in traceback.extract_tb(failure.__traceback__) if not frame.filename.startswith(OWN_FOLDER)]
    told = "".join(traceback.format_exception_only(type(failure), failure)).strip()
    own = [frame.lineno for frame in frames if frame.filename == path]
    place = f" (line {own[-1]})" if own else ""
    if isinstance(failure, ValueError) and "read-only" in told:
        note = f"; inputs are read-only: write x = x.copy() and change that{note}"
    trace = "".join(traceback.format_list(frames[-8:])) if len(frames) > 1 else ""
    return with_output(f"{path} raised {told}{place}{note}", printed, trace)


folder_of = functools.lru_cache(maxsize=64)(os.path.dirname)
tail = Tail()


def fresh_tail():
    """Where the next call prints: the stream of the one before, which modules may have kept."""
    global tail
    if tail.closed:
        tail = Tail()
    tail.clear()
    return tail


def try_function(request):
    """The reply, or None when the script must run as a process."""
    path, printed = request.form.script, fresh_tail()
    before = sys.stdout, sys.stderr, list(sys.path)
    sys.stdout = sys.stderr = printed
    sys.path.insert(0, folder_of(path))
    try:
        with numpy.errstate(all="ignore"):
            script = scripts.current(path)
            if not script.has(request.form.function):
                return None
            with script, script.reads:
                return run_function(script.module, request)
    except Failure as failure:
        raise Failure(failure.code, with_output(f"{path}: {failure}", printed.text()))
    except SystemExit as end:
        raise script_error(with_output(f"{path} called sys.exit({end.code!r}); expected that it returns the outputs",
                                       printed.text()))
    except BaseException as failure:
        note = memory_note(request) if isinstance(failure, MemoryError) else ""
        raise script_error(raised(path, failure, printed.text(), note))
    finally:
        sys.stdout, sys.stderr = before[:2]
        sys.path[:] = before[2]
        if os.getpid() != OWN_PID:
            os._exit(0)  # A script forked and came back twice.
