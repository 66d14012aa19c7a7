// What several declarations of ops check and plan alike.
#pragma once

#include <vector>

#include "kernels/op.h"

namespace gpuemu::kernels {

/// float32, float16, bfloat16, float64: what the entries of GPUEMU_ENTRIES compute.
std::vector<TypeRule> float_types();

/// Every dtype, for what moves elements.
std::vector<TypeRule> all_types();

/// InvalidArgument unless all tensors of the call have the shape of the first input.
Status check_same_shapes(const OpCase& c);
/// InvalidArgument unless `tensor`, which is called `name`, has exactly these sizes; `why` says
/// where they come from.
Status check_shape(const DeviceTensor& tensor, const std::string& name,
                   std::initializer_list<int64_t> expected, const std::string& why);
/// Checks a normalisation: x has a row to work on, outputs its shape, and each input behind x is a
/// vector as long as a row.
Status check_row_op(const OpCase& c);

/// Why `count` items at `per_block` do not fit the second dimension of a grid; "" when they do.
std::string grid_y_refusal(int64_t count, int64_t per_block);

/// Threads for a row of x: one for each 16 bytes, in whole warps, up to 256.
uint32_t row_threads(const DeviceTensor& x);
/// One block per row. REQUIRES: rows() < 2^31.
LaunchStep& launch_rows(Plan& plan, const DeviceTensor& x, uint32_t block);
/// A number of an op in the types that its tensors are computed in.
struct NumberAttribute {
  std::string name;
  double fallback;
  std::string meaning;
};
/// Version 1 has the numbers as float32. Version 2 adds NAME_double for each, which float64 tensors
/// take in place of it unless it is 0.
AttributeSchema numbers_schema(uint32_t number, const std::vector<NumberAttribute>& numbers);
/// The attribute of numbers_schema() as an argument: double for float64 tensors, else float.
void add_number(LaunchStep& step, const OpCase& c, const std::string& name);

/// One block per row of the first input; the arguments are inputs, outputs, rows and columns.
void plan_row_op(const OpCase& c, Plan& plan);
/// Plans a launch with a row per block, and the attribute eps as its last argument.
void plan_row_op_with_eps(const OpCase& c, Plan& plan);

/// What a block of map_elements() covers at once: a packet of 16 bytes per thread.
inline constexpr uint32_t kPacketThreads = 256;
inline constexpr int64_t kPacketBlockBytes = kPacketThreads * 16;
/// Blocks for as many packets as the tensor has.
LaunchStep& launch_packets(Plan& plan, const DeviceTensor& tensor, uint32_t entry = 0);
/// Its sizes as four arguments, axes that it lacks as 1 in front. REQUIRES: rank <= 4.
void add_sizes(LaunchStep& step, const DeviceTensor& tensor);
/// Its strides as four arguments, those of axes that it lacks as 0 in front. REQUIRES: rank <= 4.
void add_strides(LaunchStep& step, const DeviceTensor& tensor);
/// The axes that these have room for.
inline constexpr size_t kStridedAxes = 4;

}  // namespace gpuemu::kernels
