// The ops there are: those that come with gpuemu and those that an embedding program adds.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"
#include "kernels/op.h"

namespace gpuemu {

/// One thread while ops are added; afterwards any.
class OpRegistry {
 public:
  static OpRegistry with_builtins();

  /// `op` must outlive the registry. InvalidArgument for a name that is taken or a declaration
  /// that check_declaration refuses.
  Status add(const OpKind& op);
  /// NotFound lists the names there are.
  Result<const OpKind*> find(std::string_view name) const;
  const std::vector<const OpKind*>& ops() const { return ops_; }  ///< Sorted by name.

 private:
  std::vector<const OpKind*> ops_;
};

/// InvalidArgument when a declaration contradicts itself: no variant, two of one name, a letter
/// without dtypes, an entry pattern with an unknown letter, attributes out of order.
Status check_declaration(const OpKind& op);

/// The variants in the order in which they are tried.
std::vector<const KernelVariant*> by_priority(const OpKind& op);

}  // namespace gpuemu
