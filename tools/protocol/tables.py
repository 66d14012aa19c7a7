"""Reads the tables of the protocol; tools/make_protocol.py describes their format."""
import re
from dataclasses import dataclass, field

from protocol import macros

BUILTIN = ("text", "bool", "u64", "u32", "i64", "f64", "bytes", "tensor", "tensors", "dtype", "shape", "strides")
PRESENCES = ("required", "optional", "extra", "diff", "lower", "json", "beside")
PACES = ("quick", "long", "job")
# Properties of a request in addition to its pace, and their values.
TRAITS = {"about": ("daemon", "records"), "needs": ("device",)}
OPTIONS = ("as", "also", "in", "optional_with", "max", "finite", "holds")


class TableError(Exception):
    """An error in a table, with its place."""


@dataclass
class Member:
    name: str
    type: str
    presence: str
    default: str = ""
    options: dict = field(default_factory=dict)
    doc: str = ""

    @property
    def wire(self):
        return self.options.get("as", self.name)


@dataclass
class Enumerator:
    name: str
    wire: str
    also: str
    doc: str


@dataclass
class Enum:
    name: str
    parse: str
    rows: list = field(default_factory=list)
    doc: str = ""


@dataclass
class Record:
    """kind: record, request or reply. reply, pace, capability, about, needs: for requests. python:
    module and class; with `methods` the class has methods in gpuemu.client.extras."""

    kind: str
    name: str
    doc: str = ""
    members: list = field(default_factory=list)
    reply: str = ""
    pace: str = ""
    capability: str = ""
    about: str = ""
    needs: str = ""
    python: str = ""
    python_doc: str = ""
    methods: bool = False

    @property
    def struct(self):
        """Its name in C++."""
        return self.name + {"record": "", "request": "Request", "reply": "Reply"}[self.kind]


@dataclass
class Constant:
    name: str
    value: str
    doc: str = ""


@dataclass
class Capability:
    name: str
    doc: str = ""


@dataclass
class Table:
    """One file. name: "requests" for requests.def; intro: the comment at its top."""

    name: str
    intro: str = ""
    items: list = field(default_factory=list)


@dataclass
class Protocol:
    tables: list
    # Name of a record or enum to the name of its table or header.
    home: dict = field(default_factory=dict)

    def all(self, kind):
        return [one for table in self.tables for one in table.items if isinstance(one, kind)]

    def records(self, kind):
        return [one for one in self.all(Record) if one.kind == kind]


def element(type_name):
    """Returns the type inside T?, T[] and T{}."""
    return re.sub(r"(\?|\[\]|\{\})+$", "", type_name)


JOB_MEMBERS = (
    Member("stream", "bool", "extra", doc="Run as a job and answer with JobStarted at once."),
    Member("lease_ms", "u64?", "extra", doc="As in JobStatusRequest."),
)


