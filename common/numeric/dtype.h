// The element types of tensors and what is known about each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace gpuemu {

/// In the order of the legacy snapshot's dtype byte (float16 = 0 ... bool = 12): never reorder.
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
/// The name in dtype.def and in messages: "float16" for DType::Float16.
std::string_view name_of(DType dtype);
/// CUDA C++ type: "__half", "__nv_bfloat16", "float", "double", "int8_t", ..., "bool".
std::string_view cuda_type_of(DType dtype);
bool is_float(DType dtype);
bool is_signed_integer(DType dtype);

/// Exactly a wire name.
std::optional<DType> dtype_from_name(std::string_view name);
/// Any case and the short forms of configuration files: f16, bf16, f32, f64, i8..i64, u8..u64.
std::optional<DType> dtype_from_alias(std::string_view name);

}  // namespace gpuemu
