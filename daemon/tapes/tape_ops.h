// The ops of tapes: whether an entry is one that can be computed, and what it is made of.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "ops/dispatch/registry.h"
#include "runtime/device/device.h"
#include "runtime/tape/names.h"

namespace gpuemu {

/// Attributes as a call of an op takes them.
struct PackedAttributes {
  uint32_t schema_id = 0;
  std::vector<std::byte> bytes;
};

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

/// InvalidArgument for a name that the schema does not have, a value of another type, and a missing
/// one that has no default. `json` is an object.
Result<PackedAttributes> pack_attributes(const AttributeSchema& schema, const std::string& json);

/// The elements of a leaf that only tapes have. `randn` follows from its attribute `seed`, without
/// one from `seed` and the entry's place on the tape.
Result<std::vector<std::byte>> leaf_values(const tape::Entry& entry, uint64_t seed);

}  // namespace gpuemu
