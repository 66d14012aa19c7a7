#include "runtime/emulator/decode/modifiers.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace gpuemu::emulator {
namespace {

constexpr auto kForms = std::to_array<FormRow>({
#define PTX_FORM(opcode, variant, modifiers) {ptx::Opcode::opcode, FormVariant::variant, modifiers},
#include "runtime/emulator/decode/modifiers.def"
});

constexpr std::pair<ptx::Opcode, FormVariant> key_of(const FormRow& row) {
  return {row.opcode, row.variant};
}
static_assert(std::ranges::is_sorted(kForms, {}, key_of));

FormVariant variant_of(const ptx::Instruction& in) {
  using ptx::Opcode;
  const bool may_carry =
      in.opcode == Opcode::Add || in.opcode == Opcode::Sub || in.opcode == Opcode::Mad;
  if (may_carry && in.has(ptx::Modifier::Cc)) return FormVariant::Carry;
  return is_of_three(in) ? FormVariant::OfThree : FormVariant::Plain;
}

/// Removes the text up to the next separator from `rest` and returns it.
std::string_view take_until(std::string_view& rest, char separator) {
  const size_t end = rest.find(separator);
  const std::string_view part = rest.substr(0, end);
  rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  return part;
}

bool is_alternative(std::string_view group, std::string_view modifier) {
  while (!group.empty()) {
    const std::string_view one = take_until(group, '|');
    const size_t star = one.find('*');
    if (star == std::string_view::npos ? one == modifier
                                       : modifier.starts_with(one.substr(0, star)) &&
                                             modifier.ends_with(one.substr(star + 1))) {
      return true;
    }
  }
  return false;
}

/// Each group takes the first remaining modifier that fits; none may be left over.
bool fits(std::string_view form, std::vector<std::string_view> left) {
  while (!form.empty()) {
    std::string_view group = take_until(form, ' ');
    if (group.empty()) continue;
    const bool optional = group.ends_with('?');
    if (optional) group.remove_suffix(1);
    const auto found = std::ranges::find_if(
        left, [&](std::string_view modifier) { return is_alternative(group, modifier); });
    if (found != left.end()) {
      left.erase(found);
    } else if (!optional) {
      return false;
    }
  }
  return left.empty();
}

}  // namespace

std::span<const FormRow> form_rows() { return kForms; }

bool is_of_three(const ptx::Instruction& instruction) {
  return (instruction.opcode == ptx::Opcode::Min || instruction.opcode == ptx::Opcode::Max) &&
         instruction.operands.size() == 4;
}

bool is_known_form(const ptx::Instruction& instruction) {
  const std::pair key(instruction.opcode, variant_of(instruction));
  const auto rows = std::ranges::equal_range(kForms, key, {}, key_of);
  if (rows.empty()) return true;
  const std::vector<std::string_view> modifiers(instruction.modifiers.begin(),
                                                instruction.modifiers.end());
  return std::ranges::any_of(rows,
                             [&](const FormRow& row) { return fits(row.modifiers, modifiers); });
}

}  // namespace gpuemu::emulator
