// Decodes cp.async.bulk.tensor, cp.reduce.async.bulk.tensor and cp.async.bulk.prefetch.tensor.
#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "runtime/emulator/decode/decoders.h"
#include "runtime/emulator/steps/steps.h"

namespace gpuemu::emulator {
using ptx::Instruction;
using ptx::Operand;
using ptx::Type;

bool has_word(const Form& form, std::string_view word) {
  return std::ranges::find(form.rest, word) != form.rest.end();
}

namespace {

/// Returns the number of dimensions in ".2d"; 0 if there is none.
uint8_t rank_in(const Form& form) {
  constexpr std::array kRanks = {"1d", "2d", "3d", "4d", "5d"};
  for (size_t i = 0; i < kRanks.size(); ++i) {
    if (std::ranges::find(form.rest, kRanks[i]) != form.rest.end()) {
      return static_cast<uint8_t>(i + 1);
    }
  }
  return 0;
}

/// Adds the registers of `{a, b, ...}`; returns false unless there are exactly `count`.
bool add_vector(Decoder& d, const Operand& operand, size_t count, Type type,
                std::vector<uint32_t>& registers) {
  if (operand.kind != Operand::Kind::Vector || operand.elements.size() != count) return false;
  for (const Operand& one : operand.elements) {
    registers.push_back(d.source(one, RegisterClass::Narrow, type));
  }
  return true;
}

}  // namespace

/// Operands, with the im2col offsets in {offsets}:
/// [to], [map, {indices}], [mbarrier] {, {offsets}} {, CTA mask} {, policy}
/// [map, {indices}], [from] {, policy}
/// [map, {indices}] {, {offsets}} {, policy}
bool decode_tensor_copy(Decoder& d, const Instruction& in, const Form& form) {
  BulkOperands bulk;
  bulk.rank = rank_in(form);
  bulk.to_shared = form.has(ptx::Modifier::MbarrierCompleteTxBytes);
  bulk.from_shared = form.has(ptx::Modifier::BulkGroup);
  bulk.is_multicast = form.has(ptx::Modifier::MulticastCluster);
  bulk.reduces = form.has(ptx::Modifier::Reduce);
  bulk.has_added = has_word(form, "im2col");
  bulk.is_im2col = bulk.has_added || has_word(form, "im2col_no_offs");
  const bool prefetches = form.has(ptx::Modifier::Prefetch);
  if (bulk.rank == 0 || (bulk.is_im2col && bulk.rank < 3)) return false;
  if (int{bulk.to_shared} + int{bulk.from_shared} + int{prefetches} != 1) return false;
  const size_t hints = form.has(ptx::Modifier::L2CacheHint) ? 1 : 0;
  size_t at = bulk.to_shared ? 1 : 0;  // Position of the map operand.
  const size_t behind = prefetches ? 1 : at + 2;
  if (in.operands.size() !=
      behind + (bulk.has_added ? 1 : 0) + (bulk.is_multicast ? 1 : 0) + hints) {
    return false;
  }
  const Operand& tensor = in.operands[at];
  if (tensor.elements.size() != 2) return false;
  if (bulk.reduces) {
    const auto kind = reduction_in(form);
    if (!kind) return false;
    bulk.reduction.kind = *kind;
  }
  std::vector<uint32_t> registers = {whole_address(d, tensor)};
  if (!add_vector(d, tensor.elements[1], bulk.rank, Type::S32, registers)) return false;
  at = behind;
  if (bulk.has_added && !add_vector(d, in.operands[at++], bulk.rank - 2u, Type::U16, registers)) {
    return false;
  }
  if (bulk.is_multicast) {
    registers.push_back(d.source(in.operands[at], RegisterClass::Narrow, Type::U16));
  }
  bulk.list = d.list(registers);
  bulk.cache = d.program().cached++;
  if (prefetches) {
    d.emit<steps::prefetch_box>(bulk);
    return true;
  }
  const uint32_t shared = whole_address(d, in.operands[bulk.to_shared ? 0 : 1]);
  const uint32_t barrier = bulk.to_shared ? whole_address(d, in.operands[2]) : d.constant(0, true);
  d.emit<steps::copy_box>(bulk).src = {shared, barrier, 0, 0};
  return true;
}

}  // namespace gpuemu::emulator
