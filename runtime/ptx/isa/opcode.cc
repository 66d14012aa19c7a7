#include "runtime/ptx/isa/opcode.h"

#include <algorithm>
#include <array>

namespace gpuemu::ptx {
namespace {

constexpr auto kRows = std::to_array<OpcodeRow>({
#define PTX_FAMILY(family, least, most, what) {family, least, most, OpcodeClass::what},
#include "runtime/ptx/isa/opcode.def"
#undef PTX_FAMILY
});
static_assert(std::ranges::is_sorted(kRows, {}, &OpcodeRow::family));

}  // namespace

std::span<const OpcodeRow> opcode_rows() { return kRows; }

const OpcodeRow* find_opcode(std::string_view family) {
  const auto found = std::ranges::lower_bound(kRows, family, {}, &OpcodeRow::family);
  return found != kRows.end() && found->family == family ? &*found : nullptr;
}

}  // namespace gpuemu::ptx
