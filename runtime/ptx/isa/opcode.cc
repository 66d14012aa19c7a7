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

/// Instructions of PTX without a row in instructions.def.
constexpr auto kWithoutRow =
    std::to_array<std::string_view>({"clusterlaunchcontrol", "vabsdiff", "vadd", "vmad", "vmax",
                                     "vmin", "vset", "vset2", "vset4", "vshl", "vshr", "vsub"});
static_assert(std::ranges::none_of(kWithoutRow, [](auto text) {
  return std::ranges::binary_search(kTexts, text);
}));
}  // namespace

Opcode opcode_of(std::string_view text) {
  const auto found = std::ranges::lower_bound(kTexts, text);
  if (found == kTexts.end() || *found != text) return Opcode::Unknown;
  return static_cast<Opcode>(found - kTexts.begin());
}

bool is_instruction(std::string_view text) {
  return opcode_of(text) != Opcode::Unknown ||
         std::ranges::find(kWithoutRow, text) != kWithoutRow.end();
}

}  // namespace gpuemu::ptx
