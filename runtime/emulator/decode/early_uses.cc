// Finds registers that may be used before they are written. Compilers emit them for variables
// without a value and for those assigned on some paths only.
#include <algorithm>

#include "runtime/emulator/decode/decode.h"
#include "runtime/ptx/flow/operands.h"

namespace gpuemu::emulator {
namespace {
using ptx::each_register;
using ptx::Instruction;
using ptx::Operand;

/// Total bits over all blocks beyond which a function is not analysed.
constexpr uint64_t kBitsMax = uint64_t{1} << 28;

class Bits {
 public:
  explicit Bits(size_t count, bool value) : words_((count + 63) / 64, value ? ~uint64_t{0} : 0) {}
  bool has(uint32_t at) const { return (words_[at / 64] >> at % 64 & 1) != 0; }
  void add(uint32_t at) { words_[at / 64] |= uint64_t{1} << at % 64; }
  void meet(const Bits& other) {
    for (size_t i = 0; i < words_.size(); ++i) words_[i] &= other.words_[i];
  }
  bool operator==(const Bits&) const = default;

 private:
  std::vector<uint64_t> words_;
};

template <typename Visit>
void each_use(const Instruction& in, const Visit& visit) {
  if (in.guard) each_register(*in.guard, visit);
  for (size_t i = in.has_result() ? 1 : 0; i < in.operands.size(); ++i) {
    each_register(in.operands[i], visit);
  }
}

/// A guarded instruction may leave its result unwritten, so it defines nothing.
void define(const Instruction& in, Bits& defined) {
  if (!in.guard && in.has_result() && !in.operands.empty()) {
    each_register(in.operands[0], [&](uint32_t reg) { defined.add(reg); });
  }
}

std::vector<Bits> defined_at_begin(const ptx::Function& function, const ptx::ControlFlow& flow) {
  const size_t registers = function.registers.size();
  std::vector<Bits> begin(flow.blocks.size(), Bits(registers, true));
  begin[0] = Bits(registers, false);
  bool changed = true;
  while (changed) {
    changed = false;
    for (size_t block = 0; block < flow.blocks.size(); ++block) {
      Bits end = begin[block];
      for (uint32_t i = flow.blocks[block].begin; i < flow.blocks[block].end; ++i) {
        define(function.body[i], end);
      }
      for (const uint32_t next : flow.blocks[block].successors) {
        const Bits before = begin[next];
        begin[next].meet(end);
        changed = changed || begin[next] != before;
      }
    }
  }
  return begin;
}
}  // namespace

std::vector<uint32_t> used_early(const ptx::Function& function, const ptx::ControlFlow& flow) {
  const size_t registers = function.registers.size();
  if (flow.blocks.empty() || registers * flow.blocks.size() > kBitsMax) return {};
  const std::vector<Bits> begin = defined_at_begin(function, flow);
  Bits early(registers, false);
  for (size_t block = 0; block < flow.blocks.size(); ++block) {
    Bits defined = begin[block];
    for (uint32_t i = flow.blocks[block].begin; i < flow.blocks[block].end; ++i) {
      each_use(function.body[i], [&](uint32_t reg) {
        if (!defined.has(reg)) early.add(reg);
      });
      define(function.body[i], defined);
    }
  }
  std::vector<uint32_t> found;
  for (uint32_t reg = 0; reg < registers; ++reg) {
    if (early.has(reg)) found.push_back(reg);
  }
  return found;
}

}  // namespace gpuemu::emulator
