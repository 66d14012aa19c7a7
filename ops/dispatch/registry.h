// The ops there are: those that come with gpuemu and those that a program adds.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"
#include "kernels/op.h"

namespace gpuemu {

/// add() before threads use it; everything else from any thread.
class OpRegistry {
 public:
  OpRegistry();
  ~OpRegistry();
  OpRegistry(OpRegistry&&) noexcept;
  OpRegistry& operator=(OpRegistry&&) noexcept;
  static OpRegistry with_builtins();

  /// `op` must outlive the registry. InvalidArgument for a name that is taken or a declaration
  /// that check_declaration refuses.
  Status add(const OpKind& op);
  /// NotFound lists the names there are.
  Result<const OpKind*> find(std::string_view name) const;
  /// Without those that were added while the program runs. Sorted by name.
  const std::vector<const OpKind*>& ops() const { return ops_; }

  // While the program runs. What was removed stays in memory: calls and graphs may still use it.

  /// Numbers begin at 1 and stay: first ops(), then what add_op() added. Null for a number that is
  /// none, or whose op was removed.
  const OpKind* numbered(uint32_t number) const;
  uint32_t count() const;  ///< The highest number there was.
  /// NotFound as find().
  Result<uint32_t> number_of(std::string_view name) const;
  /// An op without variants, which are added to it. Gives its schema a number. InvalidArgument for
  /// a name that is taken or a declaration that contradicts itself.
  Result<uint32_t> add_op(OpKind op);
  /// With its added variants. InvalidArgument for what add_op() did not return or is gone.
  Status remove_op(uint32_t number);
  /// A variant with rules. `own`: fields of its own behind those of the op, each with a default.
  /// InvalidArgument for a name that the op has already, or a declaration that contradicts itself.
  Result<const KernelVariant*> add_variant(const OpKind& op, KernelVariant variant,
                                           std::vector<AttributeField> own);
  /// InvalidArgument for one that is gone.
  Status remove_variant(const KernelVariant* variant);
  /// The variants of an op in the order in which they are tried: by priority, then those that came
  /// with it, then in the order of adding.
  std::vector<const KernelVariant*> variants_of(const OpKind& op) const;
  /// A variant whose schema has this version and number; null when there is none.
  const KernelVariant* with_schema(const OpKind& op, uint32_t schema_id) const;
  /// Changes with everything that is added or removed.
  uint64_t generation() const;

 private:
  struct Added;
  const OpKind* find_added(std::string_view name) const;

  std::vector<const OpKind*> ops_;
  std::unique_ptr<Added> added_;
};

/// The parts of check_declaration: operands and attributes, and one variant.
Status check_operation(const OpKind& op);
Status check_variant_declaration(const OpKind& op, const KernelVariant& variant);

/// InvalidArgument when a declaration contradicts itself: no variant, two of one name, a letter
/// without dtypes, an entry pattern with an unknown letter, attributes out of order.
Status check_declaration(const OpKind& op);

/// The variants in the order in which they are tried.
std::vector<const KernelVariant*> by_priority(const OpKind& op);

}  // namespace gpuemu
