"""Generates the C++ side of the protocol's tables: structs, member lists, names."""
import re
import textwrap

from protocol.tables import BUILTIN, Capability, Constant, Enum, Record, element

FOLDER = "common/protocol"
CODEC = "common/codec"
WIDTH = 100
TYPES = {
    "text": "std::string", "bool": "bool", "u64": "uint64_t", "u32": "uint32_t", "i64": "int64_t", "f64": "double",
    "bytes": "std::vector<std::byte>", "tensor": "Tensor", "tensors": "NamedTensors", "dtype": "DType", "shape": "Shape",
    "strides": "Strides",
}
WORDS = {"lower": "lower_case", "json": "json_text"}


def type_of(name):
    for suffix, form in (("?", "std::optional<{}>"), ("[]", "std::vector<{}>"), ("{}", "std::map<std::string, {}>")):
        if name.endswith(suffix):
            return form.format(type_of(name.removesuffix(suffix)))
    return TYPES.get(name, name)


def initializer(member, protocol):
    """Returns the text after the member's name."""
    enums = {one.name: one for one in protocol.all(Enum)}
    base = element(member.type)
    scope = "DType" if base == "dtype" else base if base in enums else ""
    if member.default:
        value = re.sub(r"\b([A-Z]\w*)", rf"{scope}::\1", member.default) if scope else member.default
        return value if value.startswith("{") else f" = {value}"
    if member.type != base:
        return ""
    if scope:
        return " = DType::Float32" if scope == "DType" else f" = {scope}::{enums[base].rows[0].name}"
    return {"bool": " = false", "u64": " = 0", "u32": " = 0", "i64": " = 0", "f64": " = 0"}.get(member.type, "")


def comment(text, indent, mark="///"):
    return textwrap.wrap(text, WIDTH, initial_indent=f"{indent}{mark} ", subsequent_indent=f"{indent}{mark} ",
                         break_on_hyphens=False, break_long_words=False) if text else []


def commented(code, doc, indent):
    """Returns a declaration with its comment: on the same line if both fit, otherwise above it."""
    line = f"{indent}{code}"
    if doc and len(line) + 7 + len(doc) <= WIDTH:
        return [f"{line}  ///< {doc}"]
    declared = [line]
    if len(line) > WIDTH:
        declared = textwrap.wrap(code, WIDTH, initial_indent=indent, subsequent_indent=indent + "    ")
    return comment(doc, indent) + declared


def struct(record, protocol, nested, indent=""):
    lines = comment(record.doc, indent) + [f"{indent}struct {record.struct.split('.')[-1]} {{"]
    for one in nested:
        lines += struct(one, protocol, [], indent + "  ")
    for member in record.members:
        code = f"{type_of(member.type)} {member.name}{initializer(member, protocol)};"
        lines += commented(code, member.doc, indent + "  ")
    name = record.struct.split(".")[-1]
    return lines + [f"{indent}  bool operator==(const {name}&) const = default;", f"{indent}}};"]


def enumeration(enum):
    lines = comment(enum.doc, "") + [f"enum class {enum.name} {{"]
    for row in enum.rows:
        lines += commented(f"{row.name},", row.doc, "  ")
    last = f"inline constexpr {enum.name} kLast{enum.name} = {enum.name}::{enum.rows[-1].name};"
    return lines + [
        "};", last, "/// The name on the wire, and back.", f"const char* name_of({enum.name} value);",
        f"std::optional<{enum.name}> {enum.parse}(const std::string& name);",
    ]


def tables_with(kind, protocol):
    return {table.name for table in protocol.tables for one in table.items if isinstance(one, Record) and one.kind == kind}


def added_to(table, protocol):
    """Returns the tables whose requests or replies belong to the variant of this one."""
    kind = {"requests": "request", "replies": "reply"}.get(table.name)
    return tables_with(kind, protocol) - {table.name} if kind else set()


def includes_of(table, protocol):
    found = set()
    for record in (one for one in table.items if isinstance(one, Record)):
        for base in {element(member.type) for member in record.members}:
            if base == "dtype":
                found.add("common/numeric/dtype.h")
            elif base in ("tensor", "tensors", "shape", "strides"):
                found.add("common/tensor/tensor.h")
            elif base not in BUILTIN:
                home = protocol.home.get(base, table.name)
                if home != table.name:
                    found.add(home if home.endswith(".h") else f"{FOLDER}/{home}.gen.h")
    return sorted(found)


