// The element types of tensors and their properties.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace gpuemu {

/// In the order of the dtype byte of legacy snapshots (float16 = 0 ... bool = 12): never reorder.
enum class DType : uint8_t {
  Float16,
  BFloat16,
  Float32,
  Float64,
  Int8,
  Int16,
  Int32,
  Int64,
  UInt8,
  UInt16,
  UInt32,
  UInt64,
  Bool,
};
inline constexpr size_t kDTypeCount = 13;

size_t byte_size(DType dtype);
/// Returns the name in dtype.def and messages: "float16" for DType::Float16.
std::string_view name_of(DType dtype);
/// Returns the CUDA C++ type: "__half", "__nv_bfloat16", "float", "double", "int8_t", ..., "bool".
std::string_view cuda_type_of(DType dtype);
bool is_float(DType dtype);
bool is_signed_integer(DType dtype);

/// Accepts exactly the wire names.
std::optional<DType> dtype_from_name(std::string_view name);
/// Ignores case, and accepts the short forms of configuration files: f16, bf16, f32, f64, i8..i64,
/// u8..u64.
std::optional<DType> dtype_from_alias(std::string_view name);

}  // namespace gpuemu
