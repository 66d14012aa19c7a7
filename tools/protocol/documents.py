"""Generates docs/reference/protocol.json, and in docs/reference/protocol.md the table of requests and
the list of those about projects."""
import json
import re

from protocol.tables import JOB_MEMBERS, TRAITS, Capability, Constant, Enum

END = "<!-- end of generated -->"


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
        row |= {name: getattr(one, name) for name in ("capability", *TRAITS) if getattr(one, name)}
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


def requests(protocol):
    lines = ["| request | needs | takes too | reply | |", "| --- | --- | --- | --- | --- |"]
    for one in protocol.records("request"):
        own = [member for member in one.members if member not in JOB_MEMBERS]
        needed = [member for member in own if member.presence == "required" and "optional_with" not in member.options]
        rest = [member for member in own if member not in needed]
        job = " May be a job." if one.pace == "job" else ""
        lines.append(f"| `{one.name}` | {names_of(needed)} | {names_of(rest)} | `{one.reply}` | {one.doc}{job} |")
    return lines


def listed(names):
    return ", ".join(f"`{name}`" for name in names[:-1]) + f" and `{names[-1]}`"


def projects(protocol):
    of = {about: [one.name for one in protocol.records("request") if one.about == about] for about in TRAITS["about"]}
    device = [one.name for one in protocol.records("request") if one.needs == "device"]
    return [
        f"- {listed(of['daemon'])} are about the daemon: they ignore `project` and are answered whatever the state of a project.",
        f"- `\"project\": \"*\"` in {listed(of['records'])} means all projects; each record of these replies has `project`, the id.",
        f"- Where no device fits the settings of a project, {listed(device)} are answered with `Error`.",
    ]


def page(text, protocol):
    """Returns the page with each generated part replaced."""
    for name, lines in {"requests": requests, "projects": projects}.items():
        before, begin, rest = text.partition(f"<!-- generated: {name} (tools/make_protocol.py) -->")
        _, end, after = rest.partition(END)
        if begin and end:
            text = before + "\n".join([begin, *lines(protocol), end]) + after
    return text


def files(protocol, root):
    path = "docs/reference/protocol.md"
    text = json.dumps(document(protocol), indent=1, ensure_ascii=False)
    # One member per line.
    rows = re.sub(r"[{\[][^{}\[\]]*[}\]]", lambda row: " ".join(row[0].split()), text)
    return {"docs/reference/protocol.json": rows + "\n", path: page((root / path).read_text(), protocol)}
