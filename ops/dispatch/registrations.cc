// Additions to the registry while a program runs.
#include <algorithm>
#include <atomic>
#include <deque>
#include <map>
#include <mutex>
#include <shared_mutex>

#include "ops/dispatch/registry.h"

namespace gpuemu {
namespace {

constexpr uint32_t kVersionsMax = 255;
/// First version of schemas with a variant's own fields; lower ones are those of ops.
constexpr uint32_t kOwnVersionsFrom = 128;
/// First schema number for added ops; lower ones are built in.
constexpr uint32_t kOwnNumbersFrom = 0x8000;

/// Schema numbers, the same in every context of the process.
struct SchemaNumbers {
  std::mutex mutex;
  std::map<std::string, uint32_t> by_op;
  /// By the op, and the fields from its first own one on.
  std::map<std::pair<std::string, std::string>, uint32_t> versions;
  std::map<std::string, uint32_t> versions_used;
};
SchemaNumbers& numbers() {
  static auto* const kAll = new SchemaNumbers;
  return *kAll;
}

uint32_t schema_number(const OpKind& op) {
  if (op.schema.number != 0) return op.schema.number;
  SchemaNumbers& all = numbers();
  const std::lock_guard lock(all.mutex);
  const auto next = static_cast<uint32_t>(kOwnNumbersFrom + all.by_op.size());
  return all.by_op.emplace(op.name, next).first->second;
}

Result<uint32_t> version_of(const std::string& op, const std::string& fields) {
  SchemaNumbers& all = numbers();
  const std::lock_guard lock(all.mutex);
  const auto known = all.versions.find({op, fields});
  if (known != all.versions.end()) return known->second;
  uint32_t& used = all.versions_used[op];
  if (kOwnVersionsFrom + used > kVersionsMax) {
    return error(ErrorCode::ResourceExhausted,
                 "the variants of '{}' have {} different attributes of their own, and there is no "
                 "number left: give them the same ones in the same order",
                 op, used);
  }
  const uint32_t version = kOwnVersionsFrom + used++;
  all.versions.emplace(std::pair(op, fields), version);
  return version;
}

Result<AttributeSchema> longer_schema(const OpKind& op, const KernelVariant& variant,
                                      std::vector<AttributeField> own) {
  AttributeSchema schema = op.schema;
  schema.number = schema_number(op);
  std::string fields;
  for (AttributeField& field : own) {
    if (!field.fallback) {
      return error(ErrorCode::InvalidArgument,
                   "op '{}', variant '{}': attribute '{}' needs a default, for calls that do not "
                   "know it",
                   op.name, variant.name, field.name);
    }
    if (std::ranges::any_of(schema.fields,
                            [&](const auto& one) { return one.name == field.name; })) {
      return error(ErrorCode::InvalidArgument,
                   "op '{}', variant '{}': there is an attribute '{}' already", op.name,
                   variant.name, field.name);
    }
    fields += fmt::format("{} {} {};", name_of(field.type), field.name, *field.fallback);
    field.since = GPUEMU_TRY(version_of(op.name, fields));
    schema.fields.push_back(std::move(field));
  }
  return schema;
}

}  // namespace

struct OpRegistry::Added {
  struct Kind {
    OpKind op;
    bool is_removed = false;
  };
  struct Variant {
    const OpKind* op = nullptr;
    KernelVariant variant;
    bool is_removed = false;
  };
  mutable std::shared_mutex mutex;  ///< Guards the lists. Elements never move.
  std::deque<Kind> kinds;
  std::deque<Variant> variants;
  std::atomic<uint64_t> generation = 1;
};

OpRegistry::OpRegistry() : added_(std::make_unique<Added>()) {}
OpRegistry::~OpRegistry() = default;
OpRegistry::OpRegistry(OpRegistry&&) noexcept = default;
OpRegistry& OpRegistry::operator=(OpRegistry&&) noexcept = default;

uint64_t OpRegistry::generation() const { return added_->generation; }

const OpKind* OpRegistry::numbered(uint32_t number) const {
  if (number == 0) return nullptr;
  if (number <= ops_.size()) return ops_[number - 1];
  const size_t index = number - ops_.size() - 1;
  const std::shared_lock lock(added_->mutex);
  if (index >= added_->kinds.size() || added_->kinds[index].is_removed) return nullptr;
  return &added_->kinds[index].op;
}

uint32_t OpRegistry::count() const {
  const std::shared_lock lock(added_->mutex);
  return static_cast<uint32_t>(ops_.size() + added_->kinds.size());
}

Result<uint32_t> OpRegistry::number_of(std::string_view name) const {
  const OpKind* const op = GPUEMU_TRY(find(name));
  const auto at = std::ranges::find(ops_, op);
  if (at != ops_.end()) return static_cast<uint32_t>(at - ops_.begin()) + 1;
  const std::shared_lock lock(added_->mutex);
  const auto added =
      std::ranges::find_if(added_->kinds, [&](const auto& one) { return &one.op == op; });
  return static_cast<uint32_t>(ops_.size() + static_cast<size_t>(added - added_->kinds.begin())) +
         1;
}

const OpKind* OpRegistry::find_added(std::string_view name) const {
  const std::shared_lock lock(added_->mutex);
  for (const Added::Kind& one : added_->kinds) {
    if (!one.is_removed && one.op.name == name) return &one.op;
  }
  return nullptr;
}

Result<uint32_t> OpRegistry::add_op(OpKind op) {
  if (!op.schema.fields.empty()) op.schema.number = schema_number(op);
  GPUEMU_TRY(check_operation(op));
  if (find(op.name)) {
    return error(ErrorCode::InvalidArgument, "op '{}': there is one of that name", op.name);
  }
  const std::unique_lock lock(added_->mutex);
  added_->kinds.push_back({std::move(op)});
  ++added_->generation;
  return static_cast<uint32_t>(ops_.size() + added_->kinds.size());
}

Status OpRegistry::remove_op(uint32_t number) {
  const std::unique_lock lock(added_->mutex);
  const size_t index = number - ops_.size() - 1;
  if (number <= ops_.size() || index >= added_->kinds.size() || added_->kinds[index].is_removed) {
    return error(ErrorCode::InvalidArgument, "op {} was not registered, or is removed already",
                 number);
  }
  Added::Kind& kind = added_->kinds[index];
  kind.is_removed = true;
  for (Added::Variant& one : added_->variants) {
    one.is_removed = one.is_removed || one.op == &kind.op;
  }
  ++added_->generation;
  return ok_status();
}

Result<const KernelVariant*> OpRegistry::add_variant(const OpKind& op, KernelVariant variant,
                                                     std::vector<AttributeField> own) {
  if (variant.name.empty()) {
    return error(ErrorCode::InvalidArgument, "op '{}': the kernel has no name", op.name);
  }
  if (!own.empty()) variant.schema = GPUEMU_TRY(longer_schema(op, variant, std::move(own)));
  GPUEMU_TRY(check_variant_declaration(op, variant));
  for (const KernelVariant* one : variants_of(op)) {
    if (one->name != variant.name) continue;
    return error(ErrorCode::InvalidArgument, "op '{}': there is a variant '{}' already", op.name,
                 variant.name);
  }
  const std::unique_lock lock(added_->mutex);
  variant.generation = ++added_->generation;
  return &added_->variants.emplace_back(&op, std::move(variant)).variant;
}

Status OpRegistry::remove_variant(const KernelVariant* variant) {
  const std::unique_lock lock(added_->mutex);
  for (Added::Variant& one : added_->variants) {
    if (&one.variant != variant || one.is_removed) continue;
    one.is_removed = true;
    ++added_->generation;
    return ok_status();
  }
  return error(ErrorCode::InvalidArgument, "the kernel was not registered, or is removed already");
}

std::vector<const KernelVariant*> OpRegistry::variants_of(const OpKind& op) const {
  std::vector<const KernelVariant*> variants;
  for (const KernelVariant& one : op.variants) variants.push_back(&one);
  {
    const std::shared_lock lock(added_->mutex);
    for (const Added::Variant& one : added_->variants) {
      if (!one.is_removed && one.op == &op) variants.push_back(&one.variant);
    }
  }
  std::ranges::stable_sort(variants, std::greater{}, &KernelVariant::priority);
  return variants;
}

const KernelVariant* OpRegistry::with_schema(const OpKind& op, uint32_t schema_id) const {
  const std::shared_lock lock(added_->mutex);
  for (const Added::Variant& one : added_->variants) {
    const AttributeSchema& schema = one.variant.schema;
    if (one.is_removed || one.op != &op || schema.fields.empty()) continue;
    if (schema.number == schema_id >> 8 && schema.has_version(schema_id & 255)) return &one.variant;
  }
  return nullptr;
}

}  // namespace gpuemu
