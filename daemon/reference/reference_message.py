"""Frames from and to the daemon. daemon/reference/reference_message.h describes them."""
import json
import struct

HEADER = struct.Struct("<4sII")
MAGIC, BEFORE_REST = b"gRef", 8
# Limits on kept forms. Requests with other attrs have other forms; longer ones hold texts of clients or names of a script.
FORMS_MAX, FORM_BYTES_MAX = 64, 1 << 16


class RequestForm:
    """What stays the same in requests, read once."""

    def __init__(self, text):
        self.fixed = json.loads(text)
        self.fixed["numbers"] = {name: float(number) for name, number in self.fixed["numbers"].items()}
        self.integers, self.as_kwargs = self.fixed.pop("integers"), self.fixed.pop("as_kwargs")
        self.inputs, self.judged = self.fixed.pop("inputs"), self.fixed.pop("judged")
        count = 2 + len(self.integers) + sum(1 + rank for _, _, rank in self.inputs + self.judged)
        self.numbers = struct.Struct(f"<{count}q")

    def request(self, content, offset):
        """The request whose numbers begin there."""
        arena, result_offset, *rest = self.numbers.unpack_from(content, offset)
        integers = dict(zip(self.integers, rest))
        inputs, end = placed(self.inputs, rest, len(self.integers))
        return {**self.fixed, "arena": arena, "result_offset": result_offset, "integers": integers, "inputs": inputs,
                "kwargs": {**self.fixed["kwargs"], **{name: str(integers[name]) for name in self.as_kwargs}},
                "judged": placed(self.judged, rest, end)[0]}


def placed(tensors, numbers, at):
    """The tensors with what the numbers from there on say, and where those end."""
    found = []
    for name, dtype, rank in tensors:
        end = at + 1 + rank
        found.append({"name": name, "dtype": dtype, "shape": numbers[at + 1:end], "offset": numbers[at]})
        at = end
    return found, at


request_forms, answer_forms = {}, {}


def kept(forms, key, make):
    """The form of a key, made once. One that is long is not kept."""
    form = forms.get(key)
    if form is None:
        form = make()
        if max(len(each) for each in (form, key) if isinstance(each, bytes)) > FORM_BYTES_MAX:
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


def frame(form, numbers=()):
    rest_bytes = HEADER.size - BEFORE_REST + len(form) + 8 * len(numbers)
    return HEADER.pack(MAGIC, rest_bytes, len(form)) + form + struct.pack(f"<{len(numbers)}q", *numbers)


def text_of(record):
    return json.dumps(record).encode()


def shapes_of(tensors):
    return tuple((tensor["name"], tensor["dtype"], len(tensor["shape"])) for tensor in tensors)


def answer_frame(answer):
    """The frame of an answer with outputs."""
    outputs, scales = shapes_of(answer["outputs"]), shapes_of(answer["scales"])
    numbers = []
    for tensor in answer["outputs"] + answer["scales"]:
        numbers += tensor["offset"], *tensor["shape"]
    predicates, reads = tuple(answer.get("predicates", ())), answer.get("reads")
    record = {"ok": True, "outputs": outputs, "scales": scales, "predicates": predicates,
              "function_form": answer["function_form"]}
    if reads:
        return frame(text_of({**record, "reads": reads}), numbers)
    key = outputs, scales, predicates, answer["function_form"]
    return frame(kept(answer_forms, key, lambda: text_of(record)), numbers)
