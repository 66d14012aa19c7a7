// The instruction families that are known, from opcode.def. Others parse too.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace gpuemu::ptx {

enum class OpcodeClass : uint8_t {
  Arithmetic,
  Compare,
  Logic,
  Convert,
  Memory,
  Atomic,
  Control,
  Warp,
  Barrier,
  Matrix,
  Async,
  Texture,
  Misc
};

struct OpcodeRow {
  std::string_view family;
  uint32_t operands_min = 0;
  uint32_t operands_max = 0;
  OpcodeClass what = OpcodeClass::Misc;
};

/// All families, sorted.
std::span<const OpcodeRow> opcode_rows();
/// Null for a family that the table does not have.
const OpcodeRow* find_opcode(std::string_view family);

}  // namespace gpuemu::ptx
