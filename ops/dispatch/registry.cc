// Stores ops by name, and refuses declarations that could only fail later.
#include "ops/dispatch/registry.h"

#include <algorithm>
#include <set>

#include "ops/dispatch/type_binding.h"

namespace gpuemu {
namespace {

Error wrong(const OpKind& op, const std::string& what) {
  return error(ErrorCode::InvalidArgument, "op '{}': {}", op.name, what);
}

Status check_operands(const OpKind& op) {
  if (op.outputs.empty()) return wrong(op, "it has no output");
  if (op.inputs.size() + op.outputs.size() > kTensorsMax) return wrong(op, "too many operands");
  for (const auto* list : {&op.inputs, &op.outputs}) {
    // An input that is changed in place is an output of the same name.
    std::set<std::string> names;
    for (const OperandSpec& operand : *list) {
      if (!names.insert(operand.name).second) {
        return wrong(op, fmt::format("two operands are called '{}'", operand.name));
      }
      if (operand.rank_min > operand.rank_max || operand.rank_max > kRankMax) {
        return wrong(op, fmt::format("operand '{}' has rank {} to {}", operand.name,
                                     operand.rank_min, operand.rank_max));
      }
    }
  }
  return ok_status();
}

Status check_schema(const OpKind& op) {
  const AttributeSchema& schema = op.schema;
  if (schema.fields.empty() != (schema.number == 0)) {
    return wrong(op, "a schema has a number and fields, or neither");
  }
  uint32_t since = 1;
  std::set<std::string> names;
  for (const AttributeField& field : schema.fields) {
    if (!names.insert(field.name).second) {
      return wrong(op, fmt::format("two attributes are called '{}'", field.name));
    }
    if (field.since < since || field.since > 255) {
      return wrong(op, fmt::format("attribute '{}' is of version {} behind version {}; fields are "
                                   "added at the end",
                                   field.name, field.since, since));
    }
    if (field.since > 1 && !field.fallback) {
      return wrong(op, fmt::format("attribute '{}' was added later and needs a default for the "
                                   "callers that do not know it",
                                   field.name));
    }
    since = field.since;
  }
  return ok_status();
}

}  // namespace

Status check_variant_declaration(const OpKind& op, const KernelVariant& variant) {
  const auto complain = [&](const std::string& what) {
    return wrong(op, fmt::format("variant '{}': {}", variant.name, what));
  };
  const bool is_librarys = !variant.library.empty();
  if (is_librarys && (variant.product == nullptr || !variant.entries.empty())) {
    return complain("a library's variant has a product and no entries");
  }
  if (!is_librarys && variant.plan == nullptr && variant.rules == nullptr) {
    return complain("it has no plan");
  }
  if (!is_librarys && variant.entries.empty()) return complain("it names no entry");
  std::string letters;
  for (const TypeRule& rule : variant.types) {
    if (rule.dtypes.empty()) return complain(fmt::format("no dtypes for '{}'", rule.letter));
    letters += rule.letter;
  }
  if (letters.size() > kTypeLettersMax) return complain("too many letters");
  for (const auto* list : {&op.inputs, &op.outputs}) {
    for (const OperandSpec& operand : *list) {
      if (letters.find(operand.type) != letters.npos) continue;
      return complain(
          fmt::format("no dtypes for '{}', the letter of {}", operand.type, operand.name));
    }
  }
  TypeBinding any;
  for (const TypeRule& rule : variant.types) any.bind(rule.letter, rule.dtypes.front());
  for (const std::string& pattern : variant.entries) {
    if (const auto name = entry_name(pattern, any); !name) return complain(name.error().message);
  }
  return ok_status();
}

Status check_operation(const OpKind& op) {
  if (op.name.empty()) return wrong(op, "it has no name");
  GPUEMU_TRY(check_operands(op));
  return check_schema(op);
}

Status check_declaration(const OpKind& op) {
  GPUEMU_TRY(check_operation(op));
  if (op.variants.empty()) return wrong(op, "it has no variant");
  std::set<std::string> names;
  for (const KernelVariant& variant : op.variants) {
    if (variant.name.empty() || !names.insert(variant.name).second) {
      return wrong(op, fmt::format("two variants are called '{}'", variant.name));
    }
    GPUEMU_TRY(check_variant_declaration(op, variant));
  }
  return ok_status();
}

OpRegistry OpRegistry::with_builtins() {
  OpRegistry registry;
  for (const OpKind* op : builtin_ops()) {
    const Status added = registry.add(*op);
    if (!added) check_failed(added.error().message.c_str(), __FILE__, __LINE__);
  }
  return registry;
}

Status OpRegistry::add(const OpKind& op) {
  GPUEMU_TRY(check_declaration(op));
  const auto at = std::ranges::lower_bound(ops_, op.name, {}, &OpKind::name);
  if (at != ops_.end() && (*at)->name == op.name) return wrong(op, "there is one of that name");
  const bool number_taken =
      op.schema.number != 0 && std::ranges::any_of(ops_, [&](const OpKind* other) {
        return other->schema.number == op.schema.number;
      });
  if (number_taken) {
    return wrong(op, fmt::format("attribute schema {} is another op's", op.schema.number));
  }
  ops_.insert(at, &op);
  return ok_status();
}

Result<const OpKind*> OpRegistry::find(std::string_view name) const {
  const auto at = std::ranges::lower_bound(ops_, name, {}, &OpKind::name);
  if (at != ops_.end() && (*at)->name == name) return *at;
  if (const OpKind* const added = find_added(name)) return added;
  std::set<std::string> names;
  for (const OpKind* op : ops_) names.insert(op->name);
  for (uint32_t i = static_cast<uint32_t>(ops_.size()) + 1; i <= count(); ++i) {
    if (const OpKind* const op = numbered(i)) names.insert(op->name);
  }
  std::string known;
  for (const std::string& one : names) known += (known.empty() ? "" : ", ") + one;
  return error(ErrorCode::NotFound, "no op '{}'; there are: {}", name, known);
}

std::vector<const KernelVariant*> by_priority(const OpKind& op) {
  std::vector<const KernelVariant*> variants;
  for (const KernelVariant& variant : op.variants) variants.push_back(&variant);
  std::ranges::stable_sort(variants, std::greater{}, &KernelVariant::priority);
  return variants;
}

}  // namespace gpuemu
