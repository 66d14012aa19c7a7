#!/usr/bin/env python3
"""Writes the files generated from the tables of the protocol, common/protocol/tables/requests.def and
the others in TABLES.

usage: tools/make_protocol.py [--check]
Writes the C++ structs of X.def to X.gen.h, their member lists to fields_X.gen.h, the names of enumerations to
names.gen.cc and enums.gen.h, dataclasses of python/gpuemu/client, docs/reference/protocol.json, the table of requests
in docs/reference/protocol.md, and the kinds of findings in vscode-extension/src/core/kinds.gen.ts. --check writes nothing
and exits with 1 when one of these files is not what the tables say. Needs nothing but Python's standard library.

A table consists of items, each followed by its rows; a line that begins with # is a comment.

  constant kName = 1 | what it is             a number
  extern NAME header.h                        a record that is written by hand
  capability NAME | what it means             Pong.capabilities, in this order
  enum NAME [parse=function]                  rows: ENUMERATOR [= name on the wire] [also=other name] [| comment]
            [rows=Xs.def]                     or the rows GPUEMU_X(enumerator, other name, comment, ...) of that file
  record NAME [python=module.Class]           rows: members; its dataclass in gpuemu.client, without one a dict.
              [methods=yes]                   The class has methods in gpuemu.client.extras. Replies likewise
  request NAME -> REPLY PACE [capability=..]  rows: members; PACE: quick, long (may wait) or job (may also run as one)
          [about=daemon|records]              The daemon itself, or records that "*" lists of all projects; else one project
          [needs=device]                      runs cases, or compiles for the device that the project's settings name
  reply NAME                                  rows: members

An item's description follows as lines `  | text`, that of its dataclass, where it is another one, as `  > text`. A member is

  name type presence [= default] [option=..] [| comment]

where a comment that needs lines of its own follows as `    | text`. Members are sent in the order of the rows. The row
`job` of a request says where the members stand that every job has; without it they are the last.

  type      text, bool, u64, u32, i64, f64, bytes, tensor, tensors, dtype, shape, strides, a record or an enum;
            T? may be absent, T[] is a list, T{} an object of T by name
  presence  required  missing is an error; null reads as NaN where a number stands
            optional  missing or null leaves the member as it is; always sent
            extra     as optional, but sent only when it differs from the empty value: additions of this project
            diff      a number that is never sent as null: what is not finite becomes the largest double
            lower     an enumerator whose name is sent in lower case
            json      JSON text that is sent as JSON
            beside    a record whose members stand beside `type`
  option    as=NAME             what the member is called on the wire
            also=NAME           sent under this name too
            in=NAME             sent inside an object of this name, together with the neighbours that say so
            optional_with=NAME  optional instead of required where the member NAME is there
            finite=yes          a number that is never null, for Python
            holds=RECORD        what JSON text is, for Python
            max=CONSTANT        larger numbers are refused; a constant of common/base/service_limits.h
"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from protocol import cpp, documents, python, tables, typescript  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
TABLES = ("records", "artifacts", "evidence", "kernel_records", "ci", "replies", "errors", "requests", "storage", "sessions", "daemon", "tapes", "ranges")


def main(arguments):
    if arguments not in ([], ["--check"]):
        sys.exit(__doc__)
    try:
        protocol = tables.read([ROOT / f"common/protocol/tables/{name}.def" for name in TABLES])
    except tables.TableError as problem:
        sys.exit(f"make_protocol.py: {problem}")
    stale = []
    for path, text in {**cpp.files(protocol), **python.files(protocol), **documents.files(protocol, ROOT), **typescript.files(ROOT)}.items():
        path = ROOT / path
        if not path.exists() or path.read_text() != text:
            stale.append(path)
            if not arguments:
                path.write_text(text)
    for path in stale:
        print(f"{path.relative_to(ROOT)}: " + ("differs from the tables; run tools/make_protocol.py" if arguments else "written"))
    sys.exit(1 if arguments and stale else 0)


if __name__ == "__main__":
    main(sys.argv[1:])
