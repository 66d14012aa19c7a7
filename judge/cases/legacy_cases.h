// The cases for requests with a FuzzConfig of existing clients, bit for bit, except that bfloat16
// elements are true bfloat16.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/protocol/records.gen.h"
#include "common/tensor/tensor.h"

namespace gpuemu {

struct LegacyCase {
  uint64_t case_seed = 0;
  DType dtype = DType::Float32;
  LayoutKind layout = LayoutKind::Contiguous;
  Shape shape;      ///< The representative shape.
  Strides strides;  ///< Label only: the data of every input is packed.
  NamedTensors inputs;
  std::map<std::string, Strides> input_strides;
};

/// What follows from the seed without computing the elements.
struct LegacyPlan {
  uint64_t case_seed = 0;
  DType dtype = DType::Float32;
  LayoutKind layout = LayoutKind::Contiguous;
  Shape shape;
  std::vector<Shape> input_shapes;  ///< In the order of the names.
};

/// InvalidArgument if a required list is empty or the inputs exceed kClientCaseBytesMax bytes.
Result<LegacyPlan> plan_legacy_case(const FuzzConfig& config,
                                    const std::vector<std::string>& input_names, uint64_t number);
/// `input_names` empty means ["input"].
Result<LegacyCase> make_legacy_case(const FuzzConfig& config,
                                    const std::vector<std::string>& input_names, uint64_t number);

/// Computes the inputs of a stored case of which only seed, shape and dtype are known.
NamedTensors legacy_inputs(uint64_t case_seed, DType dtype, const Shape& shape,
                           const std::vector<std::string>& input_names);

/// Returns the strides that existing daemons send beside the packed data.
Strides legacy_strides(LayoutKind layout, const Shape& shape);

}  // namespace gpuemu
