#include "cli/cuda_text/types.h"

#include <algorithm>
#include <array>

#include "cli/cuda_text/c_expression.h"
#include "common/numeric/dtype.h"

namespace gpuemu::cli {
namespace {

struct TypeRow {
  std::string_view name, dtype, tag;
  uint32_t lanes = 1;
};
constexpr auto kTypes = std::to_array<TypeRow>({
    {"float", "float32", "f32"},
    {"double", "float64", "f64"},
    {"half", "float16", "f16"},
    {"__half", "float16", "f16"},
    {"__nv_bfloat16", "bfloat16", "bf16"},
    {"nv_bfloat16", "bfloat16", "bf16"},
    {"int", "int32", "i32"},
    {"signed", "int32", "i32"},
    {"int32_t", "int32", "i32"},
    {"unsigned", "uint32", "u32"},
    {"unsigned int", "uint32", "u32"},
    {"uint", "uint32", "u32"},
    {"uint32_t", "uint32", "u32"},
    {"long", "int64", "i64"},
    {"long long", "int64", "i64"},
    {"long int", "int64", "i64"},
    {"int64_t", "int64", "i64"},
    {"ptrdiff_t", "int64", "i64"},
    {"clock_t", "int64", "i64"},
    {"size_t", "uint64", "u64"},
    {"unsigned long", "uint64", "u64"},
    {"unsigned long long", "uint64", "u64"},
    {"uint64_t", "uint64", "u64"},
    {"char", "int8", "i8"},
    {"int8_t", "int8", "i8"},
    {"signed char", "int8", "i8"},
    {"unsigned char", "uint8", "u8"},
    {"uint8_t", "uint8", "u8"},
    {"short", "int16", "i16"},
    {"int16_t", "int16", "i16"},
    {"unsigned short", "uint16", "u16"},
    {"uint16_t", "uint16", "u16"},
    {"bool", "bool", "bool"},
    // Eight-bit floats, for which gpuemu.toml has no dtype, are passed as raw bits.
    {"__nv_fp8_e4m3", "uint8", ""},
    {"__nv_fp8_e5m2", "uint8", ""},
    {"__nv_fp8_storage_t", "uint8", "u8"},
    {"float2", "float32", "", 2},
    {"float3", "float32", "", 3},
    {"float4", "float32", "", 4},
    {"double2", "float64", "", 2},
    {"int2", "int32", "", 2},
    {"int4", "int32", "", 4},
    {"uint2", "uint32", "", 2},
    {"uint4", "uint32", "", 4},
    {"uchar2", "uint8", "", 2},
    {"uchar3", "uint8", "", 3},
    {"uchar4", "uint8", "", 4},
    {"char4", "int8", "", 4},
    {"half2", "float16", "", 2},
    {"__half2", "float16", "", 2},
    {"__nv_bfloat162", "bfloat16", "", 2},
});

// Limits the nesting of structures, and so ends cycles.
constexpr int kTypeDepthMax = 8;

struct Extent {
  uint32_t bytes = 0, align = 1;
};

/// Returns zero bytes if a member's type is unknown.
Extent extent_of(const std::string& type, const Definitions& definitions, int depth) {
  const std::string plain = definitions.plain_type(type);
  const auto row = std::ranges::find(kTypes, plain, &TypeRow::name);
  if (row != kTypes.end()) {
    const auto each = static_cast<uint32_t>(byte_size(*dtype_from_alias(row->dtype)));
    const bool vector = row->lanes == 2 || row->lanes == 4;
    return {each * row->lanes, vector ? each * row->lanes : each};
  }
  const auto found = definitions.structs.find(plain);
  if (found == definitions.structs.end() || depth > kTypeDepthMax) return {};
  Extent all;
  for (const StructMember& member : found->second) {
    const Extent one =
        member.pointer ? Extent{8, 8} : extent_of(member.type, definitions, depth + 1);
    int64_t count = 1;
    if (!member.count.empty()) {
      const auto number = number_of(member.count, definitions);
      if (!number) return {};
      count = *number;
    }
    if (one.bytes == 0 || count <= 0 || count > 65536) return {};
    all.bytes = (all.bytes + one.align - 1) / one.align * one.align;
    all.bytes += one.bytes * static_cast<uint32_t>(count);
    all.align = std::max(all.align, one.align);
  }
  all.bytes = (all.bytes + all.align - 1) / all.align * all.align;
  return all;
}

}  // namespace

ElementType element_type(const std::string& type, const Definitions& definitions) {
  std::string plain = definitions.plain_type(type);
  if (plain.starts_with("std::")) plain = plain.substr(5);
  const auto row = std::ranges::find(kTypes, plain, &TypeRow::name);
  if (row != kTypes.end()) return {std::string(row->dtype), std::string(row->tag), row->lanes};
  const Extent extent = extent_of(plain, definitions, 0);
  if (extent.bytes == 0) return {};
  return {"uint8", "", extent.bytes};
}

}  // namespace gpuemu::cli
