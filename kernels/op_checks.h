// Checks and launch plans shared by several ops.
#pragma once

#include <vector>

#include "kernels/op.h"

namespace gpuemu::kernels {

/// Returns float32, float16, bfloat16 and float64: the dtypes of the entries of GPUEMU_ENTRIES.
std::vector<TypeRule> float_types();

/// Returns every dtype, for ops that only move elements.
std::vector<TypeRule> all_types();

/// InvalidArgument unless all tensors of the call have the shape of the first input.
Status check_same_shapes(const OpCase& c);
/// InvalidArgument unless `tensor`, called `name` in the message, has exactly these sizes; `why`
/// says where they come from.
Status check_shape(const DeviceTensor& tensor, const std::string& name,
                   std::initializer_list<int64_t> expected, const std::string& why);
/// Checks a normalisation: x has a row, outputs have its shape, and each input after x is a vector
/// of a row's length.
Status check_row_op(const OpCase& c);

/// Returns the attribute `axis` counted from the first axis of the tensor. Out of range if the
/// attribute is.
int64_t axis_of(const OpCase& c, const DeviceTensor& tensor);

/// Returns why `count` items at `per_block` exceed the second dimension of a grid; "" if they fit.
std::string grid_y_refusal(int64_t count, int64_t per_block);

/// Returns the threads for a row of x: one per 16 bytes, in whole warps, up to 256.
uint32_t row_threads(const DeviceTensor& x);
/// Adds a launch with one block per row. Requires rows() < 2^31.
LaunchStep& launch_rows(Plan& plan, const DeviceTensor& x, uint32_t block);
/// A numeric attribute, in the type in which the tensors are computed.
struct NumberAttribute {
  std::string name;
  double fallback;
  std::string meaning;
};
/// Version 1 has the numbers as float32. Version 2 adds NAME_double for each, which float64 tensors
/// use instead unless it is 0.
AttributeSchema numbers_schema(uint32_t number, const std::vector<NumberAttribute>& numbers);
/// Adds the attribute of numbers_schema() as an argument: double for float64 tensors, else float.
void add_number(LaunchStep& step, const OpCase& c, const std::string& name);

/// Plans one block per row of the first input; the arguments are inputs, outputs, rows and columns.
void plan_row_op(const OpCase& c, Plan& plan);
/// Plans one block per row, with the attribute eps as the last argument.
void plan_row_op_with_eps(const OpCase& c, Plan& plan);

inline constexpr uint32_t kWarpThreads = 32;
/// Work of a block of map_elements(): one packet of 16 bytes per thread.
inline constexpr uint32_t kPacketThreads = 256;
inline constexpr int64_t kPacketBlockBytes = kPacketThreads * 16;
/// Returns the threads of a block that has so many bytes of packets: up to kPacketThreads, in warps
/// that each have work.
uint32_t packet_threads(int64_t bytes);
/// Adds a launch with enough blocks for the tensor's packets.
LaunchStep& launch_packets(Plan& plan, const DeviceTensor& tensor, uint32_t entry = 0);
/// Adds the sizes as four arguments; missing leading axes are 1. Requires rank <= 4.
void add_sizes(LaunchStep& step, const DeviceTensor& tensor);
/// Adds the strides as four arguments; those of missing leading axes are 0. Requires rank <= 4.
void add_strides(LaunchStep& step, const DeviceTensor& tensor);
/// Number of axes that these two support.
inline constexpr size_t kStridedAxes = 4;

}  // namespace gpuemu::kernels