def head(purpose, source, includes, standard=()):
    lines = comment(purpose, "", "//")
    lines += [f"// Written by tools/make_protocol.py from {source}; edit that and run it again.",
              "// clang-format off", "#pragma once", ""]
    lines += [f"#include <{one}>" for one in standard] + ([""] if standard and includes else [])
    return lines + [f'#include "{one}"' for one in includes] + ["", "namespace gpuemu {", ""]


def tail():
    return ["}  // namespace gpuemu"]


def macro(name, purpose, rows):
    lines = comment(purpose, "", "//") + [f"#define {name}(X) \\"]
    return lines + [f"  X({row})" + (" \\" if i + 1 < len(rows) else "") for i, row in enumerate(rows)] + [""]


def variant(name, alternatives):
    body = textwrap.wrap(", ".join(alternatives) + ">;", WIDTH - 4)
    return [f"using {name} = std::variant<"] + [f"    {line}" for line in body] + [""]


def requests_part(protocol):
    requests = protocol.records("request")
    rows = [f'{one.name}, {one.reply}, {one.pace.capitalize()}, "{one.capability}", {(one.about or "project").capitalize()}, '
            f'{"true" if one.needs == "device" else "false"}' for one in requests]
    lines = macro("GPUEMU_REQUESTS", "X(name, reply, pace, capability, about, needs_device) of every request.", rows)
    lines += variant("RequestVariant", [one.struct for one in requests])
    names = ", ".join(f'"{one.name}"' for one in protocol.all(Capability))
    return lines + ["/// Pong.capabilities.", "inline constexpr const char* kCapabilities[] = {",
                    *textwrap.wrap(names, WIDTH, initial_indent="    ", subsequent_indent="    "), "};", ""]


def replies_part(protocol):
    replies = protocol.records("reply")
    return macro("GPUEMU_REPLIES", "X(name) of every reply.", [one.name for one in replies]) + variant("ReplyVariant", [one.struct for one in replies])


def variant_file(kind, body, protocol):
    """Returns the header of all requests or replies together; a user of a few of them includes only their tables."""
    includes = sorted(f"{FOLDER}/{name}.gen.h" for name in tables_with(kind, protocol))
    purpose = f"All {'requests' if kind == 'request' else 'replies'} together: a list for the preprocessor, and a variant."
    return head(purpose, "common/protocol/tables/*.def", includes, ("variant",)) + body + tail()


def structs_file(table, protocol):
    lines = head(table.intro, f"{table.name}.def", includes_of(table, protocol),
                 ("cstdint", "map", "optional", "string", "vector"))
    records = [one for one in table.items if isinstance(one, Record)]
    for item in table.items:
        if isinstance(item, Constant):
            lines += comment(item.doc, "") + [f"inline constexpr uint64_t {item.name} = {item.value};", ""]
        elif isinstance(item, Enum):
            lines += enumeration(item) + [""]
        elif isinstance(item, Record) and "." not in item.name:
            nested = [one for one in records if one.name.startswith(item.name + ".")]
            lines += struct(item, protocol, nested) + [""]
    return lines + tail()


def member_lines(member, owner):
    place = f"{owner}.{member.name}"
    if member.presence == "beside":
        return [f"  fields(v, {place});"]
    word = WORDS.get(member.presence, member.presence)
    lines = [f'  v.{word}("{member.wire}", {place});']
    if "optional_with" in member.options:
        there = f"r.{member.options['optional_with']}"
        lines = [f"  if ({there}) {{", f'    v.optional("{member.wire}", {place});', "  } else {", f'    v.required("{member.wire}", {place});', "  }"]
    if "also" in member.options:
        lines.append(f'  v.optional("{member.options["also"]}", {place});')
    if "max" in member.options:
        lines.append(f'  v.at_most("{member.wire}", {place}, {member.options["max"]});')
    return lines


