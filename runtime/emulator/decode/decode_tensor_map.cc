// Decodes tensormap.replace and tensormap.cp_fenceproxy.
#include <algorithm>
#include <cstddef>
#include <optional>

#include "runtime/device/tensor_map.h"
#include "runtime/emulator/decode/decoders.h"
#include "runtime/emulator/steps/steps.h"

namespace gpuemu::emulator {
using ptx::Instruction;
using ptx::Operand;
namespace {

/// A field that tensormap.replace names, and its place in a map.
struct Field {
  std::string_view name, type;
  size_t offset;
  uint32_t count = 0;  ///< Number of elements, one of which an operand selects; 0: a single value.
};
constexpr Field kFields[] = {
    {"global_address", "u64", offsetof(TensorMap, address)},
    {"rank", "u8", offsetof(TensorMap, rank_less_1)},
    {"box_dim", "u16", offsetof(TensorMap, box), kTensorRankMax},
    {"global_dim", "u32", offsetof(TensorMap, sizes), kTensorRankMax},
    {"global_stride", "u64", offsetof(TensorMap, strides), kTensorRankMax - 1},
    {"element_stride", "u8", offsetof(TensorMap, steps), kTensorRankMax},
    {"elemtype", "u8", offsetof(TensorMap, type)},
    {"interleave_layout", "u8", offsetof(TensorMap, interleave)},
    {"swizzle_mode", "u8", offsetof(TensorMap, swizzle)},
    {"fill_mode", "u8", offsetof(TensorMap, fill)}};

const Field* field_in(const Form& form) {
  for (const Field& one : kFields) {
    if (std::ranges::find(form.rest, one.name) != form.rest.end()) return &one;
  }
  return nullptr;
}

/// Converts a number of PTX's .elemtype table to a TensorType.
std::optional<uint64_t> element_type(uint64_t number) {
  using enum TensorType;
  constexpr TensorType kTypes[] = {U8,     U16,  U32,     S32,     U64,
                                   S64,    F16,  F32,     F32Ftz,  F64,
                                   BF16,   Tf32, Tf32Ftz, Packed4, Packed4Align16,
                                   Packed6};
  if (number >= std::size(kTypes)) return std::nullopt;
  return static_cast<uint64_t>(kTypes[number]);
}

Operand number(uint64_t bits) {
  Operand made;
  made.kind = Operand::Kind::Integer;
  made.bits = bits;
  return made;
}

/// Stores a value at an offset of the map, as st would.
bool store(Decoder& d, const Instruction& in, uint64_t offset, std::string_view type,
           const Operand& value) {
  Instruction made;
  made.opcode = ptx::Opcode::St;
  made.where = in.where;
  made.source = in.source;
  for (const std::string& modifier : in.modifiers) {
    if (modifier == "global" || modifier == "shared::cta") made.modifiers.add(modifier);
  }
  made.modifiers.add(type);
  made.operands = {in.operands[0], value};
  made.operands[0].offset += static_cast<int64_t>(offset);
  return decode_store(d, made, Form(made));
}

uint64_t element_bytes(const Field& field) {
  return field.type == "u64" ? 8 : field.type == "u32" ? 4 : field.type == "u16" ? 2 : 1;
}

/// Operands: [map] {, dimension}, value
bool decode_replace(Decoder& d, const Instruction& in, const Form& form) {
  const Field* const field = field_in(form);
  if (field == nullptr || in.operands.size() != (field->count != 0 ? 3u : 2u)) return false;
  if (in.operands[0].kind != Operand::Kind::Address) return false;
  uint64_t offset = field->offset;
  if (field->count != 0) {
    const Operand& dimension = in.operands[1];
    if (dimension.kind != Operand::Kind::Integer || dimension.bits >= field->count) return false;
    offset += dimension.bits * element_bytes(*field);
  }
  Operand value = in.operands.back();
  if (field->name == "elemtype") {
    if (value.kind != Operand::Kind::Integer) return false;
    const auto type = element_type(value.bits);
    if (!type) return false;
    value = number(*type);
  }
  return store(d, in, offset, field->type, value) &&
         store(d, in, offsetof(TensorMap, signature), "u32", number(TensorMap::kSignature));
}

}  // namespace

bool decode_tensor_map(Decoder& d, const Instruction& in, const Form& form) {
  if (std::ranges::find(form.rest, "replace") != form.rest.end()) {
    return decode_replace(d, in, form);
  }
  const bool is_whole = in.operands.size() == 3 && in.operands[2].kind == Operand::Kind::Integer &&
                        in.operands[2].bits == sizeof(TensorMap);
  if (!is_whole) return false;
  const uint32_t to = whole_address(d, in.operands[0]), from = whole_address(d, in.operands[1]);
  d.emit(steps::copy_tensor_map).src = {to, from, 0, 0};
  return true;
}

}  // namespace gpuemu::emulator
