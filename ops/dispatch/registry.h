// The registry of ops: the built-in ones and those that a program adds.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"
#include "kernels/op.h"

namespace gpuemu {

/// add() must be called before threads use it; everything else is thread-safe.
class OpRegistry {
 public:
  OpRegistry();
  ~OpRegistry();
  OpRegistry(OpRegistry&&) noexcept;
  OpRegistry& operator=(OpRegistry&&) noexcept;
  static OpRegistry with_builtins();

  /// Adds an op, which must outlive the registry. InvalidArgument if the name is taken or
  /// check_declaration() refuses it.
  Status add(const OpKind& op);
  /// NotFound lists the existing names.
  Result<const OpKind*> find(std::string_view name) const;
  /// Returns the ops without those added at run time, sorted by name.
  const std::vector<const OpKind*>& ops() const { return ops_; }

  // While the program runs. Removed items stay in memory, because calls and graphs may still use
  // them.

  /// Numbers begin at 1 and never change: first ops(), then those of add_op(). Returns null for an
  /// unknown number and for a removed op.
  const OpKind* numbered(uint32_t number) const;
  uint32_t count() const;  ///< The highest number ever used.
  /// NotFound as for find().
  Result<uint32_t> number_of(std::string_view name) const;
  /// Adds an op without variants, which are added later, and assigns a number to its schema.
  /// InvalidArgument if the name is taken or the declaration contradicts itself.
  Result<uint32_t> add_op(OpKind op);
  /// Removes an op with its added variants. InvalidArgument if add_op() did not return it, or it is
  /// gone.
  Status remove_op(uint32_t number);
  /// Adds a variant with rules. `own`: its own fields after those of the op, each with a default.
  /// InvalidArgument if the op already has the name, or the declaration contradicts itself.
  Result<const KernelVariant*> add_variant(const OpKind& op, KernelVariant variant,
                                           std::vector<AttributeField> own);
  /// InvalidArgument if it is already removed.
  Status remove_variant(const KernelVariant* variant);
  /// Returns the variants of an op in the order in which they are tried: by priority, then built-in
  /// ones, then in the order of adding.
  std::vector<const KernelVariant*> variants_of(const OpKind& op) const;
  /// Returns a variant whose schema has this number and version; null if there is none.
  const KernelVariant* with_schema(const OpKind& op, uint32_t schema_id) const;
  /// Changes whenever something is added or removed.
  uint64_t generation() const;

 private:
  struct Added;
  const OpKind* find_added(std::string_view name) const;

  std::vector<const OpKind*> ops_;
  std::unique_ptr<Added> added_;
};

/// The parts of check_declaration(): operands and attributes, and one variant.
Status check_operation(const OpKind& op);
Status check_variant_declaration(const OpKind& op, const KernelVariant& variant);

/// InvalidArgument if a declaration contradicts itself: no variant, two of one name, a letter
/// without dtypes, an entry pattern with an unknown letter, attributes out of order.
Status check_declaration(const OpKind& op);

/// Returns the variants in the order in which they are tried.
std::vector<const KernelVariant*> by_priority(const OpKind& op);

}  // namespace gpuemu
