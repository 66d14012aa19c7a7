// Decodes mma, wmma, stmatrix and movmatrix: maps registers to matrices.
#include <charconv>

#include <fmt/format.h>

#include "runtime/emulator/decode/decoders.h"
#include "runtime/emulator/decode/matrices.h"
#include "runtime/emulator/matrices/product.h"
#include "runtime/emulator/matrices/sparse_product.h"
#include "runtime/emulator/steps/steps.h"

namespace gpuemu::emulator {
using ptx::Instruction;
using ptx::Operand;
using ptx::Type;

std::optional<MatrixShape> shape_of(const Form& form) {
  for (const std::string& modifier : form.rest) {
    MatrixShape shape;
    const char* at = modifier.data();
    const char* end = at + modifier.size();
    bool good = true;
    for (const auto& [letter, value] :
         {std::pair{'m', &shape.m}, std::pair{'n', &shape.n}, std::pair{'k', &shape.k}}) {
      good = good && at != end && *at == letter;
      if (!good) break;
      const auto read = std::from_chars(at + 1, end, *value);
      good = read.ec == std::errc() && *value <= 256;
      at = read.ptr;
    }
    if (good && at == end) return shape;
  }
  return std::nullopt;
}

namespace {
const std::vector<Operand>& elements_of(const Operand& operand, std::vector<Operand>& single) {
  if (operand.kind == Operand::Kind::Vector) return operand.elements;
  single = {operand};
  return single;
}

}  // namespace

bool take_registers(Decoder& d, TensorOperand& operand, const Operand& from, bool written) {
  const uint32_t bits = steps::element_bits(operand.type);
  const RegisterClass slot = bits == 64 ? RegisterClass::Wide : RegisterClass::Narrow;
  std::vector<Operand> single;
  for (const Operand& element : elements_of(from, single)) {
    operand.registers.push_back(written ? d.destination(element, slot)
                                        : d.source(element, slot, Type::None));
  }
  const size_t held = operand.registers.size() * kLanes * (bits >= 32 ? 1 : 32 / bits);
  const size_t wanted = size_t{operand.rows} * operand.columns * (operand.of_quads ? 4 : 1);
  return operand.opaque ? held >= wanted && held % wanted == 0 : held == wanted;
}

namespace {

bool is_integer(Type type) {
  return type == Type::S8 || type == Type::U8 || type == Type::S4 || type == Type::U4;
}

/// Returns whether the types, in the order D, A, B, C, are supported.
bool known_types(const std::vector<Type>& types) {
  const Type d = types[0], a = types[1], b = types[2], c = types[3];
  if (d == Type::S32) {
    return c == Type::S32 && steps::element_bits(a) == steps::element_bits(b) &&
           ((is_integer(a) && is_integer(b)) || (a == Type::B1 && b == Type::B1));
  }
  const bool halves = (d == Type::F32 || d == Type::F16) && (c == Type::F32 || c == Type::F16);
  if (is_fp8(a) && is_fp8(b)) return halves && c == d;
  if (a != b) return false;
  if (a == Type::F64) return c == Type::F64 && d == Type::F64;
  if (a == Type::F16) return halves;
  return (a == Type::BF16 || a == Type::TF32) && d == Type::F32 && c == Type::F32;
}

/// Emits a product; types in the order D, A, B, C.
bool emit_product(Decoder& d, const Instruction& in, const std::vector<Type>& types,
                  const TensorStep& like) {
  TensorStep matrices = like;
  matrices.a.type = types[1];
  matrices.b.type = types[2];
  matrices.c.type = types[3];
  matrices.d.type = types[0];
  if (!known_types(types) || !take_registers(d, matrices.a, in.operands[1], false) ||
      !take_registers(d, matrices.b, in.operands[2], false) ||
      !take_registers(d, matrices.c, in.operands[3], false) ||
      !take_registers(d, matrices.d, in.operands[0], true)) {
    return false;
  }
  d.code().tensors.push_back(std::move(matrices));
  d.emit<steps::multiply_matrices>(
      {.matrices = static_cast<uint32_t>(d.code().tensors.size() - 1)});
  return true;
}

TensorStep product_of(const MatrixShape& shape, bool opaque) {
  TensorStep matrices;
  matrices.kind = opaque ? TensorKind::Wmma : TensorKind::Mma;
  matrices.a = {TensorRole::A, Type::None, shape.m, shape.k, opaque, false, {}};
  matrices.b = {TensorRole::B, Type::None, shape.k, shape.n, opaque, false, {}};
  matrices.c = {TensorRole::C, Type::None, shape.m, shape.n, opaque, false, {}};
  matrices.d = matrices.c;
  return matrices;
}

/// Decodes mma.m8n8k4 with f16: lanes i to i + 3 and the lanes 16 above them compute one of four
/// products. A and B are stored by rows or by columns, given by modifiers in this order.
bool decode_quads(Decoder& d, const Instruction& in, const Form& form) {
  std::vector<std::string> orders;
  for (const std::string& modifier : form.rest) {
    if (modifier == "row" || modifier == "col") orders.push_back(modifier);
  }
  if (orders.size() != 2) return false;
  TensorStep matrices = product_of({8, 8, 4}, false);
  for (TensorOperand* operand : {&matrices.a, &matrices.b, &matrices.c, &matrices.d}) {
    operand->of_quads = true;
  }
  matrices.a.transposed = orders[0] == "col";
  matrices.b.transposed = orders[1] == "col";
  return emit_product(d, in, form.types, matrices);
}
}  // namespace

namespace {
/// Decodes mma.sp d, a, b, c, metadata, selector.
bool decode_sparse(Decoder& d, const Instruction& in, const Form& form, const MatrixShape& shape) {
  if (in.operands.size() != 6) return false;
  TensorStep matrices = product_of(shape, false);
  matrices.saturate = form.has(ptx::Modifier::Satfinite);
  matrices.a.columns /= 2;
  matrices.a.type = form.types[1];
  const uint32_t selectors = steps::sparsity_selectors(matrices.a);
  const Operand& selector = in.operands[5];
  if (selector.kind != Operand::Kind::Integer || selector.bits >= selectors) {
    return d.refuse(fmt::format("its sparsity selector has to be a constant below {}", selectors));
  }
  matrices.sparsity = Sparsity{
      .metadata = d.source(in.operands[4], RegisterClass::Narrow, Type::B32),
      .selector = static_cast<uint32_t>(selector.bits),
      .ordered = form.has(ptx::Modifier::SpOrderedMetadata),
  };
  return emit_product(d, in, form.types, matrices);
}
}  // namespace

bool decode_mma(Decoder& d, const Instruction& in, const Form& form) {
  const auto shape = shape_of(form);
  if (!shape || form.types.size() != 4) return false;
  if (form.has(ptx::Modifier::Sp) || form.has(ptx::Modifier::SpOrderedMetadata)) {
    return decode_sparse(d, in, form, *shape);
  }
  if (in.operands.size() != 4) return false;
  const bool one_bit = form.types[1] == Type::B1;
  const bool counts = form.has(ptx::Modifier::Popc);
  const bool combines = form.has(ptx::Modifier::Xor) || form.has(ptx::Modifier::And);
  if (one_bit != counts || one_bit != combines) return false;
  const bool quads = shape->m == 8 && shape->k == 4 && form.types[1] == Type::F16;
  const bool layout = in.text().find(".row.col") != std::string::npos;
  if (quads) return decode_quads(d, in, form);
  if (!layout || shape->n != 8 || (shape->m != 8 && shape->m != 16)) return false;
  TensorStep matrices = product_of(*shape, false);
  matrices.saturate = form.has(ptx::Modifier::Satfinite);
  matrices.bits_and = form.has(ptx::Modifier::And);
  return emit_product(d, in, form.types, matrices);
}

namespace {
/// Decodes wmma.mma. With f16 factors only the types of D and C are given.
bool decode_wmma_product(Decoder& d, const Instruction& in, const Form& form,
                         const MatrixShape& shape) {
  if (in.operands.size() != 4) return false;
  std::vector<Type> types = form.types;
  if (types.size() == 2) types = {types[0], Type::F16, Type::F16, types[1]};
  if (types.size() != 4) return false;
  TensorStep matrices = product_of(shape, true);
  matrices.saturate = form.has(ptx::Modifier::Satfinite);
  return emit_product(d, in, types, matrices);
}
}  // namespace

bool decode_wmma(Decoder& d, const Instruction& in, const Form& form) {
  const auto shape = shape_of(form);
  if (!shape) return false;
  if (form.has(ptx::Modifier::Mma)) return decode_wmma_product(d, in, form, *shape);
  TensorStep matrices;
  matrices.store = form.has(ptx::Modifier::Store);
  if ((!matrices.store && !form.has(ptx::Modifier::Load)) || form.types.size() != 1 ||
      in.operands.size() < 2) {
    return false;
  }
  const TensorStep all = product_of(*shape, true);
  matrices.d = form.has(ptx::Modifier::A) ? all.a : form.has(ptx::Modifier::B) ? all.b : all.c;
  matrices.d.type = form.type();
  matrices.by_column = form.has(ptx::Modifier::Col);
  const Operand& where = in.operands[matrices.store ? 0 : 1];
  FragmentOperands fragment;
  const uint32_t base = d.address(fragment, where);
  const uint32_t tight = matrices.by_column ? matrices.d.rows : matrices.d.columns;
  const uint32_t stride = in.operands.size() > 2
                              ? d.source(in.operands[2], RegisterClass::Narrow, Type::U32)
                              : d.constant(tight, false);
  if (!take_registers(d, matrices.d, in.operands[matrices.store ? 1 : 0], !matrices.store)) {
    return false;
  }
  d.code().tensors.push_back(matrices);
  fragment.matrices = static_cast<uint32_t>(d.code().tensors.size() - 1);
  fragment.space = form.space;
  fragment.cache = d.program().cached++;
  d.emit<steps::move_fragment>(fragment).src = {base, stride, 0, 0};
  return true;
}

bool decode_store_matrix(Decoder& d, const Instruction& in, const Form& form) {
  if (in.operands.size() != 2 || !form.has(ptx::Modifier::M8n8) || form.type() != Type::B16) {
    return false;
  }
  AccessOperands access;
  const uint32_t base = d.address(access, in.operands[0]);
  std::vector<uint32_t> registers;
  std::vector<Operand> single;
  for (const Operand& element : elements_of(in.operands[1], single)) {
    registers.push_back(d.source(element, RegisterClass::Narrow, Type::B32));
  }
  if (registers.size() != (form.has(ptx::Modifier::X4)   ? 4u
                           : form.has(ptx::Modifier::X2) ? 2u
                                                         : 1u)) {
    return false;
  }
  access.list = d.list(registers);
  access.count = static_cast<uint8_t>(registers.size());
  access.is_transposed = form.has(ptx::Modifier::Trans);
  access.space = ptx::Space::Shared;
  access.cache = d.program().cached++;
  d.emit<steps::store_matrix>(access).src[0] = base;
  d.uses_memory(ptx::Space::Shared, 16);
  return true;
}

/// Decodes movmatrix.
bool decode_transpose(Decoder& d, const Instruction& in, const Form& form) {
  if (in.operands.size() != 2 || !form.has(ptx::Modifier::M8n8)) return false;
  const uint32_t from = d.source(in.operands[1], RegisterClass::Narrow, Type::B32);
  const uint32_t to = d.destination(in.operands[0], RegisterClass::Narrow);
  Step& step = d.emit(steps::transpose_matrix);
  step.src[0] = from;
  step.dst = to;
  return true;
}

}  // namespace gpuemu::emulator