class Reader:
    """Reads one table, line by line."""

    def __init__(self, path):
        self.path, self.number, self.table = path, 0, Table(path.stem)
        self.item, self.row, self.externs = None, None, {}

    def fail(self, what):
        raise TableError(f"{self.path.name}:{self.number}: {what}")

    def read(self):
        intro = True
        for self.number, line in enumerate(self.path.read_text().splitlines(), 1):
            if line.startswith("#"):
                self.table.intro += line[1:].strip() + " " if intro else ""
                continue
            intro = False
            if not line.strip() or line.lstrip().startswith("#"):
                continue
            if line.startswith("    | "):
                self.describe(self.row, line)
            elif line.startswith("  | "):
                self.describe(self.item, line)
            elif line.startswith("  > "):
                self.item.python_doc += f" {line[4:].strip()}"
            elif line.startswith("  "):
                self.read_row(line)
            else:
                self.read_head(line)
        return self.table

    def describe(self, what, line):
        if what is None:
            self.fail("a description of nothing")
        what.doc = f"{what.doc} {line.strip()[2:].strip()}".strip()

    def split(self, line):
        """Returns words, options and comment. A value after = is one word."""
        code, _, doc = line.partition(" |")
        code, _, default = code.partition(" = ")
        words, rest = code.split(), []
        while default and (found := re.search(r"\s(\w+=\S+)$", default)):
            rest.insert(0, found[1])
            default = default[:found.start()].rstrip()
        options = {}
        for word in [word for word in words if "=" in word] + rest:
            key, _, value = word.partition("=")
            options[key] = value
        return [word for word in words if "=" not in word], default.strip(), options, doc.strip()

    def read_head(self, line):
        words, value, options, doc = self.split(line)
        kind, name = words[0], words[1] if len(words) > 1 else self.fail("a name is missing")
        self.row = None
        if kind == "constant":
            self.item = Constant(name, value, doc)
        elif kind == "capability":
            self.item = Capability(name, doc)
        elif kind == "enum":
            snake = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
            self.item = Enum(name, options.get("parse", f"{snake}_from_name"))
            if "rows" in options:
                self.read_macros(options["rows"])
        elif kind in ("record", "reply"):
            self.item = Record(kind, name, python=options.get("python", ""), methods="methods" in options)
        elif kind == "extern" and len(words) == 3:
            self.externs[name] = words[2]
            return
        elif kind == "request" and len(words) == 5 and words[2] == "->" and words[4] in PACES:
            self.item = Record(kind, name, reply=words[3], pace=words[4], capability=options.pop("capability", ""))
            for trait, value in options.items():
                if value not in TRAITS.get(trait, ()):
                    self.fail(f"request {name}: '{trait}={value}' is not known, expected capability=.. or one of "
                              + ", ".join(f"{one}={word}" for one, words in TRAITS.items() for word in words))
                setattr(self.item, trait, value)
        else:
            self.fail(f"'{line}' is no item; expected one of those that tools/make_protocol.py describes")
        self.table.items.append(self.item)

    def read_macros(self, source):
        """Reads enumerators of a table that C++ also includes: GPUEMU_X(enumerator, other name, comment,
        ...)."""
        macro = f"GPUEMU_{source.removesuffix('.def').removesuffix('s').upper()}"
        try:
            rows = macros.rows_of(self.path.with_name(source), macro)
        except (OSError, macros.RowError) as problem:
            self.fail(str(problem))
        if not rows or any(len(row) < 3 for row in rows):
            self.fail(f"{source}: expected rows {macro}(enumerator, other name, comment, ...)")
        self.item.rows = [Enumerator(row[0], row[0], row[1], row[2]) for row in rows]

    def read_row(self, line):
        words, value, options, doc = self.split(line)
        if isinstance(self.item, Enum) and len(words) == 1:
            self.row = Enumerator(words[0], value or words[0], options.get("also", ""), doc)
            self.item.rows.append(self.row)
        elif isinstance(self.item, Record) and words == ["job"]:
            self.item.members += JOB_MEMBERS
        elif isinstance(self.item, Record) and len(words) == 3:
            name, type_name, presence = words
            if presence not in PRESENCES:
                self.fail(f"member '{name}': unknown presence '{presence}', expected one of {', '.join(PRESENCES)}")
            for option in options:
                if option not in OPTIONS:
                    self.fail(f"member '{name}': unknown option '{option}', expected one of {', '.join(OPTIONS)}")
            if name in [one.name for one in self.item.members]:
                self.fail(f"member '{name}' is there twice")
            self.row = Member(name, type_name, presence, value, options, doc)
            self.item.members.append(self.row)
        else:
            self.fail(f"'{line.strip()}' is no row here; a member is: name type presence")


def check(protocol):
    """Checks what a single line cannot show: that names are declared in other lines."""
    capabilities = {one.name for one in protocol.all(Capability)}
    replies = {one.name for one in protocol.records("reply")}
    known = set(BUILTIN) | set(protocol.home)
    for table, record in ((table, one) for table in protocol.tables for one in table.items if isinstance(one, Record)):
        where = f"{table.name}.def: {record.kind} {record.name}"
        nested = {name.split(".")[1] for name in known if name.startswith(record.name + ".")}
        for member in record.members:
            if element(member.type) not in known | nested:
                raise TableError(f"{where}: member '{member.name}' has the unknown type '{member.type}'")
        if record.kind == "request" and record.reply not in replies:
            raise TableError(f"{where}: there is no reply {record.reply}")
        if record.capability and record.capability not in capabilities:
            raise TableError(f"{where}: there is no capability {record.capability}")


def read(paths):
    protocol = Protocol([])
    for path in paths:
        reader = Reader(path)
        table = reader.read()
        protocol.home |= reader.externs
        for item in table.items:
            if isinstance(item, Record) and item.pace == "job" and JOB_MEMBERS[0] not in item.members:
                item.members += JOB_MEMBERS
            if isinstance(item, (Enum, Record)):
                name = item.struct if isinstance(item, Record) else item.name
                if name in protocol.home:
                    raise TableError(f"{path.name}: {name} is declared twice")
                protocol.home[name] = table.name
        protocol.tables.append(table)
    check(protocol)
    return protocol
