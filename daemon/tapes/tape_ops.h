// The ops of tapes: whether an entry is one that can be computed, and what it is made of.
#pragma once

#include <span>

#include "common/base/result.h"
#include "ops/dispatch/registry.h"
#include "runtime/device/device.h"
#include "runtime/tape/names.h"

namespace gpuemu {

/// Any thread.
class TapeOps {
 public:
  /// For devices like this one.
  explicit TapeOps(DeviceProperties device);

  /// InvalidArgument: gpuemu has no such op, it has no such attribute, it does not make a tensor of
  /// that shape and dtype from these inputs, or no kernel computes it.
  Status check(const tape::Entry& entry, std::span<const tape::Known* const> inputs) const;

  const OpRegistry& registry() const { return registry_; }

 private:
  const DeviceProperties device_;
  const OpRegistry registry_;
};

}  // namespace gpuemu
