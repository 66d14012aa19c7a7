"""Frames from and to the daemon. daemon/reference/reference_message.h describes them."""
import json
import struct
import typing

HEADER = struct.Struct("<4sII")
MAGIC, BEFORE_REST = b"gRef", 8
# Limits on kept forms. Requests with other attrs have other forms; longer ones hold texts of clients or names of a script.
FORMS_MAX, FORM_BYTES_MAX = 64, 1 << 16


class Placed(typing.NamedTuple):
    """A tensor in the shared memory."""
    name: str
    dtype: str
    shape: tuple
    offset: int


class RequestForm:
    """What stays the same in requests, read once."""

    def __init__(self, text):
        said = json.loads(text)
        self.script, self.function, self.process_only = said["script"], said["function"], said["process_only"]
        self.inputs, self.judged, self.output_names = said["inputs"], said["judged"], said["output_names"]
        self.integers, self.as_kwargs, self.kwargs = said["integers"], said["as_kwargs"], said["kwargs"]
        self.numbers = {name: float(number) for name, number in said["numbers"].items()}
        self.want_scale, self.may_judge = said["want_scale"], said["may_judge"]
        self.memory_bytes, self.timeout_ms = said["memory_bytes"], said["timeout_ms"]
        self.judged_at = len(self.integers) + sum(1 + rank for _, _, rank in self.inputs)
        count = 2 + self.judged_at + sum(1 + rank for _, _, rank in self.judged)
        self.packed = struct.Struct(f"<{count}q")
        self.bytes = len(text)
        self.calls = {}  # What function_form.py works out once.

    def request(self, content, offset):
        """The request whose numbers begin there."""
        return Request(self, *self.packed.unpack_from(content, offset))


class Request:
    """A form and numbers. What most references do not ask for is made when it is asked for."""
    __slots__ = "form", "arena", "result_offset", "numbers"

    def __init__(self, form, arena, result_offset, *numbers):
        self.form, self.arena, self.result_offset, self.numbers = form, arena, result_offset, numbers

    def integers(self):
        return dict(zip(self.form.integers, self.numbers))

    def inputs(self):
        return placed(self.form.inputs, self.numbers, len(self.form.integers))

    def judged(self):
        return placed(self.form.judged, self.numbers, self.form.judged_at)

    def kwargs(self):
        integers = self.integers()
        return {**self.form.kwargs, **{name: str(integers[name]) for name in self.form.as_kwargs}}


def placed(tensors, numbers, at):
    """The tensors with what the numbers from there on say."""
    found = []
    for name, dtype, rank in tensors:
        end = at + 1 + rank
        found.append(Placed(name, dtype, numbers[at + 1:end], numbers[at]))
        at = end
    return found


request_forms, answer_forms = {}, {}


def kept(forms, key, make):
    """The form of a key, made once. One that is long is not kept."""
    form = forms.get(key)
    if form is None:
        form = make()
        if form.bytes > FORM_BYTES_MAX:
            return form
        if len(forms) >= FORMS_MAX:
            forms.clear()
        forms[key] = form
    return form


def requests_in(received):
    """The complete requests in these bytes, and the bytes behind them."""
    found, start = [], 0
    while len(received) - start >= HEADER.size:
        magic, rest_bytes, form_bytes = HEADER.unpack_from(received, start)
        if magic != MAGIC:
            raise SystemExit("the socket has bytes that do not begin a request: a script has read from it")
        end = start + BEFORE_REST + rest_bytes
        if end > len(received):
            break
        numbers = start + HEADER.size + form_bytes
        text = received[start + HEADER.size:numbers]
        found.append(kept(request_forms, text, lambda: RequestForm(text)).request(received, numbers))
        start = end
    return found, received[start:]


def frame(form):
    """A frame without numbers."""
    return HEADER.pack(MAGIC, HEADER.size - BEFORE_REST + len(form), len(form)) + form


def text_of(record):
    return json.dumps(record).encode()


class Answer(typing.NamedTuple):
    """What a script has given: lists of Placed, and the names of outputs that it judges itself."""
    outputs: list
    scales: list
    predicates: tuple
    function_form: bool


class AnswerForm:
    """All of the frames of answers that differ in numbers alone, up to the numbers."""

    def __init__(self, record):
        text = text_of(record)
        count = sum(1 + rank for _, _, rank in record["outputs"] + record["scales"])
        self.numbers = struct.Struct(f"<{count}q")
        self.before = HEADER.pack(MAGIC, HEADER.size - BEFORE_REST + len(text) + self.numbers.size, len(text)) + text
        self.bytes = len(text)

    def frame(self, numbers):
        return self.before + self.numbers.pack(*numbers)


def shapes_of(tensors):
    return tuple([(name, dtype, len(shape)) for name, dtype, shape, _ in tensors])


def answer_frame(answer, reads):
    """The frame of an answer with outputs, and with the files that were read if those are news."""
    numbers = []
    for _, _, shape, offset in answer.outputs + answer.scales:
        numbers += offset, *shape
    key = shapes_of(answer.outputs), shapes_of(answer.scales), answer.predicates, answer.function_form

    def make():
        record = dict(zip(Answer._fields, key))
        return AnswerForm({"ok": True, **record, "reads": reads} if reads else {"ok": True, **record})

    return (make() if reads else kept(answer_forms, key, make)).frame(numbers)
