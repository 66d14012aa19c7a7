"""docs/reference/protocol.json and the table of requests in docs/reference/protocol.md."""
import json
import re

from protocol.tables import JOB_MEMBERS, Capability, Constant, Enum

BEGIN, END = "<!-- generated: requests (tools/make_protocol.py) -->", "<!-- end of generated -->"


def described(made, doc):
    return {**made, "doc": doc} if doc else made


def members_of(record):
    made = []
    for member in record.members:
        row = {"name": member.wire, "type": member.type, "presence": member.presence}
        row |= {"default": member.default} if member.default else {}
        row |= {name: value for name, value in member.options.items() if name != "as"}
        made.append(described(row, member.doc))
    return made


def document(protocol):
    requests = {}
    for one in protocol.records("request"):
        row = {"reply": one.reply, "pace": one.pace}
        row |= {"capability": one.capability} if one.capability else {}
        requests[one.name] = described({**row, "members": members_of(one)}, one.doc)
    return {
        "comment": "Written by tools/make_protocol.py, which says what the words mean, from common/protocol/tables/*.def.",
        "constants": {one.name: int(one.value.replace("'", "")) for one in protocol.all(Constant)},
        "capabilities": {one.name: one.doc for one in protocol.all(Capability)},
        "enums": {one.name: [row.wire for row in one.rows] for one in protocol.all(Enum)},
        "records": {one.name: described({"members": members_of(one)}, one.doc) for one in protocol.records("record")},
        "requests": requests,
        "replies": {one.name: described({"members": members_of(one)}, one.doc) for one in protocol.records("reply")},
    }


def names_of(members):
    return ", ".join(f"`{one.wire}`" for one in members)


def table(protocol):
    lines = [BEGIN, "| request | needs | takes too | reply | |", "| --- | --- | --- | --- | --- |"]
    for one in protocol.records("request"):
        own = [member for member in one.members if member not in JOB_MEMBERS]
        needed = [member for member in own if member.presence == "required" and "optional_with" not in member.options]
        rest = [member for member in own if member not in needed]
        job = " May be a job." if one.pace == "job" else ""
        lines.append(f"| `{one.name}` | {names_of(needed)} | {names_of(rest)} | `{one.reply}` | {one.doc}{job} |")
    return "\n".join([*lines, END])


def files(protocol, root):
    page = (root / "docs/reference/protocol.md").read_text()
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    text = json.dumps(document(protocol), indent=1, ensure_ascii=False)
    rows = re.sub(r"[{\[][^{}\[\]]*[}\]]", lambda row: " ".join(row[0].split()), text)  # A member takes a line.
    made = {"docs/reference/protocol.json": rows + "\n"}
    if begin and end:
        made["docs/reference/protocol.md"] = before + table(protocol) + after
    return made
