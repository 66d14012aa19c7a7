// Parses declarations of ops and kernels.
#include "ops/registered/declaration.h"

#include <algorithm>
#include <cctype>

#include "common/base/files.h"
#include "common/base/text.h"

namespace gpuemu {
namespace {

constexpr AttributeType kFieldTypes[] = {AttributeType::Int32, AttributeType::Int64,
                                         AttributeType::Float32, AttributeType::Float64};

Error wrong(const std::string& what) { return error(ErrorCode::InvalidArgument, "{}", what); }

/// Returns the parts between separators, trimmed.
std::vector<std::string_view> parts_of(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t end = text.find(separator);
    parts.push_back(trimmed(text.substr(0, end)));
    if (end == text.npos) return parts;
    text.remove_prefix(end + 1);
  }
}

bool is_name(std::string_view text) {
  return !text.empty() && !std::isdigit(static_cast<unsigned char>(text[0])) &&
         std::ranges::all_of(
             text, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; });
}

std::optional<size_t> rank_of(std::string_view text) {
  if (text.size() != 1 || text[0] < '0' || text[0] > '8') return std::nullopt;
  return static_cast<size_t>(text[0] - '0');
}

Result<OperandSpec> operand_of(const std::string& text) {
  const auto complain = [&] {
    return wrong(
        fmt::format("operand \"{}\": expected a text such as \"x: T\", \"index: I, rank 1\" "
                    "or \"w: T, rank 2 to 4\"",
                    text));
  };
  const size_t colon = text.find(':');
  if (colon == text.npos) return complain();
  const std::string_view name = trimmed(std::string_view(text).substr(0, colon));
  const auto parts = parts_of(std::string_view(text).substr(colon + 1), ',');
  if (!is_name(name) || parts.size() > 2 || parts[0].size() != 1 || parts[0][0] < 'A' ||
      parts[0][0] > 'Z') {
    return complain();
  }
  OperandSpec made{.name = std::string(name), .type = parts[0][0]};
  if (parts.size() == 1) return made;
  if (!parts[1].starts_with("rank ")) return complain();
  const std::string_view ranks = trimmed(parts[1].substr(5));
  const size_t to = ranks.find(" to ");
  const auto low = rank_of(ranks.substr(0, to));
  const auto high = to == ranks.npos ? low : rank_of(trimmed(ranks.substr(to + 4)));
  if (!low || !high || *low > *high) return complain();
  made.rank_min = *low;
  made.rank_max = *high;
  return made;
}

/// Returns the letters of an op's operands, each once.
std::string letters_of(const OpKind& op) {
  std::string letters;
  for (const auto* list : {&op.inputs, &op.outputs}) {
    for (const OperandSpec& one : *list) {
      if (letters.find(one.type) == letters.npos) letters += one.type;
    }
  }
  return letters;
}

Result<std::vector<TypeRule>> types_of(const OpKind& op, const std::string& text) {
  const std::string letters = letters_of(op);
  std::vector<TypeRule> rules;
  for (const char letter : letters) {
    rules.push_back({letter, {DType::Float32, DType::Float16, DType::BFloat16, DType::Float64}});
  }
  if (trimmed(text).empty()) return rules;
  for (const std::string_view rule : parts_of(text, ';')) {
    const size_t colon = rule.find(':');
    const std::string_view letter = trimmed(rule.substr(0, colon));
    if (colon == rule.npos || letter.size() != 1 || letters.find(letter[0]) == letters.npos) {
      return wrong(
          fmt::format("types \"{}\": expected a letter of the op's operands ({}) and dtypes, as in "
                      "\"T: float32, float16\"",
                      rule, letters));
    }
    std::vector<DType> dtypes;
    for (const std::string_view name : parts_of(rule.substr(colon + 1), ',')) {
      const auto dtype = dtype_from_name(std::string(name));
      if (!dtype) {
        return wrong(fmt::format("types of {}: the dtype '{}' does not exist", letter, name));
      }
      dtypes.push_back(*dtype);
    }
    for (TypeRule& one : rules) {
      if (one.letter == letter[0]) one.dtypes = dtypes;
    }
  }
  return rules;
}

/// Returns whether the first significant line begins with .version.
bool is_ptx(std::string_view text) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    while (!line.empty() && std::isspace(static_cast<unsigned char>(line.front()))) {
      line.remove_prefix(1);
    }
    if (line.starts_with(".version")) return true;
    if (!line.empty() && !line.starts_with("//")) return false;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return false;
}

}  // namespace

Result<std::vector<AttributeField>> fields_of(const std::vector<FieldDeclaration>& declared) {
  std::vector<AttributeField> fields;
  for (const FieldDeclaration& one : declared) {
    if (!is_name(one.name)) {
      return wrong(fmt::format("schema: '{}' cannot be the name of a field", one.name));
    }
    const auto* const type = std::ranges::find(
        kFieldTypes, one.dtype, [](AttributeType each) { return std::string(name_of(each)); });
    if (type == std::end(kFieldTypes)) {
      return wrong(fmt::format("schema: '{}' is {}, expected int32, int64, float32 or float64",
                               one.name, one.dtype.empty() ? "of no dtype" : one.dtype));
    }
    fields.push_back({.name = one.name, .type = *type, .fallback = one.fallback});
  }
  return fields;
}

Result<OpKind> op_of(const OpDeclaration& declaration) {
  OpKind op{.name = declaration.name, .summary = declaration.summary, .inputs = {}, .outputs = {}};
  if (!is_name(op.name)) {
    return wrong(
        fmt::format("'{}' cannot be the name of an op: expected letters, digits and _", op.name));
  }
  for (const std::string& text : declaration.inputs) {
    op.inputs.push_back(GPUEMU_TRY(operand_of(text)));
  }
  for (const std::string& text : declaration.outputs) {
    op.outputs.push_back(GPUEMU_TRY(operand_of(text)));
  }
  op.schema.fields = GPUEMU_TRY(fields_of(declaration.fields));
  op.in_place = declaration.in_place;
  return op;
}

/// A source with one of these endings is a path; otherwise it is the source text.
constexpr std::string_view kFileEndings[] = {".cu", ".ptx"};

Result<KernelVariant> variant_of(const OpKind& op, const KernelDeclaration& declaration,
                                 std::string& text) {
  KernelVariant variant{.name = declaration.name,
                        .types = GPUEMU_TRY(types_of(op, declaration.types)),
                        .priority = declaration.priority,
                        .strided = declaration.strided,
                        .wide = declaration.wide,
                        .sm_min = declaration.sm_min};
  const std::string& source = declaration.source;
  const bool is_path = source.find('\n') == source.npos && source.find(';') == source.npos &&
                       std::ranges::any_of(kFileEndings, [&](const auto ending) {
                         return source.ends_with(ending);
                       });
  text = source;
  if (is_path) text = GPUEMU_TRY(read_file(source, kSourceBytesMax));
  if (text.find_first_not_of(" \t\r\n") == text.npos) return wrong("the source is empty");
  variant.source_is_ptx = is_ptx(text);
  variant.module = is_path ? source : declaration.name + (variant.source_is_ptx ? ".ptx" : ".cu");
  variant.source = text;
  for (const LaunchDeclaration& launch : declaration.launches) {
    variant.entries.push_back(launch.entry);
  }
  return variant;
}

}  // namespace gpuemu
