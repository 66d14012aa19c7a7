#include "runtime/ptx/isa/opcode.h"

#include <algorithm>

namespace gpuemu::ptx {

using enum Trait;

const std::array<InstructionInfo, kOpcodeCount + 1> kInstructions = {{
#define INSTRUCTION(opcode, text, least, most, what, operands, traits) \
  {text, least, most, OpcodeClass::what, OperandShape::operands, traits},
#include "runtime/ptx/isa/instructions.def"
#undef INSTRUCTION
    {},
}};

namespace {
constexpr auto kTexts = std::to_array<std::string_view>({
#define INSTRUCTION(opcode, text, least, most, what, operands, traits) text,
#include "runtime/ptx/isa/instructions.def"
#undef INSTRUCTION
});
static_assert(std::ranges::is_sorted(kTexts));
}  // namespace

Opcode opcode_of(std::string_view text) {
  const auto found = std::ranges::lower_bound(kTexts, text);
  if (found == kTexts.end() || *found != text) return Opcode::Unknown;
  return static_cast<Opcode>(found - kTexts.begin());
}

}  // namespace gpuemu::ptx
