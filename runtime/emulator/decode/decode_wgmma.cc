// Decodes wgmma, the asynchronous product of a warp group. It is executed immediately.
#include <fmt/format.h>

#include "runtime/emulator/decode/decoders.h"
#include "runtime/emulator/decode/matrices.h"
#include "runtime/emulator/matrices/sparse_product.h"
#include "runtime/emulator/steps/steps.h"

namespace gpuemu::emulator {
using ptx::Instruction;
using ptx::Operand;
using ptx::Type;
namespace {

constexpr uint32_t kWarpRows = 16, kGroupRows = 64;

/// `depth` is that of A as it is given: of a sparse one half of K.
bool known_types(Type d, Type a, Type b, uint32_t depth) {
  const bool bytes = (a == Type::S8 || a == Type::U8) && (b == Type::S8 || b == Type::U8);
  if (d == Type::S32) return bytes && depth == 32;
  if (d != Type::F32 && d != Type::F16) return false;
  if (is_fp8(a) && is_fp8(b)) return depth == 32;
  if (a != b) return false;
  if (a == Type::F16) return depth == 16;
  return d == Type::F32 && ((a == Type::BF16 && depth == 16) || (a == Type::TF32 && depth == 8));
}

/// Reads the immediates after the operands: the signs of A and B, then which of the matrices in
/// shared memory are transposed. Returns false if they do not have this form.
bool take_immediates(const Instruction& in, TensorStep& matrices) {
  const size_t first = matrices.sparsity ? 6 : 4;
  const bool a_in_registers = !matrices.a.registers.empty();
  const bool two_bytes = matrices.a.type == Type::F16 || matrices.a.type == Type::BF16;
  const size_t signs = matrices.d.type == Type::S32 ? 0 : 2;
  const size_t transposes = two_bytes ? (a_in_registers ? 1 : 2) : 0;
  if (in.operands.size() != first + signs + transposes) return false;
  for (size_t i = first; i < in.operands.size(); ++i) {
    if (in.operands[i].kind != Operand::Kind::Integer) return false;
    const auto value = static_cast<int64_t>(in.operands[i].bits);
    if (i < first + signs) {
      if (value != 1 && value != -1) return false;
      matrices.negate = matrices.negate != (value == -1);
    } else {
      if (value != 0 && value != 1) return false;
      const bool of_b = i + 1 == in.operands.size();
      (of_b ? matrices.b : matrices.a).transposed = value == 1;
    }
  }
  return true;
}

/// Takes the metadata of a sparse A and the selector of the lanes that hold them.
bool take_sparsity(Decoder& d, const Instruction& in, TensorStep& matrices) {
  const uint32_t selectors = steps::sparsity_selectors(matrices.a);
  const Operand& selector = in.operands[4];
  if (selector.kind != Operand::Kind::Integer || selector.bits >= selectors) {
    return d.refuse(
        selectors == 1
            ? "its sparsity selector has to be 0"
            : fmt::format("its sparsity selector has to be a constant below {}", selectors));
  }
  matrices.sparsity = Sparsity{
      .metadata = d.source(in.operands[3], RegisterClass::Narrow, Type::B32),
      .selector = static_cast<uint32_t>(selector.bits),
  };
  return true;
}

bool decode_product(Decoder& d, const Instruction& in, const Form& form) {
  const auto shape = shape_of(form);
  const bool sparse = form.has(ptx::Modifier::Sp);
  if (!shape || shape->m != kGroupRows || shape->n % 8 != 0 || shape->n == 0 ||
      in.operands.size() < (sparse ? 6 : 4) || form.types.size() != 3) {
    return false;
  }
  const Type result = form.types[0];
  const uint32_t given = sparse ? shape->k / 2 : shape->k;
  if (!known_types(result, form.types[1], form.types[2], given)) return false;
  TensorStep matrices;
  matrices.kind = TensorKind::Wgmma;
  matrices.a = {TensorRole::A, form.types[1], kWarpRows, given, false, false, {}};
  matrices.b = {TensorRole::B, form.types[2], shape->k, shape->n, false, false, {}};
  matrices.d = {TensorRole::C, result, kWarpRows, shape->n, false, false, {}};
  matrices.saturate = form.has(ptx::Modifier::Satfinite);
  uint32_t a = kTrueOffset;
  if (in.operands[1].kind == Operand::Kind::Vector) {
    if (!take_registers(d, matrices.a, in.operands[1], false)) return false;
  } else {
    a = d.source(in.operands[1], RegisterClass::Wide, Type::B64);
  }
  const uint32_t b = d.source(in.operands[2], RegisterClass::Wide, Type::B64);
  if (sparse && !take_sparsity(d, in, matrices)) return false;
  const uint32_t keep = d.source(in.operands[sparse ? 5 : 3], RegisterClass::Pred, Type::Pred);
  if (!take_immediates(in, matrices) || !take_registers(d, matrices.d, in.operands[0], true)) {
    return false;
  }
  matrices.c = matrices.d;
  d.code().tensors.push_back(std::move(matrices));
  FragmentOperands operands;
  operands.matrices = static_cast<uint32_t>(d.code().tensors.size() - 1);
  operands.space = ptx::Space::Shared;
  operands.cache = d.program().cached++;
  d.emit<steps::multiply_group>(operands).src = {a, b, keep, 0};
  return true;
}
}  // namespace

bool decode_wgmma(Decoder& d, const Instruction& in, const Form& form) {
  if (form.has(ptx::Modifier::MmaAsync)) return decode_product(d, in, form);
  // The product is complete once mma_async has run, so there is nothing to wait for.
  if (!form.has(ptx::Modifier::Fence) && !form.has(ptx::Modifier::CommitGroup) &&
      !form.has(ptx::Modifier::WaitGroup)) {
    return false;
  }
  d.emit(steps::nothing);
  return true;
}

}  // namespace gpuemu::emulator
