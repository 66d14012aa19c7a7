// Checks shared by several ops.
#include "kernels/op_checks.h"

#include <algorithm>

namespace gpuemu::kernels {
namespace {

constexpr const char* kDouble = "_double";

Status check_like(const DeviceTensor& tensor, const std::string& name, const DeviceTensor& first,
                  const std::string& first_name) {
  if (same_shape(tensor, first)) return ok_status();
  return error(ErrorCode::InvalidArgument, "{} is {}, expected {}, the shape of {}", name,
               shape_text(tensor.shape), shape_text(first.shape), first_name);
}

/// Adds a launch with one block per row of the first input.
LaunchStep& launch_row_op(const OpCase& c, Plan& plan) {
  LaunchStep& step = launch_rows(plan, c.in(0), row_threads(c.in(0)));
  for (const DeviceTensor& tensor : c.inputs) step.arg(tensor);
  for (const DeviceTensor& tensor : c.outputs) step.arg(tensor);
  const RowsCols size = rows_cols(c.in(0));
  return step.arg(static_cast<int32_t>(size.rows)).arg(static_cast<int32_t>(size.cols));
}

}  // namespace

std::vector<TypeRule> float_types() {
  return {{'T', {DType::Float32, DType::Float16, DType::BFloat16, DType::Float64}}};
}

std::vector<TypeRule> all_types() {
  return {{'T',
           {DType::Float32, DType::Float16, DType::BFloat16, DType::Float64, DType::Int8,
            DType::Int16, DType::Int32, DType::Int64, DType::UInt8, DType::UInt16, DType::UInt32,
            DType::UInt64, DType::Bool}}};
}

Status check_same_shapes(const OpCase& c) {
  const std::string& first = c.op.inputs[0].name;
  for (size_t i = 1; i < c.inputs.size(); ++i) {
    GPUEMU_TRY(check_like(c.in(i), c.op.inputs[i].name, c.in(0), first));
  }
  for (size_t i = 0; i < c.outputs.size(); ++i) {
    GPUEMU_TRY(check_like(c.out(i), c.op.outputs[i].name, c.in(0), first));
  }
  return ok_status();
}

Status check_shape(const DeviceTensor& tensor, const std::string& name,
                   std::initializer_list<int64_t> expected, const std::string& why) {
  if (std::ranges::equal(tensor.shape, expected)) return ok_status();
  return error(ErrorCode::InvalidArgument, "{} is {}, expected {}: {}", name,
               shape_text(tensor.shape), shape_text(std::span(expected.begin(), expected.size())),
               why);
}

Status check_row_op(const OpCase& c) {
  const std::string& first = c.op.inputs[0].name;
  for (size_t i = 0; i < c.outputs.size(); ++i) {
    GPUEMU_TRY(check_like(c.out(i), c.op.outputs[i].name, c.in(0), first));
  }
  const int64_t cols = rows_cols(c.in(0)).cols;
  for (size_t i = 1; i < c.inputs.size(); ++i) {
    GPUEMU_TRY(
        check_shape(c.in(i), c.op.inputs[i].name, {cols}, "one element per column of " + first));
  }
  return ok_status();
}

int64_t axis_of(const OpCase& c, const DeviceTensor& tensor) {
  const int64_t axis = c.attributes.get<int32_t>("axis");
  return axis < 0 ? axis + static_cast<int64_t>(tensor.rank()) : axis;
}

std::string grid_y_refusal(int64_t count, int64_t per_block) {
  if (blocks_for(count, per_block) <= kGridYzMax) return {};
  return fmt::format("{} rows, expected at most {}: a grid has {} blocks down", count,
                     int64_t{kGridYzMax} * per_block, kGridYzMax);
}

uint32_t row_threads(const DeviceTensor& x) {
  const int64_t bytes = rows_cols(x).cols * static_cast<int64_t>(byte_size(x.dtype));
  return packet_threads(bytes);
}

LaunchStep& launch_rows(Plan& plan, const DeviceTensor& x, uint32_t block) {
  return plan.launch({blocks_for(rows_cols(x).rows, 1), 1, 1}, {block, 1, 1});
}

void plan_row_op(const OpCase& c, Plan& plan) { launch_row_op(c, plan); }

void plan_row_op_with_eps(const OpCase& c, Plan& plan) {
  add_number(launch_row_op(c, plan), c, "eps");
}

AttributeSchema numbers_schema(uint32_t number, const std::vector<NumberAttribute>& numbers) {
  AttributeSchema schema{.number = number};
  for (const NumberAttribute& one : numbers) {
    schema.fields.push_back({.name = one.name,
                             .type = AttributeType::Float32,
                             .fallback = one.fallback,
                             .meaning = one.meaning});
  }
  for (const NumberAttribute& one : numbers) {
    schema.fields.push_back({.name = one.name + kDouble,
                             .type = AttributeType::Float64,
                             .fallback = 0,
                             .since = 2,
                             .meaning = one.name + " of float64 tensors; 0 is " + one.name});
  }
  return schema;
}

void add_number(LaunchStep& step, const OpCase& c, const std::string& name) {
  if (c.in(0).dtype != DType::Float64) {
    step.arg(c.attributes.get<float>(name));
    return;
  }
  const auto exact = c.attributes.get<double>(name + kDouble);
  step.arg(exact != 0 ? exact : c.attributes.number(name));
}

uint32_t packet_threads(int64_t bytes) {
  return kWarpThreads *
         std::min(blocks_for(bytes, 16 * kWarpThreads), kPacketThreads / kWarpThreads);
}

LaunchStep& launch_packets(Plan& plan, const DeviceTensor& tensor, uint32_t entry) {
  const int64_t bytes = tensor.count() * static_cast<int64_t>(byte_size(tensor.dtype));
  const int64_t blocks =
      std::clamp<int64_t>((bytes + kPacketBlockBytes - 1) / kPacketBlockBytes, 1, kGridXMax);
  return plan.launch({static_cast<uint32_t>(blocks), 1, 1}, {packet_threads(bytes), 1, 1}, entry);
}

void add_sizes(LaunchStep& step, const DeviceTensor& tensor) {
  GPUEMU_CHECK(tensor.rank() <= kStridedAxes);
  for (size_t axis = kStridedAxes; axis > 0; --axis) {
    step.arg(axis > tensor.rank() ? int64_t{1} : tensor.shape[tensor.rank() - axis]);
  }
}

void add_strides(LaunchStep& step, const DeviceTensor& tensor) {
  GPUEMU_CHECK(tensor.rank() <= kStridedAxes);
  for (size_t axis = kStridedAxes; axis > 0; --axis) {
    step.arg(axis > tensor.rank() ? int64_t{0} : tensor.strides[tensor.rank() - axis]);
  }
}

}  // namespace gpuemu::kernels