def fields_of(record):
    """Returns the member list of one record, after those of the objects in it that are not records."""
    groups = {}
    for member in record.members:
        if "in" in member.options:
            groups.setdefault(member.options["in"], []).append(member)
    lines, done = [], set()
    body = []
    for member in record.members:
        group = member.options.get("in")
        if not group:
            body += member_lines(member, "r")
        elif group not in done:
            done.add(group)
            holder = record.name + "".join(word.capitalize() for word in group.split("_"))
            body += [f"  {holder}<R> {group}{{r}};", f'  v.required("{group}", {group});']
            lines += [f"/// {record.name}.{group}, an object of its own on the wire.", "template <typename R>",
                      f"struct {holder} {{", "  R& record;", "};", "template <typename V, typename R>",
                      f"void fields(V& v, const {holder}<R>& r) {{"]
            lines += [line for one in groups[group] for line in member_lines(one, "r.record")] + ["}", ""]
    name = record.struct.replace(".", "::")
    if not body:
        return [f"template <typename V, Is<{name}> R>", "void fields(V&, R&) {}", ""]
    return lines + [f"template <typename V, Is<{name}> R>", "void fields(V& v, R& r) {", *body, "}", ""]


def fields_file(table, protocol):
    used = sorted({element(member.type) for one in table.items if isinstance(one, Record) for member in one.members})
    enums = {one.name for one in protocol.all(Enum)}
    others = {protocol.home[base] for base in used if base in protocol.home and base not in enums} - {table.name}
    others |= added_to(table, protocol)
    includes = [f"{CODEC}/fields.h"] + [f"{CODEC}/fields_{one}.gen.h" for one in others if not one.endswith(".h")]
    includes += [f"{FOLDER}/{table.name}.gen.h"]
    if any("max" in member.options for one in table.items if isinstance(one, Record) for member in one.members):
        includes += ["common/base/limits.h", "common/base/service_limits.h"]
    purpose = f"Private to this folder: the members of the records of {table.name}.def. See fields.h for the words."
    lines = head(purpose, f"{table.name}.def", sorted(includes))
    for record in (one for one in table.items if isinstance(one, Record)):
        lines += fields_of(record)
    return lines + tail()


def enums_file(protocol):
    rows = [f"{one.name}, {one.parse}" for one in protocol.all(Enum)]
    lines = ["// Every enumeration of the wire.",
             "// Written by tools/make_protocol.py from common/protocol/tables/*.def; edit those and run it again.",
             "// clang-format off", "#pragma once", ""]
    return lines + macro("GPUEMU_WIRE_ENUMS", "X(enumeration, function that reads its name) of each.", rows)[:-1]


def names_file(protocol):
    homes = sorted({f"{FOLDER}/{table.name}.gen.h" for table in protocol.tables for one in table.items if isinstance(one, Enum)})
    lines = ["// The names of the enumerations of the wire.",
             "// Written by tools/make_protocol.py from common/protocol/tables/*.def; edit those and run it again.",
             "// clang-format off", *[f'#include "{one}"' for one in homes], "",
             f'#include "{FOLDER}/names.h"', "", "namespace gpuemu {", ""]
    for enum in protocol.all(Enum):
        names = ", ".join(f'"{row.wire}"' for row in enum.rows)
        lines += [f"constexpr const char* k{enum.name}Names[] = {{",
                  *textwrap.wrap(names, WIDTH, initial_indent="    ", subsequent_indent="    "), "};",
                  f"const char* name_of({enum.name} value) {{ return name_among(k{enum.name}Names, value); }}",
                  f"std::optional<{enum.name}> {enum.parse}(const std::string& name) {{"]
        lines += [f'  if (name == "{row.also}") return {enum.name}::{row.name};' for row in enum.rows if row.also]
        lines += [f"  return value_among<{enum.name}>(k{enum.name}Names, name);", "}", ""]
    return lines + tail()


def files(protocol):
    """Returns the files to write: path in the repository -> content."""
    made = {}
    for table in protocol.tables:
        made[f"{FOLDER}/{table.name}.gen.h"] = structs_file(table, protocol)
        made[f"{CODEC}/fields_{table.name}.gen.h"] = fields_file(table, protocol)
    made[f"{FOLDER}/any_request.gen.h"] = variant_file("request", requests_part(protocol), protocol)
    made[f"{FOLDER}/any_reply.gen.h"] = variant_file("reply", replies_part(protocol), protocol)
    made[f"{CODEC}/enums.gen.h"] = enums_file(protocol)
    made[f"{FOLDER}/names.gen.cc"] = names_file(protocol)
    return {path: "\n".join(lines) + "\n" for path, lines in made.items()}
