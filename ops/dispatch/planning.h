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

/// Names the op and the variant whose rules could not be computed for a case.
inline Error rule_error(const OpCase& c, const KernelVariant& variant, const Error& why) {
  return why.with_context(c.op.name + ", " + variant.name);
}

inline Result<uint64_t> workspace_of(const OpCase& c, const KernelVariant& variant) {
  if (variant.rules == nullptr) {
    return variant.workspace_bytes == nullptr ? 0 : variant.workspace_bytes(c);
  }
  auto bytes = variant.rules->workspace_bytes(c);
  if (!bytes) return rule_error(c, variant, bytes.error());
  return bytes;
}

inline Status plan_of(const OpCase& c, const KernelVariant& variant, Plan& plan) {
  if (variant.rules == nullptr) {
    variant.plan(c, plan);
    return ok_status();
  }
  const Status planned = variant.rules->plan(c, plan);
  return planned ? planned : Status(rule_error(c, variant, planned.error()));
}

}  // namespace gpuemu
