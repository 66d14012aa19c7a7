// How the op of a tape's entry sees the tensors of the entry.
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

}  // namespace gpuemu
