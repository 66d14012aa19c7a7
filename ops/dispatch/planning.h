// Queries a variant, built-in or registered, for its workspace, attributes and launches.
#pragma once

#include "kernels/op.h"

namespace gpuemu {

/// Returns the case with its attributes read by the variant's schema.
inline OpCase case_for(const OpCase& c, const KernelVariant& variant) {
  OpCase own = c;
  if (!variant.schema.fields.empty()) own.attributes = c.attributes.by(variant.schema);
  return own;
}

inline Result<uint64_t> workspace_of(const OpCase& c, const KernelVariant& variant) {
  if (variant.rules != nullptr) return variant.rules->workspace_bytes(c);
  return variant.workspace_bytes == nullptr ? 0 : variant.workspace_bytes(c);
}

inline Status plan_of(const OpCase& c, const KernelVariant& variant, Plan& plan) {
  if (variant.rules != nullptr) return variant.rules->plan(c, plan);
  variant.plan(c, plan);
  return ok_status();
}

}  // namespace gpuemu
