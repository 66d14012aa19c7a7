// What the attributes of a tape's entry, a JSON object, say: how its op sees the tensors, the
// attributes of the call, the elements of a leaf.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/tensor/tensor.h"
#include "kernels/op.h"
#include "runtime/tape/tape.h"

namespace gpuemu {

/// Attributes as a call of an op takes them.
struct PackedAttributes {
  uint32_t schema_id = 0;
  std::vector<std::byte> bytes;
};

/// Three attributes are of the entry and not of its op: `inputs_as`, shapes in which the op sees
/// its inputs, null for those that stay; and for an op that makes several tensors `outputs`, all of
/// them with shape and dtype, and `output`, the number of the one that the entry makes.
struct TapeForm {
  struct Output {
    Shape shape;
    DType dtype = DType::Float32;
  };
  std::vector<Shape> inputs;
  std::vector<Output> outputs;
  size_t output = 0;
  std::string attrs;  ///< The op's, a JSON object.
  std::string call;   ///< Equal for the entries of the outputs of one call, of the same inputs.
};

/// InvalidArgument where they are not as above, or do not fit the tensors.
Result<TapeForm> tape_form(const tape::Entry& entry, const OpKind& op,
                           std::span<const Shape> inputs);

/// InvalidArgument for a name that the schema does not have, a value of another type, and a missing
/// one that has no default. `json` is an object.
Result<PackedAttributes> pack_attributes(const AttributeSchema& schema, const std::string& json);

/// InvalidArgument where a leaf that only tapes have is not as its op says.
Status check_leaf(const tape::Entry& entry);

/// The elements of a leaf that only tapes have. `randn` follows from its attribute `seed`, without
/// one from `seed` and the entry's place on the tape.
Result<std::vector<std::byte>> leaf_values(const tape::Entry& entry, uint64_t seed);

/// The size of a packed tensor.
uint64_t tensor_bytes(const Shape& shape, DType dtype);

}  // namespace gpuemu
